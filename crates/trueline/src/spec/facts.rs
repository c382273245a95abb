//! Claims of a specification that decide a history without a search: where values come from, that
//! it only grows, that it is a sum. The tests of the laws compare each claim with `step`.

use crate::value::Value;

/// Where the values in results come from. Claims: in every legal sequence from the initial state,
/// an operation that shows a value comes after one that inserts it, unless the value is there
/// initially; and each operation that removes a value has an insertion, or an initial copy, of its
/// own.
#[derive(Clone, Debug)]
pub struct Origins<Op, Ret> {
    pub(crate) initial: Vec<Value>,
    pub(crate) brings: fn(&Op) -> Option<&Value>,
    pub(crate) shows: fn(&Op, &Ret) -> Option<Shown>,
}

/// A value that a result shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It is there.
    Seen(Value),
    /// It was there and is taken out.
    Taken(Value),
}

impl<Op, Ret> Origins<Op, Ret> {
    /// `brings` gives the value that an operation may insert, whatever its result; `shows` the
    /// value in a result.
    pub fn new(
        brings: fn(&Op) -> Option<&Value>,
        shows: fn(&Op, &Ret) -> Option<Shown>,
    ) -> Origins<Op, Ret> {
        Origins { initial: Vec::new(), brings, shows }
    }

    /// The values that are there at first, each as often as it is there.
    pub fn holding(mut self, initial: Vec<Value>) -> Origins<Op, Ret> {
        self.initial = initial;
        self
    }
}

/// The effect of an operation on a collection that only grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Adds a value; a set may have it already.
    Add(Value),
    /// Adds a value that a set did not have.
    AddNew(Value),
    /// Finds that a set has the value.
    Found(Value),
    /// Adds a value at this place of a list, from 0.
    AddAt(Value, i64),
    /// Shows everything: a list of values, or the text that texts make.
    Show(Value),
    /// Changes nothing, and its result is unknown.
    Nothing,
}

/// A collection that only grows. Claims: the object allows exactly what a list or a set with the
/// initial values allows, as long as `growth` covers each operation.
#[derive(Clone, Debug)]
pub struct Growing<Op, Ret> {
    pub(crate) initial: Vec<Value>,
    /// Whether the order in which values were added is visible.
    pub(crate) ordered: bool,
    pub(crate) key: Option<fn(&Op) -> &Value>,
    pub(crate) growth: fn(&Op, Option<&Ret>) -> Option<Growth>,
}

impl<Op, Ret> Growing<Op, Ret> {
    /// A list. `growth` returns `None` if it does not cover the operation with this result.
    pub fn list(growth: fn(&Op, Option<&Ret>) -> Option<Growth>) -> Growing<Op, Ret> {
        Growing { initial: Vec::new(), ordered: true, key: None, growth }
    }

    /// A set; it shows its values as an ascending list.
    pub fn set(growth: fn(&Op, Option<&Ret>) -> Option<Growth>) -> Growing<Op, Ret> {
        Growing { initial: Vec::new(), ordered: false, key: None, growth }
    }

    /// One such collection for each key.
    pub fn by(mut self, key: fn(&Op) -> &Value) -> Growing<Op, Ret> {
        self.key = Some(key);
        self
    }

    /// The values that are there at first.
    pub fn holding(mut self, initial: Vec<Value>) -> Growing<Op, Ret> {
        self.initial = initial;
        self
    }
}

/// What a result shows of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// The sum before the operation.
    Before(i64),
    /// The sum after it.
    After(i64),
}

/// A sum. Claims: in every legal sequence, each shown total is the initial number plus what the
/// operations before it added, as long as no number overflows.
#[derive(Clone, Debug)]
pub struct Sum<Op, Ret> {
    pub(crate) initial: i64,
    pub(crate) adds: fn(&Op) -> i64,
    pub(crate) tells: fn(&Op, &Ret) -> Option<Total>,
}

impl<Op, Ret> Sum<Op, Ret> {
    /// `adds` gives the amount that an operation adds, `tells` the total in its result.
    pub fn new(
        initial: i64,
        adds: fn(&Op) -> i64,
        tells: fn(&Op, &Ret) -> Option<Total>,
    ) -> Sum<Op, Ret> {
        Sum { initial, adds, tells }
    }
}
