//! The terms of theories: object, method, argument, result.

use std::fmt;

use crate::value::Value;

/// An object that has a theory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// First in, first out.
    Queue,
    /// Last in, first out.
    Stack,
    /// The largest value out first, or the smallest.
    PriorityQueue {
        /// Whether the smallest value leaves first.
        smallest_first: bool,
    },
    /// Keys, each present or absent.
    Set,
    /// One value to read and write.
    Register,
    /// At most one holder.
    Lock,
    /// At most this many holders.
    Semaphore(u32),
    /// Pairs of operations that overlap swap their values.
    Exchanger,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::Queue => f.write_str("queue"),
            Object::Stack => f.write_str("stack"),
            Object::PriorityQueue { .. } => f.write_str("priority-queue"),
            Object::Set => f.write_str("set"),
            Object::Register => f.write_str("register"),
            Object::Lock => f.write_str("lock"),
            Object::Semaphore(limit) => write!(f, "semaphore of {limit}"),
            Object::Exchanger => f.write_str("exchanger"),
        }
    }
}

/// A method of an object. What the argument and the result are:
///
/// | object | method | argument | result |
/// |---|---|---|---|
/// | queue, stack, priority queue | `Add` | the value | nil |
/// | | `Remove` | nil | the value, nil where it was empty |
/// | set | `Add`, `Remove` | the key | true where it changed the set, false where not, nil where that is not told |
/// | | `Contains` | the key | true or false |
/// | register | `Write` | the value | nil |
/// | | `Read` | nil | the value |
/// | lock, semaphore | `Acquire` | a tag that no other acquire has, or nil | nil; of a lock, false where it was held |
/// | | `Release` | nil | the tag of the acquire that it ends, or nil |
/// | exchanger | `Exchange` | the value offered | the partner's value, nil where there was none |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Puts a value in.
    Add,
    /// Takes a value out.
    Remove,
    /// Looks up a key.
    Contains,
    /// Writes a register.
    Write,
    /// Reads a register.
    Read,
    /// Takes a permit.
    Acquire,
    /// Gives a permit back.
    Release,
    /// Swaps values.
    Exchange,
}

/// A method, its argument and its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// The method.
    pub method: Method,
    /// Its argument; nil if the method takes none.
    pub argument: Value,
    /// The result; `None` while the operation is pending.
    pub result: Option<Value>,
}
