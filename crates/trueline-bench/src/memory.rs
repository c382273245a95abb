//! Counts the bytes that the program holds: the explorer's allocator, which outside of explorations
//! is the system's, and two counters beside it.
//!
//! Exact, where the resident size of the process is rounded to pages and never shrinks back. A
//! block that grows counts with its new size only: large ones are remapped by the system, not
//! copied. Counting costs a few nanoseconds an allocation, so times measured in this binary are a
//! little pessimistic. This is the only file of the crate with unsafe code.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use trueline_explore::Alloc;

#[global_allocator]
static COUNTING: Counting = Counting;
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Bytes held now.
pub(crate) fn held() -> usize {
    HELD.load(Relaxed)
}

/// The most bytes that were held at once since [`reset_peak`].
pub(crate) fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// Forgets earlier peaks.
pub(crate) fn reset_peak() {
    PEAK.store(held(), Relaxed);
}

/// Ends counting for good. Threads that allocate at the same time contend for the counters, which
/// no program of a user's has: who measures threads stops it.
pub(crate) fn stop_counting() {
    COUNTS.store(false, Relaxed);
}

static COUNTS: AtomicBool = AtomicBool::new(true);

struct Counting;

fn grown(bytes: usize) {
    if !COUNTS.load(Relaxed) {
        return;
    }
    let now = HELD.fetch_add(bytes, Relaxed) + bytes;
    if now > PEAK.load(Relaxed) {
        PEAK.fetch_max(now, Relaxed);
    }
}

fn shrunk(bytes: usize) {
    if COUNTS.load(Relaxed) {
        HELD.fetch_sub(bytes, Relaxed);
    }
}

// SAFETY: every call goes to `Alloc` with the arguments it came with, and its result is returned as
// it is, so this keeps the contract of `GlobalAlloc` as far as `Alloc` does. Counting allocates
// nothing and cannot panic.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        let block = unsafe { Alloc.alloc(layout) };
        if !block.is_null() {
            grown(layout.size());
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        let block = unsafe { Alloc.alloc_zeroed(layout) };
        if !block.is_null() {
            grown(layout.size());
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`: `block` came from this allocator,
        // hence from `Alloc`.
        unsafe { Alloc.dealloc(block, layout) };
        shrunk(layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`: `block` came from this allocator,
        // hence from `Alloc`.
        let moved = unsafe { Alloc.realloc(block, layout, size) };
        if !moved.is_null() {
            match size.checked_sub(layout.size()) {
                Some(more) => grown(more),
                None => shrunk(layout.size() - size),
            }
        }
        moved
    }
}
