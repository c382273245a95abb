//! Finds the races of a trace that another schedule could resolve the other way.
//!
//! Two events race if they conflict, belong to different threads, and nothing else orders them: the
//! first does not happen before the predecessor of the second in its thread, nor before another
//! event that conflicts with the second. To reverse the race, the search runs everything that does
//! not depend on the first event from the point where it began, and then the second event.
//!
//! **Conditions.** An access that waits (a lock, a join, an await) could have run before an earlier
//! event only if its condition held there. So the walk goes back over the accesses of its location,
//! past those before which it was disabled, to the first before which it was enabled: past the
//! unlock, to the lock before it. An access that waits for ever at the end of an execution has
//! raced in the same way, although it never ran.

use super::footprint::{Footprint, Watched};
use super::interface::{Access, Kind, NOWHERE};
use super::strategy::BlockedThread;
use super::trace::{NONE, Trace};

/// An event and a later access that could have come first.
pub(crate) struct Race {
    pub(crate) first: u32,
    pub(crate) second: Second,
}

/// The access that is to run earlier, as it would be there.
#[derive(Clone)]
pub(crate) struct Second {
    pub(crate) thread: u32,
    /// The event of its thread before it.
    pub(crate) previous: u32,
    pub(crate) footprint: Footprint,
}

/// Finds the races of a trace. Keeps its memory from one trace to the next.
#[derive(Default)]
pub(crate) struct Races {
    clock: Vec<u32>,
    candidates: Vec<(u32, u64)>,
}

impl Races {
    /// Calls back with each race, those of the accesses that wait for ever among them.
    pub(crate) fn find(
        &mut self,
        trace: &Trace,
        blocked: &[BlockedThread],
        mut found: impl FnMut(Race),
    ) {
        for index in 0..trace.len() as u32 {
            let touches = trace.touches_of(index);
            // These locations have no earlier access.
            if touches.iter().all(|touch| touch.previous == NONE) {
                continue;
            }
            let event = trace.event(index);
            let walk = Walk {
                trace,
                access: &event.access,
                thread: event.thread,
                previous: event.previous,
                last: touches[0].previous,
                watched: event.footprint.watched.as_ref(),
            };
            if let [touch] = touches {
                self.walk(&walk, touch.wrote, touch.previous, &mut found);
            } else {
                self.clock.clear();
                self.clock.extend_from_slice(trace.clock_after(event.thread, event.previous));
                self.candidates.clear();
                for touch in touches {
                    walk.collect(touch.wrote, touch.previous, &self.clock, &mut self.candidates);
                }
                self.keep_races(&walk, &mut found);
            }
        }
        for waiting in blocked {
            let previous = trace.last_of(waiting.thread);
            let location = waiting.access.location;
            let last = trace.locations.last(location);
            let walk = Walk {
                trace,
                access: &waiting.access,
                thread: waiting.thread,
                previous,
                last,
                watched: waiting.watched.as_ref(),
            };
            self.clock.clear();
            self.clock.extend_from_slice(trace.clock_after(waiting.thread, previous));
            self.candidates.clear();
            let wrote = waiting.access.kind != Kind::Read;
            walk.collect(wrote, last, &self.clock, &mut self.candidates);
            for &(watched, _) in waiting.watched.as_deref().unwrap_or(&[]) {
                if watched != location {
                    let last = trace.locations.last(watched);
                    walk.collect(false, last, &self.clock, &mut self.candidates);
                }
            }
            self.keep_races(&walk, &mut found);
        }
    }

    /// The common case: one location.
    fn walk(&mut self, walk: &Walk<'_>, wrote: bool, last: u32, found: &mut impl FnMut(Race)) {
        let trace = walk.trace;
        let before = trace.clock_after(walk.thread, walk.previous);
        // Knowledge from the races found so far: none yet.
        let mut joined = false;
        for touch in trace.conflicting(last, wrote) {
            let ordered = trace.precedes(touch.event, before)
                || joined && trace.precedes(touch.event, &self.clock);
            if !ordered && walk.enabled_on(touch.before) {
                found(walk.race(touch.event, touch.before));
                if touch.wrote {
                    break;
                }
                if !joined {
                    joined = true;
                    self.clock.clear();
                    self.clock.resize(before.len(), 0);
                }
                join(&mut self.clock, trace.clock(touch.event));
            } else if ordered && touch.wrote {
                // All that is earlier happens before it.
                break;
            }
        }
    }

    /// Races among candidates from several locations, latest first.
    fn keep_races(&mut self, walk: &Walk<'_>, found: &mut impl FnMut(Race)) {
        self.candidates.sort_unstable_by(|a, b| b.cmp(a));
        self.candidates.dedup_by_key(|candidate| candidate.0);
        for &(event, value) in &self.candidates {
            if !walk.trace.precedes(event, &self.clock) {
                found(walk.race(event, value));
                join(&mut self.clock, walk.trace.clock(event));
            }
        }
    }
}

fn join(clock: &mut [u32], other: &[u32]) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// An access that looks for events it races with.
struct Walk<'a> {
    trace: &'a Trace,
    access: &'a Access,
    thread: u32,
    previous: u32,
    /// The touch of its own location before it.
    last: u32,
    watched: Option<&'a Watched>,
}

impl Walk<'_> {
    /// Whether the access could run while its only location has this value.
    fn enabled_on(&self, value: u64) -> bool {
        if let Some(watched) = self.watched {
            return watched.iter().any(|&(_, seen)| seen != value);
        }
        self.access.condition.is_none_or(|c| (c.holds)(value, c.argument))
    }

    /// Walks back over one location and adds the events before which the access could have run,
    /// given the value of its own location there.
    fn collect(&self, wrote: bool, last: u32, clock: &[u32], candidates: &mut Vec<(u32, u64)>) {
        let trace = self.trace;
        for touch in trace.conflicting(last, wrote) {
            let ordered = trace.precedes(touch.event, clock);
            if !ordered && self.enabled_before(touch.event) {
                let value = self.value_without(self.access.location, touch.event);
                candidates.push((touch.event, value));
                if touch.wrote {
                    break;
                }
            } else if ordered && touch.wrote {
                break;
            }
        }
    }

    /// Whether the access could run without an event and everything that depends on it.
    fn enabled_before(&self, event: u32) -> bool {
        if let Some(watched) = self.watched {
            return watched.iter().any(|&(l, seen)| self.value_without(l, event) != seen);
        }
        self.access
            .condition
            .is_none_or(|c| (c.holds)(self.value_without(self.access.location, event), c.argument))
    }

    /// The value that a location would have without an event and everything that depends on it.
    fn value_without(&self, location: usize, event: u32) -> u64 {
        if location == NOWHERE {
            return 0;
        }
        let trace = self.trace;
        let mut value = trace.locations.value(location);
        let mut at = trace.locations.last(location);
        while at != NONE {
            let touch = trace.touch(at);
            if !trace.precedes(event, trace.clock(touch.event)) {
                return touch.after;
            }
            value = touch.before;
            at = touch.previous;
        }
        value
    }

    /// How many owners its own location would count without an event and everything that depends on
    /// it.
    fn owners_without(&self, event: u32) -> u64 {
        let trace = self.trace;
        let mut owners = if self.last == NONE { 0 } else { trace.touch(self.last).after };
        let mut at = self.last;
        while at != NONE && trace.touch(at).event >= event {
            let touch = trace.touch(at);
            if trace.precedes(event, trace.clock(touch.event)) {
                owners = (owners + touch.before).wrapping_sub(touch.after);
            }
            at = touch.previous;
        }
        owners
    }

    fn race(&self, first: u32, mut value: u64) -> Race {
        if self.access.gives_up {
            // Others that give up come before it, too, and do not depend on the first.
            value = self.owners_without(first);
        }
        let wrote = self.access.may_change(value);
        let footprint = Footprint {
            location: self.access.location,
            wrote,
            block: self.access.block,
            gives_up: self.access.gives_up,
            watched: self.watched.cloned(),
        };
        let second = Second { thread: self.thread, previous: self.previous, footprint };
        Race { first, second }
    }
}
