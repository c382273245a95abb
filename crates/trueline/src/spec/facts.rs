//! What a specification knows about itself that decides a history without a search: where values
//! come from, that it only grows, that it is a sum. Each is a claim that the tests of the laws hold
//! against `step`.

use crate::value::Value;

/// Where the values come from that results show. Claims: in every legal sequence from the initial
/// state, an operation that shows a value comes behind one that brings it, unless the value is
/// there at first; and of the operations that take a value each has one that brought it, or one of
/// its initial copies, for itself.
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
    /// `brings` tells the value that an operation may bring, whatever its result; `shows` the value
    /// that a result shows.
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

/// What an operation does to a collection that only grows.
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
    /// Changes nothing, and nobody saw anything.
    Nothing,
}

/// A collection that only grows. Claims: the object allows exactly what a list or a set allows that
/// starts with the initial values, as long as `growth` has a word for each operation.
#[derive(Clone, Debug)]
pub struct Growing<Op, Ret> {
    pub(crate) initial: Vec<Value>,
    /// The order in which values were added is seen.
    pub(crate) ordered: bool,
    pub(crate) key: Option<fn(&Op) -> &Value>,
    pub(crate) growth: fn(&Op, Option<&Ret>) -> Option<Growth>,
}

impl<Op, Ret> Growing<Op, Ret> {
    /// A list. `growth` says `None` where there is no word for the operation with this result.
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

/// What a result tells of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// The sum before the operation.
    Before(i64),
    /// The sum after it.
    After(i64),
}

/// A sum. Claims: in every legal sequence, what results tell is the initial number and what the
/// operations before added, as long as no number overflows.
#[derive(Clone, Debug)]
pub struct Sum<Op, Ret> {
    pub(crate) initial: i64,
    pub(crate) adds: fn(&Op) -> i64,
    pub(crate) tells: fn(&Op, &Ret) -> Option<Total>,
}

impl<Op, Ret> Sum<Op, Ret> {
    /// `adds` says what an operation adds, `tells` what its result tells.
    pub fn new(
        initial: i64,
        adds: fn(&Op) -> i64,
        tells: fn(&Op, &Ret) -> Option<Total>,
    ) -> Sum<Op, Ret> {
        Sum { initial, adds, tells }
    }
}
