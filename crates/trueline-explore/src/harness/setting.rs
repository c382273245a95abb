//! The settings that all scenarios of a test share, and the result of running one of them.

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
    /// The limits that all scenarios and minimisation share.
    pub(crate) budget: &'a Arc<Budget>,
    /// Receives every scenario and execution.
    pub(crate) progress: &'a Progress<'a>,
    /// The rule for the calls of each thread.
    pub(crate) rule: Option<&'a Rule<O>>,
    /// Scenarios have at most as many removals as insertions.
    pub(crate) well_formed: Option<WellFormed>,
    /// Shown each history that is checked.
    pub(crate) watch: Option<&'a Watch<O, O::Ret>>,
    /// Whether histories are only shown and not checked.
    pub(crate) survey: bool,
    /// Creates the judge that decides the histories of a scenario in place of the checker.
    pub(crate) judge: Option<&'a MakeJudge<T, O>>,
}

/// Makes the judge of a scenario.
pub(crate) type MakeJudge<T, O> = dyn Fn() -> Box<dyn Judge<T, O>> + Send + Sync;

/// Judges the histories of a scenario by something else than linearizability.
pub(crate) trait Judge<T, O: Operate<T>>: Send {
    /// Whether identical histories are judged once.
    fn skips_identical(&self) -> bool;
    /// What it has enumerated so far.
    fn enumerated(&self) -> Enumerated;
    /// The factor by which removals may be out of order if a removal of the history exceeds it;
    /// `None` if the history is correct. An error says why there is no answer.
    fn judge(
        &mut self,
        spec: &Specification<O, O::Ret>,
        history: &History<O, O::Ret>,
        budget: &Arc<Budget>,
    ) -> Result<Option<u32>, NoAnswer>;
}

/// A rule that says whether a thread may make these calls.
pub(crate) type Rule<O> = dyn Fn(&[&O]) -> bool + Send + Sync;

impl<T, O: Operate<T>> Setting<'_, T, O> {
    /// Whether the scenario is one that the test allows.
    pub(crate) fn allows(&self, scenario: &Scenario) -> bool {
        self.well_formed.as_ref().is_none_or(|well_formed| well_formed.allows(scenario))
            && self.keeps_to_rule(scenario)
    }

    /// Adapts a minimised scenario to the settings of the test: adds the missing removals at its
    /// end. `None` if the test does not allow the scenario.
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
    /// As much as the test demands.
    Full,
    /// A scenario that may have the failure of a larger one: at most this many executions.
    Shrinking(u64),
    /// The failure with the fewest preemptions: at most this many executions.
    FewestPreemptions(u64),
    /// One schedule; without one, as [`Effort::Full`].
    Replay(Option<Schedule>),
}

/// The result of a scenario.
pub(crate) struct Tried<O, R> {
    pub(crate) counts: Counts,
    /// Whether a round on real threads did not end.
    pub(crate) waited: bool,
    pub(crate) end: Ended<O, R>,
}

/// How the run of a scenario ended.
pub(crate) enum Ended<O, R> {
    /// Everything that was asked for was covered, or a sample of it; with the coverage.
    Passed {
        scope: String,
        sample: bool,
    },
    /// Not everything was covered; with the reason.
    Cut(String),
    Failed(Box<Failing<O, R>>),
    Error(String),
}

/// A failure of a scenario.
pub(crate) struct Failing<O, R> {
    pub(crate) scenario: Scenario,
    pub(crate) kind: Kind,
    /// The reason, in a sentence or several lines. For histories that are not linearizable, the
    /// checker gives it.
    pub(crate) what: String,
    /// The operations as a history for the drawing, and in the user's types.
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
    /// The checker's outcome.
    pub(crate) outcome: Option<trueline::Outcome>,
}

/// Runs a scenario.
pub(crate) type Attempt<'a, T, O> =
    dyn Fn(&Setting<'_, T, O>, &Scenario, &Effort) -> Tried<O, <O as Operate<T>>::Ret> + 'a;
