//! As `std::sync::Condvar`.
//!
//! In an exploration each waiter waits at a location of its own, which enters the list of the
//! condition variable before the mutex is released. `notify_one` may wake any of them, and each
//! choice is explored. A wait with a timeout may end at any time: it is an access without a
//! condition, which finds that it was notified or not. A notification orders nothing by itself: the
//! waiter learns from others only through the mutex, as std promises no more. A wait that may end
//! spuriously ([`spurious`](crate::engine::Exploration::spurious)) works in the same way without a
//! timeout; whether it ends so is chosen when it begins.

use super::identity::Identity;
use super::mutex::MutexGuard;
use super::{LockResult, Mutex, PoisonError};
use crate::engine::interface::{self, Access, Condition, Effect};
use crate::front::{self, Caller, Edge, Front};
use ::std::fmt;
use ::std::panic::Location;
use ::std::sync as real;
use ::std::time::{Duration, Instant};

/// As `std::sync::Condvar`.
pub struct Condvar {
    identity: Identity,
    outside: real::Condvar,
}

/// A wait that has begun.
struct Entered {
    /// The location where the thread waits.
    place: usize,
    /// A notification has met no waiter before.
    lost: bool,
    /// The wait ends for no reason.
    spurious: bool,
}

/// As `std::sync::WaitTimeoutResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// As std's `timed_out`.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// As std's `new`.
    pub const fn new() -> Condvar {
        Condvar { identity: Identity::new(), outside: real::Condvar::new() }
    }

    /// As std's `wait`.
    ///
    /// # Errors
    /// The guard, if the mutex is poisoned.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let caller = Location::caller();
        let (mutex, outside) = guard.into_parts();
        if let Some(outside) = outside {
            let outside = self.outside.wait(outside).unwrap_or_else(PoisonError::into_inner);
            return mutex.guard(Some(outside), caller);
        }
        self.wait_notified(mutex, caller);
        mutex.guard(None, caller)
    }

    /// As std's `wait_while`.
    ///
    /// # Errors
    /// The guard, if the mutex is poisoned.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As std's `wait_timeout`. In an exploration the timeout may expire at any moment.
    ///
    /// # Errors
    /// The guard, if the mutex is poisoned.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let caller = Location::caller();
        let (mutex, outside) = guard.into_parts();
        let (locked, timed_out) = if let Some(outside) = outside {
            let waited = self.outside.wait_timeout(outside, timeout);
            let (outside, result) = waited.unwrap_or_else(PoisonError::into_inner);
            (mutex.guard(Some(outside), caller), result.timed_out())
        } else {
            let timed_out = self.wait_briefly(mutex, timeout, caller);
            (mutex.guard(None, caller), timed_out)
        };
        let result = WaitTimeoutResult(timed_out);
        match locked {
            Ok(guard) => Ok((guard, result)),
            Err(error) => Err(PoisonError::new((error.into_inner(), result))),
        }
    }

    /// As std's `wait_timeout_while`.
    ///
    /// # Errors
    /// The guard, if the mutex is poisoned.
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let start = (!interface::active()).then(Instant::now);
        let mut timed_out = false;
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            // Outside, the rest of the time; inside, the first timeout is the last.
            let left = match start {
                Some(start) => timeout.checked_sub(start.elapsed()),
                None => (!timed_out).then_some(timeout),
            };
            let Some(left) = left else { return Ok((guard, WaitTimeoutResult(true))) };
            let (again, result) = self.wait_timeout(guard, left)?;
            (guard, timed_out) = (again, result.timed_out());
        }
    }

    /// As std's `notify_one`. In an exploration each waiter is chosen in some execution.
    #[track_caller]
    pub fn notify_one(&self) {
        self.outside.notify_one();
        if interface::active() {
            self.notify("Condvar::notify_one", Location::caller(), true);
        }
    }

    /// As std's `notify_all`.
    #[track_caller]
    pub fn notify_all(&self) {
        self.outside.notify_all();
        if interface::active() {
            self.notify("Condvar::notify_all", Location::caller(), false);
        }
    }

    /// Enters the list of waiters.
    fn enter(&self, caller: Caller) -> Entered {
        let location = self.identity.location();
        let place = interface::fresh_location();
        let access = Access::update(location).named("Condvar::wait, entering").at(caller);
        let access = front::arrive(access);
        let spurious = interface::spurious() && front::wakes_spuriously(caller);
        let entered = front::perform_touching(access, |front, _| {
            let waiters = front.condvars.entry(location).or_default();
            waiters.locations.push(place);
            let count = waiters.locations.len() as u64;
            let entered = Entered { place, lost: waiters.lost > 0, spurious };
            (entered, Effect::write(count - 1, count))
        });
        self.identity.keep_now();
        interface::sweep();
        entered
    }

    fn wait_notified<T: ?Sized>(&self, mutex: &Mutex<T>, caller: Caller) {
        let Entered { place, lost, spurious } = self.enter(caller);
        mutex.release("Condvar::wait, unlocking", caller);
        if spurious {
            self.leave(place, "Condvar::wait", caller);
            mutex.acquire("Condvar::wait, locking", caller);
            return;
        }
        let name = if lost {
            "Condvar::wait (lost wakeup: a notification came before anybody waited)"
        } else {
            "Condvar::wait"
        };
        let access = Access::read(place).when(Condition::equals(1)).named(name).at(caller);
        front::kept_event(access, |value| (Effect::read(value), Edge::None));
        mutex.acquire("Condvar::wait, locking", caller);
    }

    fn wait_briefly<T: ?Sized>(&self, mutex: &Mutex<T>, timeout: Duration, caller: Caller) -> bool {
        let Entered { place, spurious, .. } = self.enter(caller);
        mutex.release("Condvar::wait_timeout, unlocking", caller);
        let timed_out = self.leave(place, "Condvar::wait_timeout", caller) && !spurious;
        if timed_out {
            crate::std::time::pass(timeout);
        }
        mutex.acquire("Condvar::wait_timeout, locking", caller);
        timed_out
    }

    /// Ends a wait that may end without a notification; returns whether it did.
    ///
    /// Leaving the list and checking for a notification are one access to the list, so that no
    /// notification is lost on a waiter that has given up.
    fn leave(&self, place: usize, name: &'static str, caller: Caller) -> bool {
        let location = self.identity.location();
        let access = Access::update(location).named(name).at(caller);
        let timed_out = front::touching(access, |front, _| {
            let waiters = front.condvars.entry(location).or_default();
            let count = waiters.locations.len() as u64;
            match waiters.locations.iter().position(|&other| other == place) {
                Some(index) => {
                    waiters.locations.remove(index);
                    (true, Effect::write(count, count - 1))
                }
                None => (false, Effect::read(count)),
            }
        });
        self.identity.keep_now();
        timed_out
    }

    fn notify(&self, name: &'static str, caller: Caller, one: bool) {
        let location = self.identity.location();
        let access = Access::update(location).named(name).at(caller);
        let access = front::arrive(access);
        let count = interface::with_state(|front: &mut Front| {
            front.condvars.entry(location).or_default().locations.len()
        });
        let chosen = if one && count > 1 { interface::choose(count as u32) as usize } else { 0 };
        let woken = front::perform_touching(access, |front, _| {
            let waiters = front.condvars.entry(location).or_default();
            let before = waiters.locations.len() as u64;
            let woken = match before {
                0 => Vec::new(),
                _ if one => vec![waiters.locations.remove(chosen)],
                _ => ::std::mem::take(&mut waiters.locations),
            };
            if woken.is_empty() {
                waiters.lost += 1;
                return (woken, Effect::read(before));
            }
            let after = waiters.locations.len() as u64;
            (woken, Effect::write(before, after))
        });
        self.identity.keep_now();
        for &place in &woken {
            let access = Access::write(place).named("Condvar, waking").at(caller);
            front::kept_event(access, |value| (Effect::write(value, 1), Edge::None));
        }
        front::outside(|| drop(woken));
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
