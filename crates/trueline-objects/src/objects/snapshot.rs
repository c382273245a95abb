//! An atomic snapshot: segments that are updated one by one and scanned at once.
//!
//! Y. Afek, H. Attiya, D. Dolev, E. Gafni, M. Merritt, N. Shavit: Atomic snapshots of shared
//! memory. J. ACM 40(4), 1993: the unbounded algorithm, for any number of writers of a segment. A
//! scan collects all segments until two collects in a row are the same. Each update takes a scan
//! first and leaves it beside its value, so that a scan which is disturbed again and again by one
//! thread can borrow that thread's.
//!
//! **Linearization.** `update` at its swap. A scan whose last two collects are the same: anywhere
//! between them. Each update makes a cell of its own, and a cell is not used again while a scan is
//! under way that may have seen it (`grace.rs`): what is the same twice has been there all the
//! time. A scan that borrows: where the scan that it borrows has its place, which lies inside its
//! own interval. For if a thread is seen to have moved in collect `r`, its update was over when
//! collect `r` was; if it is seen to have moved in collect `r + 2` or later, that update wrote
//! after collect `r + 1` had begun, so it is another one, and began after the first. Two collects
//! next to each other do not suffice: the thread may have written to two segments in the order
//! opposite to that of the reads.
//!
//! **Progress.** Wait-free for a fixed number of threads: each collect that differs shows a thread
//! that moved, and each can be seen to move in two of them before its scan is borrowed: at most
//! `2 * threads + 2` collects. **Cost.** O(segments) for each collect; an update allocates a cell
//! with as many values as there are segments.
//!
//! All accesses are sequentially consistent: with less, two scans could see two updates in opposite
//! orders.

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

/// What an update leaves. It is not written again.
struct Cell<T> {
    value: T,
    /// What the update has scanned; empty in the cells of the beginning, which nobody is seen to
    /// have written.
    view: Box<[T]>,
    writer: usize,
}

// SAFETY: cells are shared and freed by any thread; their values are copied out.
unsafe impl<T: Send + Sync> Send for Snapshot<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Snapshot<T> {}

impl<T: Copy> Snapshot<T> {
    /// So many segments with the same value each.
    pub fn new(segments: usize, initial: T) -> Snapshot<T> {
        let cell = || Cell { value: initial, view: Box::default(), writer: usize::MAX };
        let segments = (0..segments).map(|_| AtomicPtr::new(Box::into_raw(Box::new(cell()))));
        Snapshot { segments: segments.collect(), domain: Domain::new(grace::BATCH) }
    }

    /// Frees what was removed and can be freed now, by this thread and by threads that have ended,
    /// which else happens after some more operations.
    pub fn flush(&self) {
        self.domain.flush();
    }

    /// Writes a segment.
    ///
    /// # Panics
    /// Where there is no such segment.
    pub fn update(&self, segment: usize, value: T) {
        let segment = &self.segments[segment];
        // The number is this thread's until the update is over, also where the thread is ending and
        // has borrowed it (`thread_index.rs`). Were it given back before, another thread could
        // update under the same number meanwhile, and a scan that sees the two would take them for
        // one after the other and borrow the scan of the first, which may be older than itself: the
        // mutant `-shares-numbers`.
        with_thread_index(|writer| {
            self.domain.enter(|inside| {
                let view = self.scan_inside(inside).into();
                let cell = Box::into_raw(Box::new(Cell { value, view, writer }));
                let former = segment.swap(cell, Ordering::SeqCst);
                // SAFETY: the swap has taken the cell out of the only place that it was in; each is
                // taken out once.
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
        // Who was seen to have moved, and in which collect first.
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
            // SAFETY: nobody else has the snapshot, and each cell is in one segment.
            drop(unsafe { Box::from_raw(*segment.get_mut()) });
        }
    }
}

impl<T> std::fmt::Debug for Snapshot<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("segments", &self.segments.len()).finish_non_exhaustive()
    }
}
