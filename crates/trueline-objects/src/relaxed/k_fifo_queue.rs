//! The unbounded k-FIFO queue of Kirsch, Lippautz and Payer (2013): segments of k cells. `enq` may
//! use any free cell of the last segment, `deq` any value of the first. Unlike in the segmented
//! queue, a first segment without values is removed even if it has free cells, so an `enq` must
//! check afterwards that its segment is still there.

use super::cells::{CellState, Cells};
use crate::shadowed::growing_array::GrowingArray;
use crate::shadowed::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The queue.
pub(crate) struct Queue {
    size: usize,
    cells: Cells,
    /// Segments that are removed.
    removed: GrowingArray<AtomicBool>,
    first: AtomicUsize,
    last: AtomicUsize,
}

impl Queue {
    pub(crate) fn new(size: usize) -> Queue {
        let (first, last) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Queue { size, cells: Cells::new(), removed: GrowingArray::new(), first, last }
    }

    pub(crate) fn enq(&self, value: i64) {
        loop {
            let segment = self.last.load(Ordering::SeqCst);
            for cell in self.cells_of(segment) {
                if self.cells.look(cell) == CellState::Free && self.cells.fill(cell, value) {
                    if self.committed(segment, cell, value) {
                        return;
                    }
                    break;
                }
            }
            advance(&self.last, segment);
        }
    }

    /// Whether the value is in the queue, or was and is taken already.
    fn committed(&self, segment: usize, cell: usize, value: i64) -> bool {
        if !self.removed.get(segment).load(Ordering::SeqCst) {
            return true;
        }
        !self.cells.take(cell, value)
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let segment = self.first.load(Ordering::SeqCst);
            if let Some(value) = self.take_from(segment) {
                return Some(value);
            }
            if self.last.load(Ordering::SeqCst) == segment {
                // Cells of one segment are filled in ascending order and taken for good: see the
                // segmented queue.
                let first = self.cells_of(segment).map(|cell| self.cells.look(cell));
                match first.into_iter().find(|held| *held != CellState::Taken) {
                    Some(CellState::Free) => return None,
                    Some(_) => continue,
                    None => advance(&self.last, segment),
                }
            }
            self.removed.get(segment).store(true, Ordering::SeqCst);
            // Only this thread may see a value that was inserted before the mark.
            match self.take_from(segment) {
                Some(value) => return Some(value),
                None => advance(&self.first, segment),
            }
        }
    }

    fn take_from(&self, segment: usize) -> Option<i64> {
        for cell in self.cells_of(segment).rev() {
            if let CellState::Value(value) = self.cells.look(cell)
                && self.cells.take(cell, value)
            {
                return Some(value);
            }
        }
        None
    }

    fn cells_of(&self, segment: usize) -> std::ops::Range<usize> {
        segment * self.size..(segment + 1) * self.size
    }
}

fn advance(end: &AtomicUsize, segment: usize) {
    let _ = end.compare_exchange(segment, segment + 1, Ordering::SeqCst, Ordering::SeqCst);
}
