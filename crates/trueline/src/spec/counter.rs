//! A number that operations add to: `counter`.
//!
//! `fetch_add` returns the total before, `add_and_get` the total after. `add`, `inc` and `dec`
//! return one or the other, the same throughout a history. If the specification does not say which
//! ([`Counter::telling`]), a history is decided for both ([`Builtin::readings`]). Deciding each
//! result on its own would accept two increments that both return 1.

use super::method::{self, Method, found, number, same};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Builtin, Info, Spec, Sum, Total};
use crate::history::History;
use crate::value::Value;

/// The operations of a counter. `inc` and `dec` are `Add(1)` and `Add(-1)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CounterOp {
    /// Adds a number; returns nothing or the new total.
    Add(i64),
    /// Adds a number; returns nothing or the old total.
    FetchAdd(i64),
    /// The total.
    Read,
}

use CounterOp::{Add, FetchAdd, Read};

const INC: &[&str] = &["incr", "increment"];
const DEC: &[&str] = &["decr", "decrement"];

const METHODS: [Method<CounterOp>; 11] = [
    Method::new("add(number) -> total or nothing", &[], |a| Ok(Add(number(&a[0])?))),
    Method::new("inc() -> total or nothing", INC, |_| Ok(Add(1))),
    Method::new("dec() -> total or nothing", DEC, |_| Ok(Add(-1))),
    Method::new("add_and_get(number) -> total after or nothing", &[], |a| Ok(Add(number(&a[0])?))),
    Method::new("inc_and_get() -> total after or nothing", &["increment_and_get"], |_| Ok(Add(1))),
    Method::new("dec_and_get() -> total after or nothing", &["decrement_and_get"], |_| Ok(Add(-1))),
    Method::new(
        "fetch_add(number) -> total before or nothing",
        &["fetch_and_add", "get_and_add"],
        |a| Ok(FetchAdd(number(&a[0])?)),
    ),
    Method::new("fetch_sub(number) -> total before or nothing", &["fetch_and_sub"], |a| {
        Ok(FetchAdd(number(&a[0])?.wrapping_neg()))
    }),
    Method::new(
        "fetch_inc() -> total before or nothing",
        &["fetch_and_inc", "fetch_and_increment", "get_and_increment", "get_and_inc"],
        |_| Ok(FetchAdd(1)),
    ),
    Method::new(
        "fetch_dec() -> total before or nothing",
        &["fetch_and_dec", "fetch_and_decrement", "get_and_decrement", "get_and_dec"],
        |_| Ok(FetchAdd(-1)),
    ),
    Method::new("read() -> total", &["get", "value", "load"], |_| Ok(Read)),
];

pub(super) const COUNTER: Info = Info {
    name: "counter",
    aliases: &["atomic-counter"],
    parameters: "init=0, results=either",
    methods: &method::signatures(&METHODS),
    summary: "a number to add to; a read that returns nil saw the initial number",
};

/// A counter. It wraps around at the ends of the 64-bit numbers.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    init: i64,
    /// Whether `add`, `inc` and `dec` return the total before; `None`: one or the other.
    tells_before: Option<bool>,
}

/// A counter that starts at 0.
pub fn counter() -> Counter {
    Counter::default()
}

impl Counter {
    /// A counter that starts at `init`.
    pub fn with_init(self, init: i64) -> Counter {
        Counter { init, ..self }
    }

    /// The same counter whose `add`, `inc` and `dec` return the total before, or after.
    pub fn telling(self, before: bool) -> Counter {
        Counter { tells_before: Some(before), ..self }
    }
}

/// Whether the name of the method does not say which total it returns.
fn is_ambiguous(method: &str) -> bool {
    let names = ["add", "inc", "dec"].iter().chain(INC).chain(DEC);
    names.into_iter().any(|name| same(name, method))
}

fn changed(state: i64, op: &CounterOp) -> i64 {
    match op {
        Add(n) | FetchAdd(n) => state.wrapping_add(*n),
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
            Some(Value::Nil) => matches!(op, Add(_) | FetchAdd(_)),
            Some(ret) if matches!(op, FetchAdd(_)) => *ret == Value::Int(*state),
            Some(ret) => *ret == Value::Int(after),
        };
        if legal {
            next.push(after);
        }
    }

    fn observes(&self, op: &CounterOp, _ret: Option<&Value>) -> bool {
        matches!(op, Read | Add(0) | FetchAdd(0))
    }

    fn reorders(&self) -> bool {
        true
    }

    /// Additions commute if their totals were not returned.
    fn commutes(&self, a: (&CounterOp, Option<&Value>), b: (&CounterOp, Option<&Value>)) -> bool {
        let is_silent =
            |(op, ret): (&CounterOp, Option<&Value>)| *op != Read && ret.is_none_or(Value::is_nil);
        is_silent(a) && is_silent(b)
    }

    fn says_nothing(&self, op: &CounterOp, ret: &Value) -> bool {
        *op != Read && ret.is_nil()
    }

    /// The total is the sum of what was added.
    fn order_insensitive(&self) -> bool {
        true
    }

    fn sum(&self) -> Option<Sum<CounterOp, Value>> {
        let adds = |op: &CounterOp| match op {
            Add(n) | FetchAdd(n) => *n,
            Read => 0,
        };
        let tells = |op: &CounterOp, ret: &Value| match op {
            Add(_) | Read => ret.as_int().map(Total::After),
            FetchAdd(_) => ret.as_int().map(Total::Before),
        };
        Some(Sum::new(self.init, adds, tells))
    }

    fn vocabulary(&self) -> Option<Vocabulary<CounterOp, Value>> {
        Some(Vocabulary::new(Family::Counter, [Value::Int(self.init)], words::counter))
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
        let (op, ret) =
            method::decode(&METHODS, method, args, result, |op, ret| match (op, ret) {
                (_, Value::Int(_)) | (Add(_) | FetchAdd(_), Value::Nil) => Ok(ret.clone()),
                (Add(_) | FetchAdd(_), Value::Bool(true)) => Ok(Value::Nil),
                (Read, Value::Nil) => Ok(Value::Int(self.init)),
                (_, Value::Decimal(_)) => Err(format!(
                    "expected a whole number of 64 bits as the result, found {}",
                    found(ret)
                )),
                (Read, _) => Err(format!("expected a number as the result, found {}", found(ret))),
                _ => Err(format!(
                    "expected the total before or after, or nothing, as the result, found {}",
                    found(ret)
                )),
            })?;
        Ok(match op {
            Add(n) if self.tells_before == Some(true) && is_ambiguous(method) => (FetchAdd(n), ret),
            op => (op, ret),
        })
    }

    fn readings(&self, history: &History) -> Vec<(Counter, &'static str)> {
        let ambiguous: Vec<bool> = history.methods().iter().map(|m| is_ambiguous(m)).collect();
        let tells = history
            .operations()
            .iter()
            .any(|o| ambiguous[o.op.method as usize] && matches!(o.result, Some(Value::Int(_))));
        match self.tells_before {
            None if tells => vec![
                (self.clone().telling(false), "totals after the additions"),
                (self.clone().telling(true), "totals before the additions"),
            ],
            _ => vec![(self.clone(), "")],
        }
    }

    fn encode(&self, op: &CounterOp) -> (&'static str, Vec<Value>) {
        // The result of `add` depends on the reading; the other names return the same in both.
        let is_before = self.tells_before == Some(true);
        match op {
            Add(n) => (if is_before { "add_and_get" } else { "add" }, vec![Value::Int(*n)]),
            FetchAdd(n) => (if is_before { "add" } else { "fetch_add" }, vec![Value::Int(*n)]),
            Read => ("read", vec![]),
        }
    }

    fn results(&self, state: &i64, op: &CounterOp) -> Vec<Value> {
        vec![match op {
            Add(_) | FetchAdd(_) => Value::Nil,
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
