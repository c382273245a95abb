//! As `std::sync::RwLock`. In an exploration the location holds the number of readers, or a bit for
//! the writer.

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

const WRITER: u64 = 1 << 63;

/// As `std::sync::RwLock`.
pub struct RwLock<T: ?Sized> {
    identity: Identity,
    outside: real::RwLock<()>,
    poisoned: Poison,
    value: UnsafeCell<T>,
}

// SAFETY: as std's: the value is reached by one writer, or by several readers.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; readers share the value.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// As `std::sync::RwLockReadGuard`.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    outside: Option<real::RwLockReadGuard<'a, ()>>,
    caller: Caller,
    not_send: PhantomData<*const ()>,
}

/// As `std::sync::RwLockWriteGuard`.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    outside: Option<real::RwLockWriteGuard<'a, ()>>,
    panicking: bool,
    caller: Caller,
    not_send: PhantomData<*const ()>,
}

// SAFETY: as std's: sharing a guard shares the value.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T> RwLock<T> {
    /// As std's `new`.
    #[inline]
    pub const fn new(value: T) -> RwLock<T> {
        RwLock {
            identity: Identity::new(),
            outside: real::RwLock::new(()),
            poisoned: Poison::new(),
            value: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// As std's `read`.
    ///
    /// # Errors
    /// The guard, if the lock is poisoned.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let caller = Location::caller();
        if !interface::active() {
            let outside = self.outside.read().unwrap_or_else(PoisonError::into_inner);
            return self.reader(Some(outside), caller);
        }
        let access = self.access("RwLock::read", caller).when(Condition::none_set(WRITER));
        self.identity.event(access, |n| (Effect::update(n, n + 1), Edge::Acquire));
        self.reader(None, caller)
    }

    /// As std's `try_read`.
    ///
    /// # Errors
    /// The guard, if the lock is poisoned; nothing, if it is locked by a writer.
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let caller = Location::caller();
        if !interface::active() {
            let outside = tried(self.outside.try_read())?;
            return Ok(self.reader(Some(outside), caller)?);
        }
        let access = self.access("RwLock::try_read", caller);
        try_event(&self.identity, access, |value| (value & WRITER == 0).then_some(value + 1))?;
        Ok(self.reader(None, caller)?)
    }

    /// As std's `write`.
    ///
    /// # Errors
    /// The guard, if the lock is poisoned.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let caller = Location::caller();
        if !interface::active() {
            let outside = self.outside.write().unwrap_or_else(PoisonError::into_inner);
            return self.writer(Some(outside), caller);
        }
        let access = self.access("RwLock::write", caller).when(Condition::equals(0));
        self.identity.event(access, |value| (Effect::update(value, WRITER), Edge::Acquire));
        self.writer(None, caller)
    }

    /// As std's `try_write`.
    ///
    /// # Errors
    /// The guard, if the lock is poisoned; nothing, if it is locked.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let caller = Location::caller();
        if !interface::active() {
            let outside = tried(self.outside.try_write())?;
            return Ok(self.writer(Some(outside), caller)?);
        }
        let access = self.access("RwLock::try_write", caller);
        try_event(&self.identity, access, |value| (value == 0).then_some(WRITER))?;
        Ok(self.writer(None, caller)?)
    }

    fn access(&self, name: &'static str, caller: Caller) -> Access {
        Access::update(self.identity.location()).named(name).at(caller)
    }

    fn reader<'a>(
        &'a self,
        outside: Option<real::RwLockReadGuard<'a, ()>>,
        caller: Caller,
    ) -> LockResult<RwLockReadGuard<'a, T>> {
        let guard = RwLockReadGuard { lock: self, outside, caller, not_send: PhantomData };
        poison(guard, self.poisoned.is_found(caller))
    }

    fn writer<'a>(
        &'a self,
        outside: Option<real::RwLockWriteGuard<'a, ()>>,
        caller: Caller,
    ) -> LockResult<RwLockWriteGuard<'a, T>> {
        let (panicking, not_send) = (panicking(), PhantomData);
        if outside.is_none() {
            front::hold(self.value.get(), size_of_val(&self.value));
        }
        let guard = RwLockWriteGuard { lock: self, outside, panicking, caller, not_send };
        poison(guard, self.poisoned.is_found(caller))
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.outside.is_none() && interface::active() {
            let access = self.lock.access("RwLockReadGuard::drop", self.caller);
            self.lock
                .identity
                .event(access, |n| (Effect::update(n, n.saturating_sub(1)), Edge::Release));
        }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.outside.is_none() && !interface::active() {
            return;
        }
        if !self.panicking && panicking() {
            self.lock.poisoned.set(self.caller);
        }
        if self.outside.is_none() {
            front::let_go(self.lock.value.get());
            let access = self.lock.access("RwLockWriteGuard::drop", self.caller);
            self.lock.identity.event(access, |value| (Effect::write(value, 0), Edge::Release));
        }
    }
}

guard!(RwLockReadGuard);
guard!(mut RwLockWriteGuard);
lock!(RwLock);
