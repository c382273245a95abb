//! As `std::thread_local!`: in an exploration each virtual thread has values of its own, which are
//! dropped when it ends.

use super::AccessError;
use crate::engine::interface::{self, Access, Effect, ThreadId};
use crate::front::{self, Edge, Front, Local};
use ::std::cell::{Cell, RefCell};
use ::std::fmt;
use ::std::mem::needs_drop;

/// As `std::thread::LocalKey`, made by [`thread_local!`](crate::thread_local).
pub struct LocalKey<T: 'static> {
    outside: &'static ::std::thread::LocalKey<T>,
    initial: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(outside: &'static ::std::thread::LocalKey<T>, initial: fn() -> T) -> Self {
        LocalKey { outside, initial }
    }

    /// As std's `with`.
    #[inline]
    pub fn with<R>(&'static self, function: impl FnOnce(&T) -> R) -> R {
        if !interface::active() {
            return self.outside.with(function);
        }
        let value = self.inside();
        interface::sweep();
        value.map_or_else(destroyed, function)
    }

    /// As std's `try_with`.
    ///
    /// # Errors
    /// If the value is being dropped or was.
    #[inline]
    pub fn try_with<R>(&'static self, function: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        if !interface::active() {
            return self.outside.try_with(function);
        }
        let value = self.inside();
        interface::sweep();
        value.map(function).ok_or_else(access_error)
    }

    /// The value of the current thread; `None` if its destructor has started.
    fn inside(&'static self) -> Option<&'static T> {
        self.inside_or(self.initial)
    }

    /// As [`LocalKey::inside`], with another initial expression.
    fn inside_or(&'static self, initial: impl FnOnce() -> T) -> Option<&'static T> {
        let key = ::std::ptr::from_ref(self).addr();
        let thread = interface::current_thread();
        let (found, dropped) = interface::with_state(|front: &mut Front| {
            let thread = front.thread(thread);
            let found = thread.locals.iter().find(|local| local.key == key);
            (found.map(|local| local.value), thread.dropped.contains(&key))
        });
        if dropped {
            return None;
        }
        let value = found.unwrap_or_else(|| Self::initialise(key, thread, initial));
        // SAFETY: the key is that of this static, so the value is a `T`. It lives until its thread
        // ends, and a reference to it lasts no longer than a call by that thread.
        Some(unsafe { &*value.cast::<T>() })
    }

    /// Runs the initial expression, which is user code and may use other thread locals, and stores
    /// its value.
    fn initialise(key: usize, thread: ThreadId, initial: impl FnOnce() -> T) -> *mut () {
        let value = initial();
        interface::with_state(|front: &mut Front| {
            let value: *mut () = Box::into_raw(Box::new(value)).cast();
            let drop = drop_value::<T>;
            let (size, drops) = (size_of::<T>(), needs_drop::<T>());
            front.thread(thread).locals.push(Local { key, value, size, drop, drops });
            value
        })
    }
}

/// Panics as std does.
#[cold]
fn destroyed<R>() -> R {
    panic!("cannot access a Thread Local Storage value during or after destruction: AccessError")
}

/// # Safety
/// The pointer must come from a `Box<T>`, which is given up.
unsafe fn drop_value<T>(value: *mut ()) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(value.cast::<T>()) });
}

/// Std has no other way to make one.
fn access_error() -> AccessError {
    const { assert!(size_of::<AccessError>() == 0) };
    // SAFETY: a type without a size or a field has one value.
    unsafe { ::std::mem::zeroed() }
}

/// The end of the calling thread after its body: if it has thread locals with destructors, it
/// announces that its body is over and runs them.
///
/// As in std, a scope and `is_finished` do not wait for these destructors; a join does.
pub(crate) fn finish() {
    let (thread, drops) = interface::with_own_state(|front: &mut Front, id| {
        let thread = front.thread(id);
        thread.finished_before = id.0 != 0 && thread.locals.iter().any(|local| local.drops);
        (id, thread.finished_before)
    });
    if drops {
        let access = Access::write(interface::ended(thread)).named("thread finishes");
        front::kept_event(access, |value| (Effect::write(value, FINISHED), Edge::Release));
    }
    drop_locals(thread);
}

/// The value of [`interface::ended`] while a thread's body is over but the destructors of its
/// thread locals are not.
const FINISHED: u64 = 2;

/// Drops the thread locals of the calling thread, the last one first, until their destructors
/// create no new ones. Those without a destructor live as long as the others.
fn drop_locals(thread: ThreadId) {
    loop {
        let next = interface::with_state(|front: &mut Front| {
            let thread = front.thread(thread);
            let last = thread.locals.iter().rposition(|local| local.drops);
            let local = match last {
                Some(index) => thread.locals.remove(index),
                None => thread.locals.pop()?,
            };
            if local.drops {
                thread.dropped.push(local.key);
            }
            Some(local)
        });
        let Some(local) = next else { break };
        // SAFETY: the value was made by `initialise` and has just been taken off the list.
        unsafe { (local.drop)(local.value) };
    }
    front::resolve_watches();
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// As std's `set`: a new value is initialised with this one, and the initial expression does
    /// not run.
    pub fn set(&'static self, value: T) {
        if !interface::active() {
            return self.outside.set(value);
        }
        let mut value = Some(value);
        let cell = self.inside_or(|| Cell::new(value.take().expect("it is asked once")));
        interface::sweep();
        let cell = cell.unwrap_or_else(destroyed);
        if let Some(value) = value {
            cell.set(value);
        }
    }

    /// As std's `get`.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// As std's `take`.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// As std's `replace`.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// As std's `with_borrow`.
    #[track_caller]
    pub fn with_borrow<R>(&'static self, function: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| function(&cell.borrow()))
    }

    /// As std's `with_borrow_mut`.
    #[track_caller]
    pub fn with_borrow_mut<R>(&'static self, function: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| function(&mut cell.borrow_mut()))
    }

    /// As std's `set`: a new value is initialised with this one, and the initial expression does
    /// not run.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if !interface::active() {
            return self.outside.set(value);
        }
        let mut value = Some(value);
        let cell = self.inside_or(|| RefCell::new(value.take().expect("it is asked once")));
        interface::sweep();
        let cell = cell.unwrap_or_else(destroyed);
        if let Some(value) = value {
            *cell.borrow_mut() = value;
        }
    }

    /// As std's `take`.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// As std's `replace`.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// As `std::thread_local!`.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = const $initial:block $(; $($rest:tt)*)?) => {
        $crate::thread_local!($(#[$attribute])* $visibility static $name: $type = $initial);
        $($crate::thread_local!($($rest)*);)?
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = const $initial:expr; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attribute])* $visibility static $name: $type = $initial);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $initial:expr; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attribute])* $visibility static $name: $type = $initial);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $initial:expr) => {
        $(#[$attribute])*
        $visibility static $name: $crate::std::thread::LocalKey<$type> = {
            fn initial() -> $type {
                $initial
            }
            ::std::thread_local!(static OUTSIDE: $type = initial());
            $crate::std::thread::LocalKey::new(&OUTSIDE, initial)
        };
    };
}
