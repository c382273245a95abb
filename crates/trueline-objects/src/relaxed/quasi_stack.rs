//! The stack of the paper's Table I: values are removed by marking them, and nodes stay. It is
//! linearizable, hence quasi linearizable; the mutants are b1 and b2.

use crate::mutants::nursery::Nursery;
use crate::shadowed::sync::atomic::{AtomicI64, AtomicPtr, Ordering};
use std::ptr;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// b1: `pop` returns nothing if another thread was faster.
    FindsNothing,
    /// b2: `pop` takes a value more than two below the uppermost.
    TakesTooFar,
}

const TAKEN: i64 = -1;

/// The stack.
pub(crate) struct Stack {
    fault: Fault,
    top: AtomicPtr<Node>,
    nodes: Nursery<Node>,
}

struct Node {
    value: AtomicI64,
    below: AtomicPtr<Node>,
}

impl Stack {
    pub(crate) fn new(fault: Fault) -> Stack {
        Stack { fault, top: AtomicPtr::new(ptr::null_mut()), nodes: Nursery::new() }
    }

    pub(crate) fn push(&self, value: i64) {
        let below = AtomicPtr::new(ptr::null_mut());
        let node = self.nodes.make(Node { value: AtomicI64::new(value), below });
        let mut top = self.top.load(Ordering::SeqCst);
        loop {
            // SAFETY: nodes live as long as the stack.
            unsafe { (*node).below.store(top, Ordering::SeqCst) };
            match self.top.compare_exchange(top, node, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return,
                Err(found) => top = found,
            }
        }
    }

    pub(crate) fn pop(&self) -> Option<i64> {
        let far = if self.fault == Fault::TakesTooFar { 3 } else { 0 };
        match self.take(far) {
            Some(value) => Some(value),
            None if far > 0 => self.take(0),
            None => None,
        }
    }

    /// Takes the top value after skipping this many.
    fn take(&self, mut skipped: usize) -> Option<i64> {
        let mut at = self.top.load(Ordering::SeqCst);
        while !at.is_null() {
            // SAFETY: nodes live as long as the stack.
            let node = unsafe { &*at };
            let value = node.value.load(Ordering::SeqCst);
            if value != TAKEN && skipped > 0 {
                skipped -= 1;
            } else if value != TAKEN {
                let (yes, no) = (Ordering::SeqCst, Ordering::SeqCst);
                if node.value.compare_exchange(value, TAKEN, yes, no).is_ok() {
                    return Some(value);
                }
                if self.fault == Fault::FindsNothing {
                    return None;
                }
            }
            at = node.below.load(Ordering::SeqCst);
        }
        None
    }
}
