//! `depth-first`: Wing and Gong's search with a memo on small keys.
//!
//! A configuration is (frontier, linearized open operations, used pending operations, state); see
//! [`super::timeline`]. Six techniques keep the search small; each is exact:
//! - *Observers at once.* An operation that changes no state is taken as soon as it fits: moving it
//!   forward in a linearization does not affect the other operations.
//! - *Memo.* A configuration is explored once.
//! - *Dominance.* At equal frontier, open operations and state, fewer used pending operations are
//!   better: every continuation with fewer left is also possible with more.
//! - *Look-ahead.* A configuration from which a known result is out of reach is left at once; see
//!   [`super::look_ahead`].
//! - *Twins.* Equal operations are interchangeable: the one that returns first goes first. See
//!   [`super::cuts`].
//! - *Commuting operations.* An operation that commutes with everything up to the next return is
//!   not taken before that return. See [`super::cuts`].
//!
//! If the specification's state is a function of the set of applied operations, the memo omits the
//! state ([`Keys::WithoutState`]) and states are kept only for the current path.
//!
//! Cost: O(n) for histories with few choices; O(n 2^k s) steps for k open operations and s states
//! in the worst case. Invariant: `path` is legal and respects real time at all times.

use std::collections::VecDeque;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::cuts::{Cuts, Early, Place};
use super::look_ahead::{Linearized, is_dead_end};
use super::mask::Mask;
use super::problem::{Decision, Spans, Stepper, Ticker};
use super::timeline::{Slots, Timeline};
use crate::budget::Exhausted;

/// The content of the memo's keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    WithState,
    WithoutState,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key<M> {
    frontier: u32,
    state: u32,
    open: M,
}

/// A configuration at which the search can choose.
struct Frame<M> {
    key: Key<M>,
    pending: M,
    early: Early,
    /// The state, which the key may omit.
    state: u32,
    /// Length of the path and number of states when the choice came up.
    path: usize,
    states: u32,
    /// The next candidate: first the open operations by return, then the pending ones by call.
    candidate: usize,
    /// Next states of the last candidate that were not tried.
    others: SmallVec<[u32; 2]>,
    /// The last candidate, and the operations that are early once it is taken.
    operation: u32,
    early_after: Early,
}

/// The known entries for a configuration: the sets of used pending operations with which it was
/// reached.
pub(super) type Known<M> = SmallVec<[M; 1]>;

/// The search, to be advanced by quanta of steps.
pub(crate) struct DepthFirst<'a, M> {
    spans: &'a Spans,
    slots: &'a Slots,
    timeline: Timeline<'a>,
    keys: Keys,
    memo: HashMap<Key<M>, Known<M>, foldhash::fast::FixedState>,
    cuts: Cuts,
    frames: Vec<Frame<M>>,
    path: Vec<u32>,
    best: usize,
    open: M,
    pending: M,
    early: Early,
    state: u32,
    started: bool,
    next: Vec<u32>,
}

impl<'a, M: Mask> DepthFirst<'a, M> {
    pub(crate) fn new(spans: &'a Spans, slots: &'a Slots, keys: Keys) -> DepthFirst<'a, M> {
        DepthFirst {
            spans,
            slots,
            timeline: Timeline::new(spans),
            keys,
            memo: HashMap::default(),
            cuts: Cuts::new(spans),
            frames: Vec::new(),
            path: Vec::new(),
            best: 0,
            open: M::default(),
            pending: M::default(),
            early: Early::NONE,
            state: 0,
            started: false,
            next: Vec::new(),
        }
    }

    /// Number of returns that some path explained.
    pub(crate) fn explained(&self) -> usize {
        self.best
    }

    /// Runs for about `quantum` steps; returns `None` if that did not suffice.
    pub(crate) fn advance(
        &mut self,
        stepper: &mut Stepper<'_>,
        ticker: &mut Ticker<'_>,
        quantum: u64,
    ) -> Result<Option<Decision>, Exhausted> {
        let end = ticker.steps().saturating_add(quantum);
        if !self.started {
            self.started = true;
            self.state = stepper.initial();
            if self.arrive(stepper, ticker)? {
                return Ok(Some(Decision::Order(std::mem::take(&mut self.path))));
            }
        }
        while let Some(frame) = self.frames.last_mut() {
            if ticker.steps() >= end {
                return Ok(None);
            }
            if let Some(state) = frame.others.pop() {
                self.take(state);
            } else if !self.choose(stepper, ticker)? {
                self.frames.pop();
                if let Some(frame) = self.frames.last() {
                    self.timeline.back_to(frame.key.frontier as usize);
                }
                continue;
            }
            if self.arrive(stepper, ticker)? {
                return Ok(Some(Decision::Order(std::mem::take(&mut self.path))));
            }
        }
        Ok(Some(Decision::Stuck(self.spans.returns[self.best])))
    }

    /// Tries the candidates of the topmost frame until one is legal, and takes it.
    fn choose(
        &mut self,
        stepper: &mut Stepper<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<bool, Exhausted> {
        let bytes = self.bytes();
        let Some(frame) = self.frames.last_mut() else { return Ok(false) };
        stepper.forget_from(frame.states);
        let here = Place {
            spans: self.spans,
            slots: self.slots,
            timeline: &self.timeline,
            open: &frame.key.open,
            pending: &frame.pending,
            reorders: stepper.reorders(),
        };
        while frame.candidate < here.candidates() {
            let place = frame.candidate;
            frame.candidate += 1;
            ticker.pass_over(1)?;
            let Some(operation) = here.candidate(place) else { continue };
            let taken = self.cuts.take(&here, (operation, place), frame.early, stepper);
            let Some(early) = taken else { continue };
            ticker.tick(|| bytes + stepper.bytes())?;
            self.next.clear();
            stepper.step(frame.state, operation, &mut self.next);
            if self.spans.is_pending(operation) {
                // Using it up without an effect gains nothing.
                self.next.retain(|&s| s != frame.state);
            }
            if let Some(state) = self.next.pop() {
                (frame.operation, frame.early_after) = (operation, early);
                frame.others = self.next.drain(..).collect();
                self.take(state);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Linearizes the topmost frame's operation.
    fn take(&mut self, state: u32) {
        let Some(frame) = self.frames.last() else { return };
        self.timeline.back_to(frame.key.frontier as usize);
        self.path.truncate(frame.path);
        self.path.push(frame.operation);
        self.open = frame.key.open.clone();
        self.pending = frame.pending.clone();
        self.early = frame.early_after;
        self.state = state;
        let slot = self.slots.of[frame.operation as usize];
        if self.spans.is_pending(frame.operation) {
            self.pending.insert(slot);
        } else {
            self.open.insert(slot);
        }
    }

    /// Takes the operations that need no choice, then adds the configuration to the memo; returns
    /// true when everything is explained.
    fn arrive(
        &mut self,
        stepper: &mut Stepper<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<bool, Exhausted> {
        loop {
            while let Some(operation) = self.timeline.next_return()
                && self.open.has(self.slots.of[operation as usize])
            {
                if self.early != Early::NONE {
                    self.leave();
                    return Ok(false);
                }
                self.open.remove(self.slots.of[operation as usize]);
                self.timeline.forward();
            }
            if self.timeline.next_return().is_none() {
                return Ok(true);
            }
            self.best = self.best.max(self.timeline.frontier());
            let before = self.path.len();
            let bytes = self.bytes();
            let open = self.timeline.open();
            ticker.pass_over(open.len())?;
            take_observers(open, self.spans, self.slots, &mut self.open, |operation| {
                ticker.tick(|| bytes + stepper.bytes())?;
                self.next.clear();
                stepper.step(self.state, operation, &mut self.next);
                let Some(&state) = self.next.first() else { return Ok(false) };
                self.state = state;
                self.path.push(operation);
                self.early = self.cuts.see(self.early, operation, stepper);
                Ok(true)
            })?;
            if self.path.len() == before {
                break;
            }
        }
        if stepper.looks_ahead() {
            let linearized = Linearized { open: &self.open, pending: &self.pending };
            let (spans, slots) = (self.spans, self.slots);
            if is_dead_end(spans, slots, &self.timeline, &linearized, self.state, stepper) {
                self.leave();
                return Ok(false);
            }
        }
        let key = Key {
            frontier: self.timeline.frontier() as u32,
            state: if self.keys == Keys::WithState { self.state } else { 0 },
            open: self.open.clone(),
        };
        if remember(&mut self.memo, &key, &self.pending) {
            self.frames.push(Frame {
                key,
                pending: self.pending.clone(),
                early: self.early,
                state: self.state,
                path: self.path.len(),
                states: stepper.known(),
                candidate: 0,
                others: SmallVec::new(),
                operation: 0,
                early_after: Early::NONE,
            });
        } else {
            self.leave();
        }
        Ok(false)
    }

    /// Goes back to the last choice.
    fn leave(&mut self) {
        if let Some(frame) = self.frames.last() {
            self.timeline.back_to(frame.key.frontier as usize);
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        let entry = size_of::<Key<M>>() + size_of::<Known<M>>() + 1;
        let memo = table_bytes(self.memo.len(), self.memo.capacity(), entry);
        (memo + self.frames.capacity() * size_of::<Frame<M>>()) as u64 + self.cuts.bytes()
    }
}

/// Bytes of a table. If it is about to double, it counts as doubled, because both tables exist for
/// a moment.
pub(crate) fn table_bytes(len: usize, capacity: usize, entry: usize) -> usize {
    if len + 1024 > capacity { 3 * capacity * entry } else { capacity * entry }
}

/// Linearizes those of the open observers that are not yet and that fit.
#[inline]
pub(super) fn take_observers<M: Mask>(
    open: &VecDeque<u32>,
    spans: &Spans,
    slots: &Slots,
    linearized: &mut M,
    mut fits: impl FnMut(u32) -> Result<bool, Exhausted>,
) -> Result<(), Exhausted> {
    for &operation in open {
        let slot = slots.of[operation as usize];
        if spans.observer[operation as usize] && !linearized.has(slot) && fits(operation)? {
            linearized.insert(slot);
        }
    }
    Ok(())
}

/// Adds the used pending operations to the entries of a configuration; returns false if a known
/// entry is as good.
pub(super) fn remember<K: Eq + std::hash::Hash + Clone, M: Mask>(
    memo: &mut HashMap<K, Known<M>, foldhash::fast::FixedState>,
    key: &K,
    pending: &M,
) -> bool {
    let known = memo.entry_ref(key).or_default();
    if known.iter().any(|p| p.is_subset(pending)) {
        return false;
    }
    known.retain(|p| !pending.is_subset(p));
    known.push(pending.clone());
    true
}
