//! The k-stack of Henzinger, Kirsch, Payer, Sezgin and Sokolova (2013): a stack of segments of k
//! cells. `push` stores its value in a free cell of the top segment and then checks that the
//! segment is not being removed (`committed`); `pop` takes any value of the top segment, and
//! removes the segment when it is empty.
//!
//! `top` contains the number of the top segment and a version. A `pop` that removes a segment first
//! increments the segment's count of removers, checks that it is empty, and replaces `top`. A
//! `push` that finds a remover increments the version, which makes the `pop` fail. If that
//! increment fails itself, the segment may be gone, and the value is taken back, unless another
//! thread popped it. It is a count and not a mark: with a mark, one `pop` that gives up would clear
//! that of another, and a `push` in between would conclude that its segment stays.
//!
//! **The bug** that Round-Up found in the Scal suite (section VI-D of the paper,
//! [`Fault::ReadsTwice`]): `committed` reads the count *twice*. If the first read finds a remover
//! and the second finds none, because the `pop` found the segment in use, `push` concludes that its
//! value is lost and pushes it again.
//!
//! **Progress.** If the top segment is full, the published `push` puts an empty one above it and
//! starts again ([`Fault::AddsEmptySegments`]). A `pop` may remove that one before it is filled,
//! and both may continue for ever without completing an operation: the stack is not lock-free, and
//! a search for all executions of `push | pop` does not end, as each round makes a longer one. Here
//! the new segment contains the value from the start. Then every change of `top` ends an operation,
//! or removes a segment that a completed one put there, and a program has finitely many executions.
//!
//! **EMPTY.** The lowest segment is never removed. It is empty if no cell has a value and no `push`
//! ended meanwhile, which a counter of pushes shows: a pending one may be ordered later.

use crate::shadowed::growing_array::GrowingArray;
use crate::shadowed::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

const FREE: i64 = 0;
/// Versions are below this.
const VERSIONS: usize = 1 << 16;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// `push` inserts its value twice: `committed` reads the count of removers twice.
    ReadsTwice,
    /// `push` and `pop` may keep each other busy for ever: new segments are empty.
    AddsEmptySegments,
}

/// The stack.
pub(crate) struct KStack {
    fault: Fault,
    size: usize,
    /// The number of the uppermost segment times [`VERSIONS`], and its version.
    top: AtomicUsize,
    /// How many pushes into the lowest segment have ended.
    pushes: AtomicUsize,
    /// How many segments there ever were.
    made: AtomicUsize,
    /// The cells of all segments.
    cells: GrowingArray<AtomicI64>,
    /// How many `pop`s are about to remove the segment; one that did stays counted.
    removers: GrowingArray<AtomicUsize>,
    /// The segment below; written before the segment is in the stack.
    below: GrowingArray<AtomicUsize>,
}

impl KStack {
    /// A stack with segments of this many cells.
    pub(crate) fn new(size: usize, fault: Fault) -> KStack {
        KStack {
            fault,
            size,
            top: AtomicUsize::new(0),
            pushes: AtomicUsize::new(0),
            made: AtomicUsize::new(1),
            cells: GrowingArray::new(),
            removers: GrowingArray::new(),
            below: GrowingArray::new(),
        }
    }

    pub(crate) fn push(&self, value: i64) {
        loop {
            let top = self.top.load(Ordering::SeqCst);
            let segment = top / VERSIONS;
            let free = self.cells_of(segment).find(|&cell| self.look(cell) == FREE);
            let inserted = match free {
                Some(cell) => self.change(cell, FREE, value) && self.committed(top, cell, value),
                None => self.add_segment(top, value),
            };
            if inserted {
                if segment == 0 && free.is_some() {
                    self.pushes.fetch_add(1, Ordering::SeqCst);
                }
                return;
            }
        }
    }

    /// Puts a segment above the uppermost one; whether the value is in it.
    fn add_segment(&self, top: usize, value: i64) -> bool {
        let above = self.made.fetch_add(1, Ordering::SeqCst);
        self.below.get(above).store(top / VERSIONS, Ordering::SeqCst);
        let filled = self.fault != Fault::AddsEmptySegments;
        if filled {
            self.cells.get(above * self.size).store(value, Ordering::SeqCst);
        }
        self.replace_top(top, above) && filled
    }

    /// Whether the value is in the stack, or was and is popped already.
    fn committed(&self, top: usize, cell: usize, value: i64) -> bool {
        let removers = self.removers.get(top / VERSIONS);
        if removers.load(Ordering::SeqCst) == 0 {
            return true;
        }
        // Here the published code looks again.
        if self.fault == Fault::ReadsTwice && removers.load(Ordering::SeqCst) == 0 {
            return false;
        }
        self.replace_top(top, top / VERSIONS) || !self.change(cell, value, FREE)
    }

    pub(crate) fn pop(&self) -> Option<i64> {
        loop {
            let top = self.top.load(Ordering::SeqCst);
            let segment = top / VERSIONS;
            for cell in self.cells_of(segment) {
                let value = self.look(cell);
                if value != FREE && self.change(cell, value, FREE) {
                    return Some(value);
                }
            }
            if segment > 0 {
                self.try_to_remove(top);
            } else if self.is_empty(top) {
                return None;
            }
        }
    }

    /// Whether the lowest segment is the top one and empty, and no thread has pushed meanwhile.
    fn is_empty(&self, top: usize) -> bool {
        let pushes = self.pushes.load(Ordering::SeqCst);
        self.cells_of(0).all(|cell| self.look(cell) == FREE)
            && self.top.load(Ordering::SeqCst) == top
            && self.pushes.load(Ordering::SeqCst) == pushes
    }

    /// Removes the uppermost segment if it is empty.
    fn try_to_remove(&self, top: usize) {
        let segment = top / VERSIONS;
        let removers = self.removers.get(segment);
        removers.fetch_add(1, Ordering::SeqCst);
        let is_empty = self.cells_of(segment).all(|cell| self.look(cell) == FREE);
        let below = self.below.get(segment).load(Ordering::SeqCst);
        if !(is_empty && self.replace_top(top, below)) {
            removers.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn replace_top(&self, top: usize, segment: usize) -> bool {
        let next = segment * VERSIONS + (top + 1) % VERSIONS;
        self.top.compare_exchange(top, next, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn cells_of(&self, segment: usize) -> std::ops::Range<usize> {
        segment * self.size..(segment + 1) * self.size
    }

    fn look(&self, cell: usize) -> i64 {
        self.cells.get(cell).load(Ordering::SeqCst)
    }

    fn change(&self, cell: usize, from: i64, to: i64) -> bool {
        let (yes, no) = (Ordering::SeqCst, Ordering::SeqCst);
        self.cells.get(cell).compare_exchange(from, to, yes, no).is_ok()
    }
}
