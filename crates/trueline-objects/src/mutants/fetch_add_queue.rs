//! The queue of segments with cells by fetch-and-add, with a fault: one unbounded segment.

use crate::shadowed::growing_array::{GrowingArray, Initial};
use crate::shadowed::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering};
use crate::shadowed::sync::cell::UnsafeCell;
use crate::shadowed::sync::hint;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `deq` leaves an empty cell unchanged: an `enq` fills it when no `deq` will come again.
    LeavesCell,
    /// `deq` reads how many enqueuers there are before how many dequeuers.
    CountsBackwards,
    /// `enq` takes its number with a read and a write.
    NumbersInTwoSteps,
    /// `deq` returns `None` when the cell of its number is empty.
    GivesUp,
}

/// A queue with a fault.
pub(crate) struct Queue {
    fault: Fault,
    enqueuers: AtomicUsize,
    dequeuers: AtomicUsize,
    cells: GrowingArray<Cell>,
}

struct Cell {
    state: AtomicU8,
    value: AtomicI64,
}

impl Initial for Cell {
    const INITIAL: Cell = Cell { state: AtomicU8::new(0), value: AtomicI64::new(0) };
}

const EMPTY: u8 = 0;
const FULL: u8 = 1;
const DONE: u8 = 2;

impl Queue {
    pub(crate) fn new(fault: Fault) -> Queue {
        let (enqueuers, dequeuers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Queue { fault, enqueuers, dequeuers, cells: GrowingArray::new() }
    }

    pub(crate) fn enq(&self, value: i64) {
        loop {
            let number = if self.fault == Fault::NumbersInTwoSteps {
                let number = self.enqueuers.load(Ordering::SeqCst);
                self.enqueuers.store(number + 1, Ordering::SeqCst);
                number
            } else {
                self.enqueuers.fetch_add(1, Ordering::SeqCst)
            };
            let cell = self.cells.get(number);
            cell.value.store(value, Ordering::SeqCst);
            let (yes, no) = (Ordering::SeqCst, Ordering::SeqCst);
            if cell.state.compare_exchange(EMPTY, FULL, yes, no).is_ok() {
                return;
            }
        }
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let (enqueuers, dequeuers) = if self.fault == Fault::CountsBackwards {
                let enqueuers = self.enqueuers.load(Ordering::SeqCst);
                (enqueuers, self.dequeuers.load(Ordering::SeqCst))
            } else {
                let dequeuers = self.dequeuers.load(Ordering::SeqCst);
                (self.enqueuers.load(Ordering::SeqCst), dequeuers)
            };
            if dequeuers >= enqueuers {
                return None;
            }
            let cell = self.cells.get(self.dequeuers.fetch_add(1, Ordering::SeqCst));
            let full = match self.fault {
                // It waits: in an unbounded segment an `enq` and a `deq` could block each other's
                // progress for ever.
                Fault::CountsBackwards => {
                    while cell.state.load(Ordering::SeqCst) != FULL {
                        hint::spin_loop();
                    }
                    true
                }
                Fault::LeavesCell => cell.state.load(Ordering::SeqCst) == FULL,
                _ => cell.state.swap(DONE, Ordering::SeqCst) == FULL,
            };
            if full {
                return Some(cell.value.load(Ordering::SeqCst));
            }
            if self.fault == Fault::GivesUp {
                return None;
            }
        }
    }
}

/// Announces that a cell is full with relaxed orderings: a race on its value.
pub(crate) struct RelaxedQueue {
    enqueuers: AtomicUsize,
    dequeuers: AtomicUsize,
    cells: GrowingArray<RelaxedCell>,
}

struct RelaxedCell {
    full: AtomicU8,
    value: UnsafeCell<i64>,
}

impl Initial for RelaxedCell {
    const INITIAL: RelaxedCell = RelaxedCell { full: AtomicU8::new(0), value: UnsafeCell::new(0) };
}

// SAFETY: it is not sound: this is the fault, which the explorer reports as a race. There, only one
// thread runs at a time.
unsafe impl Sync for RelaxedCell {}

impl RelaxedQueue {
    pub(crate) fn new() -> RelaxedQueue {
        let (enqueuers, dequeuers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        RelaxedQueue { enqueuers, dequeuers, cells: GrowingArray::new() }
    }

    pub(crate) fn enq(&self, value: i64) {
        let cell = self.cells.get(self.enqueuers.fetch_add(1, Ordering::Relaxed));
        // SAFETY: this thread alone has the number.
        cell.value.with_mut(|place| unsafe { *place = value });
        cell.full.store(FULL, Ordering::Relaxed);
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        let dequeuers = self.dequeuers.load(Ordering::SeqCst);
        if dequeuers >= self.enqueuers.load(Ordering::SeqCst) {
            return None;
        }
        let cell = self.cells.get(self.dequeuers.fetch_add(1, Ordering::SeqCst));
        while cell.full.load(Ordering::Relaxed) != FULL {
            hint::spin_loop();
        }
        // SAFETY: only this thread has the number. The fault is that it may not see what was
        // written.
        Some(cell.value.with(|place| unsafe { *place }))
    }
}
