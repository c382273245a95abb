//! Common parts of all locks and guards: a guard dereferences to its value, a lock is displayed
//! without its value and knows whether it is poisoned.

use super::identity::Identity;
use super::{LockResult, PoisonError, TryLockError};
use crate::engine::interface::{Access, Effect};
use crate::front::Edge;

/// Wraps the result of a lock: in an error if it is poisoned, which still contains the guard.
pub(super) fn poison<T>(value: T, poisoned: bool) -> LockResult<T> {
    if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}

/// Converts the result of trying a lock of std's that backs one of ours. Our lock tracks poisoning
/// itself.
pub(super) fn tried<G, H>(outside: Result<G, TryLockError<G>>) -> Result<G, TryLockError<H>> {
    match outside {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(error)) => Ok(error.into_inner()),
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
    }
}

/// Tries a lock as an event: `locked` is its new value, if it can be had.
pub(super) fn try_event<H>(
    identity: &Identity,
    access: Access,
    locked: impl FnOnce(u64) -> Option<u64>,
) -> Result<(), TryLockError<H>> {
    let effect = identity.event(access, |value| match locked(value) {
        Some(locked) => (Effect::update(value, locked), Edge::Acquire),
        None => (Effect::read(value), Edge::None),
    });
    if effect.wrote { Ok(()) } else { Err(TryLockError::WouldBlock) }
}

/// A guard that gives access to the value behind its field `lock`; with `mut` if it holds the lock
/// exclusively.
macro_rules! guard {
    ($guard:ident) => {
        impl<T: ?Sized> ::std::ops::Deref for $guard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the guard holds the lock, so no thread writes the value meanwhile.
                unsafe { &*self.lock.value.get() }
            }
        }

        impl<T: ?Sized + ::std::fmt::Debug> ::std::fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + ::std::fmt::Display> ::std::fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
    (mut $guard:ident) => {
        guard!($guard);

        impl<T: ?Sized> ::std::ops::DerefMut for $guard<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: the guard holds the lock exclusively and is borrowed exclusively.
                unsafe { &mut *self.lock.value.get() }
            }
        }
    };
}

/// A lock with the fields `poisoned` and `value` and the method `new`.
macro_rules! lock {
    ($lock:ident) => {
        impl<T> $lock<T> {
            /// As std's `into_inner`.
            ///
            /// # Errors
            /// The value, if the lock is poisoned.
            pub fn into_inner(self) -> LockResult<T> {
                let poisoned = self.poisoned.is_set_now();
                poison(self.value.into_inner(), poisoned)
            }
        }

        impl<T: ?Sized> $lock<T> {
            /// As std's `is_poisoned`.
            #[track_caller]
            pub fn is_poisoned(&self) -> bool {
                let name = concat!(stringify!($lock), "::is_poisoned");
                self.poisoned.look(name, Location::caller())
            }

            /// As std's `clear_poison`.
            #[track_caller]
            pub fn clear_poison(&self) {
                let name = concat!(stringify!($lock), "::clear_poison");
                self.poisoned.clear(name, Location::caller());
            }

            /// As std's `get_mut`.
            ///
            /// # Errors
            /// The reference, if the lock is poisoned.
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                let poisoned = self.poisoned.is_set_now();
                poison(self.value.get_mut(), poisoned)
            }
        }

        impl<T: ?Sized> ::std::fmt::Debug for $lock<T> {
            /// Without the value: to show it would take the lock, which would be an event.
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let mut shown = f.debug_struct(stringify!($lock));
                shown.field("poisoned", &self.poisoned.is_set_now()).finish_non_exhaustive()
            }
        }

        impl<T: Default> Default for $lock<T> {
            fn default() -> Self {
                $lock::new(T::default())
            }
        }

        impl<T> From<T> for $lock<T> {
            fn from(value: T) -> Self {
                $lock::new(value)
            }
        }
    };
}

pub(super) use guard;
pub(super) use lock;
