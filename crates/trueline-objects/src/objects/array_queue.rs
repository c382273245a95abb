//! Vyukov's bounded queue, made linearizable: 'empty' and 'full' are said only when they are true.
//!
//! D. Vyukov: Bounded MPMC queue. 1024cores.net, 2010, with the repair that `crossbeam`'s queue of this name has: an operation that
//! finds a slot of which it is not the turn looks at the other end of the queue. If the queue is empty (full), it says so;
//! otherwise another operation is half done, and it waits for that one. `vyukov_queue.rs` shows what happens without.
//!
//! **Linearization.** `enq` and `deq` where they claim their number. An `enq` that says 'full' where it reads `head`: it has read `tail = t`
//! before, and finds `head = t - capacity`. `tail` has not become less since, and is never more than `head + capacity`, so at
//! that time there was no room. `deq` that says 'empty' in the same way: `tail` is what `head` was before, and `head` is between.
//! These accesses are sequentially consistent, so that 'at that time' has a meaning.
//!
//! **Progress.** Blocking: an operation waits for one that has claimed its slot and is not done. Cost: O(1) without contention.

use super::padded::Padded;
use super::sync::Backoff;
use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::cell::UnsafeCell;
use super::sync::hint;
use std::mem::MaybeUninit;
use std::ptr;

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
    slots: Box<[Slot<T>]>,
    /// The number of the next `enq`.
    tail: Padded<AtomicUsize>,
    /// The number of the next `deq`.
    head: Padded<AtomicUsize>,
}

struct Slot<T> {
    /// `p`: free for the `enq` number p; `p + 1`: filled by it.
    sequence: AtomicUsize,
    /// There while the sequence is one more than a number of this slot.
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: values move from the thread that enqueues to the one that dequeues or drops; no two threads have one at a time.
unsafe impl<T: Send> Send for ArrayQueue<T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<T: Send> Sync for ArrayQueue<T> {}

impl<T> ArrayQueue<T> {
    /// An empty queue with room for so many values.
    ///
    /// # Panics
    /// If the capacity is not a power of two, or less than 2.
    pub fn new(capacity: usize) -> ArrayQueue<T> {
        assert!(
            capacity.is_power_of_two() && capacity >= 2,
            "the capacity is a power of two, at least 2"
        );
        let slot = |number| Slot {
            sequence: AtomicUsize::new(number),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        ArrayQueue {
            slots: (0..capacity).map(slot).collect(),
            tail: Padded(AtomicUsize::new(0)),
            head: Padded(AtomicUsize::new(0)),
        }
    }

    /// The number of values for which there is room.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Puts a value at the end; gives it back where there is no room.
    pub fn enq(&self, value: T) -> Result<(), T> {
        let backoff = Backoff::default();
        let mut number = self.tail.load(Ordering::SeqCst);
        loop {
            let slot = self.slot(number);
            // Acquire: the slot was emptied before it is filled again.
            let sequence = slot.sequence.load(Ordering::Acquire);
            if sequence == number {
                match claim(&self.tail, number) {
                    Ok(_) => {
                        // SAFETY: the slot is free for this number, which this thread alone has.
                        slot.value.with_mut(|place| unsafe { (*place).write(value) });
                        slot.sequence.store(number.wrapping_add(1), Ordering::Release);
                        return Ok(());
                    }
                    Err(other) => number = other,
                }
                backoff.wait();
                continue;
            }
            if sequence.wrapping_sub(number).cast_signed() < 0 {
                let head = self.head.load(Ordering::SeqCst);
                if head.wrapping_add(self.capacity()) == number {
                    return Err(value);
                }
                hint::spin_loop();
            }
            number = self.tail.load(Ordering::SeqCst);
        }
    }

    /// Takes the oldest value; `None` where there is none.
    pub fn deq(&self) -> Option<T> {
        let backoff = Backoff::default();
        let mut number = self.head.load(Ordering::SeqCst);
        loop {
            let slot = self.slot(number);
            let filled = number.wrapping_add(1);
            // Acquire: the slot was filled before it is emptied.
            let sequence = slot.sequence.load(Ordering::Acquire);
            if sequence == filled {
                match claim(&self.head, number) {
                    Ok(_) => {
                        // SAFETY: the slot was filled for this number, which this thread alone has.
                        let value =
                            slot.value.with(|place| unsafe { ptr::read(place).assume_init() });
                        let free = number.wrapping_add(self.capacity());
                        slot.sequence.store(free, Ordering::Release);
                        return Some(value);
                    }
                    Err(other) => number = other,
                }
                backoff.wait();
                continue;
            }
            if sequence.wrapping_sub(filled).cast_signed() < 0 {
                if self.tail.load(Ordering::SeqCst) == number {
                    return None;
                }
                hint::spin_loop();
            }
            number = self.head.load(Ordering::SeqCst);
        }
    }

    #[inline]
    fn slot(&self, number: usize) -> &Slot<T> {
        &self.slots[number & (self.slots.len() - 1)]
    }
}

#[inline]
fn claim(next: &AtomicUsize, number: usize) -> Result<usize, usize> {
    let after = number.wrapping_add(1);
    next.compare_exchange_weak(number, after, Ordering::SeqCst, Ordering::SeqCst)
}

impl<T> Drop for ArrayQueue<T> {
    fn drop(&mut self) {
        while self.deq().is_some() {}
    }
}

impl<T> std::fmt::Debug for ArrayQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrayQueue").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
