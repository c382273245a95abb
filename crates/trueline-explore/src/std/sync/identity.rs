//! The identity of a lock and similar objects: its address is the location of its events, and it
//! stores the value that the engine keeps there.
//!
//! It has an address of its own, so that no atomic inside of the protected value has the same
//! location. But addresses are reused: an atomic on the stack or another lock may have had this
//! lock's address before, and the lock may have moved. So the lock stores the value as well. Before
//! each access the two are compared. If they belong to different objects, the location starts
//! afresh with the value of the lock.
//!
//! **Statics** never move, no other object ever has their address, and several executions on
//! several OS threads may use one at the same time. A lock counts as a static if it was first used
//! in another execution, or was created outside of all explorations: then the engine's value is
//! valid.

use crate::engine::interface::{self, Access, Effect};
use crate::front::{self, Edge, Front};
use crate::memory::canonical;
use ::std::fmt;
use ::std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub(super) struct Identity {
    /// The execution in which it was first used; 0 before.
    stamp: AtomicU64,
    /// Its address when it was last used.
    at: AtomicUsize,
    /// The value of its location then.
    value: AtomicU64,
}

impl Identity {
    pub(super) const fn new() -> Identity {
        Identity { stamp: AtomicU64::new(0), at: AtomicUsize::new(0), value: AtomicU64::new(0) }
    }

    /// The location of the next access; the engine holds its current value.
    #[inline]
    pub(super) fn location(&self) -> usize {
        let location = ::std::ptr::from_ref(self).addr();
        self.revise(location);
        // This function leaves different contents on the stack when it is used for the first time.
        // Clearing them lets a loop that tries a lock be recognised.
        interface::sweep();
        location
    }

    #[inline(never)]
    fn revise(&self, location: usize) {
        let stamp = interface::with_state(|front: &mut Front| front.stamp);
        let first = self.stamp.load(Ordering::Relaxed);
        if first == 0 {
            self.stamp.store(stamp, Ordering::Relaxed);
            self.begin(location);
        } else if first == stamp
            && (self.at.load(Ordering::Relaxed) != location
                || interface::value(canonical(location)) != self.value.load(Ordering::Relaxed))
        {
            self.begin(location);
        }
    }

    /// It is at an address where another object was before.
    #[cold]
    fn begin(&self, location: usize) {
        self.at.store(location, Ordering::Relaxed);
        interface::renew_location(canonical(location), self.value.load(Ordering::Relaxed));
        interface::with_state(|front: &mut Front| {
            front.detector.forget_sync(location);
            front.condvars.remove(&location);
        });
    }

    /// Whether it has ever been at an event.
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        self.stamp.load(Ordering::Relaxed) != 0
    }

    /// The current value, for the owner: not an event.
    pub(super) fn value(&self) -> u64 {
        interface::value(canonical(self.location()))
    }

    /// An event at its location. The function gets the value.
    pub(super) fn event(&self, access: Access, body: impl FnOnce(u64) -> (Effect, Edge)) -> Effect {
        let effect = front::kept_event(access, body);
        self.keep(effect.after);
        interface::sweep();
        effect
    }

    /// An event at its location has been recorded.
    pub(super) fn keep_now(&self) {
        self.keep(interface::value(canonical(::std::ptr::from_ref(self).addr())));
    }

    /// An event changed the value. Of a lock that other executions use too, only the engine knows
    /// the value.
    #[inline]
    fn keep(&self, value: u64) {
        if self.stamp.load(Ordering::Relaxed) == front::stamp() {
            self.value.store(value, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}
