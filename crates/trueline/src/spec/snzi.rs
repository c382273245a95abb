//! `snzi`, the scalable nonzero indicator of Ellen, Lev, Luchangco and Moir (2007): whether there
//! are more arrivals than departures.
//!
//! It does not know the caller: any process may depart, but only as many as have arrived.

use super::method::{self, Method, nothing, truth};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Builtin, Info, Spec};
use crate::value::Value;

/// The operations of a nonzero indicator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SnziOp {
    /// One more is there.
    Arrive,
    /// Subtracts one; never legal at zero.
    Depart,
    /// Whether anybody is there.
    Query,
}

use SnziOp::{Arrive, Depart, Query};

const METHODS: [Method<SnziOp>; 3] = [
    Method::new("arrive()", &["enter"], |_| Ok(Arrive)),
    Method::new("depart()", &["leave"], |_| Ok(Depart)),
    Method::new("query() -> bool", &["is_nonzero"], |_| Ok(Query)),
];

pub(super) const SNZI: Info = Info {
    name: "snzi",
    aliases: &["nonzero-indicator"],
    parameters: "init=0",
    methods: &method::signatures(&METHODS),
    summary: "nonzero indicator: query returns whether more have arrived than departed",
};

/// A nonzero indicator.
#[derive(Clone, Debug, Default)]
pub struct Snzi {
    init: u64,
}

/// A nonzero indicator with this many initial arrivals.
pub fn snzi(present: u64) -> Snzi {
    Snzi { init: present }
}

impl Spec for Snzi {
    /// How many are there.
    type State = u64;
    type Op = SnziOp;
    type Ret = Value;

    fn initial(&self) -> u64 {
        self.init
    }

    fn step(&self, present: &u64, op: &SnziOp, ret: Option<&Value>, next: &mut Vec<u64>) {
        let told = match op {
            Query => Value::Bool(*present > 0),
            Arrive | Depart => Value::Nil,
        };
        if ret.is_some_and(|ret| *ret != told) {
            return;
        }
        match op {
            Arrive => next.push(present.saturating_add(1)),
            Depart if *present == 0 => {}
            Depart => next.push(present - 1),
            Query => next.push(*present),
        }
    }

    fn observes(&self, op: &SnziOp, _: Option<&Value>) -> bool {
        *op == Query
    }

    /// The count is the arrivals minus the departures.
    fn order_insensitive(&self) -> bool {
        true
    }

    fn vocabulary(&self) -> Option<Vocabulary<SnziOp, Value>> {
        let init = i64::try_from(self.init).ok().map(Value::Int);
        Some(Vocabulary::new(Family::Snzi, init, words::snzi))
    }

    fn show(&self, op: &SnziOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, present: &u64) -> String {
        format!("{present} present")
    }
}

impl Builtin for Snzi {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(SnziOp, Option<Value>), String> {
        method::decode(&METHODS, method, args, result, |op, ret| match op {
            Arrive | Depart => nothing(ret),
            Query => match ret {
                Value::Nil => Err("expected true or false as the result, found nil".into()),
                ret => truth(ret, Value::Nil),
            },
        })
    }

    fn encode(&self, op: &SnziOp) -> (&'static str, Vec<Value>) {
        let method = match op {
            Arrive => "arrive",
            Depart => "depart",
            Query => "query",
        };
        (method, vec![])
    }

    fn results(&self, present: &u64, op: &SnziOp) -> Vec<Value> {
        match op {
            Depart if *present == 0 => vec![],
            Arrive | Depart => vec![Value::Nil],
            Query => vec![Value::Bool(*present > 0)],
        }
    }

    fn sample(&self, _: &Self::State, pick: &mut dyn FnMut(u64) -> u64, _fresh: i64) -> SnziOp {
        match pick(4) {
            0 => Arrive,
            1 => Depart,
            _ => Query,
        }
    }
}
