//! 'I am a queue': a specification's claim that an exact algorithm in O(n log n) applies to it.
//!
//! A [`Canonical`] names a kind of object and translates each operation to an action of that kind.
//! The claim is tested: on all short sequences of operations of the history at hand, the
//! specification must allow exactly what an object of the kind allows. Only then does
//! [`Algorithm::Auto`](crate::Algorithm) use it.

use std::fmt;

use super::items::Items;
use crate::value::Value;

/// An operation, in the terms of a kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action<V = Value> {
    /// Puts a value into a container.
    Insert(V),
    /// Takes this value out of a container.
    Remove(V),
    /// Takes a value out of a container; which one, if any, is not known.
    RemoveUnknown,
    /// Finds a container empty.
    FoundEmpty,
    /// Finds this value in a register.
    Read(V),
    /// Writes a register.
    Write(V),
    /// Adds a key that was absent.
    Add(V),
    /// Deletes a key that was present.
    Delete(V),
    /// Finds a key present.
    Present(V),
    /// Finds a key absent.
    Absent(V),
    /// Takes a lock.
    Acquire,
    /// Gives a lock back.
    Release,
    /// Finds a lock held.
    FoundHeld,
    /// Finds a lock free.
    FoundFree,
    /// Writes a segment of a snapshot object.
    Update(u32, V),
    /// Returns this list of the values in the segments of a snapshot object, from the first on.
    Scan(V),
}

impl Action {
    /// The removal with this result: a value, nil if there was none, or no result yet.
    pub(super) fn removal(told: Option<&Value>) -> Action {
        match told {
            None => Action::RemoveUnknown,
            Some(Value::Nil) => Action::FoundEmpty,
            Some(value) => Action::Remove(value.clone()),
        }
    }
}

impl<V> Action<V> {
    /// The value that it is about, if it is about one.
    pub(crate) fn value(&self) -> Option<V>
    where
        V: Copy,
    {
        match *self {
            Action::Insert(v) | Action::Remove(v) | Action::Read(v) | Action::Write(v) => Some(v),
            Action::Add(v) | Action::Delete(v) | Action::Present(v) | Action::Absent(v) => Some(v),
            Action::Update(_, v) | Action::Scan(v) => Some(v),
            _ => None,
        }
    }

    /// The same action on other values.
    pub(crate) fn map<W>(&self, mut f: impl FnMut(&V) -> W) -> Action<W> {
        match self {
            Action::Insert(v) => Action::Insert(f(v)),
            Action::Remove(v) => Action::Remove(f(v)),
            Action::RemoveUnknown => Action::RemoveUnknown,
            Action::FoundEmpty => Action::FoundEmpty,
            Action::Read(v) => Action::Read(f(v)),
            Action::Write(v) => Action::Write(f(v)),
            Action::Add(v) => Action::Add(f(v)),
            Action::Delete(v) => Action::Delete(f(v)),
            Action::Present(v) => Action::Present(f(v)),
            Action::Absent(v) => Action::Absent(f(v)),
            Action::Acquire => Action::Acquire,
            Action::Release => Action::Release,
            Action::FoundHeld => Action::FoundHeld,
            Action::FoundFree => Action::FoundFree,
            Action::Update(segment, v) => Action::Update(*segment, f(v)),
            Action::Scan(v) => Action::Scan(f(v)),
        }
    }
}

/// The kinds of objects for which an exact algorithm is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Reads and writes of one value.
    Register,
    /// First in, first out.
    Queue,
    /// Last in, first out.
    Stack,
    /// The largest value out first.
    PriorityQueue,
    /// The smallest value out first.
    MinPriorityQueue,
    /// Keys, each present or absent.
    Set,
    /// A lock without owners.
    Mutex,
    /// Segments to update one by one and to scan at once.
    Snapshot,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Register => "register",
            Kind::Queue => "queue",
            Kind::Stack => "stack",
            Kind::PriorityQueue | Kind::MinPriorityQueue => "priority-queue",
            Kind::Set => "set",
            Kind::Mutex => "mutex",
            Kind::Snapshot => "snapshot",
        })
    }
}

/// A specification's claim to be an object of a kind.
#[derive(Clone, Debug)]
pub struct Canonical<Op, Ret> {
    pub(crate) kind: Kind,
    pub(crate) initial: Vec<Value>,
    pub(crate) action: fn(&Op, Option<&Ret>) -> Option<Action>,
}

impl<Op, Ret> Canonical<Op, Ret> {
    /// Claims to be of this kind. `action` translates an operation with this result (`None`:
    /// unknown). It returns `None` if the kind has no such action; the general search then decides.
    pub fn new(kind: Kind, action: fn(&Op, Option<&Ret>) -> Option<Action>) -> Canonical<Op, Ret> {
        Canonical { kind, initial: Vec::new(), action }
    }

    /// Claims these initial values: oldest or bottom first, a register's one value, a set's keys. A
    /// register without one is initially nil; for a snapshot object, the value of every segment.
    pub fn holding(mut self, initial: Vec<Value>) -> Canonical<Op, Ret> {
        self.initial = initial;
        self
    }
}

/// Lists of values, represented by numbers: the results of scans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    entries: Vec<u32>,
    /// The range of the entries of the list with this number; [`NO_LIST`] for any other value.
    places: Vec<(u32, u32)>,
}

/// The range of a value that is not a list.
const NO_LIST: (u32, u32) = (0, u32::MAX);

impl Lists {
    /// Gives the list with this number its entries.
    pub(crate) fn add(&mut self, number: u32, entries: &[u32]) {
        if self.places.len() <= number as usize {
            self.places.resize(number as usize + 1, NO_LIST);
        }
        let start = self.entries.len() as u32;
        self.entries.extend_from_slice(entries);
        self.places[number as usize] = (start, self.entries.len() as u32);
    }

    /// Whether this is the number of a list with entries.
    pub(crate) fn knows(&self, number: u32) -> bool {
        self.places.get(number as usize).is_some_and(|&place| place != NO_LIST)
    }

    /// The entries of the list with this number.
    pub(crate) fn entries(&self, number: u32) -> &[u32] {
        match self.places.get(number as usize) {
            Some(&place) if place != NO_LIST => &self.entries[place.0 as usize..place.1 as usize],
            _ => &[],
        }
    }
}

/// The sequential object of a kind, on numbers: the *meaning* of the kind. Claims and witnesses are
/// checked against it. Numbers of a priority queue have the order of its priorities: the largest
/// leaves first.
///
/// The state is the content: of a register its value, of a mutex one value while it is held, of a
/// snapshot object the initial value and then the segments that were written, up to the last of
/// them. A set here has few keys, since it is decided key by key. A priority queue is a heap.
impl Kind {
    /// The state at the start.
    pub(crate) fn start(self, initial: &[u32]) -> Items<u32> {
        let mut state = Items::default();
        match self {
            Kind::Register | Kind::Snapshot => state.push(initial.first().copied().unwrap_or(0)),
            Kind::Mutex if initial.is_empty() => {}
            Kind::Mutex => state.push(0),
            Kind::PriorityQueue | Kind::MinPriorityQueue => {
                initial.iter().for_each(|&value| state.push_heap(value));
            }
            Kind::Queue | Kind::Stack | Kind::Set => return initial.iter().copied().collect(),
        }
        state
    }

    /// Performs the action; returns false if it is not legal. Scans return lists of this table.
    pub(crate) fn apply(self, state: &mut Items<u32>, action: Action<u32>, lists: &Lists) -> bool {
        match (self, action) {
            (Kind::Register, Action::Read(v)) => state[0] == v,
            (Kind::Register, Action::Write(v)) => {
                state.set(0, v);
                true
            }
            (Kind::Set, Action::Add(v)) => {
                let is_new = !state.contains(&v);
                if is_new {
                    state.push(v);
                }
                is_new
            }
            (Kind::Set, Action::Delete(v)) => match state.iter().position(|&key| key == v) {
                Some(place) => state.remove(place) == v,
                None => false,
            },
            (Kind::Set, Action::Present(v)) => state.contains(&v),
            (Kind::Set, Action::Absent(v)) => !state.contains(&v),
            (Kind::Mutex, Action::Acquire) => {
                state.push(0);
                state.len() == 1
            }
            (Kind::Mutex, Action::Release) => state.pop().is_some(),
            (Kind::Mutex, Action::FoundHeld) => !state.is_empty(),
            (Kind::Mutex, Action::FoundFree) => state.is_empty(),
            (Kind::Snapshot, Action::Update(segment, v)) => {
                let (at, initial) = (segment as usize + 1, state[0]);
                if state.len() <= at {
                    state.resize(at + 1, initial);
                }
                state.set(at, v);
                true
            }
            (Kind::Snapshot, Action::Scan(list)) => {
                let held = state[1..].iter().chain(std::iter::repeat(&state[0]));
                lists.entries(list).iter().zip(held).all(|(shown, held)| shown == held)
            }
            (container, action) => container.apply_to_container(state, action),
        }
    }

    fn apply_to_container(self, state: &mut Items<u32>, action: Action<u32>) -> bool {
        let next = |state: &mut Items<u32>| match self {
            Kind::Queue => state.shift(),
            Kind::Stack => state.pop(),
            _ => state.pop_heap(),
        };
        let is_container = matches!(
            self,
            Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::MinPriorityQueue
        );
        match action {
            _ if !is_container => return false,
            Action::Insert(v) if matches!(self, Kind::Queue | Kind::Stack) => state.push(v),
            Action::Insert(v) => state.push_heap(v),
            Action::Remove(v) => return next(state) == Some(v),
            Action::RemoveUnknown => return next(state).is_some(),
            Action::FoundEmpty => return state.is_empty(),
            _ => return false,
        }
        true
    }
}
