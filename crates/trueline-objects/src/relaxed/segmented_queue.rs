//! The segmented quasi queue of Afek, Korland and Yanovsky (2010), the paper's Figure 3: a list of
//! segments of k cells. `enq` fills the first free cell of the last segment; `deq` takes any value
//! of the first segment, and moves on to the next when all its cells are taken. A value is at most
//! k-1 places from its turn.
//!
//! **EMPTY.** A `deq` that sees no value must not conclude that there is none: during its pass over
//! the cells, a value may be put into a cell that it has passed, and another may be removed from a
//! cell before it gets there. Cells are filled in ascending order and taken for good, so a second
//! pass in ascending order decides it: at the first free cell after taken ones the queue is empty.
//! The mutant [`Fault::RacyEmpty`] trusts the first pass. With one cell in a segment that is
//! correct.

use super::cells::CellState;
use super::segments::Segments;
use crate::shadowed::sync::with_thread_index;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// b1: `deq` searches the second segment first, so that a value overtakes more than k others.
    TakesTooFar,
    /// b2: `deq` does not mark the value that it takes: values are removed again.
    TakesTwice,
    /// b3: `deq` returns nothing if the last cell of the segment was never filled.
    FindsNothing,
    /// `deq` returns nothing after one pass over the cells, whatever its order.
    RacyEmpty,
}

/// The queue.
pub(crate) struct Queue {
    fault: Fault,
    segments: Segments,
}

impl Queue {
    /// A queue with segments of this many cells.
    pub(crate) fn new(size: usize, fault: Fault) -> Queue {
        Queue { fault, segments: Segments::new(size) }
    }

    pub(crate) fn enq(&self, value: i64) {
        self.segments.enq(value);
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let segment = self.segments.first();
            if self.fault == Fault::TakesTooFar
                && let Ok(value) = self.take_from(segment + 1)
            {
                return Some(value);
            }
            if self.fault == Fault::FindsNothing
                && self.segments.cells.look((segment + 1) * self.segments.size - 1)
                    == CellState::Free
            {
                return None;
            }
            let seen = match self.take_from(segment) {
                Ok(value) => return Some(value),
                Err(seen) => seen,
            };
            let first = match self.fault {
                Fault::RacyEmpty => seen,
                _ => self.segments.first_not_taken(segment),
            };
            match first {
                Some(CellState::Free) => return None,
                Some(_) => {}
                None => self.segments.leave(segment),
            }
        }
    }

    /// Takes a value of a segment: threads with even numbers start from the newest, others from the
    /// oldest. Otherwise returns whether a cell was free when it was read; all others are taken.
    fn take_from(&self, segment: usize) -> Result<i64, Option<CellState>> {
        let Segments { size, cells, .. } = &self.segments;
        let mut seen = None;
        let newest_first = with_thread_index(|index| index % 2 == 0);
        for place in 0..*size {
            let place = if newest_first { size - 1 - place } else { place };
            let cell = segment * size + place;
            match cells.look(cell) {
                CellState::Value(value) => {
                    if self.fault == Fault::TakesTwice || cells.take(cell, value) {
                        return Ok(value);
                    }
                }
                CellState::Free => seen = Some(CellState::Free),
                CellState::Taken => {}
            }
        }
        Err(seen)
    }
}
