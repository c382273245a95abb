//! The same for the objects that need std.

use super::{Drain, FusedIterator, IntoIter, RefUnwindSafe, UnwindSafe};
use crate::{
    BLinkTree, Counter, FetchAddQueue, ListSet, MichaelScottQueue, Multiset, PriorityQueue,
    Semiqueue, Snapshot, StutteringQueue, TreiberStack, WideRegister, b_link_tree,
};
use std::vec;

/// The names of std and crossbeam for a queue's operations, which the papers call `enq` and `deq`.
macro_rules! queue_names {
    ($($object:ident)*) => {$(
        impl<T> $object<T> {
            /// Puts a value at the end: another name of `enq`.
            #[inline]
            pub fn push(&self, value: T) {
                self.enq(value);
            }

            /// Removes the oldest value, or returns `None` if there is none. Another name of `deq`.
            #[inline]
            pub fn pop(&self) -> Option<T> {
                self.deq()
            }
        }
    )*};
}

queue_names! { MichaelScottQueue FetchAddQueue Semiqueue }

impl<T: Copy> StutteringQueue<T> {
    /// Puts a value at the end: another name of `enq`.
    #[inline]
    pub fn push(&self, value: T) {
        self.enq(value);
    }

    /// Returns the oldest value, or `None` if there is none. Another name of `deq`.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.deq()
    }
}

container! {
    TreiberStack[T] of T;
    MichaelScottQueue[T] of T;
    FetchAddQueue[T] of T;
    Semiqueue[T] of T;
    StutteringQueue[T: Copy] of T;
}

impl<P: Ord + Clone, T> PriorityQueue<P, T> {
    /// Removes values until there is none, the best first, one at a time. Other threads may run in
    /// between, and values that they insert are removed here, too.
    pub fn drain(&self) -> Drain<'_, PriorityQueue<P, T>> {
        Drain(self)
    }
}

impl<P: Ord + Clone, T> Iterator for Drain<'_, PriorityQueue<P, T>> {
    type Item = (P, T);

    fn next(&mut self) -> Option<(P, T)> {
        self.0.pop()
    }
}

impl<P: Ord + Clone, T> Iterator for IntoIter<PriorityQueue<P, T>> {
    type Item = (P, T);

    fn next(&mut self) -> Option<(P, T)> {
        self.0.pop()
    }
}

impl<P: Ord + Clone, T> FusedIterator for IntoIter<PriorityQueue<P, T>> {}

impl<P: Ord + Clone, T> IntoIterator for PriorityQueue<P, T> {
    type Item = (P, T);
    type IntoIter = IntoIter<PriorityQueue<P, T>>;

    fn into_iter(self) -> IntoIter<PriorityQueue<P, T>> {
        IntoIter(self)
    }
}

extended! {
    TreiberStack[T: (Sized)] of T = |this, value| this.push(value);
    MichaelScottQueue[T: (Sized)] of T = |this, value| this.push(value);
    FetchAddQueue[T: (Sized)] of T = |this, value| this.push(value);
    Semiqueue[T: (Sized)] of T = |this, value| this.push(value);
    StutteringQueue[T: (Copy)] of T = |this, value| this.push(value);
    PriorityQueue[P: (Ord + Clone), T: (Sized)] of (P, T) = |this, (priority, value)| this.push(priority, value);
    ListSet[T: (Ord)] of T = |this, value| this.insert(value);
    Multiset[T: (Ord)] of T = |this, value| this.add(value);
}

collected! {
    TreiberStack[T: (Sized)] of T;
    MichaelScottQueue[T: (Sized)] of T;
    FetchAddQueue[T: (Sized)] of T;
    PriorityQueue[P: (Ord + Clone), T: (Sized)] of (P, T);
    ListSet[T: (Ord)] of T;
    Multiset[T: (Ord)] of T;
}

macro_rules! iterated {
    ($($object:ident[$($parameter:ident: ($($bound:tt)*)),*] of $item:ty;)*) => {$(
        impl<$($parameter: $($bound)*),*> IntoIterator for &$object<$($parameter),*> {
            type Item = $item;
            type IntoIter = vec::IntoIter<$item>;

            fn into_iter(self) -> vec::IntoIter<$item> {
                self.iter()
            }
        }
    )*};
}

iterated! {
    ListSet[T: (Ord + Clone)] of T;
    Multiset[T: (Ord + Clone)] of (T, usize);
}

impl<'a, K: Ord + Clone, V: Clone, const CAPACITY: usize> IntoIterator
    for &'a BLinkTree<K, V, CAPACITY>
{
    type Item = (K, V);
    type IntoIter = b_link_tree::Range<'a, K, V, CAPACITY>;

    fn into_iter(self) -> b_link_tree::Range<'a, K, V, CAPACITY> {
        self.iter()
    }
}

impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> Extend<(K, V)> for BLinkTree<K, V, CAPACITY> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        (&*self).extend(entries);
    }
}

/// Also through a shared reference: other threads may run in between.
impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> Extend<(K, V)>
    for &BLinkTree<K, V, CAPACITY>
{
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> FromIterator<(K, V)>
    for BLinkTree<K, V, CAPACITY>
{
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> BLinkTree<K, V, CAPACITY> {
        let mut tree = BLinkTree::new();
        tree.extend(entries);
        tree
    }
}

/// In ascending order. Keys and values are cloned, like everything that a tree returns.
impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> IntoIterator for BLinkTree<K, V, CAPACITY> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    fn into_iter(self) -> vec::IntoIter<(K, V)> {
        self.iter().collect::<Vec<_>>().into_iter()
    }
}

unwind_safe! {
    TreiberStack[T]; MichaelScottQueue[T]; FetchAddQueue[T]; Semiqueue[T]; StutteringQueue[T];
    PriorityQueue[P, T]; ListSet[T]; Multiset[T]; WideRegister[T]; Snapshot[T]; Counter[];
}

impl<K, V, const CAPACITY: usize> UnwindSafe for BLinkTree<K, V, CAPACITY> {}
impl<K, V, const CAPACITY: usize> RefUnwindSafe for BLinkTree<K, V, CAPACITY> {}
