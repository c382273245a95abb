//! Cells that are used once: free, then with a value, then taken for good.

use crate::shadowed::growing_array::GrowingArray;
use crate::shadowed::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

const FREE: i64 = 0;
const TAKEN: i64 = -1;

/// As many cells as are needed, in a row.
pub(crate) struct Cells(GrowingArray<AtomicI64>);

/// The content of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellState {
    Free,
    Value(i64),
    Taken,
}

impl Cells {
    pub(crate) fn new() -> Cells {
        Cells(GrowingArray::new())
    }

    pub(crate) fn look(&self, cell: usize) -> CellState {
        match self.0.get(cell).load(Ordering::SeqCst) {
            FREE => CellState::Free,
            TAKEN => CellState::Taken,
            value => CellState::Value(value),
        }
    }

    /// Stores a value in a free cell; returns false if it is not free.
    pub(crate) fn fill(&self, cell: usize, value: i64) -> bool {
        debug_assert!(value > 0, "values are numbers above 0");
        self.change(cell, FREE, value)
    }

    /// Stores a value in the first free cell, all before `end` being filled; moves `end` behind it.
    pub(crate) fn append(&self, end: &AtomicUsize, value: i64) {
        let mut cell = end.load(Ordering::SeqCst);
        while !self.fill(cell, value) {
            cell += 1;
        }
        end.fetch_max(cell + 1, Ordering::SeqCst);
    }

    /// Takes this value; returns false if another thread has it.
    pub(crate) fn take(&self, cell: usize, value: i64) -> bool {
        self.change(cell, value, TAKEN)
    }

    fn change(&self, cell: usize, from: i64, to: i64) -> bool {
        let (yes, no) = (Ordering::SeqCst, Ordering::SeqCst);
        self.0.get(cell).compare_exchange(from, to, yes, no).is_ok()
    }
}
