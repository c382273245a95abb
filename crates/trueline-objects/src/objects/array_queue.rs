//! Vyukov's bounded queue, made linearizable: it reports 'empty' and 'full' only when they are
//! true.
//!
//! D. Vyukov: Bounded MPMC queue. 1024cores.net, 2010, with the fix of `crossbeam`'s queue of this
//! name: if it is not an operation's turn at its slot, the operation reads the other end of the
//! queue. If the queue is empty (full), it says so; otherwise another operation is unfinished, and
//! it waits for that one. `vyukov_queue.rs` shows what happens without the fix. Both use the slots
//! of `ring.rs`.
//!
//! **Linearization.** `enq` and `deq` where they claim their number. An `enq` that returns 'full'
//! where it reads `head`: it has read `tail = t` before, and finds `head` a lap before t. `tail`
//! has not decreased since, and is never more than a lap ahead of `head`, so at that moment there
//! was no room. A `deq` that returns 'empty', likewise: `tail` equals the earlier value of `head`,
//! and `head` is between. These accesses are sequentially consistent, so that 'at that moment' is
//! well defined. `len` where it reads `head`, between two equal reads of `tail`.
//!
//! **`force_push`** to a full queue moves `head` over the oldest value. That value then belongs to
//! it, and so does the slot: no other operation can claim the number of the next `enq`, since its
//! slot is not free, so a plain store suffices to advance `tail`. Its linearization point is where
//! it moves `head`. Until `tail` has followed, the two show one value less than there is. That
//! misleads no operation: an `enq` finds neither its turn nor a full queue, and waits; a `deq`
//! takes the later values, and if there is none it finds that the slot is not free for its lap, and
//! waits; `len` waits for the same reason.
//!
//! **Progress.** Blocking: an operation waits for one that has claimed its slot and is unfinished.
//! Cost: O(1) without contention.

use super::ring::Ring;
use super::sync::Backoff;
use super::sync::atomic::{AtomicUsize, Ordering};
use super::to_the_end::to_the_end;

/// Longest wait after a failed attempt, as a power of two: shorter than elsewhere, since the next
/// attempt fetches only the number and its slot. In the benchmark with two threads, longer waits
/// halve the rate.
const PATIENCE: u32 = 6;

/// A bounded queue.
///
/// ```
/// let queue = trueline_objects::ArrayQueue::new(2);
/// assert_eq!(queue.enq("first"), Ok(()));
/// assert_eq!(queue.enq("second"), Ok(()));
/// assert_eq!(queue.enq("third"), Err("third"));
/// assert_eq!(queue.deq(), Some("first"));
/// ```
pub struct ArrayQueue<T> {
    ring: Ring<T>,
}

impl<T> ArrayQueue<T> {
    /// An empty queue with this capacity.
    ///
    /// # Panics
    /// If the capacity is 0.
    pub fn new(capacity: usize) -> ArrayQueue<T> {
        ArrayQueue { ring: Ring::new(capacity) }
    }

    /// The number of values for which there is room.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Inserts a value at the end; returns it if there is no room.
    pub fn enq(&self, value: T) -> Result<(), T> {
        let backoff = Backoff::up_to(PATIENCE);
        let mut number = self.ring.tail.load(Ordering::SeqCst);
        loop {
            let slot = self.ring.slot(number);
            let sequence = slot.sequence();
            if sequence == number {
                match self.claim(&self.ring.tail, number) {
                    Ok(_) => {
                        // SAFETY: the slot is free for this number, which this thread alone has.
                        unsafe { slot.fill(number, value) };
                        return Ok(());
                    }
                    Err(other) => number = other,
                }
                backoff.wait();
                continue;
            }
            if sequence.wrapping_sub(number).cast_signed() < 0 {
                let head = self.ring.head.load(Ordering::SeqCst);
                if self.ring.a_lap_after(head) == number {
                    return Err(value);
                }
                backoff.wait_for_other();
            }
            number = self.ring.tail.load(Ordering::SeqCst);
        }
    }

    /// Removes the oldest value; `None` if there is none.
    pub fn deq(&self) -> Option<T> {
        let backoff = Backoff::up_to(PATIENCE);
        let mut number = self.ring.head.load(Ordering::SeqCst);
        loop {
            let slot = self.ring.slot(number);
            let filled = number.wrapping_add(1);
            let sequence = slot.sequence();
            if sequence == filled {
                match self.claim(&self.ring.head, number) {
                    Ok(_) => {
                        let free = self.ring.a_lap_after(number);
                        // SAFETY: the slot was filled for this number, which this thread alone has.
                        return Some(unsafe { slot.empty(free) });
                    }
                    Err(other) => number = other,
                }
                backoff.wait();
                continue;
            }
            if sequence.wrapping_sub(filled).cast_signed() < 0 {
                // If the slot is not free yet, its owner may be about to fill it: see `force_push`.
                if sequence == number && self.ring.tail.load(Ordering::SeqCst) == number {
                    return None;
                }
                backoff.wait_for_other();
            }
            number = self.ring.head.load(Ordering::SeqCst);
        }
    }

    /// Inserts a value at the end. If there is no room, removes the oldest value and returns it.
    pub fn force_push(&self, value: T) -> Option<T> {
        let backoff = Backoff::up_to(PATIENCE);
        let mut value = value;
        loop {
            value = match self.enq(value) {
                Ok(()) => return None,
                Err(back) => back,
            };
            let number = self.ring.tail.load(Ordering::SeqCst);
            let oldest = self.ring.a_lap_before(number);
            // It succeeds only if the queue is still full, or full again: `tail` is not more than a
            // lap ahead.
            if self.ring.slot(number).sequence() == oldest.wrapping_add(1)
                && self.claim(&self.ring.head, oldest).is_ok()
            {
                self.ring.tail.store(self.ring.after(number), Ordering::SeqCst);
                // SAFETY: the slot was filled for the number of the oldest value. Only this thread
                // has that number, and the next one.
                return Some(unsafe { self.ring.slot(number).replace(number, value) });
            }
            backoff.wait();
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        let backoff = Backoff::up_to(PATIENCE);
        loop {
            let tail = self.ring.tail.load(Ordering::SeqCst);
            let is_free = self.ring.slot(tail).sequence() == tail;
            let head = self.ring.head.load(Ordering::SeqCst);
            if self.ring.a_lap_after(head) == tail {
                return self.capacity();
            }
            if self.ring.tail.load(Ordering::SeqCst) == tail {
                if is_free {
                    return self.ring.distance(head, tail);
                }
                // An operation is half done: see `force_push`.
                backoff.wait_for_other();
            }
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is full.
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }

    #[inline]
    fn claim(&self, next: &AtomicUsize, number: usize) -> Result<usize, usize> {
        let after = self.ring.after(number);
        next.compare_exchange_weak(number, after, Ordering::SeqCst, Ordering::SeqCst)
    }
}

impl<T> Drop for ArrayQueue<T> {
    fn drop(&mut self) {
        to_the_end(|| self.deq().is_some());
    }
}

impl<T> core::fmt::Debug for ArrayQueue<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ArrayQueue").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
