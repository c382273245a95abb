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

use super::parts::{PartAnswer, PartKind, join, parts};
use super::problem::{Decision, Problem, Ticker, Window};
use super::replay::{Refused, replay};
use super::rules::{self, Ruling};
use super::search::{self, Which};
use super::wing_gong::Reference;
use super::words::Found;
use super::{Algorithm, Outcome, commuting, monitored, theories, wing_gong};
use crate::budget::{Budget, Exhausted};
use crate::history::PENDING;
use crate::spec::subject::{Claim, Subject};

/// Steps that a part may take in the first round; every further round allows four times as many.
const FIRST_ROUND: u64 = 1 << 15;

/// See [`super::Check::run`]. `is_tested`: what the specification claims to commute is known to be
/// true, as the laws of built-in ones hold it against `step`.
pub(crate) fn run(
    subject: &Subject<'_>,
    algorithm: Algorithm,
    is_tested: bool,
    budget: &Budget,
) -> Outcome {
    let parts = parts(subject);
    let setting = Setting {
        subject,
        algorithm,
        claim: &claim(subject, algorithm, &parts),
        commuting: &if is_tested { OnceLock::from(Ok(())) } else { OnceLock::new() },
        budget,
        source: Source::History,
    };
    let mut answers: Vec<Option<PartAnswer>> = parts.iter().map(|_| None).collect();
    let mut states = 0;
    let mut round = if parts.len() == 1 { u64::MAX } else { FIRST_ROUND };
    loop {
        let first_violation = AtomicUsize::new(usize::MAX);
        let decide_one = |(i, answer): (usize, &mut Option<PartAnswer>)| {
            let known = answer.as_ref().is_some_and(|a| !matches!(a.kind, PartKind::Undecided));
            if known || i > first_violation.load(Ordering::Relaxed) {
                return;
            }
            let found = setting.decide(&parts[i], round.max(8 * parts[i].len() as u64));
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
        let violating = answers.iter().position(|a| a.as_ref().is_some_and(|a| a.is_violation()));
        if let Some(i) = violating
            && let Some(answer) = answers[i].take()
        {
            let (algorithm, because) = (answer.by, answer.because.clone());
            let verdict = setting.violation(&parts[i], answer);
            let partitions = parts.len();
            return Outcome { verdict, algorithm, because, partitions, states };
        }
        if !answers.iter().flatten().any(|a| matches!(a.kind, PartKind::Undecided)) {
            return Outcome { states, ..join(&subject.history, answers) };
        }
        round = round.saturating_mul(4);
    }
}

/// The specification's claim to be of a known kind, or why it does not count.
fn claim(subject: &Subject<'_>, algorithm: Algorithm, parts: &[Vec<u32>]) -> Result<Claim, String> {
    let of_kind = match algorithm {
        Algorithm::Auto | Algorithm::Monitor => "monitor",
        algorithm if theories::applies(algorithm) => "theory",
        _ => return Err(String::new()),
    };
    let none = || format!("no {of_kind} is known for this specification");
    let claim = subject.spec.claim().ok_or_else(none)?;
    // The largest part shows most of what can happen.
    if let Some(largest) = parts.iter().rev().max_by_key(|p| p.len()) {
        monitored::trust(subject, &claim, largest)?;
    }
    Ok(claim)
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

    fn decide(&self, indices: &[u32], limit: u64) -> PartAnswer {
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
        let monitored = match self.claim {
            Ok(claim) => self.monitored(claim, indices),
            Err(why) => Err(why.clone()),
        };
        match monitored {
            Ok(answer) => answer,
            Err(because) if self.algorithm == Algorithm::Monitor => {
                let none = || PartAnswer {
                    kind: PartKind::NotApplicable,
                    by: "monitor",
                    because,
                    steps: 0,
                };
                self.ruled(indices).or_else(|| self.refuted(indices)).unwrap_or_else(none)
            }
            Err(because) => match self.ruled(indices) {
                Some(answer) => answer,
                None => {
                    let answer = self.searched(indices, limit, true);
                    match self.commuting.get() {
                        // It was asked, and the answer does not rest on the claim.
                        Some(Err(wrong)) => PartAnswer { because: wrong.clone(), ..answer },
                        _ => PartAnswer { because, ..answer },
                    }
                }
            },
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
            let setting = Setting { algorithm: Algorithm::Auto, ..*self };
            setting.decide(indices, limit)
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

    fn monitored(&self, claim: &Claim, indices: &[u32]) -> Result<PartAnswer, String> {
        let found = monitored::decide(self.subject, claim, indices, PENDING, self.budget)?;
        let (returns, explained) = (indices.len(), 0);
        let kind = match found {
            Found::Order(order) => PartKind::Order(order),
            Found::Violation { operations, scene, reason } => {
                PartKind::Clash { operations, scene, reason, shrinks: true }
            }
            Found::Exhausted(why) => PartKind::Exhausted { why, explained, returns },
            Found::Wrong(what) => {
                PartKind::Disagreement(format!("the monitor's order does not replay: {what}"))
            }
        };
        let by = monitored::name(claim.kind);
        let because = monitored::permission(claim.kind);
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
