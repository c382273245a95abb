//! The events of one execution, in the order in which they ran, with their vector clocks.
//!
//! **Happens-before** is the least order that contains each thread's own order, the order of
//! conflicting events, and spawning. `clock(e)[t]` is how many of thread `t`'s events happen before
//! `e` or are `e`: event `f`, the `n`th of its thread, happens before `e` iff
//! `clock(e)[thread of f] >= n`.
//!
//! **Choices.** An event in which the environment chose counts as a write if any choice could have
//! written: the event stands for all its outcomes when one schedule is taken to cover another.
//!
//! Clocks are stored in one flat array. As long as an execution repeats the previous one, they are
//! kept: a replayed event is compared with the stored one, and nothing is computed again.
//!
//! Each location has the chain of its accesses, newest first ([`Touch::previous`]). An event's
//! clock is its thread's clock joined with that of the last write (if it reads) or of all accesses
//! back to the last write (if it writes).

use std::iter;
use std::ops::Range;
use std::panic::Location;

use super::footprint::{Footprint, Watched, contains};
use super::interface::{Access, Effect, NOWHERE};
use super::locations::Locations;

/// No event, no touch.
pub(crate) const NONE: u32 = u32::MAX;

/// One access of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) thread: u32,
    /// The how-manieth of its thread, from 1.
    pub(crate) number: u32,
    /// The thread's event before it.
    pub(crate) previous: u32,
    pub(crate) footprint: Footprint,
    pub(crate) access: Access,
    pub(crate) effect: Effect,
    /// What the environment chose, and the number of choices.
    pub(crate) choice: u32,
    pub(crate) choices: u32,
    /// Its first touch; the next event's is behind its last.
    touches: u32,
}

/// One location of one event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) event: u32,
    /// The touch of this location before it.
    pub(crate) previous: u32,
    pub(crate) location: usize,
    pub(crate) wrote: bool,
    /// The value of the location before the event, and after it.
    pub(crate) before: u64,
    pub(crate) after: u64,
}

/// A call of an operation of the object under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OperationSpan {
    pub(crate) thread: u32,
    pub(crate) operation: u64,
    /// `None`: it has not returned.
    pub(crate) result: Option<u64>,
    /// How many events its thread had at the call, and at the return.
    pub(crate) call: u32,
    pub(crate) ret: u32,
}

/// An access to plain memory for display among the steps. It is not an event and orders nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aside {
    pub(crate) thread: u32,
    /// How many events had run before it.
    pub(crate) after: u32,
    pub(crate) operation: Option<u64>,
    pub(crate) location: usize,
    pub(crate) wrote: bool,
    pub(crate) caller: &'static Location<'static>,
}

/// Summary of a thread's past.
#[derive(Clone, Copy, Debug)]
struct Past {
    last: u32,
    count: u32,
}

/// The events of one execution.
#[derive(Default)]
pub(crate) struct Trace {
    events: Vec<Event>,
    touches: Vec<Touch>,
    clocks: Vec<u32>,
    /// The clock that each thread was spawned with.
    births: Vec<u32>,
    /// How many threads a clock has room for.
    width: usize,
    /// How many events of the stored ones have run again in this execution.
    length: usize,
    threads: Vec<Past>,
    pub(crate) operations: Vec<OperationSpan>,
    pub(crate) asides: Vec<Aside>,
    pub(crate) locations: Locations,
}

impl Trace {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    #[inline]
    pub(crate) fn event(&self, index: u32) -> &Event {
        &self.events[index as usize]
    }

    /// The event that is to be repeated next; `None` if nothing is to be repeated.
    #[inline]
    pub(crate) fn expected(&self) -> Option<&Event> {
        self.events.get(self.length)
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.events[..self.length]
    }

    #[inline]
    pub(crate) fn touches_of(&self, event: u32) -> &[Touch] {
        &self.touches[self.touches_range(event)]
    }

    #[inline]
    fn touches_range(&self, event: u32) -> Range<usize> {
        let end =
            self.events.get(event as usize + 1).map_or(self.touches.len(), |e| e.touches as usize);
        self.events[event as usize].touches as usize..end
    }

    #[inline]
    pub(crate) fn touch(&self, index: u32) -> &Touch {
        &self.touches[index as usize]
    }

    /// The accesses of a location, from this one backwards, that conflict with a write or with a
    /// read.
    #[inline]
    pub(crate) fn conflicting(&self, last: u32, wrote: bool) -> impl Iterator<Item = &Touch> + '_ {
        let at = |index: u32| (index != NONE).then(|| self.touch(index));
        iter::successors(at(last), move |touch| at(touch.previous))
            .filter(move |touch| wrote || touch.wrote)
    }

    #[inline]
    pub(crate) fn clock(&self, event: u32) -> &[u32] {
        &self.clocks[event as usize * self.width..][..self.width]
    }

    /// For each event from this one on, how many events of a thread happen before it.
    #[inline]
    pub(crate) fn known_of(&self, thread: u32, from: u32) -> impl Iterator<Item = u32> + '_ {
        let first = (from as usize * self.width + thread as usize).min(self.clocks.len());
        self.clocks[first..].iter().step_by(self.width.max(1)).copied()
    }

    /// The clock of a thread before the event that follows its event `previous`.
    #[inline]
    pub(crate) fn clock_after(&self, thread: u32, previous: u32) -> &[u32] {
        if previous == NONE {
            &self.births[thread as usize * self.width..][..self.width]
        } else {
            self.clock(previous)
        }
    }

    /// Whether an event happens before, or is, the event with this clock.
    #[inline]
    pub(crate) fn precedes(&self, event: u32, clock: &[u32]) -> bool {
        let event = self.event(event);
        clock[event.thread as usize] >= event.number
    }

    /// A thread's last event.
    pub(crate) fn last_of(&self, thread: u32) -> u32 {
        self.threads[thread as usize].last
    }

    pub(crate) fn count_of(&self, thread: u32) -> u32 {
        self.threads[thread as usize].count
    }

    /// The thread's event with this number, from 1.
    pub(crate) fn nth_of(&self, thread: u32, number: u32) -> u32 {
        let mut event = self.last_of(thread);
        while self.event(event).number > number {
            event = self.event(event).previous;
        }
        event
    }

    /// Starts an execution whose first `keep` events should equal the stored ones.
    pub(crate) fn restart(&mut self, keep: usize) {
        if let Some(event) = self.events.get(keep) {
            self.touches.truncate(event.touches as usize);
            self.events.truncate(keep);
        }
        self.clocks.truncate(self.events.len() * self.width);
        self.length = 0;
        self.threads.clear();
        self.operations.clear();
        self.asides.clear();
        self.locations.clear();
    }

    /// A thread appears, with the past of its parent.
    pub(crate) fn add_thread(&mut self, thread: u32, parent: Option<u32>) {
        let thread = thread as usize;
        if thread >= self.width {
            self.widen((thread + 1).next_power_of_two().max(8));
        }
        while self.threads.len() <= thread {
            self.threads.push(Past { last: NONE, count: 0 });
        }
        self.births.resize(self.births.len().max((thread + 1) * self.width), 0);
        let birth = thread * self.width;
        match parent {
            None => self.births[birth..birth + self.width].fill(0),
            Some(parent) => match self.last_of(parent) {
                NONE => {
                    let from = parent as usize * self.width;
                    self.births.copy_within(from..from + self.width, birth);
                }
                last => {
                    let from = last as usize * self.width;
                    self.births[birth..birth + self.width]
                        .copy_from_slice(&self.clocks[from..from + self.width]);
                }
            },
        }
    }

    fn widen(&mut self, width: usize) {
        let old = std::mem::replace(&mut self.width, width);
        for clocks in [&mut self.clocks, &mut self.births] {
            let rows = clocks.len().checked_div(old).unwrap_or(0);
            let mut wide = vec![0; rows * width];
            for row in 0..rows {
                wide[row * width..row * width + old]
                    .copy_from_slice(&clocks[row * old..(row + 1) * old]);
            }
            *clocks = wide;
        }
    }

    /// Repeats the next stored event. Returns false if the thread made a different one: the program
    /// did not repeat itself.
    #[inline]
    pub(crate) fn repeat(
        &mut self,
        thread: u32,
        location: usize,
        effect: Effect,
        choices: u32,
    ) -> bool {
        let index = self.length as u32;
        let stored = &self.events[index as usize];
        let same = stored.thread == thread
            && stored.access.location == location
            && stored.effect == effect
            && stored.choices == choices;
        self.threads[thread as usize] = Past { last: index, count: stored.number };
        self.length += 1;
        for i in self.touches_range(index) {
            let touch = &self.touches[i];
            self.locations.replace(touch.location, i as u32, touch.after);
        }
        same
    }

    /// Adds the event of a thread.
    pub(crate) fn push(
        &mut self,
        thread: u32,
        access: &Access,
        watched: Option<Watched>,
        effect: Effect,
        choice: (u32, u32),
    ) {
        let index = self.length as u32;
        self.length += 1;
        let past = &mut self.threads[thread as usize];
        let (previous, number) = (past.last, past.count + 1);
        *past = Past { last: index, count: number };
        let footprint = Footprint {
            location: access.location,
            wrote: effect.wrote || choice.1 > 1 && access.may_change(effect.before),
            block: access.block,
            gives_up: access.gives_up,
            watched,
        };
        let touches = self.touches.len() as u32;
        let own = index as usize * self.width;
        if previous == NONE {
            let birth = thread as usize * self.width;
            self.clocks.extend_from_slice(&self.births[birth..birth + self.width]);
        } else {
            let before = previous as usize * self.width;
            self.clocks.extend_from_within(before..before + self.width);
        }
        self.clocks[own + thread as usize] = number;
        self.touch_all(index, &footprint, effect);
        let access = *access;
        let (choice, choices) = choice;
        self.events.push(Event {
            thread,
            number,
            previous,
            footprint,
            access,
            effect,
            choice,
            choices,
            touches,
        });
    }

    #[inline]
    fn touch_all(&mut self, event: u32, footprint: &Footprint, effect: Effect) {
        if footprint.location != NOWHERE {
            let touch = Touch {
                event,
                previous: NONE,
                location: footprint.location,
                wrote: footprint.wrote,
                before: effect.before,
                after: effect.after,
            };
            self.touch_one(touch);
        }
        if footprint.is_wide() {
            self.touch_widely(event, footprint);
        }
    }

    /// The locations of an event besides its own.
    #[cold]
    fn touch_widely(&mut self, event: u32, footprint: &Footprint) {
        if let Some(watched) = &footprint.watched {
            for &(location, _) in watched.iter().filter(|w| w.0 != footprint.location) {
                let before = self.locations.value(location);
                let after = before;
                let touch = Touch { event, previous: NONE, location, wrote: false, before, after };
                self.touch_one(touch);
            }
        }
        if let Some(block) = footprint.block {
            // In order of address: the same order in every execution.
            let mut inside: Vec<usize> =
                self.locations.all().filter(|&l| contains(block, l)).collect();
            inside.sort_unstable();
            for location in inside {
                let before = self.locations.value(location);
                let touch =
                    Touch { event, previous: NONE, location, wrote: true, before, after: 0 };
                self.touch_one(touch);
            }
        }
    }

    /// Links a touch of the last event, and joins the clocks of the events that it depends on into
    /// that event's clock.
    fn touch_one(&mut self, mut touch: Touch) {
        let (earlier_clocks, clock) = self.clocks.split_at_mut(touch.event as usize * self.width);
        let index = self.touches.len() as u32;
        touch.previous = self.locations.replace(touch.location, index, touch.after);
        let mut earlier = touch.previous;
        while earlier != NONE {
            let other = &self.touches[earlier as usize];
            let event = &self.events[other.event as usize];
            if (touch.wrote || other.wrote) && clock[event.thread as usize] < event.number {
                // Of threads that have not appeared yet nothing is known.
                let theirs = &earlier_clocks[other.event as usize * self.width..];
                let theirs = &theirs[..self.threads.len()];
                for (mine, theirs) in clock.iter_mut().zip(theirs) {
                    *mine = (*mine).max(*theirs);
                }
            }
            if other.wrote {
                break;
            }
            earlier = other.previous;
        }
        self.touches.push(touch);
    }
}
