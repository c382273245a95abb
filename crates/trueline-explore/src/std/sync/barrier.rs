//! As `std::sync::Barrier`. In an exploration the location holds the number of the round and of the
//! threads that have arrived in it.

use super::identity::Identity;
use crate::engine::interface::{self, Access, Condition, Effect};
use crate::front::Edge;
use ::std::fmt;
use ::std::panic::Location;
use ::std::sync as real;

const ARRIVED: u64 = (1 << 32) - 1;

/// As `std::sync::Barrier`.
pub struct Barrier {
    identity: Identity,
    threads: usize,
    outside: real::Barrier,
}

/// As `std::sync::BarrierWaitResult`.
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// As std's `is_leader`. In an exploration the leader is the thread that arrived last.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// As std's `new`.
    #[must_use]
    pub const fn new(threads: usize) -> Barrier {
        Barrier { identity: Identity::new(), threads, outside: real::Barrier::new(threads) }
    }

    /// As std's `wait`.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        if !interface::active() {
            return BarrierWaitResult(self.outside.wait().is_leader());
        }
        let (location, caller) = (self.identity.location(), Location::caller());
        let threads = self.threads as u64;
        let arrival = Access::update(location).named("Barrier::wait, arriving").at(caller);
        let arrived = self.identity.event(arrival, |value| {
            let last = (value & ARRIVED) + 1 >= threads;
            let after = if last { (value | ARRIVED) + 1 } else { value + 1 };
            (Effect::update(value, after), Edge::Both)
        });
        let round = arrived.before >> 32;
        if arrived.after >> 32 != round {
            return BarrierWaitResult(true);
        }
        let opened = Condition::new(round, |value, round| value >> 32 != round);
        let access = Access::read(location).when(opened).named("Barrier::wait").at(caller);
        self.identity.event(access, |value| (Effect::read(value), Edge::Acquire));
        BarrierWaitResult(false)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
