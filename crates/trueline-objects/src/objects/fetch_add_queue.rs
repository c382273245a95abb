//! A queue in segments whose cells are assigned by fetch-and-add: the fastest one for many threads.
//!
//! A. Morrison, Y. Afek: Fast concurrent queues for x86 processors. PPoPP 2013, use fetch-and-add
//! instead of compare-exchange loops, so that no thread's step fails because another thread was
//! faster; P. Ramalhete and A. Correia (FAAArrayQueue, 2016) do so in a list of plain arrays. Here
//! values are stored in the cells: operations allocate nothing except an occasional segment.
//!
//! A segment counts its enqueuers and its dequeuers; each gets the cell with its number. `enq`
//! writes its value into the cell and marks it full; `deq` marks its cell as done and has the value
//! if the cell was full. If the `deq` was first, the `enq` takes its value back and continues with
//! the next number, and so does the `deq`. **Invariants:** a cell is empty, then full or not, then
//! done for good; no two enqueuers and no two dequeuers have the same cell; `head` leaves a segment
//! when all its cells were assigned to dequeuers, and not while `tail` is there.
//!
//! **Ordering argument.** Let x <_r y if the number of x's cell is below that of y's, with segments
//! in the order of their links. An `enq` that ended before another began has the lower number.
//! `deq` takes cells in ascending order: a cell that it leaves behind is done, or another `deq` has
//! it, which is pending and can take effect first. **Linearization.** There are no fixed
//! linearization points: a later `deq` may decide which of two concurrently enqueued values is
//! first, as in Herlihy and Wing's queue. `deq` finds nothing where it reads that as many enqueuers
//! as dequeuers had come by then, or that all cells are assigned and there is no next segment.
//!
//! A number is first requested by a compare-exchange that lets faster threads pass, and finally by
//! a fetch-and-add (`sync.rs`). A `deq` waits a little for an `enq` with the same cell. Neither
//! matters for correctness; both affect how often threads wait for a cache line.
//!
//! **Progress.** Lock-free: an `enq` and a `deq` can make each other fail at most as often as a
//! segment has cells; then the `enq` links a segment that contains its value. **Cost.** O(1)
//! without contention. The list of segments is that of `lagging_list.rs`.

use super::lagging_list::{LaggingList, Node};
use super::padded::Padded;
use super::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use super::sync::cell::UnsafeCell;
use super::sync::{Backoff, await_a_while, take_number};
use super::to_the_end::for_each_to_the_end;
use std::mem::MaybeUninit;
use std::ptr;

/// Default number of cells in a segment.
const CELLS: usize = 128;

/// Segments that a thread passes before it tries to free some: each has many cells.
const BATCH: usize = 4;

/// A lock-free queue without a bound.
///
/// ```
/// let queue = trueline_objects::FetchAddQueue::new();
/// queue.enq("first");
/// queue.enq("second");
/// assert_eq!(queue.deq(), Some("first"));
/// ```
pub struct FetchAddQueue<T> {
    list: LaggingList<Segment<T>>,
    cells: usize,
}

struct Segment<T> {
    /// How many enqueuers have requested a cell.
    enqueuers: Padded<AtomicUsize>,
    /// How many dequeuers have.
    dequeuers: Padded<AtomicUsize>,
    cells: Box<[Cell<T>]>,
}

struct Cell<T> {
    state: AtomicU8,
    /// The enqueuer's own until it is full; then there for the dequeuer.
    value: UnsafeCell<MaybeUninit<T>>,
}

const EMPTY: u8 = 0;
const FULL: u8 = 1;
const DONE: u8 = 2;

// SAFETY: values move from the enqueuing thread to the one that dequeues or drops; no two threads
// have a value at the same time.
unsafe impl<T: Send> Send for FetchAddQueue<T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<T: Send> Sync for FetchAddQueue<T> {}

impl<T> Segment<T> {
    fn new(cells: usize) -> Segment<T> {
        let cell =
            |_| Cell { state: AtomicU8::new(EMPTY), value: UnsafeCell::new(MaybeUninit::uninit()) };
        Segment {
            enqueuers: Padded(AtomicUsize::new(0)),
            dequeuers: Padded(AtomicUsize::new(0)),
            cells: (0..cells).map(cell).collect(),
        }
    }

    /// A segment with a value in the first cell.
    fn with_first(cells: usize, value: T) -> Segment<T> {
        let mut segment = Segment::new(cells);
        *segment.enqueuers.get_mut() = 1;
        let first = &mut segment.cells[0];
        *first.state.get_mut() = FULL;
        first.value.get_mut().write(value);
        segment
    }
}

impl<T> Cell<T> {
    /// Stores the value; returns it if the dequeuer was first.
    ///
    /// # Safety
    /// The caller is the only enqueuer of this cell.
    #[inline]
    unsafe fn fill(&self, value: T) -> Result<(), T> {
        // SAFETY: until the cell is full, no other thread accesses the value.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        // Release: the dequeuer sees the value.
        let (yes, no) = (Ordering::Release, Ordering::Relaxed);
        match self.state.compare_exchange(EMPTY, FULL, yes, no) {
            Ok(_) => Ok(()),
            // SAFETY: the dequeuer found the cell empty and does not access the value, which was
            // just written.
            Err(_) => Err(self.value.with(|place| unsafe { ptr::read(place).assume_init() })),
        }
    }

    /// Takes the value; `None` if the enqueuer has not come yet. It then goes to another cell.
    ///
    /// # Safety
    /// The caller is the only dequeuer of this cell.
    #[inline]
    unsafe fn take(&self) -> Option<T> {
        // Acquire, here and below: see `fill`.
        let is_full = || self.state.load(Ordering::Acquire) == FULL;
        await_a_while(is_full);
        let full = if is_full() {
            // The enqueuer is done and no other thread writes the state, so a store is enough.
            self.state.store(DONE, Ordering::Relaxed);
            true
        } else {
            self.state.swap(DONE, Ordering::Acquire) == FULL
        };
        // SAFETY: a full cell has a value, which is the dequeuer's alone.
        full.then(|| self.value.with(|place| unsafe { ptr::read(place).assume_init() }))
    }
}

impl<T> FetchAddQueue<T> {
    /// An empty queue.
    pub fn new() -> FetchAddQueue<T> {
        FetchAddQueue::with_segments_of(CELLS)
    }

    /// An empty queue with this many cells in a segment (default: 128).
    ///
    /// # Panics
    /// If the number is 0.
    pub fn with_segments_of(cells: usize) -> FetchAddQueue<T> {
        assert!(cells > 0, "a segment has a cell at least");
        FetchAddQueue { list: LaggingList::new(Segment::new(cells), BATCH), cells }
    }

    /// Frees removed segments of this thread and of threads that have ended, as far as possible
    /// now. Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.list.flush();
    }

    /// Puts a value at the end.
    pub fn enq(&self, mut value: T) {
        let backoff = Backoff::default();
        self.list.enter(|_| {
            let mut tail = self.list.tail();
            loop {
                // SAFETY: `tail` was in the list since this operation began, so it is not freed
                // before it ends.
                let node = unsafe { &*tail };
                let segment = &node.content;
                let number = take_number(&segment.enqueuers);
                if let Some(cell) = segment.cells.get(number) {
                    // SAFETY: no other enqueuer has this number.
                    match unsafe { cell.fill(value) } {
                        Ok(()) => return,
                        Err(back) => value = back,
                    }
                    backoff.wait();
                    continue;
                }
                let mut next = node.next();
                if next.is_null() {
                    let new = Node::allocate(Segment::with_first(self.cells, value));
                    // SAFETY: `tail` is not freed, as above.
                    match unsafe { self.list.link(tail, new) } {
                        Ok(()) => return,
                        Err(other) => {
                            // SAFETY: no other thread has seen the segment, whose first cell has
                            // the value.
                            let mut new = unsafe { Box::from_raw(new) };
                            let first = std::mem::replace(
                                new.content.cells[0].value.get_mut(),
                                MaybeUninit::uninit(),
                            );
                            // SAFETY: as above.
                            value = unsafe { first.assume_init() };
                            next = other;
                        }
                    }
                }
                tail = self.list.advance_tail(tail, next);
            }
        });
    }

    /// Removes the oldest value; `None` if there is none.
    pub fn deq(&self) -> Option<T> {
        let backoff = Backoff::default();
        self.list.enter(|inside| {
            let mut head = self.list.head();
            loop {
                // SAFETY: `head` was in the list since this operation began, so it is not freed
                // before it ends.
                let node = unsafe { &*head };
                let segment = &node.content;
                // In this order: the number of dequeuers may grow, but not shrink.
                let dequeuers = segment.dequeuers.load(Ordering::SeqCst);
                if dequeuers >= segment.enqueuers.load(Ordering::SeqCst) && node.next().is_null() {
                    return None;
                }
                let number = take_number(&segment.dequeuers);
                if let Some(cell) = segment.cells.get(number) {
                    // SAFETY: no other dequeuer has this number.
                    if let Some(value) = unsafe { cell.take() } {
                        return Some(value);
                    }
                    backoff.wait();
                    continue;
                }
                // SAFETY: `head` was the first node at a time since this operation began.
                head = unsafe { self.list.leave(inside, head) }?;
            }
        })
    }
}

impl<T> FetchAddQueue<T> {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.count(1) == 0
    }

    /// The number of values. O(n).
    ///
    /// A pending `enq` or `deq` may or may not be counted, whatever other threads have observed: it
    /// is decided only later which of two values is first, and thereby whether the other one's
    /// `enq` is over. With no pending operation the result is exact.
    pub fn len(&self) -> usize {
        self.count(usize::MAX)
    }

    /// Counts the values that no dequeuer has requested, up to a number.
    ///
    /// As long as the number of dequeuers of the first segment with a cell for them does not
    /// change, nothing is removed, here or in later segments: cells only become full. So if a full
    /// cell was found, there was a value when they were counted again; and if none was, there was
    /// none when they were counted first.
    fn count(&self, most: usize) -> usize {
        self.list.enter(|_| {
            let mut first = self.list.head();
            loop {
                // SAFETY: here and below: the node was in the list since this operation began, so
                // it is not freed before it ends.
                let node = unsafe { &*first };
                let dequeuers = node.content.dequeuers.load(Ordering::SeqCst);
                if dequeuers >= self.cells {
                    first = node.next();
                    if first.is_null() {
                        return 0;
                    }
                    continue;
                }
                let is_full = |cell: &&Cell<T>| cell.state.load(Ordering::Acquire) == FULL;
                let mut count = node.content.cells[dequeuers..].iter().filter(is_full).count();
                let mut next = node.next();
                // SAFETY: as above, or the pointer is null.
                while let (true, Some(node)) = (count < most, unsafe { next.as_ref() }) {
                    count += node.content.cells.iter().filter(is_full).count();
                    next = node.next();
                }
                if node.content.dequeuers.load(Ordering::SeqCst) == dequeuers {
                    return count;
                }
            }
        })
    }
}

impl<T> Default for FetchAddQueue<T> {
    fn default() -> FetchAddQueue<T> {
        FetchAddQueue::new()
    }
}

impl<T> Drop for FetchAddQueue<T> {
    fn drop(&mut self) {
        self.list.drain(|segment| {
            for_each_to_the_end(&mut segment.cells, |cell| {
                if *cell.state.get_mut() == FULL {
                    // SAFETY: a full cell has a value, which no dequeuer has taken.
                    unsafe { cell.value.get_mut().assume_init_drop() };
                }
            });
        });
    }
}

impl<T> std::fmt::Debug for FetchAddQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FetchAddQueue").finish_non_exhaustive()
    }
}
