//! As `std::sync::Weak`.

use super::arc::{Arc, counts};
use crate::engine::interface::{self, Access, Effect};
use crate::front::{self, Front};
use ::std::fmt;
use ::std::panic::Location;
use ::std::sync as real;

/// As `std::sync::Weak`.
#[repr(transparent)]
pub struct Weak<T: ?Sized>(real::Weak<T>);

impl<T> Weak<T> {
    /// As std's `new`.
    pub const fn new() -> Weak<T> {
        Weak(real::Weak::new())
    }
}

impl<T: ?Sized> Weak<T> {
    /// A `Weak` of std's.
    pub fn from_std(std: real::Weak<T>) -> Weak<T> {
        Weak(std)
    }

    pub(super) fn from_std_ref(std: &real::Weak<T>) -> &Weak<T> {
        // SAFETY: the type is transparent over std's.
        unsafe { &*(::std::ptr::from_ref(std) as *const Weak<T>) }
    }

    /// As std's `upgrade`.
    #[inline]
    #[track_caller]
    #[must_use]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        if !interface::active() {
            return self.0.upgrade().map(Arc::from_std);
        }
        let location = counts(self.0.as_ptr());
        let access = Access::update(location).named("Weak::upgrade").at(Location::caller());
        // It conflicts with a last drop, which is a write, and with nothing else.
        front::event(access, |_, _| (self.0.upgrade().map(Arc::from_std), Effect::read(0)))
    }

    /// As std's `strong_count`.
    #[track_caller]
    #[must_use]
    pub fn strong_count(&self) -> usize {
        if !interface::active() {
            return self.0.strong_count();
        }
        let location = counts(self.0.as_ptr());
        let access = Access::update(location).named("Weak::strong_count").at(Location::caller());
        front::event(access, |_, _| (self.0.strong_count(), Effect::write(0, 0)))
    }

    /// As std's `weak_count`, of which std promises little when several threads are about.
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.0.weak_count()
    }

    /// As std's `ptr_eq`.
    #[must_use]
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// As std's `as_ptr`.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.0.as_ptr()
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        Weak(self.0.clone())
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    /// Who drops the last one frees the memory, and must know what the others did there. The free itself is the event.
    fn drop(&mut self) {
        if interface::active() {
            let location = counts(self.0.as_ptr());
            let thread = interface::current_thread();
            interface::with_state(|front: &mut Front| {
                front.detector.release(thread.0, location);
                front.detector.acquire(thread.0, location);
            });
        }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
