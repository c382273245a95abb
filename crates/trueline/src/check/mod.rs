//! Deciding whether a history is linearizable.
//!
//! [`Check::run`] splits the history into its parts (objects, independent keys, the specification's
//! own keys), decides each with the chosen [`Algorithm`], and joins the answers: linearizability is
//! local, so the whole is linearizable iff every part is. Parts run in parallel; the answer does
//! not depend on how.

mod commuting;
mod cuts;
mod depth_first;
mod direct;
pub(crate) mod explain;
mod gaps;
mod just_in_time;
mod look_ahead;
mod mask;
mod minimise;
mod monitored;
mod parts;
mod problem;
mod replay;
mod rules;
mod run;
mod search;
mod sentences;
mod theories;
mod timeline;
mod unseen;
mod violation;
mod wing_gong;
mod words;

use std::fmt;
use std::mem::discriminant;
use std::str::FromStr;

use crate::budget::Budget;
use crate::error::ParseError;
use crate::history::History;
#[cfg(feature = "papers")]
use crate::papers;
use crate::spec::Spec;
use crate::spec::subject::Subject;
use crate::verdict::Verdict;

/// An algorithm that decides one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// Chooses.
    #[default]
    Auto,
    /// The exact monitor of the specification's kind, in O(n log n).
    Monitor,
    /// Depth-first and just-in-time search in turn, whichever ends first.
    Search,
    /// Depth-first search with small keys.
    DepthFirst,
    /// Sets of configurations carried from return to return.
    JustInTime,
    /// Wing and Gong's search with a memo on the full set of linearized operations and the state.
    Wgl,
    /// Wing and Gong's search as published, without a memo.
    WingGong,
    /// Saturation of the object's theory; an exact checker decides what it does not refute.
    Saturate {
        /// Matches that cannot matter any more are forgotten.
        forgetting: bool,
    },
    /// An algorithm of a paper.
    #[cfg(feature = "papers")]
    Paper(papers::Algorithm),
}

impl Algorithm {
    /// Every algorithm, with one line about it.
    pub const ALL: &[(Algorithm, &str, &str)] = &[
        (Algorithm::Auto, "auto", "the monitor if applicable, otherwise the search (default)"),
        (
            Algorithm::Monitor,
            "monitor",
            "exact and log-linear, for register, queue, stack, priority queue, set, mutex, snapshot with unique values",
        ),
        (
            Algorithm::Search,
            "search",
            "general search: depth-first and just-in-time in turn; the first to finish decides",
        ),
        (
            Algorithm::DepthFirst,
            "depth-first",
            "Wing and Gong's search, memoised on (frontier, pending operations, state), with dominance",
        ),
        (
            Algorithm::JustInTime,
            "just-in-time",
            "carries the set of possible configurations from return to return",
        ),
        (Algorithm::Wgl, "wgl", "reference: memo on the full set of operations and the state"),
        (Algorithm::WingGong, "wing-gong", "reference: the search of 1993 as published, no memo"),
        (
            Algorithm::Saturate { forgetting: false },
            "saturate",
            "derives necessary orderings at every return (option r: drops matched pairs); histories it cannot refute are searched",
        ),
        #[cfg(feature = "papers")]
        (
            Algorithm::Paper(papers::Algorithm::Symbolic(papers::PLAIN)),
            "symbolic",
            "a SAT solver on the object's theory at every return (options c: completions one by one, i: one solver, r: as for saturate)",
        ),
        #[cfg(feature = "papers")]
        (
            Algorithm::Paper(papers::Algorithm::Enumerate(papers::PLAIN)),
            "enumerate",
            "reference: every order in turn against the object's theory, at every return (option c)",
        ),
        #[cfg(feature = "papers")]
        (
            Algorithm::Paper(papers::Algorithm::RoundUp),
            "round-up",
            "reference, only with --quasi: all quasi permutations of all sequentializations",
        ),
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        let same = |a: Algorithm| match (a, self) {
            #[cfg(feature = "papers")]
            (Algorithm::Paper(a), Algorithm::Paper(b)) => discriminant(&a) == discriminant(&b),
            _ => discriminant(&a) == discriminant(&self),
        };
        Self::ALL.iter().find(|a| same(a.0)).map_or("", |a| a.1)
    }

    /// Why it does not decide whether a history is linearizable, if it decides something else.
    fn refusal(self) -> Option<&'static str> {
        match self {
            #[cfg(feature = "papers")]
            Algorithm::Paper(paper) => paper.refusal(),
            _ => None,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Algorithm, ParseError> {
        Self::ALL.iter().find(|a| a.1 == text).map(|a| a.0).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|a| a.1).collect();
            format!("no algorithm is called {text}: expected one of {}", names.join(", ")).into()
        })
    }
}

/// A verdict and how it came about.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// The algorithm that decided: `queue-monitor`, `depth-first`.
    pub algorithm: &'static str,
    /// The reason for that algorithm: what allowed the monitor, or what prevented it. Empty if the
    /// user named the algorithm.
    pub because: String,
    /// Number of parts that were decided on their own.
    pub partitions: usize,
    /// Configurations that the searches visited.
    pub states: u64,
}

pub(crate) use direct::decide_directly;
pub(crate) use monitored::{name as monitor_name, trust};
pub(crate) use parts::merge;
pub(crate) use problem::{Decision, Problem, Ticker, Window};
pub(crate) use run::{Source, run};
pub(crate) use search::{Which, search};
pub(crate) use violation::explain_clash;

/// A check to be run: a specification, an algorithm and a budget.
pub struct Check<'a, S> {
    spec: S,
    algorithm: Algorithm,
    budget: Option<&'a Budget>,
}

impl<'a, S: Spec> Check<'a, S> {
    /// A check with the algorithm [`Algorithm::Auto`] and no limits.
    pub fn new(spec: S) -> Check<'a, S> {
        Check { spec, algorithm: Algorithm::Auto, budget: None }
    }

    /// Names the algorithm.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Check<'a, S> {
        self.algorithm = algorithm;
        self
    }

    /// Sets limits.
    pub fn budget(mut self, budget: &'a Budget) -> Check<'a, S> {
        self.budget = Some(budget);
        self
    }

    /// Decides.
    pub fn run(&self, history: &History<S::Op, S::Ret>) -> Outcome {
        let unlimited = Budget::unlimited();
        let budget = self.budget.unwrap_or(&unlimited);
        let subject = Subject::new(&self.spec, history);
        run(&subject, self.algorithm, false, budget)
    }
}
