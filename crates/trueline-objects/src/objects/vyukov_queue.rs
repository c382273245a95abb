//! Vyukov's bounded queue for many producers and many consumers, as published. **It is not
//! linearizable.**
//!
//! D. Vyukov: Bounded MPMC queue. 1024cores.net, 2010.
//!
//! A ring of slots, each with a sequence number that determines whose turn it is: `p` means 'free
//! for the `enq` number p', `p + 1` 'filled by it'. An operation claims its number with a
//! compare-exchange and then fills or empties its slot, which no other operation accesses
//! meanwhile.
//!
//! **The fault.** `deq` reports an empty queue when the slot at the front is not filled. But the
//! `enq` that claimed this slot may be unfinished while later ones have ended. So a thread can get
//! 'empty' although it has enqueued a value that no thread has removed. In the same way `enq`
//! reports 'full' while a `deq` is unfinished, although later values have been removed. Two threads
//! with two operations each are enough:
//!
//! ```text
//! A: enq(1) claims slot 0 .................................... fills it
//! B:                        enq(2) -> true    deq() -> None
//! ```
//!
//! Several crates ship it (heapless, issue 583). For some uses it is good enough: every enqueued
//! value is removed once, and in the order of the claims.
//! [`ArrayQueue`](super::array_queue::ArrayQueue) is the same queue with the fix.
//!
//! **Progress.** No operation waits for another one; a thread that stops between its two steps
//! makes the queue look empty or full to all others. Cost: O(1) without contention.

use super::ring::Ring;
use super::sync::atomic::{AtomicUsize, Ordering};
use super::to_the_end::to_the_end;

/// A bounded queue that may report 'empty' or 'full' when it is not.
///
/// ```
/// let queue = trueline_objects::VyukovQueue::new(2);
/// assert_eq!(queue.enq("first"), Ok(()));
/// assert_eq!(queue.enq("second"), Ok(()));
/// assert_eq!(queue.enq("third"), Err("third"));
/// assert_eq!(queue.deq(), Some("first"));
/// ```
pub struct VyukovQueue<T> {
    ring: Ring<T>,
}

impl<T> VyukovQueue<T> {
    /// An empty queue with this capacity.
    ///
    /// # Panics
    /// If the capacity is 0.
    pub fn new(capacity: usize) -> VyukovQueue<T> {
        VyukovQueue { ring: Ring::new(capacity) }
    }

    /// The number of values for which there is room.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Inserts a value at the end; returns it if there seems to be no room.
    pub fn enq(&self, value: T) -> Result<(), T> {
        let mut number = self.ring.tail.load(Ordering::Relaxed);
        loop {
            let slot = self.ring.slot(number);
            let turn = slot.sequence().wrapping_sub(number).cast_signed();
            if turn < 0 {
                return Err(value);
            }
            if turn > 0 {
                number = self.ring.tail.load(Ordering::Relaxed);
                continue;
            }
            match self.claim(&self.ring.tail, number) {
                Ok(_) => {
                    // SAFETY: the slot is free for this number, which this thread alone has.
                    unsafe { slot.fill(number, value) };
                    return Ok(());
                }
                Err(other) => number = other,
            }
        }
    }

    /// Removes the oldest value; `None` if there seems to be none.
    pub fn deq(&self) -> Option<T> {
        let mut number = self.ring.head.load(Ordering::Relaxed);
        loop {
            let slot = self.ring.slot(number);
            let filled = number.wrapping_add(1);
            let turn = slot.sequence().wrapping_sub(filled).cast_signed();
            if turn < 0 {
                return None;
            }
            if turn > 0 {
                number = self.ring.head.load(Ordering::Relaxed);
                continue;
            }
            match self.claim(&self.ring.head, number) {
                Ok(_) => {
                    let free = self.ring.a_lap_after(number);
                    // SAFETY: the slot was filled for this number, which this thread alone has.
                    return Some(unsafe { slot.empty(free) });
                }
                Err(other) => number = other,
            }
        }
    }

    /// How many values seem to be there.
    pub fn len(&self) -> usize {
        let head = self.ring.head.load(Ordering::Relaxed);
        let tail = self.ring.tail.load(Ordering::Relaxed);
        self.ring.distance(head, tail).min(self.capacity())
    }

    /// Whether there seems to be no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there seems to be no room.
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }

    /// Relaxed: numbers only determine whose turn it is; the slots synchronise the threads.
    #[inline]
    fn claim(&self, next: &AtomicUsize, number: usize) -> Result<usize, usize> {
        let after = self.ring.after(number);
        next.compare_exchange_weak(number, after, Ordering::Relaxed, Ordering::Relaxed)
    }
}

impl<T> Drop for VyukovQueue<T> {
    fn drop(&mut self) {
        to_the_end(|| self.deq().is_some());
    }
}

impl<T> core::fmt::Debug for VyukovQueue<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("VyukovQueue").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
