//! One value to read and write in one step: `rmw`.

use super::method::{self, Method, nothing};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Builtin, Info, Origins, Shown, Spec, Touches, key_of};
use crate::value::Value;

/// The operations of a read-modify-write register.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RmwOp {
    /// Read the first value and wrote the second one, in one step. Both were recorded.
    Rmw(Value, Value),
    /// The value.
    Read,
    /// Replaces the value.
    Write(Value),
}

use RmwOp::{Read, Rmw as Both, Write};

const METHODS: [Method<RmwOp>; 3] = [
    Method::new("rmw(old, new)", &["read_modify_write", "update", "swap", "exchange"], |a| {
        Ok(Both(a[0].clone(), a[1].clone()))
    }),
    Method::new("read() -> value", &["get", "load"], |_| Ok(Read)),
    Method::new("write(value)", &["set", "put", "store"], |a| Ok(Write(a[0].clone()))),
];

pub(super) const RMW: Info = Info {
    name: "rmw",
    aliases: &["read-modify-write", "rmw-register"],
    parameters: "init=0",
    methods: &method::signatures(&METHODS),
    summary: "one value; rmw(old, new) read old and wrote new in one step",
};

/// A read-modify-write register.
#[derive(Clone, Debug)]
pub struct Rmw {
    init: Value,
}

/// A read-modify-write register that initially holds `init`.
pub fn rmw(init: impl Into<Value>) -> Rmw {
    Rmw { init: init.into() }
}

impl Rmw {
    /// The initial value.
    pub fn init(&self) -> &Value {
        &self.init
    }
}

impl Spec for Rmw {
    type State = Value;
    type Op = RmwOp;
    type Ret = Value;

    fn initial(&self) -> Value {
        self.init.clone()
    }

    fn step(&self, state: &Value, op: &RmwOp, ret: Option<&Value>, next: &mut Vec<Value>) {
        let nothing = ret.is_none_or(Value::is_nil);
        match op {
            Both(old, new) if old == state && nothing => next.push(new.clone()),
            Read if ret.is_none_or(|ret| ret == state) => next.push(state.clone()),
            Write(value) if nothing => next.push(value.clone()),
            _ => {}
        }
    }

    fn observes(&self, op: &RmwOp, _ret: Option<&Value>) -> bool {
        *op == Read
    }

    fn origins(&self) -> Option<Origins<RmwOp, Value>> {
        fn brings(op: &RmwOp) -> Option<&Value> {
            match op {
                Both(_, value) | Write(value) => Some(value),
                Read => None,
            }
        }
        let shows = |op: &RmwOp, ret: &Value| match op {
            Both(old, _) => Some(Shown::Seen(old.clone())),
            Read => Some(Shown::Seen(ret.clone())),
            Write(_) => None,
        };
        Some(Origins::new(brings, shows).holding(vec![self.init.clone()]))
    }

    fn touches(&self, op: &RmwOp, ret: Option<&Value>) -> Touches {
        let (reads, writes) = match op {
            Both(old, new) => (Some(old), Some(new)),
            Read => (ret, None),
            Write(value) => (None, Some(value)),
        };
        Touches::Flow { reads: reads.map(key_of), writes: writes.map(key_of) }
    }

    fn vocabulary(&self) -> Option<Vocabulary<RmwOp, Value>> {
        Some(Vocabulary::new(Family::Register, [self.init.clone()], words::rmw))
    }

    fn show(&self, op: &RmwOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Value) -> String {
        state.to_string()
    }
}

impl Builtin for Rmw {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(RmwOp, Option<Value>), String> {
        method::decode(&METHODS, method, args, result, |op, ret| match op {
            Both(..) | Write(_) => nothing(ret),
            Read => Ok(ret.clone()),
        })
    }

    fn encode(&self, op: &RmwOp) -> (&'static str, Vec<Value>) {
        match op {
            Both(old, new) => ("rmw", vec![old.clone(), new.clone()]),
            Read => ("read", vec![]),
            Write(value) => ("write", vec![value.clone()]),
        }
    }

    fn results(&self, state: &Value, op: &RmwOp) -> Vec<Value> {
        match op {
            Both(old, _) if old != state => vec![],
            Both(..) | Write(_) => vec![Value::Nil],
            Read => vec![state.clone()],
        }
    }

    fn sample(&self, state: &Value, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> RmwOp {
        match pick(4) {
            0 => Read,
            1 => Write(Value::Int(fresh)),
            _ => Both(state.clone(), Value::Int(fresh)),
        }
    }

    fn alien(&self, value: i64) -> Option<(RmwOp, Value)> {
        Some((Read, Value::Int(value)))
    }
}
