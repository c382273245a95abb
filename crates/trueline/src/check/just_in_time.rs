//! `just-in-time`: sets of configurations carried from return to return.
//!
//! Before a return, a configuration consists of the linearized open operations, the used pending
//! operations, and the state. At the return of `o` the set is closed under linearizing open
//! operations until `o` is linearized. Configurations with `o` are kept, the others are dropped. An
//! empty set is a violation at that very return. The same reductions apply as in
//! [`super::depth_first`].
//!
//! Where depth-first search must refute a wrong early choice repeatedly, this search carries all
//! choices at once, and each is small. Cost: O(n 2^k s) steps in the worst case, memory O(2^k s)
//! and the family tree of the living configurations, from which the witness is read. Invariant:
//! `family` contains every ancestor of every living configuration.

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::cuts::{Cuts, Early, Place};
use super::depth_first::{Known, remember, table_bytes, take_observers};
use super::look_ahead::{Linearized, is_dead_end};
use super::mask::Mask;
use super::problem::{Decision, Spans, Stepper, Ticker};
use super::timeline::{Slots, Timeline};
use crate::budget::Exhausted;

const ROOT: u32 = u32::MAX;

/// The origin of a configuration: the operation that was linearized last, and the previous
/// configuration.
#[derive(Clone, Copy)]
struct Ancestor {
    parent: u32,
    operation: u32,
}

struct Configuration<M> {
    open: M,
    pending: M,
    early: Early,
    state: u32,
    ancestor: u32,
}

type Memo<M> = HashMap<(M, u32), Known<M>, foldhash::fast::FixedState>;

/// The search, to be advanced by quanta of steps.
pub(crate) struct JustInTime<'a, M> {
    spans: &'a Spans,
    slots: &'a Slots,
    timeline: Timeline<'a>,
    /// Configurations that do not have the next return yet and must be expanded.
    waiting: Vec<Configuration<M>>,
    /// Configurations that have it.
    ready: Vec<Configuration<M>>,
    /// The configurations since the last return, with and without it.
    seen: Memo<M>,
    seen_ready: Memo<M>,
    cuts: Cuts,
    family: Vec<Ancestor>,
    /// Size of the family at which it is pruned next.
    prune_at: usize,
    /// The frontier before which the search pauses: see [`JustInTime::watch`].
    stop_at: usize,
    started: bool,
    next: Vec<u32>,
}

impl<'a, M: Mask> JustInTime<'a, M> {
    pub(crate) fn new(spans: &'a Spans, slots: &'a Slots) -> JustInTime<'a, M> {
        JustInTime {
            spans,
            slots,
            timeline: Timeline::new(spans),
            waiting: Vec::new(),
            ready: Vec::new(),
            seen: HashMap::default(),
            seen_ready: HashMap::default(),
            cuts: Cuts::new(spans),
            family: Vec::new(),
            prune_at: 1 << 16,
            stop_at: usize::MAX,
            started: false,
            next: Vec::new(),
        }
    }

    /// Number of returns that are explained.
    pub(crate) fn explained(&self) -> usize {
        self.timeline.frontier()
    }

    /// Pushes the states that are possible just before each of these returns, until the search ends
    /// or `limit` steps are spent: the states of all configurations with which the wait for that
    /// return begins. Look-ahead is off meanwhile, because a state that leads nowhere was still
    /// possible.
    pub(crate) fn watch(
        &mut self,
        frontiers: &[usize],
        found: &mut Vec<Vec<u32>>,
        stepper: &mut Stepper<'_>,
        ticker: &mut Ticker<'_>,
        limit: u64,
    ) {
        for &frontier in frontiers {
            self.stop_at = frontier;
            match self.advance(stepper, ticker, limit) {
                Ok(None) if self.timeline.frontier() == frontier => {
                    let mut states: Vec<u32> =
                        self.waiting.iter().chain(&self.ready).map(|c| c.state).collect();
                    states.sort_unstable();
                    states.dedup();
                    found.push(states);
                }
                _ => return,
            }
        }
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
            let state = stepper.initial();
            let (open, pending, early) = (M::default(), M::default(), Early::NONE);
            let ancestor = ROOT;
            let first = Configuration { open, pending, early, state, ancestor };
            self.admit(first, stepper, ticker)?;
        }
        loop {
            if self.timeline.frontier() == self.stop_at {
                return Ok(None);
            }
            while let Some(configuration) = self.waiting.pop() {
                self.expand(configuration, stepper, ticker)?;
                if ticker.steps() >= end {
                    return Ok(None);
                }
            }
            let Some(operation) = self.timeline.next_return() else {
                // No operation returns at all.
                return Ok(Some(Decision::Order(Vec::new())));
            };
            if self.ready.is_empty() {
                return Ok(Some(Decision::Stuck(operation)));
            }
            let slot = self.slots.of[operation as usize];
            self.timeline.forward();
            if self.timeline.next_return().is_none() {
                let ancestor = self.ready[0].ancestor;
                return Ok(Some(Decision::Order(self.lineage(ancestor))));
            }
            if self.family.len() > self.prune_at {
                self.prune();
            }
            self.seen.clear();
            self.seen_ready.clear();
            for mut configuration in std::mem::take(&mut self.ready) {
                configuration.open.remove(slot);
                self.admit(configuration, stepper, ticker)?;
            }
        }
    }

    /// Takes the observers that fit, then files the configuration unless it is known.
    fn admit(
        &mut self,
        mut configuration: Configuration<M>,
        stepper: &mut Stepper<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Exhausted> {
        let bytes = self.bytes();
        let open = self.timeline.open();
        ticker.pass_over(open.len())?;
        take_observers(open, self.spans, self.slots, &mut configuration.open, |operation| {
            ticker.tick(|| bytes + stepper.bytes())?;
            self.next.clear();
            stepper.step(configuration.state, operation, &mut self.next);
            if self.next.is_empty() {
                return Ok(false);
            }
            let parent = configuration.ancestor;
            configuration.ancestor = self.family.len() as u32;
            self.family.push(Ancestor { parent, operation });
            let early = configuration.early;
            configuration.early = self.cuts.see(early, operation, stepper);
            Ok(true)
        })?;
        let Some(operation) = self.timeline.next_return() else { return Ok(()) };
        let ready = configuration.open.has(self.slots.of[operation as usize]);
        if ready && configuration.early != Early::NONE {
            return Ok(());
        }
        if stepper.looks_ahead() && self.stop_at == usize::MAX {
            let linearized =
                Linearized { open: &configuration.open, pending: &configuration.pending };
            let (spans, slots, state) = (self.spans, self.slots, configuration.state);
            if is_dead_end(spans, slots, &self.timeline, &linearized, state, stepper) {
                return Ok(());
            }
        }
        let (seen, list) = if ready {
            (&mut self.seen_ready, &mut self.ready)
        } else {
            (&mut self.seen, &mut self.waiting)
        };
        let key = (configuration.open.clone(), configuration.state);
        if remember(seen, &key, &configuration.pending) {
            list.push(configuration);
        }
        Ok(())
    }

    /// Linearizes each operation that may come next.
    fn expand(
        &mut self,
        from: Configuration<M>,
        stepper: &mut Stepper<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Exhausted> {
        // Which states were possible must not depend on later requests.
        let reorders = stepper.reorders() && self.stop_at == usize::MAX;
        for place in 0..self.timeline.open().len() + self.timeline.pending() {
            let here = Place {
                spans: self.spans,
                slots: self.slots,
                timeline: &self.timeline,
                open: &from.open,
                pending: &from.pending,
                reorders,
            };
            ticker.pass_over(1)?;
            let Some(operation) = here.candidate(place) else { continue };
            let taken = self.cuts.take(&here, (operation, place), from.early, stepper);
            let Some(early) = taken else { continue };
            let is_pending = self.spans.is_pending(operation);
            let slot = self.slots.of[operation as usize];
            let bytes = self.bytes();
            ticker.tick(|| bytes + stepper.bytes())?;
            let mut next = std::mem::take(&mut self.next);
            next.clear();
            stepper.step(from.state, operation, &mut next);
            let successors: SmallVec<[u32; 4]> = next.iter().copied().collect();
            self.next = next;
            for state in successors {
                if is_pending && state == from.state {
                    continue;
                }
                let (mut open, mut pending) = (from.open.clone(), from.pending.clone());
                if is_pending {
                    pending.insert(slot);
                } else {
                    open.insert(slot);
                }
                let ancestor = self.family.len() as u32;
                self.family.push(Ancestor { parent: from.ancestor, operation });
                let after = Configuration { open, pending, early, state, ancestor };
                self.admit(after, stepper, ticker)?;
            }
        }
        Ok(())
    }

    fn lineage(&self, mut ancestor: u32) -> Vec<u32> {
        let mut order = Vec::new();
        while ancestor != ROOT {
            let Ancestor { parent, operation } = self.family[ancestor as usize];
            order.push(operation);
            ancestor = parent;
        }
        order.reverse();
        order
    }

    /// Drops the ancestors of configurations that no longer exist. Only between two returns, when
    /// all living ones are ready.
    fn prune(&mut self) {
        let mut alive = vec![false; self.family.len()];
        for configuration in &self.ready {
            let mut ancestor = configuration.ancestor;
            while ancestor != ROOT && !alive[ancestor as usize] {
                alive[ancestor as usize] = true;
                ancestor = self.family[ancestor as usize].parent;
            }
        }
        // Parents precede their children, so new places are known when they are needed.
        let mut places = vec![ROOT; self.family.len()];
        let mut kept = 0;
        for i in 0..self.family.len() {
            if alive[i] {
                let Ancestor { parent, operation } = self.family[i];
                let parent = if parent == ROOT { ROOT } else { places[parent as usize] };
                self.family[kept] = Ancestor { parent, operation };
                places[i] = kept as u32;
                kept += 1;
            }
        }
        self.family.truncate(kept);
        for configuration in &mut self.ready {
            if configuration.ancestor != ROOT {
                configuration.ancestor = places[configuration.ancestor as usize];
            }
        }
        self.prune_at = (2 * kept).max(1 << 16);
    }

    pub(crate) fn bytes(&self) -> u64 {
        let entry = size_of::<(M, u32)>() + size_of::<Known<M>>() + 1;
        let configurations = self.waiting.capacity() + self.ready.capacity();
        let seen = |memo: &Memo<M>| table_bytes(memo.len(), memo.capacity(), entry);
        (seen(&self.seen)
            + seen(&self.seen_ready)
            + configurations * size_of::<Configuration<M>>()
            + self.family.capacity() * size_of::<Ancestor>()) as u64
            + self.cuts.bytes()
    }
}
