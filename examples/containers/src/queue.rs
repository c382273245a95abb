//! A queue with a lock at each end, after Michael and Scott.

use std::ptr;

use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::{Mutex, UnsafeCell};

struct Node<T> {
    value: UnsafeCell<Option<T>>,
    next: AtomicPtr<Node<T>>,
}

impl<T> Node<T> {
    fn new(value: Option<T>) -> *mut Node<T> {
        let next = AtomicPtr::new(ptr::null_mut());
        Box::into_raw(Box::new(Node { value: UnsafeCell::new(value), next }))
    }
}

/// First in, first out; those who push do not wait for those who pop.
pub struct Queue<T> {
    /// A node whose value is gone; the next one's is the first.
    head: Mutex<*mut Node<T>>,
    tail: Mutex<*mut Node<T>>,
}

// SAFETY: nodes are reached only under one of the locks; a value is moved, never shared.
unsafe impl<T: Send> Send for Queue<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Queue<T> {}

impl<T> Queue<T> {
    /// An empty queue.
    pub fn new() -> Queue<T> {
        let empty = Node::new(None);
        Queue { head: Mutex::new(empty), tail: Mutex::new(empty) }
    }

    /// Puts a value behind the others.
    pub fn push(&self, value: T) {
        let node = Node::new(Some(value));
        let mut tail = self.tail.lock().unwrap();
        // SAFETY: the last node is freed only when it is no longer the last.
        unsafe { (**tail).next.store(node, Ordering::Release) };
        *tail = node;
    }

    /// Takes the value in front.
    pub fn pop(&self) -> Option<T> {
        let mut head = self.head.lock().unwrap();
        let old = *head;
        // SAFETY: only the owner of this lock frees nodes, and only those in front.
        let next = unsafe { (*old).next.load(Ordering::Acquire) };
        if next.is_null() {
            return None;
        }
        // SAFETY: the value was written before `next` was; nobody else takes it.
        let value = unsafe { (*(*next).value.get()).take() };
        *head = next;
        drop(head);
        // SAFETY: nobody has the old node any more: the tail is `next` or behind it.
        drop(unsafe { Box::from_raw(old) });
        value
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue::new()
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
        // SAFETY: the last node, and nobody else is here.
        drop(unsafe { Box::from_raw(*self.head.lock().unwrap()) });
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;
    use std::collections::VecDeque;
    use trueline_explore::{explore, operations};

    #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    struct Fifo(VecDeque<u8>);

    impl Fifo {
        fn push(&mut self, v: u8) {
            self.0.push_back(v);
        }
        fn pop(&mut self) -> Option<u8> {
            self.0.pop_front()
        }
    }

    operations! { enum Op -> Ret for Queue<u8>, Fifo { push(v: u8); pop() -> Option<u8>; } }

    #[test]
    fn the_queue_is_linearizable() {
        explore(Queue::new)
            .spec(Fifo::default())
            .operations([Op::push(1), Op::push(2), Op::pop()])
            .threads(2)
            .length(2)
            .check();
    }
}
