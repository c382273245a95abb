//! Treiber's stack. Popped nodes are kept until the stack is dropped, so that no pointer ever
//! dangles.

#[cfg(any(test, feature = "trueline"))]
use trueline_explore::std::{cell, sync};

#[cfg(not(any(test, feature = "trueline")))]
use std::{cell, sync};

use cell::UnsafeCell;
use std::ptr;
use sync::atomic::{AtomicPtr, Ordering};

/// A lock-free stack.
pub struct Stack<T> {
    head: AtomicPtr<Node<T>>,
    popped: AtomicPtr<Node<T>>,
}

struct Node<T> {
    value: UnsafeCell<Option<T>>,
    next: UnsafeCell<*mut Node<T>>,
    next_popped: *mut Node<T>,
}

// SAFETY: a value is written before its node is published and taken by the one thread that took the
// node off.
unsafe impl<T: Send> Send for Stack<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Stack<T> {}

impl<T> Stack<T> {
    /// An empty stack.
    pub fn new() -> Stack<T> {
        Stack { head: AtomicPtr::new(ptr::null_mut()), popped: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Puts a value on top.
    pub fn push(&self, value: T) {
        let node = Box::into_raw(Box::new(Node {
            value: UnsafeCell::new(Some(value)),
            next: UnsafeCell::new(ptr::null_mut()),
            next_popped: ptr::null_mut(),
        }));
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: the node is this thread's own until it is published.
            unsafe { *(*node).next.get() = head };
            // Release: who takes the node off must see what is in it.
            match self.head.compare_exchange(head, node, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => head = found,
            }
        }
    }

    /// Takes the value off the top.
    pub fn pop(&self) -> Option<T> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            if head.is_null() {
                return None;
            }
            // SAFETY: nodes are not freed before the stack is.
            let next = unsafe { *(*head).next.get() };
            match self.head.compare_exchange(head, next, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => break,
                Err(found) => head = found,
            }
        }
        // SAFETY: this thread has taken the node off, so the value is its own.
        let value = unsafe { (*(*head).value.get()).take() };
        self.keep(head);
        value
    }

    /// Keeps a node until the stack is dropped.
    fn keep(&self, node: *mut Node<T>) {
        let mut first = self.popped.load(Ordering::Relaxed);
        loop {
            // SAFETY: only the thread that took the node off writes this field.
            unsafe { (*node).next_popped = first };
            match self.popped.compare_exchange(first, node, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }
}

impl<T> Default for Stack<T> {
    fn default() -> Self {
        Stack::new()
    }
}

impl<T> Drop for Stack<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
        let mut node = *self.popped.get_mut();
        while !node.is_null() {
            // SAFETY: the node is in the list once, and nobody else has the stack.
            let kept = unsafe { Box::from_raw(node) };
            node = kept.next_popped;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stack;
    use trueline_explore::engine::Exploration;
    use trueline_explore::std::thread;

    #[global_allocator]
    static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

    #[test]
    fn nothing_is_lost_or_doubled_in_any_interleaving() {
        let report = Exploration::new().run(|| {
            let stack = Stack::new();
            let mut all = thread::scope(|s| {
                let other = s.spawn(|| {
                    stack.push(1);
                    stack.pop()
                });
                stack.push(2);
                let own = stack.pop();
                [own, other.join().unwrap()]
            });
            all.sort();
            assert_eq!(all, [Some(1), Some(2)]);
        });
        assert!(report.holds(), "{report}");
        assert!(report.executions > 10, "{report}");
    }
}
