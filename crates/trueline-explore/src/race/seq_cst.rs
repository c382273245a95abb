//! The part of the total order of `SeqCst` accesses that is the same in every execution of a trace.
//!
//! C++20 orders two `SeqCst` accesses by program order and by coherence: two accesses to one
//! location are ordered if one of them changes it or a change lies between them. A trace fixes
//! these orders. It does not fix whether an update that leaves the value unchanged comes before or
//! after a load of that value. If a chain of the fixed orders leads from the update to the load,
//! the load reads from the update or from a later one.
//!
//! Chains through fences, and through accesses that synchronise without being `SeqCst`, are not
//! followed: this order has fewer edges than C++20's.
//!
//! Until the first such update of an execution nothing is recorded, because only accesses after it
//! matter.

use super::clock::Clock;
use super::table::{Entry, Table};
use std::ops::Range;

/// `SeqCst` accesses by thread, numbered from 1.
#[derive(Default)]
pub(super) struct SeqCstOrder {
    is_kept: bool,
    /// For each thread, the accesses before its next `SeqCst` access; its own entry counts those
    /// that it has made.
    threads: Vec<Clock>,
    locations: Table<Ends>,
}

/// The accesses before an access to a location.
#[derive(Default)]
struct Ends {
    /// Before every access.
    changed: Clock,
    /// Before the next change.
    read: Clock,
}

impl Entry for Ends {
    fn renew(&mut self) {
        self.changed.clear();
        self.read.clear();
    }
}

impl SeqCstOrder {
    pub(super) fn clear(&mut self) {
        if self.is_kept {
            self.is_kept = false;
            self.threads.iter_mut().for_each(Clock::clear);
            self.locations.clear();
        }
    }

    /// From here on the order is kept.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Another access to an atomic. `changes`: every other access to the location comes before it
    /// in every execution, or after it in every execution.
    #[inline]
    pub(super) fn access(&mut self, thread: u32, location: usize, changes: bool, seq_cst: bool) {
        if self.is_kept && (changes || seq_cst) {
            self.add(thread, location, changes, seq_cst);
        }
    }

    #[cold]
    fn add(&mut self, thread: u32, location: usize, changes: bool, seq_cst: bool) {
        let ends = self.locations.entry(location);
        if changes {
            ends.changed.join(&ends.read);
            ends.read.clear();
        }
        if !seq_cst {
            return;
        }
        let index = thread as usize;
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Clock::default);
        }
        let clock = &mut self.threads[index];
        clock.join(&ends.changed);
        clock.set(thread, clock.get(thread) + 1);
        if changes { ends.changed.assign(clock) } else { ends.read.join(clock) }
    }

    /// The number of a thread's last `SeqCst` access.
    pub(super) fn last_of(&self, thread: u32) -> u32 {
        self.threads.get(thread as usize).map_or(0, |clock| clock.get(thread))
    }

    /// Whether an access of some thread comes before the last one of this thread.
    pub(super) fn precedes(&self, other: (u32, u32), thread: u32) -> bool {
        self.threads.get(thread as usize).is_some_and(|clock| clock.get(other.0) >= other.1)
    }

    /// The location is gone. Another object may use its address.
    pub(super) fn forget(&mut self, location: usize) {
        if self.is_kept {
            self.locations.remove(location);
        }
    }

    /// As [`SeqCstOrder::forget`], of all that a block contains.
    pub(super) fn forget_block(&mut self, block: Range<usize>) {
        if self.is_kept {
            self.locations.remove_range(block, |_, _| ());
        }
    }
}
