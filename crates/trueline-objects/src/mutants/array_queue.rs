//! Vyukov's bounded queue, repaired as in `array_queue.rs`, with a fault.

use crate::shadowed::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use crate::shadowed::sync::cell::UnsafeCell;
use crate::shadowed::sync::hint;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `deq` claims its number without looking whether another has it.
    ClaimsWithoutComparing,
    /// `enq` announces that its slot is filled before it fills it.
    PublishesFirst,
    /// `deq` announces that its slot is free before it has read the value.
    FreesFirst,
}

/// A queue with a fault.
pub(crate) struct Queue {
    fault: Fault,
    slots: Box<[Slot]>,
    tail: AtomicUsize,
    head: AtomicUsize,
}

struct Slot {
    sequence: AtomicUsize,
    value: AtomicI64,
}

impl Queue {
    pub(crate) fn new(capacity: usize, fault: Fault) -> Queue {
        let slot = |number| Slot { sequence: AtomicUsize::new(number), value: AtomicI64::new(-1) };
        let slots = (0..capacity).map(slot).collect();
        Queue { fault, slots, tail: AtomicUsize::new(0), head: AtomicUsize::new(0) }
    }

    pub(crate) fn enq(&self, value: i64) -> bool {
        let mut number = self.tail.load(Ordering::SeqCst);
        loop {
            let slot = &self.slots[number % self.slots.len()];
            let sequence = slot.sequence.load(Ordering::Acquire);
            if sequence == number {
                if let Err(other) = claim(&self.tail, number) {
                    number = other;
                    continue;
                }
                if self.fault == Fault::PublishesFirst {
                    slot.sequence.store(number + 1, Ordering::Release);
                    slot.value.store(value, Ordering::Release);
                } else {
                    slot.value.store(value, Ordering::Relaxed);
                    slot.sequence.store(number + 1, Ordering::Release);
                }
                return true;
            }
            if sequence < number {
                if self.head.load(Ordering::SeqCst) + self.slots.len() == number {
                    return false;
                }
                hint::spin_loop();
            }
            number = self.tail.load(Ordering::SeqCst);
        }
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        let mut number = self.head.load(Ordering::SeqCst);
        loop {
            let slot = &self.slots[number % self.slots.len()];
            let sequence = slot.sequence.load(Ordering::Acquire);
            if sequence == number + 1 {
                if self.fault == Fault::ClaimsWithoutComparing {
                    self.head.store(number + 1, Ordering::SeqCst);
                } else if let Err(other) = claim(&self.head, number) {
                    number = other;
                    continue;
                }
                let free = number + self.slots.len();
                if self.fault == Fault::FreesFirst {
                    slot.sequence.store(free, Ordering::Release);
                    return Some(slot.value.load(Ordering::Acquire));
                }
                let value = slot.value.load(Ordering::Acquire);
                slot.sequence.store(free, Ordering::Release);
                return Some(value);
            }
            if sequence < number + 1 {
                if self.tail.load(Ordering::SeqCst) == number {
                    return None;
                }
                hint::spin_loop();
            }
            number = self.head.load(Ordering::SeqCst);
        }
    }
}

fn claim(next: &AtomicUsize, number: usize) -> Result<usize, usize> {
    next.compare_exchange(number, number + 1, Ordering::SeqCst, Ordering::SeqCst)
}

/// Announces that a slot is filled, or free, with relaxed orderings: a race on its value.
pub(crate) struct RelaxedQueue {
    slots: Box<[RelaxedSlot]>,
    tail: AtomicUsize,
    head: AtomicUsize,
}

struct RelaxedSlot {
    sequence: AtomicUsize,
    value: UnsafeCell<i64>,
}

// SAFETY: it is not sound: this is the fault, which the explorer reports as a race. There, only one
// thread runs at a time.
unsafe impl Sync for RelaxedSlot {}

impl RelaxedQueue {
    pub(crate) fn new(capacity: usize) -> RelaxedQueue {
        let slot =
            |number| RelaxedSlot { sequence: AtomicUsize::new(number), value: UnsafeCell::new(-1) };
        let slots = (0..capacity).map(slot).collect();
        RelaxedQueue { slots, tail: AtomicUsize::new(0), head: AtomicUsize::new(0) }
    }

    pub(crate) fn enq(&self, value: i64) -> bool {
        let mut number = self.tail.load(Ordering::SeqCst);
        loop {
            let slot = &self.slots[number % self.slots.len()];
            let sequence = slot.sequence.load(Ordering::Relaxed);
            if sequence == number && claim(&self.tail, number).is_ok() {
                // SAFETY: only this thread has the number. The fault is that it may not see what
                // was done with the slot before.
                slot.value.with_mut(|place| unsafe { *place = value });
                slot.sequence.store(number + 1, Ordering::Relaxed);
                return true;
            }
            if sequence < number && self.head.load(Ordering::SeqCst) + self.slots.len() == number {
                return false;
            }
            hint::spin_loop();
            number = self.tail.load(Ordering::SeqCst);
        }
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        let mut number = self.head.load(Ordering::SeqCst);
        loop {
            let slot = &self.slots[number % self.slots.len()];
            let sequence = slot.sequence.load(Ordering::Relaxed);
            if sequence == number + 1 && claim(&self.head, number).is_ok() {
                // SAFETY: as above.
                let value = slot.value.with(|place| unsafe { *place });
                slot.sequence.store(number + self.slots.len(), Ordering::Relaxed);
                return Some(value);
            }
            if sequence < number + 1 && self.tail.load(Ordering::SeqCst) == number {
                return None;
            }
            hint::spin_loop();
            number = self.head.load(Ordering::SeqCst);
        }
    }
}
