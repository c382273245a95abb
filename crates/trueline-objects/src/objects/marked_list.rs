//! A sorted list whose nodes are removed in two steps: marked, then unlinked. The basis of
//! [`ListSet`](super::ListSet) and [`Multiset`](super::Multiset).
//!
//! T. L. Harris: A pragmatic implementation of non-blocking linked-lists. DISC 2001; M. M. Michael:
//! High performance dynamic lock-free hash tables and list-based sets. SPAA 2002.
//!
//! The mark of a node is a bit of its own link to the next node, so that marking it also prevents
//! changes of that link: nothing can be linked behind a node that is being removed.
//!
//! **Invariants.** (1) The nodes that can be reached by links from the head ascend. (2) The link of
//! a marked node does not change any more. (3) A node that is not marked and has been linked can be
//! reached. (4) At most one node of a key is not marked.
//!
//! **What a search may read.** A pointer that an operation finds leads to a node that was reachable
//! at some time since the operation began, so that it is not freed before the operation ends
//! (`grace.rs`). This is clear if the pointer was found in a linked node. If it was found in a
//! marked node that has been unlinked since the operation began, then the node behind it took its
//! place at that time, by (2).
//!
//! **Orderings.** Links are read with acquire and written with release, so that a thread that finds
//! a node sees its content. Each operation begins with the sequentially consistent fence of
//! `grace.rs`: of two operations of a thread the second does not read older values than the first,
//! whatever the processor, and two threads cannot see two changes in opposite orders.

use super::grace::{Domain, Inside};
use super::mark::{is_marked, marked, unmarked};
use super::sync::atomic::{AtomicPtr, Ordering};
use super::sync::cell::UnsafeCell;
use super::to_the_end::to_the_end;
use std::cmp;
use std::mem;
use std::ops::ControlFlow;
use std::ptr;

/// A sorted list.
pub(crate) struct MarkedList<E> {
    head: AtomicPtr<Node<E>>,
    domain: Domain<Node<E>>,
}

/// The content of a node.
pub(crate) struct Node<E> {
    /// Written before the node is in the list, and not after.
    entry: UnsafeCell<E>,
    /// Marked: the node is going, or gone.
    next: AtomicPtr<Node<E>>,
}

// SAFETY: threads share the entries and drop those that other threads have created; links are
// atomic, and entries are not written.
unsafe impl<E: Send + Sync> Send for MarkedList<E> {}
// SAFETY: as above.
unsafe impl<E: Send + Sync> Sync for MarkedList<E> {}

/// A place in the list, and what was there when it was found.
pub(crate) struct Place<'a, E> {
    /// The link of a node that was not marked, or the head.
    link: &'a AtomicPtr<Node<E>>,
    /// Its target: the first node whose entry is not less.
    next: *mut Node<E>,
    /// That node, if its entry is the one searched for. It was not marked.
    pub(crate) found: Option<&'a Node<E>>,
}

impl<E> Node<E> {
    pub(crate) fn new(entry: E) -> Box<Node<E>> {
        Box::new(Node { entry: UnsafeCell::new(entry), next: AtomicPtr::new(ptr::null_mut()) })
    }

    #[inline]
    pub(crate) fn entry(&self) -> &E {
        // SAFETY: it is not written while the node is shared.
        self.entry.with(|entry| unsafe { &*entry })
    }

    pub(crate) fn into_entry(self) -> E {
        self.entry.into_inner()
    }

    pub(crate) fn is_marked(&self) -> bool {
        is_marked(self.next.load(Ordering::Acquire))
    }

    /// Marks the node; returns whether this call did it.
    pub(crate) fn mark(&self) -> bool {
        let mut next = self.next.load(Ordering::Acquire);
        while !is_marked(next) {
            let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
            match self.next.compare_exchange_weak(next, marked(next), yes, no) {
                Ok(_) => return true,
                Err(found) => next = found,
            }
        }
        false
    }
}

impl<E> MarkedList<E> {
    pub(crate) const fn new(batch: usize) -> MarkedList<E> {
        MarkedList { head: AtomicPtr::new(ptr::null_mut()), domain: Domain::new(batch) }
    }

    /// See [`Domain::flush`].
    pub(crate) fn flush(&self) {
        self.domain.flush();
    }

    /// Runs an operation.
    #[inline]
    pub(crate) fn enter<R>(&self, operation: impl FnOnce(&Search<'_, E>) -> R) -> R {
        self.domain.enter(|inside| operation(&Search { list: self, inside }))
    }
}

/// The list in the hands of one operation.
pub(crate) struct Search<'a, E> {
    list: &'a MarkedList<E>,
    inside: &'a Inside<'a, Node<E>>,
}

impl<E> Search<'_, E> {
    /// The place of an entry; `order` compares other entries with it. Unlinks the marked nodes on
    /// the way.
    pub(crate) fn find(&self, order: impl Fn(&E) -> cmp::Ordering) -> Place<'_, E> {
        self.search(|node| order(node.entry()))
    }

    /// The same, where `order` compares nodes.
    fn search(&self, order: impl Fn(&Node<E>) -> cmp::Ordering) -> Place<'_, E> {
        'anew: loop {
            let mut link = &self.list.head;
            let mut next = link.load(Ordering::Acquire);
            loop {
                // SAFETY: see the module's text.
                let Some(node) = (unsafe { next.as_ref() }) else {
                    return Place { link, next, found: None };
                };
                let after = node.next.load(Ordering::Acquire);
                if is_marked(after) {
                    match self.unlink(link, node, unmarked(after)) {
                        Ok(()) => next = unmarked(after),
                        // The node before is going, too, and this link does not count any more.
                        Err(found) if is_marked(found) => continue 'anew,
                        Err(found) => next = found,
                    }
                    continue;
                }
                match order(node) {
                    cmp::Ordering::Less => (link, next) = (&node.next, after),
                    cmp::Ordering::Equal => return Place { link, next, found: Some(node) },
                    cmp::Ordering::Greater => return Place { link, next, found: None },
                }
            }
        }
    }

    /// The node of an entry, marked or not, without helping other operations. It was reachable at
    /// some time since the operation began. If there is none, the list had no such entry at some
    /// time since then.
    pub(crate) fn look_up(&self, order: impl Fn(&E) -> cmp::Ordering) -> Option<&Node<E>> {
        let mut next = self.list.head.load(Ordering::Acquire);
        loop {
            // SAFETY: see the module's text.
            let node = unsafe { next.as_ref() }?;
            match order(node.entry()) {
                cmp::Ordering::Less => next = unmarked(node.next.load(Ordering::Acquire)),
                cmp::Ordering::Equal => return Some(node),
                cmp::Ordering::Greater => return None,
            }
        }
    }

    /// The first node. Unlinks the marked ones before it. It was the first one at the moment when
    /// the link to it was read.
    pub(crate) fn first(&self) -> Option<&Node<E>> {
        let place = self.find(|_| cmp::Ordering::Greater);
        // SAFETY: see the module's text.
        unsafe { place.next.as_ref() }
    }

    /// The last node. Unlinks the marked ones on the way. It was the last one at the moment when
    /// its link was read as leading to nothing.
    pub(crate) fn last(&self) -> Option<&Node<E>> {
        'anew: loop {
            let mut last = None;
            let mut link = &self.list.head;
            let mut next = link.load(Ordering::Acquire);
            loop {
                // SAFETY: see the module's text.
                let Some(node) = (unsafe { next.as_ref() }) else { return last };
                let after = node.next.load(Ordering::Acquire);
                if is_marked(after) {
                    match self.unlink(link, node, unmarked(after)) {
                        Ok(()) => next = unmarked(after),
                        Err(found) if is_marked(found) => continue 'anew,
                        Err(found) => next = found,
                    }
                } else {
                    last = Some(node);
                    (link, next) = (&node.next, after);
                }
            }
        }
    }

    /// Walks along the list until `visit` stops it, and shows the unmarked nodes, without helping
    /// other operations. Nodes ascend. Those that are there all the time are shown, and each shown
    /// node was there at some time since the operation began.
    pub(crate) fn walk(&self, mut visit: impl FnMut(&E) -> ControlFlow<()>) {
        let mut next = self.list.head.load(Ordering::Acquire);
        // SAFETY: see the module's text.
        while let Some(node) = unsafe { next.as_ref() } {
            let after = node.next.load(Ordering::Acquire);
            if !is_marked(after) && visit(node.entry()).is_break() {
                return;
            }
            next = unmarked(after);
        }
    }

    /// Links a new node at a place where its entry was not found; returns it if the place has
    /// changed.
    pub(crate) fn link(
        &self,
        place: &Place<'_, E>,
        mut node: Box<Node<E>>,
    ) -> Result<(), Box<Node<E>>> {
        *node.next.get_mut() = place.next;
        let node = Box::into_raw(node);
        // Release: a thread that follows the link sees the content of the node.
        let (yes, no) = (Ordering::Release, Ordering::Relaxed);
        match place.link.compare_exchange(place.next, node, yes, no) {
            Ok(_) => Ok(()),
            // SAFETY: the node came from a box, and no other thread has seen it.
            Err(_) => Err(unsafe { Box::from_raw(node) }),
        }
    }

    /// Unlinks a node that was found and has been marked, unless another thread has. It runs no
    /// code of the user's, because a panic would hide that the node was removed.
    pub(crate) fn clean_up(&self, place: &Place<'_, E>) {
        let Some(node) = place.found else { return };
        let after = unmarked(node.next.load(Ordering::Acquire));
        if self.unlink(place.link, node, after).is_err() {
            // Another thread has unlinked it, or a node was linked before it: then a search up to
            // the next node finds it.
            let is_behind = |other: &Node<E>| ptr::eq(other, after);
            self.search(|other| {
                if is_behind(other) { cmp::Ordering::Greater } else { cmp::Ordering::Less }
            });
        }
    }

    /// Unlinks a marked node, with the next node; if that fails, returns the current link.
    fn unlink(
        &self,
        link: &AtomicPtr<Node<E>>,
        node: &Node<E>,
        after: *mut Node<E>,
    ) -> Result<(), *mut Node<E>> {
        let node = ptr::from_ref(node).cast_mut();
        // Release: a thread that reads the link sees the next node as this thread does.
        link.compare_exchange(node, after, Ordering::Release, Ordering::Acquire)?;
        // SAFETY: the link was the only one to the node from reachable nodes, and a marked node is
        // not linked again.
        unsafe { self.inside.retire(node) };
        Ok(())
    }
}

impl<E> MarkedList<E> {
    /// Empties the list; returns the unmarked entries.
    pub(crate) fn take_all(&mut self) -> Vec<E> {
        let mut entries = Vec::new();
        self.drain(|entry, was_marked| {
            if !was_marked {
                entries.push(entry);
            }
        });
        entries
    }

    /// Empties the list; passes each entry and whether it was marked.
    fn drain(&mut self, mut each: impl FnMut(E, bool)) {
        let mut next = mem::replace(self.head.get_mut(), ptr::null_mut());
        to_the_end(|| {
            if next.is_null() {
                return false;
            }
            // SAFETY: the list is exclusively owned, and each node is in it once; unlinked nodes
            // belong to the domain.
            let mut node = unsafe { Box::from_raw(next) };
            let after = *node.next.get_mut();
            next = unmarked(after);
            each(node.into_entry(), is_marked(after));
            true
        });
    }
}

impl<E> Drop for MarkedList<E> {
    fn drop(&mut self) {
        self.drain(|entry, _| drop(entry));
    }
}
