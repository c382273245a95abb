//! One part of a history as additions to and removals from a container, with values as numbers.
//!
//! The checkers of this module see nothing else. Equal values have equal numbers; in a priority
//! queue the larger number leaves first.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::spec::subject::{Claim, Recorded, Subject};
use crate::spec::{Action, Items, Kind};
use crate::value::Value;

/// The effect of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    /// Adds a value.
    Add(u32),
    /// Removes this value.
    Take(u32),
    /// Finds nothing to remove.
    Empty,
    /// A removal without a known result: pending for ever.
    Unknown,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) call: u32,
    /// Rank of the return, or [`crate::history::PENDING`].
    pub(crate) returned: u32,
    pub(crate) act: Act,
}

/// A part of a history.
#[derive(Clone, Debug)]
pub(crate) struct PartHistory {
    pub(crate) kind: Kind,
    /// The initial values of the container, oldest first.
    pub(crate) initial: Vec<u32>,
    /// Sorted by call.
    pub(crate) words: Vec<Word>,
    /// The values behind the numbers.
    pub(crate) values: Vec<Value>,
}

impl PartHistory {
    /// The operations at these indices, all of one part. An error names an operation that neither
    /// adds nor removes.
    pub(crate) fn new(
        subject: &Subject<'_>,
        claim: &Claim,
        indices: &[u32],
    ) -> Result<PartHistory, (u32, String)> {
        let kind = claim.kind;
        if !is_container(kind) {
            return Err((0, format!("a {kind} has no removals to be late")));
        }
        let mut numbers: HashMap<Value, u32, FixedState> = HashMap::default();
        let mut values = Vec::new();
        let mut number = |value: &Value| {
            *numbers.entry_ref(value).or_insert_with(|| {
                values.push(value.clone());
                values.len() as u32 - 1
            })
        };
        let mut initial: Vec<u32> = claim.initial.iter().map(&mut number).collect();
        let mut words = Vec::with_capacity(indices.len());
        for &index in indices {
            let o = &subject.history.operations()[index as usize];
            let act = match subject.spec.action(Recorded { index, has_result: !o.is_pending() }) {
                Some(Action::Insert(value)) => Act::Add(number(&value)),
                Some(Action::Remove(value)) => Act::Take(number(&value)),
                Some(Action::RemoveUnknown) => Act::Unknown,
                Some(Action::FoundEmpty) => Act::Empty,
                _ => return Err((index, "it neither adds nor removes a value".into())),
            };
            words.push(Word { call: o.call, returned: o.returned, act });
        }
        if matches!(kind, Kind::PriorityQueue | Kind::MinPriorityQueue) {
            // Numbers by priority.
            let mut by_priority: Vec<u32> = (0..values.len() as u32).collect();
            by_priority.sort_by(|&a, &b| values[a as usize].cmp(&values[b as usize]));
            if kind == Kind::MinPriorityQueue {
                by_priority.reverse();
            }
            let mut rank = vec![0; values.len()];
            for (place, &old) in by_priority.iter().enumerate() {
                rank[old as usize] = place as u32;
            }
            values = by_priority.iter().map(|&old| values[old as usize].clone()).collect();
            let renumber = |value: &mut u32| *value = rank[*value as usize];
            initial.iter_mut().for_each(renumber);
            for word in &mut words {
                if let Act::Add(value) | Act::Take(value) = &mut word.act {
                    renumber(value);
                }
            }
        }
        Ok(PartHistory { kind, initial, words, values })
    }

    /// Whether a value is added twice.
    pub(crate) fn repeats(&self) -> bool {
        let mut added = vec![false; self.values.len()];
        let added_later = self.words.iter().filter_map(|word| match word.act {
            Act::Add(value) => Some(value),
            _ => None,
        });
        let mut all = self.initial.iter().copied().chain(added_later);
        all.any(|value| std::mem::replace(&mut added[value as usize], true))
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// The same container with these operations.
    pub(crate) fn with(&self, words: Vec<Word>) -> PartHistory {
        PartHistory { words, initial: self.initial.clone(), values: self.values.clone(), ..*self }
    }
}

/// Whether a kind of object is a container.
pub(super) fn is_container(kind: Kind) -> bool {
    matches!(kind, Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::MinPriorityQueue)
}

/// The strict container of the kind. The contents of a priority queue are ascending, so that equal
/// contents are equal values.
impl PartHistory {
    /// The initial contents.
    pub(crate) fn contents(&self) -> Items<u32> {
        let mut contents = Items::default();
        self.initial.iter().for_each(|&value| self.add(&mut contents, value));
        contents
    }

    pub(crate) fn add(&self, contents: &mut Items<u32>, value: u32) {
        match self.kind {
            Kind::Queue | Kind::Stack => contents.push(value),
            _ => contents.insert(contents.partition_point(|&v| v < value), value),
        }
    }

    /// Removes the value whose turn it is.
    pub(crate) fn take(&self, contents: &mut Items<u32>) -> Option<u32> {
        match self.kind {
            Kind::Queue => contents.shift(),
            _ => contents.pop(),
        }
    }

    /// The values in the order in which they leave.
    pub(crate) fn leaving<'c>(&self, contents: &'c Items<u32>) -> impl Iterator<Item = u32> + 'c {
        let (first, last) = match self.kind {
            Kind::Queue => (&contents[..], &[][..]),
            _ => (&[][..], &contents[..]),
        };
        first.iter().chain(last.iter().rev()).copied()
    }

    /// Performs an operation with a known result; returns false if it is not legal.
    pub(crate) fn apply(&self, contents: &mut Items<u32>, act: Act) -> bool {
        match act {
            Act::Add(value) => {
                self.add(contents, value);
                true
            }
            Act::Take(value) => self.take(contents) == Some(value),
            Act::Empty => contents.is_empty(),
            Act::Unknown => false,
        }
    }
}
