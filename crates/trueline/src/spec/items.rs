//! A short sequence of values: the state of the containers.

use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

use crate::value::Value;

/// The contents of a container. What the order means is up to its owner: oldest first in a queue, bottom first
/// in a stack, ascending in a set.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Items(SmallVec<[Value; 4]>);

impl Items {
    pub(super) fn push(&mut self, value: Value) {
        self.0.push(value);
    }

    pub(super) fn pop(&mut self) -> Option<Value> {
        self.0.pop()
    }

    pub(super) fn insert(&mut self, at: usize, value: Value) {
        self.0.insert(at, value);
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.0.remove(at);
    }

    /// Removes the first value, if there is one.
    pub(super) fn shift(&mut self) {
        if !self.0.is_empty() {
            self.0.remove(0);
        }
    }

    /// Shortens or fills up with `value`.
    pub(super) fn resize(&mut self, len: usize, value: Value) {
        self.0.resize(len, value);
    }

    pub(super) fn set(&mut self, at: usize, value: Value) {
        self.0[at] = value;
    }
}

impl Deref for Items {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl FromIterator<Value> for Items {
    fn from_iter<T: IntoIterator<Item = Value>>(values: T) -> Items {
        Items(values.into_iter().collect())
    }
}

impl fmt::Debug for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `[1 2]`, or `empty`.
impl fmt::Display for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("empty");
        }
        f.write_str("[")?;
        for (i, value) in self.iter().enumerate() {
            write!(f, "{}{value}", if i > 0 { " " } else { "" })?;
        }
        f.write_str("]")
    }
}

/// What a look at the next value of a container tells: nil where it is empty.
pub(super) fn or_nil(value: Option<&Value>) -> Value {
    value.cloned().unwrap_or_default()
}

/// True iff a removal or a look may tell `ret` where `value` is next.
pub(super) fn tells(value: Option<&Value>, ret: Option<&Value>) -> bool {
    ret.is_none_or(|ret| *ret == *value.unwrap_or(&Value::Nil))
}
