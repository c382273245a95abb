//! Nodes that live as long as the object: a fault that loses or doubles a node is neither a leak
//! nor a double free.

use crate::shadowed::growing_array::{GrowingArray, Initial};
use crate::shadowed::sync::with_thread_index;
use std::cell::UnsafeCell;

/// Makes nodes and keeps them.
pub(crate) struct Nursery<N> {
    /// By the number of the thread that made them.
    made: GrowingArray<Made<N>>,
}

/// The nodes that one thread has made; touched by this thread alone, and by who drops the nursery.
struct Made<N>(UnsafeCell<Vec<*mut N>>);

impl<N> Initial for Made<N> {
    const INITIAL: Made<N> = Made(UnsafeCell::new(Vec::new()));
}

// SAFETY: the pointers are owned; the list is touched by one thread at a time, see
// `with_thread_index`.
unsafe impl<N: Send> Send for Made<N> {}
// SAFETY: as above.
unsafe impl<N: Send> Sync for Made<N> {}

impl<N> Nursery<N> {
    pub(crate) fn new() -> Nursery<N> {
        Nursery { made: GrowingArray::new() }
    }

    /// A pointer to a node that is good until the nursery is dropped.
    pub(crate) fn make(&self, node: N) -> *mut N {
        let node = Box::into_raw(Box::new(node));
        with_thread_index(|index| {
            let made = self.made.get(index).0.get();
            // SAFETY: the list is this thread's own, and nobody borrows it.
            unsafe { (*made).push(node) };
        });
        node
    }
}

impl<N> Drop for Nursery<N> {
    fn drop(&mut self) {
        for made in self.made.iter_mut() {
            for node in made.0.get_mut().drain(..) {
                // SAFETY: the node was made here, and nobody has the object any more.
                drop(unsafe { Box::from_raw(node) });
            }
        }
    }
}
