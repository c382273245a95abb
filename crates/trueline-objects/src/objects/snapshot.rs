//! An atomic snapshot: segments that are updated one by one and scanned at once.
//!
//! Y. Afek, H. Attiya, D. Dolev, E. Gafni, M. Merritt, N. Shavit: Atomic snapshots of shared
//! memory. J. ACM 40(4), 1993: the unbounded algorithm, for any number of writers of a segment. A
//! scan collects all segments until two consecutive collects are the same. Each update first makes
//! a scan and stores it beside its value, so that a scan which one thread disturbs repeatedly can
//! borrow that thread's.
//!
//! **Linearization.** `update` at its swap. A scan whose last two collects are the same: anywhere
//! between them. Each update creates a cell of its own, and a cell is not reused while a scan that
//! may have seen it is pending (`grace.rs`): a cell that is the same twice has been there all the
//! time. A scan that borrows: at the linearization point of the borrowed scan, which lies within
//! its own interval. If a thread is seen to have moved in collect `r`, its update was over when
//! collect `r` was. If it is seen to have moved in collect `r + 2` or later, that update wrote
//! after collect `r + 1` had begun, so it is another one, and began after the first. Two
//! consecutive collects do not suffice: the thread may have written two segments in the order
//! opposite to that of the reads.
//!
//! **Progress.** Wait-free for a fixed number of threads: each collect that differs shows a thread
//! that moved, and each thread can be seen to move in two of them before its scan is borrowed: at
//! most `2 * threads + 2` collects. **Cost.** O(segments) for each collect; an update allocates a
//! cell with as many values as there are segments.
//!
//! All accesses are sequentially consistent: with weaker ones, two scans could see two updates in
//! opposite orders.

use super::grace::{self, Domain, Inside};
use super::sync::atomic::{AtomicPtr, Ordering};
use super::sync::with_thread_index;

/// Segments that are updated one by one and scanned at once.
///
/// ```
/// let snapshot = trueline_objects::Snapshot::new(2, 0);
/// snapshot.update(1, 7);
/// assert_eq!(snapshot.scan(), [0, 7]);
/// ```
pub struct Snapshot<T> {
    segments: Box<[AtomicPtr<Cell<T>>]>,
    domain: Domain<Cell<T>>,
}

/// The cell of an update. Immutable.
struct Cell<T> {
    value: T,
    /// The update's scan; empty in the initial cells, which no thread is seen to have written.
    view: Box<[T]>,
    writer: usize,
}

// SAFETY: cells are shared and freed by any thread; their values are copied out.
unsafe impl<T: Send + Sync> Send for Snapshot<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Snapshot<T> {}

impl<T: Copy> Snapshot<T> {
    /// This many segments with the same initial value.
    pub fn new(segments: usize, initial: T) -> Snapshot<T> {
        let cell = || Cell { value: initial, view: Box::default(), writer: usize::MAX };
        let segments = (0..segments).map(|_| AtomicPtr::new(Box::into_raw(Box::new(cell()))));
        Snapshot { segments: segments.collect(), domain: Domain::new(grace::BATCH) }
    }

    /// Frees removed cells of this thread and of threads that have ended, as far as possible now.
    /// Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.domain.flush();
    }

    /// Writes a segment.
    ///
    /// # Panics
    /// If there is no such segment.
    pub fn update(&self, segment: usize, value: T) {
        let segment = &self.segments[segment];
        // The number belongs to this thread until the update is over, even if the thread is ending
        // and has borrowed it (`thread_index.rs`). If it were released earlier, another thread
        // could update under the same number meanwhile. A scan that sees both updates would take
        // them for consecutive ones of one thread and borrow the scan of the first, which may be
        // older than itself: the mutant `-shares-numbers`.
        with_thread_index(|writer| {
            self.domain.enter(|inside| {
                let view = self.scan_inside(inside).into();
                let cell = Box::into_raw(Box::new(Cell { value, view, writer }));
                let former = segment.swap(cell, Ordering::SeqCst);
                // SAFETY: the swap has removed the cell from the only place that contained it; each
                // is removed once.
                unsafe { inside.retire(former) };
            });
        });
    }

    /// The values of all segments at one moment.
    pub fn scan(&self) -> Vec<T> {
        self.domain.enter(|inside| self.scan_inside(inside))
    }

    fn scan_inside(&self, _: &Inside<'_, Cell<T>>) -> Vec<T> {
        let collect = || self.segments.iter().map(|segment| segment.load(Ordering::SeqCst));
        let mut before: Vec<*mut Cell<T>> = collect().collect();
        // The threads that were seen to move, and the first collect that showed it.
        let mut moved: Vec<(usize, usize)> = Vec::new();
        for round in 1.. {
            let now: Vec<*mut Cell<T>> = collect().collect();
            if now == before {
                break;
            }
            for (&cell, _) in now.iter().zip(&before).filter(|(now, before)| now != before) {
                // SAFETY: the cell was reachable after this operation had begun, so that it is not
                // freed before it ends.
                let cell = unsafe { &*cell };
                match moved.iter().find(|(writer, _)| *writer == cell.writer) {
                    Some(&(_, first)) if round >= first + 2 => return cell.view.to_vec(),
                    Some(_) => {}
                    None => moved.push((cell.writer, round)),
                }
            }
            before = now;
        }
        // SAFETY: as above.
        before.into_iter().map(|cell| unsafe { (*cell).value }).collect()
    }
}

impl<T> Drop for Snapshot<T> {
    fn drop(&mut self) {
        for segment in &mut self.segments {
            // SAFETY: the snapshot is exclusively owned, and each cell is in one segment.
            drop(unsafe { Box::from_raw(*segment.get_mut()) });
        }
    }
}

impl<T> std::fmt::Debug for Snapshot<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("segments", &self.segments.len()).finish_non_exhaustive()
    }
}
