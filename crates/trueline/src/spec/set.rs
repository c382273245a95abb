//! Values without an order: `set` and `multiset`.

use super::items::Items;
use super::method::{self, Method, found, nothing, number, truth};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{
    Action, Builtin, Canonical, Growing, Growth, Info, Kind, Origins, Shown, Spec, key_of,
};
use crate::value::Value;

/// The operations of a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SetOp {
    /// Adds a value; returns whether it was absent. Nil as a result allows both.
    Add(Value),
    /// Removes a value; returns whether it was there. Nil as a result allows both.
    Remove(Value),
    /// Whether the value is there. Nil as a result allows both.
    Contains(Value),
    /// All values, as an ascending list.
    Read,
}

const SET_METHODS: [Method<SetOp>; 4] = [
    Method::new("add(value) -> bool or nothing", &["insert", "put"], |a| {
        Ok(SetOp::Add(a[0].clone()))
    }),
    Method::new("remove(value) -> bool or nothing", &["rem", "rm", "delete", "erase"], |a| {
        Ok(SetOp::Remove(a[0].clone()))
    }),
    Method::new("contains(value) -> bool or nothing", &["has", "member", "lookup", "find"], |a| {
        Ok(SetOp::Contains(a[0].clone()))
    }),
    Method::new("read() -> list", &["scan", "elements"], |_| Ok(SetOp::Read)),
];

pub(super) const SET: Info = Info {
    name: "set",
    aliases: &["atomic-set"],
    parameters: "init=[]",
    methods: &method::signatures(&SET_METHODS),
    summary: "each value is present or absent; partitions by value unless read() is called",
};

/// A set of values.
#[derive(Clone, Debug, Default)]
pub struct Set {
    init: Items,
}

/// An empty set.
pub fn set() -> Set {
    Set::default()
}

impl Set {
    /// A set with initial contents.
    pub fn with_init(self, values: impl IntoIterator<Item = Value>) -> Set {
        let mut values: Vec<Value> = values.into_iter().collect();
        values.sort();
        values.dedup();
        Set { init: values.into_iter().collect() }
    }
}

fn change_set(state: &mut Items, op: &SetOp) {
    match op {
        SetOp::Add(value) => {
            if let Err(at) = state.binary_search(value) {
                state.insert(at, value.clone());
            }
        }
        SetOp::Remove(value) => {
            if let Ok(at) = state.binary_search(value) {
                state.remove(at);
            }
        }
        SetOp::Contains(_) | SetOp::Read => {}
    }
}

impl Spec for Set {
    /// Ascending.
    type State = Items;
    type Op = SetOp;
    type Ret = Value;

    fn initial(&self) -> Items {
        self.init.clone()
    }

    fn step(&self, state: &Items, op: &SetOp, ret: Option<&Value>, next: &mut Vec<Items>) {
        let has = |value| state.binary_search(value).is_ok();
        let legal = match (op, ret) {
            (_, None)
            | (SetOp::Add(_) | SetOp::Remove(_) | SetOp::Contains(_), Some(Value::Nil)) => true,
            (SetOp::Add(value), Some(ret)) => *ret == Value::Bool(!has(value)),
            (SetOp::Remove(value) | SetOp::Contains(value), Some(ret)) => {
                *ret == Value::Bool(has(value))
            }
            (SetOp::Read, Some(ret)) => ret.as_list() == Some(state),
        };
        if legal {
            let mut after = state.clone();
            change_set(&mut after, op);
            next.push(after);
        }
    }

    fn partition(&self, op: &SetOp) -> Option<u64> {
        match op {
            SetOp::Add(value) | SetOp::Remove(value) | SetOp::Contains(value) => {
                Some(key_of(value))
            }
            SetOp::Read => None,
        }
    }

    fn canonical(&self) -> Option<Canonical<SetOp, Value>> {
        let action = |op: &SetOp, ret: Option<&Value>| match (op, ret.map(Value::as_bool)) {
            // An add or a remove without an outcome changed the set, or nothing.
            (SetOp::Add(v), None | Some(Some(true))) => Some(Action::Add(v.clone())),
            (SetOp::Remove(v), None | Some(Some(true))) => Some(Action::Delete(v.clone())),
            (SetOp::Add(v), Some(Some(false))) => Some(Action::Present(v.clone())),
            (SetOp::Remove(v), Some(Some(false))) => Some(Action::Absent(v.clone())),
            (SetOp::Contains(v), Some(Some(true))) => Some(Action::Present(v.clone())),
            (SetOp::Contains(v), Some(Some(false))) => Some(Action::Absent(v.clone())),
            // Without a result an add or a remove is legal either way.
            _ => None,
        };
        Some(Canonical::new(Kind::Set, action).holding(self.init.to_vec()))
    }

    fn reorders(&self) -> bool {
        true
    }

    /// Operations on different values commute.
    fn commutes(&self, a: (&SetOp, Option<&Value>), b: (&SetOp, Option<&Value>)) -> bool {
        match (a.0, b.0) {
            (SetOp::Read, _) | (_, SetOp::Read) => false,
            (
                SetOp::Add(v) | SetOp::Remove(v) | SetOp::Contains(v),
                SetOp::Add(w) | SetOp::Remove(w) | SetOp::Contains(w),
            ) => v != w,
        }
    }

    fn says_nothing(&self, op: &SetOp, ret: &Value) -> bool {
        *op != SetOp::Read && ret.is_nil()
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    /// A read needs every value that it does not show to be gone.
    fn in_reach(&self, state: &Items, observer: &SetOp, ret: Option<&Value>) -> bool {
        match (observer, ret) {
            (SetOp::Read, Some(Value::List(shown))) => {
                state.len() <= shown.len()
                    && state.iter().all(|value| shown.binary_search(value).is_ok())
            }
            _ => true,
        }
    }

    fn may_help(&self, op: &SetOp, observer: &SetOp, ret: Option<&Value>) -> bool {
        match (op, observer, ret) {
            (SetOp::Remove(value), SetOp::Read, Some(Value::List(shown))) => {
                shown.binary_search(value).is_err()
            }
            (_, SetOp::Read, Some(Value::List(_))) => false,
            _ => true,
        }
    }

    fn observes(&self, op: &SetOp, ret: Option<&Value>) -> bool {
        match op {
            SetOp::Add(_) | SetOp::Remove(_) => ret == Some(&Value::Bool(false)),
            SetOp::Contains(_) | SetOp::Read => true,
        }
    }

    fn origins(&self) -> Option<Origins<SetOp, Value>> {
        fn brings(op: &SetOp) -> Option<&Value> {
            match op {
                SetOp::Add(value) => Some(value),
                _ => None,
            }
        }
        let shows = |op: &SetOp, ret: &Value| match (op, ret) {
            (SetOp::Add(value), Value::Bool(false))
            | (SetOp::Contains(value), Value::Bool(true)) => Some(Shown::Seen(value.clone())),
            (SetOp::Remove(value), Value::Bool(true)) => Some(Shown::Taken(value.clone())),
            _ => None,
        };
        Some(Origins::new(brings, shows).holding(self.init.to_vec()))
    }

    /// As long as nothing is removed or found absent.
    fn growing(&self) -> Option<Growing<SetOp, Value>> {
        let growth = |op: &SetOp, ret: Option<&Value>| match (op, ret) {
            (SetOp::Add(value), None | Some(Value::Nil)) => Some(Growth::Add(value.clone())),
            (SetOp::Add(value), Some(Value::Bool(true))) => Some(Growth::AddNew(value.clone())),
            (SetOp::Add(value), Some(Value::Bool(false)))
            | (SetOp::Contains(value), Some(Value::Bool(true))) => {
                Some(Growth::Found(value.clone()))
            }
            (SetOp::Read, Some(shown @ Value::List(_))) => Some(Growth::Show(shown.clone())),
            (SetOp::Read | SetOp::Contains(_), None) => Some(Growth::Nothing),
            _ => None,
        };
        Some(Growing::set(growth).holding(self.init.to_vec()))
    }

    fn vocabulary(&self) -> Option<Vocabulary<SetOp, Value>> {
        Some(Vocabulary::new(Family::Set, self.init.to_vec(), words::set))
    }

    fn show(&self, op: &SetOp, ret: Option<&Value>) -> String {
        method::show(&SET_METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Items) -> String {
        state.to_string()
    }
}

impl Builtin for Set {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(SetOp, Option<Value>), String> {
        method::decode(&SET_METHODS, method, args, result, |op, ret| match op {
            // An unknown result shows nothing.
            SetOp::Add(_) | SetOp::Remove(_) | SetOp::Contains(_) => truth(ret, Value::Nil),
            SetOp::Read => match ret {
                Value::Nil => Ok(Value::list([])),
                Value::List(items) if items.is_sorted() => Ok(ret.clone()),
                Value::List(items) => {
                    let mut items = items.to_vec();
                    items.sort();
                    Ok(Value::list(items))
                }
                _ => Err(format!("expected a list as the result, found {}", found(ret))),
            },
        })
    }

    fn encode(&self, op: &SetOp) -> (&'static str, Vec<Value>) {
        match op {
            SetOp::Add(value) => ("add", vec![value.clone()]),
            SetOp::Remove(value) => ("remove", vec![value.clone()]),
            SetOp::Contains(value) => ("contains", vec![value.clone()]),
            SetOp::Read => ("read", vec![]),
        }
    }

    fn results(&self, state: &Items, op: &SetOp) -> Vec<Value> {
        let has = |value| state.binary_search(value).is_ok();
        vec![match op {
            SetOp::Add(value) => Value::Bool(!has(value)),
            SetOp::Remove(value) | SetOp::Contains(value) => Value::Bool(has(value)),
            SetOp::Read => Value::list(state.iter().cloned()),
        }]
    }

    fn sample(&self, state: &Items, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> SetOp {
        // Slightly more removals than additions, so that the set stays small even in a long
        // history.
        match pick(32) {
            0..10 => SetOp::Add(Value::Int(fresh)),
            10..23 => SetOp::Remove(likely_inside(state, pick, fresh)),
            _ => SetOp::Contains(recent(pick, fresh)),
        }
    }

    fn perform(&self, state: &mut Items, op: &SetOp, _: &Value, _: &mut dyn FnMut(u64) -> u64) {
        change_set(state, op);
    }

    fn alien(&self, value: i64) -> Option<(SetOp, Value)> {
        Some((SetOp::Contains(Value::Int(value)), Value::Bool(true)))
    }
}

/// Usually a value that is inside, if there is one.
fn likely_inside(state: &Items, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> Value {
    if state.is_empty() || pick(8) == 0 {
        return recent(pick, fresh);
    }
    state[pick(state.len() as u64) as usize].clone()
}

/// A value that a generated operation may have added lately.
fn recent(pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> Value {
    Value::Int((fresh - pick(8) as i64).max(1))
}

/// The operations of a multiset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MultisetOp {
    /// Adds a value once.
    Add(Value),
    /// Removes a value once; returns whether it was there.
    Remove(Value),
    /// Whether the value is there. Nil as a result allows both.
    Contains(Value),
    /// How many times the value is there.
    Count(Value),
}

const MULTISET_METHODS: [Method<MultisetOp>; 4] = [
    Method::new("add(value)", &["insert", "put"], |a| Ok(MultisetOp::Add(a[0].clone()))),
    Method::new("remove(value) -> bool", &["rem", "rm", "delete", "erase"], |a| {
        Ok(MultisetOp::Remove(a[0].clone()))
    }),
    Method::new("contains(value) -> bool or nothing", &["has", "member", "lookup", "find"], |a| {
        Ok(MultisetOp::Contains(a[0].clone()))
    }),
    Method::new("count(value) -> number", &[], |a| Ok(MultisetOp::Count(a[0].clone()))),
];

pub(super) const MULTISET: Info = Info {
    name: "multiset",
    aliases: &["bag"],
    parameters: "init=[]",
    methods: &method::signatures(&MULTISET_METHODS),
    summary: "values with a count each; a remove without a result counts as true",
};

/// A multiset of values.
#[derive(Clone, Debug, Default)]
pub struct Multiset {
    init: Items,
}

/// An empty multiset.
pub fn multiset() -> Multiset {
    Multiset::default()
}

impl Multiset {
    /// A multiset with initial contents.
    pub fn with_init(self, values: impl IntoIterator<Item = Value>) -> Multiset {
        let mut values: Vec<Value> = values.into_iter().collect();
        values.sort();
        Multiset { init: values.into_iter().collect() }
    }
}

fn change_multiset(state: &mut Items, op: &MultisetOp) {
    match op {
        MultisetOp::Add(value) => {
            let at = state.partition_point(|v| v < value);
            state.insert(at, value.clone());
        }
        MultisetOp::Remove(value) => {
            if let Ok(at) = state.binary_search(value) {
                state.remove(at);
            }
        }
        MultisetOp::Contains(_) | MultisetOp::Count(_) => {}
    }
}

impl Spec for Multiset {
    /// Ascending, with repetitions.
    type State = Items;
    type Op = MultisetOp;
    type Ret = Value;

    fn initial(&self) -> Items {
        self.init.clone()
    }

    fn step(&self, state: &Items, op: &MultisetOp, ret: Option<&Value>, next: &mut Vec<Items>) {
        let silent = matches!((op, ret), (MultisetOp::Contains(_), Some(Value::Nil)));
        if silent || ret.is_none_or(|ret| *ret == result_of(state, op)) {
            let mut after = state.clone();
            change_multiset(&mut after, op);
            next.push(after);
        }
    }

    fn partition(&self, op: &MultisetOp) -> Option<u64> {
        match op {
            MultisetOp::Add(value)
            | MultisetOp::Remove(value)
            | MultisetOp::Contains(value)
            | MultisetOp::Count(value) => Some(key_of(value)),
        }
    }

    fn observes(&self, op: &MultisetOp, ret: Option<&Value>) -> bool {
        match op {
            MultisetOp::Add(_) => false,
            MultisetOp::Remove(_) => ret == Some(&Value::Bool(false)),
            MultisetOp::Contains(_) | MultisetOp::Count(_) => true,
        }
    }

    fn reorders(&self) -> bool {
        true
    }

    /// Operations on different values commute, and so do additions.
    fn commutes(&self, a: (&MultisetOp, Option<&Value>), b: (&MultisetOp, Option<&Value>)) -> bool {
        use MultisetOp::{Add, Contains, Count, Remove};
        match (a.0, b.0) {
            (Add(_), Add(_)) => true,
            (
                Add(v) | Remove(v) | Contains(v) | Count(v),
                Add(w) | Remove(w) | Contains(w) | Count(w),
            ) => v != w,
        }
    }

    fn says_nothing(&self, op: &MultisetOp, ret: &Value) -> bool {
        matches!(op, MultisetOp::Add(_)) && ret.is_nil()
    }

    /// The counts are the additions minus the removals.
    fn order_insensitive(&self) -> bool {
        true
    }

    fn origins(&self) -> Option<Origins<MultisetOp, Value>> {
        fn brings(op: &MultisetOp) -> Option<&Value> {
            match op {
                MultisetOp::Add(value) => Some(value),
                _ => None,
            }
        }
        let shows = |op: &MultisetOp, ret: &Value| match (op, ret) {
            (MultisetOp::Contains(value), Value::Bool(true)) => Some(Shown::Seen(value.clone())),
            (MultisetOp::Count(value), Value::Int(1..)) => Some(Shown::Seen(value.clone())),
            (MultisetOp::Remove(value), Value::Bool(true)) => Some(Shown::Taken(value.clone())),
            _ => None,
        };
        Some(Origins::new(brings, shows).holding(self.init.to_vec()))
    }

    fn vocabulary(&self) -> Option<Vocabulary<MultisetOp, Value>> {
        Some(Vocabulary::new(Family::Multiset, self.init.to_vec(), words::multiset))
    }

    fn show(&self, op: &MultisetOp, ret: Option<&Value>) -> String {
        method::show(&MULTISET_METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Items) -> String {
        state.to_string()
    }
}

fn result_of(state: &Items, op: &MultisetOp) -> Value {
    match op {
        MultisetOp::Add(_) => Value::Nil,
        MultisetOp::Remove(value) | MultisetOp::Contains(value) => {
            Value::Bool(state.binary_search(value).is_ok())
        }
        MultisetOp::Count(value) => {
            let first = state.partition_point(|v| v < value);
            let last = state.partition_point(|v| v <= value);
            Value::Int((last - first) as i64)
        }
    }
}

impl Builtin for Multiset {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(MultisetOp, Option<Value>), String> {
        method::decode(&MULTISET_METHODS, method, args, result, |op, ret| match op {
            MultisetOp::Add(_) => nothing(ret),
            MultisetOp::Remove(_) => truth(ret, true),
            MultisetOp::Contains(_) => truth(ret, Value::Nil),
            MultisetOp::Count(_) => number(ret).map(Value::Int),
        })
    }

    fn encode(&self, op: &MultisetOp) -> (&'static str, Vec<Value>) {
        match op {
            MultisetOp::Add(value) => ("add", vec![value.clone()]),
            MultisetOp::Remove(value) => ("remove", vec![value.clone()]),
            MultisetOp::Contains(value) => ("contains", vec![value.clone()]),
            MultisetOp::Count(value) => ("count", vec![value.clone()]),
        }
    }

    fn results(&self, state: &Items, op: &MultisetOp) -> Vec<Value> {
        vec![result_of(state, op)]
    }

    fn sample(&self, _: &Self::State, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> MultisetOp {
        match pick(4) {
            0 => MultisetOp::Add(Value::Int(fresh)),
            1 => MultisetOp::Remove(recent(pick, fresh)),
            2 => MultisetOp::Contains(recent(pick, fresh)),
            _ => MultisetOp::Count(recent(pick, fresh)),
        }
    }

    fn perform(
        &self,
        state: &mut Items,
        op: &MultisetOp,
        _: &Value,
        _: &mut dyn FnMut(u64) -> u64,
    ) {
        change_multiset(state, op);
    }

    fn alien(&self, value: i64) -> Option<(MultisetOp, Value)> {
        Some((MultisetOp::Contains(Value::Int(value)), Value::Bool(true)))
    }
}
