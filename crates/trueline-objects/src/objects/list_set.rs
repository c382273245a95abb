//! A lock-free set in a sorted list: the list of Harris and Michael.
//!
//! The algorithm, its papers and its invariants are those of `marked_list.rs`. A value is in the set iff there is a node of it that is linked
//! and not marked.
//!
//! **Linearization.** `insert` where it links its node, or, if the value is there, where it reads that the node is not marked. `remove` where it marks the
//! node; if it finds none, where its search read the link over the place; if another thread marks the node first, just after that. `contains`
//! that finds a node without a mark: where it reads that there is none. One that finds a marked node, or none: at a time since it began at
//! which the value was absent. There is one: the node before the gap, or the marked node itself, could be reached at some time since then, and
//! from that time on, until it was marked or until now, the list was as this link says.
//!
//! **Order.** The partial order of a proof in the manner of Wing and Gong: a change of a value is before another change of the same value if the
//! compare-exchange of the first precedes the one of the second on the same link, or on the link that took its place. It is total for each value,
//! and operations on different values commute.
//!
//! **Progress.** `insert` and `remove` are lock-free: they start over only because another thread has changed the list. `contains` never starts over
//! and writes nothing. **Cost.** O(n) comparisons for each operation, so it is for small sets, or as a bucket of a table. Nodes are freed as
//! `grace.rs` says; values are dropped with their nodes, later than `remove` and maybe by another thread, since others may be comparing
//! with them.

use super::grace;
use super::marked_list::{MarkedList, Node};
use std::borrow::Borrow;

/// A lock-free set in a sorted list.
///
/// ```
/// let set = trueline_objects::ListSet::new();
/// assert!(set.insert("one".to_string()));
/// assert!(!set.insert("one".to_string()));
/// assert!(set.contains("one"));
/// assert!(set.remove("one"));
/// assert!(!set.contains("one"));
/// ```
pub struct ListSet<T> {
    list: MarkedList<T>,
}

impl<T: Ord> ListSet<T> {
    /// An empty set.
    pub fn new() -> ListSet<T> {
        ListSet::with_batch(grace::BATCH)
    }

    /// An empty set in which a thread tries to free nodes after it has unlinked so many (64 if not told otherwise).
    pub fn with_batch(batch: usize) -> ListSet<T> {
        ListSet { list: MarkedList::new(batch) }
    }

    /// Frees what was removed and can be freed now, by this thread and by threads that have ended, which else happens after some more operations.
    pub fn flush(&self) {
        self.list.flush();
    }

    /// Adds a value; tells whether it was absent. If it was there, the one in the set stays.
    pub fn insert(&self, value: T) -> bool {
        let mut node = Node::new(value);
        self.list.enter(|search| {
            loop {
                let place = search.find(|other| other.cmp(node.entry()));
                if place.found.is_some() {
                    return false;
                }
                match search.link(&place, node) {
                    Ok(()) => return true,
                    Err(back) => node = back,
                }
            }
        })
    }

    /// Removes a value; tells whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        let order = |other: &T| other.borrow().cmp(value);
        self.list.enter(|search| {
            let place = search.find(order);
            let Some(node) = place.found else { return false };
            let removed = node.mark();
            if removed {
                search.clean_up(&place, order);
            }
            removed
        })
    }

    /// Whether the value is there.
    pub fn contains<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.list.enter(|search| {
            let node = search.look_up(|other| other.borrow().cmp(value));
            node.is_some_and(|node| !node.is_marked())
        })
    }
}

impl<T: Ord> Default for ListSet<T> {
    fn default() -> ListSet<T> {
        ListSet::new()
    }
}

impl<T> std::fmt::Debug for ListSet<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListSet").finish_non_exhaustive()
    }
}
