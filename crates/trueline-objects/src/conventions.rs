//! What users of std and crossbeam expect of a container, made of its operations. Nothing here touches an object but through them, so that what was explored of
//! them holds.

use crate::{FetchAddQueue, MichaelScottQueue, Semiqueue, TreiberStack};
use std::fmt;
use std::iter::FusedIterator;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Takes values out of a container, one `pop` at a time, until one finds nothing.
///
/// Others may go on meanwhile: what they put in may come out here, too. If it is dropped early, what is left stays.
#[must_use = "it takes a value out when it is asked for the next one"]
pub struct Drain<'a, C>(&'a C);

/// The values of a container that nobody else has, in the order in which it gives them out. What is left is dropped with it.
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

/// The names of std and crossbeam for a queue's operations, which the papers call `enq` and `deq`.
macro_rules! queue_names {
    ($($object:ident)*) => {$(
        impl<T> $object<T> {
            /// Puts a value at the end: another name of `enq`.
            #[inline]
            pub fn push(&self, value: T) {
                self.enq(value);
            }

            /// Takes a value out, as `deq` does, of which it is another name; `None` where there is none.
            #[inline]
            pub fn pop(&self) -> Option<T> {
                self.deq()
            }
        }
    )*};
}

queue_names! { MichaelScottQueue FetchAddQueue Semiqueue }

macro_rules! container {
    ($($object:ident)*) => {$(
        impl<T> $object<T> {
            /// Takes values out until there is none, one at a time: other threads may come in between, and what they put in comes out here, too.
            pub fn drain(&self) -> Drain<'_, $object<T>> {
                Drain(self)
            }
        }

        impl<T> Iterator for Drain<'_, $object<T>> {
            type Item = T;

            fn next(&mut self) -> Option<T> {
                self.0.pop()
            }
        }

        impl<T> Iterator for IntoIter<$object<T>> {
            type Item = T;

            fn next(&mut self) -> Option<T> {
                self.0.pop()
            }
        }

        // Nobody else puts anything in.
        impl<T> FusedIterator for IntoIter<$object<T>> {}

        impl<T> IntoIterator for $object<T> {
            type Item = T;
            type IntoIter = IntoIter<$object<T>>;

            fn into_iter(self) -> IntoIter<$object<T>> {
                IntoIter(self)
            }
        }

        impl<T> Extend<T> for $object<T> {
            fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
                values.into_iter().for_each(|value| self.push(value));
            }
        }

        /// Through a shared reference, too: others may put values in between.
        impl<T> Extend<T> for &$object<T> {
            fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
                values.into_iter().for_each(|value| self.push(value));
            }
        }

        // No code of the user's runs while an operation is half done, and values are moved.
        impl<T> UnwindSafe for $object<T> {}
        impl<T> RefUnwindSafe for $object<T> {}
    )*};
}

container! { TreiberStack MichaelScottQueue FetchAddQueue Semiqueue }

macro_rules! collected {
    ($($object:ident)*) => {$(
        impl<T> FromIterator<T> for $object<T> {
            fn from_iter<I: IntoIterator<Item = T>>(values: I) -> $object<T> {
                let mut object = $object::new();
                object.extend(values);
                object
            }
        }
    )*};
}

collected! { TreiberStack MichaelScottQueue FetchAddQueue }
