//! The synchronisation primitives of the objects, over std. `shadowed::sync` is the same over the
//! shadow std.

pub(crate) use core::sync::atomic;
#[cfg(feature = "std")]
pub(crate) use std::{sync::Mutex, thread, thread_local, time::Instant};

#[cfg(feature = "std")]
pub(crate) use crate::thread_index::{
    thread_bound, threads_ended, with_ended_thread_index, with_thread_index,
};

use core::cell::Cell;
use core::hint;

/// Lets a faster thread run for a while: each turn waits twice as long as the one before, up to a
/// limit. While one thread waits the others have the cache line to themselves, so that together
/// they do more than if all tried all the time.
pub(crate) struct Backoff {
    turns: Cell<u32>,
    most: u32,
}

impl Default for Backoff {
    #[inline]
    fn default() -> Backoff {
        Backoff::up_to(8)
    }
}

impl Backoff {
    /// Its longest turn is two to the power of this many pauses.
    #[inline]
    pub(crate) const fn up_to(most: u32) -> Backoff {
        Backoff { turns: Cell::new(0), most }
    }

    /// For a thread that waits outside of the operation, so that others can free nodes meanwhile:
    /// long from the first turn on, since each attempt fetches the cache lines that the faster
    /// thread writes. That thread then does thousands of operations with the content of its cache.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn patient() -> Backoff {
        Backoff { turns: Cell::new(9), most: 10 }
    }

    /// Call this after a step that failed because another thread was faster.
    #[inline]
    pub(crate) fn wait(&self) {
        let turns = self.turns.get();
        for _ in 0..1_u32 << turns {
            hint::spin_loop();
        }
        self.turns.set(self.most.min(turns + 1));
    }

    /// Call this repeatedly when nothing can be done before another thread has done its part. It
    /// soon yields the processor, which that thread may need. Without std it cannot yield: see
    /// `docs/objects.md`.
    #[inline]
    pub(crate) fn wait_for_other(&self) {
        const SOON: u32 = 7;
        let turns = self.turns.get();
        if cfg!(not(feature = "std")) || turns < SOON {
            self.wait();
            // Also if `wait` alone would not wait for that long.
            self.turns.set(SOON.min(turns + 1));
        } else {
            #[cfg(feature = "std")]
            thread::yield_now();
        }
    }
}

/// As `fetch_add(1, SeqCst)`, but lets faster threads pass for a while before it insists.
#[cfg(feature = "std")]
#[inline]
pub(crate) fn take_number(counter: &atomic::AtomicUsize) -> usize {
    const TRIES: usize = 32;
    let (yes, no) = (atomic::Ordering::SeqCst, atomic::Ordering::Relaxed);
    let backoff = Backoff::default();
    let mut next = counter.load(no);
    for _ in 0..TRIES {
        match counter.compare_exchange_weak(next, next.wrapping_add(1), yes, no) {
            Ok(number) => return number,
            Err(found) => next = found,
        }
        backoff.wait();
    }
    counter.fetch_add(1, yes)
}

/// Waits until something is so, but not for long.
#[cfg(feature = "std")]
#[inline]
pub(crate) fn await_a_while(is_so: impl Fn() -> bool) {
    const TURNS: usize = 6;
    let backoff = Backoff::default();
    for _ in 0..TURNS {
        if is_so() {
            return;
        }
        backoff.wait();
    }
}

/// For how many freed nodes of this size a thread keeps the memory for the next nodes of an object:
/// not many, and not many bytes.
#[cfg(feature = "std")]
pub(crate) const fn spare_nodes(size: usize) -> usize {
    const MOST: usize = 128;
    const MOST_BYTES: usize = 1 << 16;
    if MOST * size <= MOST_BYTES { MOST } else { MOST_BYTES / size }
}

/// Stores a value, and lets no later access of this thread come before it: a store with release and
/// a sequentially consistent fence.
///
/// On x86 it is an exchange, which is a full barrier there. In Rust's memory model an exchange
/// would not be a barrier for accesses that are not sequentially consistent themselves. So it
/// relies on two facts outside of the model: the compiler moves no access over the exchange
/// (`compiler_fence`), and the processor moves none over a locked instruction. Miri only knows the
/// model. There, as on all other processors, it is the store and the fence, which is also what
/// explorations run.
#[cfg(feature = "std")]
#[inline]
pub(crate) fn store_and_fence(place: &atomic::AtomicUsize, value: usize) {
    if cfg!(all(any(target_arch = "x86", target_arch = "x86_64"), not(miri))) {
        // One instruction less than a store and the instruction that a fence becomes.
        place.swap(value, atomic::Ordering::SeqCst);
        atomic::compiler_fence(atomic::Ordering::SeqCst);
    } else {
        place.store(value, atomic::Ordering::Release);
        atomic::fence(atomic::Ordering::SeqCst);
    }
}

/// As `std::cell`, with a cell whose accesses are declared as reads or writes, so that explorations
/// can detect races.
pub(crate) mod cell {
    /// As `std::cell::UnsafeCell`.
    #[derive(Default)]
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline]
        pub(crate) const fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell(core::cell::UnsafeCell::new(value))
        }

        /// Reads through a pointer.
        #[inline]
        pub(crate) fn with<R>(&self, function: impl FnOnce(*const T) -> R) -> R {
            function(self.0.get())
        }

        /// Writes through a pointer.
        #[inline]
        pub(crate) fn with_mut<R>(&self, function: impl FnOnce(*mut T) -> R) -> R {
            function(self.0.get())
        }

        #[inline]
        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }

        #[inline]
        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }
}
