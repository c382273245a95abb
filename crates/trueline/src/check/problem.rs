//! One part of a history, ready for a search: operations and states as small numbers.
//!
//! Operations are numbered by their calls, states by their first appearance. A search sees only these numbers
//! through [`Stepper`], so it is compiled once for all specifications, and a configuration is a few words.

use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use smallvec::SmallVec;

use crate::budget::{Budget, Exhausted, Footprint};
use crate::history::{History, PENDING};
use crate::spec::Spec;

/// What a search asks of the specification.
pub(crate) trait Stepper {
    /// The state before the first operation.
    fn initial(&mut self) -> u32;
    /// Pushes the states that the operation can lead to.
    fn step(&mut self, state: u32, operation: u32, next: &mut Vec<u32>);
    /// Bytes that the known states take, as far as can be told.
    fn bytes(&self) -> u64;
    /// See [`Spec::looks_ahead`].
    fn looks_ahead(&self) -> bool;
    /// See [`Spec::reorders`].
    fn reorders(&self) -> bool;
    /// True where the operations commute in every state: see [`Spec::commutes`].
    fn commutes(&self, a: u32, b: u32) -> bool;
    /// See [`Spec::in_reach`].
    fn in_reach(&self, state: u32, observer: u32) -> bool;
    /// See [`Spec::may_help`].
    fn may_help(&self, operation: u32, observer: u32) -> bool;
    /// How many states are known.
    fn known(&self) -> u32;
    /// States with this number and above are not needed any more. One that keeps all states ignores it.
    fn forget_from(&mut self, _state: u32) {}
}

/// When the operations of a part were called and returned, and what else a search must know of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    /// Rank of each call, ascending.
    pub(crate) call: Vec<u32>,
    /// Rank of each return, or [`PENDING`].
    pub(crate) returned: Vec<u32>,
    /// True where the operation changes no state: see [`Spec::observes`].
    pub(crate) observer: Vec<bool>,
    /// The operation before it that is pending for ever and equal to it, or itself: equal ones are
    /// interchangeable, the earliest goes first.
    pub(crate) earlier_twin: Vec<u32>,
    /// The first operation that is equal to it, results included, or [`ALONE`]; the same for equal ones that overlap. Not
    /// told of observers.
    pub(crate) class: Vec<u32>,
    /// The returning operations, sorted by return.
    pub(crate) returns: Vec<u32>,
}

/// No other operation is equal to it.
pub(crate) const ALONE: u32 = u32::MAX;

/// Open operations that are looked through for an equal one.
const FEW: usize = 16;

/// Equal operations.
#[derive(Clone, Copy)]
struct Equal {
    first: u32,
    /// The last one that is pending for ever, or [`ALONE`].
    last_pending: u32,
}

impl Spans {
    pub(crate) fn len(&self) -> usize {
        self.call.len()
    }

    pub(crate) fn is_pending(&self, operation: u32) -> bool {
        self.returned[operation as usize] == PENDING
    }
}

/// A part of a history together with its specification.
pub(crate) struct Problem<'a, S: Spec> {
    pub(crate) spec: &'a S,
    pub(crate) history: &'a History<S::Op, S::Ret>,
    /// Index in the history of each operation.
    pub(crate) operations: Vec<u32>,
    pub(crate) spans: Spans,
    /// Where to start instead of the specification's initial state.
    start: Option<&'a S::State>,
    /// What the specification claims to commute counts.
    reorders: bool,
}

/// The stretch of a history that counts, in ranks: later calls are left out; operations that were called before
/// it or return after it have an unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: u32,
    pub(crate) until: u32,
}

impl Window {
    pub(crate) const ALL: Window = Window { from: 0, until: PENDING };
}

impl<'a, S: Spec> Problem<'a, S> {
    /// The part made of the operations at these ascending indices, as far as the window shows them.
    pub(crate) fn new(
        spec: &'a S,
        history: &'a History<S::Op, S::Ret>,
        indices: &[u32],
        window: Window,
    ) -> Problem<'a, S> {
        let all = history.operations();
        let mut operations = Vec::with_capacity(indices.len());
        let mut spans = Spans::default();
        // Only operations that overlap can be interchanged: as long as few are open, these are looked through. Hashing all
        // of them would cost more than the rest of this function.
        let mut open: SmallVec<[u32; FEW]> = SmallVec::new();
        let mut table: Option<HashTable<Equal>> = None;
        // What an operation is and what it told, as far as that says something.
        let content = |index: u32, is_pending: bool| {
            let o = &all[index as usize];
            let told = if is_pending { None } else { o.result.as_ref() };
            (&o.op, told.filter(|ret| !spec.says_nothing(&o.op, ret)))
        };
        let hasher = FixedState::default();
        for &index in indices {
            let o = &all[index as usize];
            if o.call >= window.until {
                break;
            }
            let cut = o.call < window.from || o.returned >= window.until;
            let returned = if cut { PENDING } else { o.returned };
            let result = if returned == PENDING { None } else { o.result.as_ref() };
            let observer = spec.observes(&o.op, result);
            if returned == PENDING && observer {
                // It changes nothing and nobody saw its result.
                continue;
            }
            let number = operations.len() as u32;
            let (mut earlier_twin, mut class) = (number, ALONE);
            if !observer {
                let is_pending = returned == PENDING;
                let own = content(index, is_pending);
                let content_of =
                    |n: u32| content(operations[n as usize], spans.returned[n as usize] == PENDING);
                let of = |e: &Equal| content_of(e.first);
                if table.is_none() {
                    open.retain(|n| spans.returned[*n as usize] > o.call);
                    if is_pending || open.len() == FEW {
                        let mut all = HashTable::new();
                        for &n in &open {
                            let hash = hasher.hash_one(content_of(n));
                            let first = spans.class[n as usize].min(n);
                            let entry = all.entry(
                                hash,
                                |e| of(e) == content_of(n),
                                |e| hasher.hash_one(of(e)),
                            );
                            entry.or_insert(Equal { first, last_pending: ALONE });
                        }
                        table = Some(all);
                    }
                }
                if let Some(equal) = &mut table {
                    let hash = hasher.hash_one(own);
                    match equal.entry(hash, |e| of(e) == own, |e| hasher.hash_one(of(e))) {
                        Entry::Occupied(mut known) => {
                            let known = known.get_mut();
                            class = known.first;
                            if is_pending {
                                let last = std::mem::replace(&mut known.last_pending, number);
                                earlier_twin = if last == ALONE { number } else { last };
                            }
                        }
                        Entry::Vacant(new) => {
                            let last_pending = if is_pending { number } else { ALONE };
                            new.insert(Equal { first: number, last_pending });
                        }
                    }
                } else {
                    let twin = open.iter().find(|&&n| content_of(n) == own);
                    class = twin.map_or(ALONE, |&n| spans.class[n as usize].min(n));
                    open.push(number);
                }
                if class != ALONE {
                    spans.class[class as usize] = class;
                }
            }
            spans.call.push(o.call);
            spans.returned.push(returned);
            spans.observer.push(observer);
            spans.earlier_twin.push(earlier_twin);
            spans.class.push(class);
            operations.push(index);
        }
        let returning = |&n: &u32| spans.returned[n as usize] != PENDING;
        let mut returns: Vec<u32> = (0..operations.len() as u32).filter(returning).collect();
        returns.sort_unstable_by_key(|&n| spans.returned[n as usize]);
        spans.returns = returns;
        let reorders = spec.reorders();
        Problem { spec, history, operations, spans, start: None, reorders }
    }

    /// The same part; what the specification claims to commute counts only where the claim is trusted.
    pub(crate) fn reordering(self, is_trusted: bool) -> Problem<'a, S> {
        Problem { reorders: self.reorders && is_trusted, ..self }
    }

    /// The same part, starting in this state.
    pub(crate) fn starting_in(self, start: &'a S::State) -> Problem<'a, S> {
        Problem { start: Some(start), ..self }
    }

    fn initial(&self) -> S::State {
        self.start.cloned().unwrap_or_else(|| self.spec.initial())
    }

    /// Operation and result by number. The result of an operation that was cut is not told.
    pub(crate) fn operation(&self, number: u32) -> (&'a S::Op, Option<&'a S::Ret>) {
        let o = &self.history.operations()[self.operations[number as usize] as usize];
        let known = !self.spans.is_pending(number);
        (&o.op, if known { o.result.as_ref() } else { None })
    }

    /// True where the operations commute in every state.
    fn commutes(&self, a: u32, b: u32) -> bool {
        let (Spans { observer, class, .. }, one, other) = (&self.spans, a as usize, b as usize);
        (observer[one] && observer[other])
            || (class[one] != ALONE && class[one] == class[other])
            || self.spec.commutes(self.operation(a), self.operation(b))
    }

    /// The states of this part, none known yet.
    pub(crate) fn states(&self) -> States<'_, 'a, S> {
        States { problem: self, table: HashTable::new(), states: Vec::new(), scratch: Vec::new() }
    }

    /// The states of this part along one path.
    pub(crate) fn path_states(&self) -> PathStates<'_, 'a, S> {
        PathStates { problem: self, states: Vec::new() }
    }

    /// True where the state is a function of the set of applied operations.
    pub(crate) fn order_insensitive(&self) -> bool {
        self.spec.order_insensitive()
            && (0..self.operations.len() as u32).all(|n| self.operation(n).1.is_some())
    }
}

/// The known states of a part: each is stored once and has a number.
pub(crate) struct States<'p, 'a, S: Spec> {
    problem: &'p Problem<'a, S>,
    table: HashTable<u32>,
    states: Vec<S::State>,
    scratch: Vec<S::State>,
}

impl<S: Spec> States<'_, '_, S> {
    /// The state of this number.
    pub(crate) fn get(&self, number: u32) -> &S::State {
        &self.states[number as usize]
    }

    fn number(&mut self, state: S::State) -> u32 {
        let hasher = FixedState::default();
        let states = &mut self.states;
        let entry = self.table.entry(
            hasher.hash_one(&state),
            |&n| states[n as usize] == state,
            |&n| hasher.hash_one(&states[n as usize]),
        );
        *entry
            .or_insert_with(|| {
                states.push(state);
                states.len() as u32 - 1
            })
            .get()
    }
}

impl<S: Spec> Stepper for States<'_, '_, S> {
    fn initial(&mut self) -> u32 {
        self.number(self.problem.initial())
    }

    fn step(&mut self, state: u32, operation: u32, next: &mut Vec<u32>) {
        let (op, ret) = self.problem.operation(operation);
        let mut scratch = std::mem::take(&mut self.scratch);
        self.problem.spec.step(&self.states[state as usize], op, ret, &mut scratch);
        for after in scratch.drain(..) {
            let number = self.number(after);
            next.push(number);
        }
        self.scratch = scratch;
    }

    fn bytes(&self) -> u64 {
        (self.states.capacity() * size_of::<S::State>() + self.table.capacity() * 5) as u64
    }

    fn looks_ahead(&self) -> bool {
        self.problem.spec.looks_ahead()
    }

    fn reorders(&self) -> bool {
        self.problem.reorders
    }

    fn commutes(&self, a: u32, b: u32) -> bool {
        self.problem.commutes(a, b)
    }

    fn in_reach(&self, state: u32, observer: u32) -> bool {
        let (op, ret) = self.problem.operation(observer);
        self.problem.spec.in_reach(&self.states[state as usize], op, ret)
    }

    fn may_help(&self, operation: u32, observer: u32) -> bool {
        let (op, ret) = self.problem.operation(observer);
        self.problem.spec.may_help(self.problem.operation(operation).0, op, ret)
    }

    fn known(&self) -> u32 {
        self.states.len() as u32
    }
}

/// The states along one path, for searches that need no comparison of states: nothing is hashed, and states are
/// dropped when the search goes back.
pub(crate) struct PathStates<'p, 'a, S: Spec> {
    problem: &'p Problem<'a, S>,
    states: Vec<S::State>,
}

impl<S: Spec> Stepper for PathStates<'_, '_, S> {
    fn initial(&mut self) -> u32 {
        self.states.push(self.problem.initial());
        self.states.len() as u32 - 1
    }

    fn step(&mut self, state: u32, operation: u32, next: &mut Vec<u32>) {
        let (op, ret) = self.problem.operation(operation);
        let mut after = Vec::new();
        self.problem.spec.step(&self.states[state as usize], op, ret, &mut after);
        for state in after {
            next.push(self.states.len() as u32);
            self.states.push(state);
        }
    }

    fn bytes(&self) -> u64 {
        (self.states.capacity() * size_of::<S::State>()) as u64
    }

    fn looks_ahead(&self) -> bool {
        self.problem.spec.looks_ahead()
    }

    fn reorders(&self) -> bool {
        self.problem.reorders
    }

    fn commutes(&self, a: u32, b: u32) -> bool {
        self.problem.commutes(a, b)
    }

    fn in_reach(&self, state: u32, observer: u32) -> bool {
        let (op, ret) = self.problem.operation(observer);
        self.problem.spec.in_reach(&self.states[state as usize], op, ret)
    }

    fn may_help(&self, operation: u32, observer: u32) -> bool {
        let (op, ret) = self.problem.operation(observer);
        self.problem.spec.may_help(self.problem.operation(operation).0, op, ret)
    }

    fn known(&self) -> u32 {
        self.states.len() as u32
    }

    fn forget_from(&mut self, state: u32) {
        self.states.truncate(state as usize);
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// An order of operation numbers; unused pending operations are left out.
    Order(Vec<u32>),
    /// There is none: no prefix that holds the return of this operation has one, every shorter prefix has.
    Stuck(u32),
}

/// Draws on the budget every few steps.
pub(crate) struct Ticker<'a> {
    budget: &'a Budget,
    footprint: Footprint<'a>,
    steps: u64,
    /// Steps after which this one stops, whatever the budget has left.
    limit: u64,
    /// Steps at the last look at the budget and at the next, and the time at the last.
    looked: u64,
    look_at: u64,
    looked_time: Duration,
    /// Passed-over candidates since the last look.
    idle: usize,
    /// Bytes that others than the one who ticks hold.
    elsewhere: u64,
}

impl<'a> Ticker<'a> {
    /// Steps between two looks at the budget, at most. Fewer where a step takes long: states may be large.
    const MOST: u64 = 256;
    /// A look should come about this often.
    const OFTEN: Duration = Duration::from_millis(5);
    /// Candidates that are passed over between two looks at the budget.
    const IDLE: usize = 1 << 16;

    pub(crate) fn new(budget: &'a Budget) -> Ticker<'a> {
        Ticker::limited(budget, u64::MAX)
    }

    /// One that stops after `limit` steps at the latest.
    pub(crate) fn limited(budget: &'a Budget, limit: u64) -> Ticker<'a> {
        Ticker {
            budget,
            footprint: Footprint::new(budget),
            steps: 0,
            limit,
            looked: 0,
            look_at: 1,
            looked_time: Duration::ZERO,
            idle: 0,
            elsewhere: 0,
        }
    }

    /// For steps that take next to no time: the first look comes late.
    pub(crate) fn with_cheap_steps(mut self) -> Ticker<'a> {
        self.look_at = Self::MOST;
        self
    }

    /// Counts a step; `bytes` is asked only when the budget is.
    #[inline]
    pub(crate) fn tick(&mut self, bytes: impl FnOnce() -> u64) -> Result<(), Exhausted> {
        self.steps += 1;
        if self.steps > self.limit {
            return Err(Exhausted::Steps(self.limit));
        }
        if self.steps < self.look_at {
            return Ok(());
        }
        self.footprint.set(self.elsewhere + bytes());
        self.look()
    }

    /// Counts candidates that were passed over without asking the specification.
    #[inline]
    pub(crate) fn pass_over(&mut self, candidates: usize) -> Result<(), Exhausted> {
        self.idle += candidates;
        if self.idle < Self::IDLE { Ok(()) } else { self.look() }
    }

    fn look(&mut self) -> Result<(), Exhausted> {
        self.idle = 0;
        let steps = self.steps - self.looked;
        self.looked = self.steps;
        let time = self.budget.elapsed();
        let slow = time.saturating_sub(self.looked_time) > Self::OFTEN;
        self.looked_time = time;
        let next = if slow { steps / 2 } else { steps * 2 };
        self.look_at = self.steps + next.clamp(1, Self::MOST);
        self.budget.spend(steps)
    }

    /// Tells of tables that the next ticks will not count.
    pub(crate) fn set_elsewhere(&mut self, bytes: u64) {
        self.elsewhere = bytes;
    }

    /// Whether the budget, which others may draw on as well, has nothing left.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.budget.spend(0).is_err()
    }

    /// Steps counted so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }
}
