//! One value to read, write, and compare and set: `register` and `cas-register`.

use std::sync::Arc;

use super::method::{self, Method, found, nothing};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Action, Builtin, Canonical, Info, Kind, Origins, Shown, Spec, Touches, key_of};
use crate::value::Value;

/// The operations of a register.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RegisterOp {
    /// The value.
    Read,
    /// Replaces the value.
    Write(Value),
    /// Replaces the first value by the second; returns false if the register holds another one.
    Cas(Value, Value),
}

use RegisterOp::{Cas, Read, Write};

const METHODS: [Method<RegisterOp>; 3] = [
    Method::new("read() -> value", &["get", "load"], |_| Ok(Read)),
    Method::new("write(value)", &["set", "put", "store"], |a| Ok(Write(a[0].clone()))),
    Method::new(
        "cas(old, new) -> bool",
        &["compare_and_set", "compare_and_swap", "compare_exchange"],
        |a| Ok(Cas(a[0].clone(), a[1].clone())),
    ),
];

pub(super) const REGISTER: Info = Info {
    name: "register",
    aliases: &["atomic-register", "rw-register"],
    parameters: "init=nil (init=?: not known)",
    methods: &method::signatures(&METHODS),
    summary: "one value to read and write; a cas without a result succeeded",
};

pub(super) const CAS_REGISTER: Info = Info {
    name: "cas-register",
    aliases: &["atomic-cas-register", "compare-and-set-register"],
    summary: "one value to read, write, and compare and set",
    ..REGISTER
};

/// A register. See [`register`], [`cas_register`] and [`unknown_register`].
#[derive(Clone, Debug)]
pub struct Register {
    /// `None`: unknown.
    init: Option<Value>,
    /// Generated histories contain cas.
    samples_cas: bool,
}

/// A register that initially holds `init`.
pub fn register(init: impl Into<Value>) -> Register {
    Register { init: Some(init.into()), samples_cas: false }
}

/// A register that initially holds `init`, or nil. The same type as [`register`]: both support
/// `cas`.
pub fn cas_register(init: Option<Value>) -> Register {
    Register { init: Some(init.unwrap_or_default()), samples_cas: true }
}

/// A register with an unknown initial value: the first operation that shows something about it
/// decides.
pub fn unknown_register() -> Register {
    Register { init: None, samples_cas: false }
}

impl Register {
    /// The initial value; `None` if it is unknown.
    pub fn init(&self) -> Option<&Value> {
        self.init.as_ref()
    }
}

/// What is known about a register's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RegisterState {
    /// It is this one.
    Holds(Value),
    /// It is the initial one, which is none of these. Ascending.
    Initial(Arc<Vec<Value>>),
}

use RegisterState::{Holds, Initial};

/// The initial value is not `value`.
fn without(excluded: &Arc<Vec<Value>>, value: &Value) -> RegisterState {
    match excluded.binary_search(value) {
        Ok(_) => Initial(excluded.clone()),
        Err(at) => {
            let mut excluded = excluded.to_vec();
            excluded.insert(at, value.clone());
            Initial(Arc::new(excluded))
        }
    }
}

impl Spec for Register {
    type State = RegisterState;
    type Op = RegisterOp;
    type Ret = Value;

    fn initial(&self) -> RegisterState {
        match &self.init {
            Some(value) => Holds(value.clone()),
            None => Initial(Arc::default()),
        }
    }

    fn step(
        &self,
        state: &RegisterState,
        op: &RegisterOp,
        ret: Option<&Value>,
        next: &mut Vec<RegisterState>,
    ) {
        match (op, state) {
            (Read, Holds(value)) => {
                if ret.is_none_or(|ret| ret == value) {
                    next.push(state.clone());
                }
            }
            (Read, Initial(excluded)) => match ret {
                None => next.push(state.clone()),
                Some(ret) if excluded.binary_search(ret).is_err() => next.push(Holds(ret.clone())),
                Some(_) => {}
            },
            (Write(value), _) => {
                if ret.is_none_or(Value::is_nil) {
                    next.push(Holds(value.clone()));
                }
            }
            (Cas(old, new), _) => {
                let (may_succeed, may_fail) = match ret {
                    None => (true, true),
                    Some(ret) => (*ret == Value::Bool(true), *ret == Value::Bool(false)),
                };
                let (is_old, is_other) = match state {
                    Holds(value) => (value == old, value != old),
                    Initial(excluded) => (excluded.binary_search(old).is_err(), true),
                };
                if may_succeed && is_old {
                    next.push(Holds(new.clone()));
                }
                if may_fail && is_other {
                    next.push(match state {
                        Holds(_) => state.clone(),
                        Initial(excluded) => without(excluded, old),
                    });
                }
            }
        }
    }

    fn canonical(&self) -> Option<Canonical<RegisterOp, Value>> {
        let action = |op: &RegisterOp, ret: Option<&Value>| match (op, ret) {
            (Write(value), _) => Some(Action::Write(value.clone())),
            (Read, Some(value)) => Some(Action::Read(value.clone())),
            _ => None,
        };
        let init = self.init.clone()?;
        Some(Canonical::new(Kind::Register, action).holding(vec![init]))
    }

    /// If the initial value is unknown, even a read changes what is known.
    fn observes(&self, op: &RegisterOp, ret: Option<&Value>) -> bool {
        match op {
            Read => self.init.is_some() || ret.is_none(),
            Write(_) => false,
            Cas(..) => self.init.is_some() && ret == Some(&Value::Bool(false)),
        }
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn in_reach(&self, state: &RegisterState, observer: &RegisterOp, ret: Option<&Value>) -> bool {
        match (observer, state) {
            (Read, Holds(value)) => ret.is_none_or(|ret| ret == value),
            _ => true,
        }
    }

    fn may_help(&self, op: &RegisterOp, observer: &RegisterOp, ret: Option<&Value>) -> bool {
        match (op, observer) {
            (Write(new) | Cas(_, new), Read) => ret.is_none_or(|ret| ret == new),
            _ => true,
        }
    }

    fn says_nothing(&self, op: &RegisterOp, ret: &Value) -> bool {
        matches!(op, Write(_)) && ret.is_nil()
    }

    fn origins(&self) -> Option<Origins<RegisterOp, Value>> {
        fn brings(op: &RegisterOp) -> Option<&Value> {
            match op {
                Write(value) | Cas(_, value) => Some(value),
                Read => None,
            }
        }
        let shows = |op: &RegisterOp, ret: &Value| match (op, ret) {
            (Read, value) => Some(Shown::Seen(value.clone())),
            (Cas(old, _), Value::Bool(true)) => Some(Shown::Seen(old.clone())),
            _ => None,
        };
        Some(Origins::new(brings, shows).holding(vec![self.init.clone()?]))
    }

    fn touches(&self, op: &RegisterOp, ret: Option<&Value>) -> Touches {
        match op {
            Read => Touches::Flow { reads: ret.map(key_of), writes: None },
            Write(value) => Touches::Flow { reads: None, writes: Some(key_of(value)) },
            Cas(..) if ret == Some(&Value::Bool(false)) => Touches::Everything,
            Cas(old, new) => Touches::Flow { reads: Some(key_of(old)), writes: Some(key_of(new)) },
        }
    }

    fn vocabulary(&self) -> Option<Vocabulary<RegisterOp, Value>> {
        let words = Vocabulary::new(Family::Register, self.init.clone(), words::register);
        Some(if self.init.is_none() { words.with_unknown_initial() } else { words })
    }

    fn show(&self, op: &RegisterOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &RegisterState) -> String {
        match state {
            Holds(value) => value.to_string(),
            Initial(excluded) if excluded.is_empty() => "not known".into(),
            Initial(excluded) => {
                format!("none of {}", Value::List(excluded.clone()))
            }
        }
    }
}

impl Builtin for Register {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(RegisterOp, Option<Value>), String> {
        method::decode(&METHODS, method, args, result, |op, ret| match op {
            Read => Ok(ret.clone()),
            Write(_) => nothing(ret),
            Cas(old, new) => match (ret.as_bool(), ret) {
                (Some(done), _) => Ok(Value::Bool(done)),
                (_, Value::Nil) => Ok(Value::Bool(true)),
                (_, Value::List(echo)) if **echo == [old.clone(), new.clone()] => {
                    Ok(Value::Bool(true))
                }
                _ => Err(format!("expected true or false as the result, found {}", found(ret))),
            },
        })
    }

    fn encode(&self, op: &RegisterOp) -> (&'static str, Vec<Value>) {
        match op {
            Read => ("read", vec![]),
            Write(value) => ("write", vec![value.clone()]),
            Cas(old, new) => ("cas", vec![old.clone(), new.clone()]),
        }
    }

    fn results(&self, state: &RegisterState, op: &RegisterOp) -> Vec<Value> {
        match (op, state) {
            (Write(_), _) => vec![Value::Nil],
            (Read, Holds(value)) => vec![value.clone()],
            // Any value but the excluded ones; these will do to generate.
            (Read, Initial(excluded)) => (0..4)
                .map(Value::Int)
                .filter(|value| excluded.binary_search(value).is_err())
                .collect(),
            (Cas(old, _), Holds(value)) => vec![Value::Bool(old == value)],
            (Cas(old, _), Initial(excluded)) if excluded.binary_search(old).is_err() => {
                vec![Value::Bool(false), Value::Bool(true)]
            }
            (Cas(..), Initial(_)) => vec![Value::Bool(false)],
        }
    }

    fn sample(
        &self,
        state: &RegisterState,
        pick: &mut dyn FnMut(u64) -> u64,
        fresh: i64,
    ) -> RegisterOp {
        let new = Value::Int(fresh);
        match pick(4) {
            0..2 => Read,
            2 if self.samples_cas => match state {
                Holds(value) if pick(2) == 0 => Cas(value.clone(), new),
                _ => Cas(Value::Int((fresh - pick(4) as i64).max(0)), new),
            },
            _ => Write(new),
        }
    }

    fn alien(&self, value: i64) -> Option<(RegisterOp, Value)> {
        self.init.as_ref()?;
        Some((Read, Value::Int(value)))
    }
}
