//! Runs a scenario under the explorer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::body::{Body, Trouble};
use super::checking::{Checking, Found, quasi_sentence, stuck_sentence};
use super::detail;
use super::histories::{self, Performed};
use super::outcome::{Counts, Kind};
use super::scenario::Scenario;
use super::setting::{Effort, Ended, Failing, Setting, Tried};
use super::{Explore, Operate};
use crate::engine::interface::Failure;
use crate::engine::{
    Aim, Execution, Exploration, MAX_OPERATIONS, Operation, Report, Restart, Stop, Visited,
};

/// Explores one scenario.
pub(crate) fn try_scenario<T: Sync, O: Operate<T>>(
    mode: &Explore,
    setting: &Setting<'_, T, O>,
    scenario: &Scenario,
    effort: &Effort,
) -> Tried<O, O::Ret> {
    if scenario.len() > MAX_OPERATIONS {
        let length = scenario.len();
        let what =
            format!("a scenario of {length} operations: at most {MAX_OPERATIONS} can be explored");
        return Tried { counts: Counts::default(), waited: false, end: Ended::Error(what) };
    }
    let body = Body::new(setting.make, setting.alphabet, scenario, setting.invariant, mode.reuse);
    let checking = Checking::new(setting, scenario);
    // The findings, with the schedules that show them: several workers may find one at the same
    // time.
    let found = Mutex::new(Vec::new());
    let cut = Mutex::new(None);
    let visit = |execution: &Execution<'_>| -> Visited {
        setting.progress.executions(1);
        match look(&checking, &body, execution) {
            Ok(None) => Ok(()),
            Ok(Some(what)) => {
                lock(&found).push((execution.schedule(), what));
                Err(refuted())
            }
            Err(why) => {
                *lock(&cut) = Some(why.clone());
                match why {
                    // The exploration sees by itself that it must stop.
                    Stop::Budget(_) | Stop::Time(_) => Ok(()),
                    _ => Err(Failure::Other { what: String::from("too many orders to look at") }),
                }
            }
        }
    };
    let restarting = |restart: Restart| {
        *lock(&cut) = None;
        body.forget_trouble();
        if restart == Restart::All {
            checking.start_again();
        }
    };
    let exploration = exploration(mode, setting, effort);
    let mut report = exploration.run_restarting(|| body.run(), visit, restarting);
    let mut counts = checking.counts();
    (counts.executions, counts.blocked) = (report.executions, report.blocked);
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let shown = found.iter().position(|(schedule, _)| Some(schedule) == report.schedule.as_ref());
    let mut what = shown.map(|place| found.swap_remove(place).1);
    let is_cut = lock(&cut).is_some();
    if what.is_none() && (is_cut || report.failure.is_none()) && !found.is_empty() {
        // A worker found it, and a limit was reached before it was found again: it is reported all
        // the same.
        let (schedule, other) = found.swap_remove(0);
        let replay = mode.exploration.clone().may_block().replay(schedule);
        let scope = report.scope;
        report = replay.run_with(|| body.run(), |_| Err(refuted()));
        (report.scope, what) = (scope, Some(other));
    }
    let is_other = matches!(report.failure, None | Some(Failure::Other { .. }));
    if let (Some(why), None, true, None) = (lock(&cut).take(), &what, is_other, body.trouble()) {
        report.scope.stopped = Some(why);
        return Tried { counts, waited: false, end: Ended::Cut(report.scope.to_string()) };
    }
    let end = ended(setting, &checking, scenario, &body, report, what);
    Tried { counts, waited: false, end }
}

/// Checks all histories of an execution. Returns what is wrong with one of them, or why some were
/// not checked.
fn look<T: Sync, O: Operate<T>>(
    checking: &Checking<'_, T, O>,
    body: &Body<'_, T, O>,
    execution: &Execution<'_>,
) -> Result<Option<Found<O, O::Ret>>, Stop> {
    let histories = execution.histories_in_time()?;
    let performed = performed(&histories.operations);
    for order in &histories.orders {
        execution.may_go_on()?;
        let before: Vec<u128> = (0..performed.len()).map(|i| order.before(i)).collect();
        let result = |number| body.result(number);
        match checking.look(&performed, &before, result, || execution.waiting()) {
            None => {}
            Some(Found::Spent(why)) => return Err(Stop::Budget(why)),
            Some(what) => return Ok(Some(what)),
        }
    }
    Ok(None)
}

/// Why an exploration ends at an execution whose history was refuted.
fn refuted() -> Failure {
    Failure::Other { what: String::from("a history that the specification does not allow") }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn performed(operations: &[Operation]) -> Vec<Performed> {
    let performed = |o: &Operation| Performed { call: o.operation as usize, result: o.result };
    operations.iter().map(performed).collect()
}

fn exploration<T, O: Operate<T>>(
    mode: &Explore,
    setting: &Setting<'_, T, O>,
    effort: &Effort,
) -> Exploration {
    let exploration = mode.exploration.clone().may_block().budget(Arc::clone(setting.budget));
    match effort {
        Effort::Full => exploration,
        Effort::Shrinking(most) => exploration.executions(*most),
        Effort::FewestPreemptions(most) => exploration.preemptions(4).executions(*most),
        Effort::Replay(Some(schedule)) => exploration.replay(schedule.clone()),
        Effort::Replay(None) => exploration,
    }
}

/// Combines the report and the visitor's findings into the result.
fn ended<T: Sync, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    checking: &Checking<'_, T, O>,
    scenario: &Scenario,
    body: &Body<'_, T, O>,
    report: Report,
    found: Option<Found<O, O::Ret>>,
) -> Ended<O, O::Ret> {
    let Some(failure) = report.failure else {
        let scope = report.scope.to_string();
        // A result that rests on an unchecked assumption proves as little as a sample.
        let sample = matches!(report.scope.aim, Aim::Sample { .. } | Aim::Replay)
            || report.scope.assumed.is_some();
        return match report.scope.stopped {
            None => Ended::Passed { scope, sample },
            Some(_) => Ended::Cut(scope),
        };
    };
    // Shown as it ran; a history that was refuted replaces this.
    let performed = performed(&report.operations);
    let before = histories::before_in_steps(scenario, &performed, &report.steps);
    let drawn = checking.drawn(&performed, &before, |number| body.result(number));
    let mut failing = Failing {
        scenario: scenario.clone(),
        kind: Kind::Other,
        what: failure.to_string(),
        drawn: Some(drawn),
        culprits: Vec::new(),
        schedule: report.schedule,
        steps: report.steps,
        race: None,
    };
    match (failure, found) {
        (Failure::Other { .. }, Some(Found::Error(what))) => return Ended::Error(what),
        (Failure::Other { .. }, Some(Found::Spent(why))) => return Ended::Cut(why.to_string()),
        (Failure::Other { .. }, Some(Found::NotLinearizable(drawn))) => {
            failing.kind = Kind::NotLinearizable;
            failing.drawn = Some(*drawn);
        }
        (Failure::Other { .. }, Some(Found::NotQuasiLinearizable { drawn, factor })) => {
            failing.kind = Kind::NotLinearizable;
            failing.what = quasi_sentence(factor);
            failing.drawn = Some(*drawn);
        }
        (Failure::Other { .. }, Some(Found::Stuck { drawn, states, waiting, culprits })) => {
            failing.kind = Kind::Stuck;
            failing.what = stuck_sentence(setting, scenario, &culprits, &states, &waiting);
            failing.culprits = culprits;
            failing.drawn = Some(*drawn);
        }
        (Failure::Other { .. }, None) => {
            if let Some(Trouble::Invariant(what)) = body.trouble() {
                failing.kind = Kind::Invariant;
                failing.what = what;
            }
        }
        (Failure::Panic { .. }, _) => match body.trouble() {
            Some(Trouble::Panicked(call)) => {
                failing.kind = Kind::Panic;
                failing.culprits = vec![call];
                let op = &setting.alphabet[scenario.calls()[call].1];
                failing.what = format!("`{op:?}` panics: {}", failing.what);
            }
            Some(Trouble::Invariant(_)) => {
                failing.kind = Kind::Invariant;
                failing.what = format!("the invariant does not hold: {}", failing.what);
            }
            None => failing.kind = Kind::Panic,
        },
        (Failure::Race { first, second }, _) => {
            failing.kind = Kind::Race;
            let race = [first, second];
            let both = detail::racing(&failing.steps, &race).into_iter().flatten();
            let operations = both.filter_map(|step| failing.steps[step].operation);
            failing.culprits = operations.map(|number| number as usize).collect();
            failing.race = Some(race);
        }
        (Failure::Memory { .. }, _) => failing.kind = Kind::Memory,
        (Failure::Nondeterminism { .. }, _) => failing.kind = Kind::Nondeterminism,
        (Failure::Deadlock { .. } | Failure::Livelock { .. }, _) => failing.kind = Kind::Stuck,
    }
    Ended::Failed(Box::new(failing))
}
