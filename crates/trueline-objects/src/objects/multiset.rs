//! A lock-free multiset: a sorted list with a count in each node.
//!
//! The 'multiple set' of the library of Wing and Gong (Testing and verifying concurrent objects.
//! JPDC 17, 1993), as a list of Harris and Michael (`marked_list.rs`) whose nodes have counts.
//!
//! The multiplicity of a value is the count of its node, or 0 if it has no node. **Invariant:** a
//! count of 0 stays 0: its node is being removed, and a thread that needs the value again helps to
//! remove it and links a new one. So at most one node of a value has a count above 0, and that node
//! is not marked.
//!
//! **Linearization.** `add` where it increments a count, or links its node, whose count is 1.
//! `remove` where it decrements a count. `count` where it reads a count above 0. `remove` and
//! `count` that find no node, or a count of 0: at a time since they began when the value was
//! absent. The node was reachable at some time since then. If its count was 0 by that time, the
//! value was absent then, since a new node is linked only after the old one is unlinked; otherwise
//! it was absent when the count became 0. If there is no node, as in `list_set.rs`.
//!
//! **Order.** The changes of a value are ordered by the modification order of the count that they
//! change, and those of a count come before those of the node that is linked after it; changes of
//! different values commute.
//!
//! **Progress.** `add` and `remove` are lock-free; `count` and `contains` never start over and
//! write nothing. **Cost.** O(n) comparisons for n different values. `grace.rs` describes how nodes
//! are freed.

use super::grace;
use super::marked_list::{MarkedList, Node};
use super::range::{check_bounds, is_behind};
use super::sync::atomic::{AtomicUsize, Ordering};
use std::borrow::Borrow;
use std::ops::{ControlFlow, RangeBounds};
use std::vec;

/// A lock-free multiset.
///
/// ```
/// let bag = trueline_objects::Multiset::new();
/// bag.add("screw");
/// bag.add("screw");
/// assert_eq!(bag.count("screw"), 2);
/// assert!(bag.remove("screw"));
/// assert!(bag.contains("screw") && !bag.contains("nail"));
/// ```
pub struct Multiset<T> {
    list: MarkedList<Counted<T>>,
}

struct Counted<T> {
    value: T,
    /// Stays 0 once it is.
    count: AtomicUsize,
}

impl<T> Counted<T> {
    /// Changes the count if it is not 0; returns the old count.
    fn change(&self, to: impl Fn(usize) -> usize) -> Option<usize> {
        let mut count = self.count.load(Ordering::Acquire);
        while count > 0 {
            let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
            match self.count.compare_exchange_weak(count, to(count), yes, no) {
                Ok(_) => return Some(count),
                Err(found) => count = found,
            }
        }
        None
    }
}

impl<T: Ord> Multiset<T> {
    /// An empty multiset.
    pub const fn new() -> Multiset<T> {
        Multiset::with_batch(grace::BATCH)
    }

    /// An empty multiset in which a thread tries to free nodes after it has unlinked this many
    /// (default: 64).
    pub const fn with_batch(batch: usize) -> Multiset<T> {
        Multiset { list: MarkedList::new(batch) }
    }

    /// Frees removed nodes of this thread and of threads that have ended, as far as possible now.
    /// Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.list.flush();
    }

    /// Adds a value once.
    ///
    /// # Panics
    /// If its count is `usize::MAX`.
    pub fn add(&self, value: T) {
        let more = |count: usize| count.checked_add(1).expect("more than can be counted");
        self.list.enter(|search| {
            let mut value = value;
            loop {
                let place = search.find(|other| other.value.cmp(&value));
                if let Some(node) = place.found {
                    if node.entry().change(more).is_some() {
                        return;
                    }
                    // The node is going. Once it is marked, the search unlinks it.
                    node.mark();
                    continue;
                }
                let node = Node::new(Counted { value, count: AtomicUsize::new(1) });
                match search.link(&place, node) {
                    Ok(()) => return,
                    Err(back) => value = back.into_entry().value,
                }
            }
        });
    }

    /// Removes a value once; returns whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        let order = |other: &Counted<T>| other.value.borrow().cmp(value);
        self.list.enter(|search| {
            let place = search.find(order);
            let Some(node) = place.found else { return false };
            let before = node.entry().change(|count| count - 1);
            if before == Some(1) {
                node.mark();
                search.clean_up(&place);
            }
            before.is_some()
        })
    }

    /// How many times the value is there.
    pub fn count<Q: Ord + ?Sized>(&self, value: &Q) -> usize
    where
        T: Borrow<Q>,
    {
        self.list.enter(|search| {
            let node = search.look_up(|other| other.value.borrow().cmp(value));
            node.map_or(0, |node| node.entry().count.load(Ordering::Acquire))
        })
    }

    /// Whether the value is there.
    pub fn contains<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.count(value) > 0
    }
}

/// Methods that read several values, or return values. Values are cloned, since other threads may
/// remove them at any time.
impl<T: Ord> Multiset<T> {
    /// The number of values with their multiplicities. O(n) for n different values.
    ///
    /// Values that are there all the time are counted; values that are inserted or removed
    /// meanwhile may or may not be. So the result need not be the exact number at any moment.
    pub fn len(&self) -> usize {
        let mut count = 0_usize;
        self.list.enter(|search| {
            search.walk(|entry| {
                count = count.saturating_add(entry.count.load(Ordering::Acquire));
                ControlFlow::Continue(())
            });
        });
        count
    }

    /// Whether it finds no value. A value that is there all the time is found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Ord + Clone> Multiset<T> {
    /// The different values with their counts, in ascending order. All of them are read by this
    /// call, in one pass.
    ///
    /// The pass is not atomic: values that are there all the time are returned; values that are
    /// inserted or removed meanwhile may or may not be. Each count was correct at some moment.
    pub fn iter(&self) -> vec::IntoIter<(T, usize)> {
        self.range::<T, _>(..)
    }

    /// The values of a range, as [`Multiset::iter`].
    ///
    /// # Panics
    /// If the range begins after its end, or excludes the same value at both ends.
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> vec::IntoIter<(T, usize)>
    where
        T: Borrow<Q>,
    {
        check_bounds(&range);
        let mut values = Vec::new();
        self.list.enter(|search| {
            search.walk(|entry| {
                if is_behind(&range, entry.value.borrow()) {
                    return ControlFlow::Break(());
                }
                let count = entry.count.load(Ordering::Acquire);
                if count > 0 && range.contains(entry.value.borrow()) {
                    values.push((entry.value.clone(), count));
                }
                ControlFlow::Continue(())
            });
        });
        // Dropped here: a function's return value is leaked if a destructor panics during the
        // return.
        drop(range);
        values.into_iter()
    }

    /// A least value of those that it finds: no less one was there all the time.
    pub fn first(&self) -> Option<T> {
        let mut first = None;
        self.list.enter(|search| {
            search.walk(|entry| {
                if entry.count.load(Ordering::Acquire) == 0 {
                    return ControlFlow::Continue(());
                }
                first = Some(entry.value.clone());
                ControlFlow::Break(())
            });
        });
        first
    }

    /// A largest value among those that it finds: no larger one was there all the time. O(n).
    pub fn last(&self) -> Option<T> {
        let mut values = self.iter();
        let last = values.next_back();
        // Not on the way out: see `range`.
        drop(values);
        last.map(|(value, _)| value)
    }
}

/// The different values with their counts, in ascending order.
impl<T> IntoIterator for Multiset<T> {
    type Item = (T, usize);
    type IntoIter = vec::IntoIter<(T, usize)>;

    fn into_iter(mut self) -> vec::IntoIter<(T, usize)> {
        let entries = self.list.take_all().into_iter();
        let counted = entries.map(|Counted { value, count }| (value, count.into_inner()));
        counted.filter(|(_, count)| *count > 0).collect::<Vec<_>>().into_iter()
    }
}

impl<T: Ord> Default for Multiset<T> {
    fn default() -> Multiset<T> {
        Multiset::new()
    }
}

impl<T> std::fmt::Debug for Multiset<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Multiset").finish_non_exhaustive()
    }
}
