//! What came of running something: a test, a simulation, the search of a model.
//!
//! Checks of recorded histories have a verdict of their own, `trueline::Verdict`, since only they
//! come with an order of the operations.

use std::fmt;

use trueline::budget::Exhausted;
use trueline::verdict::Reason;

use crate::Look;
use crate::report::{Answer, Report};

/// A verdict, what it speaks of and what it cost. `V` is what is known of a violation, `C` are the
/// counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<V, C> {
    /// The answer.
    pub verdict: Verdict<V>,
    /// What has been seen.
    pub scope: Scope,
    /// How much was done for it.
    pub counts: C,
}

/// The answer, with what was found as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<V> {
    /// All that was asked for was seen, and nothing was wrong.
    Holds,
    /// Something is wrong.
    Violation(V),
    /// Not decided: a limit was reached, only a sample was seen, or the question is wrong.
    Undecided(Undecided),
}

/// What a verdict speaks of, in words; the display joins both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The programs: `all matrices up to 2 threads x 2 operations`. Empty where the run stopped
    /// early.
    pub programs: String,
    /// Their schedules: `sequentially consistent; no spurious failures or wakeups; complete`.
    pub schedules: String,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let both = [&*self.programs, &*self.schedules];
        let told: Vec<&str> = both.into_iter().filter(|part| !part.is_empty()).collect();
        f.write_str(&told.join("; "))
    }
}

impl<V> Verdict<V> {
    /// Whether all that was asked for was seen, and nothing was wrong.
    pub fn holds(&self) -> bool {
        matches!(self, Verdict::Holds)
    }

    /// Whether something is wrong.
    pub fn is_violation(&self) -> bool {
        self.violation().is_some()
    }

    /// What is wrong, if something is.
    pub fn violation(&self) -> Option<&V> {
        match self {
            Verdict::Violation(found) => Some(found),
            _ => None,
        }
    }

    /// Why it is not decided, if it is not.
    pub fn undecided(&self) -> Option<&Undecided> {
        match self {
            Verdict::Undecided(why) => Some(why),
            _ => None,
        }
    }

    /// What is wrong with the question, if something is.
    pub fn error(&self) -> Option<&str> {
        let why = self.undecided().filter(|why| why.code == Undecided::ERROR);
        why.map(|why| why.message.as_str())
    }
}

impl<V, C> Outcome<V, C> {
    /// Whether all that was asked for was seen, and nothing was wrong.
    pub fn holds(&self) -> bool {
        self.verdict.holds()
    }

    /// Whether all that should be run was run, be it all or a sample, and nothing was wrong.
    pub fn passes(&self) -> bool {
        let is_sample = |why: &Undecided| why.code == Undecided::SAMPLE;
        self.holds() || self.verdict.undecided().is_some_and(is_sample)
    }

    /// What is wrong, if something is.
    pub fn failure(&self) -> Option<&V> {
        self.verdict.violation()
    }

    /// What is wrong with the question, if something is.
    pub fn error(&self) -> Option<&str> {
        self.verdict.error()
    }
}

impl<V: AsRef<Report>, C: fmt::Display> Outcome<V, C> {
    /// The report: that of the violation, or a headline.
    pub fn report(&self) -> Report {
        let Outcome { verdict, scope, counts } = self;
        let undecided = |why: &Undecided| Answer::Unknown(why.clone());
        match verdict {
            Verdict::Holds => {
                let holds = Answer::Holds { name: "linearizable", words: "holds".into() };
                Report::new("", holds, format!("{scope}; {counts}"))
            }
            Verdict::Violation(found) => found.as_ref().clone(),
            Verdict::Undecided(why) => match why.code {
                Undecided::ERROR => Report::new("", undecided(why), &*why.message),
                Undecided::SAMPLE => Report::new("", undecided(why), format!("{scope}; {counts}")),
                _ => {
                    let Scope { programs, schedules } = scope;
                    let summary = format!("{schedules}; {counts}");
                    Report::new(&**programs, undecided(why), summary)
                }
            },
        }
    }
}

/// Columns of a report in the output of a test.
const WIDTH: usize = 100;

impl<V: AsRef<Report>, C: fmt::Display> fmt::Display for Outcome<V, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let look = Look { width: WIDTH, ..Look::default() };
        f.write_str(&self.report().text(&look).render(false))
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The words of the headline: `unknown`, `nothing found`.
    pub words: &'static str,
    /// The field `reason`: a code that programs can rely on.
    pub code: &'static str,
    /// The field `message`: the same for people.
    pub message: String,
}

impl Undecided {
    /// The code where nothing was wrong in a sample, which says nothing about the rest.
    pub const SAMPLE: &str = "sample";
    /// The code where the question is wrong: a specification that panics, a scenario that cannot be
    /// run.
    pub const ERROR: &str = "error";

    /// A limit was reached, or something else stood in the way.
    pub fn new(code: &'static str, message: impl Into<String>) -> Undecided {
        Undecided { words: "unknown", code, message: message.into() }
    }

    /// A limit was reached.
    pub fn limit(why: &Exhausted) -> Undecided {
        Undecided::new(limit_code(why), why.to_string())
    }

    /// A checker gave this reason.
    pub fn because(reason: &Reason) -> Undecided {
        match reason {
            Reason::Exhausted(why) => Undecided::limit(why),
            Reason::NotApplicable(why) => Undecided::new("not-applicable", why),
            Reason::Disagreement(what) => Undecided::new("disagreement", what),
        }
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The code of a limit that was reached.
pub fn limit_code(why: &Exhausted) -> &'static str {
    match why {
        Exhausted::Cancelled => "cancelled",
        Exhausted::Steps(_) => "steps",
        Exhausted::Time(_) => "time",
        Exhausted::Memory(_) => "memory",
    }
}
