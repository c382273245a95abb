//! A stuttering queue: a queue that may return its first value to up to j threads before the value
//! is removed, so that concurrent `deq`s need not wait for each other.
//!
//! The type is that of J. M. Wing, C. Gong: Testing and verifying concurrent objects. JPDC 17,
//! 1993, section 8. The algorithm is not theirs, which lets a `deq` skip a value that was never
//! returned (`models/wing-gong-stuttering-queue.tl`). It is Michael and Scott's queue (PODC 1996)
//! with a counter in each node of how often its value was requested. `deq` increments the counter
//! and moves `head` on unless another thread has. **Whichever thread moved it**, `deq` returns the
//! value, unless j others were before it.
//!
//! **Ordering argument.** Values are ordered by the links of their nodes, and `enq` adds a maximal
//! one. `deq` reads `head` at some node h, and returns the value of the next node, which is the
//! minimal one until `head` moves on from h. `head` moves only after the value was returned, or
//! counted, at least once.
//!
//! **Linearization.** `enq` where it links its node. `deq` where it increments the counter, if
//! `head` has not moved on from h by then; otherwise just before `head` moved, which lies within
//! this operation, because it had read h before. So all that return a value, at most j, have their
//! points before `head` moves to it, and those that return the next one after that. A `deq` that
//! finds nothing: where it reads that h has no next node.
//!
//! **Progress.** Lock-free: `deq` repeats only if j others have requested the value. **Cost.** O(1)
//! without contention. The list is that of `lagging_list.rs`. Values are `Copy`, since several
//! threads read a value, and it is dropped with its node.

use super::grace;
use super::lagging_list::{LaggingList, Node};
use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// A lock-free unbounded queue that returns each value at least once, and up to j times to
/// concurrent `deq`s.
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
    list: LaggingList<Item<T>>,
}

/// The content of a node.
struct Item<T> {
    /// There but in the first node of all; not written again.
    value: UnsafeCell<MaybeUninit<T>>,
    /// How often the value was requested.
    requests: AtomicUsize,
}

// SAFETY: values are copied out by any thread, and nodes are freed by any.
unsafe impl<T: Send + Sync> Send for StutteringQueue<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for StutteringQueue<T> {}

impl<T> Item<T> {
    fn new(value: MaybeUninit<T>) -> Item<T> {
        Item { value: UnsafeCell::new(value), requests: AtomicUsize::new(0) }
    }
}

impl<T: Copy> StutteringQueue<T> {
    /// An empty queue that returns a value up to j times.
    ///
    /// # Panics
    /// If j is 0.
    pub fn new(j: usize) -> StutteringQueue<T> {
        StutteringQueue::with_batch(j, grace::BATCH)
    }

    /// The same, in which a thread tries to free nodes after it has removed this many (default:
    /// 64).
    ///
    /// # Panics
    /// If j is 0.
    pub fn with_batch(j: usize, batch: usize) -> StutteringQueue<T> {
        assert!(j > 0, "a value is item up to j times: j is at least 1");
        let dummy = Item::new(MaybeUninit::uninit());
        StutteringQueue { j, list: LaggingList::new(dummy, batch) }
    }

    /// How often a value may be returned.
    pub fn j(&self) -> usize {
        self.j
    }

    /// Frees removed nodes of this thread and of threads that have ended, as far as possible now.
    /// Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.list.flush();
    }

    /// Puts a value at the end.
    pub fn enq(&self, value: T) {
        self.list.append(Node::allocate(Item::new(MaybeUninit::new(value))));
    }

    /// Returns the oldest value and removes it, although up to j - 1 others that requested it
    /// before may still return it; `None` if there is none.
    pub fn deq(&self) -> Option<T> {
        self.list.enter(|inside| {
            let mut head = self.list.head();
            loop {
                // SAFETY: `head` was the first node at a time since this operation began, so it is
                // not freed before it ends.
                let next = unsafe { self.list.second(head) }?;
                // SAFETY: `next` was in the list at a time since this operation began, so it is not
                // freed before it ends.
                let item = unsafe { &(*next).content };
                // AcqRel: a thread that counts later sees what this thread has seen.
                let requests = item.requests.fetch_add(1, Ordering::AcqRel);
                let moved = self.list.advance_head(head, next);
                if moved.is_ok() {
                    // SAFETY: this thread alone moved `head` past the node, for good, and `tail`
                    // was further ahead.
                    unsafe { inside.retire(head) };
                }
                if requests < self.j {
                    // SAFETY: every node in the list except the first has its value, which is not
                    // written.
                    return Some(item.value.with(|value| unsafe { (*value).assume_init() }));
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
    /// The number of values. O(n); it starts over if one is removed meanwhile.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether it is empty.
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
