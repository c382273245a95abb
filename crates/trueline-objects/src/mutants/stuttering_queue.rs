//! The stuttering queue with a fault.

use super::nursery::Nursery;
use crate::shadowed::sync::atomic::{AtomicI64, AtomicPtr, AtomicUsize, Ordering};
use std::ptr;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `deq` does not count how often a value was returned.
    DoesNotCount,
    /// `deq` counts with a read and a write.
    CountsInTwoSteps,
    /// `deq` moves the head on without looking whether it is still the same.
    MovesHeadWithoutComparing,
    /// `enq` links its node without looking whether another was linked there.
    LinksWithoutComparing,
}

/// A queue with a fault.
pub(crate) struct Queue {
    fault: Fault,
    j: usize,
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
    nodes: Nursery<Node>,
}

struct Node {
    value: AtomicI64,
    asked: AtomicUsize,
    next: AtomicPtr<Node>,
}

impl Node {
    fn new(value: i64) -> Node {
        let next = AtomicPtr::new(ptr::null_mut());
        Node { value: AtomicI64::new(value), asked: AtomicUsize::new(0), next }
    }
}

impl Queue {
    pub(crate) fn new(j: usize, fault: Fault) -> Queue {
        let nodes = Nursery::new();
        let dummy = nodes.make(Node::new(0));
        Queue { fault, j, head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy), nodes }
    }

    pub(crate) fn enq(&self, value: i64) {
        let node = self.nodes.make(Node::new(value));
        let mut tail = self.tail.load(Ordering::SeqCst);
        loop {
            // SAFETY: nodes live as long as the queue.
            let next = unsafe { &(*tail).next };
            let last = next.load(Ordering::SeqCst);
            let linked = if self.fault == Fault::LinksWithoutComparing && last.is_null() {
                next.store(node, Ordering::SeqCst);
                Ok(last)
            } else {
                exchange(next, ptr::null_mut(), node)
            };
            match linked {
                Ok(_) => {
                    let _ = exchange(&self.tail, tail, node);
                    return;
                }
                Err(last) => tail = exchange(&self.tail, tail, last).map_or_else(|t| t, |_| last),
            }
        }
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let head = self.head.load(Ordering::SeqCst);
            let tail = self.tail.load(Ordering::SeqCst);
            // SAFETY: nodes live as long as the queue.
            let next = unsafe { (*head).next.load(Ordering::SeqCst) };
            if next.is_null() {
                return None;
            }
            if head == tail {
                let _ = exchange(&self.tail, tail, next);
                continue;
            }
            // SAFETY: as above.
            let node = unsafe { &*next };
            let asked = match self.fault {
                Fault::DoesNotCount => 0,
                Fault::CountsInTwoSteps => {
                    let asked = node.asked.load(Ordering::SeqCst);
                    node.asked.store(asked + 1, Ordering::SeqCst);
                    asked
                }
                _ => node.asked.fetch_add(1, Ordering::SeqCst),
            };
            if self.fault == Fault::MovesHeadWithoutComparing {
                self.head.store(next, Ordering::SeqCst);
            } else {
                let _ = exchange(&self.head, head, next);
            }
            if asked < self.j {
                return Some(node.value.load(Ordering::SeqCst));
            }
        }
    }
}

fn exchange(
    place: &AtomicPtr<Node>,
    from: *mut Node,
    to: *mut Node,
) -> Result<*mut Node, *mut Node> {
    place.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
}
