//! One part of a history as additions to and removals from a container, values as numbers.
//!
//! All that the checkers of this module see. Equal values have equal numbers; in a priority queue the larger number
//! leaves first.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::spec::subject::{Claim, Recorded, Subject};
use crate::spec::{Action, Kind};
use crate::value::Value;

/// Which value a strict container removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discipline {
    /// The oldest.
    Queue,
    /// The newest.
    Stack,
    /// The one with the largest number.
    Priority,
}

/// What an operation does.
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
pub(crate) struct Words {
    pub(crate) discipline: Discipline,
    /// What the container holds at first: oldest first.
    pub(crate) initial: Vec<u32>,
    /// Sorted by call.
    pub(crate) words: Vec<Word>,
    /// What the numbers stand for.
    pub(crate) values: Vec<Value>,
}

impl Words {
    /// The operations at these indices, all of them of one part. The error names an operation that neither adds nor removes.
    pub(crate) fn new(
        subject: &Subject<'_>,
        claim: &Claim,
        indices: &[u32],
    ) -> Result<Words, (u32, String)> {
        let discipline = discipline(claim.kind)
            .ok_or_else(|| (0, format!("a {} has no removals to be late", claim.kind)))?;
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
        if discipline == Discipline::Priority {
            // Numbers by priority.
            let mut by_priority: Vec<u32> = (0..values.len() as u32).collect();
            by_priority.sort_by(|&a, &b| values[a as usize].cmp(&values[b as usize]));
            if claim.kind == Kind::MinPriorityQueue {
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
        Ok(Words { discipline, initial, words, values })
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
    pub(crate) fn with(&self, words: Vec<Word>) -> Words {
        Words { words, initial: self.initial.clone(), values: self.values.clone(), ..*self }
    }
}

/// The container that a kind of object is, if it is one.
pub(crate) fn discipline(kind: Kind) -> Option<Discipline> {
    match kind {
        Kind::Queue => Some(Discipline::Queue),
        Kind::Stack => Some(Discipline::Stack),
        Kind::PriorityQueue | Kind::MinPriorityQueue => Some(Discipline::Priority),
        Kind::Register | Kind::Set | Kind::Mutex | Kind::Snapshot => None,
    }
}

/// The contents of a strict container, the value that leaves next last.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Contents(smallvec::SmallVec<[u32; 8]>);

impl Contents {
    pub(crate) fn new(discipline: Discipline, initial: &[u32]) -> Contents {
        let mut contents = Contents::default();
        initial.iter().for_each(|&value| contents.add(discipline, value));
        contents
    }

    pub(crate) fn add(&mut self, discipline: Discipline, value: u32) {
        let at = match discipline {
            Discipline::Queue => 0,
            Discipline::Stack => self.0.len(),
            Discipline::Priority => self.0.partition_point(|&v| v < value),
        };
        self.0.insert(at, value);
    }

    /// Removes the value whose turn it is.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.0.pop()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values in the order in which they leave.
    pub(crate) fn leaving(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().rev().copied()
    }

    /// Performs an operation with a known result; false where it is not legal.
    pub(crate) fn apply(&mut self, discipline: Discipline, act: Act) -> bool {
        match act {
            Act::Add(value) => {
                self.add(discipline, value);
                true
            }
            Act::Take(value) => self.take() == Some(value),
            Act::Empty => self.is_empty(),
            Act::Unknown => false,
        }
    }
}
