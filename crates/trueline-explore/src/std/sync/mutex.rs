//! As `std::sync::Mutex`. In an exploration the lock is a location that is 0 when free; a thread
//! that locks it waits for that value.

use super::guards::{guard, lock, poison, tried, try_event};
use super::identity::Identity;
use super::poison::Poison;
use super::{LockResult, PoisonError, TryLockResult};
use crate::engine::interface::{self, Access, Condition, Effect};
use crate::front::{self, Caller, Edge};
use crate::std::thread::panicking;
use ::std::cell::UnsafeCell;
use ::std::marker::PhantomData;
use ::std::panic::{Location, RefUnwindSafe, UnwindSafe};
use ::std::sync as real;

/// As `std::sync::Mutex`.
pub struct Mutex<T: ?Sized> {
    identity: Identity,
    outside: real::Mutex<()>,
    poisoned: Poison,
    value: UnsafeCell<T>,
}

// SAFETY: as std's: the value is reached by one guard at a time.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

/// As `std::sync::MutexGuard`.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) lock: &'a Mutex<T>,
    pub(super) outside: Option<real::MutexGuard<'a, ()>>,
    panicking: bool,
    caller: Caller,
    not_send: PhantomData<*const ()>,
}

// SAFETY: as std's: sharing a guard shares the value.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// As std's `new`.
    #[inline]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            identity: Identity::new(),
            outside: real::Mutex::new(()),
            poisoned: Poison::new(),
            value: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// As std's `lock`.
    ///
    /// # Errors
    /// The guard, if the mutex is poisoned.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let caller = Location::caller();
        if !interface::active() {
            let outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
            return self.guard(Some(outside), caller);
        }
        self.acquire("Mutex::lock", caller);
        self.guard(None, caller)
    }

    /// As std's `try_lock`.
    ///
    /// # Errors
    /// The guard, if the mutex is poisoned; nothing, if it is locked.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let caller = Location::caller();
        if !interface::active() {
            let outside = tried(self.outside.try_lock())?;
            return Ok(self.guard(Some(outside), caller)?);
        }
        let access = Access::update(self.identity.location()).named("Mutex::try_lock").at(caller);
        try_event(&self.identity, access, |value| (value == 0).then_some(1))?;
        Ok(self.guard(None, caller)?)
    }

    /// Takes the lock as an event.
    pub(super) fn acquire(&self, name: &'static str, caller: Caller) {
        let access = Access::update(self.identity.location())
            .when(Condition::equals(0))
            .named(name)
            .at(caller);
        self.identity.event(access, |value| (Effect::update(value, 1), Edge::Acquire));
    }

    /// Gives the lock back as an event.
    pub(super) fn release(&self, name: &'static str, caller: Caller) {
        front::let_go(self.value.get());
        let access = Access::write(self.identity.location()).named(name).at(caller);
        self.identity.event(access, |value| (Effect::write(value, 0), Edge::Release));
    }

    pub(super) fn guard<'a>(
        &'a self,
        outside: Option<real::MutexGuard<'a, ()>>,
        caller: Caller,
    ) -> LockResult<MutexGuard<'a, T>> {
        let not_send = PhantomData;
        if outside.is_none() {
            front::hold(self.value.get(), size_of_val(&self.value));
        }
        let guard = MutexGuard { lock: self, outside, panicking: panicking(), caller, not_send };
        poison(guard, self.poisoned.is_found(caller))
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The parts of a guard that a condition variable takes over, without unlocking.
    pub(super) fn into_parts(self) -> (&'a Mutex<T>, Option<real::MutexGuard<'a, ()>>) {
        let mut guard = ::std::mem::ManuallyDrop::new(self);
        (guard.lock, guard.outside.take())
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // The engine may drop a guard of an exploration after the exploration's end. Then there is
        // no event to make.
        if self.outside.is_none() && !interface::active() {
            return;
        }
        if !self.panicking && panicking() {
            self.lock.poisoned.set(self.caller);
        }
        if self.outside.is_none() {
            self.lock.release("MutexGuard::drop", self.caller);
        }
    }
}

guard!(mut MutexGuard);
lock!(Mutex);
