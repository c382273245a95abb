//! A counter that goes up by one, with a stripe for each thread, so that incrementing threads do
//! not contend.
//!
//! M. Herlihy, N. Shavit: The art of multiprocessor programming, chapter 12, has better ones for
//! more than counting; striped sums are folklore (`LongAdder` of java.util.concurrent), and mostly
//! **not** linearizable. This one is, because it only counts upwards and by one.
//!
//! **Ordering argument.** Increments are ordered by their additions, whatever the stripe. A read
//! adds up the stripes one after the other. Since stripes only grow, its result is at least the
//! number of increments when it began and at most the number when it ended. In between, the number
//! increased by one at a time, so there was a moment with exactly that number. **Linearization.**
//! `inc` at its addition, `read` at that moment. With decrements there may be no such moment: a
//! read reads one stripe as 0; its thread increments it, then another thread decrements its own;
//! the read reads that stripe as -1, and returns a number that never was the value.
//!
//! **Progress.** Both are wait-free, except that the first increment of a thread may allocate.
//! **Cost.** `inc` is one atomic addition to a word that only this thread writes; `read` is
//! O(number of threads that ran at once).
//!
//! All accesses are sequentially consistent: 'the number of increments at a moment' needs one order
//! of all of them.

use super::per_thread::PerThread;
use super::sync::atomic::{AtomicU64, Ordering};
use super::sync::with_thread_index;

/// A counter for many incrementing threads and few reading ones.
///
/// ```
/// let counter = trueline_objects::Counter::new();
/// std::thread::scope(|s| {
///     s.spawn(|| counter.inc());
///     s.spawn(|| counter.inc());
/// });
/// assert_eq!(counter.read(), 2);
/// ```
pub struct Counter {
    /// How often the thread with this number has counted.
    stripes: PerThread<AtomicU64>,
}

impl Counter {
    /// A counter at zero.
    pub const fn new() -> Counter {
        Counter { stripes: PerThread::new() }
    }

    /// Adds one. It wraps around after 2^64 increments.
    pub fn inc(&self) {
        with_thread_index(|index| self.stripes.get(index).fetch_add(1, Ordering::SeqCst));
    }

    /// The number of increments.
    pub fn read(&self) -> u64 {
        let stripes = self.stripes.iter().map(|(_, stripe)| stripe.load(Ordering::SeqCst));
        stripes.fold(0, u64::wrapping_add)
    }
}

impl Default for Counter {
    fn default() -> Counter {
        Counter::new()
    }
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counter").finish_non_exhaustive()
    }
}
