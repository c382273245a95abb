//! Splits a history into parts, decides each, and joins the answers.
//!
//! Parts are decided in parallel. The answer is that of the first violating part in order of first appearance,
//! whatever the number of threads; a part behind a known violation is not looked at any more.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::minimise::{Core, minimise};
use super::problem::{Decision, Problem, Ticker, Window};
use super::replay::{Refused, replay};
use super::search::{self, Which};
use super::{Algorithm, Outcome, explain, wing_gong};
use crate::budget::{Budget, Exhausted};
use crate::history::{self, History};
use crate::spec::Spec;
use crate::verdict::{Explanation, Reason, Start, Unknown, Verdict, Witness};

/// Steps that shrinking a violation, and confirming it, may take in any case.
const ENOUGH: u64 = 100_000;

/// The answer for one part.
struct PartAnswer {
    kind: PartKind,
    by: &'static str,
    steps: u64,
}

enum PartKind {
    Order(Vec<u32>),
    Violation(Explanation),
    Exhausted { why: Exhausted, explained: usize, returns: usize },
    Disagreement(String),
    Skipped,
}

/// See [`super::Check::run`].
pub(super) fn run<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    algorithm: Algorithm,
    budget: &Budget,
) -> Outcome {
    let parts = parts(spec, history);
    let first_violation = AtomicUsize::new(usize::MAX);
    let decide_one = |(i, indices): (usize, &Vec<u32>)| {
        if i > first_violation.load(Ordering::Relaxed) {
            return PartAnswer { kind: PartKind::Skipped, by: "", steps: 0 };
        }
        let answer = decide(spec, history, indices, algorithm, budget);
        if matches!(answer.kind, PartKind::Violation(_)) {
            first_violation.fetch_min(i, Ordering::Relaxed);
        }
        answer
    };
    let answers: Vec<PartAnswer> = if parts.len() == 1 {
        parts.iter().enumerate().map(decide_one).collect()
    } else {
        parts.par_iter().enumerate().with_min_len(8).map(decide_one).collect()
    };
    join(history, answers)
}

/// The parts that can be decided on their own, as ascending indices: by object and key, then by the keys that
/// the specification tells, unless some operation of the object touches everything.
fn parts<S: Spec>(spec: &S, history: &History<S::Op, S::Ret>) -> Vec<Vec<u32>> {
    let operations = history.operations();
    let mut parts = Vec::new();
    for group in history::by_part(history) {
        let keys: Option<Vec<u64>> =
            group.iter().map(|&i| spec.partition(&operations[i as usize].op)).collect();
        let Some(keys) = keys else {
            parts.push(group);
            continue;
        };
        let mut places = hashbrown::HashMap::<u64, usize, foldhash::fast::FixedState>::default();
        for (&i, key) in group.iter().zip(keys) {
            let place = *places.entry(key).or_insert_with(|| {
                parts.push(Vec::new());
                parts.len() - 1
            });
            parts[place].push(i);
        }
    }
    parts
}

fn decide<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
    algorithm: Algorithm,
    budget: &Budget,
) -> PartAnswer {
    let problem = Problem::new(spec, history, indices, Window::ALL);
    let mut ticker = Ticker::new(budget);
    let reference = |ticker: &mut Ticker<'_>, memo| {
        wing_gong::search(&problem.spans, &mut problem.states(), ticker, memo).map(Some)
    };
    let (decision, explained, by) = match algorithm {
        Algorithm::Wgl => (reference(&mut ticker, true), 0, "wgl"),
        Algorithm::WingGong => (reference(&mut ticker, false), 0, "wing-gong"),
        _ => {
            let which = match algorithm {
                Algorithm::DepthFirst => Which::DepthFirst,
                Algorithm::JustInTime => Which::JustInTime,
                _ => Which::Both,
            };
            let found = search::search(&problem, &mut ticker, which, u64::MAX);
            (found.decision, found.explained, found.by)
        }
    };
    let kind = match decision {
        Ok(Some(Decision::Order(order))) => {
            let order: Vec<u32> = order.iter().map(|&n| problem.operations[n as usize]).collect();
            let returns = problem.spans.returns.len();
            match replay(spec, history, indices, &order, &mut ticker) {
                Ok(()) => PartKind::Order(order),
                Err(Refused::Exhausted(why)) => PartKind::Exhausted { why, explained, returns },
                Err(Refused::Wrong(what)) => PartKind::Disagreement(format!(
                    "the order found by {by} does not replay: {what}"
                )),
            }
        }
        Ok(Some(Decision::Stuck(number))) => {
            let stuck = problem.operations[number as usize];
            violation(spec, history, indices, stuck, &mut ticker, budget)
        }
        Ok(None) => PartKind::Disagreement("the search ended without an answer".into()),
        Err(why) => PartKind::Exhausted { why, explained, returns: problem.spans.returns.len() },
    };
    PartAnswer { kind, by, steps: ticker.steps() }
}

/// Shrinks and explains a violation, and confirms it by a search that shares no search code.
fn violation<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
    stuck: u32,
    ticker: &mut Ticker<'_>,
    budget: &Budget,
) -> PartKind {
    // An explanation may cost about as much again as the decision, and a little in any case.
    let effort = ticker.steps().max(ENOUGH);
    let core = minimise(spec, history, indices, stuck, ticker, effort);
    let first_bad = core.first_bad.unwrap_or(stuck);
    let sentence = explain::explain(spec, history, &core, first_bad);
    let rechecked = match recheck(spec, history, &core, budget, effort) {
        Ok(confirmed) => confirmed,
        Err(wrong) => return PartKind::Disagreement(wrong),
    };
    let shown = |states: &Vec<S::State>| states.iter().map(|s| spec.show_state(s)).collect();
    PartKind::Violation(Explanation {
        start: core.start.as_ref().map(|s| Start { from: core.window.from, states: shown(s) }),
        until: core.window.until,
        clash: sentence.clash,
        sentence: sentence.text,
        fine_until: core.first_bad.map(|i| history.operations()[i as usize].returned),
        minimal: core.minimal,
        rechecked,
        operations: core.operations,
    })
}

/// True where the reference search finds no order either; false where it did not end in time.
fn recheck<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    core: &Core<S::State>,
    budget: &Budget,
    limit: u64,
) -> Result<bool, String> {
    let initial = [spec.initial()];
    let starts = core.start.as_deref().unwrap_or(&initial);
    for start in starts {
        let problem = Problem::new(spec, history, &core.operations, core.window).starting_in(start);
        let mut ticker = Ticker::limited(budget, limit);
        match wing_gong::search(&problem.spans, &mut problem.states(), &mut ticker, true) {
            Ok(Decision::Stuck(_)) => {}
            Ok(Decision::Order(_)) => {
                return Err("the reference search orders what the search called a violation".into());
            }
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

fn join<Op, Ret>(history: &History<Op, Ret>, answers: Vec<PartAnswer>) -> Outcome {
    let partitions = answers.len();
    let states = answers.iter().map(|a| a.steps).sum();
    let by = |answer: &PartAnswer| answer.by;
    let mut names: Vec<&'static str> = answers.iter().map(by).filter(|b| !b.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    // Parts may have been decided by either search of the pair.
    let mut algorithm = if names.len() == 1 { names[0] } else { "search" };
    let mut orders = Vec::new();
    let mut violation = None;
    let mut unknown: Option<Unknown> = None;
    for answer in answers {
        let by = answer.by;
        let reason = match answer.kind {
            PartKind::Order(order) => {
                orders.push(order);
                continue;
            }
            PartKind::Violation(explanation) => {
                if violation.is_none() {
                    violation = Some(explanation);
                    algorithm = by;
                }
                continue;
            }
            PartKind::Skipped => continue,
            PartKind::Exhausted { why, explained, returns } => Unknown {
                reason: Reason::Exhausted(why),
                progress: format!("{explained} of {returns} returns explained"),
            },
            PartKind::Disagreement(what) => {
                Unknown { reason: Reason::Disagreement(what), progress: String::new() }
            }
        };
        if unknown.is_none() || matches!(reason.reason, Reason::Disagreement(_)) {
            unknown = Some(reason);
        }
    }
    let verdict = match (violation, unknown) {
        (Some(explanation), _) => Verdict::Violation(explanation),
        (None, Some(unknown)) => Verdict::Unknown(unknown),
        (None, None) => Verdict::Linearizable(Witness { order: merge(history, orders) }),
    };
    Outcome { verdict, algorithm, partitions, states }
}

/// One order of the whole from an order of each part: every operation gets a moment inside its interval, the
/// latest call up to and including it in its part's order; moments are compared across parts.
fn merge<Op, Ret>(history: &History<Op, Ret>, mut orders: Vec<Vec<u32>>) -> Vec<u32> {
    if orders.len() == 1 {
        return orders.remove(0);
    }
    let mut placed: Vec<(u32, u32, u32, u32)> = Vec::new();
    for (part, order) in orders.iter().enumerate() {
        let mut moment = 0;
        for (place, &index) in order.iter().enumerate() {
            moment = moment.max(history.operations()[index as usize].call);
            placed.push((moment, part as u32, place as u32, index));
        }
    }
    placed.sort_unstable();
    placed.into_iter().map(|p| p.3).collect()
}
