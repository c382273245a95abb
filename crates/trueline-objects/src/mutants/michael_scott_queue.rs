//! Michael and Scott's queue with a fault.

use super::nursery::Nursery;
use crate::shadowed::sync::atomic::{AtomicI64, AtomicPtr, Ordering};
use std::ptr;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `enq` links its node to the last one without checking whether another was linked there
    /// meanwhile.
    LinksWithoutComparing,
    /// `deq` moves the head on without looking whether it is still the same.
    MovesHeadWithoutComparing,
    /// `enq` moves the tail to its node first and links the node later: until then, nodes that
    /// others enqueue cannot be reached.
    MovesTailFirst,
}

/// A queue with a fault.
pub(crate) struct Queue {
    fault: Fault,
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
    nodes: Nursery<Node>,
}

struct Node {
    value: AtomicI64,
    next: AtomicPtr<Node>,
}

impl Node {
    fn new(value: i64) -> Node {
        Node { value: AtomicI64::new(value), next: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl Queue {
    pub(crate) fn new(fault: Fault) -> Queue {
        let nodes = Nursery::new();
        let dummy = nodes.make(Node::new(0));
        Queue { fault, head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy), nodes }
    }

    pub(crate) fn enq(&self, value: i64) {
        let node = self.nodes.make(Node::new(value));
        if self.fault == Fault::MovesTailFirst {
            let tail = self.tail.swap(node, Ordering::AcqRel);
            // SAFETY: nodes live as long as the queue.
            unsafe { (*tail).next.store(node, Ordering::Release) };
            return;
        }
        loop {
            let tail = self.tail.load(Ordering::Acquire);
            // SAFETY: nodes live as long as the queue.
            let next = unsafe { &(*tail).next };
            let last = next.load(Ordering::Acquire);
            if !last.is_null() {
                self.advance_tail(tail, last);
                continue;
            }
            let linked = if self.fault == Fault::LinksWithoutComparing {
                next.store(node, Ordering::Release);
                true
            } else {
                let (yes, no) = (Ordering::Release, Ordering::Relaxed);
                next.compare_exchange(ptr::null_mut(), node, yes, no).is_ok()
            };
            if linked {
                return self.advance_tail(tail, node);
            }
        }
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let head = self.head.load(Ordering::Acquire);
            let tail = self.tail.load(Ordering::Acquire);
            // SAFETY: nodes live as long as the queue.
            let next = unsafe { (*head).next.load(Ordering::Acquire) };
            if next.is_null() {
                return None;
            }
            if head == tail {
                self.advance_tail(tail, next);
                continue;
            }
            let moved = if self.fault == Fault::MovesHeadWithoutComparing {
                self.head.store(next, Ordering::Release);
                true
            } else {
                let (yes, no) = (Ordering::Release, Ordering::Relaxed);
                self.head.compare_exchange(head, next, yes, no).is_ok()
            };
            if moved {
                // SAFETY: nodes live as long as the queue.
                return Some(unsafe { (*next).value.load(Ordering::Relaxed) });
            }
        }
    }

    fn advance_tail(&self, from: *mut Node, to: *mut Node) {
        let _ = self.tail.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Frees a node as soon as the head has passed it, while others may still have a pointer to it.
pub(crate) struct HastyQueue {
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
}

impl HastyQueue {
    pub(crate) fn new() -> HastyQueue {
        let dummy = Box::into_raw(Box::new(Node::new(0)));
        HastyQueue { head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy) }
    }

    pub(crate) fn enq(&self, value: i64) {
        let node = Box::into_raw(Box::new(Node::new(value)));
        loop {
            let tail = self.tail.load(Ordering::Acquire);
            // SAFETY: it is not sound, here and below: this is the fault, which the explorer
            // detects at the access. There, the memory of freed nodes is kept.
            let next = unsafe { &(*tail).next };
            let last = next.load(Ordering::Acquire);
            if !last.is_null() {
                self.advance_tail(tail, last);
                continue;
            }
            let (yes, no) = (Ordering::Release, Ordering::Relaxed);
            if next.compare_exchange(ptr::null_mut(), node, yes, no).is_ok() {
                return self.advance_tail(tail, node);
            }
        }
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let head = self.head.load(Ordering::Acquire);
            let tail = self.tail.load(Ordering::Acquire);
            // SAFETY: see `enq`.
            let next = unsafe { (*head).next.load(Ordering::Acquire) };
            if next.is_null() {
                return None;
            }
            if head == tail {
                self.advance_tail(tail, next);
                continue;
            }
            // SAFETY: see `enq`. The value is read before the node can be freed, as Michael and
            // Scott do.
            let value = unsafe { (*next).value.load(Ordering::Relaxed) };
            let (yes, no) = (Ordering::Release, Ordering::Relaxed);
            if self.head.compare_exchange(head, next, yes, no).is_ok() {
                // SAFETY: only this thread has removed the node. The fault is that others still use
                // it.
                drop(unsafe { Box::from_raw(head) });
                return Some(value);
            }
        }
    }

    fn advance_tail(&self, from: *mut Node, to: *mut Node) {
        let _ = self.tail.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}

impl Drop for HastyQueue {
    fn drop(&mut self) {
        let mut node = *self.head.get_mut();
        while !node.is_null() {
            // SAFETY: the queue is exclusively owned, and each node is in the list once.
            let mut freed = unsafe { Box::from_raw(node) };
            node = *freed.next.get_mut();
        }
    }
}
