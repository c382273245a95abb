//! A number that operations add to: `counter`.

use super::method::{self, Method, found, number};
use super::{Builtin, Info, Spec};
use crate::value::Value;

/// What can be called on a counter. `inc` and `dec` are `Add(1)` and `Add(-1)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CounterOp {
    /// Adds a number; tells nothing or the new total.
    Add(i64),
    /// The total.
    Read,
}

use CounterOp::{Add, Read};

const METHODS: [Method<CounterOp>; 4] = [
    Method::new("add(number) -> total or nothing", &["add_and_get"], |a| Ok(Add(number(&a[0])?))),
    Method::new("inc()", &["incr", "increment"], |_| Ok(Add(1))),
    Method::new("dec()", &["decr", "decrement"], |_| Ok(Add(-1))),
    Method::new("read() -> total", &["get", "value", "load"], |_| Ok(Read)),
];

pub(super) const COUNTER: Info = Info {
    name: "counter",
    aliases: &["atomic-counter"],
    parameters: "init=0",
    methods: &method::signatures(&METHODS),
    summary: "a number to add to; a read that tells nil saw the initial number",
};

/// A counter. It wraps around at the ends of the 64-bit numbers.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    init: i64,
}

/// A counter that starts at 0.
pub fn counter() -> Counter {
    Counter::default()
}

impl Counter {
    /// A counter that starts at `init`.
    pub fn with_init(self, init: i64) -> Counter {
        Counter { init }
    }
}

fn changed(state: i64, op: &CounterOp) -> i64 {
    match op {
        Add(n) => state.wrapping_add(*n),
        Read => state,
    }
}

impl Spec for Counter {
    type State = i64;
    type Op = CounterOp;
    type Ret = Value;

    fn initial(&self) -> i64 {
        self.init
    }

    fn step(&self, state: &i64, op: &CounterOp, ret: Option<&Value>, next: &mut Vec<i64>) {
        let after = changed(*state, op);
        let legal = match ret {
            None => true,
            Some(Value::Nil) => matches!(op, Add(_)),
            Some(ret) => *ret == Value::Int(after),
        };
        if legal {
            next.push(after);
        }
    }

    fn observes(&self, op: &CounterOp, _ret: Option<&Value>) -> bool {
        matches!(op, Read | Add(0))
    }

    /// The total is the sum of what was added.
    fn order_insensitive(&self) -> bool {
        true
    }

    fn show(&self, op: &CounterOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &i64) -> String {
        state.to_string()
    }
}

impl Builtin for Counter {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(CounterOp, Option<Value>), String> {
        method::decode(&METHODS, method, args, result, |op, ret| match (op, ret) {
            (_, Value::Int(_)) | (Add(_), Value::Nil) => Ok(ret.clone()),
            (Add(_), Value::Bool(true)) => Ok(Value::Nil),
            (Read, Value::Nil) => Ok(Value::Int(self.init)),
            _ => Err(format!("expected a number as the result, found {}", found(ret))),
        })
    }

    fn encode(&self, op: &CounterOp) -> (&'static str, Vec<Value>) {
        match op {
            Add(n) => ("add", vec![Value::Int(*n)]),
            Read => ("read", vec![]),
        }
    }

    fn results(&self, state: &i64, op: &CounterOp) -> Vec<Value> {
        vec![match op {
            Add(_) => Value::Nil,
            Read => Value::Int(*state),
        }]
    }

    fn sample(&self, _: &Self::State, pick: &mut dyn FnMut(u64) -> u64, _fresh: i64) -> CounterOp {
        match pick(2) {
            0 => Add(pick(5) as i64 + 1),
            _ => Read,
        }
    }
}
