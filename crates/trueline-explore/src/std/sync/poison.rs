//! Whether a lock is poisoned.
//!
//! In an exploration the flag is the value of a location of its own: a guard that a panic drops
//! writes it before it releases the lock. A thread that takes a lock that has never been poisoned
//! reads the flag without an event: only the holder of the lock can poison it, so the order of the
//! two is that of the lock. Once the lock has been poisoned, inside or outside of the exploration,
//! `clear_poison` may come at any time, and reading the flag is an event.

use super::identity::Identity;
use crate::engine::interface::{self, Access, Effect};
use crate::front::{Caller, Edge};
use ::std::sync::atomic::{AtomicBool, Ordering};

/// It never was, in this execution: as outside of it.
const NEVER: u64 = 0;
const POISONED: u64 = 1;
const CLEARED: u64 = 2;

pub(super) struct Poison {
    identity: Identity,
    /// Poisoning outside of explorations.
    outside: AtomicBool,
}

impl Poison {
    pub(super) const fn new() -> Poison {
        Poison { identity: Identity::new(), outside: AtomicBool::new(false) }
    }

    fn is(&self, value: u64) -> bool {
        value == POISONED || value == NEVER && self.outside.load(Ordering::Relaxed)
    }

    /// Whether it is set, for the owner of the lock or for display: not an event.
    pub(super) fn is_set_now(&self) -> bool {
        self.is(self.value_now())
    }

    fn value_now(&self) -> u64 {
        if interface::active() && self.identity.is_used() { self.identity.value() } else { NEVER }
    }

    /// Whether it is set, for a thread that has just taken the lock.
    #[inline]
    pub(super) fn is_found(&self, caller: Caller) -> bool {
        let never = self.value_now() == NEVER && !self.outside.load(Ordering::Relaxed);
        !never && self.look("lock, looking for poison", caller)
    }

    /// Whether it is set, for a thread that does not hold the lock.
    pub(super) fn look(&self, name: &'static str, caller: Caller) -> bool {
        if !interface::active() {
            return self.is(NEVER);
        }
        let access = Access::read(self.identity.location()).named(name).at(caller);
        let effect = self.identity.event(access, |value| (Effect::read(value), Edge::None));
        self.is(effect.after)
    }

    pub(super) fn clear(&self, name: &'static str, caller: Caller) {
        if !interface::active() {
            return self.outside.store(false, Ordering::Relaxed);
        }
        let access = Access::update(self.identity.location()).named(name).at(caller);
        self.identity.event(access, |value| {
            (Effect::update(value, if self.is(value) { CLEARED } else { value }), Edge::None)
        });
    }

    /// A guard is dropped by a panic, in an exploration or outside.
    pub(super) fn set(&self, caller: Caller) {
        if !interface::active() {
            return self.outside.store(true, Ordering::Relaxed);
        }
        let access = Access::write(self.identity.location()).named("lock, poisoned").at(caller);
        self.identity.event(access, |value| (Effect::write(value, POISONED), Edge::None));
    }
}
