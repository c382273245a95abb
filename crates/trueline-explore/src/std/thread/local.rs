//! As `std::thread_local!`: in an exploration each virtual thread has values of its own, which are dropped when it ends.

use super::AccessError;
use crate::engine::interface::{self, ThreadId};
use crate::front::{self, Front, Local};
use ::std::cell::{Cell, RefCell};
use ::std::fmt;

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
        function(self.inside())
    }

    /// As std's `try_with`. In an exploration a value that was dropped at the end of its thread is made anew.
    ///
    /// # Errors
    /// If the value is being dropped or was, outside of an exploration.
    #[inline]
    pub fn try_with<R>(&'static self, function: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        if !interface::active() {
            return self.outside.try_with(function);
        }
        Ok(function(self.inside()))
    }

    fn inside(&'static self) -> &'static T {
        let key = ::std::ptr::from_ref(self).addr();
        let thread = interface::current_thread();
        let found = interface::with_state(|front: &mut Front| {
            let locals = &front.thread(thread).locals;
            locals.iter().find(|local| local.key == key).map(|local| local.value)
        });
        let value = found.unwrap_or_else(|| self.initialise(key, thread));
        // SAFETY: the key is that of this static, so the value is a `T`. It lives until its thread ends; references to it
        // are not handed out for longer than a call by that thread.
        unsafe { &*value.cast::<T>() }
    }

    /// Runs the initial expression, which is user code and may use other thread locals, then keeps its value.
    fn initialise(&'static self, key: usize, thread: ThreadId) -> *mut () {
        let value = (self.initial)();
        interface::with_state(|front: &mut Front| {
            let value: *mut () = Box::into_raw(Box::new(value)).cast();
            let drop = drop_value::<T>;
            let size = size_of::<T>();
            front.thread(thread).locals.push(Local { key, value, size, drop });
            value
        })
    }
}

/// # Safety
/// The pointer must come from a `Box<T>`, which is given up.
unsafe fn drop_value<T>(value: *mut ()) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(value.cast::<T>()) });
}

/// Drops the thread locals of the calling thread, the last one first, until their destructors make no new ones.
pub(crate) fn drop_locals() {
    let thread = interface::current_thread();
    loop {
        let last = interface::with_state(|front: &mut Front| front.thread(thread).locals.pop());
        let Some(local) = last else { break };
        // SAFETY: the value was made by `initialise` and has just been taken off the list.
        unsafe { (local.drop)(local.value) };
    }
    front::settle();
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// As std's `set`.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
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

    /// As std's `set`.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        self.with(|cell| *cell.borrow_mut() = value);
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
