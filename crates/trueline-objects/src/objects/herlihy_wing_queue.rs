//! Herlihy and Wing's queue: an unbounded array, in which `enq` reserves a place and then fills it.
//!
//! M. P. Herlihy, J. M. Wing: Linearizability: a correctness condition for concurrent objects.
//! TOPLAS 12(3), 1990; J. M. Wing, C. Gong: Testing and verifying concurrent objects. JPDC 17,
//! 1993, section 6.
//!
//! **Linearization.** There are no fixed linearization points: a later `deq` may decide which of
//! two values is first. `deq` reads the number of reserved places **once** for each round over
//! them. If it read that number again on the way, it could take a value that was enqueued after the
//! one that it just missed (Wing and Gong, section 3.2.2; the mutant `herlihy-wing-queue-rereads`).
//!
//! **Progress.** `enq` is wait-free, except for the allocation of memory. `deq` waits while the
//! queue is empty; otherwise it is lock-free: it starts another round only if others took the
//! values that were there. **Cost.** `deq` reads each place that was ever reserved, and places are
//! freed with the queue: it is an object to study, not one for long use. At most 2^32 calls of
//! `enq`.

use super::growing_array::{GrowingArray, Initial};
use super::padded::Padded;
use super::sync::Backoff;
use super::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use alloc::boxed::Box;
use core::ptr;

/// An unbounded queue whose `deq` waits for a value.
///
/// ```
/// let queue = trueline_objects::HerlihyWingQueue::new();
/// queue.enq("first");
/// queue.enq("second");
/// assert_eq!(queue.deq(), "first");
/// ```
pub struct HerlihyWingQueue<T> {
    /// Number of places that are reserved.
    back: Padded<AtomicUsize>,
    places: GrowingArray<Place<T>>,
}

/// Null before it is filled and after it is emptied; otherwise a value of its own.
struct Place<T>(AtomicPtr<T>);

impl<T> Initial for Place<T> {
    const INITIAL: Place<T> = Place(AtomicPtr::new(ptr::null_mut()));
}

impl<T> Place<T> {
    fn is_filled(&self) -> bool {
        !self.0.load(Ordering::Acquire).is_null()
    }

    fn take(&self) -> Option<T> {
        // Acquire: the value was stored in its box before the box in the place. Release: a thread
        // that later finds the place empty must know everything that the emptying thread knew.
        // Otherwise weak memory lets `enq(1) enq(2) | enq(3) deq() | deq() enq(4) | deq()` dequeue
        // 1, 2 and 4 and leave 3. Processors with x86's memory model never showed it.
        let value = self.0.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: the thread that swaps a pointer out has it exclusively; it came from
        // `Box::into_raw`.
        (!value.is_null()).then(|| *unsafe { Box::from_raw(value) })
    }
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        let value = *self.0.get_mut();
        if !value.is_null() {
            // SAFETY: the value is only in this place; it came from `Box::into_raw`.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

// SAFETY: values move from the enqueuing thread to the one that dequeues or drops; no two threads
// have a value at the same time.
unsafe impl<T: Send> Send for Place<T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<T: Send> Sync for Place<T> {}

impl<T> HerlihyWingQueue<T> {
    /// An empty queue.
    pub const fn new() -> HerlihyWingQueue<T> {
        HerlihyWingQueue { back: Padded(AtomicUsize::new(0)), places: GrowingArray::new() }
    }

    /// Inserts a value at the end.
    ///
    /// # Panics
    /// At call number 2^32.
    pub fn enq(&self, value: T) {
        let value = Box::new(value);
        // Release: a `deq` that reads this number, or a later one, sees every place that was filled
        // before this call. Otherwise it could miss the value of an earlier call, and find the one
        // of this call.
        let place = self.places.get(self.back.fetch_add(1, Ordering::Release));
        place.0.store(Box::into_raw(value), Ordering::Release);
    }

    /// Removes the oldest value; `None` if one pass over all reserved places finds nothing.
    ///
    /// That is weaker than a queue's guarantee: values that were inserted meanwhile may be at
    /// places that it had already passed.
    pub fn try_deq(&self) -> Option<T> {
        let range = self.back.load(Ordering::Acquire);
        (0..range).find_map(|index| self.places.get(index).take())
    }

    /// The number of values found in one pass from the first place on: values that are inserted or
    /// removed meanwhile may or may not be counted. It takes as many steps as there were calls of
    /// `enq`.
    pub fn len(&self) -> usize {
        let range = self.back.load(Ordering::Acquire);
        (0..range).filter(|&index| self.places.get(index).is_filled()).count()
    }

    /// Whether it finds no value: see [`HerlihyWingQueue::len`].
    pub fn is_empty(&self) -> bool {
        let range = self.back.load(Ordering::Acquire);
        !(0..range).any(|index| self.places.get(index).is_filled())
    }

    /// Takes the oldest value; waits until there is one.
    pub fn deq(&self) -> T {
        let backoff = Backoff::default();
        loop {
            // Acquire: see `enq`.
            let range = self.back.load(Ordering::Acquire);
            for index in 0..range {
                if let Some(value) = self.places.get(index).take() {
                    return value;
                }
            }
            backoff.wait_for_other();
        }
    }
}

impl<T> Default for HerlihyWingQueue<T> {
    fn default() -> HerlihyWingQueue<T> {
        HerlihyWingQueue::new()
    }
}

impl<T> core::fmt::Debug for HerlihyWingQueue<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HerlihyWingQueue").finish_non_exhaustive()
    }
}
