//! One part of a history, ready for a search: operations and states as small numbers.
//!
//! Operations are numbered by their calls, states by their first appearance. A search sees only
//! these numbers through [`Stepper`], so a configuration is a few words.

use std::time::Duration;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use smallvec::SmallVec;

use crate::budget::{Budget, Exhausted, Footprint};
use crate::history::{Operation, PENDING};
use crate::spec::OpaqueState;
use crate::spec::subject::{Intervals, Recorded, States, Subject};

/// When the operations of a part were called and returned, and other facts for a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    /// Rank of each call, ascending.
    pub(crate) call: Vec<u32>,
    /// Rank of each return, or [`PENDING`].
    pub(crate) returned: Vec<u32>,
    /// True where the operation changes no state: see
    /// [`Spec::observes`](crate::spec::Spec::observes).
    pub(crate) observer: Vec<bool>,
    /// The previous operation that is pending for ever and equal to it, or itself: equal ones are
    /// interchangeable, the earliest goes first.
    pub(crate) earlier_twin: Vec<u32>,
    /// The first operation that is equal to it, including results, or [`ALONE`]; the same for equal
    /// ones that overlap. Not set for observers.
    pub(crate) class: Vec<u32>,
    /// The returning operations, sorted by return.
    pub(crate) returns: Vec<u32>,
}

/// No other operation is equal to it.
pub(crate) const ALONE: u32 = u32::MAX;

/// At most this many open operations are compared to find an equal one.
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
pub(crate) struct Problem<'a> {
    subject: &'a Subject<'a>,
    /// The operations in the history, by number.
    pub(crate) operations: Vec<Recorded>,
    pub(crate) spans: Spans,
    /// Where to start instead of the specification's initial state.
    start: Option<&'a OpaqueState>,
    /// Whether the specification's claim of what commutes is used.
    reorders: bool,
}

/// The stretch of a history that counts, in ranks: later calls are left out; operations that were
/// called before it or return after it have an unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: u32,
    pub(crate) until: u32,
}

impl Window {
    pub(crate) const ALL: Window = Window { from: 0, until: PENDING };

    /// The rank of an operation's return, as the window shows it.
    pub(crate) fn returned(&self, o: &Operation<(), ()>) -> u32 {
        let is_cut = o.call < self.from || o.returned >= self.until;
        if is_cut { PENDING } else { o.returned }
    }

    /// The operation at this index of a history, as the window shows it.
    pub(crate) fn recorded(&self, history: &Intervals, index: u32) -> Recorded {
        let returned = self.returned(&history.operations()[index as usize]);
        Recorded { index, has_result: returned != PENDING }
    }
}

impl<'a> Problem<'a> {
    /// The part made of the operations at these ascending indices, as far as the window shows them.
    pub(crate) fn new(subject: &'a Subject<'a>, indices: &[u32], window: Window) -> Problem<'a> {
        let (spec, all) = (&*subject.spec, subject.history.operations());
        let mut operations: Vec<Recorded> = Vec::with_capacity(indices.len());
        let mut spans = Spans::default();
        // Only operations that overlap can be interchanged: as long as few are open, they are
        // compared one by one. Hashing all of them would cost more than the rest of this function.
        let mut open: SmallVec<[u32; FEW]> = SmallVec::new();
        let mut table: Option<HashTable<Equal>> = None;
        // The operation and its result, if the result matters.
        let content = |operation: Recorded| match operation.has_result {
            true => Recorded { has_result: !spec.says_nothing(operation.index), ..operation },
            false => operation,
        };
        for &index in indices {
            let o = &all[index as usize];
            if o.call >= window.until {
                break;
            }
            let returned = window.returned(o);
            let operation = Recorded { index, has_result: returned != PENDING };
            let observer = spec.observes(operation);
            if returned == PENDING && observer {
                // It changes nothing and its result was not observed.
                continue;
            }
            let number = operations.len() as u32;
            let (mut earlier_twin, mut class) = (number, ALONE);
            if !observer {
                let is_pending = returned == PENDING;
                let own = content(operation);
                let content_of = |n: u32| content(operations[n as usize]);
                let is_own = |n: u32| spec.are_equal(content_of(n), own);
                let hash = |e: &Equal| spec.hash(content_of(e.first));
                if table.is_none() {
                    open.retain(|n| spans.returned[*n as usize] > o.call);
                    if is_pending || open.len() == FEW {
                        let mut all = HashTable::new();
                        for &n in &open {
                            let same =
                                |e: &Equal| spec.are_equal(content_of(e.first), content_of(n));
                            let first = spans.class[n as usize].min(n);
                            let entry = all.entry(spec.hash(content_of(n)), same, hash);
                            entry.or_insert(Equal { first, last_pending: ALONE });
                        }
                        table = Some(all);
                    }
                }
                if let Some(equal) = &mut table {
                    match equal.entry(spec.hash(own), |e| is_own(e.first), hash) {
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
                    let twin = open.iter().find(|&&n| is_own(n));
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
            operations.push(operation);
        }
        let returning = |&n: &u32| spans.returned[n as usize] != PENDING;
        let mut returns: Vec<u32> = (0..operations.len() as u32).filter(returning).collect();
        returns.sort_unstable_by_key(|&n| spans.returned[n as usize]);
        spans.returns = returns;
        let reorders = spec.reorders();
        Problem { subject, operations, spans, start: None, reorders }
    }

    /// The same part, with or without the specification's claim of what commutes.
    pub(crate) fn reordering(self, is_trusted: bool) -> Problem<'a> {
        Problem { reorders: self.reorders && is_trusted, ..self }
    }

    /// The same part, starting in this state.
    pub(crate) fn starting_in(self, start: &'a OpaqueState) -> Problem<'a> {
        Problem { start: Some(start), ..self }
    }

    /// The index in the history of the operation of this number.
    pub(crate) fn index(&self, number: u32) -> u32 {
        self.operations[number as usize].index
    }

    /// The states of this part, none known yet.
    pub(crate) fn states(&self) -> Stepper<'_> {
        self.stepper(self.subject.spec.states(&self.operations))
    }

    /// The states of this part along one path.
    pub(crate) fn path_states(&self) -> Stepper<'_> {
        self.stepper(self.subject.spec.path_states(&self.operations))
    }

    fn stepper<'p>(&'p self, states: Box<dyn States + 'p>) -> Stepper<'p> {
        Stepper { problem: self, looks_ahead: self.subject.spec.looks_ahead(), states }
    }

    /// True where the state is a function of the set of applied operations.
    pub(crate) fn order_insensitive(&self) -> bool {
        let all = self.subject.history.operations();
        self.subject.spec.order_insensitive()
            && self
                .operations
                .iter()
                .all(|o| o.has_result && all[o.index as usize].result.is_some())
    }
}

/// A search's access to the specification, in numbers of the part.
pub(crate) struct Stepper<'p> {
    problem: &'p Problem<'p>,
    looks_ahead: bool,
    states: Box<dyn States + 'p>,
}

impl Stepper<'_> {
    /// The state in which the part starts.
    pub(crate) fn initial(&mut self) -> u32 {
        match self.problem.start {
            Some(start) => self.states.admit(start),
            None => self.states.initial(),
        }
    }

    /// Pushes the states that the operation can lead to.
    #[inline]
    pub(crate) fn step(&mut self, state: u32, operation: u32, next: &mut Vec<u32>) {
        self.states.step(state, operation, next);
    }

    /// The state of this number, for another search to start in.
    pub(crate) fn keep(&self, state: u32) -> OpaqueState {
        self.states.keep(state)
    }

    /// See [`States::bytes`].
    pub(crate) fn bytes(&self) -> u64 {
        self.states.bytes()
    }

    /// See [`Spec::looks_ahead`](crate::spec::Spec::looks_ahead).
    #[inline]
    pub(crate) fn looks_ahead(&self) -> bool {
        self.looks_ahead
    }

    /// See [`Spec::reorders`](crate::spec::Spec::reorders).
    #[inline]
    pub(crate) fn reorders(&self) -> bool {
        self.problem.reorders
    }

    /// Whether the operations commute in every state.
    #[inline]
    pub(crate) fn commutes(&self, a: u32, b: u32) -> bool {
        let Spans { observer, class, .. } = &self.problem.spans;
        let (one, other) = (a as usize, b as usize);
        (observer[one] && observer[other])
            || (class[one] != ALONE && class[one] == class[other])
            || self.states.commutes(a, b)
    }

    /// See [`Spec::in_reach`](crate::spec::Spec::in_reach).
    pub(crate) fn in_reach(&self, state: u32, observer: u32) -> bool {
        self.states.in_reach(state, observer)
    }

    /// See [`Spec::may_help`](crate::spec::Spec::may_help).
    pub(crate) fn may_help(&self, operation: u32, observer: u32) -> bool {
        self.states.may_help(operation, observer)
    }

    /// See [`States::known`].
    pub(crate) fn known(&self) -> u32 {
        self.states.known()
    }

    /// See [`States::forget_from`].
    pub(crate) fn forget_from(&mut self, state: u32) {
        self.states.forget_from(state);
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// An order of operation numbers; unused pending operations are left out.
    Order(Vec<u32>),
    /// There is none: no prefix that contains the return of this operation has one, every shorter
    /// prefix has.
    Stuck(u32),
}

/// Draws on the budget every few steps.
pub(crate) struct Ticker<'a> {
    budget: &'a Budget,
    footprint: Footprint<'a>,
    steps: u64,
    /// Steps after which this one stops, whatever the budget has left.
    limit: u64,
    /// Steps at the last check of the budget and at the next, and the time at the last.
    looked: u64,
    look_at: u64,
    looked_time: Duration,
    /// Passed-over candidates since the last look.
    idle: usize,
    /// Bytes held by others than the caller of `tick`.
    elsewhere: u64,
}

impl<'a> Ticker<'a> {
    /// Maximum steps between two checks of the budget. Fewer if a step takes long, because states
    /// may be large.
    const MOST: u64 = 256;
    /// A look should come about this often.
    const OFTEN: Duration = Duration::from_millis(5);
    /// Candidates that are skipped between two checks of the budget.
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

    /// Counts a step; `bytes` is called only when the budget is checked.
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

    /// Reports the size of tables that the next ticks will not count.
    pub(crate) fn set_elsewhere(&mut self, bytes: u64) {
        self.elsewhere = bytes;
    }

    /// Whether the budget, which others may also use, is spent.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.budget.spend(0).is_err()
    }

    /// Steps counted so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }
}
