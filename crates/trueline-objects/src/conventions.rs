//! What users of std and crossbeam expect of a container, made of its operations. Nothing here
//! touches an object but through them, so that what was explored of them holds.

use crate::{ArrayQueue, HerlihyWingQueue, VyukovQueue};
#[cfg(target_has_atomic = "64")]
use crate::{BoundedPriorityQueue, Snzi};
use core::fmt;
use core::iter::FusedIterator;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// Takes values out of a container, one `pop` at a time, until one finds nothing.
///
/// Others may go on meanwhile: what they put in may come out here, too. If it is dropped early,
/// what is left stays.
#[must_use = "it takes a value out when it is asked for the next one"]
pub struct Drain<'a, C>(&'a C);

/// The values of a container that nobody else has, in the order in which it gives them out. What is
/// left is dropped with it.
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

/// The names of std and crossbeam, where the papers have `enq` and `deq`.
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

    /// Takes a value if it finds one: another name of `try_deq`, which says what is weak about it.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.try_deq()
    }
}

/// The same for queues with a bound.
macro_rules! bounded_queue_names {
    ($($object:ident)*) => {$(
        impl<T> $object<T> {
            /// Puts a value at the end, or gives it back where there is no room: another name of
            /// `enq`.
            ///
            /// # Errors
            /// The value, where there is no room.
            #[inline]
            pub fn push(&self, value: T) -> Result<(), T> {
                self.enq(value)
            }

            /// Takes the oldest value, as `deq` does, of which it is another name; `None` where
            /// there is none.
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
            /// Takes values out until there is none, one at a time: other threads may come in
            /// between, and what they put in comes out here, too.
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

        // Nobody else puts anything in.
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

        /// Through a shared reference, too: others may come in between.
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

/// Those that can be collected: what else they are made of has a usual value.
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

/// An object may be used after a panic: values are moved, and where code of the user's runs while
/// an operation is half done, the operation leaves the object as it was or does the rest.
/// `tests/user_code` holds them to it.
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
