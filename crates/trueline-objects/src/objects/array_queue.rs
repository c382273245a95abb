//! Vyukov's bounded queue, made linearizable: 'empty' and 'full' are said only when they are true.
//!
//! D. Vyukov: Bounded MPMC queue. 1024cores.net, 2010, with the repair that `crossbeam`'s queue of this name has: an operation that
//! finds a slot of which it is not the turn looks at the other end of the queue. If the queue is empty (full), it says so;
//! otherwise another operation is half done, and it waits for that one. `vyukov_queue.rs` shows what happens without;
//! both have the slots of `ring.rs`.
//!
//! **Linearization.** `enq` and `deq` where they claim their number. An `enq` that says 'full' where it reads `head`: it has read `tail = t`
//! before, and finds `head = t - capacity`. `tail` has not become less since, and is never more than `head + capacity`, so at
//! that time there was no room. `deq` that says 'empty' in the same way: `tail` is what `head` was before, and `head` is between.
//! These accesses are sequentially consistent, so that 'at that time' has a meaning.
//!
//! **Progress.** Blocking: an operation waits for one that has claimed its slot and is not done. Cost: O(1) without contention.

use super::ring::Ring;
use super::sync::Backoff;
use super::sync::atomic::{AtomicUsize, Ordering};
use super::to_the_end::to_the_end;

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
    /// An empty queue with room for so many values.
    ///
    /// # Panics
    /// If the capacity is not a power of two, or less than 2.
    pub fn new(capacity: usize) -> ArrayQueue<T> {
        ArrayQueue { ring: Ring::new(capacity) }
    }

    /// The number of values for which there is room.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Puts a value at the end; gives it back where there is no room.
    pub fn enq(&self, value: T) -> Result<(), T> {
        let backoff = Backoff::default();
        let mut number = self.ring.tail.load(Ordering::SeqCst);
        loop {
            let slot = self.ring.slot(number);
            let sequence = slot.sequence();
            if sequence == number {
                match claim(&self.ring.tail, number) {
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
                if head.wrapping_add(self.capacity()) == number {
                    return Err(value);
                }
                backoff.wait_for_other();
            }
            number = self.ring.tail.load(Ordering::SeqCst);
        }
    }

    /// Takes the oldest value; `None` where there is none.
    pub fn deq(&self) -> Option<T> {
        let backoff = Backoff::default();
        let mut number = self.ring.head.load(Ordering::SeqCst);
        loop {
            let slot = self.ring.slot(number);
            let filled = number.wrapping_add(1);
            let sequence = slot.sequence();
            if sequence == filled {
                match claim(&self.ring.head, number) {
                    Ok(_) => {
                        let free = number.wrapping_add(self.capacity());
                        // SAFETY: the slot was filled for this number, which this thread alone has.
                        return Some(unsafe { slot.empty(free) });
                    }
                    Err(other) => number = other,
                }
                backoff.wait();
                continue;
            }
            if sequence.wrapping_sub(filled).cast_signed() < 0 {
                if self.ring.tail.load(Ordering::SeqCst) == number {
                    return None;
                }
                backoff.wait_for_other();
            }
            number = self.ring.head.load(Ordering::SeqCst);
        }
    }
}

#[inline]
fn claim(next: &AtomicUsize, number: usize) -> Result<usize, usize> {
    let after = number.wrapping_add(1);
    next.compare_exchange_weak(number, after, Ordering::SeqCst, Ordering::SeqCst)
}

impl<T> Drop for ArrayQueue<T> {
    fn drop(&mut self) {
        to_the_end(|| self.deq().is_some());
    }
}

impl<T> std::fmt::Debug for ArrayQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrayQueue").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
