//! What can come of a test: the kinds of failures, and how much was done.

use std::fmt;

use trueline::History;
use trueline_report::{Report, Section, grouped};

/// Something that is wrong; [`Failure::minimised`] says whether smaller scenarios remain to be
/// tried.
#[derive(Clone, Debug)]
pub struct Failure<O, R> {
    /// What it is.
    pub kind: Kind,
    /// Why, in one sentence.
    pub sentence: String,
    /// What was called: `push(1) pop() | pop()`.
    pub scenario: String,
    /// What was called, when, and what came back.
    pub history: Option<History<O, R>>,
    /// What `TRUELINE_REPLAY` must be to run this again.
    pub replay: Option<String>,
    /// Whether smaller scenarios were looked for.
    pub minimised: Minimised,
    /// The sentence, the operations and the steps, for a report.
    pub sections: Vec<Section>,
    /// The report on it.
    pub report: Report,
}

/// How far a failure was made smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Minimised {
    /// Every scenario that is one step smaller was tried, within the executions that each may take,
    /// and does not fail so.
    Fully,
    /// Not at all, since that was not asked for: a replay, a test that reports failures as they are
    /// found.
    NotAsked,
    /// Smaller scenarios remain to be tried: why.
    Stopped(String),
}

/// A kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// No order of the operations explains their results.
    NotLinearizable,
    /// An operation waits for ever, though its specification says that it could go on.
    Stuck,
    /// An operation panicked.
    Panic,
    /// The invariant does not hold when no operation is under way.
    Invariant,
    /// Two accesses are not ordered by what the program's orderings promise.
    Race,
    /// Memory was misused.
    Memory,
    /// The same schedule led elsewhere than before.
    Nondeterminism,
    /// Something else that the explorer found.
    Other,
}

/// What two-phase checking went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enumerated {
    /// Sequentializations that were looked at.
    pub sequentializations: u64,
    /// Quasi permutations that were held against the golden model.
    pub permutations: u64,
    /// Sequentializations that an earlier history had.
    pub skipped_sequentializations: u64,
    /// Quasi permutations that were seen before.
    pub skipped_permutations: u64,
}

impl Enumerated {
    fn add(&mut self, other: &Enumerated) {
        self.sequentializations += other.sequentializations;
        self.permutations += other.permutations;
        self.skipped_sequentializations += other.skipped_sequentializations;
        self.skipped_permutations += other.skipped_permutations;
    }
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Scenarios that were run.
    pub scenarios: u64,
    /// Executions, or rounds of a stress test.
    pub executions: u64,
    /// Executions that were given up, since what they led to was seen elsewhere; rounds of a stress
    /// test that wait as they may.
    pub blocked: u64,
    /// Histories of all executions: each has one for each maximal order in real time.
    pub histories: u64,
    /// Histories that were checked: identical ones once.
    pub checks: u64,
    /// What two-phase checking went through, where it was asked for.
    pub enumerated: Enumerated,
}

impl Counts {
    /// Adds what was done elsewhere.
    pub fn add(&mut self, other: &Counts) {
        self.scenarios += other.scenarios;
        self.executions += other.executions;
        self.blocked += other.blocked;
        self.histories += other.histories;
        self.checks += other.checks;
        self.enumerated.add(&other.enumerated);
    }
}

/// `1 history`, `12,345 histories`.
fn count(n: u64, one: &str, many: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n => format!("{} {many}", grouped(n)),
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scenarios = count(self.scenarios, "scenario", "scenarios");
        write!(f, "{scenarios}, {}", self.without_scenarios())
    }
}

impl Counts {
    /// What was run, for callers who count scenarios in words of their own:
    /// `163 executions, 254 histories, 253 checked`.
    pub fn without_scenarios(&self) -> String {
        let executions = count(self.executions, "execution", "executions");
        let histories = count(self.histories, "history", "histories");
        let text = format!("{executions}, {histories}, {} checked", grouped(self.checks));
        let Enumerated { sequentializations, permutations, .. } = self.enumerated;
        if sequentializations == 0 {
            return text;
        }
        let of = |n: u64, skipped: u64, one: &str| {
            format!("{} and {} skipped", count(n, one, &format!("{one}s")), grouped(skipped))
        };
        let skipped = self.enumerated.skipped_sequentializations;
        let sequentializations = of(sequentializations, skipped, "sequentialization");
        let permutations = of(permutations, self.enumerated.skipped_permutations, "permutation");
        format!("{text}; {sequentializations}, {permutations}")
    }
}

impl<O, R> AsRef<Report> for Failure<O, R> {
    fn as_ref(&self) -> &Report {
        &self.report
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::NotLinearizable => "not linearizable",
            Kind::Stuck => "stuck",
            Kind::Panic => "panic",
            Kind::Invariant => "invariant violated",
            Kind::Race => "data race",
            Kind::Memory => "memory misused",
            Kind::Nondeterminism => "uncontrolled nondeterminism",
            Kind::Other => "failure",
        })
    }
}
