//! As `std::cell`, with an [`UnsafeCell`] whose races are detected.

use crate::engine::interface;
use crate::front;
use crate::race::Plain;
use ::std::mem;
use ::std::panic::Location;

pub use ::std::cell::{
    BorrowError, BorrowMutError, Cell, LazyCell, OnceCell, Ref, RefCell, RefMut,
};

/// As `std::cell::UnsafeCell`; in an exploration its accesses are checked for races.
///
/// [`get`](Self::get) does not show whether the pointer is read or written through. The engine
/// infers it from the bytes: if they have changed at the thread's next shadow operation, it was a
/// write, otherwise a read. A write of the same bytes counts as a read, and a pointer is not
/// followed beyond the next shadow operation. [`with`](Self::with) and
/// [`with_mut`](Self::with_mut), which `std` does not have, declare the access.
///
/// A cell is one unit: threads that use different parts of one race if one of them writes. Parts
/// that are used at the same time, such as the slots of a ring, need cells of their own:
/// `[UnsafeCell<T>; N]`. A cell of zero bytes never takes part in a race.
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized> {
    value: ::std::cell::UnsafeCell<T>,
}

impl<T: ?Sized> Drop for UnsafeCell<T> {
    /// A write, which must be ordered with every other access. A cell of zero bytes may share its
    /// address with another cell, which lives on.
    #[inline]
    fn drop(&mut self) {
        if interface::active() && size_of_val(self) > 0 {
            let address = self.value.get().cast::<u8>().addr();
            front::drop_cell(address, "UnsafeCell::drop");
        }
    }
}

impl<T> UnsafeCell<T> {
    /// As `std::cell::UnsafeCell::new`.
    #[inline]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell { value: ::std::cell::UnsafeCell::new(value) }
    }

    /// As `std::cell::UnsafeCell::into_inner`.
    #[inline]
    pub fn into_inner(self) -> T {
        if interface::active() && size_of::<T>() > 0 {
            let address = self.value.get().cast::<u8>().addr();
            front::drop_cell(address, "UnsafeCell::into_inner");
        }
        let this = mem::ManuallyDrop::new(self);
        // SAFETY: the cell is owned, and neither used again nor dropped.
        unsafe { this.value.get().read() }
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// As `std::cell::UnsafeCell::get`: accesses through the pointer are inferred from the bytes.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> *mut T {
        let pointer = self.value.get();
        if interface::active() {
            let address = pointer.cast::<u8>().expose_provenance();
            let size = size_of_val(self);
            if size > 0 {
                front::watch(address, size, Location::caller());
                interface::sweep();
            }
        }
        pointer
    }

    /// As `std::cell::UnsafeCell::get_mut`; a write.
    #[inline]
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        self.note(Plain::Write, "UnsafeCell::get_mut");
        interface::sweep();
        self.value.get_mut()
    }

    /// As `std::cell::UnsafeCell::raw_get`: unchecked.
    #[inline]
    pub const fn raw_get(this: *const Self) -> *mut T {
        this as *const ::std::cell::UnsafeCell<T> as *mut T
    }

    /// Reads through a pointer, until the function returns.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, function: impl FnOnce(*const T) -> R) -> R {
        self.note(Plain::Read, "UnsafeCell::with");
        let lasting = self.lasting(Plain::Read, "UnsafeCell::with, until it returns");
        interface::sweep();
        let result = function(self.value.get());
        drop(lasting);
        interface::sweep();
        result
    }

    /// Writes through a pointer, until the function returns.
    #[inline]
    #[track_caller]
    pub fn with_mut<R>(&self, function: impl FnOnce(*mut T) -> R) -> R {
        self.note(Plain::Write, "UnsafeCell::with_mut");
        let lasting = self.lasting(Plain::Write, "UnsafeCell::with_mut, until it returns");
        interface::sweep();
        let result = function(self.value.get());
        drop(lasting);
        interface::sweep();
        result
    }

    /// Guards an access that lasts until the result is dropped.
    #[inline]
    #[track_caller]
    fn lasting(&self, access: Plain, name: &'static str) -> Option<Lasting> {
        if !interface::active() || size_of_val(self) == 0 {
            return None;
        }
        let address = self.value.get().cast::<u8>().addr();
        front::access_begins();
        Some(Lasting { address, access, name, caller: Location::caller() })
    }

    #[inline]
    #[track_caller]
    fn note(&self, access: Plain, name: &'static str) {
        if interface::active() && size_of_val(self) > 0 {
            let address = self.value.get().cast::<u8>().addr();
            front::plain(address, access, name, Location::caller());
        }
    }
}

/// A lasting access. If events have happened meanwhile, other threads may have run or have learnt
/// from them, so the access is recorded again at its end. The number of events at its beginning is
/// not stored here: the stack of a thread that waits in a loop must be the same in each round.
struct Lasting {
    address: usize,
    access: Plain,
    name: &'static str,
    caller: front::Caller,
}

impl Drop for Lasting {
    #[inline]
    fn drop(&mut self) {
        if interface::active() && front::access_has_met_events() {
            front::plain_goes_on(self.address, self.access, self.name, self.caller);
        }
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> Self {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> Self {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> ::std::fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}
