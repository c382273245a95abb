//! A lock-free multiset: a sorted list with a count in each node.
//!
//! The 'multiple set' of the library of Wing and Gong (Testing and verifying concurrent objects.
//! JPDC 17, 1993), as a list of Harris and Michael (`marked_list.rs`) whose nodes have counts.
//!
//! A value is there as often as the count of its node says, and not at all if it has no node.
//! **Invariant:** a count that is 0 stays 0: its node is going, and who needs the value again helps
//! it go and links a new one. So at most one node of a value has a count above 0, and that node is
//! not marked.
//!
//! **Linearization.** `add` where it raises a count, or links its node, whose count is 1. `remove`
//! where it lowers a count. `count` where it reads a count above 0. `remove` and `count` that find
//! no node, or a count of 0: at a time since they began at which the value was absent. For the node
//! could be reached at some time since then: if its count was 0 by that time, the value was absent
//! then, since a new node is linked only after the old one is unlinked; else it was absent when the
//! count became 0. Where there is no node, as in `list_set.rs`.
//!
//! **Order.** The changes of a value are ordered by the modification order of the count that they
//! change, and those of a count come before those of the node that is linked after it; changes of
//! different values commute.
//!
//! **Progress.** `add` and `remove` are lock-free; `count` and `contains` never start over and
//! write nothing. **Cost.** O(n) comparisons for n different values. Nodes are freed as `grace.rs`
//! says.

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
    /// Adds to the count, or takes from it, if it is not 0; yields what it was then.
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

    /// An empty multiset in which a thread tries to free nodes after it has unlinked so many (64 if
    /// not told otherwise).
    pub const fn with_batch(batch: usize) -> Multiset<T> {
        Multiset { list: MarkedList::new(batch) }
    }

    /// Frees what was removed and can be freed now, by this thread and by threads that have ended,
    /// which else happens after some more operations.
    pub fn flush(&self) {
        self.list.flush();
    }

    /// Adds a value once more.
    ///
    /// # Panics
    /// If it is there `usize::MAX` times.
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

    /// Removes a value once; tells whether it was there.
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

/// What looks at several values, or gives values out. Values are cloned, since others may remove
/// them at any time.
impl<T: Ord> Multiset<T> {
    /// How many values there are, each as often as it is there. O(n) for n different ones.
    ///
    /// What was there all the time is counted, and what came or went meanwhile may count or not:
    /// there need not have been a moment with this number.
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

    /// Whether it finds no value. Where there was a value all the time it is found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Ord + Clone> Multiset<T> {
    /// The different values with how often each is there, in ascending order. It looks at them when
    /// it is called, in one pass.
    ///
    /// That is not one moment: what is there all the time is among them, and what comes or goes
    /// meanwhile may be or not. Each count was true at a moment.
    pub fn iter(&self) -> vec::IntoIter<(T, usize)> {
        self.range::<T, _>(..)
    }

    /// The values of a range, as [`Multiset::iter`].
    ///
    /// # Panics
    /// If the range begins after its end, or begins and ends with the same value that both leave
    /// out.
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
        // Not on the way out: what a function returns is forgotten where a destructor panics there.
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

    /// A largest value of those that it finds: no larger one was there all the time. O(n).
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
