//! Which of the open operations may come next. Two cuts, both exact; both searches use them.
//!
//! Before each return `R`, a search linearizes a sequence of open operations that ends with `R`: a
//! *segment*. Observers in it are taken as soon as they fit. Of the segments that lead to the same
//! end, a few are enough:
//!
//! - **Early only for another's sake.** If an operation of a segment commutes with everything after
//!   it, including `R`, it can be moved behind `R`: each swap with a neighbour leads to the same
//!   states, and since it has not returned yet, nothing that it passes must come after it. So every
//!   operation of a segment must be followed, up to `R`, by one with which it does not commute. An
//!   operation that still waits for such a follower is *early*. A configuration that contains `R`
//!   and an early operation is dropped.
//! - **Twins.** Two open operations that are equal, including results, are interchangeable: the one
//!   that returns first goes first; those that are pending for ever go last, in the order of their
//!   calls. Suppose `b` is before `a` in a linearization and `a` returns first, and exchange them.
//!   The states are the same. Both were open at the place of `b`, so `a` may be there; everything
//!   that must come after `b` must come after `a`, too, so `b` may be at the place of `a`.
//!
//! Why both together are exact: call a linearization *later* than another if the numbers of the
//! segments of its operations, without observers, have a larger sum; an unused pending operation
//! counts as if it came after everything. Among equally late ones, the one whose observers come
//! earlier is first, and then the one that is first by the order of returns, pending operations
//! last. Whenever a cut forbids a segment, the arguments above give a linearization that is later,
//! or equally late and first. So the latest one is never cut.
//!
//! Why the memo of a search may ignore which operations are early: let `c` be a configuration that
//! is dropped because it was reached before, on another path with other early operations. Let `s`
//! be the continuation from `c` of the latest continuation from `a`, the configuration at the start
//! of its segment. Both paths to `c` have the same operations. If the other path also starts in
//! `a`, it is as late with `s` as the first one, and none of its early operations is left over at
//! `R`: one that is could be moved behind `R`. If it starts elsewhere, in `b`, then everything
//! after `b` was explored before `a` was, and there is a latest continuation from `b`: repeat the
//! argument with it. This ends, because the frontier never goes back, and among the configurations
//! that start at one frontier each repetition takes an earlier one.
//!
//! Which operations commute is a claim of the specification
//! ([`Spec::commutes`](crate::spec::Spec::commutes)); observers commute with each other, and so do
//! equal operations.

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::mask::Mask;
use super::problem::{ALONE, Spans, Stepper};
use super::timeline::{Slots, Timeline};

/// The number of a set of early operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Early(u32);

impl Early {
    pub(super) const NONE: Early = Early(0);
}

/// What a search stores for the cuts.
pub(super) struct Cuts {
    early: EarlySets,
    idle: Idle,
}

impl Cuts {
    pub(super) fn new(spans: &Spans) -> Cuts {
        Cuts { early: EarlySets::default(), idle: Idle::new(spans) }
    }

    /// The early operations once this one is taken; `None` if it must not be taken here, because an
    /// equal one has to go first, or because it commutes with everything up to the next return.
    /// `place` is its index among the candidates; `early` are the operations that are early so far.
    #[inline]
    pub(super) fn take<M: Mask>(
        &mut self,
        here: &Place<'_, M>,
        (operation, place): (u32, usize),
        early: Early,
        stepper: &Stepper<'_>,
    ) -> Option<Early> {
        if here.has_earlier_twin(operation, place) {
            return None;
        }
        if !here.reorders {
            return Some(Early::NONE);
        }
        let next_return = here.timeline.next_return();
        let waits = next_return.is_some_and(|r| r != operation && stepper.commutes(operation, r));
        if waits && here.is_for_nobody(operation, &mut self.idle, stepper) {
            return None;
        }
        let early = self.early.followed_by(early, operation, stepper);
        Some(if waits { self.early.with(early, operation) } else { early })
    }

    /// The operations that are early still when this one follows, an observer.
    #[inline]
    pub(super) fn see(&mut self, early: Early, observer: u32, stepper: &Stepper<'_>) -> Early {
        self.early.followed_by(early, observer, stepper)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.early.bytes()
    }
}

/// The sets of early operations that a search has met, each ascending. Number 0 is the empty set.
#[derive(Default)]
struct EarlySets {
    sets: Vec<Set>,
    numbers: HashMap<Set, u32, foldhash::fast::FixedState>,
    /// Bytes of the sets that are long.
    long: usize,
}

type Set = SmallVec<[u32; 4]>;

impl EarlySets {
    fn get(&self, early: Early) -> &[u32] {
        match early.0.checked_sub(1) {
            None => &[],
            Some(place) => &self.sets[place as usize],
        }
    }

    fn number(&mut self, set: Set) -> Early {
        if set.is_empty() {
            return Early::NONE;
        }
        let EarlySets { sets, numbers, long } = self;
        Early(*numbers.entry(set).or_insert_with_key(|set| {
            *long += if set.spilled() { 8 * set.len() } else { 0 };
            sets.push(set.clone());
            sets.len() as u32
        }))
    }

    /// Those that are early still when this operation follows.
    fn followed_by(&mut self, early: Early, operation: u32, stepper: &Stepper<'_>) -> Early {
        if early == Early::NONE {
            return early;
        }
        let set = self.get(early);
        let left = set.iter().copied().filter(|&x| stepper.commutes(x, operation)).collect();
        self.number(left)
    }

    /// The same and this operation.
    fn with(&mut self, early: Early, operation: u32) -> Early {
        let mut set: Set = self.get(early).into();
        set.insert(set.partition_point(|&x| x < operation), operation);
        self.number(set)
    }

    fn bytes(&self) -> u64 {
        let entries = self.numbers.capacity() + self.sets.capacity();
        (entries * (size_of::<Set>() + 4) + self.long) as u64
    }
}

/// Operations that commute with everything they overlap, as far as that has been checked. It avoids
/// checking the same pairs at each return.
struct Idle {
    /// For each operation a frontier, and a number of operations by call: it commutes with those
    /// that were open there, and with those called since, up to that number.
    known: Vec<(u32, u32)>,
}

impl Idle {
    fn new(spans: &Spans) -> Idle {
        Idle { known: vec![(u32::MAX, 0); spans.len()] }
    }
}

/// The part of a configuration that the cuts use.
pub(super) struct Place<'a, M> {
    pub(super) spans: &'a Spans,
    pub(super) slots: &'a Slots,
    pub(super) timeline: &'a Timeline<'a>,
    pub(super) open: &'a M,
    pub(super) pending: &'a M,
    /// See [`Stepper::reorders`].
    pub(super) reorders: bool,
}

impl<M: Mask> Place<'_, M> {
    /// The candidate at this place, unless it is linearized, is an observer (which is taken as soon
    /// as it fits), or an equal one has to go first. Candidates are the open operations by return,
    /// then the pending ones by call.
    #[inline]
    pub(super) fn candidate(&self, place: usize) -> Option<u32> {
        let open = self.timeline.open();
        if let Some(&operation) = open.get(place) {
            let is_over = self.open.has(self.slots.of[operation as usize])
                || self.spans.observer[operation as usize];
            return (!is_over).then_some(operation);
        }
        let operation = self.slots.pending[place - open.len()];
        let is_used = |o: u32| self.pending.has(self.slots.of[o as usize]);
        let twin = self.spans.earlier_twin[operation as usize];
        let ready = twin == operation || is_used(twin);
        (ready && !is_used(operation)).then_some(operation)
    }

    /// How many candidates there are.
    #[inline]
    pub(super) fn candidates(&self) -> usize {
        self.timeline.open().len() + self.timeline.pending()
    }

    /// Whether an equal operation has to go first. The open ones before `place` return earlier.
    #[inline]
    fn has_earlier_twin(&self, operation: u32, place: usize) -> bool {
        let class = self.spans.class[operation as usize];
        if class == ALONE {
            return false;
        }
        let open = self.timeline.open();
        open.iter().take(place).any(|&o| {
            self.spans.class[o as usize] == class && !self.open.has(self.slots.of[o as usize])
        })
    }

    /// Whether the operation commutes with the next return and with everything that may come
    /// between.
    fn is_for_nobody(&self, operation: u32, idle: &mut Idle, stepper: &Stepper<'_>) -> bool {
        let (since, until) = &mut idle.known[operation as usize];
        let (frontier, called) = (self.timeline.frontier() as u32, self.timeline.called());
        let is_known = *since <= frontier;
        if is_known && *until >= called {
            return true;
        }
        let commutes = |&o: &u32| o == operation || stepper.commutes(operation, o);
        let is_idle = match is_known {
            true => (*until..called).all(|o| commutes(&o)),
            false => {
                let pending = &self.slots.pending[..self.timeline.pending()];
                self.timeline.open().iter().chain(pending).all(commutes)
            }
        };
        if is_idle {
            *since = if is_known { *since } else { frontier };
            *until = called;
            return true;
        }
        let waits = |o: u32, used: &M| o != operation && !used.has(self.slots.of[o as usize]);
        let open = self.timeline.open().iter().copied().filter(|&o| waits(o, self.open));
        let pending = &self.slots.pending[..self.timeline.pending()];
        let pending = pending.iter().copied().filter(|&o| waits(o, self.pending));
        open.chain(pending).all(|o| stepper.commutes(operation, o))
    }
}
