//! Threads that spin, found without their help.
//!
//! A loop that waits by reading would make executions endless. A thread that is about to repeat a round of reads which
//! has changed nothing, in the very state in which it began the round before, would repeat it for ever while the
//! values stay as they are. So its access becomes one that waits until one of those locations has another value:
//! an await, which to the search is like a lock. If all that is left waits so, the execution is a livelock.
//!
//! **The state of a thread** is its stack and registers, compared by a hash of 64 bits. So a loop that counts its
//! rounds, and gives up in the end, is not taken for one that spins. Not seen are changes that a round makes to memory outside of its
//! stack without a shadow access: a loop that counts in a `Box` is taken to spin. A read-modify-write that
//! leaves the value as it is, a failed compare-exchange among them, is a read.
//!
//! The state is hashed only where a thread reads a location again from the same line since it last wrote; the first
//! round is never compared, since what lies on the stack before it may be leftovers. Those of the engine itself, which
//! works on the thread's stack, are swept away after each such read. On processors other
//! than x86-64 the state is not known, and only the following finds loops.
//!
//! **Hints.** After `spin_loop` or `yield_now` between two reads of a location from the same line the state is not asked for, as long as
//! the reads after the hint find what those before it found: the program itself says that it waits. A loop that gives up after some rounds with hints is seen to give up only when
//! values change.

use std::panic::Location;
use std::ptr;
use std::sync::Arc;

use super::footprint::Watched;
use super::interface::{Access, Effect, NOWHERE};
use super::locations::Locations;

/// How many reads in a row are remembered: longer rounds are not found.
const LONGEST_ROUND: usize = 64;

/// One read of a thread since it last changed something.
struct Read {
    location: usize,
    caller: &'static Location<'static>,
    value: u64,
    /// The thread's state before it, if it was asked for.
    state: Option<u64>,
}

/// What is known of a thread's recent reads.
#[derive(Default)]
pub(crate) struct Spin {
    reads: Vec<Read>,
    /// As many reads had been made at the last hint.
    hint: Option<usize>,
    /// The state before the access that is announced.
    state: Option<u64>,
    watched: Option<Watched>,
}

/// The part of a stack that is in use: the saved registers lie at its lowest address.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) lowest: *const u64,
    pub(crate) base: *const u64,
}

impl Frame {
    /// A hash of all words.
    fn state(self) -> Option<u64> {
        if self.lowest.is_null() {
            return None;
        }
        // Four lanes, since each step waits for the one before.
        let mut lanes = [1u64, 2, 3, 4];
        let mut at = self.lowest;
        while at < self.base {
            for lane in &mut lanes {
                if at < self.base {
                    // SAFETY: between the stack pointer of the thread that runs now and the base of its stack all memory is mapped. No
                    // other thread of the OS writes to it. The values are not interpreted.
                    let word = unsafe { ptr::read_volatile(at) };
                    *lane = (lane.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                }
                at = at.wrapping_add(1);
            }
        }
        let hash = lanes.into_iter().fold(0u64, |hash, lane| {
            (hash.rotate_left(29) ^ lane ^ lane >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
        });
        Some(hash)
    }
}

impl Spin {
    pub(crate) fn reset(&mut self) {
        self.reads.clear();
        self.hint = None;
        self.state = None;
        self.watched = None;
    }

    pub(crate) fn hint(&mut self) {
        self.hint = Some(self.reads.len());
    }

    /// A thread is about to make an access.
    #[inline]
    pub(crate) fn announce(&mut self, access: &Access, frame: Frame) {
        if !self.reads.is_empty() {
            self.compare(access, frame);
        }
    }

    fn compare(&mut self, access: &Access, frame: Frame) {
        let same =
            |read: &Read| read.location == access.location && ptr::eq(read.caller, access.caller);
        let Some(latest) = self.reads.iter().rposition(same) else {
            return;
        };
        if self.has_changed_since(latest) {
            return;
        }
        let start = if self.hint.is_some_and(|reads| reads > latest && self.repeats_since(reads)) {
            Some(latest)
        } else {
            // A round may read a location several times from the same line, in calls from different places.
            self.state = frame.state();
            let alike = |read: &Read| same(read) && read.state == self.state;
            self.state.and_then(|_| self.reads.iter().rposition(alike))
        };
        if let Some(start) = start
            && !self.has_changed_since(start)
        {
            let round = self.reads[start..].iter();
            let mut watched: Vec<(usize, u64)> =
                round.map(|read| (read.location, read.value)).collect();
            watched.sort_unstable();
            watched.dedup();
            self.watched = Some(Arc::from(watched));
        }
    }

    /// Whether a value has changed within a round: then the next one will not be like it. What the values are now must not matter:
    /// it depends on who else has run since, and what an event is must depend on its thread's past alone.
    fn has_changed_since(&self, start: usize) -> bool {
        let round = &self.reads[start..];
        let changed = |read: &Read| {
            let differs =
                |other: &Read| other.location == read.location && other.value != read.value;
            round.iter().any(differs)
        };
        round.iter().any(changed)
    }

    /// Whether all reads since the hint found what those before it had found. If one did not, the thread has seen something new, and
    /// the next rounds need not be like the last.
    fn repeats_since(&self, hint: usize) -> bool {
        let (before, since) = self.reads.split_at(hint);
        since.iter().all(|read| {
            let mut same = before.iter().filter(|other| other.location == read.location).peekable();
            same.peek().is_some() && same.all(|other| other.value == read.value)
        })
    }

    /// The access was made; returns what the thread had been waiting for.
    #[inline]
    pub(crate) fn recorded(&mut self, access: &Access, effect: Effect) -> Option<Watched> {
        if effect.wrote || access.condition.is_some() || access.location == NOWHERE {
            if !self.reads.is_empty() || self.watched.is_some() {
                let watched = self.watched.take();
                self.reset();
                return watched;
            }
            return None;
        }
        let watched = self.watched.take();
        if watched.is_some() || self.reads.len() == LONGEST_ROUND {
            self.reset();
        }
        self.reads.push(Read {
            location: access.location,
            caller: access.caller,
            value: effect.before,
            state: self.state.take(),
        });
        watched
    }

    /// Whether the last access was a read that repeats one from the same line.
    #[inline]
    pub(crate) fn repeats(&self) -> bool {
        self.reads.last().is_some_and(|read| read.state.is_some())
    }

    pub(crate) fn watched(&self) -> Option<Watched> {
        self.watched.clone()
    }

    /// Whether the thread does not spin, or one of the values that it looks at has changed.
    #[inline]
    pub(crate) fn may_go_on(&self, locations: &Locations) -> bool {
        match &self.watched {
            None => true,
            Some(watched) => {
                watched.iter().any(|&(location, seen)| locations.value(location) != seen)
            }
        }
    }
}
