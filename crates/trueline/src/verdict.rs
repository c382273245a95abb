//! Verdicts of a checker. A search that reaches a limit reports [`Unknown`], never `Linearizable`.

use std::fmt;

use crate::budget::Exhausted;

/// The answer to 'is this history linearizable?'.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes, and here is an order.
    Linearizable(Witness),
    /// No, and here is why.
    Violation(Explanation),
    /// Not decided, and here is why not.
    Unknown(Unknown),
}

impl Verdict {
    /// True for [`Verdict::Linearizable`].
    pub fn is_linearizable(&self) -> bool {
        matches!(self, Verdict::Linearizable(_))
    }

    /// True for [`Verdict::Violation`].
    pub fn is_violation(&self) -> bool {
        matches!(self, Verdict::Violation(_))
    }

    /// `linearizable`, `violation` or `unknown`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Linearizable(_) => "linearizable",
            Verdict::Violation(_) => "violation",
            Verdict::Unknown(_) => "unknown",
        }
    }
}

/// An order of the operations that explains the history. Code that shares nothing with the search
/// that found it has replayed it against the specification.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Witness {
    /// Indices into [`crate::History::operations`], first to last. Pending operations without
    /// effect are left out.
    pub order: Vec<u32>,
}

/// Why a history is not linearizable.
///
/// `operations` is a violation in itself, and for the same reason as the history: operations are
/// left out only if that cannot make a linearizable history a violation.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The relevant operations: indices into [`crate::History::operations`], ascending.
    pub operations: Vec<u32>,
    /// Where the story starts, if not at the beginning of the history.
    pub start: Option<Start>,
    /// Rank at which the story ends: operations that return at or after it count as pending.
    pub until: u32,
    /// The operations among them that the sentence is about.
    pub clash: Vec<u32>,
    /// The reason, in one sentence, in the terms of the object.
    pub sentence: String,
    /// Rank of the first unexplained return: the history (of this object and key) before it is
    /// linearizable, but not with it. `None` if the budget was spent before this was known.
    pub fine_until: Option<u32>,
    /// True if leaving out any further operation would lose the violation, or could change its
    /// reason.
    pub minimal: bool,
    /// True if a second search that shares no search code gave the same answer about `operations`.
    pub rechecked: bool,
}

/// A story that starts in the middle of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Rank at which it starts: operations called earlier count as pending.
    pub from: u32,
    /// Every state that was possible then, as people read it.
    pub states: Vec<String>,
}

/// A decision that was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The limit that was reached, or another obstacle.
    pub reason: Reason,
    /// How far the search got: `3,120 of 8,895 returns explained`.
    pub progress: String,
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The budget was spent.
    Exhausted(Exhausted),
    /// The algorithm that was named does not fit the history or the specification.
    NotApplicable(String),
    /// A certificate failed its re-check: a bug in trueline, or a specification whose `apply` is
    /// not a function of its state. Never shown as a verdict.
    Disagreement(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Exhausted(why) => why.fmt(f),
            Reason::NotApplicable(why) => f.write_str(why),
            Reason::Disagreement(what) => write!(
                f,
                "an answer failed its second check, a bug in trueline or in the specification: {what}"
            ),
        }
    }
}
