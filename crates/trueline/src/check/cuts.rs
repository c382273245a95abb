//! Which of the open operations may come next. Two cuts, both exact; both searches use them.
//!
//! A search linearizes, before each return `R`, a sequence of open operations that ends with `R`: a
//! *segment*. Observers in it are taken as soon as they fit. Of the segments that lead to the same
//! end, a few are enough:
//!
//! - **Early only for somebody's sake.** If an operation of a segment commutes with everything
//!   behind it, `R` included, it can be moved behind `R`: each swap with a neighbour leads to the
//!   same states, it has not returned yet, and so nothing that it passes must come after it. So
//!   every operation of a segment must be followed, up to `R`, by one that it does not commute
//!   with. An operation that still waits for such a one is *early*. A configuration that has `R`
//!   and an early operation is dropped.
//! - **Twins.** Two open operations that are equal, results included, are interchangeable: the one
//!   that returns first goes first, those that are pending for ever last and by call. If `b` stands
//!   before `a` in a linearization and `a` returns first, let them change places. The states are
//!   the same. Both were open where `b` stood, so `a` may stand there; whatever must come after `b`
//!   must come after `a`, too, so `b` may stand where `a` stood.
//!
//! Why both together are exact: call a linearization *later* than another if the numbers of the
//! segments in which its operations stand, observers left out, have a larger sum; a pending
//! operation that is not used counts as if it stood behind everything. Of equally late ones, that
//! one comes first whose observers come earlier, and then the one that comes first by the order of
//! returns, pending operations last. Wherever a cut forbids a segment, the arguments above yield
//! one that is later, or as late and first. So the latest is never cut.
//!
//! Why the memo of a search need not know the early operations: let `c` be a configuration that is
//! dropped because it was reached before, by another way with other early operations, and let `s`
//! be what follows `c` in the latest way on from `a`, the configuration with which its segment
//! starts. Both ways to `c` have the same operations, so if the other way starts in `a`, too, it is
//! as late with `s` as the first one, and none of its early operations is left over at `R`: one
//! that is could be moved behind `R`. If it starts elsewhere, in `b`, then all that follows `b` was
//! explored before `a` was, and there is a latest way on from `b`: the argument is repeated with
//! it. That ends, because the frontier never goes back, and of the configurations that start at a
//! frontier each repetition takes an earlier one.
//!
//! What commutes is a claim of the specification ([`Spec::commutes`](crate::spec::Spec::commutes));
//! observers commute with each other, and equal operations do.

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

/// What a search remembers for the cuts.
pub(super) struct Cuts {
    early: EarlySets,
    idle: Idle,
}

impl Cuts {
    pub(super) fn new(spans: &Spans) -> Cuts {
        Cuts { early: EarlySets::default(), idle: Idle::new(spans) }
    }

    /// The operations that are early once this one is taken; `None` where it must not be taken
    /// here: an equal one has to go first, or nobody up to the next return has anything to do with
    /// it. `place` is its place among the candidates; `early` are the operations that are early so
    /// far.
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

/// The sets of early operations that a search came across, ascending each. Number 0 is the empty
/// set.
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

/// Operations that commute with everything they overlap with, as far as that was looked at. It
/// spares looking at the same pairs at each return.
struct Idle {
    /// For each operation a frontier, and a number of operations by call: it commutes with those
    /// that were open there, and with those that were called since, up to that number.
    known: Vec<(u32, u32)>,
}

impl Idle {
    fn new(spans: &Spans) -> Idle {
        Idle { known: vec![(u32::MAX, 0); spans.len()] }
    }
}

/// A configuration, as far as the cuts look at it.
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
    /// The candidate at this place, unless it is linearized or an observer, which is taken as soon
    /// as it fits, or an equal one has to go first. Candidates are the open operations by return,
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

    /// True where an equal operation has to go first. The open ones before `place` return earlier.
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

    /// True where the operation commutes with the next return and with everything that may stand
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
