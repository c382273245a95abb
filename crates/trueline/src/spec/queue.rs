//! First in, first out: `queue` and `bounded-queue`.

use super::items::{Items, may_return, or_nil};
use super::method::{self, INSERT, Method, PEEK, REMOVE, item, nothing, truth};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Action, Builtin, Canonical, Info, Kind, Origins, Shown, Spec, Touches, key_of};
use crate::value::Value;

/// The operations of a queue, and of its relaxed variants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QueueOp {
    /// Inserts a value. Nil is not a value: inserting it is never legal. A bounded queue returns
    /// whether there was room.
    Enq(Value),
    /// Removes the oldest value; returns nil if there is none.
    Deq,
    /// The oldest value; nil if there is none.
    Peek,
}

pub(super) const METHODS: [Method<QueueOp>; 3] = [
    Method::new("enq(value)", INSERT, |a| Ok(QueueOp::Enq(item(&a[0])?))),
    Method::new("deq() -> value or nil", REMOVE, |_| Ok(QueueOp::Deq)),
    Method::new("peek() -> value or nil", PEEK, |_| Ok(QueueOp::Peek)),
];

pub(super) const QUEUE: Info = Info {
    name: "queue",
    aliases: &["fifo", "fifo-queue", "atomic-queue"],
    parameters: "init=[]",
    methods: &method::signatures(&METHODS),
    summary: "first in, first out; init lists the oldest value first",
};

pub(super) const BOUNDED_QUEUE: Info = Info {
    name: "bounded-queue",
    aliases: &["bounded-fifo"],
    parameters: "capacity=N, init=[]",
    methods: &["enq(value) -> bool", "deq() -> value or nil", "peek() -> value or nil"],
    summary: "FIFO queue with room for N values; enq returns false when full",
};

/// A queue, with or without a bound.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    init: Items,
    capacity: Option<usize>,
}

/// An empty queue without a bound.
pub fn queue() -> Queue {
    Queue::default()
}

/// An empty queue with this capacity. `enq` returns whether there was room.
pub fn bounded_queue(capacity: usize) -> Queue {
    Queue { init: Items::default(), capacity: Some(capacity) }
}

impl Queue {
    /// The same queue with initial contents, the oldest value first.
    pub fn with_init(self, values: impl IntoIterator<Item = Value>) -> Queue {
        Queue { init: values.into_iter().collect(), ..self }
    }

    /// The capacity; `None`: unbounded.
    pub fn capacity(&self) -> Option<usize> {
        self.capacity
    }

    /// The initial contents, the oldest value first.
    pub fn init(&self) -> &[Value] {
        &self.init
    }

    fn is_full(&self, state: &Items) -> bool {
        self.capacity.is_some_and(|capacity| state.len() >= capacity)
    }

    fn change(&self, state: &mut Items, op: &QueueOp) {
        match op {
            QueueOp::Enq(value) if !self.is_full(state) => state.push(value.clone()),
            QueueOp::Deq => drop(state.shift()),
            QueueOp::Enq(_) | QueueOp::Peek => {}
        }
    }
}

impl Spec for Queue {
    type State = Items;
    type Op = QueueOp;
    type Ret = Value;

    fn initial(&self) -> Items {
        self.init.clone()
    }

    fn step(&self, state: &Items, op: &QueueOp, ret: Option<&Value>, next: &mut Vec<Items>) {
        let legal = match op {
            QueueOp::Enq(value) => {
                !value.is_nil() && inserted(self.capacity, self.is_full(state), ret)
            }
            QueueOp::Deq | QueueOp::Peek => may_return(state.first(), ret),
        };
        if legal {
            let mut after = state.clone();
            self.change(&mut after, op);
            next.push(after);
        }
    }

    fn observes(&self, op: &QueueOp, ret: Option<&Value>) -> bool {
        observes(op, ret)
    }

    fn canonical(&self) -> Option<Canonical<QueueOp, Value>> {
        if self.capacity.is_some() {
            return None;
        }
        let action = |op: &QueueOp, ret: Option<&Value>| match op {
            QueueOp::Enq(value) => Some(Action::Insert(value.clone())),
            QueueOp::Deq => Some(Action::removal(ret)),
            QueueOp::Peek => None,
        };
        Some(Canonical::new(Kind::Queue, action).holding(self.init.to_vec()))
    }

    fn says_nothing(&self, op: &QueueOp, ret: &Value) -> bool {
        self.capacity.is_none() && matches!(op, QueueOp::Enq(_)) && ret.is_nil()
    }

    fn origins(&self) -> Option<Origins<QueueOp, Value>> {
        Some(origins(&self.init))
    }

    fn touches(&self, op: &QueueOp, ret: Option<&Value>) -> Touches {
        touches(&self.init, op, ret)
    }

    fn vocabulary(&self) -> Option<Vocabulary<QueueOp, Value>> {
        let family = Family::Queue { nearest: 1 };
        let words = Vocabulary::new(family, self.init.to_vec(), words::queue);
        Some(words.with_capacity(self.capacity))
    }

    fn show(&self, op: &QueueOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Items) -> String {
        state.to_string()
    }
}

impl Builtin for Queue {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(QueueOp, Option<Value>), String> {
        let bounded = self.capacity.is_some();
        method::decode(&METHODS, method, args, result, |op, ret| match op {
            QueueOp::Enq(_) if bounded => truth(ret, true),
            QueueOp::Enq(_) => nothing(ret),
            QueueOp::Deq | QueueOp::Peek => Ok(ret.clone()),
        })
    }

    fn encode(&self, op: &QueueOp) -> (&'static str, Vec<Value>) {
        encode(op)
    }

    fn results(&self, state: &Items, op: &QueueOp) -> Vec<Value> {
        vec![match op {
            QueueOp::Enq(_) if self.capacity.is_some() => Value::Bool(!self.is_full(state)),
            QueueOp::Enq(_) => Value::Nil,
            QueueOp::Deq | QueueOp::Peek => or_nil(state.first()),
        }]
    }

    fn sample(&self, _: &Self::State, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> QueueOp {
        sample(pick, fresh)
    }

    fn perform(
        &self,
        state: &mut Items,
        op: &QueueOp,
        _result: &Value,
        _pick: &mut dyn FnMut(u64) -> u64,
    ) {
        self.change(state, op);
    }

    fn alien(&self, value: i64) -> Option<(QueueOp, Value)> {
        Some((QueueOp::Deq, Value::Int(value)))
    }
}

/// Whether an insertion may return `ret`. An unbounded container returns nothing. A bounded one
/// returns whether there was room, and nothing counts as 'there was'.
pub(super) fn inserted(capacity: Option<usize>, is_full: bool, ret: Option<&Value>) -> bool {
    match ret {
        None => true,
        Some(Value::Nil) => !is_full,
        Some(Value::Bool(room)) => capacity.is_some() && *room != is_full,
        Some(_) => false,
    }
}

pub(super) fn encode(op: &QueueOp) -> (&'static str, Vec<Value>) {
    match op {
        QueueOp::Enq(value) => ("enq", vec![value.clone()]),
        QueueOp::Deq => ("deq", vec![]),
        QueueOp::Peek => ("peek", vec![]),
    }
}

pub(super) fn observes(op: &QueueOp, ret: Option<&Value>) -> bool {
    match op {
        QueueOp::Enq(_) => ret == Some(&Value::Bool(false)),
        QueueOp::Deq => ret == Some(&Value::Nil),
        QueueOp::Peek => true,
    }
}

/// Where the values of a queue come from, whatever the order of removal.
pub(super) fn origins(init: &[Value]) -> Origins<QueueOp, Value> {
    let shows = |op: &QueueOp, ret: &Value| match (op, ret) {
        (_, Value::Nil) | (QueueOp::Enq(_), _) => None,
        (QueueOp::Deq, value) => Some(Shown::Taken(value.clone())),
        (QueueOp::Peek, value) => Some(Shown::Seen(value.clone())),
    };
    Origins::new(brings, shows).holding(init.to_vec())
}

pub(super) fn brings(op: &QueueOp) -> Option<&Value> {
    match op {
        QueueOp::Enq(value) => Some(value),
        QueueOp::Deq | QueueOp::Peek => None,
    }
}

pub(super) fn touches(init: &[Value], op: &QueueOp, ret: Option<&Value>) -> Touches {
    match (op, ret) {
        (QueueOp::Enq(_), Some(Value::Bool(false))) => Touches::Everything,
        (QueueOp::Enq(value), _) => touches_item(init, value),
        (QueueOp::Peek, None) => Touches::NOTHING,
        (QueueOp::Deq, None) => Touches::Everything,
        (_, Some(Value::Nil)) => Touches::NOTHING,
        (_, Some(value)) => touches_item(init, value),
    }
}

/// The values that an operation on one value of a container touches. The operations on an initial
/// value cannot leave together: nothing would remove it.
pub(super) fn touches_item(init: &[Value], value: &Value) -> Touches {
    if init.contains(value) { Touches::Everything } else { Touches::Value(key_of(value)) }
}

pub(super) fn sample(pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> QueueOp {
    if inserts(pick) { QueueOp::Enq(Value::Int(fresh)) } else { QueueOp::Deq }
}

/// Whether a generated operation inserts: slightly less often than it removes, so that containers
/// stay small.
pub(super) fn inserts(pick: &mut dyn FnMut(u64) -> u64) -> bool {
    pick(32) < 15
}
