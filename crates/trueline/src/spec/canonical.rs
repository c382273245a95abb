//! 'I am a queue': how a specification says that an exact algorithm in O(n log n) fits it.
//!
//! A [`Canonical`] names a kind of object and says what each operation is in its words. The claim is not believed: on
//! all short sequences of operations of the history at hand, the specification must allow exactly what the [`Model`]
//! of the kind allows. Only then does [`Algorithm::Auto`](crate::Algorithm) use it.

use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

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
    /// Claims to be of this kind. `action` says what an operation with this result is (`None`: not known); it
    /// says `None` where the kind has no word for it, and the general search decides.
    pub fn new(kind: Kind, action: fn(&Op, Option<&Ret>) -> Option<Action>) -> Canonical<Op, Ret> {
        Canonical { kind, initial: Vec::new(), action }
    }

    /// Claims to hold these values at first: oldest or bottom first, a register's one value, a set's keys. A
    /// register that is not told one holds nil; of a snapshot object, the value of every segment.
    pub fn holding(mut self, initial: Vec<Value>) -> Canonical<Op, Ret> {
        self.initial = initial;
        self
    }
}

/// The sequential object of a kind, on numbers: what the kind *means*. Claims are tested and witnesses replayed
/// against it. Numbers of a priority queue are ordered as its priorities are: the largest leaves first.
#[derive(Clone, Debug)]
pub(crate) enum Model {
    Register(u32),
    Queue(VecDeque<u32>),
    Stack(Vec<u32>),
    PriorityQueue(BinaryHeap<u32>),
    /// The keys that are there: few, as a set is decided key by key.
    Set(SmallVec<[u32; 4]>),
    Mutex(bool),
    Snapshot(Segments),
}

/// The segments of a snapshot object.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    /// Segments behind the last one hold the initial value.
    held: SmallVec<[u32; 8]>,
    initial: u32,
    lists: Arc<Lists>,
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

impl Segments {
    /// All segments hold the initial value; scans show these lists.
    pub(crate) fn new(initial: u32, lists: Arc<Lists>) -> Segments {
        Segments { held: SmallVec::new(), initial, lists }
    }

    fn update(&mut self, segment: u32, value: u32) -> bool {
        let at = segment as usize;
        if self.held.len() <= at {
            self.held.resize(at + 1, self.initial);
        }
        self.held[at] = value;
        true
    }

    fn shows(&self, list: u32) -> bool {
        let held = self.held.iter().chain(std::iter::repeat(&self.initial));
        self.lists.entries(list).iter().zip(held).all(|(shown, held)| shown == held)
    }
}

impl Model {
    pub(crate) fn new(kind: Kind, initial: &[u32]) -> Model {
        let values = initial.iter().copied();
        match kind {
            Kind::Register => Model::Register(initial.first().copied().unwrap_or(0)),
            Kind::Queue => Model::Queue(values.collect()),
            Kind::Stack => Model::Stack(values.collect()),
            Kind::PriorityQueue | Kind::MinPriorityQueue => Model::PriorityQueue(values.collect()),
            Kind::Set => Model::Set(values.collect()),
            Kind::Mutex => Model::Mutex(!initial.is_empty()),
            Kind::Snapshot => {
                let initial = initial.first().copied().unwrap_or(0);
                Model::Snapshot(Segments::new(initial, Arc::default()))
            }
        }
    }

    /// Performs the action; false where it is not legal.
    pub(crate) fn apply(&mut self, action: Action<u32>) -> bool {
        match (self, action) {
            (Model::Register(held), Action::Read(v)) => *held == v,
            (Model::Register(held), Action::Write(v)) => {
                *held = v;
                true
            }
            (Model::Set(keys), Action::Add(v)) => {
                let is_new = !keys.contains(&v);
                keys.extend(is_new.then_some(v));
                is_new
            }
            (Model::Set(keys), Action::Delete(v)) => match keys.iter().position(|&k| k == v) {
                Some(place) => keys.swap_remove(place) == v,
                None => false,
            },
            (Model::Set(keys), Action::Present(v)) => keys.contains(&v),
            (Model::Set(keys), Action::Absent(v)) => !keys.contains(&v),
            (Model::Mutex(held), Action::Acquire) => !std::mem::replace(held, true),
            (Model::Mutex(held), Action::Release) => std::mem::replace(held, false),
            (Model::Mutex(held), Action::FoundHeld) => *held,
            (Model::Mutex(held), Action::FoundFree) => !*held,
            (Model::Snapshot(segments), Action::Update(k, v)) => segments.update(k, v),
            (Model::Snapshot(segments), Action::Scan(list)) => segments.shows(list),
            (container, Action::Insert(v)) => container.insert(v),
            (container, Action::Remove(v)) => container.next_out() == Some(Some(v)),
            (container, Action::RemoveUnknown) => container.next_out().is_some(),
            (container, Action::FoundEmpty) => container.next_out() == Some(None),
            _ => false,
        }
    }

    fn insert(&mut self, value: u32) -> bool {
        match self {
            Model::Queue(values) => values.push_back(value),
            Model::Stack(values) => values.push(value),
            Model::PriorityQueue(values) => values.push(value),
            _ => return false,
        }
        true
    }

    /// Takes out what comes next, if anything is inside; `None` where this is no container.
    fn next_out(&mut self) -> Option<Option<u32>> {
        match self {
            Model::Queue(values) => Some(values.pop_front()),
            Model::Stack(values) => Some(values.pop()),
            Model::PriorityQueue(values) => Some(values.pop()),
            _ => None,
        }
    }
}
