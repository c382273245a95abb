//! A bounded priority queue for a few priorities: a bin for each, and all their counts in one word.
//!
//! The bounded priority queue of the library of Wing and Gong (Testing and verifying concurrent
//! objects. JPDC 17, 1993) is their bounded queue with priorities, of which they give no code; N.
//! Shavit, A. Zemach: Scalable concurrent priority queue algorithms. PODC 1999, have bins that are
//! looked through from the best one on. That alone is not linearizable: while `pop` is between two
//! bins, a value may be put into a bin that it has passed, and after that one into a bin that it
//! has not: it takes the second and leaves the first, which was there before and is better. (The
//! mutant `-looks-through` is that algorithm.) Here a `pop` decides which bin it takes from in one
//! step, and `push` which bin gains a value: by a compare-exchange of a word that has the counts of
//! all bins. What it takes, or puts, comes after that.
//!
//! Each bin is a ring of slots, with a number for each `push` and for each `pop`, which say whose
//! turn a slot is. **Invariant:** as many numbers have been handed out to the pops of a bin as its
//! count was lowered, at most; and as many to the pushes as it was raised, at most; and the count
//! is at most the number of slots. So the slot of a `pop` was filled, or will be by a `push` that
//! has raised the count and not ended.
//!
//! **Linearization.** `push` and `pop` at the successful compare-exchange, or where they read
//! counts that say 'full' or 'empty'; `peek` where it reads the counts. Since all of them are
//! accesses to one word, the order is that word's modification order, and there is nothing else to
//! prove but that values of a bin are as good as each other. Of the values of one priority those
//! that were pushed first come first, but for those whose pushes, or pops, overlap.
//!
//! **Progress.** Blocking: `pop` waits for the `push` that fills its slot, `push` for the `pop`
//! that empties it, if that has claimed it and is not done. **Cost.** O(1) without contention,
//! whatever the number of priorities; no allocation but in `new`. All operations contend for one
//! word. The limit: a word has 64 bits, so there can be 16 priorities with up to 15 values
//! altogether, 8 with 255, 4 with 65535; without bounds there is
//! [`PriorityQueue`](super::PriorityQueue).

use super::padded::Padded;
use super::sync::Backoff;
use super::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use super::sync::cell::UnsafeCell;
use super::to_the_end::to_the_end;
use alloc::boxed::Box;
use core::mem::MaybeUninit;

/// A bounded priority queue for a few priorities.
///
/// ```
/// let queue = trueline_objects::BoundedPriorityQueue::new(4, 100);
/// assert_eq!(queue.push(0, "low"), Ok(()));
/// assert_eq!(queue.push(3, "high"), Ok(()));
/// assert_eq!(queue.peek(), Some(3));
/// assert_eq!(queue.pop(), Some((3, "high")));
/// ```
pub struct BoundedPriorityQueue<T> {
    /// The number of values in each bin, `bits` bits each, the best priority in the highest bits.
    counts: Padded<AtomicU64>,
    bits: u32,
    capacity: u64,
    bins: Box<[Bin<T>]>,
}

struct Bin<T> {
    /// The number of the next `push` into this bin that has raised the count.
    tail: Padded<AtomicUsize>,
    /// The number of the next `pop` from this bin that has lowered the count.
    head: Padded<AtomicUsize>,
    slots: Box<[Slot<T>]>,
}

struct Slot<T> {
    /// `p`: free for the `push` number p; `p + 1`: filled by it.
    sequence: AtomicUsize,
    /// There while the sequence is one more than a number of this slot.
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: values move from the thread that pushes to the one that pops or drops; no two threads
// have one at a time.
unsafe impl<T: Send> Send for BoundedPriorityQueue<T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<T: Send> Sync for BoundedPriorityQueue<T> {}

impl<T> BoundedPriorityQueue<T> {
    /// An empty queue for priorities from 0 to one less than their number, with room for so many
    /// values altogether.
    ///
    /// # Panics
    /// If there is no priority, or no room, or if the counts do not fit into 64 bits: see
    /// [`BoundedPriorityQueue::fits`].
    pub fn new(priorities: usize, capacity: usize) -> BoundedPriorityQueue<T> {
        assert!(Self::fits(priorities, capacity), "the counts must fit into 64 bits");
        // A power of two: numbers wrap around. At least two: else 'filled' and 'free for the next
        // one' would be the same number.
        let slots = capacity.next_power_of_two().max(2);
        BoundedPriorityQueue {
            counts: Padded(AtomicU64::new(0)),
            bits: 64 / priorities as u32,
            capacity: capacity as u64,
            bins: (0..priorities).map(|_| Bin::new(slots)).collect(),
        }
    }

    /// Whether there can be a queue of so many priorities with room for so many values:
    /// `capacity < 2^(64 / priorities)`, rounded down, and less than 2^32.
    pub fn fits(priorities: usize, capacity: usize) -> bool {
        let (capacity, most) = (capacity as u64, u64::from(u32::MAX));
        (1..=64).contains(&priorities)
            && (1..=most).contains(&capacity)
            && u128::from(capacity) < 1 << (64 / priorities)
    }

    /// Puts a value in; gives it back where there is no room.
    ///
    /// # Panics
    /// If there is no such priority.
    pub fn push(&self, priority: usize, value: T) -> Result<(), T> {
        let bin = &self.bins[priority];
        let one = 1 << (priority as u32 * self.bits);
        let claim = |counts| (self.total(counts) < self.capacity).then(|| counts + one);
        match self.claim(claim) {
            Some(_) => {
                bin.put(value);
                Ok(())
            }
            None => Err(value),
        }
    }

    /// Takes a value of the highest priority that there is; `None` where there is no value.
    pub fn pop(&self) -> Option<(usize, T)> {
        let counts = self.claim(|counts| {
            let best = self.best(counts)?;
            Some(counts - (1 << (best as u32 * self.bits)))
        });
        let best = self.best(counts?)?;
        Some((best, self.bins[best].take()))
    }

    /// The highest priority that there is a value of.
    pub fn peek(&self) -> Option<usize> {
        self.best(self.counts.load(Ordering::Acquire))
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.total(self.counts.load(Ordering::Acquire)) as usize
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.peek().is_none()
    }

    /// Whether there is no room.
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }

    /// The number of values for which there is room altogether.
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Changes the counts; yields what they were, or `None` where there is nothing to claim.
    fn claim(&self, change: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let backoff = Backoff::default();
        let mut counts = self.counts.load(Ordering::Acquire);
        loop {
            let after = change(counts)?;
            // What is in the slots is not published by the counts but by the slots. These orderings
            // are for those who conclude from a result what others have done before.
            let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
            match self.counts.compare_exchange_weak(counts, after, yes, no) {
                Ok(_) => return Some(counts),
                Err(found) => counts = found,
            }
            backoff.wait();
        }
    }

    /// The best priority whose count is not 0.
    fn best(&self, counts: u64) -> Option<usize> {
        counts.checked_ilog2().map(|bit| (bit / self.bits) as usize)
    }

    fn total(&self, mut counts: u64) -> u64 {
        if self.bits == 64 {
            return counts;
        }
        let mut total = 0;
        while counts > 0 {
            total += counts & ((1 << self.bits) - 1);
            counts >>= self.bits;
        }
        total
    }
}

impl<T> Bin<T> {
    fn new(slots: usize) -> Bin<T> {
        let slot = |number| Slot {
            sequence: AtomicUsize::new(number),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Bin {
            tail: Padded(AtomicUsize::new(0)),
            head: Padded(AtomicUsize::new(0)),
            slots: (0..slots).map(slot).collect(),
        }
    }

    /// Puts a value in; the caller has raised the count.
    fn put(&self, value: T) {
        // Relaxed: the number is all that matters.
        let number = self.tail.fetch_add(1, Ordering::Relaxed);
        let slot = self.wait(number, number);
        // SAFETY: the slot is free for this number, which this thread alone has.
        slot.value.with_mut(|place| unsafe { (*place).write(value) });
        // Release: who finds it filled sees the value.
        slot.sequence.store(number.wrapping_add(1), Ordering::Release);
    }

    /// Takes a value; the caller has lowered the count.
    fn take(&self) -> T {
        let number = self.head.fetch_add(1, Ordering::Relaxed);
        let slot = self.wait(number, number.wrapping_add(1));
        // SAFETY: the slot was filled for this number, which this thread alone has, and nobody
        // reads it again.
        let value = slot.value.with(|place| unsafe { (*place).assume_init_read() });
        // Release: the value was read before the slot is filled again.
        slot.sequence.store(number.wrapping_add(self.slots.len()), Ordering::Release);
        value
    }

    /// The slot of a number, when its turn has come.
    fn wait(&self, number: usize, turn: usize) -> &Slot<T> {
        let slot = &self.slots[number & (self.slots.len() - 1)];
        let backoff = Backoff::default();
        while slot.sequence.load(Ordering::Acquire) != turn {
            backoff.wait_for_other();
        }
        slot
    }
}

impl<T> Drop for BoundedPriorityQueue<T> {
    fn drop(&mut self) {
        to_the_end(|| self.pop().is_some());
    }
}

impl<T> core::fmt::Debug for BoundedPriorityQueue<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (priorities, capacity) = (self.bins.len(), self.capacity);
        f.debug_struct("BoundedPriorityQueue")
            .field("priorities", &priorities)
            .field("capacity", &capacity)
            .finish_non_exhaustive()
    }
}
