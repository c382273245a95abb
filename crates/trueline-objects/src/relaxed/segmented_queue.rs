//! The segmented quasi queue of Afek, Korland and Yanovsky (2010), the paper's Figure 3: a list of segments of k cells. `enq` fills the
//! first free cell of the last segment; `deq` takes any value of the first segment, and goes on to the next when all its cells
//! are taken. A value is at most k-1 places from its turn.
//!
//! **EMPTY.** A `deq` that sees no value must not conclude that there is none: while it looks at one cell after another, a value may
//! come into a cell that it has passed and one leave a cell before it gets there. Cells are filled in ascending order and taken
//! for good, so a second look in ascending order settles it: at the first free cell behind taken ones the queue is empty.
//! The mutant [`Fault::RacyEmpty`] trusts the first look. With one cell in a segment that is right.

use super::cells::{Cells, Held};
use crate::shadowed::sync::atomic::{AtomicUsize, Ordering};
use crate::shadowed::sync::with_thread_index;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// b1: `deq` looks into the second segment first, so that a value overtakes more than k others.
    TakesTooFar,
    /// b2: `deq` forgets to mark what it takes: values are removed again.
    TakesTwice,
    /// b3: `deq` finds nothing where the last cell of the segment was never filled.
    FindsNothing,
    /// `deq` finds nothing after one look at each cell, whatever the order of its looks.
    RacyEmpty,
}

/// The queue.
pub(crate) struct Queue {
    fault: Fault,
    size: usize,
    cells: Cells,
    /// Numbers of segments.
    first: AtomicUsize,
    last: AtomicUsize,
}

impl Queue {
    /// A queue with segments of so many cells.
    pub(crate) fn new(size: usize, fault: Fault) -> Queue {
        let (first, last) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Queue { fault, size, cells: Cells::new(), first, last }
    }

    pub(crate) fn enq(&self, value: i64) {
        loop {
            let segment = self.last.load(Ordering::SeqCst);
            for cell in self.cells_of(segment) {
                if self.cells.look(cell) == Held::Free && self.cells.fill(cell, value) {
                    return;
                }
            }
            advance(&self.last, segment);
        }
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let segment = self.first.load(Ordering::SeqCst);
            if self.fault == Fault::TakesTooFar
                && let Ok(value) = self.take_from(segment + 1)
            {
                return Some(value);
            }
            if self.fault == Fault::FindsNothing
                && self.cells.look(segment * self.size + self.size - 1) == Held::Free
            {
                return None;
            }
            let seen = match self.take_from(segment) {
                Ok(value) => return Some(value),
                Err(seen) => seen,
            };
            let settled = match self.fault {
                Fault::RacyEmpty => seen,
                _ => self.settle(segment),
            };
            match settled {
                Some(Held::Free) => return None,
                Some(_) => {}
                None => advance(&self.first, segment),
            }
        }
    }

    /// Takes a value of a segment: threads with even numbers look from the newest on, others from the oldest. Else tells whether a cell was
    /// free when it was looked at; all others are taken.
    fn take_from(&self, segment: usize) -> Result<i64, Option<Held>> {
        let mut seen = None;
        let newest_first = with_thread_index(|index| index % 2 == 0);
        for place in 0..self.size {
            let place = if newest_first { self.size - 1 - place } else { place };
            let cell = segment * self.size + place;
            match self.cells.look(cell) {
                Held::Value(value) => {
                    if self.fault == Fault::TakesTwice || self.cells.take(cell, value) {
                        return Ok(value);
                    }
                }
                Held::Free => seen = Some(Held::Free),
                Held::Taken => {}
            }
        }
        Err(seen)
    }

    /// The first cell of the segment that is not taken, if there is one.
    fn settle(&self, segment: usize) -> Option<Held> {
        self.cells_of(segment).map(|cell| self.cells.look(cell)).find(|held| *held != Held::Taken)
    }

    fn cells_of(&self, segment: usize) -> std::ops::Range<usize> {
        segment * self.size..(segment + 1) * self.size
    }
}

/// Goes on to the next segment, unless another has.
fn advance(end: &AtomicUsize, segment: usize) {
    let _ = end.compare_exchange(segment, segment + 1, Ordering::SeqCst, Ordering::SeqCst);
}
