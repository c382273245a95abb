//! Herlihy and Wing's queue with a fault.

use crate::shadowed::growing_array::{GrowingArray, Initial};
use crate::shadowed::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use crate::shadowed::sync::hint;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `deq` reads the number of reserved places again after each place: Wing, Gong: Testing and
    /// verifying concurrent objects. JPDC 17, 1993, section 3.2.2.
    RereadsRange,
    /// `enq` reserves its place with a read and a write.
    ReservesInTwoSteps,
    /// `deq` empties a place with a read and a write.
    TakesInTwoSteps,
}

/// A queue with a fault. It cannot hold the least number.
pub(crate) struct Queue {
    fault: Fault,
    back: AtomicUsize,
    places: GrowingArray<Place>,
}

const EMPTY: i64 = i64::MIN;

struct Place(AtomicI64);

impl Initial for Place {
    const INITIAL: Place = Place(AtomicI64::new(EMPTY));
}

impl Queue {
    pub(crate) fn new(fault: Fault) -> Queue {
        Queue { fault, back: AtomicUsize::new(0), places: GrowingArray::new() }
    }

    pub(crate) fn enq(&self, value: i64) {
        let index = if self.fault == Fault::ReservesInTwoSteps {
            let index = self.back.load(Ordering::Acquire);
            self.back.store(index + 1, Ordering::Release);
            index
        } else {
            self.back.fetch_add(1, Ordering::Release)
        };
        self.places.get(index).0.store(value, Ordering::Release);
    }

    pub(crate) fn deq(&self) -> i64 {
        loop {
            let mut range = self.back.load(Ordering::Acquire);
            let mut index = 0;
            while index < range {
                let place = &self.places.get(index).0;
                let value = if self.fault == Fault::TakesInTwoSteps {
                    let value = place.load(Ordering::Acquire);
                    if value != EMPTY {
                        place.store(EMPTY, Ordering::Relaxed);
                    }
                    value
                } else {
                    place.swap(EMPTY, Ordering::Acquire)
                };
                if value != EMPTY {
                    return value;
                }
                index += 1;
                if self.fault == Fault::RereadsRange {
                    range = self.back.load(Ordering::Acquire);
                }
            }
            hint::spin_loop();
        }
    }
}
