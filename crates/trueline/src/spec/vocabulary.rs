//! The effect of an operation, in the terms in which a report explains a violation.
//!
//! A [`Vocabulary`] is to explanations what [`Canonical`] is to monitors: it gives the family of an
//! object and the effect of each operation. It decides nothing. A sentence based on it is checked:
//! the operations that it names must be a violation of the specification in themselves, otherwise
//! the general sentence is used.

use std::sync::Arc;

use super::counter::CounterOp;
use super::deque::DequeOp;
use super::kv::KvOp;
use super::lock::{MutexOp, SemaphoreOp};
use super::log::LogOp;
use super::map::MapOp;
use super::owner_mutex::OwnerMutexOp;
use super::priority_queue::PriorityQueueOp;
use super::queue::QueueOp;
use super::register::RegisterOp;
use super::rmw::RmwOp;
use super::set::{MultisetOp, SetOp};
use super::snapshot::SnapshotOp;
use super::snzi::SnziOp;
use super::stack::StackOp;
use super::{Action, Canonical, ContainerOp, Kind, Turn};
use crate::value::Value;

/// The family of an object, which selects the terms of a sentence and the rules behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// First in, first out; any of the `nearest` oldest values may be removed.
    Queue {
        /// How many of the oldest values may be removed.
        nearest: usize,
    },
    /// A queue that may return each value this many times.
    StutteringQueue(u32),
    /// Last in, first out.
    Stack,
    /// Two ends.
    Deque,
    /// The largest first, or the smallest.
    PriorityQueue {
        /// The smallest first.
        smallest: bool,
    },
    /// A container of which only this is known: every removed value was inserted, 'empty' is
    /// returned only if it is, and how many values a removal passes over.
    Relaxed {
        /// Which value's turn it is.
        turn: Turn,
        /// How many values whose turn comes first a removal may leave behind, if that is bounded
        /// and each value is removed at most once.
        passes: Option<usize>,
    },
    /// One value.
    Register,
    /// One value for each key.
    Map,
    /// One text for each key, to replace or to lengthen.
    Kv,
    /// Each value is there or not.
    Set,
    /// Held or free.
    Mutex,
    /// Held by an owner, or free.
    OwnerMutex,
    /// The same where the owner may take it again.
    ReentrantMutex,
    /// Segments to update one by one and to scan at once.
    Snapshot,
    /// A number to add to.
    Counter,
    /// Permits.
    Semaphore,
    /// How many are present.
    Snzi,
    /// How many times one value is there.
    Multiset,
    /// A list that only grows.
    Log,
}

/// An end of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end where a queue removes.
    Front,
    /// The end where a queue inserts.
    Back,
}

/// The condition on the state for an operation to be legal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Anything.
    Any,
    /// This value.
    Is(Value),
    /// Any other value.
    Not(Value),
}

/// How large a number must be before the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Anything.
    Any,
    /// At least one.
    Some,
    /// Exactly so much.
    Exactly(i64),
}

/// The effect of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Puts a value into a container, at this end.
    Insert(End, Value),
    /// Finds a container full.
    Refused,
    /// Takes this value out of a container.
    Remove(End, Value),
    /// Takes out a value, if there is one; which is not known.
    Take,
    /// Sees this value at an end of a container.
    Peek(End, Value),
    /// Finds a container empty.
    Empty,
    /// Needs a cell to satisfy a condition, and leaves a value there if it is given.
    Cell(Value, Needs, Option<Value>),
    /// Takes a lock for this owner, or releases it.
    Owned(Value, bool),
    /// Shows all values of a set.
    Contents(Arc<Vec<Value>>),
    /// Shows the first segments of a snapshot.
    Scan(Arc<Vec<Value>>),
    /// Needs a number to be so large, and adds to it.
    Level(Amount, i64),
    /// The same for the multiplicity of this value.
    Often(Value, Amount, i64),
    /// Adds a value to the end of a list; returns its index if that is known.
    Append(Value, Option<i64>),
    /// Shows a list.
    List(Arc<Vec<Value>>),
    /// Shows a text.
    Text(Arc<String>),
    /// Replaces a text.
    PutText(Arc<String>),
    /// Lengthens a text.
    AppendText(Arc<String>),
    /// Changes nothing and shows nothing.
    Nothing,
    /// Has a result that no such operation ever has, with the reason.
    Never(&'static str),
}

type Says<Op, Ret> = dyn Fn(&Op, Option<&Ret>) -> Option<Act> + Send + Sync;

/// The kind of object that a sentence is about.
#[derive(Clone, Debug)]
pub(crate) struct Portrait {
    pub(crate) family: Family,
    /// Its initial content; `None` if it is unknown.
    pub(crate) initial: Option<Vec<Value>>,
    pub(crate) capacity: Option<usize>,
    /// What removals keep that no rule speaks of.
    pub(crate) promise: Option<String>,
    /// Rests on the specification's claim to be of a [kind](crate::spec::Kind).
    pub(crate) is_claimed: bool,
}

/// How to explain violations of a specification.
pub struct Vocabulary<Op, Ret> {
    pub(crate) portrait: Portrait,
    act: Box<Says<Op, Ret>>,
}

impl<Op: 'static, Ret: 'static> Vocabulary<Op, Ret> {
    /// The vocabulary of an object of this family with these initial values. `act` gives the effect
    /// of an operation with this result (`None`: unknown), or `None` if it has no such term.
    pub fn new(
        family: Family,
        initial: impl IntoIterator<Item = Value>,
        act: impl Fn(&Op, Option<&Ret>) -> Option<Act> + Send + Sync + 'static,
    ) -> Self {
        let initial = Some(initial.into_iter().collect());
        let portrait =
            Portrait { family, initial, capacity: None, promise: None, is_claimed: false };
        Vocabulary { portrait, act: Box::new(act) }
    }

    /// The same for a container with this capacity.
    pub fn with_capacity(mut self, capacity: Option<usize>) -> Self {
        self.portrait.capacity = capacity;
        self
    }

    /// The same for a container whose removals guarantee more than the rules cover, as text.
    pub(crate) fn with_promise(mut self, promise: Option<String>) -> Self {
        self.portrait.promise = promise;
        self
    }

    /// The same for an object with unknown initial content.
    pub fn with_unknown_initial(mut self) -> Self {
        self.portrait.initial = None;
        self
    }

    /// The vocabulary of a specification that claims to be of a kind.
    pub(crate) fn of(canonical: Canonical<Op, Ret>) -> Self {
        let family = match canonical.kind {
            Kind::Register => Family::Register,
            Kind::Queue => Family::Queue { nearest: 1 },
            Kind::Stack => Family::Stack,
            Kind::PriorityQueue => Family::PriorityQueue { smallest: false },
            Kind::MinPriorityQueue => Family::PriorityQueue { smallest: true },
            Kind::Set => Family::Set,
            Kind::Mutex => Family::Mutex,
            Kind::Snapshot => Family::Snapshot,
        };
        let mut initial = canonical.initial;
        if matches!(family, Family::Register) && initial.is_empty() {
            initial.push(Value::Nil);
        }
        let action = canonical.action;
        let act = Box::new(move |op: &Op, ret: Option<&Ret>| Some(plain(action(op, ret)?)));
        let initial = Some(initial);
        let portrait =
            Portrait { family, initial, capacity: None, promise: None, is_claimed: true };
        Vocabulary { portrait, act }
    }

    /// Whether the vocabulary relies on the specification's claim to be of a
    /// [kind](crate::spec::Kind), which has to be tested.
    pub fn is_claimed(&self) -> bool {
        self.portrait.is_claimed
    }

    /// The effect of an operation with this result; `None` if the vocabulary does not cover it.
    pub(crate) fn act(&self, op: &Op, ret: Option<&Ret>) -> Option<Act> {
        (self.act)(op, ret)
    }

    /// The same for operations of another type: `read` converts an operation and its result to this
    /// type.
    pub fn translated<O: 'static, R: 'static>(
        self,
        read: impl Fn(&O, Option<&R>) -> Option<(Op, Option<Ret>)> + Send + Sync + 'static,
    ) -> Vocabulary<O, R> {
        let Vocabulary { portrait, act } = self;
        let act = Box::new(move |op: &O, ret: Option<&R>| {
            let (op, ret) = read(op, ret)?;
            act(&op, ret.as_ref())
        });
        Vocabulary { portrait, act }
    }
}

fn plain(action: Action) -> Act {
    let truth = Value::Bool;
    match action {
        Action::Insert(v) => Act::Insert(End::Back, v),
        Action::Remove(v) => Act::Remove(End::Front, v),
        Action::RemoveUnknown => Act::Take,
        Action::FoundEmpty => Act::Empty,
        Action::Read(v) => Act::Cell(Value::Nil, Needs::Is(v), None),
        Action::Write(v) => Act::Cell(Value::Nil, Needs::Any, Some(v)),
        Action::Add(k) => Act::Cell(k, Needs::Is(truth(false)), Some(truth(true))),
        Action::Delete(k) => Act::Cell(k, Needs::Is(truth(true)), Some(truth(false))),
        Action::Present(k) => Act::Cell(k, Needs::Is(truth(true)), None),
        Action::Absent(k) => Act::Cell(k, Needs::Is(truth(false)), None),
        Action::Acquire => Act::Cell(Value::Nil, Needs::Is(truth(false)), Some(truth(true))),
        Action::Release => Act::Cell(Value::Nil, Needs::Is(truth(true)), Some(truth(false))),
        Action::FoundHeld => Act::Cell(Value::Nil, Needs::Is(truth(true)), None),
        Action::FoundFree => Act::Cell(Value::Nil, Needs::Is(truth(false)), None),
        Action::Update(segment, v) => {
            Act::Cell(Value::Int(i64::from(segment)), Needs::Any, Some(v))
        }
        Action::Scan(Value::List(shown)) => Act::Scan(shown),
        Action::Scan(_) => Act::Nothing,
    }
}

fn removal(end: End, ret: Option<&Value>) -> Act {
    match ret {
        None => Act::Take,
        Some(Value::Nil) => Act::Empty,
        Some(value) => Act::Remove(end, value.clone()),
    }
}

fn peek(end: End, ret: Option<&Value>) -> Act {
    match ret {
        None => Act::Nothing,
        Some(Value::Nil) => Act::Empty,
        Some(value) => Act::Peek(end, value.clone()),
    }
}

fn insertion(end: End, value: &Value, ret: Option<&Value>) -> Option<Act> {
    match ret {
        _ if value.is_nil() => None,
        Some(Value::Bool(false)) => Some(Act::Refused),
        _ => Some(Act::Insert(end, value.clone())),
    }
}

pub(super) fn queue(op: &QueueOp, ret: Option<&Value>) -> Option<Act> {
    match op {
        QueueOp::Enq(value) => insertion(End::Back, value, ret),
        QueueOp::Deq => Some(removal(End::Front, ret)),
        QueueOp::Peek => Some(peek(End::Front, ret)),
    }
}

pub(super) fn stack(op: &StackOp, ret: Option<&Value>) -> Option<Act> {
    match op {
        StackOp::Push(value) => insertion(End::Front, value, ret),
        StackOp::Pop => Some(removal(End::Front, ret)),
        StackOp::Peek => Some(peek(End::Front, ret)),
    }
}

pub(super) fn priority_queue(op: &PriorityQueueOp, ret: Option<&Value>) -> Option<Act> {
    match op {
        PriorityQueueOp::Insert(value) => insertion(End::Back, value, ret),
        PriorityQueueOp::Poll => Some(removal(End::Front, ret)),
        PriorityQueueOp::Peek => Some(peek(End::Front, ret)),
    }
}

pub(super) fn deque(op: &DequeOp, ret: Option<&Value>) -> Option<Act> {
    match op {
        DequeOp::PushFront(value) => insertion(End::Front, value, ret),
        DequeOp::PushBack(value) => insertion(End::Back, value, ret),
        DequeOp::PopFront => Some(removal(End::Front, ret)),
        DequeOp::PopBack => Some(removal(End::Back, ret)),
        DequeOp::PeekFront => Some(peek(End::Front, ret)),
        DequeOp::PeekBack => Some(peek(End::Back, ret)),
    }
}

pub(super) fn relaxed(op: &ContainerOp, ret: Option<&Value>) -> Option<Act> {
    match op {
        ContainerOp::Add(value) => insertion(End::Back, value, ret),
        ContainerOp::Remove => Some(removal(End::Front, ret)),
    }
}

fn cell(needs: Needs, leaves: Option<&Value>) -> Option<Act> {
    Some(Act::Cell(Value::Nil, needs, leaves.cloned()))
}

fn shows(ret: Option<&Value>) -> Needs {
    ret.map_or(Needs::Any, |value| Needs::Is(value.clone()))
}

pub(super) fn register(op: &RegisterOp, ret: Option<&Value>) -> Option<Act> {
    match (op, ret) {
        (RegisterOp::Read, ret) => cell(shows(ret), None),
        (RegisterOp::Write(value), _) => cell(Needs::Any, Some(value)),
        (RegisterOp::Cas(old, new), Some(Value::Bool(true))) => {
            cell(Needs::Is(old.clone()), Some(new))
        }
        (RegisterOp::Cas(old, _), Some(Value::Bool(false))) => cell(Needs::Not(old.clone()), None),
        (RegisterOp::Cas(_, new), None) => cell(Needs::Any, Some(new)),
        (RegisterOp::Cas(..), Some(_)) => None,
    }
}

pub(super) fn rmw(op: &RmwOp, ret: Option<&Value>) -> Option<Act> {
    match op {
        RmwOp::Rmw(old, new) => cell(Needs::Is(old.clone()), Some(new)),
        RmwOp::Read => cell(shows(ret), None),
        RmwOp::Write(value) => cell(Needs::Any, Some(value)),
    }
}

pub(super) fn map(op: &MapOp, ret: Option<&Value>) -> Option<Act> {
    let nil = &Value::Nil;
    let (key, needs, leaves) = match (op, ret) {
        (MapOp::Put(_, Value::Nil) | MapOp::Swap(_, Value::Nil), _) => return None,
        (MapOp::Put(key, value), _) => (key, Needs::Any, Some(value)),
        (MapOp::Get(key), ret) => (key, shows(ret), None),
        (MapOp::Swap(key, value), ret) => (key, shows(ret), Some(value)),
        (MapOp::Remove(key), Some(Value::Bool(true))) => (key, Needs::Not(Value::Nil), Some(nil)),
        (MapOp::Remove(key) | MapOp::Contains(key), Some(Value::Bool(false))) => {
            (key, Needs::Is(Value::Nil), None)
        }
        (MapOp::Remove(key), _) => (key, Needs::Any, Some(nil)),
        (MapOp::Contains(key), Some(Value::Bool(true))) => (key, Needs::Not(Value::Nil), None),
        (MapOp::Contains(_), _) => return Some(Act::Nothing),
    };
    Some(Act::Cell(key.clone(), needs, leaves.cloned()))
}

pub(super) fn kv(op: &KvOp, ret: Option<&Value>) -> Option<Act> {
    Some(match (op, ret) {
        (KvOp::Get(_), Some(Value::Text(text))) => Act::Text(text.clone()),
        (KvOp::Get(_), _) => Act::Nothing,
        (KvOp::Put(_, text), _) => Act::PutText(text.clone()),
        (KvOp::Append(_, text), _) => Act::AppendText(text.clone()),
    })
}

pub(super) fn set(op: &SetOp, ret: Option<&Value>) -> Option<Act> {
    let told = ret.and_then(Value::as_bool);
    let is = |present: bool| Needs::Is(Value::Bool(present));
    let (key, needs, leaves) = match (op, told) {
        (SetOp::Add(key), Some(true)) => (key, is(false), Some(true)),
        (SetOp::Add(key), Some(false)) => (key, is(true), None),
        (SetOp::Add(key), None) => (key, Needs::Any, Some(true)),
        (SetOp::Remove(key), Some(true)) => (key, is(true), Some(false)),
        (SetOp::Remove(key), Some(false)) => (key, is(false), None),
        (SetOp::Remove(key), None) => (key, Needs::Any, Some(false)),
        (SetOp::Contains(key), Some(present)) => (key, is(present), None),
        (SetOp::Contains(_), None) => return Some(Act::Nothing),
        (SetOp::Read, _) => match ret {
            Some(Value::List(shown)) => return Some(Act::Contents(shown.clone())),
            _ => return Some(Act::Nothing),
        },
    };
    Some(Act::Cell(key.clone(), needs, leaves.map(Value::Bool)))
}

pub(super) fn mutex(op: &MutexOp, ret: Option<&Value>) -> Option<Act> {
    let is = |held: bool| Needs::Is(Value::Bool(held));
    let (held, free) = (&Value::Bool(true), &Value::Bool(false));
    match (op, ret) {
        (MutexOp::Acquire, _) | (MutexOp::TryAcquire, None | Some(Value::Bool(true))) => {
            cell(is(false), Some(held))
        }
        (MutexOp::Release, _) => cell(is(true), Some(free)),
        (MutexOp::TryAcquire, Some(Value::Bool(false))) => cell(is(true), None),
        (MutexOp::TryAcquire, _) => None,
    }
}

/// A lock that its owner cannot take again: a cell that contains the owner, or nil.
pub(super) fn owner_mutex(op: &OwnerMutexOp, ret: Option<&Value>) -> Option<Act> {
    let nil = &Value::Nil;
    let is_false = ret == Some(&Value::Bool(false));
    match op {
        OwnerMutexOp::TryAcquire(_) if is_false => cell(Needs::Not(Value::Nil), None),
        OwnerMutexOp::Acquire(owner) | OwnerMutexOp::TryAcquire(owner) => {
            cell(Needs::Is(Value::Nil), Some(owner))
        }
        OwnerMutexOp::Release(owner) if is_false => cell(Needs::Not(owner.clone()), None),
        OwnerMutexOp::Release(owner) => cell(Needs::Is(owner.clone()), Some(nil)),
    }
}

/// A lock that its owner may take again. Who finds it held, or not held, has no word.
pub(super) fn reentrant_mutex(op: &OwnerMutexOp, ret: Option<&Value>) -> Option<Act> {
    Some(match op {
        _ if ret == Some(&Value::Bool(false)) => Act::Nothing,
        OwnerMutexOp::Acquire(owner) | OwnerMutexOp::TryAcquire(owner) => {
            Act::Owned(owner.clone(), true)
        }
        OwnerMutexOp::Release(owner) => Act::Owned(owner.clone(), false),
    })
}

pub(super) fn snapshot(op: &SnapshotOp, ret: Option<&Value>) -> Option<Act> {
    Some(match (op, ret) {
        (SnapshotOp::Update(segment, value), _) => {
            Act::Cell(Value::Int(i64::from(*segment)), Needs::Any, Some(value.clone()))
        }
        (SnapshotOp::Scan, Some(Value::List(shown))) => Act::Scan(shown.clone()),
        (SnapshotOp::Scan, _) => Act::Nothing,
    })
}

pub(super) fn counter(op: &CounterOp, ret: Option<&Value>) -> Option<Act> {
    let told = ret.and_then(Value::as_int);
    Some(match (op, told) {
        (CounterOp::Add(n) | CounterOp::FetchAdd(n), None) => Act::Level(Amount::Any, *n),
        (CounterOp::Add(n), Some(after)) => Act::Level(Amount::Exactly(after.checked_sub(*n)?), *n),
        (CounterOp::FetchAdd(n), Some(before)) => Act::Level(Amount::Exactly(before), *n),
        (CounterOp::Read, Some(total)) => Act::Level(Amount::Exactly(total), 0),
        (CounterOp::Read, None) => Act::Nothing,
    })
}

pub(super) fn semaphore(op: &SemaphoreOp, ret: Option<&Value>) -> Option<Act> {
    Some(match (op, ret) {
        (SemaphoreOp::Release, None | Some(Value::Bool(true))) => Act::Level(Amount::Any, 1),
        (SemaphoreOp::Acquire, Some(Value::Bool(false))) => Act::Level(Amount::Exactly(0), 0),
        (SemaphoreOp::Acquire, None) => Act::Level(Amount::Any, -1),
        (SemaphoreOp::Acquire, Some(Value::Bool(true))) => Act::Level(Amount::Some, -1),
        (SemaphoreOp::Release, Some(Value::Bool(false))) => {
            Act::Never("a permit can always be released")
        }
        _ => return None,
    })
}

pub(super) fn snzi(op: &SnziOp, ret: Option<&Value>) -> Option<Act> {
    Some(match (op, ret) {
        (SnziOp::Arrive, _) => Act::Level(Amount::Any, 1),
        (SnziOp::Depart, _) => Act::Level(Amount::Some, -1),
        (SnziOp::Query, Some(Value::Bool(true))) => Act::Level(Amount::Some, 0),
        (SnziOp::Query, Some(Value::Bool(false))) => Act::Level(Amount::Exactly(0), 0),
        (SnziOp::Query, _) => Act::Nothing,
    })
}

pub(super) fn multiset(op: &MultisetOp, ret: Option<&Value>) -> Option<Act> {
    use MultisetOp::{Add, Contains, Count, Remove};
    let (Add(value) | Remove(value) | Contains(value) | Count(value)) = op;
    let (needs, change) = match (op, ret) {
        (Add(_), _) => (Amount::Any, 1),
        (Remove(_), None) => (Amount::Any, -1),
        (Remove(_), Some(Value::Bool(true))) => (Amount::Some, -1),
        (Remove(_) | Contains(_), Some(Value::Bool(false))) => (Amount::Exactly(0), 0),
        (Contains(_), Some(Value::Bool(true))) => (Amount::Some, 0),
        (Count(_), Some(Value::Int(n))) => (Amount::Exactly(*n), 0),
        (Contains(_) | Count(_), _) => return Some(Act::Nothing),
        (Remove(_), Some(_)) => return None,
    };
    Some(Act::Often(value.clone(), needs, change))
}

pub(super) fn log(op: &LogOp, ret: Option<&Value>) -> Option<Act> {
    Some(match (op, ret) {
        (LogOp::Append(value), ret) => Act::Append(value.clone(), ret.and_then(Value::as_int)),
        (LogOp::Read, Some(Value::List(shown))) => Act::List(shown.clone()),
        (LogOp::Read, _) => Act::Nothing,
    })
}
