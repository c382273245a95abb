//! A stuttering queue: a queue whose first value may be told to up to j threads before it is gone, so that threads which ask at the same
//! time need not wait for each other.
//!
//! The type is that of J. M. Wing, C. Gong: Testing and verifying concurrent objects. JPDC 17, 1993, section 8. The algorithm is not theirs,
//! which lets a `deq` skip a value that was never told (`models/wing-gong-stuttering-queue.tl`). It is Michael and Scott's
//! queue (PODC 1996) with a counter in each node, of how often its value was asked for: `deq` counts itself in, moves `head` on if nobody
//! has, and **whether it or another did so** tells the value, unless j others were before it.
//!
//! **Ordering argument.** Values are ordered by the links of their nodes, and `enq` adds a maximal one. `deq` reads `head` when it is some
//! node h, and tells the value of the node behind it, which is the minimal one until `head` moves on from h. It moves only after it was
//! told, or counted, at least once.
//!
//! **Linearization.** `enq` where it links its node. `deq` where it counts itself in, if `head` has not moved on from h by then; if it
//! has, just before it did, which lies inside of this operation, for it had read h before. So all that tell a value, at most j, have
//! their places before `head` moves to it, and those that tell the next one after that. `deq` that finds nothing: where it reads that h
//! has no next node.
//!
//! **Progress.** Lock-free: `deq` goes round again only where j others have asked for the value. **Cost.** O(1) without contention. Nodes are
//! freed as `grace.rs` says. Values are `Copy`, since a value is read by several threads and forgotten with its node.

use super::grace::{self, Domain};
use super::padded::Padded;
use super::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use super::sync::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;

/// A lock-free queue without a bound which tells each value at least once, and up to j times to threads that ask at the same time.
///
/// ```
/// let queue = trueline_objects::StutteringQueue::new(2);
/// queue.enq(1);
/// queue.enq(2);
/// // Nobody else asks, so that each is told once.
/// assert_eq!([queue.deq(), queue.deq(), queue.deq()], [Some(1), Some(2), None]);
/// ```
pub struct StutteringQueue<T> {
    j: usize,
    head: Padded<AtomicPtr<Node<T>>>,
    tail: Padded<AtomicPtr<Node<T>>>,
    domain: Domain<Node<T>>,
}

struct Node<T> {
    /// There but in the first node of all; not written again.
    value: UnsafeCell<MaybeUninit<T>>,
    /// How often the value was asked for.
    asked: AtomicUsize,
    next: AtomicPtr<Node<T>>,
}

// SAFETY: values are copied out by any thread, and nodes are freed by any.
unsafe impl<T: Send + Sync> Send for StutteringQueue<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for StutteringQueue<T> {}

impl<T> Node<T> {
    fn allocate(value: MaybeUninit<T>) -> *mut Node<T> {
        let (asked, next) = (AtomicUsize::new(0), AtomicPtr::new(ptr::null_mut()));
        Box::into_raw(Box::new(Node { value: UnsafeCell::new(value), asked, next }))
    }
}

impl<T: Copy> StutteringQueue<T> {
    /// An empty queue which tells a value up to j times.
    ///
    /// # Panics
    /// If j is 0.
    pub fn new(j: usize) -> StutteringQueue<T> {
        StutteringQueue::with_batch(j, grace::BATCH)
    }

    /// The same, in which a thread tries to free nodes after it has removed so many (64 if not told otherwise).
    ///
    /// # Panics
    /// If j is 0.
    pub fn with_batch(j: usize, batch: usize) -> StutteringQueue<T> {
        assert!(j > 0, "a value is told up to j times: j is at least 1");
        let dummy = Node::allocate(MaybeUninit::uninit());
        StutteringQueue {
            j,
            head: Padded(AtomicPtr::new(dummy)),
            tail: Padded(AtomicPtr::new(dummy)),
            domain: Domain::new(batch),
        }
    }

    /// How often a value may be told.
    pub fn j(&self) -> usize {
        self.j
    }

    /// Puts a value at the end.
    pub fn enq(&self, value: T) {
        let node = Node::allocate(MaybeUninit::new(value));
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
                    Err(last) => tail = self.advance_tail(tail, last),
                }
            }
        });
    }

    /// Tells the oldest value, which is gone then, but for up to j - 1 others that asked for it before; `None` where there is none.
    pub fn deq(&self) -> Option<T> {
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
                // SAFETY: `next` was in the list at a time since this operation began, so it is not freed before it ends.
                let node = unsafe { &*next };
                // AcqRel: who counts later sees what this thread has seen.
                let asked = node.asked.fetch_add(1, Ordering::AcqRel);
                // Release: the next thread that reads `head` sees `next` as this one does.
                let (yes, no) = (Ordering::Release, Ordering::Acquire);
                let moved = self.head.compare_exchange(head, next, yes, no);
                if moved.is_ok() {
                    // SAFETY: `head` has passed the node, for good and by this thread alone, and `tail` was further.
                    unsafe { inside.retire(head) };
                }
                if asked < self.j {
                    // SAFETY: a node that is in the list and not the first of all has its value, which nobody writes.
                    return Some(node.value.with(|value| unsafe { (*value).assume_init() }));
                }
                head = match moved {
                    Ok(_) => next,
                    Err(found) => found,
                };
            }
        })
    }

    /// Moves `tail` on by one node, unless another thread has done so; yields where it is then, or was since.
    fn advance_tail(&self, from: *mut Node<T>, to: *mut Node<T>) -> *mut Node<T> {
        match self.tail.compare_exchange(from, to, Ordering::Release, Ordering::Acquire) {
            Ok(_) => to,
            Err(found) => found,
        }
    }
}

impl<T> Drop for StutteringQueue<T> {
    fn drop(&mut self) {
        let mut node = *self.head.get_mut();
        while !node.is_null() {
            // SAFETY: nobody else has the queue, and each node is in the list once. Values need no dropping: they are `Copy`.
            node = *unsafe { Box::from_raw(node) }.next.get_mut();
        }
    }
}

impl<T> std::fmt::Debug for StutteringQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StutteringQueue").field("j", &self.j).finish_non_exhaustive()
    }
}
