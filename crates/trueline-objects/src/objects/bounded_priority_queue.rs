//! A bounded priority queue for a few priorities: a bin for each, and all their counts in one word.
//!
//! The bounded priority queue of the library of Wing and Gong (Testing and verifying concurrent
//! objects. JPDC 17, 1993) is their bounded queue with priorities; they give no code for it. N.
//! Shavit, A. Zemach: Scalable concurrent priority queue algorithms. PODC 1999, use bins that are
//! searched from the best one on. That alone is not linearizable: while `pop` is between two bins,
//! a value may be inserted into a bin that it has passed, and then one into a bin that it has not.
//! It takes the second and leaves the first, which was there earlier and is better. (The mutant
//! `-looks-through` is that algorithm.) Here a `pop` decides in one step which bin it takes from,
//! and `push` which bin gains a value: by a compare-exchange of a word with the counts of all bins.
//! The value itself is moved after that.
//!
//! Each bin is a ring of slots, with a number for each `push` and for each `pop`, which determine
//! whose turn a slot is. **Invariant:** the pops of a bin have been given at most as many numbers
//! as its count was decremented, and the pushes at most as many as it was incremented; and the
//! count is at most the number of slots. So the slot of a `pop` has been filled, or will be filled
//! by a `push` that has incremented the count and not ended.
//!
//! **Linearization.** `push` and `pop` at the successful compare-exchange, or where they read
//! counts that mean 'full' or 'empty'; `peek` where it reads the counts. Since all of them are
//! accesses to one word, the order is that word's modification order. All values of a bin have the
//! same priority, so nothing else needs proof. Values of one priority leave in the order in which
//! they were pushed, unless their pushes, or pops, overlap.
//!
//! **Progress.** Blocking: `pop` waits for the `push` that fills its slot, `push` for the `pop`
//! that empties it, if that has claimed it and is unfinished. **Cost.** O(1) without contention,
//! whatever the number of priorities; no allocation except in `new`. All operations contend for one
//! word. Limit: a word has 64 bits, so there can be 16 priorities with up to 15 values altogether,
//! 8 with 255, 4 with 65535; [`PriorityQueue`](super::PriorityQueue) has no bounds.

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

// SAFETY: values move from the pushing thread to the one that pops or drops; no two threads have a
// value at the same time.
unsafe impl<T: Send> Send for BoundedPriorityQueue<T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<T: Send> Sync for BoundedPriorityQueue<T> {}

impl<T> BoundedPriorityQueue<T> {
    /// An empty queue for priorities from 0 to one less than their number, with room for this many
    /// values altogether.
    ///
    /// # Panics
    /// If there are no priorities, or no room, or if the counts do not fit into 64 bits: see
    /// [`BoundedPriorityQueue::fits`].
    pub fn new(priorities: usize, capacity: usize) -> BoundedPriorityQueue<T> {
        assert!(Self::fits(priorities, capacity), "the counts must fit into 64 bits");
        // A power of two, because numbers wrap around. At least two, because otherwise 'filled' and
        // 'free for the next one' would be the same number.
        let slots = capacity.next_power_of_two().max(2);
        BoundedPriorityQueue {
            counts: Padded(AtomicU64::new(0)),
            bits: 64 / priorities as u32,
            capacity: capacity as u64,
            bins: (0..priorities).map(|_| Bin::new(slots)).collect(),
        }
    }

    /// Whether a queue of this many priorities with room for this many values is possible:
    /// `capacity < 2^(64 / priorities)`, rounded down, and less than 2^32.
    pub fn fits(priorities: usize, capacity: usize) -> bool {
        let (capacity, most) = (capacity as u64, u64::from(u32::MAX));
        (1..=64).contains(&priorities)
            && (1..=most).contains(&capacity)
            && u128::from(capacity) < 1 << (64 / priorities)
    }

    /// Inserts a value; returns it if there is no room.
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

    /// Removes a value of the highest priority; `None` if the queue is empty.
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

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.peek().is_none()
    }

    /// Whether it is full.
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }

    /// The number of values for which there is room altogether.
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Changes the counts; returns the old ones, or `None` if there is nothing to claim.
    fn claim(&self, change: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let backoff = Backoff::default();
        let mut counts = self.counts.load(Ordering::Acquire);
        loop {
            let after = change(counts)?;
            // The slots publish their contents, not the counts. These orderings are for threads
            // that draw conclusions from a result about earlier operations.
            let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
            match self.counts.compare_exchange_weak(counts, after, yes, no) {
                Ok(_) => return Some(counts),
                Err(found) => counts = found,
            }
            backoff.wait();
        }
    }

    /// The best priority with a nonzero count.
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
        // Release: a thread that finds the slot filled sees the value.
        slot.sequence.store(number.wrapping_add(1), Ordering::Release);
    }

    /// Takes a value; the caller has lowered the count.
    fn take(&self) -> T {
        let number = self.head.fetch_add(1, Ordering::Relaxed);
        let slot = self.wait(number, number.wrapping_add(1));
        // SAFETY: the slot was filled for this number, which only this thread has, and the value is
        // not read again.
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
