//! Treiber's stack: a list whose head is replaced by compare-exchange.
//!
//! R. K. Treiber: Systems programming: coping with parallelism. IBM Research Report RJ 5118, 1986.
//!
//! **Linearization.** `push` at its successful compare-exchange; `pop` at its successful
//! compare-exchange, or at the read of a null head. A removed node is not reused before every
//! operation that was pending then has ended (`grace.rs`). So if the head is the same again, it has
//! been the same all the time: there is no ABA.
//!
//! `is_empty` and `len` at their read of the head: the nodes below it do not change.
//!
//! **`push` is not inside of the domain**, since it follows no pointer. The head that it has read
//! may be a node that is popped, freed, and pushed again by another thread with memory at the same
//! address before the compare-exchange. The compare-exchange then succeeds, correctly, because that
//! node is on top. But the pointer that was read belongs to the freed memory, although it has the
//! same address. So nodes are linked by addresses alone, with the provenance of the memory that is
//! there when a `pop` follows them: each node exposes its own before it is in the list, which costs
//! nothing. The orderings suffice: the head is written only by read-modify-writes, so that a thread
//! that reads it sees what every earlier `push` did.
//!
//! **Progress.** Lock-free: a compare-exchange fails only because another one succeeded. Cost: O(1)
//! without contention.

use super::grace::{self, Domain, Inside};
use super::sync::Backoff;
use super::sync::atomic::{AtomicPtr, Ordering};
use super::sync::cell::UnsafeCell;
use super::to_the_end::to_the_end;
use std::mem::ManuallyDrop;
use std::ptr;

/// A lock-free stack.
///
/// ```
/// let stack = trueline_objects::TreiberStack::new();
/// stack.push("below");
/// stack.push("above");
/// assert_eq!(stack.pop(), Some("above"));
/// ```
pub struct TreiberStack<T> {
    head: AtomicPtr<Node<T>>,
    domain: Domain<Node<T>>,
}

struct Node<T> {
    /// Moved out by the thread that takes the node off.
    value: UnsafeCell<ManuallyDrop<T>>,
    /// The address of the node below, 0 if there is none. Written only before the node is in the
    /// list.
    next: UnsafeCell<usize>,
}

// SAFETY: values move from the pushing thread to the one that pops or drops; no two threads have a
// value at the same time.
unsafe impl<T: Send> Send for TreiberStack<T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<T: Send> Sync for TreiberStack<T> {}
// SAFETY: any thread may free a node, and does not access a value that is still in it.
unsafe impl<T: Send> Send for Node<T> {}

impl<T> TreiberStack<T> {
    /// An empty stack.
    pub const fn new() -> TreiberStack<T> {
        TreiberStack::with_batch(grace::BATCH)
    }

    /// An empty stack in which a thread tries to free nodes after it has popped this many (default:
    /// 64).
    pub const fn with_batch(batch: usize) -> TreiberStack<T> {
        TreiberStack { head: AtomicPtr::new(ptr::null_mut()), domain: Domain::with_spare(batch) }
    }

    /// Frees removed nodes of this thread and of threads that have ended, as far as possible now.
    /// Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.domain.flush();
    }

    /// Puts a value on top.
    pub fn push(&self, value: T) {
        let value = UnsafeCell::new(ManuallyDrop::new(value));
        let node = self.domain.allocate(Node { value, next: UnsafeCell::new(0) });
        node.expose_provenance();
        let mut head = self.head.load(Ordering::Relaxed);
        let backoff = Backoff::patient();
        loop {
            // SAFETY: the node is this thread's own until it is in the list.
            unsafe { (*node).next.with_mut(|next| *next = head.addr()) };
            // Release: a thread that reads the head sees the content of the node. It also sees the
            // nodes below, since each compare-exchange continues the release sequences of those
            // before it.
            let (yes, no) = (Ordering::Release, Ordering::Relaxed);
            match self.head.compare_exchange_weak(head, node, yes, no) {
                Ok(_) => return,
                Err(found) => head = found,
            }
            backoff.wait();
        }
    }

    /// Removes the top value; `None` if there is none.
    pub fn pop(&self) -> Option<T> {
        let backoff = Backoff::patient();
        loop {
            match self.domain.enter(|inside| self.try_pop(inside)) {
                Ok(value) => return value,
                // A thread waits outside of the operation. Inside it would keep other threads from
                // freeing the nodes that they remove meanwhile, and so from reusing that memory.
                Err(Overtaken) => backoff.wait(),
            }
        }
    }

    fn try_pop(&self, inside: &Inside<'_, Node<T>>) -> Result<Option<T>, Overtaken> {
        let head = self.head.load(Ordering::Acquire);
        if head.is_null() {
            return Ok(None);
        }
        // SAFETY: the node was in the list since this operation began, so it is not freed before it
        // ends.
        let next = unsafe { (*head).next.with(|next| *next) };
        let next = ptr::with_exposed_provenance_mut(next);
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        // Not the weak one: leaving and entering again costs more than it saves.
        let swapped = self.head.compare_exchange(head, next, yes, no);
        swapped.map_err(|_| Overtaken)?;
        // SAFETY: only this thread has removed the node, so the value is its own, and is not read
        // again.
        let value = unsafe { (*head).value.with(|value| ptr::read(value)) };
        // SAFETY: the node is off the list, for good and by this thread alone.
        unsafe { inside.retire(head) };
        Ok(Some(ManuallyDrop::into_inner(value)))
    }
}

/// Another thread was quicker.
struct Overtaken;

impl<T> TreiberStack<T> {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.head.load(Ordering::Acquire).is_null()
    }

    /// The number of values when it read the top: the nodes below do not change while the top is
    /// there. O(n).
    pub fn len(&self) -> usize {
        self.domain.enter(|_| {
            let (mut node, mut count) = (self.head.load(Ordering::Acquire), 0);
            while !node.is_null() {
                count += 1;
                // SAFETY: the node was in the list since this operation began, so it is not freed
                // before it ends.
                let next = unsafe { (*node).next.with(|next| *next) };
                node = ptr::with_exposed_provenance_mut(next);
            }
            count
        })
    }
}

impl<T> Default for TreiberStack<T> {
    fn default() -> TreiberStack<T> {
        TreiberStack::new()
    }
}

impl<T> Drop for TreiberStack<T> {
    fn drop(&mut self) {
        let mut head = *self.head.get_mut();
        to_the_end(|| {
            if head.is_null() {
                return false;
            }
            // SAFETY: the stack is exclusively owned, and each node is in the list once.
            let Node { value, next } = *unsafe { Box::from_raw(head) };
            head = ptr::with_exposed_provenance_mut(next.into_inner());
            drop(ManuallyDrop::into_inner(value.into_inner()));
            true
        });
    }
}

impl<T> std::fmt::Debug for TreiberStack<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreiberStack").finish_non_exhaustive()
    }
}
