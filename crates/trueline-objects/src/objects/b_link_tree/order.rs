//! The tree in the order of its keys: `first`, `last`, `iter`, `range`, `len`.
//!
//! A leaf's page does not change while it is installed, so everything read from it was there at one
//! moment. The contents of several leaves were there at one moment only if none of them changed
//! before the last one was read. `first`, `last` and `is_empty` ensure that if leaves are empty,
//! and so have a linearization point. (A page is not freed while the operation runs, so that the
//! same address means the same page.)

use super::super::range::{check_bounds, is_behind};
use super::{BLinkTree, Content, Inside, Items, Node, Ordering, Page};
use std::ops::{Bound, RangeBounds};
use std::{fmt, ptr, vec};

/// The content read from a leaf.
type Leaf<'a, K, V> = (&'a Node<K, V>, &'a Content<K, V>);

impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> BLinkTree<K, V, CAPACITY> {
    /// The least key and its value, at one moment.
    pub fn first(&self) -> Option<(K, V)> {
        self.domain.enter(|inside| self.first_inside(inside).cloned())
    }

    /// The largest key and its value, at one moment. If the last leaf is empty, it reads all
    /// leaves.
    pub fn last(&self) -> Option<(K, V)> {
        self.domain.enter(|inside| {
            let rightmost = self.rightmost(inside);
            if let Some(last) = rightmost.entries().last() {
                return Some(last.clone());
            }
            loop {
                let mut read: Vec<Leaf<'_, K, V>> = Vec::new();
                for leaf in self.leaves(inside) {
                    if !leaf.1.entries().is_empty() {
                        // Those before it do not matter.
                        read.clear();
                    }
                    read.push(leaf);
                }
                if are_unchanged(inside, &read) {
                    return read.first().and_then(|(_, content)| content.entries().last()).cloned();
                }
            }
        })
    }

    /// Whether there was no key at a moment since the call began.
    pub fn is_empty(&self) -> bool {
        self.domain.enter(|inside| self.first_inside(inside).is_none())
    }

    /// The number of keys. O(n).
    ///
    /// Keys that are there all the time are counted; keys that are inserted or removed meanwhile
    /// may or may not be. So the result need not be the exact number at any moment.
    pub fn len(&self) -> usize {
        self.domain
            .enter(|inside| self.leaves(inside).map(|(_, content)| content.entries().len()).sum())
    }

    /// The keys with their values, in ascending order, each once. Other threads may continue
    /// meanwhile.
    ///
    /// It clones one leaf at a time, atomically, and blocks nothing in between. It returns all keys
    /// that are there all the time; keys that are inserted or removed meanwhile may or may not be
    /// returned.
    pub fn iter(&self) -> Range<'_, K, V, CAPACITY> {
        self.range(..)
    }

    /// The keys of a range with their values, as [`BLinkTree::iter`].
    ///
    /// # Panics
    /// If the range begins after its end, or excludes the same key at both ends.
    pub fn range(&self, range: impl RangeBounds<K>) -> Range<'_, K, V, CAPACITY> {
        check_bounds(&range);
        let (start, end) = (range.start_bound().cloned(), range.end_bound().cloned());
        // Dropped here: a function's return value is leaked if a destructor panics during the
        // return.
        drop(range);
        Range { tree: self, start: Some(start), end, leaf: Vec::new().into_iter() }
    }

    fn first_inside<'a>(&'a self, inside: &'a Inside<'_, Page<K, V>>) -> Option<&'a (K, V)> {
        loop {
            let mut empty: Vec<Leaf<'_, K, V>> = Vec::new();
            let mut first = None;
            for (node, content) in self.leaves(inside) {
                first = content.entries().first();
                if first.is_some() {
                    break;
                }
                empty.push((node, content));
            }
            if are_unchanged(inside, &empty) {
                return first;
            }
        }
    }

    /// The leaves from left to right, each with its content when it is read.
    fn leaves<'a>(
        &'a self,
        inside: &'a Inside<'_, Page<K, V>>,
    ) -> impl Iterator<Item = Leaf<'a, K, V>> {
        let mut node: *const Node<K, V> = self.root.load(Ordering::Acquire);
        // SAFETY: here and below: nodes live as long as the tree.
        while let Items::Inner(_, children) = &unsafe { &*node }.content(inside).items {
            node = children[0];
        }
        std::iter::from_fn(move || {
            // SAFETY: as above; the last leaf has a null pointer on its right.
            let leaf = unsafe { node.as_ref() }?;
            let content = leaf.content(inside);
            node = content.right;
            Some((leaf, content))
        })
    }

    /// The content of the last leaf, at a moment when it is the last one.
    fn rightmost<'a>(&'a self, inside: &'a Inside<'_, Page<K, V>>) -> &'a Content<K, V> {
        // SAFETY: here and below: nodes live as long as the tree.
        let mut node = unsafe { &*self.root.load(Ordering::Acquire) };
        loop {
            let content = node.content(inside);
            let next = match &content.items {
                _ if !content.right.is_null() => content.right,
                Items::Inner(_, children) => children[children.len() - 1],
                Items::Leaf(_) => return content,
            };
            // SAFETY: as above.
            node = unsafe { &*next };
        }
    }

    /// The entries of a leaf from a bound on, or of the first nonempty leaf to its right, and the
    /// bound after them if there may be more.
    fn page(&self, start: &Bound<K>, end: &Bound<K>) -> (Vec<(K, V)>, Option<Bound<K>>) {
        let range = (start.as_ref(), end.as_ref());
        self.domain.enter(|inside| {
            let mut content = match start {
                Bound::Included(key) | Bound::Excluded(key) => self.descend(inside, key, 0).1,
                Bound::Unbounded => {
                    let mut leaves = self.leaves(inside);
                    leaves.next().expect("a tree has a leaf").1
                }
            };
            loop {
                let mut entries = Vec::new();
                for (key, value) in content.entries() {
                    if is_behind(&range, key) {
                        return (entries, None);
                    }
                    if range.contains(key) {
                        entries.push((key.clone(), value.clone()));
                    }
                }
                let Some(high) = &content.high else { return (entries, None) };
                if !entries.is_empty() {
                    return (entries, Some(Bound::Excluded(high.clone())));
                }
                // SAFETY: nodes live as long as the tree; there is one on the right since there is
                // a high key.
                content = unsafe { &*content.right }.content(inside);
            }
        })
    }
}

/// Whether nodes still have the content that was read.
fn are_unchanged<K, V>(inside: &Inside<'_, Page<K, V>>, read: &[Leaf<'_, K, V>]) -> bool {
    read.iter().all(|(node, content)| ptr::eq(node.content(inside), *content))
}

impl<K, V> Content<K, V> {
    fn entries(&self) -> &[(K, V)] {
        match &self.items {
            Items::Leaf(entries) => entries,
            Items::Inner(..) => &[],
        }
    }
}

/// Keys of a tree with their values: see [`BLinkTree::range`].
pub struct Range<'a, K, V, const CAPACITY: usize> {
    tree: &'a BLinkTree<K, V, CAPACITY>,
    /// Where to continue after the leaf; `None` at the end.
    start: Option<Bound<K>>,
    end: Bound<K>,
    leaf: vec::IntoIter<(K, V)>,
}

impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> Iterator for Range<'_, K, V, CAPACITY> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        loop {
            if let Some(entry) = self.leaf.next() {
                return Some(entry);
            }
            // It is kept until the page is there: if a clone panics, the next call continues from
            // here.
            let (entries, next) = self.tree.page(self.start.as_ref()?, &self.end);
            (self.leaf, self.start) = (entries.into_iter(), next);
        }
    }
}

impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> std::iter::FusedIterator
    for Range<'_, K, V, CAPACITY>
{
}

impl<K, V, const CAPACITY: usize> fmt::Debug for Range<'_, K, V, CAPACITY> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").finish_non_exhaustive()
    }
}
