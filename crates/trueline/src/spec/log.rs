//! A list that only grows: `log`.

use super::items::Items;
use super::method::{self, Method, found};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Builtin, Growing, Growth, Info, Spec};
use crate::value::Value;

/// The operations of a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LogOp {
    /// Adds a value at the end; returns nothing or its index, from 0.
    Append(Value),
    /// All values, the oldest first.
    Read,
}

use LogOp::{Append, Read};

const METHODS: [Method<LogOp>; 2] = [
    Method::new("append(value) -> index or nothing", &["add", "push", "write"], |a| {
        Ok(Append(a[0].clone()))
    }),
    Method::new("read() -> list", &["scan"], |_| Ok(Read)),
];

pub(super) const LOG: Info = Info {
    name: "log",
    aliases: &["append-only-log"],
    parameters: "init=[]",
    methods: &method::signatures(&METHODS),
    summary: "a list that only grows; indices count from 0",
};

/// A log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    init: Items,
}

/// An empty log.
pub fn log() -> Log {
    Log::default()
}

impl Log {
    /// A log with initial contents, the oldest value first.
    pub fn with_init(self, values: impl IntoIterator<Item = Value>) -> Log {
        Log { init: values.into_iter().collect() }
    }
}

impl Spec for Log {
    type State = Items;
    type Op = LogOp;
    type Ret = Value;

    fn initial(&self) -> Items {
        self.init.clone()
    }

    fn step(&self, state: &Items, op: &LogOp, ret: Option<&Value>, next: &mut Vec<Items>) {
        match (op, ret) {
            (Append(value), ret) => {
                let index = Value::Int(state.len() as i64);
                if ret.is_none_or(|ret| ret.is_nil() || *ret == index) {
                    let mut after = state.clone();
                    after.push(value.clone());
                    next.push(after);
                }
            }
            (Read, ret) => {
                if ret.is_none_or(|ret| ret.as_list() == Some(state)) {
                    next.push(state.clone());
                }
            }
        }
    }

    fn observes(&self, op: &LogOp, _ret: Option<&Value>) -> bool {
        *op == Read
    }

    fn says_nothing(&self, op: &LogOp, ret: &Value) -> bool {
        *op != Read && ret.is_nil()
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn in_reach(&self, state: &Items, observer: &LogOp, ret: Option<&Value>) -> bool {
        match (observer, ret) {
            (Read, Some(Value::List(shown))) => shown.starts_with(state),
            _ => true,
        }
    }

    /// A list that is not a prefix does not become one by growing.
    fn may_help(&self, _op: &LogOp, observer: &LogOp, _ret: Option<&Value>) -> bool {
        *observer != Read
    }

    fn growing(&self) -> Option<Growing<LogOp, Value>> {
        let growth = |op: &LogOp, ret: Option<&Value>| match (op, ret) {
            (Append(value), None | Some(Value::Nil)) => Some(Growth::Add(value.clone())),
            (Append(value), Some(Value::Int(at))) => Some(Growth::AddAt(value.clone(), *at)),
            (Read, Some(shown @ Value::List(_))) => Some(Growth::Show(shown.clone())),
            (Read, None) => Some(Growth::Nothing),
            _ => None,
        };
        Some(Growing::list(growth).holding(self.init.to_vec()))
    }

    fn vocabulary(&self) -> Option<Vocabulary<LogOp, Value>> {
        Some(Vocabulary::new(Family::Log, self.init.to_vec(), words::log))
    }

    fn show(&self, op: &LogOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Items) -> String {
        state.to_string()
    }
}

impl Builtin for Log {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(LogOp, Option<Value>), String> {
        method::decode(&METHODS, method, args, result, |op, ret| match (op, ret) {
            (Append(_), Value::Nil | Value::Int(_)) | (Read, Value::List(_)) => Ok(ret.clone()),
            (Append(_), Value::Bool(true)) => Ok(Value::Nil),
            (Read, Value::Nil) => Ok(Value::list([])),
            (Append(_), _) => Err(format!("expected an index or nothing, found {}", found(ret))),
            (Read, _) => Err(format!("expected a list as the result, found {}", found(ret))),
        })
    }

    fn encode(&self, op: &LogOp) -> (&'static str, Vec<Value>) {
        match op {
            Append(value) => ("append", vec![value.clone()]),
            Read => ("read", vec![]),
        }
    }

    fn results(&self, state: &Items, op: &LogOp) -> Vec<Value> {
        vec![match op {
            Append(_) => Value::Int(state.len() as i64),
            Read => Value::list(state.iter().cloned()),
        }]
    }

    /// Reads are rare, because each returns the whole log.
    fn sample(&self, state: &Items, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> LogOp {
        if pick(4 + state.len() as u64) < 4 { Append(Value::Int(fresh)) } else { Read }
    }

    fn perform(&self, state: &mut Items, op: &LogOp, _: &Value, _: &mut dyn FnMut(u64) -> u64) {
        if let Append(value) = op {
            state.push(value.clone());
        }
    }

    fn alien(&self, value: i64) -> Option<(LogOp, Value)> {
        Some((Read, Value::list([Value::Int(value)])))
    }
}
