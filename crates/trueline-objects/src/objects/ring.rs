//! The ring of slots of Vyukov's bounded queue: the sequence number of each slot determines whose
//! turn it is.
//!
//! D. Vyukov: Bounded MPMC queue. 1024cores.net, 2010. `p` means 'free for the `enq` number p', `p
//! + 1` 'filled by it'. The thread that has claimed a number fills or empties its slot, which no
//! other thread accesses meanwhile. The queue decides what to do if it is not an operation's turn.
//!
//! A number consists of a place and a lap: the place in the low bits, which suffice for one more
//! than the capacity, the lap above them. So any capacity is possible, numbers may wrap around, and
//! 'filled' is never 'free for the next lap', even with one slot. The published numbers are
//! consecutive, which needs a power of two.

use super::padded::Padded;
use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::cell::UnsafeCell;
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ptr;

/// Slots, and the numbers that are handed out. Dropping it does not drop the remaining values.
pub(crate) struct Ring<T> {
    slots: Box<[Slot<T>]>,
    /// The number of the next `enq`.
    pub(crate) tail: Padded<AtomicUsize>,
    /// The number of the next `deq`.
    pub(crate) head: Padded<AtomicUsize>,
    /// What a number grows by in a lap: a power of two above the capacity.
    lap: usize,
}

/// A place for one value at a time.
pub(crate) struct Slot<T> {
    sequence: AtomicUsize,
    /// There while the sequence is one more than a number of this slot.
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: values move from the enqueuing thread to the one that dequeues or drops; no two threads
// have a value at the same time.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    /// # Panics
    /// If the capacity is 0, or more than half of what can be counted.
    pub(crate) fn new(capacity: usize) -> Ring<T> {
        assert!(capacity > 0, "the capacity is at least 1");
        assert!(capacity < usize::MAX / 4, "the capacity is more than can be counted");
        let slot = |number| Slot {
            sequence: AtomicUsize::new(number),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Ring {
            slots: (0..capacity).map(slot).collect(),
            tail: Padded(AtomicUsize::new(0)),
            head: Padded(AtomicUsize::new(0)),
            lap: (capacity + 1).next_power_of_two(),
        }
    }

    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The slot of a number.
    #[inline]
    pub(crate) fn slot(&self, number: usize) -> &Slot<T> {
        &self.slots[number & (self.lap - 1)]
    }

    /// The number after this one.
    #[inline]
    pub(crate) fn after(&self, number: usize) -> usize {
        let place = number & (self.lap - 1);
        if place + 1 < self.slots.len() {
            number + 1
        } else {
            number.wrapping_sub(place).wrapping_add(self.lap)
        }
    }

    /// The number of the same slot a lap later.
    #[inline]
    pub(crate) fn a_lap_after(&self, number: usize) -> usize {
        number.wrapping_add(self.lap)
    }

    /// The number of the same slot a lap before.
    #[inline]
    pub(crate) fn a_lap_before(&self, number: usize) -> usize {
        number.wrapping_sub(self.lap)
    }

    /// How many numbers there are from `head` to `tail`, which is not more than a lap ahead.
    pub(crate) fn distance(&self, head: usize, tail: usize) -> usize {
        let place = |number: usize| number & (self.lap - 1);
        match (place(head), place(tail)) {
            _ if head == tail => 0,
            (head, tail) if head < tail => tail - head,
            (head, tail) => self.slots.len() - head + tail,
        }
    }
}

impl<T> Slot<T> {
    /// The current turn. Acquire: the slot was emptied before it is filled again, and filled before
    /// it is emptied.
    #[inline]
    pub(crate) fn sequence(&self) -> usize {
        self.sequence.load(Ordering::Acquire)
    }

    /// Stores the value of an `enq`.
    ///
    /// # Safety
    /// It is the turn of this number, which only this thread has.
    #[inline]
    pub(crate) unsafe fn fill(&self, number: usize, value: T) {
        // SAFETY: the slot is free for this number, which this thread alone has.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        self.sequence.store(number.wrapping_add(1), Ordering::Release);
    }

    /// Replaces the stored value by that of an `enq`, and returns the old one.
    ///
    /// # Safety
    /// The slot was filled for a number that only this thread has, which also has `number`, of the
    /// next lap.
    #[inline]
    pub(crate) unsafe fn replace(&self, number: usize, value: T) -> T {
        // SAFETY: the slot was filled for this thread alone.
        let former = self.value.with_mut(|place| unsafe {
            let former = ptr::read(place).assume_init();
            (*place).write(value);
            former
        });
        self.sequence.store(number.wrapping_add(1), Ordering::Release);
        former
    }

    /// Removes the value for a `deq`; the slot is then free for the `enq` of this number.
    ///
    /// # Safety
    /// The slot was filled for a number that only this thread has.
    #[inline]
    pub(crate) unsafe fn empty(&self, free: usize) -> T {
        // SAFETY: the slot was filled for this thread alone.
        let value = self.value.with(|place| unsafe { ptr::read(place).assume_init() });
        self.sequence.store(free, Ordering::Release);
        value
    }
}
