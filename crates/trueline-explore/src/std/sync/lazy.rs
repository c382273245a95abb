//! As `std::sync::LazyLock`.

use super::once::Once;
use ::std::cell::UnsafeCell;
use ::std::fmt;
use ::std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
use ::std::ops::Deref;
use ::std::panic::{RefUnwindSafe, UnwindSafe};
use ::std::sync::atomic::{AtomicBool, Ordering};

/// As `std::sync::LazyLock`.
///
/// A static starts afresh in each execution, which calls its function again. That requires a
/// function without captured state, as those of statics are.
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    used: AtomicBool,
    function: UnsafeCell<ManuallyDrop<F>>,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: as std's: one thread calls the function, and its value is written before any other thread
// can reach it.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}
// SAFETY: as above.
unsafe impl<T: Send, F: Send> Send for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// As std's `new`.
    pub const fn new(function: F) -> LazyLock<T, F> {
        LazyLock {
            once: Once::new(),
            used: AtomicBool::new(false),
            function: UnsafeCell::new(ManuallyDrop::new(function)),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// As std's `force`.
    ///
    /// # Panics
    /// If the function panics or has panicked before, or if it has captured state and was called in
    /// an earlier execution.
    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        if !this.once.is_completed() {
            this.once.call_once(|| this.initialise());
        }
        // SAFETY: the value was written, and is not written again while it is borrowed.
        unsafe { (*this.value.get()).assume_init_ref() }
    }

    fn initialise(&self) {
        let used = self.used.swap(true, Ordering::Relaxed);
        assert!(
            !used || !needs_drop::<F>(),
            "a LazyLock whose function owns something cannot start anew in a second execution"
        );
        // SAFETY: the function is read once, or has no state. No other thread reaches it or the
        // value during the call.
        unsafe {
            let function = ManuallyDrop::into_inner(self.function.get().read());
            (*self.value.get()).write(function());
        }
    }
}

impl<T, F> Drop for LazyLock<T, F> {
    fn drop(&mut self) {
        if self.once.is_complete_now() {
            // SAFETY: the value was written and is not used again.
            unsafe { self.value.get_mut().assume_init_drop() };
        }
        if !*self.used.get_mut() {
            // SAFETY: the function was not called.
            unsafe { ManuallyDrop::drop(self.function.get_mut()) };
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        LazyLock::new(T::default)
    }
}

impl<T, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}
