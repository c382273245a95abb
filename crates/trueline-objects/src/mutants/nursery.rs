//! Nodes that live as long as the object: a fault that loses or duplicates a node is then neither a
//! leak nor a double free.

use crate::shadowed::growing_array::{GrowingArray, Initial};
use crate::shadowed::sync::with_thread_index;
use std::cell::UnsafeCell;

/// Makes nodes and keeps them.
pub(crate) struct Nursery<N> {
    /// By the number of the thread that created them.
    made: GrowingArray<Made<N>>,
}

/// The nodes that one thread has created. Only this thread accesses them, and the thread that drops
/// the nursery.
struct Made<N>(UnsafeCell<Vec<*mut N>>);

impl<N> Initial for Made<N> {
    const INITIAL: Made<N> = Made(UnsafeCell::new(Vec::new()));
}

// SAFETY: the pointers are owned; one thread at a time accesses the list, see `with_thread_index`.
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
            // SAFETY: the list belongs to this thread, and is not borrowed.
            unsafe { (*made).push(node) };
        });
        node
    }
}

impl<N> Drop for Nursery<N> {
    fn drop(&mut self) {
        for made in self.made.iter_mut() {
            for node in made.0.get_mut().drain(..) {
                // SAFETY: the node was created here, and the object is exclusively owned.
                drop(unsafe { Box::from_raw(node) });
            }
        }
    }
}
