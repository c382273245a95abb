//! The semiqueue with a fault: segments in an array without an end, values as they are.

use crate::relaxed::cells::{Cells, Held};
use crate::shadowed::sync::atomic::{AtomicUsize, Ordering};
use crate::shadowed::sync::with_thread_index;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `deq` says that nothing is there after one look at each cell, from the thread's own on.
    LooksOnce,
    /// `deq` leaves the first segment when it sees no value there, though cells are free.
    LeavesEarly,
    /// `deq` looks into the second segment before the first.
    TakesTooFar,
    /// `deq` does not mark what it takes.
    TakesTwice,
}

/// A semiqueue with a fault.
pub(crate) struct Queue {
    fault: Fault,
    k: usize,
    cells: Cells,
    /// Numbers of segments.
    first: AtomicUsize,
    last: AtomicUsize,
}

impl Queue {
    pub(crate) fn new(k: usize, fault: Fault) -> Queue {
        let (first, last) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Queue { fault, k, cells: Cells::new(), first, last }
    }

    pub(crate) fn enq(&self, value: i64) {
        loop {
            let segment = self.last.load(Ordering::SeqCst);
            let mut cells = self.cells_of(segment);
            if cells.any(|cell| self.cells.look(cell) == Held::Free && self.cells.fill(cell, value))
            {
                return;
            }
            advance(&self.last, segment);
        }
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let segment = self.first.load(Ordering::SeqCst);
            if self.fault == Fault::TakesTooFar
                && let Some(value) = self.take(segment + 1)
            {
                return Some(value);
            }
            if let Some(value) = self.take(segment) {
                return Some(value);
            }
            let mut second = self.cells_of(segment).map(|cell| self.cells.look(cell));
            match second.find(|held| *held != Held::Taken) {
                Some(_) if self.fault == Fault::LooksOnce => return None,
                Some(Held::Free) if self.fault == Fault::LeavesEarly => {
                    advance(&self.first, segment);
                    return None;
                }
                Some(Held::Free) => return None,
                Some(_) => {}
                None => advance(&self.first, segment),
            }
        }
    }

    /// Takes a value of a segment, each thread from another cell on.
    fn take(&self, segment: usize) -> Option<i64> {
        let start = with_thread_index(|index| index % self.k);
        (0..self.k).map(|i| segment * self.k + (start + i) % self.k).find_map(|cell| {
            let Held::Value(value) = self.cells.look(cell) else { return None };
            let has = self.fault == Fault::TakesTwice || self.cells.take(cell, value);
            has.then_some(value)
        })
    }

    fn cells_of(&self, segment: usize) -> std::ops::Range<usize> {
        segment * self.k..(segment + 1) * self.k
    }
}

/// Goes on to the next segment, unless another has.
fn advance(end: &AtomicUsize, segment: usize) {
    let _ = end.compare_exchange(segment, segment + 1, Ordering::SeqCst, Ordering::SeqCst);
}
