//! Detects threads that spin, without hints from the program.
//!
//! A loop that waits by reading would make executions endless. Suppose that a thread is about to
//! repeat a round of reads that changed nothing, in the very state in which it began the round
//! before. It would repeat the round for ever while the values stay the same. So its access becomes
//! one that waits until one of those locations has another value: an await, which the search treats
//! like a lock. If only such waiting threads are left, the execution is a livelock.
//!
//! **Why nothing is lost.** Take an execution in which a thread is in the same state at two moments
//! and has only read between them. Without its events between the two moments it is still an
//! execution: no other thread can observe that they are missing, and the thread continues from the
//! second moment as it would have from the first. So the shorter execution leads to everything that
//! the longer one leads to.
//!
//! **The state of a thread** is its registers, its stack, and what it has changed elsewhere, each
//! compared by a 64-bit hash. Hints (`spin_loop`, `yield_now`) are not part of it: a loop that
//! counts its rounds and eventually gives up is not treated as spinning, with or without hints.
//!
//! **Elsewhere** means the stacks of other threads (which hold what a closure borrows) and the
//! memory that front ends know: the blocks of the arena, thread locals, and values in static locks
//! while the locks are held. Only the running thread can change them. So the engine sums up all of
//! this when the thread continues after an event and again when it reaches the next one, and adds
//! up the differences. Equal sums at two moments mean that the thread has left everything as it
//! was, whatever other threads have done meanwhile. If no front end knows all memory (the allocator
//! is not installed), the engine assumes that the loop spins, and the report states the assumption,
//! see [`Assumption`]. Memory that outlives executions is not checked: statics of std's types,
//! std's own thread locals, allocations made outside of the code under test, and our statics that
//! are written through a pointer obtained earlier. An execution must not depend on such memory
//! anyway.
//!
//! States of different executions are never compared, even if one repeats the other, because other
//! contents of their stacks may differ, especially addresses. A read-modify-write that leaves the
//! value unchanged, such as a failed compare-exchange, is a read. A change of a count (an `Arc` is
//! cloned and dropped again) is not a read, although it commutes with others of its kind: other
//! threads may read the count in every round. So a loop that upgrades a `Weak` while it waits is
//! not detected; it is cut off at the limit of events.
//!
//! **Choices.** If the environment made an access fail that could have succeeded, that is no reason
//! to wait: the next attempt may succeed. But if a thread reaches such an access again in the same
//! state, letting it fail once more leads nowhere new, by the argument above. There the first
//! choice is the only one.
//!
//! The state is hashed only if a thread reads a location again from the same line since its last
//! write, and sums are computed only from there on. The first round is never compared. A round is
//! repeated if the same reads with the same values were made before and the states after both of
//! them are equal.
//!
//! **Leftovers.** Functions that have returned may leave contents on the stack that a round has not
//! overwritten yet. In unoptimised builds, copies of partly uninitialised values carry them along,
//! and the loop is recognised some rounds later. The engine works on the thread's stack too: it
//! clears its own leftovers after each read and each access to a cell; hints run far below; a
//! thread begins on a clean stack. Any remaining leftovers must only affect when a loop is
//! recognised. So a thread continues if an earlier execution, or a strategy, requires it, even if
//! it seems to spin.
//!
//! On processors other than x86-64 the state is unknown and no loop is detected. A waiting loop is
//! cut off at the limit of events, and the report says that the exploration is incomplete.

use std::panic::Location;
use std::ptr;
use std::sync::Arc;

use super::footprint::Watched;
use super::interface::{Access, Effect, NOWHERE};
use super::locations::Locations;
#[cfg(doc)]
use super::report::Assumption;

/// How many reads in a row are remembered: longer rounds are not found.
const LONGEST_ROUND: usize = 256;

/// One read of a thread since it last changed something.
struct Read {
    location: usize,
    caller: &'static Location<'static>,
    value: u64,
    /// The thread's state before it, if the state was computed.
    state: Option<u64>,
    /// The environment could have made it something other than a read.
    chosen: bool,
}

/// The recent reads of a thread.
#[derive(Default)]
pub(crate) struct Spin {
    reads: Vec<Read>,
    /// From here on no location was read with different values.
    constant: usize,
    /// The state before the access that is announced.
    state: Option<u64>,
    /// Set when a state was computed: from then on, all changes that the thread makes elsewhere are
    /// added up.
    tracked: bool,
    /// The sum of all memory elsewhere when the thread went on after its last event.
    resumed: u64,
    /// The changes of the thread elsewhere, as a difference of sums.
    changes: u64,
    watched: Option<Watched>,
    /// The thread comes to a choice in a state in which it has come to it before.
    settled: bool,
    /// Virtual time has passed since the thread last changed something.
    slept: bool,
}

/// The part of a stack that is in use. The saved registers are at its lowest address.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) lowest: *const u64,
    pub(crate) base: *const u64,
}

impl Frame {
    fn len(self) -> usize {
        (self.base as usize - self.lowest as usize) / size_of::<u64>()
    }

    /// A hash of all words.
    fn state(self) -> Option<u64> {
        if self.lowest.is_null() {
            return None;
        }
        // Four lanes, since each step waits for the one before.
        let mut lanes = [1u64, 2, 3, 4];
        let words = self.len();
        let mix = |lane: &mut u64, index: usize| {
            // SAFETY: all memory between the stack pointer of the running thread and the base of
            // its stack is mapped. No other OS thread writes to it. The values are not interpreted.
            let word = unsafe { ptr::read_volatile(self.lowest.add(index)) };
            *lane = (lane.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        };
        for four in 0..words / 4 {
            for (index, lane) in lanes.iter_mut().enumerate() {
                mix(lane, four * 4 + index);
            }
        }
        for index in words / 4 * 4..words {
            mix(&mut lanes[index % 4], index);
        }
        let hash = lanes.into_iter().fold(0u64, |hash, lane| {
            (hash.rotate_left(29) ^ lane ^ lane >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
        });
        Some(hash)
    }

    /// The sum of all words of a thread that is suspended.
    pub(crate) fn sum(self) -> u64 {
        if self.lowest.is_null() {
            return 0;
        }
        // SAFETY: everything between the stack pointer of a suspended thread and the base of its
        // stack is mapped, and only the current OS thread runs any of these threads.
        unsafe { sum_of_bytes(self.lowest.cast(), self.len() * size_of::<u64>()) }
    }
}

/// A hash of memory that is a sum over its words, each combined with its address. So a write
/// changes it by a difference that depends only on the changed words.
///
/// # Safety
/// The bytes must be readable, and no other OS thread may write to them. They may be uninitialised:
/// they are not interpreted.
pub(crate) unsafe fn sum_of_bytes(start: *const u8, bytes: usize) -> u64 {
    let mixed = |address: usize, word: u64| {
        let place = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut x = (word ^ place).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        x = (x ^ x >> 32).wrapping_mul(0xA076_1D64_78BD_642F);
        x ^ x >> 29
    };
    let whole = bytes / size_of::<u64>();
    let mut sum = 0u64;
    for index in 0..whole {
        // SAFETY: the caller's promise. An array of bytes has no alignment.
        let word = unsafe { ptr::read_volatile(start.cast::<[u8; 8]>().add(index)) };
        let address = start.addr() + index * size_of::<u64>();
        sum = sum.wrapping_add(mixed(address, u64::from_ne_bytes(word)));
    }
    for index in whole * size_of::<u64>()..bytes {
        // SAFETY: the caller's promise.
        let byte = unsafe { ptr::read_volatile(start.add(index)) };
        sum = sum.wrapping_add(mixed(start.addr() + index, u64::from(byte)));
    }
    sum
}

/// What an announced access turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// Nothing is known of it.
    Fresh,
    /// It repeats an access of an earlier round, in the same state: it waits, or its choice is
    /// already made.
    Repeats,
}

impl Spin {
    pub(crate) fn reset(&mut self) {
        self.reads.clear();
        self.constant = 0;
        self.state = None;
        self.tracked = false;
        self.changes = 0;
        self.watched = None;
        self.settled = false;
        self.slept = false;
    }

    /// Whether memory elsewhere must be summed up before the thread continues and when it reaches
    /// its next access.
    #[inline]
    pub(crate) fn is_tracked(&self) -> bool {
        self.tracked
    }

    /// The thread goes on after an event, with this sum of all memory elsewhere.
    pub(crate) fn resume(&mut self, sum: u64) {
        self.resumed = sum;
    }

    /// Virtual time has passed.
    pub(crate) fn sleep(&mut self) {
        self.slept = true;
    }

    /// Whether the thread waits in a loop that lets virtual time pass.
    pub(crate) fn has_slept(&self) -> bool {
        self.slept
    }

    /// A thread is about to make an access. `elsewhere` is the sum of all memory elsewhere, if it
    /// is tracked.
    #[inline]
    pub(crate) fn announce(&mut self, access: &Access, frame: Frame, sum: u64) -> Announced {
        if self.reads.is_empty() {
            return Announced::Fresh;
        }
        self.compare(access, frame, sum)
    }

    #[inline(never)]
    fn compare(&mut self, access: &Access, frame: Frame, sum: u64) -> Announced {
        if self.tracked {
            self.changes = self.changes.wrapping_add(sum.wrapping_sub(self.resumed));
        }
        let same =
            |read: &Read| read.location == access.location && ptr::eq(read.caller, access.caller);
        let Some(latest) = self.reads.iter().rposition(same) else {
            return Announced::Fresh;
        };
        if self.has_changed_since(latest) {
            return Announced::Fresh;
        }
        let changes = self.changes.wrapping_mul(0xE703_7ED1_A0B4_28DB);
        self.state = frame.state().map(|state| state ^ changes);
        // A round may read a location several times from the same line, in calls from different
        // places.
        let alike = |&start: &usize| {
            let read = &self.reads[start];
            same(read) && read.state == self.state && self.repeats_a_round(start)
        };
        let start = self.state.and_then(|_| (self.constant..self.reads.len()).rev().find(alike));
        let Some(start) = start else {
            return Announced::Fresh;
        };
        let round = &self.reads[start..];
        if round.iter().any(|read| read.chosen) {
            self.settled = round[0].chosen;
            return if self.settled { Announced::Repeats } else { Announced::Fresh };
        }
        let mut watched: Vec<(usize, u64)> =
            round.iter().map(|read| (read.location, read.value)).collect();
        watched.sort_unstable();
        watched.dedup();
        self.watched = Some(Arc::from(watched));
        Announced::Repeats
    }

    /// Whether the reads from this one on equal those of the round before it.
    ///
    /// Only what one round leaves can be compared with what the next one leaves. A stack that no
    /// round has written yet holds the contents of the execution before, which might even be equal.
    fn repeats_a_round(&self, start: usize) -> bool {
        let round = &self.reads[start..];
        let same = |(a, b): (&Read, &Read)| {
            a.location == b.location && ptr::eq(a.caller, b.caller) && a.value == b.value
        };
        round.len() <= start && self.reads[start - round.len()..start].iter().zip(round).all(same)
    }

    /// Whether a value has changed within a round, so that the next round will differ. The present
    /// values must not matter: they depend on which other threads have run since, and an event may
    /// depend only on its thread's past.
    fn has_changed_since(&self, start: usize) -> bool {
        start < self.constant
    }

    /// The access was made, and the environment chose among this many outcomes. Returns what the
    /// thread had been waiting for.
    #[inline]
    pub(crate) fn recorded(
        &mut self,
        access: &Access,
        effect: Effect,
        choices: u32,
    ) -> Option<Watched> {
        let watched = self.watched.take();
        let is_read = !effect.wrote && !effect.counted && access.condition.is_none();
        if !is_read || access.location == NOWHERE {
            self.reset();
            return watched;
        }
        if watched.is_some() || self.reads.len() == LONGEST_ROUND {
            self.reset();
        }
        let changed = |read: &Read| read.location == access.location && read.value != effect.before;
        if let Some(changed) = self.reads[self.constant..].iter().rposition(changed) {
            self.constant += changed + 1;
        }
        let state = self.state.take();
        self.tracked |= state.is_some();
        self.settled = false;
        self.reads.push(Read {
            location: access.location,
            caller: access.caller,
            value: effect.before,
            state,
            chosen: choices > 1,
        });
        watched
    }

    /// Whether the last access was a read, so that the thread may be spinning.
    #[inline]
    pub(crate) fn reads(&self) -> bool {
        !self.reads.is_empty()
    }

    /// Whether a choice in the announced access would lead to a choice that was made before.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }

    pub(crate) fn watched(&self) -> Option<Watched> {
        self.watched.clone()
    }

    /// The thread continues. It only makes one more round unless one of the values that it reads
    /// has changed.
    #[inline]
    pub(crate) fn go_on(&mut self, locations: &Locations) {
        if !self.may_go_on(locations) {
            self.watched = None;
        }
    }

    /// Whether the thread does not spin, or one of the values that it reads has changed.
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
