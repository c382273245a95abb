//! A stuttering queue: a queue whose first value may be told to up to j threads before it is gone,
//! so that threads which ask at the same time need not wait for each other.
//!
//! The type is that of J. M. Wing, C. Gong: Testing and verifying concurrent objects. JPDC 17,
//! 1993, section 8. The algorithm is not theirs, which lets a `deq` skip a value that was never
//! told (`models/wing-gong-stuttering-queue.tl`). It is Michael and Scott's queue (PODC 1996) with
//! a counter in each node, of how often its value was asked for: `deq` counts itself in, moves
//! `head` on if nobody has, and **whether it or another did so** tells the value, unless j others
//! were before it.
//!
//! **Ordering argument.** Values are ordered by the links of their nodes, and `enq` adds a maximal
//! one. `deq` reads `head` when it is some node h, and tells the value of the node behind it, which
//! is the minimal one until `head` moves on from h. It moves only after it was told, or counted, at
//! least once.
//!
//! **Linearization.** `enq` where it links its node. `deq` where it counts itself in, if `head` has
//! not moved on from h by then; if it has, just before it did, which lies inside of this operation,
//! for it had read h before. So all that tell a value, at most j, have their places before `head`
//! moves to it, and those that tell the next one after that. `deq` that finds nothing: where it
//! reads that h has no next node.
//!
//! **Progress.** Lock-free: `deq` goes round again only where j others have asked for the value.
//! **Cost.** O(1) without contention. The list is that of `lagging_list.rs`. Values are `Copy`,
//! since a value is read by several threads and forgotten with its node.

use super::grace;
use super::lagging_list::{LaggingList, Node};
use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// A lock-free queue without a bound which tells each value at least once, and up to j times to
/// threads that ask at the same time.
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
    list: LaggingList<Told<T>>,
}

/// What is in a node.
struct Told<T> {
    /// There but in the first node of all; not written again.
    value: UnsafeCell<MaybeUninit<T>>,
    /// How often the value was asked for.
    asked: AtomicUsize,
}

// SAFETY: values are copied out by any thread, and nodes are freed by any.
unsafe impl<T: Send + Sync> Send for StutteringQueue<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for StutteringQueue<T> {}

impl<T> Told<T> {
    fn new(value: MaybeUninit<T>) -> Told<T> {
        Told { value: UnsafeCell::new(value), asked: AtomicUsize::new(0) }
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

    /// The same, in which a thread tries to free nodes after it has removed so many (64 if not told
    /// otherwise).
    ///
    /// # Panics
    /// If j is 0.
    pub fn with_batch(j: usize, batch: usize) -> StutteringQueue<T> {
        assert!(j > 0, "a value is told up to j times: j is at least 1");
        let dummy = Told::new(MaybeUninit::uninit());
        StutteringQueue { j, list: LaggingList::new(dummy, batch) }
    }

    /// How often a value may be told.
    pub fn j(&self) -> usize {
        self.j
    }

    /// Frees what was removed and can be freed now, by this thread and by threads that have ended,
    /// which else happens after some more operations.
    pub fn flush(&self) {
        self.list.flush();
    }

    /// Puts a value at the end.
    pub fn enq(&self, value: T) {
        self.list.append(Node::allocate(Told::new(MaybeUninit::new(value))));
    }

    /// Tells the oldest value, which is gone then, but for up to j - 1 others that asked for it
    /// before; `None` where there is none.
    pub fn deq(&self) -> Option<T> {
        self.list.enter(|inside| {
            let mut head = self.list.head();
            loop {
                // SAFETY: `head` was the first node at a time since this operation began, so it is
                // not freed before it ends.
                let next = unsafe { self.list.second(head) }?;
                // SAFETY: `next` was in the list at a time since this operation began, so it is not
                // freed before it ends.
                let told = unsafe { &(*next).content };
                // AcqRel: who counts later sees what this thread has seen.
                let asked = told.asked.fetch_add(1, Ordering::AcqRel);
                let moved = self.list.advance_head(head, next);
                if moved.is_ok() {
                    // SAFETY: `head` has passed the node, for good and by this thread alone, and
                    // `tail` was further.
                    unsafe { inside.retire(head) };
                }
                if asked < self.j {
                    // SAFETY: a node that is in the list and not the first of all has its value,
                    // which nobody writes.
                    return Some(told.value.with(|value| unsafe { (*value).assume_init() }));
                }
                head = match moved {
                    Ok(()) => next,
                    Err(found) => found,
                };
            }
        })
    }
}

impl<T> StutteringQueue<T> {
    /// How many values there are. O(n), and it starts over where one is taken meanwhile.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.list.has_one()
    }
}

impl<T> Drop for StutteringQueue<T> {
    fn drop(&mut self) {
        // Values need no dropping: they are `Copy`.
        self.list.drain(|_| {});
    }
}

impl<T> std::fmt::Debug for StutteringQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StutteringQueue").field("j", &self.j).finish_non_exhaustive()
    }
}
