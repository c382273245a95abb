//! Nodes of a tree in one array, named by their places, which are used again.

use std::ops::{Index, IndexMut};

/// An array with gaps.
pub(crate) struct Arena<T> {
    nodes: Vec<T>,
    free: Vec<u32>,
}

impl<T> Arena<T> {
    /// Stores a node and returns its index.
    pub(crate) fn add(&mut self, node: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        }
    }

    /// Frees a place. Its content stays until another node replaces it.
    pub(crate) fn release(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Forgets all nodes.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.free.clear();
    }
}

impl<T> Default for Arena<T> {
    fn default() -> Arena<T> {
        Arena { nodes: Vec::new(), free: Vec::new() }
    }
}

impl<T> Index<u32> for Arena<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.nodes[index as usize]
    }
}

impl<T> IndexMut<u32> for Arena<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.nodes[index as usize]
    }
}
