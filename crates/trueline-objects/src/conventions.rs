//! The methods that users of std and crossbeam expect of a container, built from its operations.
//! Nothing here accesses an object in any other way, so the results of exploring the operations
//! still hold.

use crate::{ArrayQueue, HerlihyWingQueue, VyukovQueue};
#[cfg(target_has_atomic = "64")]
use crate::{BoundedPriorityQueue, Snzi};
use core::fmt;
use core::iter::FusedIterator;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// Removes values from a container, one `pop` at a time, until a `pop` finds nothing.
///
/// Other threads may continue meanwhile, and values that they insert may be removed here, too. If
/// the iterator is dropped early, the remaining values stay.
#[must_use = "it takes a value out when it is asked for the next one"]
pub struct Drain<'a, C>(&'a C);

/// The values of an exclusively owned container, in the order of removal. The remaining values are
/// dropped with it.
pub struct IntoIter<C>(C);

impl<C> fmt::Debug for Drain<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for IntoIter<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").finish_non_exhaustive()
    }
}

/// The names of std and crossbeam for what the papers call `enq` and `deq`.
impl<T> HerlihyWingQueue<T> {
    /// Puts a value at the end: another name of `enq`.
    #[inline]
    pub fn push(&self, value: T) {
        self.enq(value);
    }

    /// Takes the oldest value, and waits until there is one: another name of `deq`.
    #[inline]
    pub fn pop_wait(&self) -> T {
        self.deq()
    }

    /// Removes a value if it finds one. Another name of `try_deq`, which describes the weaker
    /// guarantee.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.try_deq()
    }
}

/// The same for queues with a bound.
macro_rules! bounded_queue_names {
    ($($object:ident)*) => {$(
        impl<T> $object<T> {
            /// Inserts a value at the end, or returns it if there is no room. Another name of
            /// `enq`.
            ///
            /// # Errors
            /// The value, if there is no room.
            #[inline]
            pub fn push(&self, value: T) -> Result<(), T> {
                self.enq(value)
            }

            /// Removes the oldest value, or returns `None` if there is none. Another name of `deq`.
            #[inline]
            pub fn pop(&self) -> Option<T> {
                self.deq()
            }
        }
    )*};
}

bounded_queue_names! { ArrayQueue VyukovQueue }

/// Containers that are emptied by `pop`.
macro_rules! container {
    ($($object:ident[$($parameter:ident $(: $bound:path)?),*] of $item:ty;)*) => {$(
        impl<$($parameter $(: $bound)?),*> $object<$($parameter),*> {
            /// Removes values until there is none, one at a time. Other threads may run in between,
            /// and values that they insert are removed here, too.
            pub fn drain(&self) -> Drain<'_, $object<$($parameter),*>> {
                Drain(self)
            }
        }

        impl<$($parameter $(: $bound)?),*> Iterator for Drain<'_, $object<$($parameter),*>> {
            type Item = $item;

            fn next(&mut self) -> Option<$item> {
                self.0.pop()
            }
        }

        impl<$($parameter $(: $bound)?),*> Iterator for IntoIter<$object<$($parameter),*>> {
            type Item = $item;

            fn next(&mut self) -> Option<$item> {
                self.0.pop()
            }
        }

        // No other thread can insert anything.
        impl<$($parameter $(: $bound)?),*> FusedIterator for IntoIter<$object<$($parameter),*>> {}

        impl<$($parameter $(: $bound)?),*> IntoIterator for $object<$($parameter),*> {
            type Item = $item;
            type IntoIter = IntoIter<$object<$($parameter),*>>;

            fn into_iter(self) -> IntoIter<$object<$($parameter),*>> {
                IntoIter(self)
            }
        }
    )*};
}

container! {
    HerlihyWingQueue[T] of T;
    ArrayQueue[T] of T;
    VyukovQueue[T] of T;
}

#[cfg(target_has_atomic = "64")]
container! {
    BoundedPriorityQueue[T] of (usize, T);
}

/// Objects that can be extended, also through a shared reference.
macro_rules! extended {
    ($($object:ident[$($parameter:ident: ($($bound:tt)*)),*] of $item:ty = |$this:ident, $value:pat_param| $put:expr;)*) => {$(
        impl<$($parameter: $($bound)*),*> Extend<$item> for $object<$($parameter),*> {
            fn extend<I: IntoIterator<Item = $item>>(&mut self, values: I) {
                (&*self).extend(values);
            }
        }

        /// Also through a shared reference: other threads may run in between.
        impl<$($parameter: $($bound)*),*> Extend<$item> for &$object<$($parameter),*> {
            fn extend<I: IntoIterator<Item = $item>>(&mut self, values: I) {
                let $this = &**self;
                values.into_iter().for_each(|$value| {
                    $put;
                });
            }
        }
    )*};
}

extended! {
    HerlihyWingQueue[T: (Sized)] of T = |this, value| this.push(value);
}

/// For objects that can be collected into: their other parameters have usual values.
macro_rules! collected {
    ($($object:ident[$($parameter:ident: ($($bound:tt)*)),*] of $item:ty;)*) => {$(
        impl<$($parameter: $($bound)*),*> FromIterator<$item> for $object<$($parameter),*> {
            fn from_iter<I: IntoIterator<Item = $item>>(values: I) -> $object<$($parameter),*> {
                let mut object = $object::new();
                object.extend(values);
                object
            }
        }
    )*};
}

collected! {
    HerlihyWingQueue[T: (Sized)] of T;
}

/// An object stays usable after a panic. Values are moved, and if code of the user's runs in the
/// middle of an operation, the operation leaves the object as it was or completes.
/// `tests/user_code` checks this.
macro_rules! unwind_safe {
    ($($object:ident[$($parameter:ident),*];)*) => {$(
        impl<$($parameter),*> UnwindSafe for $object<$($parameter),*> {}
        impl<$($parameter),*> RefUnwindSafe for $object<$($parameter),*> {}
    )*};
}

unwind_safe! {
    HerlihyWingQueue[T]; ArrayQueue[T]; VyukovQueue[T];
}

#[cfg(target_has_atomic = "64")]
unwind_safe! {
    BoundedPriorityQueue[T]; Snzi[];
}

#[cfg(feature = "std")]
mod with_std;
