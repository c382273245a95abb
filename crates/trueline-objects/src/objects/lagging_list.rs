//! A list with a pointer to each end, of which the tail pointer may lag: the common part of Michael
//! and Scott's queue and those built like it.
//!
//! M. M. Michael, M. L. Scott: Simple, fast, and practical non-blocking and blocking concurrent
//! queue algorithms. PODC 1996.
//!
//! A node is first linked to the last one; then any thread that comes by moves `tail` to it.
//! **Invariant:** `tail` never points to a node that `head` has passed, since `head` is moved only
//! after `tail` was seen or moved further ahead. So a node that `head` has passed cannot be reached
//! any more, and is freed as described in `grace.rs`, which also excludes ABA.
//!
//! **Progress.** Lock-free. **Cost.** O(1) without contention.

use super::grace::{Domain, Inside};
use super::padded::Padded;
use super::sync::Backoff;
use super::sync::atomic::{AtomicPtr, Ordering};
use super::to_the_end::to_the_end;
use std::ptr;

/// A list of nodes, at least one. Its owner calls [`LaggingList::drain`] when it is dropped.
pub(crate) struct LaggingList<C> {
    head: Padded<AtomicPtr<Node<C>>>,
    tail: Padded<AtomicPtr<Node<C>>>,
    domain: Domain<Node<C>>,
}

/// A node of the list.
pub(crate) struct Node<C> {
    pub(crate) content: C,
    next: AtomicPtr<Node<C>>,
}

impl<C> Node<C> {
    fn new(content: C) -> Node<C> {
        Node { content, next: AtomicPtr::new(ptr::null_mut()) }
    }

    /// A node on the heap, as if by `Box::into_raw`.
    pub(crate) fn allocate(content: C) -> *mut Node<C> {
        Box::into_raw(Box::new(Node::new(content)))
    }

    /// The next node; null if this is the last one.
    #[inline]
    pub(crate) fn next(&self) -> *mut Node<C> {
        self.next.load(Ordering::Acquire)
    }
}

impl<C> LaggingList<C> {
    /// A list of one node, in which a thread tries to free nodes after `head` has passed this many.
    pub(crate) fn new(first: C, batch: usize) -> LaggingList<C> {
        let first = Node::allocate(first);
        LaggingList {
            head: Padded(AtomicPtr::new(first)),
            tail: Padded(AtomicPtr::new(first)),
            domain: Domain::new(batch),
        }
    }

    /// The same, whose nodes come from [`LaggingList::allocate`].
    pub(crate) fn with_spare(first: C, batch: usize) -> LaggingList<C> {
        LaggingList { domain: Domain::with_spare(batch), ..LaggingList::new(first, batch) }
    }

    /// See [`Domain::flush`].
    pub(crate) fn flush(&self) {
        self.domain.flush();
    }

    /// As [`Node::allocate`], in memory of nodes that were freed.
    #[inline]
    pub(crate) fn allocate(&self, content: C) -> *mut Node<C> {
        self.domain.allocate(Node::new(content))
    }

    /// Runs an operation. A node that is in the list at some time while it runs is not freed before
    /// it ends.
    #[inline]
    pub(crate) fn enter<R>(&self, operation: impl FnOnce(&Inside<'_, Node<C>>) -> R) -> R {
        self.domain.enter(operation)
    }

    /// The first node.
    #[inline]
    pub(crate) fn head(&self) -> *mut Node<C> {
        self.head.load(Ordering::Acquire)
    }

    /// The last node, or one that was.
    #[inline]
    pub(crate) fn tail(&self) -> *mut Node<C> {
        self.tail.load(Ordering::Acquire)
    }

    /// Appends a node, which no other thread has.
    #[inline]
    pub(crate) fn append(&self, node: *mut Node<C>) {
        // Each attempt fetches two cache lines: the one with the pointer to the end, and that of
        // the last node.
        let backoff = Backoff::patient();
        let try_once = || {
            self.enter(|_| {
                let tail = self.tail();
                // SAFETY: `tail` was in the list since this operation began, so it is not freed
                // before it ends.
                let linked = unsafe { self.link(tail, node) };
                // Else another thread is between its two steps, or was when `tail` was read.
                linked.map_err(|last| _ = self.advance_tail(tail, last))
            })
        };
        while try_once().is_err() {
            backoff.wait();
        }
    }

    /// Links a node, which no other thread has, to one that was the last; returns the node that is
    /// already linked there, if any.
    ///
    /// # Safety
    /// `tail` is not freed meanwhile.
    #[inline]
    pub(crate) unsafe fn link(
        &self,
        tail: *mut Node<C>,
        node: *mut Node<C>,
    ) -> Result<(), *mut Node<C>> {
        // SAFETY: the caller's promise.
        let next = unsafe { &(*tail).next };
        // Release: a thread that follows the link sees the content of the node.
        let (yes, no) = (Ordering::Release, Ordering::Acquire);
        next.compare_exchange(ptr::null_mut(), node, yes, no)?;
        self.advance_tail(tail, node);
        Ok(())
    }

    /// Moves `tail` on by one node, unless another thread has done so; returns its position then or
    /// later.
    #[inline]
    pub(crate) fn advance_tail(&self, from: *mut Node<C>, to: *mut Node<C>) -> *mut Node<C> {
        match self.tail.compare_exchange(from, to, Ordering::Release, Ordering::Acquire) {
            Ok(_) => to,
            Err(found) => found,
        }
    }

    /// The node after a former first node, with `tail` further ahead; `None` if there is none.
    ///
    /// # Safety
    /// `head` is not freed meanwhile.
    #[inline]
    pub(crate) unsafe fn second(&self, head: *mut Node<C>) -> Option<*mut Node<C>> {
        loop {
            let tail = self.tail();
            // SAFETY: the caller's promise.
            let next = unsafe { (*head).next() };
            if next.is_null() {
                return None;
            }
            if head != tail {
                return Some(next);
            }
            // Another thread is between its two steps: `head` must not pass `tail`.
            self.advance_tail(tail, next);
        }
    }

    /// Moves `head` on to the next node, with `tail` further ahead; returns its position if another
    /// thread has moved it.
    #[inline]
    pub(crate) fn advance_head(
        &self,
        from: *mut Node<C>,
        to: *mut Node<C>,
    ) -> Result<(), *mut Node<C>> {
        // Release: the next thread that reads `head` sees `to` as this one does.
        let (yes, no) = (Ordering::Release, Ordering::Acquire);
        self.head.compare_exchange(from, to, yes, no).map(|_| ())
    }

    /// Removes a first node that is no longer needed, unless it is the last one; returns the first
    /// node then or later.
    ///
    /// # Safety
    /// `head` was the first node at a time since this operation began.
    pub(crate) unsafe fn leave(
        &self,
        inside: &Inside<'_, Node<C>>,
        head: *mut Node<C>,
    ) -> Option<*mut Node<C>> {
        // SAFETY: the caller's promise.
        let next = unsafe { (*head).next() };
        if next.is_null() {
            return None;
        }
        if self.tail() == head {
            self.advance_tail(head, next);
        }
        match self.advance_head(head, next) {
            Ok(()) => {
                // SAFETY: this thread alone moved `head` past the node, for good, and `tail` was
                // further ahead.
                unsafe { inside.retire(head) };
                Some(next)
            }
            Err(found) => Some(found),
        }
    }

    /// The number of nodes after the first one, at a moment since the call began: if the first node
    /// has not changed when the last one is found, there was such a moment. O(n); it starts over if
    /// `head` moved meanwhile.
    pub(crate) fn len(&self) -> usize {
        self.enter(|_| {
            let mut head = self.head();
            loop {
                let (mut node, mut count) = (head, 0);
                loop {
                    // SAFETY: the node was in the list since this operation began, so it is not
                    // freed before it ends.
                    let next = unsafe { (*node).next() };
                    if next.is_null() {
                        break;
                    }
                    (node, count) = (next, count + 1);
                }
                let again = self.head();
                if again == head {
                    return count;
                }
                head = again;
            }
        })
    }

    /// Whether there is no node after the first one.
    pub(crate) fn has_one(&self) -> bool {
        self.enter(|_| {
            // If no node follows it, it is the last one, and has also been the first one since it
            // was read.
            // SAFETY: the node was in the list since this operation began, so it is not freed
            // before it ends.
            unsafe { (*self.head()).next().is_null() }
        })
    }

    /// Frees all nodes after calling the function with each; the list must not be used again.
    pub(crate) fn drain(&mut self, mut look: impl FnMut(&mut C)) {
        let mut head = *self.head.get_mut();
        to_the_end(|| {
            if head.is_null() {
                return false;
            }
            // SAFETY: the list is exclusively owned, and each node is in it once.
            let mut node = unsafe { Box::from_raw(head) };
            head = *node.next.get_mut();
            look(&mut node.content);
            true
        });
    }
}
