//! The bounded priority queue with a fault. A value is its own priority, so that bins are counts.

use crate::shadowed::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is no word of counts: `poll` searches the bins, the best first.
    LooksThrough,
    /// `insert` first reserves its room and is counted later: the queue can be full before the
    /// values that fill it are there.
    ReservesFirst,
    /// The counts are changed without looking whether they are still the same.
    ClaimsWithoutComparing,
    /// `poll` chooses a bin once, and takes from it even if there is a better one meanwhile.
    ChoosesOnce,
}

/// A queue with 16 priorities and room for two values, with a fault.
pub(crate) struct Queue {
    fault: Fault,
    bins: [AtomicUsize; PRIORITIES],
    /// How many values are in, or on their way.
    total: AtomicUsize,
    /// The number of values in each bin, four bits each.
    counts: AtomicU64,
}

const PRIORITIES: usize = 16;
const CAPACITY: usize = 2;

impl Queue {
    pub(crate) fn new(fault: Fault) -> Queue {
        let (total, counts) = (AtomicUsize::new(0), AtomicU64::new(0));
        Queue { fault, bins: Default::default(), total, counts }
    }

    pub(crate) fn insert(&self, priority: i64) -> bool {
        let one = 1 << (4 * priority);
        match self.fault {
            Fault::LooksThrough => {
                if !self.reserve() {
                    return false;
                }
                self.bins[priority as usize].fetch_add(1, Ordering::AcqRel);
                true
            }
            Fault::ReservesFirst => {
                if !self.reserve() {
                    return false;
                }
                self.counts.fetch_add(one, Ordering::AcqRel);
                true
            }
            Fault::ClaimsWithoutComparing | Fault::ChoosesOnce => self
                .claim(|counts| {
                    let total: u64 = (0..PRIORITIES).map(|bin| counts >> (4 * bin) & 15).sum();
                    (total < CAPACITY as u64).then(|| counts + one)
                })
                .is_some(),
        }
    }

    pub(crate) fn poll(&self) -> Option<i64> {
        match self.fault {
            Fault::LooksThrough => {
                let best = (0..PRIORITIES).rev().find(|&bin| lower(&self.bins[bin]))?;
                self.total.fetch_sub(1, Ordering::AcqRel);
                Some(best as i64)
            }
            Fault::ReservesFirst => {
                let counts = self.claim(|counts| Some(counts - (1 << (4 * best(counts)?))))?;
                self.total.fetch_sub(1, Ordering::AcqRel);
                best(counts).map(i64::from)
            }
            Fault::ClaimsWithoutComparing => {
                let counts = self.claim(|counts| Some(counts - (1 << (4 * best(counts)?))))?;
                best(counts).map(i64::from)
            }
            Fault::ChoosesOnce => loop {
                let bin = best(self.counts.load(Ordering::Acquire))?;
                let there = |counts: u64| counts >> (4 * bin) & 15 > 0;
                let claim = |counts| there(counts).then(|| counts - (1 << (4 * bin)));
                if self.claim(claim).is_some() {
                    return Some(i64::from(bin));
                }
            },
        }
    }

    pub(crate) fn peek(&self) -> Option<i64> {
        match self.fault {
            Fault::LooksThrough => {
                let there = |&bin: &usize| self.bins[bin].load(Ordering::Acquire) > 0;
                (0..PRIORITIES).rev().find(there).map(|bin| bin as i64)
            }
            _ => best(self.counts.load(Ordering::Acquire)).map(i64::from),
        }
    }

    fn reserve(&self) -> bool {
        let more = |total| (total < CAPACITY).then_some(total + 1);
        self.total.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    fn claim(&self, change: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let mut counts = self.counts.load(Ordering::Acquire);
        loop {
            let after = change(counts)?;
            if self.fault == Fault::ClaimsWithoutComparing {
                self.counts.store(after, Ordering::Release);
                return Some(counts);
            }
            let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
            match self.counts.compare_exchange(counts, after, yes, no) {
                Ok(_) => return Some(counts),
                Err(found) => counts = found,
            }
        }
    }
}

fn best(counts: u64) -> Option<u32> {
    counts.checked_ilog2().map(|bit| bit / 4)
}

fn lower(count: &AtomicUsize) -> bool {
    let less = |count: usize| count.checked_sub(1);
    count.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
}
