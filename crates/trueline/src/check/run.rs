//! Splits a history into parts, decides each, and joins the answers.
//!
//! Parts are decided in parallel, in rounds: each round allows every undecided part four times the steps of the one
//! before, so that one hard part does not hide an easy violation in another. The violation that is reported is that
//! of the first part, in order of first appearance, that the earliest round refutes: the same whatever the number of
//! threads. Only that one is shrunk and explained.

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

/// Steps that a part may take in the first round; every further round allows four times as many.
const FIRST_ROUND: u64 = 1 << 15;

/// The answer for one part.
struct PartAnswer {
    kind: PartKind,
    by: &'static str,
    steps: u64,
}

enum PartKind {
    Order(Vec<u32>),
    /// No order: no search got past the return of this operation.
    Stuck(u32),
    /// The round is over.
    Undecided,
    Exhausted {
        why: Exhausted,
        explained: usize,
        returns: usize,
    },
    Disagreement(String),
}

/// See [`super::Check::run`].
pub(super) fn run<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    algorithm: Algorithm,
    budget: &Budget,
) -> Outcome {
    let parts = parts(spec, history);
    let mut answers: Vec<Option<PartAnswer>> = parts.iter().map(|_| None).collect();
    let mut steps = 0;
    let mut round = if parts.len() == 1 { u64::MAX } else { FIRST_ROUND };
    loop {
        let first_violation = AtomicUsize::new(usize::MAX);
        let decide_one = |(i, answer): (usize, &mut Option<PartAnswer>)| {
            let known = answer.as_ref().is_some_and(|a| !matches!(a.kind, PartKind::Undecided));
            if known || i > first_violation.load(Ordering::Relaxed) {
                return;
            }
            let limit = round.max(8 * parts[i].len() as u64);
            let found = decide(spec, history, &parts[i], algorithm, budget, limit);
            if matches!(found.kind, PartKind::Stuck(_)) {
                first_violation.fetch_min(i, Ordering::Relaxed);
            }
            *answer = Some(found);
        };
        if parts.len() == 1 {
            answers.iter_mut().enumerate().for_each(decide_one);
        } else {
            answers.par_iter_mut().enumerate().with_min_len(8).for_each(decide_one);
        }
        steps += answers.iter().flatten().map(|a| a.steps).sum::<u64>();
        let stuck = answers
            .iter()
            .position(|a| matches!(a, Some(PartAnswer { kind: PartKind::Stuck(_), .. })));
        if let Some(i) = stuck
            && let Some(PartAnswer { kind: PartKind::Stuck(stuck), by, .. }) = answers[i]
        {
            let effort = answers[i].as_ref().map_or(0, |a| a.steps);
            let verdict = violation(spec, history, &parts[i], stuck, effort, budget);
            return Outcome { verdict, algorithm: by, partitions: parts.len(), states: steps };
        }
        if !answers.iter().flatten().any(|a| matches!(a.kind, PartKind::Undecided)) {
            return Outcome { states: steps, ..join(history, answers) };
        }
        round = round.saturating_mul(4);
    }
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
    limit: u64,
) -> PartAnswer {
    let problem = Problem::new(spec, history, indices, Window::ALL);
    let mut ticker = Ticker::limited(budget, limit);
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
                Err(Refused::Exhausted(Exhausted::Steps(s))) if s == limit => PartKind::Undecided,
                Err(Refused::Exhausted(why)) => PartKind::Exhausted { why, explained, returns },
                Err(Refused::Wrong(what)) => PartKind::Disagreement(format!(
                    "the order found by {by} does not replay: {what}"
                )),
            }
        }
        Ok(Some(Decision::Stuck(number))) => PartKind::Stuck(problem.operations[number as usize]),
        Ok(None) => PartKind::Undecided,
        Err(Exhausted::Steps(steps)) if steps == limit => PartKind::Undecided,
        Err(why) => PartKind::Exhausted { why, explained, returns: problem.spans.returns.len() },
    };
    PartAnswer { kind, by, steps: ticker.steps() }
}

/// Shrinks and explains a violation, and confirms it by a search that shares no search code. That may cost about
/// as much again as the decision did, and a little in any case.
fn violation<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
    stuck: u32,
    effort: u64,
    budget: &Budget,
) -> Verdict {
    let effort = effort.max(ENOUGH);
    let core = minimise(spec, history, indices, stuck, &mut Ticker::new(budget), effort);
    let first_bad = core.first_bad.unwrap_or(stuck);
    let sentence = explain::explain(spec, history, &core, first_bad);
    let rechecked = match recheck(spec, history, &core, budget, effort) {
        Ok(confirmed) => confirmed,
        Err(what) => {
            let (reason, progress) = (Reason::Disagreement(what), String::new());
            return Verdict::Unknown(Unknown { reason, progress });
        }
    };
    let shown = |states: &Vec<S::State>| states.iter().map(|s| spec.show_state(s)).collect();
    Verdict::Violation(Explanation {
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

/// Joins the answers of parts of which none is a violation.
fn join<Op, Ret>(history: &History<Op, Ret>, answers: Vec<Option<PartAnswer>>) -> Outcome {
    let partitions = answers.len();
    let mut names: Vec<&'static str> = answers.iter().flatten().map(|a| a.by).collect();
    names.sort_unstable();
    names.dedup();
    // Parts may have been decided by either search of the pair.
    let algorithm = if names.len() == 1 { names[0] } else { "search" };
    let mut orders = Vec::new();
    let mut unknown: Option<Unknown> = None;
    for answer in answers.into_iter().flatten() {
        let found = match answer.kind {
            PartKind::Order(order) => {
                orders.push(order);
                continue;
            }
            PartKind::Stuck(_) | PartKind::Undecided => continue,
            PartKind::Exhausted { why, explained, returns } => Unknown {
                reason: Reason::Exhausted(why),
                progress: format!("{explained} of {returns} returns explained"),
            },
            PartKind::Disagreement(what) => {
                Unknown { reason: Reason::Disagreement(what), progress: String::new() }
            }
        };
        if unknown.is_none() || matches!(found.reason, Reason::Disagreement(_)) {
            unknown = Some(found);
        }
    }
    let verdict = match unknown {
        Some(unknown) => Verdict::Unknown(unknown),
        None => Verdict::Linearizable(Witness { order: merge(history, orders) }),
    };
    Outcome { verdict, algorithm, partitions, states: 0 }
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
