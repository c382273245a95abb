//! A mark in a pointer: one bit that is read and changed atomically with the pointer.
//!
//! The target is aligned to more than one byte, so that the lowest bit of its address is 0.

/// The same pointer with a mark.
#[inline]
pub(crate) fn marked<T>(pointer: *mut T) -> *mut T {
    const { assert!(align_of::<T>() > 1) };
    pointer.map_addr(|address| address | 1)
}

/// The same pointer without a mark.
#[inline]
pub(crate) fn unmarked<T>(pointer: *mut T) -> *mut T {
    pointer.map_addr(|address| address & !1)
}

/// Whether the pointer has a mark.
#[inline]
pub(crate) fn is_marked<T>(pointer: *mut T) -> bool {
    pointer.addr() & 1 == 1
}
