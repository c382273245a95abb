//! A value on cache lines of its own, so that threads that use its neighbours do not slow it down.

use super::growing_array::Initial;
use core::ops::{Deref, DerefMut};

/// A value on cache lines of its own. 128 bytes: processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> Deref for Padded<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Padded<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Initial> Initial for Padded<T> {
    const INITIAL: Padded<T> = Padded(T::INITIAL);
}
