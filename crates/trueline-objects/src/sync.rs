//! What the objects share between threads, over std. `shadowed::sync` is the same over the shadow std.

pub(crate) use std::hint;
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};

pub(crate) use crate::thread_index::with_thread_index;

/// As `std::cell`, with a cell that is told whether it is read or written: what explorations look for races by.
pub(crate) mod cell {
    /// As `std::cell::UnsafeCell`.
    #[derive(Default)]
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline]
        pub(crate) const fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell(std::cell::UnsafeCell::new(value))
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
