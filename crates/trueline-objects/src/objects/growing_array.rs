//! An array that grows while it is read: items never move, so that references to them stay valid.
//!
//! The first items exist from the start. Further ones come in blocks, each as long as all before it
//! together. The first thread that needs a block installs it with a compare-exchange. Finding an
//! item costs O(1).
//!
//! Invariant: once set, a pointer to a block stays the same until the array is dropped.
//!
//! The first items are stored in the array itself, so that a `const fn` can create it, and the
//! objects that contain one.

#[cfg(target_has_atomic = "64")]
use super::sync::atomic::AtomicU64;
use super::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use super::to_the_end::for_each_to_the_end;
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::ptr;

/// Number of items that are there from the start; a power of two.
const FIRST: usize = 8;

/// Blocks after the first one: enough for 2^32 items.
const BLOCKS: usize = 32 - FIRST.ilog2() as usize;

/// The initial value of items, as a constant: a `const fn` cannot call `Default`.
pub(crate) trait Initial {
    const INITIAL: Self;
}

impl Initial for AtomicUsize {
    const INITIAL: AtomicUsize = AtomicUsize::new(0);
}

#[cfg(target_has_atomic = "64")]
impl Initial for AtomicU64 {
    const INITIAL: AtomicU64 = AtomicU64::new(0);
}

/// An array of 2^32 items that start as [`Initial`].
pub(crate) struct GrowingArray<T> {
    first: [T; FIRST],
    /// Block `b` holds the `FIRST << b` items from index `FIRST << b` on, or is null.
    blocks: [AtomicPtr<T>; BLOCKS],
    /// The array owns items: threads that share it share them and threads that get it drop them.
    owns: PhantomData<T>,
}

// SAFETY: an array is a collection of `T`s that it owns. It hands out `&T`s, and drops `T`s.
unsafe impl<T: Send> Send for GrowingArray<T> {}
// SAFETY: as above; through `&GrowingArray` a thread can reach `&T`s, and can make items that
// another thread drops.
unsafe impl<T: Send + Sync> Sync for GrowingArray<T> {}

impl<T: Initial> GrowingArray<T> {
    pub(crate) const fn new() -> GrowingArray<T> {
        GrowingArray {
            first: [const { T::INITIAL }; FIRST],
            blocks: [const { AtomicPtr::new(ptr::null_mut()) }; BLOCKS],
            owns: PhantomData,
        }
    }

    /// The item at an index, created if necessary.
    ///
    /// # Panics
    /// If the index is 2^32 or more.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &T {
        match self.first.get(index) {
            Some(item) => item,
            None => self.get_far(index),
        }
    }

    fn get_far(&self, index: usize) -> &T {
        let block = (index / FIRST).ilog2() as usize;
        let length = FIRST << block;
        // Acquire: items are initialised before their block is installed.
        let mut start = self.blocks[block].load(Ordering::Acquire);
        if start.is_null() {
            start = self.grow(block, length);
        }
        // SAFETY: the block has `length` items from index `length` on, and stays while the array is
        // borrowed.
        unsafe { &*start.add(index - length) }
    }

    #[cold]
    fn grow(&self, block: usize, length: usize) -> *mut T {
        let items: Box<[T]> = (0..length).map(|_| T::INITIAL).collect();
        let start = Box::into_raw(items).cast::<T>();
        let (yes, no) = (Ordering::Release, Ordering::Acquire);
        match self.blocks[block].compare_exchange(ptr::null_mut(), start, yes, no) {
            Ok(_) => start,
            Err(other) => {
                // SAFETY: another thread was first, so that no other thread has seen this block.
                drop(unsafe { into_box(start, length) });
                other
            }
        }
    }

    /// The items of the blocks that are in place, with their indices.
    #[cfg_attr(not(feature = "std"), allow(dead_code, reason = "for objects that need std"))]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let far = self.blocks.iter().enumerate().flat_map(|(block, start)| {
            let length = FIRST << block;
            let start = start.load(Ordering::Acquire);
            let there = if start.is_null() { 0 } else { length };
            // SAFETY: as in `get_far`.
            (0..there).map(move |i| (length + i, unsafe { &*start.add(i) }))
        });
        self.first.iter().enumerate().chain(far)
    }
}

impl<T> GrowingArray<T> {
    /// The items of the blocks that are in place.
    #[cfg_attr(not(feature = "std"), allow(dead_code, reason = "for objects that need std"))]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let far = self.blocks.iter_mut().enumerate().flat_map(|(block, start)| {
            let start = *start.get_mut();
            let there = if start.is_null() { 0 } else { FIRST << block };
            // SAFETY: the array is borrowed mutably, and each item is reached once.
            (0..there).map(move |i| unsafe { &mut *start.add(i) })
        });
        self.first.iter_mut().chain(far)
    }
}

impl<T> Drop for GrowingArray<T> {
    fn drop(&mut self) {
        for_each_to_the_end(self.blocks.iter_mut().enumerate(), |(block, start)| {
            let start = *start.get_mut();
            if !start.is_null() {
                // SAFETY: `grow` created the block with this length, and the array is exclusively
                // owned.
                drop(unsafe { into_box(start, FIRST << block) });
            }
        });
    }
}

/// The block that `grow` created.
///
/// # Safety
/// It has this length, and nothing else uses it.
unsafe fn into_box<T>(start: *mut T, length: usize) -> Box<[T]> {
    // SAFETY: the caller's promise.
    unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(start, length)) }
}

#[cfg(test)]
mod tests {
    use super::{AtomicUsize, GrowingArray, Ordering};

    #[test]
    fn items_are_found_again_and_visited_in_order() {
        let mut array = GrowingArray::<AtomicUsize>::new();
        for index in [0, 7, 8, 15, 16, 40, 100] {
            array.get(index).store(index + 1, Ordering::Relaxed);
        }
        let found: Vec<usize> = array
            .iter()
            .filter(|(index, item)| {
                let value = item.load(Ordering::Relaxed);
                assert!(value == 0 || value == index + 1);
                value != 0
            })
            .map(|(index, _)| index)
            .collect();
        assert_eq!(found, [0, 7, 8, 15, 16, 40, 100]);
        // The blocks of 8, of 16, of 32 and of 64 items are there, and so are the first 8.
        assert_eq!(array.iter_mut().count(), 128);
    }
}
