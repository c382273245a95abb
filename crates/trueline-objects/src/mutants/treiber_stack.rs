//! Treiber's stack with a fault.

use super::nursery::Nursery;
use crate::shadowed::sync::atomic::{AtomicI64, AtomicPtr, Ordering};
use crate::shadowed::sync::cell::UnsafeCell;
use crate::shadowed::sync::with_thread_index;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ptr;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A popped node is pushed again while another `pop` may still have a pointer to it. The
    /// compare-exchange of that `pop` finds the expected head and replaces it by a node that is no
    /// longer below it. The bug of Figure 1 of Emmi, Enea, Hamza: Monitoring refinement via
    /// symbolic reasoning. PLDI 2015.
    ReusesNodes,
    /// `pop` writes the head without looking whether it is still the same.
    PopsWithoutComparing,
    /// `push` tries again after a failure without linking its node to the new head.
    PushesWithoutRelinking,
}

/// A stack with a fault.
pub(crate) struct Stack {
    fault: Fault,
    head: AtomicPtr<Node>,
    nodes: Nursery<Node>,
    /// For each thread the nodes that it can reuse, the oldest first. Each begins with a spare one.
    spare: [Spare; THREADS],
}

/// Threads with a higher number do not use nodes again.
const THREADS: usize = 8;

struct Node {
    value: AtomicI64,
    next: AtomicPtr<Node>,
}

/// Touched by one thread alone.
#[derive(Default)]
struct Spare(RefCell<Option<VecDeque<*mut Node>>>);

// SAFETY: the pointers are valid as long as the stack. Only the thread with this number accesses
// the list.
unsafe impl Send for Spare {}
// SAFETY: as above.
unsafe impl Sync for Spare {}

impl Stack {
    pub(crate) fn new(fault: Fault) -> Stack {
        let (head, nodes) = (AtomicPtr::new(ptr::null_mut()), Nursery::new());
        Stack { fault, head, nodes, spare: Default::default() }
    }

    pub(crate) fn push(&self, value: i64) {
        let node = self.allocate();
        // SAFETY: nodes live as long as the stack.
        let Node { value: place, next } = unsafe { &*node };
        place.store(value, Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Acquire);
        next.store(head, Ordering::Relaxed);
        loop {
            match self.head.compare_exchange(head, node, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(found) => head = found,
            }
            if self.fault != Fault::PushesWithoutRelinking {
                next.store(head, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn pop(&self) -> Option<i64> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            if head.is_null() {
                return None;
            }
            // SAFETY: nodes live as long as the stack.
            let node = unsafe { &*head };
            let next = node.next.load(Ordering::Relaxed);
            if self.fault == Fault::PopsWithoutComparing {
                self.head.store(next, Ordering::Release);
                return Some(node.value.load(Ordering::Relaxed));
            }
            match self.head.compare_exchange(head, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    let value = node.value.load(Ordering::Relaxed);
                    self.free(head);
                    return Some(value);
                }
                Err(found) => head = found,
            }
        }
    }

    fn fresh(&self) -> *mut Node {
        let next = AtomicPtr::new(ptr::null_mut());
        self.nodes.make(Node { value: AtomicI64::new(0), next })
    }

    fn allocate(&self) -> *mut Node {
        if self.fault != Fault::ReusesNodes {
            return self.fresh();
        }
        with_thread_index(|index| {
            let Some(Spare(spare)) = self.spare.get(index) else { return self.fresh() };
            let mut spare = spare.borrow_mut();
            let spare = spare.get_or_insert_with(|| VecDeque::from([self.fresh()]));
            spare.pop_front().unwrap_or_else(|| self.fresh())
        })
    }

    fn free(&self, node: *mut Node) {
        if self.fault != Fault::ReusesNodes {
            return;
        }
        with_thread_index(|index| {
            let Some(Spare(spare)) = self.spare.get(index) else { return };
            let mut spare = spare.borrow_mut();
            spare.get_or_insert_with(|| VecDeque::from([self.fresh()])).push_back(node);
        });
    }
}

/// Publishes its nodes with relaxed orderings: a race on their contents.
pub(crate) struct RelaxedStack {
    head: AtomicPtr<RelaxedNode>,
    nodes: Nursery<RelaxedNode>,
}

struct RelaxedNode {
    value: UnsafeCell<i64>,
    next: UnsafeCell<*mut RelaxedNode>,
}

// SAFETY: it is not sound: this is the fault, which the explorer reports as a race. There, only one
// thread runs at a time.
unsafe impl Send for RelaxedNode {}

impl RelaxedStack {
    pub(crate) fn new() -> RelaxedStack {
        RelaxedStack { head: AtomicPtr::new(ptr::null_mut()), nodes: Nursery::new() }
    }

    pub(crate) fn push(&self, value: i64) {
        let (value, next) = (UnsafeCell::new(value), UnsafeCell::new(ptr::null_mut()));
        let node = self.nodes.make(RelaxedNode { value, next });
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: nodes live as long as the stack, and this one is not in the list yet.
            unsafe { (*node).next.with_mut(|next| *next = head) };
            match self.head.compare_exchange(head, node, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => head = found,
            }
        }
    }

    pub(crate) fn pop(&self) -> Option<i64> {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if head.is_null() {
                return None;
            }
            // SAFETY: nodes live as long as the stack. The fault is that this thread may not see
            // the contents yet.
            let next = unsafe { (*head).next.with(|next| *next) };
            match self.head.compare_exchange(head, next, Ordering::Relaxed, Ordering::Relaxed) {
                // SAFETY: as above.
                Ok(_) => return Some(unsafe { (*head).value.with(|value| *value) }),
                Err(found) => head = found,
            }
        }
    }
}
