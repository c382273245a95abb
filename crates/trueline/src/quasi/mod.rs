//! Quasi linearizability: operations out of order, but by a bounded number of places.
//!
//! Zhang, Chattopadhyay and Wang, *Round-Up* (2015), after Afek, Korland and Yanovsky (2010). A
//! history is quasi linearizable iff its operations have an order p' that respects real time and a
//! legal order p'' in which no operation is further from its place in p' than its *factor*.
//! Definition 4 leaves open what a place is, so there are three readings ([`Reading`]), and what
//! happens to values that are never removed ([`End`]).
//!
//! [`Named::quasi`](crate::spec::Named::quasi) decides, for queues, stacks and priority queues; it
//! also finds the least factor that explains a history. Every 'yes' comes with p' and p'', checked
//! again directly from the definition; every 'no' comes with a few operations that are a 'no' in
//! themselves.
//!
//! `slots` is decided by `queue` if it fits, otherwise by the general search on the specification
//! of `displaced`. The other two readings, and the paper's enumeration, are in `papers/quasi`,
//! behind the feature `papers`.

mod certificate;
mod decide;
mod displaced;
mod explain;
mod factors;
mod lives;
mod part_history;
mod queue;
mod run;

use std::fmt;
use std::str::FromStr;

pub use factors::{Factor, Factors};
pub(crate) use run::run;
#[cfg(feature = "papers")]
pub(crate) use {
    certificate::Certificate,
    decide::{Found, Question},
    part_history::{Act, PartHistory, Word},
};

use crate::check::Outcome;
use crate::error::ParseError;
use crate::verdict::Explanation;

/// What counts as the place of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Reading {
    /// Only removals that returned a value move, and only among their own places. Nothing is
    /// removed before it was added. This is what the paper's tool computes, with causality added.
    #[default]
    Slots,
    /// All operations move, and the place counts all of them.
    #[cfg(feature = "papers")]
    Uniform,
    /// The literal definition: places count the operations of a class only (additions; removals
    /// that returned a value). It allows values to be removed before they are added.
    #[cfg(feature = "papers")]
    Literal,
}

impl Reading {
    /// Every reading, its name, and one line about it.
    pub const ALL: &[(Reading, &str, &str)] = &[
        (
            Reading::Slots,
            "slots",
            "removals move among the places of removals; no value is removed before it is added",
        ),
        #[cfg(feature = "papers")]
        (Reading::Uniform, "uniform", "every operation moves, places count all operations"),
        #[cfg(feature = "papers")]
        (
            Reading::Literal,
            "literal",
            "places count additions or removals only; a removal may precede its addition",
        ),
    ];

    /// Whether an order proves a factor exactly as large as its operations moved.
    fn has_one_factor(self) -> bool {
        match self {
            Reading::Slots => true,
            #[cfg(feature = "papers")]
            Reading::Uniform => true,
            #[cfg(feature = "papers")]
            Reading::Literal => false,
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|r| r.0 == self).map_or("", |r| r.1)
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Reading {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Reading, ParseError> {
        Self::ALL.iter().find(|r| r.1 == text).map(|r| r.0).ok_or_else(|| {
            format!("no reading is called {text}: expected slots, uniform or literal").into()
        })
    }
}

/// What happens to the values that are inside when the history ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum End {
    /// The history is complete: p'' consists of its operations.
    #[default]
    Closed,
    /// The history may continue: some removal of everything that remains makes it hold with a
    /// closed end.
    Open,
}

impl End {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            End::Closed => "closed",
            End::Open => "open",
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Algorithm {
    /// Chooses.
    #[default]
    Auto,
    /// The paper's enumeration: all sequentializations, of each all quasi permutations.
    #[cfg(feature = "papers")]
    RoundUp,
}

/// A question about a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quasi {
    /// How far out of order each method may be.
    pub factors: Factors,
    /// The meaning of a place.
    pub reading: Reading,
    /// The treatment of remaining values.
    pub end: End,
    /// How to decide.
    pub algorithm: Algorithm,
}

/// The factors of the two classes of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) additions: u32,
    /// In the reading `uniform`: of all operations.
    pub(crate) removals: u32,
}

/// The amount of work of an enumerating algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Sequentializations.
    pub sequentializations: u64,
    /// Quasi permutations that were compared with the specification.
    pub permutations: u64,
    /// Quasi permutations that were skipped as duplicates.
    pub skipped: u64,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The verdict; its witness is p'.
    pub outcome: Outcome,
    /// The given factor, or the least one if that was asked for. `None` if no factor explains the
    /// history, or if it was not found.
    pub factor: Option<u32>,
    /// p'': the legal order, as indices of operations, without the removals of an open end.
    pub legal: Vec<u32>,
    /// The operations that have moved relative to p'': index, and by how many places.
    pub displaced: Vec<(u32, u32)>,
    /// If the least factor was asked for and is not 0: why a smaller one is not enough.
    pub needs: Option<Explanation>,
    /// The amount of work of an enumerating algorithm.
    pub effort: Effort,
}
