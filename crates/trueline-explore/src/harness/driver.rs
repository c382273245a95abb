//! Runs the scenarios of a test one after the other, up to the first that fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::generate::Plan;
use super::guarded::Specification;
use super::minimise::minimise;
use super::outcome::{Counts, Failure, Minimised, Outcome};
use super::progress::{self, Progress};
use super::regressions::Regressions;
use super::replay::{self, Replay};
use super::scenario::Scenario;
use super::setting::{Attempt, Effort, Ended, Failing, Setting};
use super::{Harness, Operate, page, report};
use crate::engine::MAX_OPERATIONS;
use trueline::Budget;
use trueline_report::{Answer, Report, Undecided, Verdict};

/// A run of a test.
struct Run<'a, T, O: Operate<T>> {
    setting: Setting<'a, T, O>,
    attempt: &'a Attempt<'a, T, O>,
    /// The number by which a replay names this test.
    number: u32,
    counts: Counts,
    /// The coverage of the scenarios that passed.
    scopes: BTreeSet<String>,
    /// Whether something was only sampled.
    sample: bool,
    /// Whether a failure is reported as it was found.
    as_found: bool,
    regressions: Option<Regressions>,
}

/// Runs a test: all its scenarios, each through `attempt`.
pub(crate) fn run<T, O, M>(
    harness: &Harness<T, O, M>,
    budget: &Arc<Budget>,
    alphabet: &[O],
    spec: &Specification<O, O::Ret>,
    attempt: &Attempt<'_, T, O>,
) -> Outcome<O, O::Ret>
where
    T: Sync + 'static,
    O: Operate<T>,
{
    let name = harness.name.clone().or_else(replay::test_name);
    // A caller that supplies a budget, such as the command line, reports progress itself.
    let sink = match &harness.progress {
        Some(sink) => Some(&**sink),
        None if harness.budget.is_none() => Some(&progress::to_standard_error as &progress::Sink),
        None => None,
    };
    let progress = Progress::new(sink, name.as_deref().unwrap_or("trueline"), budget);
    let setting = Setting {
        make: &*harness.make,
        alphabet,
        invariant: harness.invariant.as_deref(),
        spec,
        budget,
        progress: &progress,
        rule: harness.rule.as_deref(),
        well_formed: harness.well_formed_of(alphabet),
        watch: harness.watch.as_deref(),
        survey: harness.survey,
        judge: harness.judge.as_deref(),
    };
    let mut run = Run {
        setting,
        attempt,
        number: replay::number_of::<T>(alphabet),
        counts: Counts::default(),
        scopes: BTreeSet::new(),
        sample: harness.samples_scenarios(),
        as_found: harness.as_found,
        regressions: harness
            .regressions
            .as_deref()
            .map(|directory| Regressions::open(directory, name.as_deref().unwrap_or("test"))),
    };
    let wanted = harness.replay.clone().or_else(|| std::env::var(replay::VARIABLE).ok());
    match replay::asked(wanted.as_deref(), run.number, alphabet.len()) {
        Ok(None) => {}
        Ok(Some(asked)) => return run.again(asked, name.as_deref()),
        Err(what) => {
            let source = if harness.replay.is_some() { "the schedule" } else { replay::VARIABLE };
            return run.error(format!("{source}: {what}"));
        }
    }
    let mut kept = Vec::new();
    if let Some(regressions) = &run.regressions {
        let (scenarios, stale) = regressions.scenarios(alphabet);
        kept = scenarios;
        for what in stale {
            eprintln!("{what}");
        }
    }
    let mut plan = Plan::default();
    for scenario in kept.into_iter().chain(harness.scenarios(alphabet, &mut plan)) {
        if !run.setting.allows(&scenario) {
            if harness.programs.is_empty() {
                continue;
            }
            let program = scenario.show(alphabet);
            let broken = if run.setting.keeps_to_rule(&scenario) {
                "has more removals than insertions, which .well_formed(..) excludes"
            } else {
                "does not keep to .rule(..)"
            };
            return run.error(format!("the program {program} {broken}"));
        }
        if let Some(outcome) = run.scenario(&scenario, &Effort::Full, name.as_deref()) {
            return outcome;
        }
    }
    if run.counts.scenarios == 0 {
        let what = match harness.rule {
            Some(_) if !alphabet.is_empty() => {
                "there is nothing to run: .rule(..) allows no scenario"
            }
            _ => "there is nothing to run: give .operations([..]), .role(..) or .program([..])",
        };
        return run.error(String::from(what));
    }
    run.passed(&harness.size())
}

impl<T: Sync + 'static, O: Operate<T>> Run<'_, T, O> {
    /// Runs a scenario. Returns `None` if the test goes on.
    fn scenario(
        &mut self,
        scenario: &Scenario,
        effort: &Effort,
        test: Option<&str>,
    ) -> Option<Outcome<O, O::Ret>> {
        if scenario.len() > MAX_OPERATIONS {
            let length = scenario.len();
            let text =
                format!("a scenario of {length} operations: at most {MAX_OPERATIONS} can be run");
            return Some(self.error(text));
        }
        if let Err(why) = self.setting.budget.spend(0) {
            return Some(self.cut(scenario, format!("not run: {why}")));
        }
        self.setting.progress.scenario();
        let tried = (self.attempt)(&self.setting, scenario, effort);
        self.counts.add(&tried.counts);
        match tried.end {
            Ended::Passed { scope, sample } => {
                self.scopes.insert(scope);
                self.sample |= sample;
                None
            }
            Ended::Cut(scope) => Some(self.cut(scenario, scope)),
            Ended::Failed(failing) => Some(self.failed(*failing, effort, test)),
            Ended::Error(what) => Some(self.error(what)),
        }
    }

    /// Runs the scenario that the environment requests.
    fn again(mut self, asked: Replay, test: Option<&str>) -> Outcome<O, O::Ret> {
        let effort = Effort::Replay(asked.schedule.clone());
        if let Some(outcome) = self.scenario(&asked.scenario, &effort, test) {
            return outcome;
        }
        let shown = asked.scenario.show(self.setting.alphabet);
        self.passed(&format!("replay of {shown}"))
    }

    fn failed(
        &mut self,
        failing: Failing<O, O::Ret>,
        effort: &Effort,
        test: Option<&str>,
    ) -> Outcome<O, O::Ret> {
        // A replay is shown unchanged, because another judge decides about the program as it is:
        // quasi linearizability of a program with fewer removals than insertions is a different
        // question.
        let as_found = self.as_found || self.setting.judge.is_some();
        let (failing, minimised) = match effort {
            Effort::Replay(_) => (failing, Minimised::NotAsked),
            _ if as_found => (failing, Minimised::NotAsked),
            _ => {
                // Minimisation runs scenarios that the user did not request, so they are not shown.
                self.setting.watch = None;
                minimise(&self.setting, failing, self.attempt)
            }
        };
        let replay = Replay {
            test: self.number,
            scenario: failing.scenario.clone(),
            schedule: failing.schedule.clone(),
        };
        let kept = self.regressions.as_mut().map(|regressions| {
            match regressions.keep(&failing.scenario, self.setting.alphabet) {
                Ok(()) => format!("kept in {}", regressions.file().display()),
                Err(e) => format!("could not be kept in {}: {e}", regressions.file().display()),
            }
        });
        let failure = Failure {
            kind: failing.kind,
            sentence: report::sentence(&failing),
            scenario: failing.scenario.show(self.setting.alphabet),
            sections: report::sections(&self.setting, &failing, &minimised),
            history: failing.drawn.map(|drawn| drawn.history),
            replay: Some(replay.to_string()),
            minimised,
        };
        let again = report::Again { replay: &replay, test, kept: kept.as_deref() };
        let mut report = report::failure(&failure, &self.counts, &again);
        page::write(&mut report, test, self.number);
        let scope = String::from("stopped at a failure");
        let verdict = Verdict::Violation(Box::new(failure));
        Outcome { verdict, counts: self.counts, seen: scope.clone(), scope, report }
    }

    fn cut(&self, scenario: &Scenario, scope: String) -> Outcome<O, O::Ret> {
        let shown = scenario.show(self.setting.alphabet);
        let message = format!("{shown}: {scope}");
        let answer = Undecided { words: "undecided", ..Undecided::new("incomplete", &*message) };
        let summary = format!("{scope}; {}", self.counts);
        let report = Report::new(shown, Answer::Unknown(answer.clone()), summary);
        let verdict = Verdict::Undecided(answer);
        Outcome { verdict, counts: self.counts, seen: scope.clone(), scope, report }
    }

    fn error(&self, what: String) -> Outcome<O, O::Ret> {
        let answer = Undecided { words: "error", ..Undecided::new(Undecided::ERROR, &*what) };
        let report = Report::new("", Answer::Unknown(answer.clone()), what);
        let scope = String::from("stopped at an error");
        let verdict = Verdict::Undecided(answer);
        Outcome { verdict, counts: self.counts, seen: scope.clone(), scope, report }
    }

    fn passed(&self, size: &str) -> Outcome<O, O::Ret> {
        let seen: Vec<&str> = self.scopes.iter().map(String::as_str).collect();
        let seen = seen.join(" / ");
        let scope = format!("{size}; {seen}");
        let (verdict, answer) = if self.sample {
            let found = "nothing wrong was found in a sample";
            let sample = Undecided::new(Undecided::SAMPLE, found);
            let answer = Undecided { words: "nothing found", ..sample };
            (Verdict::Undecided(answer.clone()), Answer::Unknown(answer))
        } else {
            (Verdict::Holds, Answer::Holds { name: "linearizable", words: "holds".into() })
        };
        let report = Report::new("", answer, format!("{scope}; {}", self.counts));
        Outcome { verdict, counts: self.counts, seen, scope, report }
    }
}
