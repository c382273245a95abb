//! Michael and Scott's queue: a list with a pointer to each end, where threads help a lagging tail.
//!
//! M. M. Michael, M. L. Scott: Simple, fast, and practical non-blocking and blocking concurrent
//! queue algorithms. PODC 1996.
//!
//! The list is that of `lagging_list.rs`. Its first node is a dummy: its value was removed or never
//! existed.
//!
//! **Linearization.** `enq` where it links its node to the last one; `deq` where it moves `head`
//! on, or, if it finds nothing, where it reads that the first node has no next one. `is_empty`
//! where it reads whether the first node has a next one, if `head` is still there then, otherwise
//! where `head` moved on; `len` where it finds the last node, if `head` has not moved since it
//! began to count.
//!
//! **Progress.** Lock-free. Cost: O(1) without contention.

use super::grace::{self, Inside};
use super::lagging_list::{LaggingList, Node};
use super::sync::Backoff;
use super::sync::cell::UnsafeCell;
use std::mem::{self, MaybeUninit};
use std::ptr;

/// A lock-free unbounded queue.
///
/// ```
/// let queue = trueline_objects::MichaelScottQueue::new();
/// queue.enq("first");
/// queue.enq("second");
/// assert_eq!(queue.deq(), Some("first"));
/// ```
pub struct MichaelScottQueue<T> {
    list: LaggingList<Value<T>>,
}

/// There from the time the node is in the list until it becomes the dummy.
type Value<T> = UnsafeCell<MaybeUninit<T>>;

// SAFETY: values move from the enqueuing thread to the one that dequeues or drops; no two threads
// have a value at the same time.
unsafe impl<T: Send> Send for MichaelScottQueue<T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<T: Send> Sync for MichaelScottQueue<T> {}

impl<T> MichaelScottQueue<T> {
    /// An empty queue.
    pub fn new() -> MichaelScottQueue<T> {
        MichaelScottQueue::with_batch(grace::BATCH)
    }

    /// An empty queue in which a thread tries to free nodes after it has dequeued this many values
    /// (default: 64).
    pub fn with_batch(batch: usize) -> MichaelScottQueue<T> {
        let dummy = UnsafeCell::new(MaybeUninit::uninit());
        MichaelScottQueue { list: LaggingList::with_spare(dummy, batch) }
    }

    /// Frees removed nodes of this thread and of threads that have ended, as far as possible now.
    /// Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.list.flush();
    }

    /// Puts a value at the end.
    pub fn enq(&self, value: T) {
        let node = self.list.allocate(UnsafeCell::new(MaybeUninit::new(value)));
        self.list.append(node);
    }

    /// Removes the oldest value; `None` if there is none.
    pub fn deq(&self) -> Option<T> {
        let backoff = Backoff::patient();
        loop {
            match self.list.enter(|inside| self.try_deq(inside)) {
                Ok(value) => return value,
                Err(Overtaken) => backoff.wait(),
            }
        }
    }

    fn try_deq(&self, inside: &Inside<'_, Node<Value<T>>>) -> Result<Option<T>, Overtaken> {
        let head = self.list.head();
        // SAFETY: `head` was the first node at a time since this operation began, so it is not
        // freed before it ends.
        let Some(next) = (unsafe { self.list.second(head) }) else { return Ok(None) };
        // Success also means that `head` was the first node when `tail` was seen further ahead.
        self.list.advance_head(head, next).map_err(|_| Overtaken)?;
        // SAFETY: exactly one thread makes this node the dummy, so the value is its own. The node
        // is not freed before `head` passes it and this operation has ended.
        let value = unsafe { (*next).content.with(|value| ptr::read(value)) };
        // SAFETY: this thread alone moved `head` past the node, for good, and `tail` was further
        // ahead.
        unsafe { inside.retire(head) };
        // SAFETY: a node that is in the list and not the dummy has its value.
        Ok(Some(unsafe { value.assume_init() }))
    }
}

/// Another thread was quicker.
struct Overtaken;

impl<T> MichaelScottQueue<T> {
    /// The number of values. O(n); it starts over if a value is removed meanwhile.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.list.has_one()
    }
}

impl<T> Default for MichaelScottQueue<T> {
    fn default() -> MichaelScottQueue<T> {
        MichaelScottQueue::new()
    }
}

impl<T> Drop for MichaelScottQueue<T> {
    fn drop(&mut self) {
        let mut is_dummy = true;
        self.list.drain(|value| {
            if !mem::replace(&mut is_dummy, false) {
                // SAFETY: a node that is in the list and not the dummy has its value.
                unsafe { value.get_mut().assume_init_drop() };
            }
        });
    }
}

impl<T> std::fmt::Debug for MichaelScottQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MichaelScottQueue").finish_non_exhaustive()
    }
}
