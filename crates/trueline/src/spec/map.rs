//! Values by key: `map`.

use super::method::{self, Method, item, nothing, truth};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Action, Builtin, Canonical, Info, Kind, Origins, Shown, Spec, Touches, key_of};
use crate::value::Value;

/// The operations of a map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MapOp {
    /// Replaces the value of a key; returns nothing. Nil is not a value: putting it is never legal.
    Put(Value, Value),
    /// The value of a key; nil if there is none.
    Get(Value),
    /// Replaces the value of a key; returns the previous one, nil if there was none.
    Swap(Value, Value),
    /// Removes a key; returns whether it was there. Nil as a result allows both.
    Remove(Value),
    /// Whether the key is there. Nil as a result allows both.
    Contains(Value),
}

use MapOp::{Contains, Get, Put, Remove, Swap};

const METHODS: [Method<MapOp>; 5] = [
    Method::new("put(key, value)", &["set", "write", "insert"], |a| {
        Ok(Put(a[0].clone(), item(&a[1])?))
    }),
    Method::new("get(key) -> value or nil", &["read", "lookup"], |a| Ok(Get(a[0].clone()))),
    Method::new("swap(key, value) -> value or nil", &["replace", "get_and_put"], |a| {
        Ok(Swap(a[0].clone(), item(&a[1])?))
    }),
    Method::new("remove(key) -> bool or nothing", &["delete", "rem", "rm", "erase"], |a| {
        Ok(Remove(a[0].clone()))
    }),
    Method::new("contains(key) -> bool or nothing", &["contains_key", "has"], |a| {
        Ok(Contains(a[0].clone()))
    }),
];

pub(super) const MAP: Info = Info {
    name: "map",
    aliases: &["dictionary", "hash-map"],
    parameters: "",
    methods: &method::signatures(&METHODS),
    summary: "values by key, initially empty; partitions by key",
};

/// A map.
#[derive(Clone, Debug, Default)]
pub struct Map;

/// An empty map.
pub fn map() -> Map {
    Map
}

/// The entries by ascending key. A part of a history has one key.
pub type MapState = Vec<(Value, Value)>;

fn place(state: &MapState, key: &Value) -> Result<usize, usize> {
    state.binary_search_by(|(k, _)| k.cmp(key))
}

fn seen(state: &MapState, key: &Value) -> Value {
    place(state, key).map_or(Value::Nil, |at| state[at].1.clone())
}

fn change(state: &mut MapState, op: &MapOp) {
    match op {
        Put(key, value) | Swap(key, value) => match place(state, key) {
            Ok(at) => state[at].1 = value.clone(),
            Err(at) => state.insert(at, (key.clone(), value.clone())),
        },
        Remove(key) => {
            if let Ok(at) = place(state, key) {
                state.remove(at);
            }
        }
        Get(_) | Contains(_) => {}
    }
}

/// The result that the operation has in this state.
fn result_of(state: &MapState, op: &MapOp) -> Value {
    match op {
        Put(..) => Value::Nil,
        Get(key) | Swap(key, _) => seen(state, key),
        Remove(key) | Contains(key) => Value::Bool(place(state, key).is_ok()),
    }
}

impl Spec for Map {
    type State = MapState;
    type Op = MapOp;
    type Ret = Value;

    fn initial(&self) -> MapState {
        Vec::new()
    }

    fn step(&self, state: &MapState, op: &MapOp, ret: Option<&Value>, next: &mut Vec<MapState>) {
        let is_value = !matches!(op, Put(_, Value::Nil) | Swap(_, Value::Nil));
        let silent = matches!((op, ret), (Remove(_) | Contains(_), Some(Value::Nil)));
        if is_value && (silent || ret.is_none_or(|ret| *ret == result_of(state, op))) {
            let mut after = state.clone();
            change(&mut after, op);
            next.push(after);
        }
    }

    fn partition(&self, op: &MapOp) -> Option<u64> {
        let (Put(key, _) | Get(key) | Swap(key, _) | Remove(key) | Contains(key)) = op;
        Some(key_of(key))
    }

    /// Each key is a register, as long as it is only put and got.
    fn canonical(&self) -> Option<Canonical<MapOp, Value>> {
        let action = |op: &MapOp, ret: Option<&Value>| match (op, ret) {
            (Put(_, value), _) => Some(Action::Write(value.clone())),
            (Get(_), Some(value)) => Some(Action::Read(value.clone())),
            _ => None,
        };
        Some(Canonical::new(Kind::Register, action).holding(vec![Value::Nil]))
    }

    fn observes(&self, op: &MapOp, ret: Option<&Value>) -> bool {
        match op {
            Put(..) | Swap(..) => false,
            Get(_) | Contains(_) => true,
            Remove(_) => ret == Some(&Value::Bool(false)),
        }
    }

    fn says_nothing(&self, op: &MapOp, ret: &Value) -> bool {
        matches!(op, Put(..) | Remove(_)) && ret.is_nil()
    }

    fn origins(&self) -> Option<Origins<MapOp, Value>> {
        fn brings(op: &MapOp) -> Option<&Value> {
            match op {
                Put(_, value) | Swap(_, value) => Some(value),
                _ => None,
            }
        }
        let shows = |op: &MapOp, ret: &Value| match op {
            Get(_) | Swap(..) if !ret.is_nil() => Some(Shown::Seen(ret.clone())),
            _ => None,
        };
        Some(Origins::new(brings, shows))
    }

    fn touches(&self, op: &MapOp, ret: Option<&Value>) -> Touches {
        let nil = &Value::Nil;
        let (key, reads, writes) = match (op, ret) {
            (Put(key, value), _) => (key, None, Some(value)),
            (Get(key), ret) => (key, ret, None),
            // An unknown swap needs nothing, because its result is unknown.
            (Swap(key, value), ret) => (key, ret, Some(value)),
            (Remove(_) | Contains(_), Some(Value::Bool(true))) => return Touches::Everything,
            (Remove(key) | Contains(key), Some(Value::Bool(false))) => (key, Some(nil), None),
            (Remove(key), _) => (key, None, Some(nil)),
            (Contains(_), _) => return Touches::NOTHING,
        };
        let number = |value: &Value| key_of(&(key, value));
        Touches::Flow { reads: reads.map(number), writes: writes.map(number) }
    }

    fn vocabulary(&self) -> Option<Vocabulary<MapOp, Value>> {
        Some(Vocabulary::new(Family::Map, [], words::map))
    }

    fn show(&self, op: &MapOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &MapState) -> String {
        if state.is_empty() {
            return "empty".into();
        }
        let pairs: Vec<String> = state.iter().map(|(k, v)| format!("{k}: {v}")).collect();
        format!("{{{}}}", pairs.join(", "))
    }
}

impl Builtin for Map {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(MapOp, Option<Value>), String> {
        method::decode(&METHODS, method, args, result, |op, ret| match op {
            Put(..) => nothing(ret),
            Get(_) | Swap(..) => Ok(ret.clone()),
            Remove(_) | Contains(_) => truth(ret, Value::Nil),
        })
    }

    fn takes_keys(&self) -> bool {
        true
    }

    fn encode(&self, op: &MapOp) -> (&'static str, Vec<Value>) {
        match op {
            Put(key, value) => ("put", vec![key.clone(), value.clone()]),
            Get(key) => ("get", vec![key.clone()]),
            Swap(key, value) => ("swap", vec![key.clone(), value.clone()]),
            Remove(key) => ("remove", vec![key.clone()]),
            Contains(key) => ("contains", vec![key.clone()]),
        }
    }

    fn results(&self, state: &MapState, op: &MapOp) -> Vec<Value> {
        vec![result_of(state, op)]
    }

    fn sample(&self, _: &MapState, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> MapOp {
        let key = Value::Int(pick(8) as i64);
        let value = Value::Int(fresh);
        match pick(8) {
            0..4 => Get(key),
            4..6 => Put(key, value),
            6 => Swap(key, value),
            _ => Remove(key),
        }
    }

    fn perform(&self, state: &mut MapState, op: &MapOp, _: &Value, _: &mut dyn FnMut(u64) -> u64) {
        change(state, op);
    }

    fn alien(&self, value: i64) -> Option<(MapOp, Value)> {
        Some((Get(Value::Int(0)), Value::Int(value)))
    }
}
