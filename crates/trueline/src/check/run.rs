//! Splits a history into parts, decides each, and joins the answers.
//!
//! Parts are decided in parallel, in rounds: each round allows every undecided part four times the
//! steps of the one before, so that one hard part does not hide an easy violation in another. The
//! violation that is reported is that of the first part, in order of first appearance, that the
//! earliest round refutes: the same whatever the number of threads. Only that one is shrunk and
//! explained.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::input::Input;
use super::parts::{PartAnswer, PartKind, Parts, join, merge, parts};
use super::problem::{Decision, Problem, Ticker, Window};
use super::replay::{Refused, replay};
use super::rules::{self, Ruling};
use super::search::{self, Which};
use super::translated::{Row, Translated, Unfit};
use super::violation::{MANY, explain_clash};
use super::wing_gong::Reference;
use super::words::Found;
use super::{Algorithm, Outcome, commuting, monitored, theories, wing_gong};
use crate::budget::{Budget, Exhausted};
use crate::history::PENDING;
use crate::monitor::Blame;
use crate::spec::Kind;
use crate::spec::subject::{Claim, Subject};
use crate::verdict::{Reason, Unknown, Verdict, Witness};

/// Steps that a part may take in the first round; every further round allows four times as many.
const FIRST_ROUND: u64 = 1 << 15;

/// See [`super::Check::run`]. `is_tested`: what the specification claims to commute is known to be
/// true, as the laws of built-in ones hold it against `step`. The error says that the history does
/// not fit the specification.
pub(crate) fn run<I: Input>(
    input: &I,
    algorithm: Algorithm,
    is_tested: bool,
    budget: &Budget,
) -> Result<Outcome, I::Error> {
    let commuting = if is_tested { OnceLock::from(Ok(())) } else { OnceLock::new() };
    let by_theory = theories::applies(algorithm);
    let mut claim = match algorithm {
        Algorithm::Auto | Algorithm::Monitor => input.claim().ok_or_else(|| unknown("monitor")),
        _ if by_theory => input.claim().ok_or_else(|| unknown("theory")),
        _ => Err(String::new()),
    };
    if let (false, Ok(claimed)) = (by_theory, &claim) {
        let Some(translated) = Translated::new(input, claimed)? else {
            let Ok(outcome) = run(input.subject()?, algorithm, is_tested, budget);
            return Ok(outcome);
        };
        match translated.trust(input, claimed)? {
            Ok(()) => {
                let case = Case { input, algorithm, claim: &claim, commuting: &commuting, budget };
                return case.monitored(translated, claimed.kind);
            }
            Err(why) => claim = Err(why),
        }
    }
    let subject = input.subject()?;
    let parts = parts(subject);
    if let (true, Ok(claimed)) = (by_theory, &claim) {
        // The largest part shows most of what can happen.
        let trusted = match parts.len() {
            0 => Ok(()),
            _ => monitored::trust(subject, claimed, parts.of(parts.largest())),
        };
        claim = trusted.map(|()| claimed.clone());
    }
    let case = Case { input, algorithm, claim: &claim, commuting: &commuting, budget };
    let why = claim.as_ref().err().cloned().unwrap_or_default();
    let answers = parts.iter().map(|_| Err(why.clone())).collect();
    Ok(case.setting(subject).decide_all(&parts, answers))
}

fn unknown(of_kind: &str) -> String {
    format!("no {of_kind} is known for this specification")
}

/// A history to be decided, and how.
struct Case<'a, I> {
    input: &'a I,
    algorithm: Algorithm,
    claim: &'a Result<Claim, String>,
    commuting: &'a OnceLock<Result<(), String>>,
    budget: &'a Budget,
}

impl<'a, I: Input> Case<'a, I> {
    /// Decides by the monitor of the kind; what it does not fit is searched.
    fn monitored(&self, translated: Translated, kind: Kind) -> Result<Outcome, I::Error> {
        let mut rows = translated.decide(self.budget);
        let others = || rows.iter().flat_map(|row| &row.others);
        let is_refuted =
            |found: &Result<Found, Unfit>| found.as_ref().is_ok_and(Found::is_violation);
        let refuted = others().find_map(|(part, found)| is_refuted(found).then_some(*part));
        let is_before = |part: usize| refuted.is_none_or(|refuted| part < refuted);
        let partitions = translated.parts().len();
        if partitions == 0 || others().any(|(part, found)| found.is_err() && is_before(*part)) {
            return self.searched(&translated, rows, kind);
        }
        let states = self.input.len() as u64;
        let (algorithm, because) = (monitored::name(kind), monitored::permission(kind));
        let outcome = |verdict| Outcome { verdict, algorithm, because, partitions, states };
        let unknown = |reason, progress| Verdict::Unknown(Unknown { reason, progress });
        // A violation is one though a limit was reached elsewhere.
        let mut others: Vec<_> = rows.iter_mut().flat_map(|row| row.others.drain(..)).collect();
        let first = others.iter().position(|(_, found)| is_refuted(found)).unwrap_or(0);
        let first = (first < others.len()).then(|| others.swap_remove(first));
        Ok(outcome(match first {
            None | Some((_, Ok(Found::Order(_)) | Err(_))) => {
                let order = match partitions {
                    1 => rows.pop().map(Row::only).unwrap_or_default(),
                    _ => {
                        let orders = rows.iter().flat_map(|row| row.orders().map(|(_, o)| o));
                        merge(self.input.len(), orders)
                    }
                };
                Verdict::Linearizable(Witness { order })
            }
            Some((part, Ok(Found::Exhausted(why)))) => {
                let progress = format!("{part} of {partitions} parts decided");
                unknown(Reason::Exhausted(why), progress)
            }
            Some((_, Ok(Found::Wrong(what)))) => {
                unknown(Reason::Disagreement(does_not_replay(&what)), String::new())
            }
            Some((_, Ok(Found::Violation { operations, scene, reason })))
                if states > MANY as u64 && !self.input.is_decoded() =>
            {
                drop((translated, rows));
                self.explained(&operations, &scene, reason)?
            }
            Some((part, Ok(found))) => {
                let indices = translated.parts().of(part);
                let setting = self.setting(self.input.subject()?);
                setting.violation(indices, found_by_monitor(kind, found, indices))
            }
        }))
    }

    /// Decides by a search what the monitor does not fit.
    fn searched(
        &self,
        translated: &Translated,
        rows: Vec<Row>,
        kind: Kind,
    ) -> Result<Outcome, I::Error> {
        let subject = self.input.subject()?;
        let parts = translated.parts();
        // What no row came to is behind a violation, or behind the end of the budget.
        let mut answers: Vec<Monitored> = parts.iter().map(|_| Err(String::new())).collect();
        for row in rows {
            for (part, order) in row.orders() {
                let found = Found::Order(order.to_vec());
                answers[part] = Ok(found_by_monitor(kind, found, parts.of(part)));
            }
            for (part, found) in row.others {
                answers[part] = match (found, self.claim) {
                    (Ok(found), _) => Ok(found_by_monitor(kind, found, parts.of(part))),
                    (Err(Unfit::Because(why)), _) => Err(why),
                    (Err(Unfit::NoWord(i)), Ok(claim)) => {
                        Err(monitored::refusal(subject, claim, i))
                    }
                    (Err(Unfit::NoWord(_)), Err(why)) => Err(why.clone()),
                };
            }
        }
        Ok(self.setting(subject).decide_all(parts, answers))
    }

    /// Decodes and explains the operations that clash, and those that touch the same values.
    fn explained(
        &self,
        operations: &[u32],
        scene: &[u32],
        reason: Option<Blame>,
    ) -> Result<Verdict, I::Error> {
        let (scene, source) = match scene {
            [] => (operations, Source::Stream),
            scene => (scene, Source::Part),
        };
        let place = |o: u32| scene.binary_search(&o).ok().map(|place| place as u32);
        let reason = reason.and_then(|blame| blame.renamed(place));
        let clash = operations.iter().filter_map(|&o| place(o)).collect();
        let is_tested = self.commuting.get().is_some_and(Result::is_ok);
        let mut verdict = self.input.with_some(scene, |few, _| {
            explain_clash(few, clash, source, reason, is_tested, self.budget)
        })?;
        if let Verdict::Violation(explanation) = &mut verdict {
            let names = explanation.operations.iter_mut().chain(&mut explanation.clash);
            names.for_each(|n| *n = scene[*n as usize]);
        }
        Ok(verdict)
    }

    fn setting<'s>(&self, subject: &'s Subject<'s>) -> Setting<'s>
    where
        'a: 's,
    {
        let Case { algorithm, claim, commuting, budget, .. } = *self;
        Setting { subject, algorithm, claim, commuting, budget, source: Source::History }
    }
}

/// What a monitor said of a part: the answer, or why it does not fit.
type Monitored = Result<PartAnswer, String>;

/// What the monitor found out about a part.
fn found_by_monitor(kind: Kind, found: Found, indices: &[u32]) -> PartAnswer {
    let (by, because) = (monitored::name(kind), monitored::permission(kind));
    let kind = match found {
        Found::Order(order) => PartKind::Order(order),
        Found::Violation { operations, scene, reason } => {
            PartKind::Clash { operations, scene, reason, shrinks: true }
        }
        Found::Exhausted(why) => PartKind::Exhausted { why, explained: 0, returns: indices.len() },
        Found::Wrong(what) => PartKind::Disagreement(does_not_replay(&what)),
    };
    PartAnswer { kind, by, because, steps: indices.len() as u64 }
}

fn does_not_replay(what: &str) -> String {
    format!("the monitor's order does not replay: {what}")
}

/// Where the operations come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// They are the whole history.
    History,
    /// They are a violation, and everything else that touches its values.
    Part,
    /// They are a violation, as far as it is remembered.
    Stream,
}

/// What all parts have in common.
pub(super) struct Setting<'a> {
    pub(super) subject: &'a Subject<'a>,
    pub(super) algorithm: Algorithm,
    /// What the specification claims to be, or why that does not count.
    pub(super) claim: &'a Result<Claim, String>,
    /// Why what the specification claims to commute does not count, once that was tested.
    pub(super) commuting: &'a OnceLock<Result<(), String>>,
    pub(super) budget: &'a Budget,
    pub(super) source: Source,
}

impl Setting<'_> {
    /// Whether what the specification claims to commute counts. Tested when it is asked for first:
    /// only violations rest on it, an order is replayed.
    pub(super) fn commuting(&self) -> &Result<(), String> {
        self.commuting.get_or_init(|| commuting::trust(self.subject))
    }

    /// Decides in rounds the parts that no monitor decided.
    fn decide_all(&self, parts: &Parts, monitored: Vec<Monitored>) -> Outcome {
        let mut whys = vec![String::new(); parts.len()];
        let mut answers: Vec<Option<PartAnswer>> = Vec::with_capacity(parts.len());
        for (why, answer) in whys.iter_mut().zip(monitored) {
            answers.push(answer.map_err(|because| *why = because).ok());
        }
        let is_violation =
            |answer: &Option<PartAnswer>| answer.as_ref().is_some_and(PartAnswer::is_violation);
        let mut states = 0;
        let mut round = if parts.len() == 1 { u64::MAX } else { FIRST_ROUND };
        loop {
            let refuted = answers.iter().position(is_violation);
            let first_violation = AtomicUsize::new(refuted.unwrap_or(usize::MAX));
            let decide_one = |(i, answer): (usize, &mut Option<PartAnswer>)| {
                let known = answer.as_ref().is_some_and(|a| !matches!(a.kind, PartKind::Undecided));
                if known || i > first_violation.load(Ordering::Relaxed) {
                    return;
                }
                let indices = parts.of(i);
                let found = self.decide(indices, round.max(8 * indices.len() as u64), &whys[i]);
                if found.is_violation() {
                    first_violation.fetch_min(i, Ordering::Relaxed);
                }
                *answer = Some(found);
            };
            if parts.len() == 1 {
                answers.iter_mut().enumerate().for_each(decide_one);
            } else {
                answers.par_iter_mut().enumerate().with_min_len(8).for_each(decide_one);
            }
            states += answers.iter().flatten().map(|a| a.steps).sum::<u64>();
            if let Some(i) = answers.iter().position(is_violation)
                && let Some(answer) = answers[i].take()
            {
                let (algorithm, because) = (answer.by, answer.because.clone());
                let verdict = self.violation(parts.of(i), answer);
                let partitions = parts.len();
                return Outcome { verdict, algorithm, because, partitions, states };
            }
            if !answers.iter().flatten().any(|a| matches!(a.kind, PartKind::Undecided)) {
                return Outcome { states, ..join(&self.subject.history, answers) };
            }
            round = round.saturating_mul(4);
        }
    }

    /// Decides a part; `because`: why no monitor did.
    fn decide(&self, indices: &[u32], limit: u64, because: &str) -> PartAnswer {
        if let Some(because) = self.algorithm.refusal() {
            let (kind, by) = (PartKind::NotApplicable, self.algorithm.name());
            return PartAnswer { kind, by, because: because.into(), steps: 0 };
        }
        if theories::applies(self.algorithm) {
            let by = self.algorithm.name();
            let (steps, kind) = (indices.len() as u64, PartKind::NotApplicable);
            return match self.claim {
                Ok(claim) => self.by_theory(claim, indices, limit),
                Err(because) => Err(because.clone()),
            }
            .unwrap_or_else(|because| PartAnswer { kind, by, because, steps });
        }
        if let Some(answer) = self.ruled(indices) {
            return answer;
        }
        let because = because.to_string();
        if self.algorithm == Algorithm::Monitor {
            let (kind, by, steps) = (PartKind::NotApplicable, "monitor", 0);
            return self.refuted(indices).unwrap_or(PartAnswer { kind, by, because, steps });
        }
        let answer = self.searched(indices, limit, true);
        match self.commuting.get() {
            // It was asked, and the answer does not rest on the claim.
            Some(Err(wrong)) => PartAnswer { because: wrong.clone(), ..answer },
            _ => PartAnswer { because, ..answer },
        }
    }

    /// Decides by the object's theory. Whatever is not proven by it, or needs an explanation, the
    /// exact monitor or the search decides, too: both must agree.
    fn by_theory(&self, claim: &Claim, indices: &[u32], limit: u64) -> Result<PartAnswer, String> {
        let by = self.algorithm.name();
        let (subject, budget) = (self.subject, self.budget);
        let history = &subject.history;
        let found = theories::decide(self.algorithm, subject, claim, indices, budget)?;
        let exactly = || {
            let found = monitored::decide(subject, claim, indices, PENDING, budget);
            match found.map(|found| found_by_monitor(claim.kind, found, indices)) {
                Ok(answer) => answer,
                Err(why) => {
                    let setting = Setting { algorithm: Algorithm::Auto, ..*self };
                    setting.decide(indices, limit, &why)
                }
            }
        };
        let is_return = |&&i: &&u32| history.operations()[i as usize].returned != PENDING;
        let (kind, because) = match found {
            theories::Found::Order(order) => {
                let mut ticker = Ticker::new(budget);
                let kind = match replay(subject, indices, &order, &mut ticker) {
                    Ok(()) => PartKind::Order(order),
                    Err(Refused::Exhausted(why)) => {
                        let returns = indices.iter().filter(is_return).count();
                        PartKind::Exhausted { why, explained: returns, returns }
                    }
                    Err(Refused::Wrong(what)) => PartKind::Disagreement(format!(
                        "the order found by {by} does not replay: {what}"
                    )),
                };
                (kind, String::new())
            }
            theories::Found::Nothing => {
                let exact = exactly();
                let because = match exact.is_violation() {
                    true => format!("it missed this violation, {} found it", exact.by),
                    false => format!("it saw no violation, {} decided", exact.by),
                };
                (exact.kind, because)
            }
            theories::Found::Violation { operation, step, is_exact } => {
                let seen = format!("seen at step {step}");
                let kind = if is_exact {
                    PartKind::Stuck(operation)
                } else {
                    match exactly().kind {
                        PartKind::Order(_) => PartKind::Disagreement(format!(
                            "{by} refutes at step {step} what an exact checker finds an order for"
                        )),
                        kind @ (PartKind::Stuck(_) | PartKind::Clash { .. }) => kind,
                        // Nobody explains it; that it is one is proven.
                        _ => {
                            let called = |&i: &u32| {
                                let operations = history.operations();
                                operations[i as usize].call
                                    < operations[operation as usize].returned
                            };
                            let operations = indices.iter().copied().filter(called).collect();
                            PartKind::Clash {
                                operations,
                                scene: indices.to_vec(),
                                reason: None,
                                shrinks: true,
                            }
                        }
                    }
                };
                (kind, seen)
            }
            theories::Found::Exhausted(why, explained) => {
                let returns = indices.iter().filter(is_return).count();
                (PartKind::Exhausted { why, explained, returns }, String::new())
            }
        };
        Ok(PartAnswer { kind, by, because, steps: indices.len() as u64 })
    }

    /// The answer of a rule that needs no search, where one fits that decides either way.
    fn ruled(&self, indices: &[u32]) -> Option<PartAnswer> {
        if !matches!(self.algorithm, Algorithm::Auto | Algorithm::Monitor) {
            return None;
        }
        let ruling = rules::decide_growing(self.subject, indices, PENDING)?;
        let kind = match ruling {
            Ruling::Order(order) => PartKind::Order(order),
            Ruling::Violation(v) => clash_of(v, indices),
        };
        let because = "it only grows, and it is clear which additions are shown".into();
        Some(PartAnswer { kind, by: "growth-monitor", because, steps: indices.len() as u64 })
    }

    /// A violation that a rule sees which finds violations only.
    fn refuted(&self, indices: &[u32]) -> Option<PartAnswer> {
        let (violation, by) = rules::refute(self.subject, indices)?;
        let (kind, steps) = (clash_of(violation, indices), indices.len() as u64);
        Some(PartAnswer { kind, by, because: String::new(), steps })
    }

    /// Decides by a search. One that got stuck with the help of a wrong claim of what commutes is
    /// repeated without it.
    fn searched(&self, indices: &[u32], limit: u64, reorders: bool) -> PartAnswer {
        let problem = Problem::new(self.subject, indices, Window::ALL).reordering(reorders);
        let mut ticker = Ticker::limited(self.budget, limit);
        let reference = |ticker: &mut Ticker<'_>, which| {
            wing_gong::search(&problem.spans, &mut problem.states(), ticker, which).map(Some)
        };
        let (decision, explained, by) = match self.algorithm {
            Algorithm::Wgl => (reference(&mut ticker, Reference::Wgl), 0, "wgl"),
            Algorithm::WingGong => (reference(&mut ticker, Reference::WingGong), 0, "wing-gong"),
            _ => {
                let which = match self.algorithm {
                    Algorithm::DepthFirst => Which::DepthFirst,
                    Algorithm::JustInTime => Which::JustInTime,
                    _ => Which::Both,
                };
                // What takes a search long may be plain to a rule.
                let mut refuted = None;
                let mut ask = || {
                    refuted = self.refuted(indices);
                    refuted.is_some()
                };
                let mut nobody = || false;
                let ask: &mut dyn FnMut() -> bool =
                    if self.algorithm == Algorithm::Auto { &mut ask } else { &mut nobody };
                let found = search::search_or(&problem, &mut ticker, which, u64::MAX, ask);
                if let Some(answer) = refuted {
                    return PartAnswer { steps: ticker.steps(), ..answer };
                }
                (found.decision, found.explained, found.by)
            }
        };
        let returns = problem.spans.returns.len();
        let over = |why: &Exhausted| *why == Exhausted::Steps(limit);
        let kind = match decision {
            Ok(Some(Decision::Order(order))) => {
                let order: Vec<u32> = order.iter().map(|&n| problem.index(n)).collect();
                match replay(self.subject, indices, &order, &mut ticker) {
                    Ok(()) => PartKind::Order(order),
                    Err(Refused::Exhausted(why)) if over(&why) => PartKind::Undecided,
                    Err(Refused::Exhausted(why)) => PartKind::Exhausted { why, explained, returns },
                    Err(Refused::Wrong(what)) => PartKind::Disagreement(format!(
                        "the order found by {by} does not replay: {what}"
                    )),
                }
            }
            Ok(Some(Decision::Stuck(_))) if reorders && self.commuting().is_err() => {
                return self.searched(indices, limit, false);
            }
            Ok(Some(Decision::Stuck(number))) => PartKind::Stuck(problem.index(number)),
            Ok(None) => PartKind::Undecided,
            Err(why) if over(&why) => PartKind::Undecided,
            Err(why) => PartKind::Exhausted { why, explained, returns },
        };
        PartAnswer { kind, by, because: String::new(), steps: ticker.steps() }
    }
}

/// What a rule found, as it is.
fn clash_of(violation: rules::Violation, scene: &[u32]) -> PartKind {
    let rules::Violation { operations, reason } = violation;
    PartKind::Clash { operations, scene: scene.to_vec(), reason, shrinks: false }
}
