//! The bounded k-FIFO queue of Kirsch, Lippautz and Payer (2013): a ring of segments of k cells. As
//! in the unbounded one, `enq` may use any free cell of the last segment, and `deq` any value of
//! the first; segments are reused when the ring wraps around.
//!
//! Segment numbers only grow: segment n is stored at n modulo the length of the ring, so that
//! numbers show which of two segments comes first. A cell counts its changes, because an `enq` that
//! was delayed for a lap must not fill it then.
//!
//! **Whether a value is in the queue** is known only after it is in its cell (`committed`): its
//! segment must not have been removed. If it is the *first* segment, a `deq` may have seen nothing
//! there and be about to move on, or to report an empty queue. So the `enq` increments a version
//! beside the number of the first segment, and the `deq` tries again. This makes EMPTY correct: no
//! `enq` into the segment ended while it was searched.
//!
//! **Progress.** A `deq` leaves a segment only if it was not the last one *before* the search that
//! found nothing. The published one also leaves if the segment ceased to be the last one meanwhile.
//! Then an `enq` that filled the segment takes its value back, a second one that found it full and
//! moved on finds the next one filled by the first, and together with the `deq` the three may
//! continue for ever: no search for all executions of `enq | enq | deq` with segments of one cell
//! ends.
//!
//! **Full** is reported if the ring has no further segment and a value is in the first one. So
//! there may be up to k-1 free cells.

use crate::shadowed::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::shadowed::sync::hint;

/// Versions are below this.
const VERSIONS: usize = 1 << 16;
/// Values are below this; above them a cell has the number of its changes.
const VALUES: u64 = 1 << 32;
/// The greatest value that a queue can store; the least one is 1.
pub(crate) const GREATEST: i64 = VALUES as i64 - 1;

/// The queue.
pub(crate) struct Queue {
    size: usize,
    /// Those of all segments: 0 or a value, and the number of changes times [`VALUES`].
    cells: Box<[AtomicU64]>,
    /// The number of the first segment times [`VERSIONS`], and a version.
    first: AtomicUsize,
    /// The number of the last segment.
    last: AtomicUsize,
}

impl Queue {
    /// A ring of this many segments of `size` cells each.
    pub(crate) fn new(segments: usize, size: usize) -> Queue {
        assert!(segments > 1, "the first segment and the last must be two when all are full");
        let cells = (0..segments * size).map(|_| AtomicU64::new(0)).collect();
        Queue { size, cells, first: AtomicUsize::new(0), last: AtomicUsize::new(0) }
    }

    /// Whether there was room.
    pub(crate) fn enq(&self, value: i64) -> bool {
        debug_assert!(value > 0 && (value as u64) < VALUES, "values are numbers above 0");
        loop {
            let last = self.last.load(Ordering::SeqCst);
            let first = self.first.load(Ordering::SeqCst);
            let free = self.find(last, |held| held % VALUES == 0);
            if self.last.load(Ordering::SeqCst) != last {
                continue;
            }
            if let Some((cell, free)) = free {
                let filled = after(free, value as u64);
                if self.change(cell, free, filled) && self.committed(last, cell, filled) {
                    return true;
                }
                continue;
            }
            if last + 1 - first / VERSIONS == self.cells.len() / self.size {
                let used = self.find(first / VERSIONS, |held| held % VALUES > 0).is_some();
                if used && self.first.load(Ordering::SeqCst) / VERSIONS == first / VERSIONS {
                    return false;
                }
                self.leave(first);
            } else {
                self.close(last);
            }
        }
    }

    /// Whether the value in a cell of this segment is in the queue, or was and has been removed.
    fn committed(&self, segment: usize, cell: usize, filled: u64) -> bool {
        if self.cells[cell].load(Ordering::SeqCst) != filled {
            return true;
        }
        let first = self.first.load(Ordering::SeqCst);
        if first / VERSIONS < segment {
            return true;
        }
        let next = first / VERSIONS * VERSIONS + (first + 1) % VERSIONS;
        if first / VERSIONS == segment && swap(&self.first, first, next) {
            return true;
        }
        !self.change(cell, filled, after(filled, 0))
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        loop {
            let first = self.first.load(Ordering::SeqCst);
            let last = self.last.load(Ordering::SeqCst);
            let found = self.find(first / VERSIONS, |held| held % VALUES > 0);
            if self.first.load(Ordering::SeqCst) != first {
                continue;
            }
            let is_last = first / VERSIONS == last;
            match found {
                Some((cell, held)) => {
                    if is_last {
                        // Nothing comes into a segment any more out of which something went.
                        self.close(last);
                    }
                    if self.change(cell, held, after(held, 0)) {
                        return Some((held % VALUES) as i64);
                    }
                }
                None if !is_last => self.leave(first),
                None if self.last.load(Ordering::SeqCst) == last => return None,
                // Another thread found the segment full meanwhile.
                None => {}
            }
        }
    }

    /// The newest cell of a segment with wanted content, and that content.
    fn find(&self, segment: usize, wanted: impl Fn(u64) -> bool) -> Option<(usize, u64)> {
        let start = segment * self.size % self.cells.len();
        let cells = (start..start + self.size).rev();
        let held = cells.map(|cell| (cell, self.cells[cell].load(Ordering::SeqCst)));
        held.into_iter().find(|&(_, held)| wanted(held))
    }

    /// Moves on to the next first segment, unless another thread has or a value was inserted.
    fn leave(&self, first: usize) {
        swap(&self.first, first, (first / VERSIONS + 1) * VERSIONS);
    }

    /// Moves on to the next last segment, unless another thread has.
    fn close(&self, last: usize) {
        swap(&self.last, last, last + 1);
    }

    fn change(&self, cell: usize, from: u64, to: u64) -> bool {
        let (yes, no) = (Ordering::SeqCst, Ordering::SeqCst);
        self.cells[cell].compare_exchange(from, to, yes, no).is_ok()
    }
}

/// The same queue, whose `enq` waits for room.
pub(crate) struct Patient(pub(crate) Queue);

impl Patient {
    pub(crate) fn enq(&self, value: i64) {
        while !self.0.enq(value) {
            hint::spin_loop();
        }
    }

    pub(crate) fn deq(&self) -> Option<i64> {
        self.0.deq()
    }
}

/// The content of a cell after one more change.
fn after(held: u64, value: u64) -> u64 {
    (held / VALUES + 1) * VALUES + value
}

fn swap(number: &AtomicUsize, from: usize, to: usize) -> bool {
    number.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}
