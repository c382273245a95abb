//! A small number for each running thread, so that an object can give each thread its own place in
//! an array.
//!
//! Invariant: no two running threads have the same number. A number is released when its thread
//! ends and is reused, the least first, so that numbers stay below the largest number of
//! simultaneous threads. The lock around the free numbers orders the accesses of the former owner
//! before those of the next one.
//!
//! The next thread with the number of an ended thread inherits the state at its place. A thread may
//! also claim the number briefly to clean up ([`with_ended_thread_index`]).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs a function with the number of this thread, which no other thread has meanwhile.
#[inline]
pub(crate) fn with_thread_index<R>(function: impl FnOnce(usize) -> R) -> R {
    match OWN.try_with(|own| own.0) {
        Ok(index) => function(index),
        // The thread is ending, and has given its number back: it borrows one.
        Err(_) => {
            let borrowed = Index::take();
            function(borrowed.0)
        }
    }
}

thread_local! {
    static OWN: Index = Index::take();
}

struct Index(usize);

struct Numbers {
    /// Numbers below `next` that no thread has.
    free: BTreeSet<usize>,
    /// Above the numbers of all threads.
    next: usize,
}

static NUMBERS: Mutex<Numbers> = Mutex::new(Numbers { free: BTreeSet::new(), next: 0 });

/// [`Numbers::next`], for readers that do not take the lock.
static BOUND: AtomicUsize = AtomicUsize::new(0);

/// How many threads with a number have ended.
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// How many threads have ended so far: while it does not change, no thread has left anything.
#[inline]
pub(crate) fn threads_ended() -> usize {
    // Acquire: their earlier accesses are visible.
    ENDED.load(Ordering::Acquire)
}

/// A bound above the numbers of all running threads.
///
/// A thread gets its number after this was raised, and releases it before this is lowered. So take
/// a thread that reads it after a sequentially consistent fence. For every other thread, either the
/// bound covers its number, or that thread, which makes a fence before it reads anything, sees
/// everything done before the first fence.
#[inline]
pub(crate) fn thread_bound() -> usize {
    // Acquire: the accesses of a thread whose number is no longer below it are visible.
    BOUND.load(Ordering::Acquire)
}

/// Runs a function in the place of an ended thread, if no running thread has its number or gets it
/// meanwhile. The function must not request numbers itself.
pub(crate) fn with_ended_thread_index(index: usize, function: impl FnOnce()) {
    let numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    if index >= numbers.next || numbers.free.contains(&index) {
        function();
    }
}

impl Index {
    fn take() -> Index {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = numbers.free.pop_first() {
            return Index(index);
        }
        let index = numbers.next;
        numbers.next += 1;
        BOUND.store(numbers.next, Ordering::Release);
        Index(index)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.free.insert(self.0);
        while let Some(last) = numbers.free.last().copied().filter(|last| last + 1 == numbers.next)
        {
            numbers.free.remove(&last);
            numbers.next = last;
        }
        // Release, twice: see `thread_bound` and `threads_ended`.
        BOUND.store(numbers.next, Ordering::Release);
        ENDED.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::with_thread_index;
    use std::collections::BTreeSet;
    use std::sync::Barrier;
    use std::thread;

    #[test]
    fn threads_that_run_at_once_have_different_numbers() {
        let barrier = Barrier::new(8);
        let all: BTreeSet<usize> = thread::scope(|s| {
            let run = || {
                let index = with_thread_index(|index| index);
                barrier.wait();
                assert_eq!(index, with_thread_index(|again| again));
                index
            };
            let threads: Vec<_> = (0..8).map(|_| s.spawn(run)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(all.len(), 8);
    }

    #[test]
    fn a_thread_that_ends_can_still_ask() {
        struct AsksWhenDropped(std::sync::mpsc::Sender<usize>);
        impl Drop for AsksWhenDropped {
            fn drop(&mut self) {
                let _ = self.0.send(with_thread_index(|index| index));
            }
        }
        thread_local! {
            static LAST: std::cell::RefCell<Option<AsksWhenDropped>> = const { std::cell::RefCell::new(None) };
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            LAST.with(|last| *last.borrow_mut() = Some(AsksWhenDropped(sender)));
            // Created after `LAST`, so dropped before it or after it, depending on the platform:
            // both must work.
            with_thread_index(|_| {});
        });
        thread.join().unwrap();
        assert!(receiver.recv().is_ok());
    }
}
