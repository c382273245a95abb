//! A small number for each running thread, so that an object can give each its own place in an
//! array.
//!
//! Invariant: no two threads that run have the same number. A number goes back when its thread ends
//! and is handed out again, the least first, so that numbers stay below the largest number of
//! threads that ran at once. The lock around the free numbers orders what the former owner did
//! before what the next one does.
//!
//! What a thread that has ended left at its place is for the next one with its number, or for a
//! thread that takes the number for a moment to see to it ([`with_ended_thread_index`]).

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

/// [`Numbers::next`], for those who do not take the lock.
static BOUND: AtomicUsize = AtomicUsize::new(0);

/// How many threads with a number have ended.
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// How many threads have ended so far: where it has not changed, nobody has left anything since.
#[inline]
pub(crate) fn threads_ended() -> usize {
    // Acquire: what they did before is seen.
    ENDED.load(Ordering::Acquire)
}

/// Above the numbers of all threads that run.
///
/// A thread gets its number after this was raised, and gives it back before this is lowered. So who
/// reads it after a sequentially consistent fence either counts a thread in, or that thread, which
/// makes a fence before it reads anything, sees all that was done before the first fence.
#[inline]
pub(crate) fn thread_bound() -> usize {
    // Acquire: what a thread did that is not below it any more is seen.
    BOUND.load(Ordering::Acquire)
}

/// Runs a function in the place of a thread that has ended, if no running thread has its number,
/// nor gets it meanwhile. It must not ask for numbers itself.
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
            // Made after `LAST`, so dropped before it or after it, as the platform likes: both must
            // work.
            with_thread_index(|_| {});
        });
        thread.join().unwrap();
        assert!(receiver.recv().is_ok());
    }
}
