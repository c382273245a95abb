//! The ticket lock: take a number, wait until it is called.
//!
//! D. P. Reed, R. K. Kanodia: Synchronization with eventcounts and sequencers. CACM 22(2), 1979; J.
//! M. Mellor-Crummey, M. L. Scott: Algorithms for scalable synchronization on shared-memory
//! multiprocessors. TOCS 9(1), 1991.
//!
//! The lock is held, or promised to a thread that waits, iff `next` and `serving` differ.
//!
//! **Progress.** Blocking; threads get the lock in the order of their requests, so none starves.
//! `try_lock` and unlocking are wait-free. Cost: one read-modify-write to lock, a store to unlock.
//! All waiting threads read one location, so it is for few threads and short critical sections. A
//! thread that stops while it waits blocks all behind it.

use super::padded::Padded;
use super::sync::Backoff;
use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// A lock around a value, first come first served.
///
/// ```
/// let lock = trueline_objects::TicketLock::new(1);
/// *lock.lock() += 1;
/// let held = lock.lock();
/// assert!(*held == 2 && lock.try_lock().is_none());
/// ```
pub struct TicketLock<T> {
    /// The next number to be taken.
    next: Padded<AtomicUsize>,
    /// The number that has the lock, or can have it.
    serving: Padded<AtomicUsize>,
    value: UnsafeCell<T>,
}

// SAFETY: the value moves with the lock.
unsafe impl<T: Send> Send for TicketLock<T> {}
// SAFETY: one thread at a time accesses the value, and each after the one before it has unlocked.
unsafe impl<T: Send> Sync for TicketLock<T> {}

/// The guard of the lock: unlocks when dropped.
#[must_use]
pub struct Guard<'a, T> {
    lock: &'a TicketLock<T>,
    /// As for a `&mut T`: the guard may be shared between threads only if the value may.
    reaches: PhantomData<&'a mut T>,
}

impl<T> TicketLock<T> {
    /// An unlocked lock.
    pub const fn new(value: T) -> TicketLock<T> {
        TicketLock {
            next: Padded(AtomicUsize::new(0)),
            serving: Padded(AtomicUsize::new(0)),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_, T> {
        // Relaxed: the order of the numbers is all that matters.
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        // Acquire: earlier accesses under the lock are visible.
        let backoff = Backoff::default();
        while self.serving.load(Ordering::Acquire) != ticket {
            backoff.wait_for_other();
        }
        Guard { lock: self, reaches: PhantomData }
    }

    /// Takes the lock if it is free and no thread waits for it.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        // Acquire: as in `lock`. If the number is still the next one when it is taken, it is the
        // one that is served, and stays so.
        let ticket = self.serving.load(Ordering::Acquire);
        let after = ticket.wrapping_add(1);
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = self.next.compare_exchange(ticket, after, yes, no).is_ok();
        taken.then(|| Guard { lock: self, reaches: PhantomData })
    }

    /// Unlocks a lock whose guard was forgotten.
    ///
    /// # Safety
    /// The lock is held by a guard that was forgotten, and nothing accesses the value through it.
    pub unsafe fn force_unlock(&self) {
        // No other thread writes it while the lock is held.
        let ticket = self.serving.load(Ordering::Relaxed);
        // Release: accesses under the lock are visible to the next holder.
        self.serving.store(ticket.wrapping_add(1), Ordering::Release);
    }

    /// The value, without locking: the lock is exclusively borrowed.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the lock is held, so that only this guard gives access to the value.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the guard holds the lock and is being dropped.
        unsafe { self.lock.force_unlock() };
    }
}

impl<T: Default> Default for TicketLock<T> {
    fn default() -> TicketLock<T> {
        TicketLock::new(T::default())
    }
}

impl<T> core::fmt::Debug for TicketLock<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TicketLock").finish_non_exhaustive()
    }
}
