//! As `std::sync::Once` and `std::sync::OnceLock`.
//!
//! In an exploration the state is the value of a location, which moves with the object
//! ([`Identity`]). A static that an earlier execution initialised starts afresh, because its value
//! is gone. An object that was initialised outside of all explorations stays initialised.

use super::identity::Identity;
use crate::engine::interface::{self, Access, Condition, Effect};
use crate::front::{Caller, Edge};
use ::std::cell::UnsafeCell;
use ::std::convert::Infallible;
use ::std::fmt;
use ::std::mem::MaybeUninit;
use ::std::panic::{Location, RefUnwindSafe, UnwindSafe};
use ::std::sync as real;

// 0: not called yet.
const RUNNING: u64 = 1;
const COMPLETE: u64 = 2;
const POISONED: u64 = 3;

/// As `std::sync::Once`.
pub struct Once {
    identity: Identity,
    outside: real::Once,
}

/// As `std::sync::OnceState`.
#[derive(Debug)]
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// As std's `is_poisoned`.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl Once {
    /// As std's `new`.
    pub const fn new() -> Once {
        Once { identity: Identity::new(), outside: real::Once::new() }
    }

    /// As std's `call_once`.
    ///
    /// # Panics
    /// If an earlier call has panicked.
    #[inline]
    #[track_caller]
    pub fn call_once(&self, function: impl FnOnce()) {
        if !interface::active() {
            return self.outside.call_once(function);
        }
        self.call("Once::call_once", false, |_| function());
    }

    /// As std's `call_once_force`.
    #[inline]
    #[track_caller]
    pub fn call_once_force(&self, function: impl FnOnce(&OnceState)) {
        if !interface::active() {
            let function = |state: &real::OnceState| {
                function(&OnceState { poisoned: state.is_poisoned() });
            };
            return self.outside.call_once_force(function);
        }
        self.call("Once::call_once_force", true, function);
    }

    /// As std's `is_completed`.
    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        if !interface::active() {
            return self.outside.is_completed();
        }
        let access = self.access("Once::is_completed", Location::caller());
        let effect = self.identity.event(access, |value| match self.state(value) {
            COMPLETE => (Effect::read(COMPLETE), Edge::Acquire),
            state => (Effect::read(state), Edge::None),
        });
        effect.after == COMPLETE
    }

    /// As std's `wait`.
    ///
    /// # Panics
    /// If a call has panicked.
    #[track_caller]
    pub fn wait(&self) {
        if !interface::active() {
            return self.outside.wait();
        }
        if self.outside.is_completed() {
            return;
        }
        let finished = Condition::new(0, |value, _| value >= COMPLETE);
        let access = self.access("Once::wait", Location::caller()).when(finished);
        let effect = self.identity.event(access, |value| (Effect::read(value), Edge::Acquire));
        assert!(effect.after != POISONED, "Once instance has previously been poisoned");
    }

    /// As std's `wait_force`: calls that have panicked do not end the wait.
    #[track_caller]
    pub fn wait_force(&self) {
        if !interface::active() {
            return self.outside.wait_force();
        }
        if self.outside.is_completed() {
            return;
        }
        let complete = Condition::equals(COMPLETE);
        let access = self.access("Once::wait_force", Location::caller()).when(complete);
        self.identity.event(access, |value| (Effect::read(value), Edge::Acquire));
    }

    /// Whether it is complete, for the owner; not an event.
    pub(super) fn is_complete_now(&self) -> bool {
        if !interface::active() {
            // After its execution, the state inside counts no more.
            return self.outside.is_completed();
        }
        self.state(self.identity.value()) == COMPLETE
    }

    fn access(&self, name: &'static str, caller: Caller) -> Access {
        Access::read(self.identity.location()).named(name).at(caller)
    }

    /// The state, if this is the value of its location.
    fn state(&self, value: u64) -> u64 {
        if self.outside.is_completed() { COMPLETE } else { value }
    }

    #[track_caller]
    fn call(&self, name: &'static str, force: bool, function: impl FnOnce(&OnceState)) {
        let caller = Location::caller();
        let access = Access::update(self.identity.location())
            .when(Condition::differs(RUNNING))
            .named(name)
            .at(caller);
        let effect = self.identity.event(access, |value| {
            let found = self.state(value);
            let done = found == COMPLETE || (found == POISONED && !force);
            (Effect::update(found, if done { found } else { RUNNING }), Edge::Acquire)
        });
        let found = effect.before;
        if found == COMPLETE {
            return;
        }
        assert!(force || found != POISONED, "Once instance has previously been poisoned");
        // A panic of the function leaves it poisoned.
        let mut finish = Finish { once: self, state: POISONED, caller };
        function(&OnceState { poisoned: found == POISONED });
        finish.state = COMPLETE;
    }
}

struct Finish<'a> {
    once: &'a Once,
    state: u64,
    caller: Caller,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let identity = &self.once.identity;
        let access = Access::write(identity.location()).named("Once, finished").at(self.caller);
        identity.event(access, |value| (Effect::write(value, self.state), Edge::Release));
    }
}

impl Default for Once {
    fn default() -> Self {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

/// As `std::sync::OnceLock`.
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: as std's: the value is written once, before anybody else can reach it.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// As std's `new`.
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// As std's `get`.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: the value was written.
        self.once.is_completed().then(|| unsafe { self.written() })
    }

    /// As std's `get_mut`.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: the value was written, and is borrowed exclusively.
        self.once.is_complete_now().then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// As std's `wait`: functions that have panicked do not end the wait.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        // SAFETY: the value was written.
        unsafe { self.written() }
    }

    /// As std's `set`.
    ///
    /// # Errors
    /// The value, if there is one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("the function is called once"));
        value.map_or(Ok(()), Err)
    }

    /// As std's `get_or_init`.
    #[inline]
    #[track_caller]
    pub fn get_or_init(&self, function: impl FnOnce() -> T) -> &T {
        let done: Result<&T, Infallible> = self.initialise(|| Ok(function()));
        match done {
            Ok(value) => value,
        }
    }

    /// As std's `into_inner`.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// As std's `take`.
    pub fn take(&mut self) -> Option<T> {
        if !self.once.is_complete_now() {
            return None;
        }
        self.once = Once::new();
        // SAFETY: the value was written, and is no longer marked as written.
        Some(unsafe { self.value.get_mut().assume_init_read() })
    }

    #[track_caller]
    fn initialise<E>(&self, function: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let mut failed = None;
        if !self.once.is_completed() {
            self.once.call_once_force(|_| match function() {
                // SAFETY: no other thread reaches the value before the call is complete.
                Ok(value) => unsafe {
                    (*self.value.get()).write(value);
                },
                Err(error) => failed = Some(error),
            });
        }
        match failed {
            Some(error) => Err(error),
            // SAFETY: the value was written.
            None => Ok(unsafe { self.written() }),
        }
    }

    /// # Safety
    /// The value must have been written.
    unsafe fn written(&self) -> &T {
        // SAFETY: the caller's promise; it is never written again while borrowed.
        unsafe { (*self.value.get()).assume_init_ref() }
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let lock = OnceLock::new();
        let _ = lock.set(value);
        lock
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> Self {
        self.get().map_or_else(OnceLock::new, |value| OnceLock::from(value.clone()))
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}
