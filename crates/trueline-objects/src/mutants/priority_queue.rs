//! The priority queue with a fault, on one level.

use super::nursery::Nursery;
use crate::shadowed::mark::{is_marked, marked, unmarked};
use crate::shadowed::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::ptr;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A mark in the node itself means that it is taken, as in the queue of Lotan and Shavit:
    /// meanwhile a better node can be linked before it, and then an even later one is taken.
    MarksNodes,
    /// `poll` marks a link without looking whether it is still the same.
    MarksWithoutComparing,
    /// `insert` links its node without checking whether another was linked there meanwhile.
    LinksWithoutComparing,
    /// `poll` moves the head to the first remaining node: nodes linked behind the last taken one
    /// meanwhile are lost.
    CutsTooFar,
}

/// A priority queue with a fault.
pub(crate) struct Queue {
    fault: Fault,
    head: AtomicPtr<Node>,
    nodes: Nursery<Node>,
}

struct Node {
    priority: i64,
    /// Marked: the node to which it leads is taken.
    next: AtomicPtr<Node>,
    /// The mark, if it is in the node itself.
    taken: AtomicBool,
}

impl Queue {
    pub(crate) fn new(fault: Fault) -> Queue {
        Queue { fault, head: AtomicPtr::new(ptr::null_mut()), nodes: Nursery::new() }
    }

    pub(crate) fn insert(&self, priority: i64) {
        loop {
            let mut link = &self.head;
            let mut next = link.load(Ordering::Acquire);
            // SAFETY: nodes live as long as the queue.
            while let Some(node) = unsafe { unmarked(next).as_ref() }
                && (is_marked(next) || node.priority >= priority)
            {
                link = &node.next;
                next = link.load(Ordering::Acquire);
            }
            let (next_link, taken) = (AtomicPtr::new(next), AtomicBool::new(false));
            let node = self.nodes.make(Node { priority, next: next_link, taken });
            if self.fault == Fault::LinksWithoutComparing {
                return link.store(node, Ordering::Release);
            }
            if link.compare_exchange(next, node, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return;
            }
        }
    }

    pub(crate) fn poll(&self) -> Option<i64> {
        let first = self.head.load(Ordering::Acquire);
        let (mut link, mut next) = (&self.head, first);
        loop {
            // SAFETY: nodes live as long as the queue.
            let node = unsafe { unmarked(next).as_ref() }?;
            let taken = match self.fault {
                _ if is_marked(next) => false,
                Fault::MarksNodes => !node.taken.swap(true, Ordering::AcqRel),
                Fault::MarksWithoutComparing => {
                    link.store(marked(next), Ordering::Release);
                    true
                }
                Fault::LinksWithoutComparing | Fault::CutsTooFar => {
                    let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
                    if let Err(found) = link.compare_exchange(next, marked(next), yes, no) {
                        next = found;
                        continue;
                    }
                    true
                }
            };
            if taken {
                if self.fault == Fault::CutsTooFar {
                    let left = node.next.load(Ordering::Acquire);
                    let first = marked(unmarked(first));
                    let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
                    let _ = self.head.compare_exchange(first, left, yes, no);
                }
                return Some(node.priority);
            }
            link = &node.next;
            next = link.load(Ordering::Acquire);
        }
    }

    pub(crate) fn peek(&self) -> Option<i64> {
        let mut next = self.head.load(Ordering::Acquire);
        loop {
            // SAFETY: nodes live as long as the queue.
            let node = unsafe { unmarked(next).as_ref() }?;
            if !is_marked(next) && !node.taken.load(Ordering::Acquire) {
                return Some(node.priority);
            }
            next = node.next.load(Ordering::Acquire);
        }
    }
}
