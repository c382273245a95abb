//! A small number for each running thread, so that an object can give each its own place in an array.
//!
//! Invariant: no two threads that run have the same number. A number goes back when its thread ends and is handed out again, the
//! least first, so that numbers stay below the largest number of threads that ran at once. The lock around the
//! free numbers orders what the former owner did before what the next one does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
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
    free: BinaryHeap<Reverse<usize>>,
    next: usize,
}

static NUMBERS: Mutex<Numbers> = Mutex::new(Numbers { free: BinaryHeap::new(), next: 0 });

impl Index {
    fn take() -> Index {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Reverse(index)) = numbers.free.pop() {
            return Index(index);
        }
        let index = numbers.next;
        numbers.next += 1;
        Index(index)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.free.push(Reverse(self.0));
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
            // Made after `LAST`, so dropped before it or after it, as the platform likes: both must work.
            with_thread_index(|_| {});
        });
        thread.join().unwrap();
        assert!(receiver.recv().is_ok());
    }
}
