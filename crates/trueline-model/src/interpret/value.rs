//! Values as the interpreter sees them: structured, not packed.

use std::collections::{BTreeMap, BTreeSet};

use crate::language::types::{Ty, Types};

/// A value with its meaning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Value {
    /// `none` and `null`.
    Nothing,
    Bool(bool),
    Int(i64),
    Case(String),
    Pid(usize),
    /// A value of a `data` type: which type, and a number that nothing but comparison looks at.
    Datum(usize, usize),
    /// The place of a node on the heap.
    Node(usize),
    Record(Vec<(String, Value)>),
    /// An array or a sequence.
    List(Vec<Value>),
    Set(BTreeSet<Value>),
    Map(BTreeMap<Value, Value>),
}

/// A step on the way to a part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Field(String),
    Cell(Value),
}

impl Value {
    pub(crate) fn part(&self, path: &[Part]) -> Option<&Value> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let inner = match (self, first) {
            (Value::Record(fields), Part::Field(name)) => {
                &fields.iter().find(|(field, _)| field == name)?.1
            }
            (Value::List(cells), Part::Cell(index)) => cells.get(index.index()?)?,
            (Value::Map(entries), Part::Cell(key)) => entries.get(key)?,
            _ => return None,
        };
        inner.part(rest)
    }

    /// The same, mutable. If the last part is a new key of a map, it is inserted.
    pub(crate) fn part_mut(&mut self, path: &[Part]) -> Option<&mut Value> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let inner = match (self, first) {
            (Value::Record(fields), Part::Field(name)) => {
                &mut fields.iter_mut().find(|(field, _)| field == name)?.1
            }
            (Value::List(cells), Part::Cell(index)) => cells.get_mut(index.index()?)?,
            (Value::Map(entries), Part::Cell(key)) => {
                if rest.is_empty() {
                    entries.entry(key.clone()).or_insert(Value::Nothing);
                }
                entries.get_mut(key)?
            }
            _ => return None,
        };
        inner.part_mut(rest)
    }

    fn index(&self) -> Option<usize> {
        match self {
            Value::Int(number) => usize::try_from(*number).ok(),
            Value::Pid(process) => Some(*process),
            _ => None,
        }
    }

    /// The value of a variable that was not given one.
    pub(crate) fn first(types: &Types, ty: &Ty) -> Value {
        match ty {
            Ty::Int { lo, hi } => Value::Int(0.clamp(i64::from(*lo), i64::from(*hi))),
            Ty::Bool => Value::Bool(false),
            Ty::Enum(enumeration) => Value::Case(types.enums[*enumeration].1[0].clone()),
            Ty::Record(record) => Value::Record(
                (types.records[*record].fields.iter())
                    .map(|(name, ty)| (name.clone(), Value::first(types, ty)))
                    .collect(),
            ),
            Ty::Array { of, len, .. } => Value::List(vec![Value::first(types, of); *len]),
            Ty::Seq(_) => Value::List(Vec::new()),
            Ty::Set(_) => Value::Set(BTreeSet::new()),
            Ty::Map(..) => Value::Map(BTreeMap::new()),
            _ => Value::Nothing,
        }
    }

    /// Whether the value is one of the type's.
    pub(crate) fn belongs(&self, types: &Types, ty: &Ty) -> bool {
        match (ty, self) {
            (Ty::Int { lo, hi }, Value::Int(number)) => {
                (i64::from(*lo)..=i64::from(*hi)).contains(number)
            }
            (Ty::Optional(_), Value::Nothing) => true,
            (Ty::Optional(of), value) => value.belongs(types, of),
            (Ty::Bool, Value::Bool(_)) | (Ty::Enum(_), Value::Case(_)) => true,
            (Ty::Pid | Ty::Lock, Value::Pid(_) | Value::Nothing) => true,
            (Ty::Node(_), Value::Node(_) | Value::Nothing) => true,
            (Ty::Data(_), Value::Nothing) => true,
            (Ty::Data(data), Value::Datum(of, _)) => data == of,
            (Ty::Record(record), Value::Record(fields)) => {
                let wanted = &types.records[*record].fields;
                wanted.iter().zip(fields).all(|((_, ty), (_, value))| value.belongs(types, ty))
            }
            (Ty::Array { of, .. } | Ty::Seq(of), Value::List(items)) => {
                items.iter().all(|item| item.belongs(types, of))
            }
            (Ty::Set(of), Value::Set(items)) => items.iter().all(|item| item.belongs(types, of)),
            (Ty::Map(key, of), Value::Map(entries)) => {
                let mut entries = entries.iter();
                entries.all(|(k, value)| k.belongs(types, key) && value.belongs(types, of))
            }
            _ => false,
        }
    }

    /// Whether an operation that returns values of this type may return this one.
    pub(crate) fn can_be_returned(&self, types: &Types, ty: &Ty) -> bool {
        match (ty, self) {
            (Ty::Unit, _) => true,
            (Ty::Data(_), Value::Nothing) => false,
            (Ty::Record(record), Value::Record(fields)) => {
                let wanted = &types.records[*record].fields;
                wanted.iter().zip(fields).all(|((_, ty), (_, v))| v.can_be_returned(types, ty))
            }
            (Ty::Array { of, .. }, Value::List(items)) => {
                items.iter().all(|item| item.can_be_returned(types, of))
            }
            (ty, value) => value.belongs(types, ty),
        }
    }

    /// A number of a program as the value that it stands for.
    pub(crate) fn from_number(types: &Types, ty: &Ty, number: i32) -> Value {
        match ty {
            Ty::Optional(of) => {
                let nothing = match **of {
                    Ty::Int { lo, .. } => number < lo,
                    Ty::Data(_) => number < 1,
                    _ => number < 0,
                };
                if nothing { Value::Nothing } else { Value::from_number(types, of, number) }
            }
            Ty::Bool => Value::Bool(number != 0),
            Ty::Enum(enumeration) => {
                let cases = &types.enums[*enumeration].1;
                usize::try_from(number)
                    .ok()
                    .and_then(|c| cases.get(c))
                    .map_or(Value::Nothing, |case| Value::Case(case.clone()))
            }
            Ty::Data(data) => match usize::try_from(number) {
                Ok(number) if number > 0 => Value::Datum(*data, number),
                _ => Value::Nothing,
            },
            Ty::Pid | Ty::Lock => usize::try_from(number).map_or(Value::Nothing, Value::Pid),
            _ => Value::Int(number.into()),
        }
    }

    /// A result that a program gives as one number for each scalar.
    pub(crate) fn from_numbers(types: &Types, ty: &Ty, numbers: &mut &[i32]) -> Value {
        match ty {
            Ty::Unit => Value::Nothing,
            Ty::Record(record) => {
                let fields = types.records[*record].fields.iter();
                let read = |(name, ty): &(String, Ty)| {
                    (name.clone(), Value::from_numbers(types, ty, numbers))
                };
                Value::Record(fields.map(read).collect())
            }
            Ty::Array { of, len, .. } => {
                Value::List((0..*len).map(|_| Value::from_numbers(types, of, numbers)).collect())
            }
            _ => {
                let first = numbers.first().copied().unwrap_or(0);
                *numbers = numbers.get(1..).unwrap_or(&[]);
                Value::from_number(types, ty, first)
            }
        }
    }
}
