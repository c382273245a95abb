//! What all locks and guards have in common: a guard is its value, and a lock is shown without it.

/// A guard that gives a look at the value behind its field `lock`, which it holds; `mut` where it holds it alone.
macro_rules! guard {
    ($guard:ident) => {
        impl<T: ?Sized> ::std::ops::Deref for $guard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the guard holds the lock, so nobody writes the value meanwhile.
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
                // SAFETY: the guard holds the lock alone and is borrowed exclusively.
                unsafe { &mut *self.lock.value.get() }
            }
        }
    };
}

/// A lock with the methods `new` and `is_poisoned`.
macro_rules! lock {
    ($lock:ident) => {
        impl<T: ?Sized> ::std::fmt::Debug for $lock<T> {
            /// Without the value: to show it would take the lock, which would be an event.
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let mut shown = f.debug_struct(stringify!($lock));
                shown.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
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
