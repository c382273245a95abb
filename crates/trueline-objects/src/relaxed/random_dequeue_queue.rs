//! The random-dequeue queue of Afek, Korland and Yanovsky (2010), the paper's Figure 4: one list;
//! the first w values form a *virtual window*. `deq` takes any value of the window, and the window
//! moves on when all of it is taken.
//!
//! The mutant has no window: it takes any of the first w remaining values. Each single removal
//! looks right, but the first value may be overtaken for ever: 2, 3, 4, ... and never 1.

use super::cells::{CellState, Cells};
use crate::shadowed::sync::atomic::{AtomicUsize, Ordering};

/// The queue.
pub(crate) struct Queue {
    /// False in the mutant.
    windowed: bool,
    size: usize,
    cells: Cells,
    /// The first cell of the window; in the mutant, all before it are taken.
    start: AtomicUsize,
    /// All cells before it are filled.
    end: AtomicUsize,
}

impl Queue {
    pub(crate) fn new(size: usize, windowed: bool) -> Queue {
        let (start, end) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Queue { windowed, size, cells: Cells::new(), start, end }
    }

    pub(crate) fn enq(&self, value: i64) {
        self.cells.append(&self.end, value);
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let start = self.start.load(Ordering::SeqCst);
            let mut values = Vec::new();
            let mut cell = start;
            // Ascending: cells are filled in this order, so there is nothing after a free one.
            let ended = loop {
                match self.cells.look(cell) {
                    CellState::Free => break true,
                    CellState::Value(value) => values.push((cell, value)),
                    CellState::Taken => {}
                }
                cell += 1;
                let enough = if self.windowed { cell - start } else { values.len() };
                if enough == self.size {
                    break false;
                }
            };
            for &(cell, value) in values.iter().rev() {
                if self.cells.take(cell, value) {
                    return Some(value);
                }
            }
            if values.is_empty() {
                if ended {
                    return None;
                }
                let (yes, no) = (Ordering::SeqCst, Ordering::SeqCst);
                let _ = self.start.compare_exchange(start, cell, yes, no);
            }
        }
    }
}
