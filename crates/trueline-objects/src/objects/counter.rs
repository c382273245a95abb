//! A counter that goes up by one, with a stripe for each thread: those who count do not meet.
//!
//! M. Herlihy, N. Shavit: The art of multiprocessor programming, chapter 12, has better ones for
//! more than counting; striped sums are folklore (`LongAdder` of java.util.concurrent), mostly
//! **not** linearizable. This one is, because it counts upwards and by one alone.
//!
//! **Ordering argument.** Increments are ordered by their additions, whatever the stripe. A read
//! adds up the stripes one after the other; since stripes only grow, what it tells is at least the
//! number of increments when it began and at most the number when it ended. In between the number
//! went up by one at a time, so that there was a moment when it was just that. **Linearization.**
//! `inc` at its addition, `read` at that moment. With decrements there may be none: a read sees one
//! stripe at 0; its thread counts up, then another one down; the read sees the stripe of that one
//! at -1, and tells a number that never was.
//!
//! **Progress.** Both are wait-free, but that the first increment of a thread may allocate.
//! **Cost.** `inc` is one atomic addition to a word that this thread alone writes; `read` is
//! O(number of threads that ran at once).
//!
//! All accesses are sequentially consistent: 'the number of increments at a moment' needs one order
//! of all of them.

use super::per_thread::PerThread;
use super::sync::atomic::{AtomicU64, Ordering};
use super::sync::with_thread_index;

/// A counter for many threads that count and few that read.
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
