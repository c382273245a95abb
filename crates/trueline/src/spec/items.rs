//! A sequence of values: the state of every container, and of everything built from values.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use smallvec::SmallVec;

use crate::value::Value;

/// The contents of a container. Its owner defines the meaning of the order: oldest first in a
/// queue, bottom first in a stack, ascending in a set.
///
/// Values leave at either end in O(1): values removed at the front stay allocated until they are
/// more than the remaining ones.
pub struct Items<V = Value> {
    values: SmallVec<[V; 4]>,
    /// How many of `values` have left at the front.
    gone: usize,
}

impl<V> Items<V> {
    pub(crate) fn push(&mut self, value: V) {
        self.values.push(value);
    }

    pub(crate) fn pop(&mut self) -> Option<V> {
        if self.is_empty() { None } else { self.values.pop() }
    }

    pub(crate) fn insert(&mut self, at: usize, value: V) {
        self.values.insert(self.gone + at, value);
    }

    pub(crate) fn remove(&mut self, at: usize) -> V {
        self.values.remove(self.gone + at)
    }

    /// Removes the first value, if there is one.
    pub(crate) fn shift(&mut self) -> Option<V>
    where
        V: Default,
    {
        let first = std::mem::take(self.values.get_mut(self.gone)?);
        self.gone += 1;
        if self.gone > self.values.len() / 2 {
            self.values.drain(..self.gone);
            self.gone = 0;
        }
        Some(first)
    }

    /// Shortens or fills up with `value`.
    pub(crate) fn resize(&mut self, len: usize, value: V)
    where
        V: Clone,
    {
        self.values.resize(self.gone + len, value);
    }

    pub(crate) fn set(&mut self, at: usize, value: V) {
        self.values[self.gone + at] = value;
    }
}

/// The same as a binary heap, the largest value first. All its other methods are then unused.
impl<V: Ord> Items<V> {
    pub(crate) fn push_heap(&mut self, value: V) {
        let values = &mut self.values;
        let mut at = values.len();
        values.push(value);
        while at > 0 && values[(at - 1) / 2] < values[at] {
            values.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    pub(crate) fn pop_heap(&mut self) -> Option<V> {
        let values = &mut self.values;
        let last = values.pop()?;
        let Some(root) = values.first_mut() else { return Some(last) };
        let largest = std::mem::replace(root, last);
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child >= values.len() {
                return Some(largest);
            }
            if child + 1 < values.len() && values[child] < values[child + 1] {
                child += 1;
            }
            if values[at] >= values[child] {
                return Some(largest);
            }
            values.swap(at, child);
            at = child;
        }
    }
}

impl<V> Default for Items<V> {
    fn default() -> Items<V> {
        Items { values: SmallVec::new(), gone: 0 }
    }
}

impl<V: Clone> Clone for Items<V> {
    fn clone(&self) -> Items<V> {
        Items { values: self.iter().cloned().collect(), gone: 0 }
    }
}

impl<V: PartialEq> PartialEq for Items<V> {
    fn eq(&self, other: &Items<V>) -> bool {
        **self == **other
    }
}

impl<V: Eq> Eq for Items<V> {}

impl<V: Hash> Hash for Items<V> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (**self).hash(hasher);
    }
}

impl<V> Deref for Items<V> {
    type Target = [V];
    fn deref(&self) -> &[V] {
        &self.values[self.gone..]
    }
}

impl<V> FromIterator<V> for Items<V> {
    fn from_iter<T: IntoIterator<Item = V>>(values: T) -> Items<V> {
        Items { values: values.into_iter().collect(), gone: 0 }
    }
}

impl<V: fmt::Display> fmt::Debug for Items<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `[1 2]`, or `empty`.
impl<V: fmt::Display> fmt::Display for Items<V> {
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

/// The result of a look at the next value of a container: nil if it is empty.
pub(super) fn or_nil(value: Option<&Value>) -> Value {
    value.cloned().unwrap_or_default()
}

/// Whether a removal or a look may return `ret` if `value` is next.
pub(super) fn may_return(value: Option<&Value>, ret: Option<&Value>) -> bool {
    ret.is_none_or(|ret| *ret == *value.unwrap_or(&Value::Nil))
}
