//! Address ranges of all arenas of the process.
//!
//! A block may be freed by a thread whose arena it did not come from, or after its exploration
//! ended: for example a result that was sent elsewhere. `System` must never see such an address, so
//! every range that was ever reserved stays listed here. Arenas are pooled and never released, so
//! the list is as long as the largest number of simultaneous explorations.

use std::sync::atomic::{AtomicUsize, Ordering};

const MOST: usize = 256;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);
static STARTS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static ENDS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];

/// Lists a range. False if the list is full, then the range must not be used.
pub(super) fn register(start: usize, end: usize) -> bool {
    let Ok(index) = COUNT.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
        (count < MOST).then_some(count + 1)
    }) else {
        return false;
    };
    // The end is written last: a half-written entry contains no address.
    STARTS[index].store(start, Ordering::Release);
    ENDS[index].store(end, Ordering::Release);
    LOWEST.fetch_min(start, Ordering::AcqRel);
    HIGHEST.fetch_max(end, Ordering::AcqRel);
    true
}

/// Whether an address lies in some arena. If no exploration ever ran, this costs two loads, which
/// every `dealloc` pays.
#[inline]
pub(super) fn contains(address: usize) -> bool {
    // A thread that holds a pointer into an arena got it after the arena was registered, through
    // some synchronisation.
    if address < LOWEST.load(Ordering::Relaxed) || address >= HIGHEST.load(Ordering::Relaxed) {
        return false;
    }
    search(address)
}

#[cold]
fn search(address: usize) -> bool {
    let count = COUNT.load(Ordering::Acquire).min(MOST);
    (0..count).any(|index| {
        address < ENDS[index].load(Ordering::Acquire)
            && address >= STARTS[index].load(Ordering::Acquire)
    })
}
