//! A semiqueue: a queue whose `deq` takes one of the first k values, so that removing threads need
//! not contend for one place.
//!
//! The type is that of J. M. Wing, C. Gong: Testing and verifying concurrent objects. JPDC 17,
//! 1993, section 7. The algorithm is the segmented queue of Y. Afek, G. Korland, E. Yanovsky:
//! Quasi-linearizability. OPODIS 2010, except that this one detects emptiness correctly and frees
//! unused memory: a list of segments of k cells. `enq` fills the first free cell of the last
//! segment; `deq` takes any value of the first one, each thread starting at another cell.
//!
//! A cell is free, then contains a value, then is taken for good. **Invariants:** the cells of a
//! segment are filled in ascending order, since a thread fills a cell only after it has seen the
//! earlier ones filled; a segment gets a next one only when all its cells are filled; `head` leaves
//! a segment when all its cells are taken, and not while `tail` is there.
//!
//! **Ordering argument.** Let x <_r y if the cell of x was filled before that of y: a total order,
//! and `enq` adds a value that is maximal. All values of a segment come before those of the next
//! one, and the first segment never contains more than k: so `deq` takes one of the k minimal
//! values.
//!
//! **Linearization.** `enq` where it fills its cell, or links a segment that has its value in the
//! first cell. `deq` where it takes a cell; if it finds nothing, where a second pass, in ascending
//! order, reads that the first cell that is not taken is free (then all cells after it are free),
//! or, if all are taken, that there is no next segment. One pass is not enough: meanwhile a value
//! may be put into a cell that the pass has left behind, and another may be removed from a cell
//! before the pass gets there.
//!
//! **Progress.** Lock-free. **Cost.** O(k) without contention, and one allocation for each value.
//! The list is that of `lagging_list.rs`.

use super::grace;
use super::lagging_list::{LaggingList, Node};
use super::sync::atomic::{AtomicPtr, Ordering};
use super::sync::with_thread_index;
use super::to_the_end::for_each_to_the_end;
use std::ptr;

/// A lock-free unbounded queue whose `deq` takes one of the first k values.
///
/// ```
/// let queue = trueline_objects::Semiqueue::new(2);
/// queue.enq("first");
/// queue.enq("second");
/// let (one, other) = (queue.deq().unwrap(), queue.deq().unwrap());
/// assert!((one, other) == ("first", "second") || (one, other) == ("second", "first"));
/// assert_eq!(queue.deq(), None);
/// ```
pub struct Semiqueue<T> {
    k: usize,
    list: LaggingList<Segment<T>>,
}

struct Segment<T> {
    /// Null while it is free; [`taken`] after its value was removed; otherwise an owned value.
    cells: Box<[AtomicPtr<T>]>,
}

// SAFETY: values move from the enqueuing thread to the one that dequeues or drops; no two threads
// have a value at the same time.
unsafe impl<T: Send> Send for Semiqueue<T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<T: Send> Sync for Semiqueue<T> {}

/// The content of a cell whose value was removed: not the address of any box, even of a zero-sized
/// one.
fn taken<T>() -> *mut T {
    ptr::without_provenance_mut(usize::MAX)
}

impl<T> Segment<T> {
    /// A segment with this in its first cell.
    fn new(k: usize, first: *mut T) -> Segment<T> {
        let pointers = std::iter::once(first).chain(std::iter::repeat_n(ptr::null_mut(), k - 1));
        Segment { cells: pointers.map(AtomicPtr::new).collect() }
    }

    /// Stores a value in the first free cell; returns false if there is none.
    fn fill(&self, value: *mut T) -> bool {
        // Acquire: a cell is filled only after the earlier ones were seen filled, and a thread that
        // sees this one filled sees those, too.
        self.cells.iter().any(|cell| {
            let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
            cell.load(Ordering::Acquire).is_null()
                && cell.compare_exchange(ptr::null_mut(), value, yes, no).is_ok()
        })
    }

    /// Takes a value out of any cell, this one first.
    fn take(&self, start: usize) -> Option<T> {
        let (before, from) = self.cells.split_at(start);
        from.iter().chain(before).find_map(|cell| {
            let value = cell.load(Ordering::Acquire);
            if value.is_null() || value == taken() {
                return None;
            }
            let (yes, no) = (Ordering::AcqRel, Ordering::Relaxed);
            cell.compare_exchange(value, taken(), yes, no).ok()?;
            // SAFETY: the thread that takes a cell has its value exclusively; it came from
            // `Box::into_raw`.
            Some(*unsafe { Box::from_raw(value) })
        })
    }

    /// The content of the first cell that is not taken; `None` if all are.
    fn first(&self) -> Option<*mut T> {
        self.cells.iter().map(|cell| cell.load(Ordering::Acquire)).find(|value| *value != taken())
    }
}

impl<T> Semiqueue<T> {
    /// An empty semiqueue whose `deq` takes one of the first k values.
    ///
    /// # Panics
    /// If k is 0.
    pub fn new(k: usize) -> Semiqueue<T> {
        Semiqueue::with_batch(k, grace::BATCH)
    }

    /// The same, in which a thread tries to free segments after it has passed this many (default:
    /// 64).
    ///
    /// # Panics
    /// If k is 0.
    pub fn with_batch(k: usize, batch: usize) -> Semiqueue<T> {
        assert!(k > 0, "one of the first k values is taken: k is at least 1");
        let segment = Segment::new(k, ptr::null_mut());
        Semiqueue { k, list: LaggingList::new(segment, batch) }
    }

    /// How far out of order values may be taken.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Frees removed segments of this thread and of threads that have ended, as far as possible
    /// now. Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.list.flush();
    }

    /// Puts a value at the end.
    pub fn enq(&self, value: T) {
        let value = Box::into_raw(Box::new(value));
        self.list.enter(|_| {
            let mut tail = self.list.tail();
            loop {
                // SAFETY: `tail` was in the list since this operation began, so it is not freed
                // before it ends.
                let node = unsafe { &*tail };
                if node.content.fill(value) {
                    return;
                }
                let mut next = node.next();
                if next.is_null() {
                    let new = Node::allocate(Segment::new(self.k, value));
                    // SAFETY: `tail` is not freed, as above.
                    match unsafe { self.list.link(tail, new) } {
                        Ok(()) => return,
                        Err(other) => {
                            // SAFETY: no other thread has seen the segment; dropping it does not
                            // drop the value.
                            drop(unsafe { Box::from_raw(new) });
                            next = other;
                        }
                    }
                }
                tail = self.list.advance_tail(tail, next);
            }
        });
    }

    /// Removes one of the first k values; `None` if there is none.
    pub fn deq(&self) -> Option<T> {
        let start = with_thread_index(|index| index % self.k);
        self.list.enter(|inside| {
            let mut head = self.list.head();
            loop {
                // SAFETY: `head` was in the list since this operation began, so it is not freed
                // before it ends.
                let segment = unsafe { &(*head).content };
                if let Some(value) = segment.take(start) {
                    return Some(value);
                }
                match segment.first() {
                    Some(value) if value.is_null() => return None,
                    // It came in meanwhile.
                    Some(_) => continue,
                    None => {}
                }
                // SAFETY: `head` was the first node at a time since this operation began.
                head = unsafe { self.list.leave(inside, head) }?;
            }
        })
    }
}

impl<T> Semiqueue<T> {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.list.enter(|_| {
            let mut next = self.list.head();
            // SAFETY: here and below: the node was in the list since this operation began, so it is
            // not freed before it ends.
            while let Some(node) = unsafe { next.as_ref() } {
                if let Some(value) = node.content.first() {
                    // Cells are filled in order: if this one is free, so are those after it.
                    return value.is_null();
                }
                next = node.next();
            }
            true
        })
    }

    /// The number of values. O(n); it starts over if values are inserted or removed meanwhile.
    pub fn len(&self) -> usize {
        self.list.enter(|_| {
            let mut before = None;
            loop {
                // A cell is free, then filled, then taken. So if the numbers of filled and of taken
                // cells are those of the last pass, each cell was the same in between.
                let (mut next, mut filled, mut taken_out) = (self.list.head(), 0, 0);
                let first = next;
                // SAFETY: as above.
                while let Some(node) = unsafe { next.as_ref() } {
                    for cell in &node.content.cells {
                        let value = cell.load(Ordering::Acquire);
                        filled += usize::from(!value.is_null());
                        taken_out += usize::from(value == taken());
                    }
                    next = node.next();
                }
                if before.replace((first, filled, taken_out)) == Some((first, filled, taken_out)) {
                    return filled - taken_out;
                }
            }
        })
    }
}

impl<T> Drop for Semiqueue<T> {
    fn drop(&mut self) {
        self.list.drain(|segment| {
            for_each_to_the_end(&mut segment.cells, |cell| {
                let value = *cell.get_mut();
                if !value.is_null() && value != taken() {
                    // SAFETY: the value is only in this cell; it came from `Box::into_raw`.
                    drop(unsafe { Box::from_raw(value) });
                }
            });
        });
    }
}

impl<T> std::fmt::Debug for Semiqueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Semiqueue").field("k", &self.k).finish_non_exhaustive()
    }
}
