//! Segments of k cells each, in an unbounded array: the common part of queues that take any value
//! of the first segment.

use super::cells::{CellState, Cells};
use crate::shadowed::sync::atomic::{AtomicUsize, Ordering};
use std::ops::Range;

/// Segments. Those before the first have been left, and those after the last are not used yet.
pub(crate) struct Segments {
    /// The cells of one segment.
    pub(crate) size: usize,
    pub(crate) cells: Cells,
    /// Numbers of segments.
    first: AtomicUsize,
    last: AtomicUsize,
}

impl Segments {
    pub(crate) fn new(size: usize) -> Segments {
        let (first, last) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Segments { size, cells: Cells::new(), first, last }
    }

    /// Puts a value into the first free cell of the last segment.
    pub(crate) fn enq(&self, value: i64) {
        loop {
            let segment = self.last.load(Ordering::SeqCst);
            for cell in self.cells_of(segment) {
                if self.cells.look(cell) == CellState::Free && self.cells.fill(cell, value) {
                    return;
                }
            }
            advance(&self.last, segment);
        }
    }

    /// The number of the first segment.
    pub(crate) fn first(&self) -> usize {
        self.first.load(Ordering::SeqCst)
    }

    /// Goes on from the first segment, unless another has.
    pub(crate) fn leave(&self, segment: usize) {
        advance(&self.first, segment);
    }

    /// The content of the first cell of the segment that is not taken, if there is one.
    pub(crate) fn first_not_taken(&self, segment: usize) -> Option<CellState> {
        self.cells_of(segment)
            .map(|cell| self.cells.look(cell))
            .find(|held| *held != CellState::Taken)
    }

    fn cells_of(&self, segment: usize) -> Range<usize> {
        segment * self.size..(segment + 1) * self.size
    }
}

fn advance(end: &AtomicUsize, segment: usize) {
    let _ = end.compare_exchange(segment, segment + 1, Ordering::SeqCst, Ordering::SeqCst);
}
