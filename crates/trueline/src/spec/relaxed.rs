//! Queues with weaker guarantees: `semiqueue` and `stuttering-queue`.
//!
//! A semiqueue removes any of the k oldest values; a stuttering queue may return the oldest value
//! several times before it removes it. Both are nondeterministic: one result can lead to several
//! states.

use super::items::{Items, or_nil};
use super::method::{self, nothing};
use super::queue::{self, METHODS, QueueOp};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Builtin, Info, Origins, Shown, Spec, Touches};
use crate::value::Value;

pub(super) const SEMIQUEUE: Info = Info {
    name: "semiqueue",
    aliases: &["k-queue", "out-of-order-queue"],
    parameters: "k=2, init=[]",
    methods: &method::signatures(&METHODS),
    summary: "deq and peek return any of the k oldest values (k=1: queue); nil only when it is empty",
};

pub(super) const STUTTERING_QUEUE: Info = Info {
    name: "stuttering-queue",
    aliases: &["j-queue"],
    parameters: "j=2, init=[]",
    methods: &method::signatures(&METHODS),
    summary: "FIFO queue whose deq may return each value up to j times (j=1: queue)",
};

/// A queue that removes any of the `k` oldest values.
#[derive(Clone, Debug)]
pub struct Semiqueue {
    k: usize,
    init: Items,
}

/// An empty semiqueue; `k` is at least 1.
pub fn semiqueue(k: usize) -> Semiqueue {
    Semiqueue { k: k.max(1), init: Items::default() }
}

impl Semiqueue {
    /// A semiqueue with initial contents, the oldest value first.
    pub fn with_init(self, values: impl IntoIterator<Item = Value>) -> Semiqueue {
        Semiqueue { init: values.into_iter().collect(), ..self }
    }

    /// How many of the oldest values may be removed.
    pub fn k(&self) -> usize {
        self.k
    }
}

impl Spec for Semiqueue {
    type State = Items;
    type Op = QueueOp;
    type Ret = Value;

    fn initial(&self) -> Items {
        self.init.clone()
    }

    fn step(&self, state: &Items, op: &QueueOp, ret: Option<&Value>, next: &mut Vec<Items>) {
        let window = &state[..state.len().min(self.k)];
        match op {
            QueueOp::Enq(value) => {
                if !value.is_nil() && ret.is_none_or(Value::is_nil) {
                    let mut after = state.clone();
                    after.push(value.clone());
                    next.push(after);
                }
            }
            QueueOp::Peek => {
                if ret.is_none_or(|ret| window.contains(ret) || (ret.is_nil() && state.is_empty()))
                {
                    next.push(state.clone());
                }
            }
            QueueOp::Deq if state.is_empty() => {
                if ret.is_none_or(Value::is_nil) {
                    next.push(state.clone());
                }
            }
            QueueOp::Deq => {
                let known = next.len();
                for (at, value) in window.iter().enumerate() {
                    // Of equal neighbours it does not matter which one leaves.
                    if ret.is_none_or(|ret| ret == value) && (at == 0 || window[at - 1] != *value) {
                        let mut after = state.clone();
                        after.remove(at);
                        if !next[known..].contains(&after) {
                            next.push(after);
                        }
                    }
                }
            }
        }
    }

    fn observes(&self, op: &QueueOp, ret: Option<&Value>) -> bool {
        queue::observes(op, ret)
    }

    fn origins(&self) -> Option<Origins<QueueOp, Value>> {
        Some(queue::origins(&self.init))
    }

    fn touches(&self, op: &QueueOp, ret: Option<&Value>) -> Touches {
        queue::touches(&self.init, op, ret)
    }

    fn vocabulary(&self) -> Option<Vocabulary<QueueOp, Value>> {
        let family = Family::Queue { nearest: self.k };
        Some(Vocabulary::new(family, self.init.to_vec(), words::queue))
    }

    fn show(&self, op: &QueueOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Items) -> String {
        state.to_string()
    }
}

impl Builtin for Semiqueue {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(QueueOp, Option<Value>), String> {
        decode(method, args, result)
    }

    fn encode(&self, op: &QueueOp) -> (&'static str, Vec<Value>) {
        queue::encode(op)
    }

    fn results(&self, state: &Items, op: &QueueOp) -> Vec<Value> {
        match op {
            QueueOp::Deq | QueueOp::Peek if !state.is_empty() => {
                let mut window = state[..state.len().min(self.k)].to_vec();
                window.sort();
                window.dedup();
                window
            }
            _ => vec![Value::Nil],
        }
    }

    fn sample(&self, _: &Items, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> QueueOp {
        queue::sample(pick, fresh)
    }

    fn alien(&self, value: i64) -> Option<(QueueOp, Value)> {
        Some((QueueOp::Deq, Value::Int(value)))
    }
}

/// A queue that may return its oldest value up to `j` times before it is removed.
#[derive(Clone, Debug)]
pub struct StutteringQueue {
    j: u32,
    init: Items,
}

/// An empty stuttering queue; `j` is at least 1.
pub fn stuttering_queue(j: u32) -> StutteringQueue {
    StutteringQueue { j: j.max(1), init: Items::default() }
}

impl StutteringQueue {
    /// A stuttering queue with initial contents, the oldest value first.
    pub fn with_init(self, values: impl IntoIterator<Item = Value>) -> StutteringQueue {
        StutteringQueue { init: values.into_iter().collect(), ..self }
    }

    /// How many times a value may be returned.
    pub fn j(&self) -> u32 {
        self.j
    }
}

/// The contents of a stuttering queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct StutteringState {
    /// The oldest value first.
    pub items: Items,
    /// How many times the oldest value was returned.
    pub told: u32,
}

impl Spec for StutteringQueue {
    type State = StutteringState;
    type Op = QueueOp;
    type Ret = Value;

    fn initial(&self) -> StutteringState {
        StutteringState { items: self.init.clone(), told: 0 }
    }

    fn step(
        &self,
        state: &StutteringState,
        op: &QueueOp,
        ret: Option<&Value>,
        next: &mut Vec<StutteringState>,
    ) {
        let StutteringState { items, told } = state;
        match op {
            QueueOp::Enq(value) => {
                if !value.is_nil() && ret.is_none_or(Value::is_nil) {
                    let mut after = state.clone();
                    after.items.push(value.clone());
                    next.push(after);
                }
            }
            QueueOp::Deq | QueueOp::Peek => {
                if ret.is_some_and(|ret| *ret != or_nil(items.first())) {
                    return;
                }
                if *op == QueueOp::Peek || items.is_empty() {
                    next.push(state.clone());
                    return;
                }
                let mut after = StutteringState { items: items.clone(), told: 0 };
                after.items.shift();
                next.push(after);
                if told + 1 < self.j {
                    next.push(StutteringState { items: items.clone(), told: told + 1 });
                }
            }
        }
    }

    fn observes(&self, op: &QueueOp, ret: Option<&Value>) -> bool {
        queue::observes(op, ret)
    }

    /// The same value may be returned several times.
    fn origins(&self) -> Option<Origins<QueueOp, Value>> {
        let shows = |op: &QueueOp, ret: &Value| match (op, ret) {
            (_, Value::Nil) | (QueueOp::Enq(_), _) => None,
            (QueueOp::Deq | QueueOp::Peek, value) => Some(Shown::Seen(value.clone())),
        };
        Some(Origins::new(queue::brings, shows).holding(self.init.to_vec()))
    }

    fn touches(&self, op: &QueueOp, ret: Option<&Value>) -> Touches {
        queue::touches(&self.init, op, ret)
    }

    fn vocabulary(&self) -> Option<Vocabulary<QueueOp, Value>> {
        let family = Family::StutteringQueue(self.j);
        Some(Vocabulary::new(family, self.init.to_vec(), words::queue))
    }

    fn show(&self, op: &QueueOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &StutteringState) -> String {
        match state.told {
            0 => state.items.to_string(),
            1 => format!("{}, the first told once", state.items),
            n => format!("{}, the first told {n} times", state.items),
        }
    }
}

impl Builtin for StutteringQueue {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(QueueOp, Option<Value>), String> {
        decode(method, args, result)
    }

    fn encode(&self, op: &QueueOp) -> (&'static str, Vec<Value>) {
        queue::encode(op)
    }

    fn results(&self, state: &StutteringState, op: &QueueOp) -> Vec<Value> {
        vec![match op {
            QueueOp::Enq(_) => Value::Nil,
            QueueOp::Deq | QueueOp::Peek => or_nil(state.items.first()),
        }]
    }

    fn sample(&self, _: &StutteringState, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> QueueOp {
        // A value takes up to j removals.
        let inserts = pick(32) < 30 / (u64::from(self.j) + 1);
        if inserts { QueueOp::Enq(Value::Int(fresh)) } else { QueueOp::Deq }
    }

    fn alien(&self, value: i64) -> Option<(QueueOp, Value)> {
        Some((QueueOp::Deq, Value::Int(value)))
    }
}

fn decode(
    method: &str,
    args: &[Value],
    result: Option<&Value>,
) -> Result<(QueueOp, Option<Value>), String> {
    method::decode(&METHODS, method, args, result, |op, ret| match op {
        QueueOp::Enq(_) => nothing(ret),
        QueueOp::Deq | QueueOp::Peek => Ok(ret.clone()),
    })
}
