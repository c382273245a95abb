//! The k-stack of Henzinger, Kirsch, Payer, Sezgin and Sokolova (2013): a stack of segments of k cells. `push` puts its value into a free
//! cell of the uppermost segment and then makes sure that the segment is not being removed (`committed`); `pop` takes any
//! value of the uppermost segment, and removes the segment when it is empty.
//!
//! `top` holds the number of the uppermost segment and a version. A `pop` that removes a segment marks it, looks whether it is empty, and
//! replaces `top`. A `push` that finds its segment marked raises the version: then the `pop` fails. If that fails itself, the
//! segment may be gone, and the value is taken back, unless somebody popped it.
//!
//! **The bug** that Round-Up found in the Scal suite (section VI-D of the paper): `committed` reads the mark *twice*. If it is set at the first look and
//! gone at the second, because the `pop` that set it found the segment in use, `push` believes that its value is lost and
//! pushes it again. [`KStack::new`] takes whether to read twice.
//!
//! **EMPTY.** The lowest segment is never removed. It is empty if no cell holds a value and no `push` ended meanwhile, which a number of
//! pushes tells: one that is under way may be ordered behind.

use crate::shadowed::growing_array::GrowingArray;
use crate::shadowed::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

const FREE: i64 = 0;
/// Versions are below this.
const VERSIONS: usize = 1 << 16;

/// The stack.
pub(crate) struct KStack {
    reads_twice: bool,
    size: usize,
    /// The number of the uppermost segment times [`VERSIONS`], and its version.
    top: AtomicUsize,
    /// How many pushes into the lowest segment have ended.
    pushes: AtomicUsize,
    /// How many segments there ever were.
    made: AtomicUsize,
    /// The cells of all segments.
    cells: GrowingArray<AtomicI64>,
    /// Set while a `pop` tries to remove the segment, and for good once it did.
    marked: GrowingArray<AtomicBool>,
    /// The segment below; written before the segment is in the stack.
    below: GrowingArray<AtomicUsize>,
}

impl KStack {
    /// A stack with segments of so many cells; as published, `committed` reads the mark twice.
    pub(crate) fn new(size: usize, reads_twice: bool) -> KStack {
        KStack {
            reads_twice,
            size,
            top: AtomicUsize::new(0),
            pushes: AtomicUsize::new(0),
            made: AtomicUsize::new(1),
            cells: GrowingArray::new(),
            marked: GrowingArray::new(),
            below: GrowingArray::new(),
        }
    }

    pub(crate) fn push(&self, value: i64) {
        loop {
            let top = self.top.load(Ordering::SeqCst);
            let segment = top / VERSIONS;
            match self.cells_of(segment).find(|&cell| self.look(cell) == FREE) {
                Some(cell) => {
                    if self.change(cell, FREE, value) && self.committed(top, cell, value) {
                        if segment == 0 {
                            self.pushes.fetch_add(1, Ordering::SeqCst);
                        }
                        return;
                    }
                }
                None => {
                    let above = self.made.fetch_add(1, Ordering::SeqCst);
                    self.below.get(above).store(segment, Ordering::SeqCst);
                    self.replace_top(top, above);
                }
            }
        }
    }

    /// Whether the value is in the stack, or was and is popped already.
    fn committed(&self, top: usize, cell: usize, value: i64) -> bool {
        let marked = self.marked.get(top / VERSIONS);
        if !marked.load(Ordering::SeqCst) {
            return true;
        }
        // Here the published code looks again.
        if self.reads_twice && !marked.load(Ordering::SeqCst) {
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

    /// True where the lowest segment, which is the uppermost, holds nothing and nobody has pushed meanwhile.
    fn is_empty(&self, top: usize) -> bool {
        let pushes = self.pushes.load(Ordering::SeqCst);
        self.cells_of(0).all(|cell| self.look(cell) == FREE)
            && self.top.load(Ordering::SeqCst) == top
            && self.pushes.load(Ordering::SeqCst) == pushes
    }

    /// Removes the uppermost segment if it is empty.
    fn try_to_remove(&self, top: usize) {
        let segment = top / VERSIONS;
        let marked = self.marked.get(segment);
        marked.store(true, Ordering::SeqCst);
        let is_empty = self.cells_of(segment).all(|cell| self.look(cell) == FREE);
        let below = self.below.get(segment).load(Ordering::SeqCst);
        let removed = is_empty && self.replace_top(top, below);
        if !removed && self.is_there(segment) {
            marked.store(false, Ordering::SeqCst);
        }
    }

    /// True where the segment is in the stack.
    fn is_there(&self, segment: usize) -> bool {
        let mut at = self.top.load(Ordering::SeqCst) / VERSIONS;
        while at > segment {
            at = self.below.get(at).load(Ordering::SeqCst);
        }
        at == segment
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
