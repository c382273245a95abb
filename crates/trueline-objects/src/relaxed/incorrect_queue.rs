//! `IQueue` of the paper's Table I: a queue whose `deq` may find nothing although the queue is not
//! empty. It checks for a value, and gives up if another thread takes that value first.

use super::cells::{CellState, Cells};
use crate::shadowed::sync::atomic::{AtomicUsize, Ordering};

/// The queue.
pub(crate) struct Queue {
    cells: Cells,
    start: AtomicUsize,
    end: AtomicUsize,
}

impl Queue {
    pub(crate) fn new() -> Queue {
        Queue { cells: Cells::new(), start: AtomicUsize::new(0), end: AtomicUsize::new(0) }
    }

    pub(crate) fn enq(&self, value: i64) {
        self.cells.append(&self.end, value);
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        let cell = self.start.load(Ordering::SeqCst);
        match self.cells.look(cell) {
            CellState::Value(value) if self.cells.take(cell, value) => {
                self.start.store(cell + 1, Ordering::SeqCst);
                Some(value)
            }
            // Another thread took it, and there may be more.
            _ => None,
        }
    }
}
