//! `sl-queue` of the Scal suite: a queue for one thread, with the indices of the first and of the
//! next cell and no synchronisation. Two `enq` may use the same cell, two `deq` the same value. The
//! cells are atomic, so that even on real threads it fails without undefined behaviour.

use crate::shadowed::growing_array::GrowingArray;
use crate::shadowed::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// The queue.
pub(crate) struct Queue {
    cells: GrowingArray<AtomicI64>,
    start: AtomicUsize,
    end: AtomicUsize,
}

impl Queue {
    pub(crate) fn new() -> Queue {
        Queue { cells: GrowingArray::new(), start: AtomicUsize::new(0), end: AtomicUsize::new(0) }
    }

    pub(crate) fn enq(&self, value: i64) {
        let cell = self.end.load(Ordering::SeqCst);
        self.cells.get(cell).store(value, Ordering::SeqCst);
        self.end.store(cell + 1, Ordering::SeqCst);
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        let cell = self.start.load(Ordering::SeqCst);
        if cell == self.end.load(Ordering::SeqCst) {
            return None;
        }
        let value = self.cells.get(cell).load(Ordering::SeqCst);
        self.start.store(cell + 1, Ordering::SeqCst);
        Some(value)
    }
}
