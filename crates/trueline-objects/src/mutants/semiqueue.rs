//! The semiqueue with a fault: segments in an unbounded array, values stored directly.

use crate::relaxed::cells::CellState;
use crate::relaxed::segments::Segments;
use crate::shadowed::sync::with_thread_index;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `deq` returns `None` after one pass over the cells, starting at the thread's own.
    LooksOnce,
    /// `deq` leaves the first segment when it sees no value there, although cells are free.
    LeavesEarly,
    /// `deq` looks into the second segment before the first.
    TakesTooFar,
    /// `deq` does not mark the values that it takes.
    TakesTwice,
}

/// A semiqueue with a fault.
pub(crate) struct Queue {
    fault: Fault,
    segments: Segments,
}

impl Queue {
    pub(crate) fn new(k: usize, fault: Fault) -> Queue {
        Queue { fault, segments: Segments::new(k) }
    }

    pub(crate) fn enq(&self, value: i64) {
        self.segments.enq(value);
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let segment = self.segments.first();
            let too_far = (self.fault == Fault::TakesTooFar).then_some(segment + 1);
            let found = too_far.into_iter().chain([segment]).find_map(|from| self.take(from));
            if found.is_some() {
                return found;
            }
            match self.segments.first_not_taken(segment) {
                Some(_) if self.fault == Fault::LooksOnce => return None,
                Some(CellState::Free) if self.fault == Fault::LeavesEarly => {
                    self.segments.leave(segment);
                    return None;
                }
                Some(CellState::Free) => return None,
                Some(_) => {}
                None => self.segments.leave(segment),
            }
        }
    }

    /// Takes a value of a segment, each thread from another cell on.
    fn take(&self, segment: usize) -> Option<i64> {
        let Segments { size: k, cells, .. } = &self.segments;
        let start = with_thread_index(|index| index % k);
        (0..*k).map(|i| segment * k + (start + i) % k).find_map(|cell| {
            let CellState::Value(value) = cells.look(cell) else { return None };
            let has = self.fault == Fault::TakesTwice || cells.take(cell, value);
            has.then_some(value)
        })
    }
}
