//! One item per thread, by the thread's number: the first few exist from the start, others are
//! created on first use.
//!
//! Each thread costs its item and a pointer. The pointers are in a growing array
//! (`growing_array.rs`), so that a thread with a large number costs an object eight bytes for each
//! lower number, but no items for threads that never come.
//!
//! Invariant: an item does not move until everything is dropped.

use super::growing_array::{GrowingArray, Initial};
use super::padded::Padded;
use super::sync::atomic::{AtomicPtr, Ordering};
use std::marker::PhantomData;
use std::ptr;

/// This many exist from the start.
const FIRST: usize = 8;

/// One item per thread, each on cache lines of its own, initialised by [`Initial`].
pub(crate) struct PerThread<T> {
    first: [Padded<T>; FIRST],
    far: GrowingArray<Far<T>>,
}

/// Null until the thread comes; then its own.
struct Far<T>(AtomicPtr<Padded<T>>, PhantomData<T>);

// SAFETY: it is a box of a `T`, or nothing.
unsafe impl<T: Send> Send for Far<T> {}
// SAFETY: as above; through `&Far` a thread can reach a `&T`, and can make one that another thread
// drops.
unsafe impl<T: Send + Sync> Sync for Far<T> {}

impl<T> Initial for Far<T> {
    const INITIAL: Far<T> = Far(AtomicPtr::new(ptr::null_mut()), PhantomData);
}

impl<T> Drop for Far<T> {
    fn drop(&mut self) {
        let own = *self.0.get_mut();
        if !own.is_null() {
            // SAFETY: it came from `Box::into_raw`, and nothing else refers to it any more.
            drop(unsafe { Box::from_raw(own) });
        }
    }
}

impl<T: Initial> PerThread<T> {
    pub(crate) const fn new() -> PerThread<T> {
        PerThread { first: [const { Padded(T::INITIAL) }; FIRST], far: GrowingArray::new() }
    }

    /// The item of the thread with this number, created if necessary.
    ///
    /// # Panics
    /// If the number is more than 2^32.
    #[inline]
    pub(crate) fn get(&self, thread: usize) -> &T {
        match self.first.get(thread) {
            Some(own) => own,
            None => self.get_far(thread - FIRST),
        }
    }

    fn get_far(&self, index: usize) -> &T {
        let Far(place, _) = self.far.get(index);
        // Acquire: it is initialised before it is installed.
        let mut own = place.load(Ordering::Acquire);
        if own.is_null() {
            let new = Box::into_raw(Box::new(Padded(T::INITIAL)));
            let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
            own = match place.compare_exchange(ptr::null_mut(), new, yes, no) {
                Ok(_) => new,
                Err(other) => {
                    // SAFETY: another thread was first, so that no other thread has seen this one.
                    drop(unsafe { Box::from_raw(new) });
                    other
                }
            };
        }
        // SAFETY: it stays while this is borrowed.
        unsafe { &*own }
    }

    /// Those that are there, with the numbers of their threads, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let far = self.far.iter().filter_map(|(index, Far(place, _))| {
            // SAFETY: as in `get_far`.
            let own = unsafe { place.load(Ordering::Acquire).as_ref() }?;
            Some((FIRST + index, &**own))
        });
        self.first.iter().map(|own| &**own).enumerate().chain(far)
    }
}

impl<T> PerThread<T> {
    /// Those that are there.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        // SAFETY: this is borrowed mutably, and each is reached once.
        let far = self.far.iter_mut().filter_map(|far| unsafe { far.0.get_mut().as_mut() });
        self.first.iter_mut().chain(far).map(|own| &mut **own)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sync::atomic::{AtomicUsize, Ordering};
    use super::PerThread;

    #[test]
    fn what_a_thread_has_is_found_again_and_visited_in_order() {
        let mut each = PerThread::<AtomicUsize>::new();
        let numbers = [0, 7, 8, 15, 16, 40, 300];
        numbers.iter().for_each(|&thread| each.get(thread).store(thread + 1, Ordering::Relaxed));
        assert!(numbers.iter().all(|&n| each.get(n).load(Ordering::Relaxed) == n + 1));
        let found = each.iter().filter(|(_, own)| own.load(Ordering::Relaxed) > 0);
        assert_eq!(found.map(|(thread, _)| thread).collect::<Vec<_>>(), numbers);
        // The first eight, and five that have come.
        assert_eq!((each.iter().count(), each.iter_mut().count()), (13, 13));
    }
}
