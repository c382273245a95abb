//! Runs a scenario under the explorer, and checks every history of every execution, identical ones once.

use std::sync::{Mutex, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use trueline::History;
use trueline::Verdict;

use super::body::{Body, Trouble};
use super::histories::{self, Made};
use super::judge::Waiting;
use super::outcome::{Counts, Kind};
use super::scenario::Scenario;
use super::setting::{Drawn, Effort, Ended, Failing, Setting, Tried};
use super::{Explore, Operate};
use crate::engine::interface::Failure;
use crate::engine::{Execution, Exploration, IntervalOrder, MAX_OPERATIONS, Report, Visited};

/// Explores one scenario.
pub(crate) fn try_scenario<T: Sync, O: Operate<T>>(
    mode: &Explore,
    setting: &Setting<'_, T, O>,
    scenario: &Scenario,
    effort: &Effort,
) -> Tried<O, O::Ret> {
    let error = |what| Tried { counts: Counts::default(), end: Ended::Error(what) };
    if scenario.len() > MAX_OPERATIONS {
        let length = scenario.len();
        return error(format!(
            "a scenario of {length} operations: at most {MAX_OPERATIONS} can be explored"
        ));
    }
    let body = Body::new(setting.make, setting.alphabet, scenario, setting.invariant, mode.reuse);
    let exploration = exploration(mode, effort);
    let checking = Checking {
        setting,
        scenario,
        body: &body,
        seen: Mutex::new(Seen::default()),
        found: Mutex::new(None),
    };
    let report = exploration.run_with(|| body.run(), |execution| checking.visit(execution));
    let seen = checking.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let found = checking.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let counts = Counts {
        scenarios: 1,
        executions: report.executions,
        blocked: report.blocked,
        histories: seen.histories,
        checks: seen.checks,
    };
    let end = ended(setting, scenario, &body, report, found);
    Tried { counts, end }
}

fn exploration(mode: &Explore, effort: &Effort) -> Exploration {
    let exploration = mode.exploration.clone().may_block();
    match effort {
        Effort::Full => exploration,
        Effort::Shrinking(most) => exploration.executions(*most),
        Effort::FewestPreemptions(most) => exploration.preemptions(4).executions(*most),
        Effort::Replay(schedule) => exploration.replay(schedule.clone()),
    }
}

/// What a report, and what the visitor found, come to.
fn ended<T: Sync, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    scenario: &Scenario,
    body: &Body<'_, T, O>,
    report: Report,
    found: Option<Found<O, O::Ret>>,
) -> Ended<O, O::Ret> {
    let Some(failure) = report.failure else {
        let scope = report.scope.to_string();
        return match report.scope.stopped {
            None => Ended::Passed(scope),
            Some(_) => Ended::Cut(scope),
        };
    };
    let mut failing = Failing {
        scenario: scenario.clone(),
        kind: Kind::Other,
        what: failure.to_string(),
        drawn: None,
        culprits: Vec::new(),
        schedule: report.schedule,
        steps: report.steps,
    };
    match (failure, found) {
        (Failure::Other { .. }, Some(Found::Error(what))) => return Ended::Error(what),
        (Failure::Other { .. }, Some(Found::NotLinearizable(drawn))) => {
            failing.kind = Kind::NotLinearizable;
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
        (Failure::Race { .. }, _) => failing.kind = Kind::Race,
        (Failure::Memory { .. }, _) => failing.kind = Kind::Memory,
        (Failure::Nondeterminism { .. }, _) => failing.kind = Kind::Nondeterminism,
        (Failure::Deadlock { .. } | Failure::Livelock { .. }, _) => failing.kind = Kind::Stuck,
    }
    Ended::Failed(Box::new(failing))
}

fn stuck_sentence<T, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    scenario: &Scenario,
    culprits: &[usize],
    states: &[String],
    waiting: &[String],
) -> String {
    let calls = scenario.calls();
    let name = |&number: &usize| {
        let (thread, call) = calls[number];
        format!("`{:?}` of thread {thread}", setting.alphabet[call])
    };
    let names: Vec<String> = culprits.iter().map(name).collect();
    let (wait, it) = if names.len() == 1 { ("waits", "it") } else { ("wait", "one of them") };
    let names = names.join(" and ");
    let mut text = format!("{names} {wait} for ever, though {it} could go on");
    match states {
        [] => {}
        [one] => text += &format!(": the object is {one}"),
        several => text += &format!(": the object is {}", several.join(" or ")),
    }
    for line in waiting {
        text += &format!("\n{line}");
    }
    text
}

/// What the visitor objects to.
enum Found<O, R> {
    NotLinearizable(Box<Drawn<O, R>>),
    Stuck {
        drawn: Box<Drawn<O, R>>,
        states: Vec<String>,
        waiting: Vec<String>,
        culprits: Vec<usize>,
    },
    Error(String),
}

/// The histories of a scenario so far.
#[derive(Default)]
struct Seen {
    histories: u64,
    checks: u64,
    /// Results and orders of those that were checked.
    known: HashSet<(Vec<Made>, IntervalOrder), FixedState>,
}

struct Checking<'a, T, O: Operate<T>> {
    setting: &'a Setting<'a, T, O>,
    scenario: &'a Scenario,
    body: &'a Body<'a, T, O>,
    seen: Mutex<Seen>,
    found: Mutex<Option<Found<O, O::Ret>>>,
}

impl<T: Sync, O: Operate<T>> Checking<'_, T, O> {
    fn visit(&self, execution: &Execution<'_>) -> Visited {
        let histories = execution.histories().expect("scenarios that are too long are not run");
        let made: Vec<Made> = histories
            .operations
            .iter()
            .map(|o| Made { call: o.operation as usize, result: o.result })
            .collect();
        for order in histories.orders {
            {
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.histories += 1;
                if !seen.known.insert((made.clone(), order.clone())) {
                    continue;
                }
                seen.checks += 1;
            }
            if let Some(found) = self.judge(&made, &order, execution) {
                let what = String::from("a history that the specification does not allow");
                *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
                return Err(Failure::Other { what });
            }
        }
        Ok(())
    }

    /// Checks a history. None: it is fine.
    fn judge(
        &self,
        made: &[Made],
        order: &IntervalOrder,
        execution: &Execution<'_>,
    ) -> Option<Found<O, O::Ret>> {
        let raw = histories::of_order(self.scenario, made, |i| order.before(i));
        let calls = self.scenario.calls();
        let decode = |o: &trueline::history::Operation<_, _>| {
            let operation = made[histories::place(&o.op)];
            let op = self.setting.alphabet[calls[operation.call].1].clone();
            let result = operation.result.map(|number| self.body.result(number));
            Ok::<_, std::convert::Infallible>((op, result))
        };
        let Ok(history): Result<History<O, O::Ret>, _> = raw.map(decode);
        if let Some(watch) = self.setting.watch {
            watch(&history);
        }
        let drawn = |history, outcome| {
            let calls = made.iter().map(|operation| operation.call).collect();
            Box::new(Drawn { raw: raw.clone(), calls, history, outcome })
        };
        let waiting = execution.waiting();
        if !waiting.is_empty() {
            match self.setting.judge.may_wait(&history) {
                Ok(Waiting::Allowed) => return None,
                Ok(Waiting::Enabled(states)) => {
                    let pending = made.iter().filter(|operation| operation.result.is_none());
                    let culprits = pending.map(|operation| operation.call).collect();
                    return Some(Found::Stuck {
                        drawn: drawn(history, None),
                        states,
                        waiting,
                        culprits,
                    });
                }
                // The checker says why.
                Ok(Waiting::NoOrder) => {}
                Err(what) => return Some(Found::Error(what)),
            }
        }
        match self.setting.judge.check(&history) {
            Err(what) => Some(Found::Error(what)),
            Ok(outcome) => match &outcome.verdict {
                Verdict::Linearizable(_) => None,
                Verdict::Violation(_) => {
                    Some(Found::NotLinearizable(drawn(history, Some(outcome))))
                }
                Verdict::Unknown(unknown) => {
                    Some(Found::Error(format!("the checker did not decide: {:?}", unknown.reason)))
                }
            },
        }
    }
}
