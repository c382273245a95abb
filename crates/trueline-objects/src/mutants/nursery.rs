//! Nodes that live as long as the object: a fault that loses or duplicates a node is then neither a
//! leak nor a double free.

use crate::shadowed::growing_array::{GrowingArray, Initial};
use crate::shadowed::sync::with_thread_index;
use std::cell::UnsafeCell;

/// Makes nodes and keeps them.
pub(crate) struct Nursery<N> {
    /// By the number of the thread that created them.
    nodes: GrowingArray<Nodes<N>>,
}

/// The nodes that one thread has created. Only this thread accesses them, and the thread that drops
/// the nursery.
struct Nodes<N>(UnsafeCell<Vec<*mut N>>);

impl<N> Initial for Nodes<N> {
    const INITIAL: Nodes<N> = Nodes(UnsafeCell::new(Vec::new()));
}

// SAFETY: the pointers are owned; one thread at a time accesses the list, see `with_thread_index`.
unsafe impl<N: Send> Send for Nodes<N> {}
// SAFETY: as above.
unsafe impl<N: Send> Sync for Nodes<N> {}

impl<N> Nursery<N> {
    pub(crate) fn new() -> Nursery<N> {
        Nursery { nodes: GrowingArray::new() }
    }

    /// A pointer to a node that is good until the nursery is dropped.
    pub(crate) fn make(&self, node: N) -> *mut N {
        let node = Box::into_raw(Box::new(node));
        with_thread_index(|index| {
            let nodes = self.nodes.get(index).0.get();
            // SAFETY: the list belongs to this thread, and is not borrowed.
            unsafe { (*nodes).push(node) };
        });
        node
    }
}

impl<N> Drop for Nursery<N> {
    fn drop(&mut self) {
        for nodes in self.nodes.iter_mut() {
            for node in nodes.0.get_mut().drain(..) {
                // SAFETY: the node was created here, and the object is exclusively owned.
                drop(unsafe { Box::from_raw(node) });
            }
        }
    }
}
