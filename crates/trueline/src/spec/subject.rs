//! A specification together with the operations of a history, as the checkers see them: by number.
//!
//! The checkers are large, and there are many specifications. So [`Subject::new`] hides the types
//! of a specification, and searches, minimising and explaining are compiled once. Operations are
//! identified by their index in the history, states by numbers in a table that each search owns
//! ([`States`]). Only this file is compiled for each specification, and it is small: numbering a
//! state, taking a step, and passing on the specification's claims.

use std::any::Any;
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::OnceLock;

use foldhash::fast::FixedState;
use hashbrown::{HashSet, HashTable};

use super::facts::{Growth, Shown, Total};
use super::opaque::OpaqueState;
use super::vocabulary::{Act, Portrait, Vocabulary};
use super::{Action, Canonical, Kind, Spec, Touches};
use crate::history::{History, Operation};
use crate::value::Value;

/// The processes and times of a history, without calls and results.
pub(crate) type Intervals = History<(), ()>;

/// An operation of a history, and whether its result counts. It does not if the operation is
/// pending, or if a window of the history cuts it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) index: u32,
    pub(crate) has_result: bool,
}

impl Recorded {
    /// The operation with its result, as far as that is known.
    pub(crate) fn whole(index: u32) -> Recorded {
        Recorded { index, has_result: true }
    }

    /// The operation without its result.
    pub(crate) fn open(index: u32) -> Recorded {
        Recorded { index, has_result: false }
    }
}

/// A specification and a history of its operations, their types hidden.
pub(crate) struct Subject<'a> {
    pub(crate) history: Intervals,
    pub(crate) spec: Box<dyn Numbered + 'a>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new<S: Spec>(spec: &'a S, history: &'a History<S::Op, S::Ret>) -> Subject<'a> {
        Subject::hiding(spec, Cow::Borrowed(history))
    }

    /// The same for a history that is not needed elsewhere.
    pub(crate) fn owning<S: Spec>(spec: &'a S, history: History<S::Op, S::Ret>) -> Subject<'a> {
        Subject::hiding(spec, Cow::Owned(history))
    }

    fn hiding<S: Spec>(spec: &'a S, history: Cow<'a, History<S::Op, S::Ret>>) -> Subject<'a> {
        let (canonical, vocabulary) = (OnceLock::new(), OnceLock::new());
        let intervals = history.intervals();
        let spec = Box::new(Typed { spec, history, canonical, vocabulary });
        Subject { history: intervals, spec }
    }
}

/// A specification's claim to be of a kind: see [`Canonical`].
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) kind: Kind,
    pub(crate) initial: Vec<Value>,
}

/// The operations in the terms of a collection that only grows: see [`super::Growing`].
pub(crate) struct Grown {
    pub(crate) initial: Vec<Value>,
    pub(crate) ordered: bool,
    pub(crate) growths: Vec<Growth>,
}

/// The values that operations bring and show: see [`super::Origins`].
pub(crate) struct Traced<'a> {
    pub(crate) initial: Vec<Value>,
    pub(crate) brought: Vec<Option<&'a Value>>,
    pub(crate) shown: Vec<Option<Shown>>,
}

/// The amounts that operations add to a sum, and the totals that they show: see [`super::Sum`].
pub(crate) struct Summed {
    pub(crate) initial: i64,
    pub(crate) amounts: Vec<i64>,
    pub(crate) totals: Vec<Option<Total>>,
}

/// A specification over numbered operations. Each method is the one of the same name of [`Spec`],
/// unless it says otherwise.
pub(crate) trait Numbered: Sync {
    fn order_insensitive(&self) -> bool;
    fn reorders(&self) -> bool;
    fn looks_ahead(&self) -> bool;
    fn partition(&self, index: u32) -> Option<u64>;
    fn observes(&self, operation: Recorded) -> bool;
    /// False if there is no result.
    fn says_nothing(&self, index: u32) -> bool;
    fn touches(&self, operation: Recorded) -> Touches;
    fn commutes(&self, a: Recorded, b: Recorded) -> bool;
    fn show(&self, operation: Recorded) -> String;

    /// Whether calls and results are equal.
    fn are_equal(&self, a: Recorded, b: Recorded) -> bool;
    /// The same for equal operations.
    fn hash(&self, operation: Recorded) -> u64;
    /// False if the texts of the two operations certainly differ.
    fn may_look_alike(&self, a: Recorded, b: Recorded) -> bool;

    /// Its claimed kind: see [`Spec::canonical`].
    fn claim(&self) -> Option<Claim>;
    /// The action of the operation, in the terms of the claimed kind.
    fn action(&self, operation: Recorded) -> Option<Action>;
    /// The kind of object that a sentence is about: see [`Spec::vocabulary`].
    fn portrait(&self) -> Option<Portrait>;
    /// The effect of the operation, in the terms of a sentence.
    fn act(&self, operation: Recorded) -> Option<Act>;

    /// Whether [`Spec::growing`] makes a claim.
    fn grows(&self) -> bool;
    /// `operations` in the terms of a collection that only grows, if it covers each of them; the
    /// whole part is at `indices`, and has one key.
    fn growth(&self, indices: &[u32], operations: &[Recorded]) -> Option<Grown>;
    /// The values that the operations bring and show.
    fn origins(&self, operations: &[Recorded]) -> Option<Traced<'_>>;
    /// The amounts and totals of the operations.
    fn sum(&self, operations: &[Recorded]) -> Option<Summed>;

    fn initial(&self) -> OpaqueState;
    fn show_state(&self, state: &OpaqueState) -> String;
    /// The states that these operations lead to; the table is empty at first and refers to an
    /// operation by its index in the list.
    fn states<'p>(&'p self, operations: &'p [Recorded]) -> Box<dyn States + 'p>;
    /// The states along one path, for searches that do not compare states: nothing is hashed, and
    /// states are dropped when the search backtracks.
    fn path_states<'p>(&'p self, operations: &'p [Recorded]) -> Box<dyn States + 'p>;
    /// Performs operations one after the other, from all states that are possible at each; returns
    /// false if none allows the operation.
    fn walk(&self) -> Box<dyn FnMut(Recorded) -> bool + '_>;
}

/// The states that a search knows, each with a number.
pub(crate) trait States {
    /// The number of the state before the first operation.
    fn initial(&mut self) -> u32;
    /// The number of a state from elsewhere.
    fn admit(&mut self, state: &OpaqueState) -> u32;
    /// The state of this number, for use elsewhere.
    fn keep(&self, state: u32) -> OpaqueState;
    /// Pushes the states that the operation can lead to.
    fn step(&mut self, state: u32, operation: u32, next: &mut Vec<u32>);
    /// Approximate memory of the known states in bytes.
    fn bytes(&self) -> u64;
    /// See [`Spec::commutes`].
    fn commutes(&self, a: u32, b: u32) -> bool;
    /// See [`Spec::in_reach`].
    fn in_reach(&self, state: u32, observer: u32) -> bool;
    /// See [`Spec::may_help`].
    fn may_help(&self, operation: u32, observer: u32) -> bool;
    /// How many states are known.
    fn known(&self) -> u32;
    /// States with this number and above are no longer needed. A table that compares states keeps
    /// them all the same.
    fn forget_from(&mut self, state: u32);
}

/// An operation and its result, as a specification sees them.
type Known<'a, S> = (&'a <S as Spec>::Op, Option<&'a <S as Spec>::Ret>);

struct Typed<'a, S: Spec> {
    spec: &'a S,
    history: Cow<'a, History<S::Op, S::Ret>>,
    canonical: OnceLock<Option<Canonical<S::Op, S::Ret>>>,
    vocabulary: OnceLock<Option<Vocabulary<S::Op, S::Ret>>>,
}

fn known<Op, Ret>(
    operations: &[Operation<Op, Ret>],
    Recorded { index, has_result }: Recorded,
) -> (&Op, Option<&Ret>) {
    let o = &operations[index as usize];
    (&o.op, if has_result { o.result.as_ref() } else { None })
}

impl<S: Spec> Typed<'_, S> {
    fn get(&self, operation: Recorded) -> Known<'_, S> {
        known(self.history.operations(), operation)
    }

    fn op(&self, index: u32) -> &S::Op {
        &self.history.operations()[index as usize].op
    }

    fn canonical(&self) -> Option<&Canonical<S::Op, S::Ret>> {
        self.canonical.get_or_init(|| self.spec.canonical()).as_ref()
    }

    fn vocabulary(&self) -> Option<&Vocabulary<S::Op, S::Ret>> {
        self.vocabulary.get_or_init(|| self.spec.vocabulary()).as_ref()
    }

    fn table<'p>(&'p self, operations: &'p [Recorded], compares: bool) -> Table<'p, S> {
        Table {
            spec: self.spec,
            all: self.history.operations(),
            operations,
            compares,
            numbers: HashTable::new(),
            states: Vec::new(),
            scratch: Vec::new(),
        }
    }
}

impl<S: Spec> Numbered for Typed<'_, S> {
    fn order_insensitive(&self) -> bool {
        self.spec.order_insensitive()
    }

    fn reorders(&self) -> bool {
        self.spec.reorders()
    }

    fn looks_ahead(&self) -> bool {
        self.spec.looks_ahead()
    }

    fn partition(&self, index: u32) -> Option<u64> {
        self.spec.partition(self.op(index))
    }

    fn observes(&self, operation: Recorded) -> bool {
        let (op, ret) = self.get(operation);
        self.spec.observes(op, ret)
    }

    fn says_nothing(&self, index: u32) -> bool {
        let (op, ret) = self.get(Recorded::whole(index));
        ret.is_some_and(|ret| self.spec.says_nothing(op, ret))
    }

    fn touches(&self, operation: Recorded) -> Touches {
        let (op, ret) = self.get(operation);
        self.spec.touches(op, ret)
    }

    fn commutes(&self, a: Recorded, b: Recorded) -> bool {
        self.spec.commutes(self.get(a), self.get(b))
    }

    fn show(&self, operation: Recorded) -> String {
        let (op, ret) = self.get(operation);
        self.spec.show(op, ret)
    }

    fn are_equal(&self, a: Recorded, b: Recorded) -> bool {
        self.get(a) == self.get(b)
    }

    fn hash(&self, operation: Recorded) -> u64 {
        FixedState::default().hash_one(self.get(operation))
    }

    fn may_look_alike(&self, a: Recorded, b: Recorded) -> bool {
        let ((op, ret), (other, told)) = (self.get(a), self.get(b));
        let plain = |ret: &&S::Ret| (*ret as &dyn Any).downcast_ref().is_some_and(Value::is_plain);
        let differ = match (ret, told) {
            (Some(one), Some(two)) => one != two && plain(&one) && plain(&two),
            _ => false,
        };
        !differ && op == other
    }

    fn claim(&self) -> Option<Claim> {
        let Canonical { kind, initial, .. } = self.canonical()?;
        Some(Claim { kind: *kind, initial: initial.clone() })
    }

    fn action(&self, operation: Recorded) -> Option<Action> {
        let (op, ret) = self.get(operation);
        (self.canonical()?.action)(op, ret)
    }

    fn portrait(&self) -> Option<Portrait> {
        self.vocabulary().map(|words| words.portrait.clone())
    }

    fn act(&self, operation: Recorded) -> Option<Act> {
        let (op, ret) = self.get(operation);
        self.vocabulary()?.act(op, ret)
    }

    fn grows(&self) -> bool {
        self.spec.growing().is_some()
    }

    fn growth(&self, indices: &[u32], operations: &[Recorded]) -> Option<Grown> {
        let growing = self.spec.growing()?;
        if let (Some(key), Some(&first)) = (growing.key, indices.first()) {
            let is_other = |&i: &u32| key(self.op(i)) != key(self.op(first));
            if indices.iter().any(is_other) {
                return None;
            }
        }
        let growth = |&operation: &Recorded| {
            let (op, ret) = self.get(operation);
            (growing.growth)(op, ret)
        };
        let growths: Option<Vec<Growth>> = operations.iter().map(growth).collect();
        Some(Grown { growths: growths?, initial: growing.initial, ordered: growing.ordered })
    }

    fn origins(&self, operations: &[Recorded]) -> Option<Traced<'_>> {
        let origins = self.spec.origins()?;
        let brought = operations.iter().map(|o| (origins.brings)(self.op(o.index))).collect();
        let shows = |&operation: &Recorded| {
            let (op, ret) = self.get(operation);
            (origins.shows)(op, ret?)
        };
        let shown = operations.iter().map(shows).collect();
        Some(Traced { initial: origins.initial, brought, shown })
    }

    fn sum(&self, operations: &[Recorded]) -> Option<Summed> {
        let sum = self.spec.sum()?;
        let amounts = operations.iter().map(|o| (sum.adds)(self.op(o.index))).collect();
        let tells = |&operation: &Recorded| {
            let (op, ret) = self.get(operation);
            (sum.tells)(op, ret?)
        };
        let totals = operations.iter().map(tells).collect();
        Some(Summed { initial: sum.initial, amounts, totals })
    }

    fn initial(&self) -> OpaqueState {
        OpaqueState::new(self.spec.initial())
    }

    fn show_state(&self, state: &OpaqueState) -> String {
        self.spec.show_state(state.get())
    }

    fn states<'p>(&'p self, operations: &'p [Recorded]) -> Box<dyn States + 'p> {
        Box::new(self.table(operations, true))
    }

    fn path_states<'p>(&'p self, operations: &'p [Recorded]) -> Box<dyn States + 'p> {
        Box::new(self.table(operations, false))
    }

    fn walk(&self) -> Box<dyn FnMut(Recorded) -> bool + '_> {
        let (mut states, mut next) = (vec![self.spec.initial()], Vec::new());
        Box::new(move |operation| {
            let (op, ret) = self.get(operation);
            for state in &states {
                self.spec.step(state, op, ret, &mut next);
            }
            if next.len() > 1 {
                let mut seen: HashSet<S::State, FixedState> = HashSet::default();
                next.retain(|state| seen.insert(state.clone()));
            }
            std::mem::swap(&mut states, &mut next);
            next.clear();
            !states.is_empty()
        })
    }
}

/// The known states of a search. If states are compared, each is stored once.
struct Table<'p, S: Spec> {
    spec: &'p S,
    all: &'p [Operation<S::Op, S::Ret>],
    operations: &'p [Recorded],
    compares: bool,
    numbers: HashTable<u32>,
    states: Vec<S::State>,
    scratch: Vec<S::State>,
}

impl<S: Spec> Table<'_, S> {
    fn get(&self, operation: u32) -> Known<'_, S> {
        known(self.all, self.operations[operation as usize])
    }

    fn number(&mut self, state: S::State) -> u32 {
        let states = &mut self.states;
        if !self.compares {
            states.push(state);
            return states.len() as u32 - 1;
        }
        let hasher = FixedState::default();
        let entry = self.numbers.entry(
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

impl<S: Spec> States for Table<'_, S> {
    fn initial(&mut self) -> u32 {
        self.number(self.spec.initial())
    }

    fn admit(&mut self, state: &OpaqueState) -> u32 {
        self.number(state.get::<S::State>().clone())
    }

    fn keep(&self, state: u32) -> OpaqueState {
        OpaqueState::new(self.states[state as usize].clone())
    }

    fn step(&mut self, state: u32, operation: u32, next: &mut Vec<u32>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let (op, ret) = self.get(operation);
        self.spec.step(&self.states[state as usize], op, ret, &mut scratch);
        for after in scratch.drain(..) {
            next.push(self.number(after));
        }
        self.scratch = scratch;
    }

    fn bytes(&self) -> u64 {
        (self.states.capacity() * size_of::<S::State>() + self.numbers.capacity() * 5) as u64
    }

    fn commutes(&self, a: u32, b: u32) -> bool {
        self.spec.commutes(self.get(a), self.get(b))
    }

    fn in_reach(&self, state: u32, observer: u32) -> bool {
        let (op, ret) = self.get(observer);
        self.spec.in_reach(&self.states[state as usize], op, ret)
    }

    fn may_help(&self, operation: u32, observer: u32) -> bool {
        let (op, ret) = self.get(observer);
        self.spec.may_help(self.get(operation).0, op, ret)
    }

    fn known(&self) -> u32 {
        self.states.len() as u32
    }

    fn forget_from(&mut self, state: u32) {
        if !self.compares {
            self.states.truncate(state as usize);
        }
    }
}
