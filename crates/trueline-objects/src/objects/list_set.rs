//! A lock-free set in a sorted list: the list of Harris and Michael.
//!
//! `marked_list.rs` describes the algorithm, its papers and its invariants. A value is in the set
//! iff some node with it is linked and not marked.
//!
//! **Linearization.** `insert` where it links its node, or, if the value is there, where it reads
//! that the node is not marked. `remove` where it marks the node; if it finds none, where its
//! search read the link over the place; if another thread marks the node first, just after that.
//! `contains` that finds an unmarked node: where it reads that the mark is not set. `contains` that
//! finds a marked node, or none: at a time since it began when the value was absent. Such a time
//! exists: the node before the gap, or the marked node itself, was reachable at some time since
//! then, and from that time on, until it was marked or until now, the list was as this link shows.
//!
//! `get` and `take` as `contains` and `remove`. `first` and `is_empty` where they read the head's
//! link to nothing, or to a node that is not marked later and so was not then; `last` where it
//! reads that the link of an unmarked node leads to nothing. `iter`, `range` and `len` have no
//! linearization point.
//!
//! **Order.** The partial order of a proof in the manner of Wing and Gong: a change of a value is
//! before another change of the same value if the compare-exchange of the first precedes that of
//! the second on the same link, or on the link that replaced it. It is total for each value, and
//! operations on different values commute.
//!
//! **Progress.** `insert` and `remove` are lock-free: they start over only because another thread
//! has changed the list. `contains` never starts over and writes nothing. **Cost.** O(n)
//! comparisons for each operation, so it is for small sets, or as a bucket of a table. `grace.rs`
//! describes how nodes are freed. A value is dropped with its node, later than `remove` and perhaps
//! by another thread, since others may be comparing with it.

use super::grace;
use super::marked_list::{MarkedList, Node};
use super::range::{check_bounds, is_behind};
use std::borrow::Borrow;
use std::ops::{ControlFlow, RangeBounds};
use std::vec;

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
    pub const fn new() -> ListSet<T> {
        ListSet::with_batch(grace::BATCH)
    }

    /// An empty set in which a thread tries to free nodes after it has unlinked this many (default:
    /// 64).
    pub const fn with_batch(batch: usize) -> ListSet<T> {
        ListSet { list: MarkedList::new(batch) }
    }

    /// Frees removed nodes of this thread and of threads that have ended, as far as possible now.
    /// Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.list.flush();
    }

    /// Adds a value; returns whether it was absent. If it was there, the one in the set stays.
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

    /// Removes a value; returns whether it was there.
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
                search.clean_up(&place);
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

/// Methods that read several values, or return values. Values are cloned, since other threads may
/// remove them at any time.
impl<T: Ord> ListSet<T> {
    /// The number of values. O(n).
    ///
    /// Values that are there all the time are counted; values that are inserted or removed
    /// meanwhile may or may not be. So the result need not be the exact number at any moment.
    pub fn len(&self) -> usize {
        let mut count = 0;
        self.list.enter(|search| {
            search.walk(|_| {
                count += 1;
                ControlFlow::Continue(())
            });
        });
        count
    }

    /// Whether there was no value at a moment since the call began.
    pub fn is_empty(&self) -> bool {
        self.list.enter(|search| search.first().is_none())
    }
}

impl<T: Ord + Clone> ListSet<T> {
    /// The value in the set that is equal to this one, at one moment, as for [`ListSet::contains`].
    pub fn get<Q: Ord + ?Sized>(&self, value: &Q) -> Option<T>
    where
        T: Borrow<Q>,
    {
        self.list.enter(|search| {
            let node = search.look_up(|other| other.borrow().cmp(value))?;
            let found = node.entry().clone();
            // The clone is made first: it may take long, and the value stays the same as long as
            // the node exists.
            if node.is_marked() { None } else { Some(found) }
        })
    }

    /// Removes a value and returns the one that was in the set, as [`ListSet::remove`] does. If the
    /// clone panics, nothing is removed.
    pub fn take<Q: Ord + ?Sized>(&self, value: &Q) -> Option<T>
    where
        T: Borrow<Q>,
    {
        let order = |other: &T| other.borrow().cmp(value);
        self.list.enter(|search| {
            let place = search.find(order);
            let node = place.found?;
            let taken = node.entry().clone();
            if !node.mark() {
                return None;
            }
            search.clean_up(&place);
            Some(taken)
        })
    }

    /// The least value, at one moment.
    pub fn first(&self) -> Option<T> {
        self.list.enter(|search| search.first().map(|node| node.entry().clone()))
    }

    /// The largest value, at one moment. O(n).
    pub fn last(&self) -> Option<T> {
        self.list.enter(|search| search.last().map(|node| node.entry().clone()))
    }

    /// The values, in ascending order, each once. All of them are read by this call, in one pass.
    ///
    /// The pass is not atomic: values that are there all the time are returned; values that are
    /// inserted or removed meanwhile may or may not be.
    pub fn iter(&self) -> vec::IntoIter<T> {
        self.range::<T, _>(..)
    }

    /// The values of a range, as [`ListSet::iter`].
    ///
    /// # Panics
    /// If the range begins after its end, or excludes the same value at both ends.
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> vec::IntoIter<T>
    where
        T: Borrow<Q>,
    {
        check_bounds(&range);
        let mut values = Vec::new();
        self.list.enter(|search| {
            search.walk(|value| {
                if is_behind(&range, value.borrow()) {
                    return ControlFlow::Break(());
                }
                if range.contains(value.borrow()) {
                    values.push(value.clone());
                }
                ControlFlow::Continue(())
            });
        });
        // Dropped here: a function's return value is leaked if a destructor panics during the
        // return.
        drop(range);
        values.into_iter()
    }
}

/// In ascending order.
impl<T> IntoIterator for ListSet<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(mut self) -> vec::IntoIter<T> {
        self.list.take_all().into_iter()
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
