//! The atomic types.

use super::Ordering;
use super::shadow::{self, Label, word};
use crate::engine::interface::{self, Condition};
use ::std::fmt;
use ::std::panic::Location;

const SEQ: Ordering = Ordering::SeqCst;

/// The methods of all atomics. `$bits` converts a value to 64 bits.
macro_rules! common {
    ([$($generic:tt)*] $atomic:ty, $name:literal, $value:ty, $std:ty, $bits:expr) => {
        impl$($generic)* $atomic {
            #[inline]
            #[track_caller]
            fn label(&self, name: &'static str) -> Label {
                let location = ::std::ptr::from_ref(self).addr();
                Label { location, name, caller: Location::caller() }
            }

            /// As std's `new`.
            #[inline]
            pub const fn new(value: $value) -> Self {
                Self(<$std>::new(value))
            }

            /// As std's `from_ptr`.
            ///
            /// # Safety
            /// As std's: the pointer is aligned, valid for `'a`, and not accessed in ways that
            /// conflict.
            #[inline]
            pub const unsafe fn from_ptr<'a>(pointer: *mut $value) -> &'a Self {
                // SAFETY: the caller's guarantee; this type has the size and alignment of std's,
                // which has those of the value.
                unsafe { &*pointer.cast::<Self>() }
            }

            /// As std's `get_mut`.
            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// As std's `into_inner`.
            #[inline]
            pub const fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// As std's `as_ptr`: unchecked.
            #[inline]
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            /// As std's `load`.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                if !interface::active() {
                    return self.0.load(order);
                }
                shadow::check_load(order);
                let mut loaded = None;
                shadow::load(self.label(concat!($name, "::load")), order, || {
                    let value = self.0.load(SEQ);
                    loaded = Some(value);
                    $bits(value)
                });
                loaded.expect("the event has run")
            }

            /// As std's `store`.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                if !interface::active() {
                    return self.0.store(value, order);
                }
                shadow::check_store(order);
                let label = self.label(concat!($name, "::store"));
                shadow::store(label, order, $bits(value), || $bits(self.0.swap(value, SEQ)));
            }

            /// As std's `swap`.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                if !interface::active() {
                    return self.0.swap(value, order);
                }
                let changes = Some(Condition::differs($bits(value)));
                self.updated(concat!($name, "::swap"), order, changes, |atomic| {
                    (atomic.swap(value, SEQ), value)
                })
            }

            /// As std's `compare_exchange`.
            ///
            /// # Errors
            /// The current value, if it is not the expected one.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if !interface::active() {
                    return self.0.compare_exchange(current, new, success, failure);
                }
                let name = concat!($name, "::compare_exchange");
                self.exchanged(name, current, new, success, failure)
            }

            /// As std's `compare_exchange_weak`. In an exploration it fails spuriously only with
            /// [`spurious`](crate::engine::Exploration::spurious).
            ///
            /// # Errors
            /// The current value, if it is not the expected one or the exchange fails spuriously.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if !interface::active() {
                    return self.0.compare_exchange_weak(current, new, success, failure);
                }
                let name = concat!($name, "::compare_exchange_weak");
                self.exchanged_weakly(name, current, new, success, failure)
            }

            /// As std's `fetch_update`: a load, then weak compare-exchanges until one succeeds.
            ///
            /// # Errors
            /// The current value, if the function returns `None` for it.
            #[inline]
            #[track_caller]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut function: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                if !interface::active() {
                    return self.0.fetch_update(set, fetch, function);
                }
                let mut last = self.load(fetch);
                while let Some(next) = function(last) {
                    let name = concat!($name, "::fetch_update");
                    match self.exchanged_weakly(name, last, next, set, fetch) {
                        Ok(before) => return Ok(before),
                        Err(found) => last = found,
                    }
                }
                Err(last)
            }

            /// A weak compare-exchange, which may fail spuriously if the exploration allows it.
            #[track_caller]
            fn exchanged_weakly(
                &self,
                name: &'static str,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if !interface::spurious() {
                    return self.exchanged(name, current, new, success, failure);
                }
                shadow::check_failure(failure);
                let mut result = None;
                let values = ($bits(current), $bits(new));
                let peek = || $bits(self.0.load(SEQ));
                shadow::exchange_weakly(self.label(name), (success, failure), values, peek, |fails| {
                    let exchanged = match fails {
                        true => Err(self.0.load(SEQ)),
                        false => self.0.compare_exchange(current, new, SEQ, SEQ),
                    };
                    result = Some(exchanged);
                    exchanged.map($bits).map_err($bits)
                });
                result.expect("the event has run")
            }

            #[track_caller]
            fn exchanged(
                &self,
                name: &'static str,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                shadow::check_failure(failure);
                let mut result = None;
                let values = ($bits(current), $bits(new));
                shadow::exchange(self.label(name), success, failure, values, || {
                    let exchanged = self.0.compare_exchange(current, new, SEQ, SEQ);
                    result = Some(exchanged);
                    exchanged.map($bits).map_err($bits)
                });
                result.expect("the event has run")
            }

            /// An update that always succeeds; the function performs it and returns the values
            /// before and after.
            #[track_caller]
            fn updated(
                &self,
                name: &'static str,
                order: Ordering,
                changes: Option<Condition>,
                function: impl FnOnce(&$std) -> ($value, $value),
            ) -> $value {
                let mut result = None;
                shadow::update(self.label(name), order, changes, || {
                    let (before, after) = function(&self.0);
                    result = Some(before);
                    ($bits(before), $bits(after))
                });
                result.expect("the event has run")
            }
        }

        impl$($generic)* From<$value> for $atomic {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl$($generic)* fmt::Debug for $atomic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }
    };
}

/// One `fetch_…`: `$after` is the value that it leaves.
macro_rules! fetch {
    ($name:literal, $value:ty, $method:ident, $after:expr) => {
        fetch!($name, $value, $method, $after, |_| None);
    };
    ($name:literal, $value:ty, $method:ident, $after:expr, $changes:expr) => {
        /// As the method of the same name of std's.
        #[inline]
        #[track_caller]
        pub fn $method(&self, value: $value, order: Ordering) -> $value {
            if !interface::active() {
                return self.0.$method(value, order);
            }
            let changes: fn(u64) -> Option<Condition> = $changes;
            let changes = changes(value as u64);
            self.updated(concat!($name, "::", stringify!($method)), order, changes, |atomic| {
                let before = atomic.$method(value, SEQ);
                let after: fn($value, $value) -> $value = $after;
                (before, after(before, value))
            })
        }
    };
}

/// On which values an `or` makes a difference.
fn sets(mask: u64) -> Option<Condition> {
    Some(Condition::new(mask, |value, mask| value & mask != mask))
}

/// On which values an `and` makes a difference.
fn clears(mask: u64) -> Option<Condition> {
    Some(Condition::new(mask, |value, mask| value & mask != value))
}

/// As [`sets`], for words that may be addresses: the engine represents these by another number.
fn sets_word(mask: u64) -> Option<Condition> {
    Some(Condition::new(mask, |value, mask| word(value as usize) & mask != mask))
}

/// As [`clears`], for words that may be addresses.
fn clears_word(mask: u64) -> Option<Condition> {
    Some(Condition::new(mask, |value, mask| word(value as usize) & !mask != 0))
}

macro_rules! integer {
    ($atomic:ident, $value:ty, $name:literal) => {
        integer!($atomic, $value, $name, |value: $value| value as u64, sets, clears);
    };
    ($atomic:ident, $value:ty, $name:literal, $bits:expr) => {
        integer!($atomic, $value, $name, $bits, sets_word, clears_word);
    };
    ($atomic:ident, $value:ty, $name:literal, $bits:expr, $sets:expr, $clears:expr) => {
        #[doc = concat!("As `std::sync::atomic::", $name, "`.")]
        #[repr(transparent)]
        #[derive(Default)]
        pub struct $atomic(::std::sync::atomic::$atomic);

        common!([] $atomic, $name, $value, ::std::sync::atomic::$atomic, $bits);

        impl $atomic {
            fetch!($name, $value, fetch_add, |a, b| a.wrapping_add(b));
            fetch!($name, $value, fetch_sub, |a, b| a.wrapping_sub(b));
            fetch!($name, $value, fetch_and, |a, b| a & b, $clears);
            fetch!($name, $value, fetch_nand, |a, b| !(a & b));
            fetch!($name, $value, fetch_or, |a, b| a | b, $sets);
            fetch!($name, $value, fetch_xor, |a, b| a ^ b);
            fetch!($name, $value, fetch_max, |a, b| a.max(b));
            fetch!($name, $value, fetch_min, |a, b| a.min(b));
        }
    };
}

integer!(AtomicI8, i8, "AtomicI8");
integer!(AtomicU8, u8, "AtomicU8");
integer!(AtomicI16, i16, "AtomicI16");
integer!(AtomicU16, u16, "AtomicU16");
integer!(AtomicI32, i32, "AtomicI32");
integer!(AtomicU32, u32, "AtomicU32");
integer!(AtomicI64, i64, "AtomicI64", |value: i64| word(value as usize));
integer!(AtomicU64, u64, "AtomicU64", |value: u64| word(value as usize));
integer!(AtomicIsize, isize, "AtomicIsize", |value: isize| word(value as usize));
integer!(AtomicUsize, usize, "AtomicUsize", word);

/// As `std::sync::atomic::AtomicBool`.
#[repr(transparent)]
#[derive(Default)]
pub struct AtomicBool(::std::sync::atomic::AtomicBool);

common!([] AtomicBool, "AtomicBool", bool, ::std::sync::atomic::AtomicBool, u64::from);

impl AtomicBool {
    fetch!("AtomicBool", bool, fetch_and, |a, b| a & b, clears);
    fetch!("AtomicBool", bool, fetch_nand, |a, b| !(a & b));
    fetch!("AtomicBool", bool, fetch_or, |a, b| a | b, sets);
    fetch!("AtomicBool", bool, fetch_xor, |a, b| a ^ b);

    /// As std's `fetch_not`.
    #[inline]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

/// As `std::sync::atomic::AtomicPtr`.
#[repr(transparent)]
pub struct AtomicPtr<T>(::std::sync::atomic::AtomicPtr<T>);

common!([<T>] AtomicPtr<T>, "AtomicPtr", *mut T, ::std::sync::atomic::AtomicPtr<T>, |value: *mut T| word(value.addr()));

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        AtomicPtr::new(::std::ptr::null_mut())
    }
}
