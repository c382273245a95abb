//! What all scenarios of a test share, and what a run of one of them yields.

use trueline::{Budget, History};

use std::sync::Arc;

use super::generate::WellFormed;
use super::guarded::{NoAnswer, Specification};
use super::outcome::{Counts, Enumerated, Kind};
use super::progress::Progress;
use super::scenario::Scenario;
use super::{Invariant, Make, Operate};
use crate::engine::{Schedule, Step};

/// What all scenarios of a test share.
pub(crate) struct Setting<'a, T, O: Operate<T>> {
    pub(crate) make: &'a Make<T>,
    pub(crate) alphabet: &'a [O],
    pub(crate) invariant: Option<&'a Invariant<T>>,
    pub(crate) spec: &'a Specification<O, O::Ret>,
    /// What all scenarios, and making a failure smaller, may cost together.
    pub(crate) budget: &'a Arc<Budget>,
    /// Told of every scenario and execution.
    pub(crate) progress: &'a Progress<'a>,
    /// What each thread must keep to.
    pub(crate) rule: Option<&'a Rule<O>>,
    /// Scenarios have at most as many removals as insertions.
    pub(crate) well_formed: Option<WellFormed>,
    /// Shown each history that is checked.
    pub(crate) watch: Option<&'a Watch<O, O::Ret>>,
    /// Whether histories are only shown, and none is judged.
    pub(crate) survey: bool,
    /// Who judges the histories of a scenario in place of the checker.
    pub(crate) judge: Option<&'a MakeJudge<T, O>>,
}

/// Makes the judge of a scenario.
pub(crate) type MakeJudge<T, O> = dyn Fn() -> Box<dyn Judge<T, O>> + Send + Sync;

/// Judges the histories of a scenario by something else than linearizability.
pub(crate) trait Judge<T, O: Operate<T>>: Send {
    /// Whether identical histories are judged once.
    fn skips_identical(&self) -> bool;
    /// What it went through so far.
    fn enumerated(&self) -> Enumerated;
    /// The factor by which removals may be out of order, of a history in which they are further;
    /// nothing where it is as it should be. The error says why there is no answer.
    fn judge(
        &mut self,
        spec: &Specification<O, O::Ret>,
        history: &History<O, O::Ret>,
        budget: &Arc<Budget>,
    ) -> Result<Option<u32>, NoAnswer>;
}

/// Whether a thread may make these calls.
pub(crate) type Rule<O> = dyn Fn(&[&O]) -> bool + Send + Sync;

impl<T, O: Operate<T>> Setting<'_, T, O> {
    /// Whether the scenario is one that the test allows.
    pub(crate) fn allows(&self, scenario: &Scenario) -> bool {
        self.well_formed.as_ref().is_none_or(|well_formed| well_formed.allows(scenario))
            && self.keeps_to_rule(scenario)
    }

    /// A scenario that was made smaller, as the test would have it: with as many removals at its
    /// end as are missing. None if the test does not allow it.
    pub(crate) fn adapt(&self, scenario: Scenario) -> Option<Scenario> {
        let scenario = match &self.well_formed {
            Some(well_formed) => well_formed.balance(scenario)?,
            None => scenario,
        };
        self.keeps_to_rule(&scenario).then_some(scenario)
    }

    /// Whether all threads of the scenario keep to the rule of the test.
    pub(crate) fn keeps_to_rule(&self, scenario: &Scenario) -> bool {
        let Some(rule) = self.rule else { return true };
        let main = scenario.before.iter().chain(&scenario.after).copied().collect();
        let lanes = scenario.lanes.iter().map(|lane| lane.calls.clone());
        std::iter::once(main).chain(lanes).all(|calls: Vec<usize>| {
            let calls: Vec<&O> = calls.into_iter().map(|call| &self.alphabet[call]).collect();
            rule(&calls)
        })
    }
}

/// Sees each history that is checked.
pub(crate) type Watch<O, R> = dyn Fn(&History<O, R>) + Send + Sync;

/// How hard to look for a failure of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As the test asks.
    Full,
    /// A scenario that may have the failure of a larger one: at most so many executions.
    Shrinking(u64),
    /// The failure with the fewest preemptions, at most so many executions.
    FewestPreemptions(u64),
    /// One schedule; without one, as [`Effort::Full`].
    Replay(Option<Schedule>),
}

/// What came of a scenario.
pub(crate) struct Tried<O, R> {
    pub(crate) counts: Counts,
    /// Whether a round on real threads did not end.
    pub(crate) waited: bool,
    pub(crate) end: Ended<O, R>,
}

/// How the run of a scenario ended.
pub(crate) enum Ended<O, R> {
    /// All that was asked for was seen, or a sample of it; what that is.
    Passed {
        scope: String,
        sample: bool,
    },
    /// Not all that was asked for was seen; why.
    Cut(String),
    Failed(Box<Failing<O, R>>),
    Error(String),
}

/// A failure of a scenario.
pub(crate) struct Failing<O, R> {
    pub(crate) scenario: Scenario,
    pub(crate) kind: Kind,
    /// What is wrong, in a sentence or several lines; for histories that are not linearizable the
    /// checker's.
    pub(crate) what: String,
    /// The operations as a history, for the drawing, and with the user's types.
    pub(crate) drawn: Option<Drawn<O, R>>,
    /// The call that the failure is of, by its number in the scenario.
    pub(crate) culprits: Vec<usize>,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) steps: Vec<Step>,
    /// Both accesses of a data race, as the failure describes them.
    pub(crate) race: Option<[String; 2]>,
}

/// A history that is shown.
pub(crate) struct Drawn<O, R> {
    /// Calls are the places of operations among `calls`.
    pub(crate) raw: History,
    /// The number of each operation in the scenario, by its place.
    pub(crate) calls: Vec<usize>,
    pub(crate) history: History<O, R>,
    /// What the checker said of it.
    pub(crate) outcome: Option<trueline::Outcome>,
}

/// Runs a scenario.
pub(crate) type Attempt<'a, T, O> =
    dyn Fn(&Setting<'_, T, O>, &Scenario, &Effort) -> Tried<O, <O as Operate<T>>::Ret> + 'a;
