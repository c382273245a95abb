//! Texts by key, to replace or to lengthen: `kv`.

use std::sync::Arc;

use super::method::{self, Method, found, nothing};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Action, Builtin, Canonical, Growing, Growth, Info, Kind, Spec, Touches, key_of};
use crate::value::Value;

/// The operations of a key-value store of texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KvOp {
    /// The text of a key; the empty text if there is none.
    Get(Value),
    /// Replaces the text of a key.
    Put(Value, Arc<String>),
    /// Adds to the end of the text of a key.
    Append(Value, Arc<String>),
}

use KvOp::{Append, Get, Put};

const METHODS: [Method<KvOp>; 3] = [
    Method::new("get(key) -> text", &["read"], |a| Ok(Get(a[0].clone()))),
    Method::new("put(key, text)", &["write", "set"], |a| Ok(Put(a[0].clone(), text(&a[1])?))),
    Method::new("append(key, text)", &[], |a| Ok(Append(a[0].clone(), text(&a[1])?))),
];

pub(super) const KV: Info = Info {
    name: "kv",
    aliases: &["kv-store", "key-value-store"],
    parameters: "",
    methods: &method::signatures(&METHODS),
    summary: "texts by key, initially empty; partitions by key",
};

/// A key-value store of texts.
#[derive(Clone, Debug, Default)]
pub struct Kv;

/// An empty key-value store of texts.
pub fn kv() -> Kv {
    Kv
}

/// The texts that are not empty, by ascending key. A part of a history has one key.
pub type KvState = Vec<(Value, Arc<String>)>;

/// A text; whole numbers count as their digits, nil as the empty text. A fraction may be written in
/// several ways (`1.5`, `1.50`), so it is not a text.
fn text(value: &Value) -> Result<Arc<String>, String> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        Value::Nil => Ok(Arc::default()),
        Value::Int(n) => Ok(Arc::new(n.to_string())),
        Value::Decimal(_) => Err(format!(
            "expected a text or a whole number of 64 bits, found {}: write it in quotes",
            found(value)
        )),
        _ => Err(format!("expected a text, found {}", found(value))),
    }
}

fn place(state: &KvState, key: &Value) -> Result<usize, usize> {
    state.binary_search_by(|(k, _)| k.cmp(key))
}

fn seen<'a>(state: &'a KvState, key: &Value) -> &'a str {
    place(state, key).map_or("", |at| &state[at].1)
}

fn change(state: &mut KvState, op: &KvOp) {
    let (key, text) = match op {
        Get(_) => return,
        Put(key, text) => (key, text.clone()),
        Append(key, text) => match seen(state, key) {
            "" => (key, text.clone()),
            before => (key, Arc::new([before, text].concat())),
        },
    };
    match place(state, key) {
        Ok(at) if text.is_empty() => drop(state.remove(at)),
        Ok(at) => state[at].1 = text,
        Err(_) if text.is_empty() => {}
        Err(at) => state.insert(at, (key.clone(), text)),
    }
}

impl Spec for Kv {
    type State = KvState;
    type Op = KvOp;
    type Ret = Value;

    fn initial(&self) -> KvState {
        Vec::new()
    }

    fn step(&self, state: &KvState, op: &KvOp, ret: Option<&Value>, next: &mut Vec<KvState>) {
        let legal = match (op, ret) {
            (_, None) => true,
            (Get(key), Some(ret)) => ret.as_text() == Some(seen(state, key)),
            (Put(..) | Append(..), Some(ret)) => ret.is_nil(),
        };
        if legal {
            let mut after = state.clone();
            change(&mut after, op);
            next.push(after);
        }
    }

    fn partition(&self, op: &KvOp) -> Option<u64> {
        let (Get(key) | Put(key, _) | Append(key, _)) = op;
        Some(key_of(key))
    }

    /// Each key is a register, as long as nothing is appended.
    fn canonical(&self) -> Option<Canonical<KvOp, Value>> {
        let action = |op: &KvOp, ret: Option<&Value>| match (op, ret) {
            (Put(_, text), _) => Some(Action::Write(Value::Text(text.clone()))),
            (Get(_), Some(text)) => Some(Action::Read(text.clone())),
            _ => None,
        };
        Some(Canonical::new(Kind::Register, action).holding(vec![Value::text("")]))
    }

    fn observes(&self, op: &KvOp, _ret: Option<&Value>) -> bool {
        matches!(op, Get(_))
    }

    fn says_nothing(&self, op: &KvOp, ret: &Value) -> bool {
        matches!(op, Put(..) | Append(..)) && ret.is_nil()
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn in_reach(&self, state: &KvState, observer: &KvOp, ret: Option<&Value>) -> bool {
        match (observer, ret) {
            (Get(key), Some(Value::Text(text))) => text.starts_with(seen(state, key)),
            _ => true,
        }
    }

    fn may_help(&self, op: &KvOp, observer: &KvOp, ret: Option<&Value>) -> bool {
        match (op, observer, ret) {
            (Put(put, start), Get(key), Some(Value::Text(text))) => {
                put == key && text.starts_with(start.as_str())
            }
            // A text that is not a prefix does not become one by growing.
            (Append(..) | Get(_), Get(_), _) => false,
            _ => true,
        }
    }

    /// As long as nothing is put.
    fn growing(&self) -> Option<Growing<KvOp, Value>> {
        let growth = |op: &KvOp, ret: Option<&Value>| match (op, ret) {
            (Append(_, text), None | Some(Value::Nil)) => {
                Some(Growth::Add(Value::Text(text.clone())))
            }
            (Get(_), Some(text @ Value::Text(_))) => Some(Growth::Show(text.clone())),
            (Get(_), None) => Some(Growth::Nothing),
            _ => None,
        };
        fn key(op: &KvOp) -> &Value {
            let (Get(key) | Put(key, _) | Append(key, _)) = op;
            key
        }
        Some(Growing::list(growth).by(key))
    }

    fn touches(&self, op: &KvOp, ret: Option<&Value>) -> Touches {
        let flow = |key: &Value, text: &str| Some(key_of(&(key, text)));
        match (op, ret) {
            (Get(key), Some(Value::Text(text))) => {
                Touches::Flow { reads: flow(key, text), writes: None }
            }
            (Get(_), _) => Touches::NOTHING,
            (Put(key, text), _) => Touches::Flow { reads: None, writes: flow(key, text) },
            (Append(..), _) => Touches::Everything,
        }
    }

    fn vocabulary(&self) -> Option<Vocabulary<KvOp, Value>> {
        Some(Vocabulary::new(Family::Kv, [Value::text("")], words::kv))
    }

    fn show(&self, op: &KvOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &KvState) -> String {
        match state.as_slice() {
            [] => "empty".into(),
            [(_, text)] => Value::Text(text.clone()).to_string(),
            all => {
                let pair =
                    |(k, v): &(Value, Arc<String>)| format!("{k}: {}", Value::Text(v.clone()));
                format!("{{{}}}", all.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl Builtin for Kv {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(KvOp, Option<Value>), String> {
        method::decode(&METHODS, method, args, result, |op, ret| match op {
            Get(_) => text(ret).map(Value::Text),
            Put(..) | Append(..) => nothing(ret),
        })
    }

    fn takes_keys(&self) -> bool {
        true
    }

    fn encode(&self, op: &KvOp) -> (&'static str, Vec<Value>) {
        match op {
            Get(key) => ("get", vec![key.clone()]),
            Put(key, text) => ("put", vec![key.clone(), Value::Text(text.clone())]),
            Append(key, text) => ("append", vec![key.clone(), Value::Text(text.clone())]),
        }
    }

    fn results(&self, state: &KvState, op: &KvOp) -> Vec<Value> {
        vec![match op {
            Get(key) => place(state, key)
                .map_or_else(|_| Value::text(""), |at| Value::Text(state[at].1.clone())),
            Put(..) | Append(..) => Value::Nil,
        }]
    }

    fn sample(&self, _: &KvState, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> KvOp {
        let key = Value::Int(pick(8) as i64);
        match pick(4) {
            0..2 => Get(key),
            2 => Put(key, Arc::new(format!("{fresh};"))),
            _ => Append(key, Arc::new(format!("{fresh};"))),
        }
    }

    fn perform(&self, state: &mut KvState, op: &KvOp, _: &Value, _: &mut dyn FnMut(u64) -> u64) {
        change(state, op);
    }

    fn alien(&self, value: i64) -> Option<(KvOp, Value)> {
        Some((Get(Value::Int(0)), Value::text(format!("{value};"))))
    }
}
