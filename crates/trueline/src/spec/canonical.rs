//! 'I am a queue': how a specification says that an exact algorithm in O(n log n) fits it.
//!
//! A [`Canonical`] names a kind of object and says what each operation is in its words. The claim
//! is not believed: on all short sequences of operations of the history at hand, the specification
//! must allow exactly what an object of the kind allows. Only then does
//! [`Algorithm::Auto`](crate::Algorithm) use it.

use std::fmt;

use super::items::Items;
use crate::value::Value;

/// What an operation does, in the words of a kind of object.
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
    /// Finds this list of values in the segments of a snapshot object, from the first on.
    Scan(V),
}

impl Action {
    /// The removal that told this: a value, nil where there was none, or nothing yet.
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
    /// Claims to be of this kind. `action` says what an operation with this result is (`None`: not
    /// known); it says `None` where the kind has no word for it, and the general search decides.
    pub fn new(kind: Kind, action: fn(&Op, Option<&Ret>) -> Option<Action>) -> Canonical<Op, Ret> {
        Canonical { kind, initial: Vec::new(), action }
    }

    /// Claims to hold these values at first: oldest or bottom first, a register's one value, a
    /// set's keys. A register that is not told one holds nil; of a snapshot object, the value of
    /// every segment.
    pub fn holding(mut self, initial: Vec<Value>) -> Canonical<Op, Ret> {
        self.initial = initial;
        self
    }
}

/// Lists of values whose numbers stand for them: what scans show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    entries: Vec<u32>,
    /// Where the entries of the list with this number are; [`NO_LIST`] for any other value.
    places: Vec<(u32, u32)>,
}

/// The place of what is no list.
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

    /// True where this is the number of a list that was given its entries.
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

/// The sequential object of a kind, on numbers: what the kind *means*. Claims are tested and
/// witnesses replayed against it. Numbers of a priority queue are ordered as its priorities are:
/// the largest leaves first.
///
/// The state is what is inside: of a register its value, of a mutex one value while it is held, of
/// a snapshot object the initial value and then the segments that were written, as far as the last
/// of them. Of a set it holds few keys, as it is decided key by key. A priority queue is a heap.
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

    /// Performs the action; false where it is not legal. Scans show these lists.
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
