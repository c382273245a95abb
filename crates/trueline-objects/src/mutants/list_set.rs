//! The list of Harris and Michael with a fault.

use super::nursery::Nursery;
use crate::shadowed::mark::{is_marked, marked, unmarked};
use crate::shadowed::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::ptr;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `remove` unlinks a node without marking it: nodes linked behind it meanwhile are lost.
    ForgetsMark,
    /// The mark is beside the link and not in it: nodes linked behind a marked node are lost.
    MarksApart,
    /// `remove` marks a node without looking whether another has marked it.
    MarksWithoutComparing,
    /// `insert` links its node without checking whether another was linked there meanwhile.
    LinksWithoutComparing,
}

/// A set with a fault.
pub(crate) struct Set {
    fault: Fault,
    head: AtomicPtr<Node>,
    nodes: Nursery<Node>,
}

struct Node {
    value: i64,
    next: AtomicPtr<Node>,
    /// The mark, if it is beside the link.
    removed: AtomicBool,
}

/// A link, its target, and whether that is the node that was searched for.
type Place<'a> = (&'a AtomicPtr<Node>, *mut Node, bool);

impl Set {
    pub(crate) fn new(fault: Fault) -> Set {
        Set { fault, head: AtomicPtr::new(ptr::null_mut()), nodes: Nursery::new() }
    }

    pub(crate) fn insert(&self, value: i64) -> bool {
        loop {
            let (link, next, found) = self.find(value);
            if found {
                return false;
            }
            let (next_link, removed) = (AtomicPtr::new(next), AtomicBool::new(false));
            let node = self.nodes.make(Node { value, next: next_link, removed });
            if self.fault == Fault::LinksWithoutComparing {
                link.store(node, Ordering::Release);
                return true;
            }
            if link.compare_exchange(next, node, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return true;
            }
        }
    }

    pub(crate) fn remove(&self, value: &i64) -> bool {
        loop {
            let (link, pointer, found) = self.find(*value);
            if !found {
                return false;
            }
            // SAFETY: nodes live as long as the set.
            let node = unsafe { &*pointer };
            let next = unmarked(node.next.load(Ordering::Acquire));
            let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
            let unlinks = || link.compare_exchange(pointer, next, yes, no).is_ok();
            let removed = match self.fault {
                Fault::ForgetsMark => unlinks(),
                Fault::MarksApart => !node.removed.swap(true, Ordering::AcqRel),
                Fault::MarksWithoutComparing => {
                    node.next.store(marked(next), Ordering::Release);
                    true
                }
                Fault::LinksWithoutComparing => {
                    node.next.compare_exchange(next, marked(next), yes, no).is_ok()
                }
            };
            if removed {
                if self.fault != Fault::ForgetsMark && !unlinks() {
                    self.find(*value);
                }
                return true;
            }
        }
    }

    pub(crate) fn contains(&self, value: &i64) -> bool {
        self.find(*value).2
    }

    fn find(&self, value: i64) -> Place<'_> {
        'anew: loop {
            let mut link = &self.head;
            let mut next = link.load(Ordering::Acquire);
            loop {
                // SAFETY: nodes live as long as the set.
                let Some(node) = (unsafe { unmarked(next).as_ref() }) else {
                    return (link, next, false);
                };
                let after = node.next.load(Ordering::Acquire);
                let apart = self.fault == Fault::MarksApart;
                if is_marked(after) || apart && node.removed.load(Ordering::Acquire) {
                    let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
                    match link.compare_exchange(next, unmarked(after), yes, no) {
                        Ok(_) => next = unmarked(after),
                        Err(_) => continue 'anew,
                    }
                } else if node.value < value {
                    (link, next) = (&node.next, after);
                } else {
                    return (link, next, node.value == value);
                }
            }
        }
    }
}

/// Frees a node as soon as it is unlinked, while other threads may still read it.
pub(crate) struct HastySet {
    head: AtomicPtr<Node>,
}

impl HastySet {
    pub(crate) fn new() -> HastySet {
        HastySet { head: AtomicPtr::new(ptr::null_mut()) }
    }

    pub(crate) fn insert(&self, value: i64) -> bool {
        loop {
            let (link, next, found) = self.find(value);
            if found {
                return false;
            }
            let (next_link, removed) = (AtomicPtr::new(next), AtomicBool::new(false));
            let node = Box::into_raw(Box::new(Node { value, next: next_link, removed }));
            if link.compare_exchange(next, node, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return true;
            }
            // SAFETY: no other thread has seen the node.
            drop(unsafe { Box::from_raw(node) });
        }
    }

    pub(crate) fn remove(&self, value: &i64) -> bool {
        loop {
            let (_, pointer, found) = self.find(*value);
            if !found {
                return false;
            }
            // SAFETY: it is not sound, here and below: this is the fault, which the explorer
            // detects at the access. There, the memory of freed nodes is kept.
            let node = unsafe { &*pointer };
            let next = node.next.load(Ordering::Acquire);
            let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
            if !is_marked(next) && node.next.compare_exchange(next, marked(next), yes, no).is_ok() {
                self.find(*value);
                return true;
            }
        }
    }

    pub(crate) fn contains(&self, value: &i64) -> bool {
        self.find(*value).2
    }

    fn find(&self, value: i64) -> Place<'_> {
        'anew: loop {
            let mut link = &self.head;
            let mut next = link.load(Ordering::Acquire);
            loop {
                // SAFETY: see `remove`.
                let Some(node) = (unsafe { unmarked(next).as_ref() }) else {
                    return (link, next, false);
                };
                let after = node.next.load(Ordering::Acquire);
                if is_marked(after) {
                    let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
                    if link.compare_exchange(next, unmarked(after), yes, no).is_err() {
                        continue 'anew;
                    }
                    // SAFETY: only this thread has unlinked the node. The fault is that others
                    // still use it.
                    drop(unsafe { Box::from_raw(next) });
                    next = unmarked(after);
                } else if node.value < value {
                    (link, next) = (&node.next, after);
                } else {
                    return (link, next, node.value == value);
                }
            }
        }
    }
}

impl Drop for HastySet {
    fn drop(&mut self) {
        let mut next = *self.head.get_mut();
        while !next.is_null() {
            // SAFETY: the set is exclusively owned, and each node is in the list once.
            let mut node = unsafe { Box::from_raw(unmarked(next)) };
            next = unmarked(*node.next.get_mut());
        }
    }
}
