//! Vector clocks of events: which events come before an event, in happens-before and in (sb u rf)+.
//!
//! For each thread, a clock counts how many of its first events come before. Both relations contain
//! the order within a thread, so a count is enough. The cost of an event is linear in the number of
//! threads.

use smallvec::SmallVec;

use super::graph::{EventId, Kind};
use super::program::Order;

/// How many of the first events of each thread are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(SmallVec<[u32; 6]>);

impl Clock {
    pub(crate) fn of_thread(&self, thread: u32) -> u32 {
        self.0.get(thread as usize).copied().unwrap_or(0)
    }

    /// Whether an event is known. Initial writes are known to everybody.
    pub(crate) fn knows(&self, event: EventId) -> bool {
        event.is_initial() || event.index < self.of_thread(event.thread)
    }

    pub(crate) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, &theirs) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(theirs);
        }
    }

    /// An event becomes known, with all that its thread did before.
    fn add(&mut self, event: EventId) {
        let thread = event.thread as usize;
        if self.0.len() <= thread {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] = self.0[thread].max(event.index + 1);
    }
}

/// The clocks of an event, and those that its thread carries on to the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks {
    /// The event and all that happens before it.
    pub(crate) happens_before: Clock,
    /// The event and all before it in (sb u rf)+.
    pub(crate) prefix: Clock,
    /// `happens_before` at the last release fence of the thread.
    released: Clock,
    /// The clocks that its relaxed reads have read, for its next acquire fence.
    to_acquire: Clock,
    /// The clock that an acquiring reader of this write joins.
    passed_on: Clock,
}

impl Clocks {
    /// The clocks of an event, from those of the previous event of its thread. `source`: the clocks
    /// of the write that it reads; for the write half of a read-modify-write, those of the write
    /// that its read half reads.
    pub(super) fn next(
        before: &Clocks,
        event: EventId,
        kind: Kind,
        order: Order,
        source: Option<&Clocks>,
    ) -> Clocks {
        let mut clocks = Clocks { passed_on: Clock::default(), ..before.clone() };
        if kind == Kind::Read
            && let Some(source) = source
        {
            clocks.prefix.join(&source.prefix);
            if order.acquires() {
                clocks.happens_before.join(&source.passed_on);
            } else if order != Order::NotAtomic {
                clocks.to_acquire.join(&source.passed_on);
            }
        }
        if kind == Kind::Fence && order.acquires() {
            clocks.happens_before.join(&before.to_acquire);
        }
        clocks.happens_before.add(event);
        clocks.prefix.add(event);
        if kind == Kind::Fence && order.releases() {
            clocks.released = clocks.happens_before.clone();
        }
        if kind == Kind::Write && order != Order::NotAtomic {
            clocks.passed_on =
                if order.releases() { &clocks.happens_before } else { &clocks.released }.clone();
            if let Some(source) = source {
                clocks.passed_on.join(&source.passed_on);
            }
        }
        clocks
    }
}
