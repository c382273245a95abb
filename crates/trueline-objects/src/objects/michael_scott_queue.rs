//! Michael and Scott's queue: a list with a pointer to each end, where threads help a tail that lags.
//!
//! M. M. Michael, M. L. Scott: Simple, fast, and practical non-blocking and blocking concurrent queue algorithms. PODC 1996.
//!
//! The first node is a dummy: its value is gone, or never was. `tail` points to the last node or to the one before it.
//! **Invariant:** `tail` never points to a node that `head` has passed, since `deq` moves `head` on only after it has seen, while
//! `head` was what it is, a `tail` that is further. So a node that `head` has passed cannot be reached any more.
//!
//! **Linearization.** `enq` where it links its node to the last one; `deq` where it moves `head` on, or, if it finds nothing, where
//! it reads that the first node has no next one.
//!
//! **Progress.** Lock-free. Cost: O(1) without contention. Nodes are freed as `grace.rs` says, which also excludes ABA.

use super::grace::{self, Domain};
use super::padded::Padded;
use super::sync::Backoff;
use super::sync::atomic::{AtomicPtr, Ordering};
use super::sync::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;

/// A lock-free queue without a bound.
///
/// ```
/// let queue = trueline_objects::MichaelScottQueue::new();
/// queue.enq("first");
/// queue.enq("second");
/// assert_eq!(queue.deq(), Some("first"));
/// ```
pub struct MichaelScottQueue<T> {
    head: Padded<AtomicPtr<Node<T>>>,
    tail: Padded<AtomicPtr<Node<T>>>,
    domain: Domain<Node<T>>,
}

struct Node<T> {
    /// There from the time the node is in the list until it becomes the dummy.
    value: UnsafeCell<MaybeUninit<T>>,
    next: AtomicPtr<Node<T>>,
}

// SAFETY: values move from the thread that enqueues to the one that dequeues or drops; no two threads have one at a time.
unsafe impl<T: Send> Send for MichaelScottQueue<T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<T: Send> Sync for MichaelScottQueue<T> {}

impl<T> Node<T> {
    fn new(value: MaybeUninit<T>) -> Node<T> {
        Node { value: UnsafeCell::new(value), next: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<T> MichaelScottQueue<T> {
    /// An empty queue.
    pub fn new() -> MichaelScottQueue<T> {
        MichaelScottQueue::with_batch(grace::BATCH)
    }

    /// An empty queue in which a thread tries to free nodes after it has dequeued so many values (64 if not told otherwise).
    pub fn with_batch(batch: usize) -> MichaelScottQueue<T> {
        let dummy = Box::into_raw(Box::new(Node::new(MaybeUninit::uninit())));
        MichaelScottQueue {
            head: Padded(AtomicPtr::new(dummy)),
            tail: Padded(AtomicPtr::new(dummy)),
            domain: Domain::new(batch),
        }
    }

    /// Puts a value at the end.
    pub fn enq(&self, value: T) {
        let node = self.domain.allocate(Node::new(MaybeUninit::new(value)));
        let backoff = Backoff::default();
        self.domain.enter(|_| {
            let mut tail = self.tail.load(Ordering::Acquire);
            loop {
                // SAFETY: `tail` was in the list since this operation began, so it is not freed before it ends.
                let next = unsafe { &(*tail).next };
                // Release: who follows the link sees what is in the node.
                let (yes, no) = (Ordering::Release, Ordering::Acquire);
                match next.compare_exchange(ptr::null_mut(), node, yes, no) {
                    Ok(_) => {
                        self.advance_tail(tail, node);
                        return;
                    }
                    // Another `enq` is between its two steps, or was when `tail` was read.
                    Err(last) => tail = self.advance_tail(tail, last),
                }
                backoff.wait();
            }
        });
    }

    /// Takes the oldest value; `None` where there is none.
    pub fn deq(&self) -> Option<T> {
        let backoff = Backoff::default();
        self.domain.enter(|inside| {
            let mut head = self.head.load(Ordering::Acquire);
            loop {
                let tail = self.tail.load(Ordering::Acquire);
                // SAFETY: `head` was the first node at a time since this operation began, so it is not freed before it ends.
                let next = unsafe { (*head).next.load(Ordering::Acquire) };
                if next.is_null() {
                    return None;
                }
                if head == tail {
                    // An `enq` is between its two steps: `head` must not pass `tail`.
                    self.advance_tail(tail, next);
                    continue;
                }
                // That it succeeds also says that `head` was the first node when `tail` was read. Release: the next thread that reads
                // `head` sees `next` as this one does.
                let (yes, no) = (Ordering::Release, Ordering::Acquire);
                match self.head.compare_exchange(head, next, yes, no) {
                    Ok(_) => {
                        // SAFETY: one thread alone makes this node the dummy, so the value is its own; the node is not freed before
                        // it is itself passed and this operation has ended.
                        let value = unsafe { (*next).value.with(|value| ptr::read(value)) };
                        // SAFETY: `head` has passed the node, for good and by this thread alone, and `tail` was further.
                        unsafe { inside.retire(head) };
                        // SAFETY: a node that is in the list and not the dummy has its value.
                        return Some(unsafe { value.assume_init() });
                    }
                    Err(found) => head = found,
                }
                backoff.wait();
            }
        })
    }

    /// Moves `tail` on by one node, unless another thread has done so; yields where it is then, or was since.
    #[inline]
    fn advance_tail(&self, from: *mut Node<T>, to: *mut Node<T>) -> *mut Node<T> {
        match self.tail.compare_exchange(from, to, Ordering::Release, Ordering::Acquire) {
            Ok(_) => to,
            Err(found) => found,
        }
    }
}

impl<T> Default for MichaelScottQueue<T> {
    fn default() -> MichaelScottQueue<T> {
        MichaelScottQueue::new()
    }
}

impl<T> Drop for MichaelScottQueue<T> {
    fn drop(&mut self) {
        let free = |node: *mut Node<T>| {
            // SAFETY: nobody else has the queue, and each node is in the list once.
            let Node { value, mut next } = *unsafe { Box::from_raw(node) };
            (value.into_inner(), *next.get_mut())
        };
        let (_, mut node) = free(*self.head.get_mut());
        while !node.is_null() {
            let (value, next) = free(node);
            // SAFETY: a node that is in the list and not the dummy has its value.
            drop(unsafe { value.assume_init() });
            node = next;
        }
    }
}

impl<T> std::fmt::Debug for MichaelScottQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MichaelScottQueue").finish_non_exhaustive()
    }
}
