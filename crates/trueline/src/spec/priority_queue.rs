//! The largest (or smallest) value first: `priority-queue` and `bounded-priority-queue`.

use std::cmp::Ordering;

use super::items::{Items, may_return, or_nil};
use super::method::{self, INSERT, Method, PEEK, REMOVE, item, nothing, truth};
use super::queue::{inserted, inserts, touches_item};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Action, Builtin, Canonical, Info, Kind, Origins, Shown, Spec, Touches};
use crate::value::Value;

/// The operations of a priority queue. A value is its own priority, by the order of [`Value`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PriorityQueueOp {
    /// Inserts a value. Nil is not a value: inserting it is never legal. A bounded queue returns
    /// whether there was room.
    Insert(Value),
    /// Removes a value of the highest priority; returns nil if there is none.
    Poll,
    /// A value of the highest priority; nil if there is none.
    Peek,
}

use PriorityQueueOp::{Insert, Peek, Poll};

const METHODS: [Method<PriorityQueueOp>; 3] = [
    Method::new("insert(value)", INSERT, |a| Ok(Insert(item(&a[0])?))),
    Method::new("poll() -> value or nil", REMOVE, |_| Ok(Poll)),
    Method::new("peek() -> value or nil", PEEK, |_| Ok(Peek)),
];

pub(super) const PRIORITY_QUEUE: Info = Info {
    name: "priority-queue",
    aliases: &["priorityqueue", "pqueue", "pq", "heap", "atomic-priority-queue"],
    parameters: "order=max, init=[]",
    methods: &method::signatures(&METHODS),
    summary: "the largest value first (order=min: the smallest); values may repeat",
};

pub(super) const BOUNDED_PRIORITY_QUEUE: Info = Info {
    name: "bounded-priority-queue",
    aliases: &["bounded-pqueue", "bounded-pq"],
    parameters: "capacity=N, order=max, init=[]",
    methods: &["insert(value) -> bool", "poll() -> value or nil", "peek() -> value or nil"],
    summary: "priority queue with room for N values; insert returns false when full",
};

/// A priority queue, with or without a bound. Values may repeat.
#[derive(Clone, Debug, Default)]
pub struct PriorityQueue {
    /// Lowest priority first, as in the state.
    init: Items,
    capacity: Option<usize>,
    smallest_first: bool,
}

/// An empty priority queue without a bound; the largest value comes first.
pub fn priority_queue() -> PriorityQueue {
    PriorityQueue::default()
}

/// An empty priority queue with this capacity. `insert` returns whether there was room.
pub fn bounded_priority_queue(capacity: usize) -> PriorityQueue {
    PriorityQueue { capacity: Some(capacity), ..PriorityQueue::default() }
}

impl PriorityQueue {
    /// The same priority queue with initial contents in any order.
    pub fn with_init(mut self, values: impl IntoIterator<Item = Value>) -> PriorityQueue {
        self.init = self.sorted(values);
        self
    }

    /// The same priority queue where the smallest value comes first.
    pub fn smallest_first(mut self) -> PriorityQueue {
        self.smallest_first = true;
        self.init = self.sorted(self.init.iter().cloned());
        self
    }

    /// Whether the smallest value comes first.
    pub fn is_smallest_first(&self) -> bool {
        self.smallest_first
    }

    /// The capacity; `None`: unbounded.
    pub fn capacity(&self) -> Option<usize> {
        self.capacity
    }

    /// The initial contents, the lowest priority first.
    pub fn init(&self) -> &[Value] {
        &self.init
    }

    fn sorted(&self, values: impl IntoIterator<Item = Value>) -> Items {
        let mut values: Vec<Value> = values.into_iter().collect();
        values.sort_by(|a, b| self.compare(a, b));
        values.into_iter().collect()
    }

    /// `Greater` if `a` comes before `b`.
    fn compare(&self, a: &Value, b: &Value) -> Ordering {
        if self.smallest_first { b.cmp(a) } else { a.cmp(b) }
    }

    fn is_full(&self, state: &Items) -> bool {
        self.capacity.is_some_and(|capacity| state.len() >= capacity)
    }

    fn change(&self, state: &mut Items, op: &PriorityQueueOp) {
        match op {
            Insert(value) if !self.is_full(state) => {
                let at = state.partition_point(|v| self.compare(v, value) == Ordering::Less);
                state.insert(at, value.clone());
            }
            Poll => drop(state.pop()),
            Insert(_) | Peek => {}
        }
    }
}

impl Spec for PriorityQueue {
    /// The highest priority last.
    type State = Items;
    type Op = PriorityQueueOp;
    type Ret = Value;

    fn initial(&self) -> Items {
        self.init.clone()
    }

    fn step(
        &self,
        state: &Items,
        op: &PriorityQueueOp,
        ret: Option<&Value>,
        next: &mut Vec<Items>,
    ) {
        let legal = match op {
            Insert(value) => !value.is_nil() && inserted(self.capacity, self.is_full(state), ret),
            Poll | Peek => may_return(state.last(), ret),
        };
        if legal {
            let mut after = state.clone();
            self.change(&mut after, op);
            next.push(after);
        }
    }

    fn canonical(&self) -> Option<Canonical<PriorityQueueOp, Value>> {
        if self.capacity().is_some() {
            return None;
        }
        let action = |op: &PriorityQueueOp, ret: Option<&Value>| match op {
            Insert(value) => Some(Action::Insert(value.clone())),
            Poll => Some(Action::removal(ret)),
            Peek => None,
        };
        let smallest = self.is_smallest_first();
        let kind = if smallest { Kind::MinPriorityQueue } else { Kind::PriorityQueue };
        Some(Canonical::new(kind, action).holding(self.init.to_vec()))
    }

    fn observes(&self, op: &PriorityQueueOp, ret: Option<&Value>) -> bool {
        match op {
            Insert(_) => ret == Some(&Value::Bool(false)),
            Poll => ret == Some(&Value::Nil),
            Peek => true,
        }
    }

    /// The contents are the inserted values minus the polled ones.
    fn order_insensitive(&self) -> bool {
        true
    }

    fn reorders(&self) -> bool {
        self.capacity.is_none()
    }

    /// Without a bound: two insertions commute, and so do an insertion and the removal of a value
    /// that comes before the inserted one.
    fn commutes(
        &self,
        a: (&PriorityQueueOp, Option<&Value>),
        b: (&PriorityQueueOp, Option<&Value>),
    ) -> bool {
        self.capacity.is_none()
            && match (a, b) {
                ((Insert(_), _), (Insert(_), _)) => true,
                ((Insert(low), _), (Poll | Peek, Some(high)))
                | ((Poll | Peek, Some(high)), (Insert(low), _)) => {
                    !high.is_nil() && self.compare(low, high) == Ordering::Less
                }
                _ => false,
            }
    }

    fn says_nothing(&self, op: &PriorityQueueOp, ret: &Value) -> bool {
        self.capacity.is_none() && matches!(op, Insert(_)) && ret.is_nil()
    }

    fn origins(&self) -> Option<Origins<PriorityQueueOp, Value>> {
        fn brings(op: &PriorityQueueOp) -> Option<&Value> {
            match op {
                Insert(value) => Some(value),
                Poll | Peek => None,
            }
        }
        let shows = |op: &PriorityQueueOp, ret: &Value| match (op, ret) {
            (_, Value::Nil) | (Insert(_), _) => None,
            (Poll, value) => Some(Shown::Taken(value.clone())),
            (Peek, value) => Some(Shown::Seen(value.clone())),
        };
        Some(Origins::new(brings, shows).holding(self.init.to_vec()))
    }

    fn touches(&self, op: &PriorityQueueOp, ret: Option<&Value>) -> Touches {
        match (op, ret) {
            (Insert(_), Some(Value::Bool(false))) | (Poll, None) => Touches::Everything,
            (Insert(value), _) => touches_item(&self.init, value),
            (Peek, None) | (_, Some(Value::Nil)) => Touches::NOTHING,
            (_, Some(value)) => touches_item(&self.init, value),
        }
    }

    fn vocabulary(&self) -> Option<Vocabulary<PriorityQueueOp, Value>> {
        let family = Family::PriorityQueue { smallest: self.smallest_first };
        let words = Vocabulary::new(family, self.init.to_vec(), words::priority_queue);
        Some(words.with_capacity(self.capacity))
    }

    fn show(&self, op: &PriorityQueueOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Items) -> String {
        state.to_string()
    }
}

impl Builtin for PriorityQueue {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(PriorityQueueOp, Option<Value>), String> {
        let bounded = self.capacity.is_some();
        method::decode(&METHODS, method, args, result, |op, ret| match op {
            Insert(_) if bounded => truth(ret, true),
            Insert(_) => nothing(ret),
            Poll | Peek => Ok(ret.clone()),
        })
    }

    fn encode(&self, op: &PriorityQueueOp) -> (&'static str, Vec<Value>) {
        match op {
            Insert(value) => ("insert", vec![value.clone()]),
            Poll => ("poll", vec![]),
            Peek => ("peek", vec![]),
        }
    }

    fn results(&self, state: &Items, op: &PriorityQueueOp) -> Vec<Value> {
        vec![match op {
            Insert(_) if self.capacity.is_some() => Value::Bool(!self.is_full(state)),
            Insert(_) => Value::Nil,
            Poll | Peek => or_nil(state.last()),
        }]
    }

    fn sample(
        &self,
        _: &Self::State,
        pick: &mut dyn FnMut(u64) -> u64,
        fresh: i64,
    ) -> PriorityQueueOp {
        if !inserts(pick) {
            return Poll;
        }
        // As unique as `fresh`, but not ascending: an odd factor permutes the numbers below a power
        // of two.
        const BLOCK: i64 = 1 << 20;
        let scattered = fresh.wrapping_mul(0x9E375) & (BLOCK - 1);
        Insert(Value::Int((fresh & !(BLOCK - 1)) | scattered))
    }

    fn perform(
        &self,
        state: &mut Items,
        op: &PriorityQueueOp,
        _: &Value,
        _: &mut dyn FnMut(u64) -> u64,
    ) {
        self.change(state, op);
    }

    fn alien(&self, value: i64) -> Option<(PriorityQueueOp, Value)> {
        Some((Poll, Value::Int(value)))
    }
}
