//! Quasi linearizability: operations out of order, but by a bounded number of places.
//!
//! Zhang, Chattopadhyay and Wang, *Round-Up* (2015), after Afek, Korland and Yanovsky (2010). A
//! history is quasi linearizable iff its operations have an order p' that respects real time and a
//! legal order p'' in which no operation is further from its place in p' than its *factor* says.
//! Definition 4 leaves open what a place is, so there are three readings ([`Reading`]), and what
//! becomes of values that nobody removed ([`End`]).
//!
//! [`Named::quasi`](crate::spec::Named::quasi) decides, for queues, stacks and priority queues; it
//! also finds the least factor that explains a history. Every 'yes' comes with p' and p'', checked
//! again straight from the definition; every 'no' comes with few operations that are a 'no' by
//! themselves.
//!
//! Who decides: `slots` by `queue` where it fits, else by the general search on the specification
//! of `displaced`; the other two readings, and the paper's enumeration, are in `papers/quasi`,
//! behind the feature `papers`.

mod certificate;
mod decide;
mod displaced;
mod explain;
mod factors;
mod lives;
mod queue;
mod run;
mod words;

use std::fmt;
use std::str::FromStr;

pub use factors::{Factor, Factors};
pub(crate) use run::run;
#[cfg(feature = "papers")]
pub(crate) use {
    certificate::Certificate,
    decide::{Found, Question},
    words::{Act, Word, Words},
};

use crate::check::Outcome;
use crate::error::ParseError;
use crate::verdict::Explanation;

/// What the place of an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Reading {
    /// Only removals that returned a value move, and only among their own places. Nothing is
    /// removed before it was added. This is what the paper's tool computes, with causality added.
    #[default]
    Slots,
    /// All operations move, and the place counts all of them.
    #[cfg(feature = "papers")]
    Uniform,
    /// The definition to the letter: places count the operations of a class only (additions;
    /// removals that returned a value). It allows values to be removed before they are added.
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

    /// Whether an order proves that a factor does as far as its operations moved, and no further.
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

/// What becomes of the values that are inside when the history ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum End {
    /// The history is all there is: p'' is made of its operations.
    #[default]
    Closed,
    /// The history may go on: some removal of everything that remains makes it one that holds with
    /// a closed end.
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
    /// How far out of order which method may be.
    pub factors: Factors,
    /// What that means.
    pub reading: Reading,
    /// What the history leaves inside.
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

/// What an algorithm that enumerates went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Sequentializations.
    pub sequentializations: u64,
    /// Quasi permutations that were held against the specification.
    pub permutations: u64,
    /// Quasi permutations that had been seen before.
    pub skipped: u64,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The verdict; its witness is p'.
    pub outcome: Outcome,
    /// The factor that was asked about or, where the least one was asked for, that. `None` where no
    /// factor explains the history, or where it was not found.
    pub factor: Option<u32>,
    /// p'': the legal order, as indices of operations. Removals of an open end are left out.
    pub legal: Vec<u32>,
    /// The operations that are not where p'' has them: index, and by how many places.
    pub displaced: Vec<(u32, u32)>,
    /// Where the least factor was asked for and is not 0: why a smaller one does not do.
    pub needs: Option<Explanation>,
    /// What an algorithm that enumerates went through.
    pub effort: Effort,
}
