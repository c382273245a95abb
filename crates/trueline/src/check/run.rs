//! Splits a history into parts, decides each, and joins the answers.
//!
//! Parts are decided in parallel, in rounds: each round allows every undecided part four times the steps of the one
//! before, so that one hard part does not hide an easy violation in another. The violation that is reported is that
//! of the first part, in order of first appearance, that the earliest round refutes: the same whatever the number of
//! threads. Only that one is shrunk and explained.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::minimise::{Core, Shrinking, is_minimal, shrink};
use super::problem::{Decision, Problem, Ticker, Window};
use super::replay::{Refused, replay};
use super::rules::{self, Ruling};
use super::search::{self, Which};
use super::wing_gong::Reference;
use super::words::Found;
use super::{Algorithm, Outcome, commuting, explain, monitored, theories, wing_gong};
use crate::budget::{Budget, Exhausted};
use crate::history::{self, History, PENDING};
use crate::monitor::Blame;
use crate::spec::{Canonical, Spec};
use crate::verdict::{Explanation, Reason, Start, Unknown, Verdict, Witness};

/// Steps that shrinking a violation, and confirming it, may take in any case.
const ENOUGH: u64 = 12_000;
/// Steps that confirming a short story may take in any case. Most need a few hundred; a dozen operations, most of them
/// pending, need a million.
const RECHECK: u64 = 1 << 22;
const SHORT: usize = 24;

/// Parts of more operations than this are not searched for the longest prefix that is fine by bisection.
pub(super) const MANY: usize = 20_000;

/// Steps that a part may take in the first round; every further round allows four times as many.
const FIRST_ROUND: u64 = 1 << 15;

/// The answer for one part.
struct PartAnswer {
    kind: PartKind,
    by: &'static str,
    /// Why no monitor decided.
    because: String,
    steps: u64,
}

enum PartKind {
    Order(Vec<u32>),
    /// No order: no search got past the return of this operation.
    Stuck(u32),
    /// No order: a monitor found these operations, and says which one is to blame.
    Clash {
        operations: Vec<u32>,
        /// These and everything else that touches their values, where that is not too much.
        scene: Vec<u32>,
        reason: Option<Blame>,
        /// Leaving out some of them would make another violation of it, for another reason.
        shrinks: bool,
    },
    NotApplicable,
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
    is_tested: bool,
    budget: &Budget,
) -> Outcome {
    let parts = parts(spec, history);
    let canonical = canonical(spec, history, algorithm, &parts);
    let setting = Setting {
        spec,
        history,
        algorithm,
        canonical: &canonical,
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
            return Outcome { states, ..join(history, answers) };
        }
        round = round.saturating_mul(4);
    }
}

/// The specification's claim to be of a known kind, or why it does not count.
fn canonical<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    algorithm: Algorithm,
    parts: &[Vec<u32>],
) -> Result<Canonical<S::Op, S::Ret>, String> {
    let of_kind = match algorithm {
        Algorithm::Auto | Algorithm::Monitor => "monitor",
        Algorithm::Saturate(_) | Algorithm::Symbolic(_) | Algorithm::Enumerate(_) => "theory",
        _ => return Err(String::new()),
    };
    let none = || format!("no {of_kind} is known for this specification");
    let canonical = spec.canonical().ok_or_else(none)?;
    // The largest part shows most of what can happen.
    if let Some(largest) = parts.iter().rev().max_by_key(|p| p.len()) {
        monitored::trust(spec, &canonical, history, largest)?;
    }
    Ok(canonical)
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
struct Setting<'a, S: Spec> {
    spec: &'a S,
    history: &'a History<S::Op, S::Ret>,
    algorithm: Algorithm,
    canonical: &'a Result<Canonical<S::Op, S::Ret>, String>,
    /// Why what the specification claims to commute does not count, once that was tested.
    commuting: &'a OnceLock<Result<(), String>>,
    budget: &'a Budget,
    source: Source,
}

impl<S: Spec> Setting<'_, S> {
    /// Whether what the specification claims to commute counts. Tested when it is asked for first: only violations
    /// rest on it, an order is replayed.
    fn commuting(&self) -> &Result<(), String> {
        self.commuting.get_or_init(|| commuting::trust(self.spec, self.history))
    }

    fn decide(&self, indices: &[u32], limit: u64) -> PartAnswer {
        if self.algorithm == Algorithm::RoundUp {
            let because = "it decides quasi linearizability only, see --quasi".into();
            let kind = PartKind::NotApplicable;
            return PartAnswer { kind, by: "round-up", because, steps: 0 };
        }
        let which = match self.algorithm {
            Algorithm::Saturate(_) => Some(theories::Which::Saturate),
            Algorithm::Symbolic(_) => Some(theories::Which::Symbolic),
            Algorithm::Enumerate(_) => Some(theories::Which::Enumerate),
            _ => None,
        };
        if let Some(which) = which {
            let by = self.algorithm.name();
            let (steps, kind) = (indices.len() as u64, PartKind::NotApplicable);
            return match self.canonical {
                Ok(canonical) => self.by_theory(which, canonical, indices, limit),
                Err(because) => Err(because.clone()),
            }
            .unwrap_or_else(|because| PartAnswer { kind, by, because, steps });
        }
        let monitored = match self.canonical {
            Ok(canonical) => self.monitored(canonical, indices),
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

    /// Decides by the object's theory. Whatever is not proven by it, or needs an explanation, the exact monitor or the
    /// search decides, too: both must agree.
    fn by_theory(
        &self,
        which: theories::Which,
        canonical: &Canonical<S::Op, S::Ret>,
        indices: &[u32],
        limit: u64,
    ) -> Result<PartAnswer, String> {
        let by = self.algorithm.name();
        let options = self.algorithm.options();
        let (history, budget) = (self.history, self.budget);
        let found =
            theories::decide(which, options, self.spec, canonical, history, indices, budget)?;
        let exactly = || {
            let setting = Setting { algorithm: Algorithm::Auto, ..*self };
            setting.decide(indices, limit)
        };
        let is_return = |&&i: &&u32| history.operations()[i as usize].returned != PENDING;
        let (kind, because) = match found {
            theories::Found::Order(order) => {
                let mut ticker = Ticker::new(budget);
                let kind = match replay(self.spec, history, indices, &order, &mut ticker) {
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
            theories::Found::Violation { operation, step } => {
                let seen = format!("seen at step {step}");
                let is_exact = which != theories::Which::Saturate && !options.removal;
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

    fn monitored(
        &self,
        canonical: &Canonical<S::Op, S::Ret>,
        indices: &[u32],
    ) -> Result<PartAnswer, String> {
        let (spec, history) = (self.spec, self.history);
        let found = monitored::decide(spec, canonical, history, indices, PENDING, self.budget)?;
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
        let by = monitored::name(canonical.kind);
        let because = monitored::permission(canonical.kind);
        Ok(PartAnswer { kind, by, because, steps: indices.len() as u64 })
    }

    /// The answer of a rule that needs no search, where one fits that decides either way.
    fn ruled(&self, indices: &[u32]) -> Option<PartAnswer> {
        if !matches!(self.algorithm, Algorithm::Auto | Algorithm::Monitor) {
            return None;
        }
        let ruling = rules::decide_growing(self.spec, self.history, indices, PENDING)?;
        let kind = match ruling {
            Ruling::Order(order) => PartKind::Order(order),
            Ruling::Violation(v) => clash_of(v, indices),
        };
        let because = "it only grows, and it is clear which additions are shown".into();
        Some(PartAnswer { kind, by: "growth-monitor", because, steps: indices.len() as u64 })
    }

    /// A violation that a rule sees which finds violations only.
    fn refuted(&self, indices: &[u32]) -> Option<PartAnswer> {
        let (violation, by) = rules::refute(self.spec, self.history, indices)?;
        let (kind, steps) = (clash_of(violation, indices), indices.len() as u64);
        Some(PartAnswer { kind, by, because: String::new(), steps })
    }

    /// Decides by a search. One that got stuck with the help of a wrong claim of what commutes is repeated without it.
    fn searched(&self, indices: &[u32], limit: u64, reorders: bool) -> PartAnswer {
        let problem =
            Problem::new(self.spec, self.history, indices, Window::ALL).reordering(reorders);
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
                let order: Vec<u32> =
                    order.iter().map(|&n| problem.operations[n as usize]).collect();
                match replay(self.spec, self.history, indices, &order, &mut ticker) {
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
            Ok(Some(Decision::Stuck(number))) => {
                PartKind::Stuck(problem.operations[number as usize])
            }
            Ok(None) => PartKind::Undecided,
            Err(why) if over(&why) => PartKind::Undecided,
            Err(why) => PartKind::Exhausted { why, explained, returns },
        };
        PartAnswer { kind, by, because: String::new(), steps: ticker.steps() }
    }

    /// Shrinks and explains a violation, and confirms it by a search that shares no search code. That may cost
    /// about as much again as the decision did, and a little in any case.
    fn violation(&self, indices: &[u32], answer: PartAnswer) -> Verdict {
        let (spec, history) = (self.spec, self.history);
        let effort = answer.steps.max(ENOUGH);
        let by_rule = matches!(answer.kind, PartKind::Clash { shrinks: false, .. });
        let mut ticker = Ticker::new(self.budget);
        let reorders = self.commuting().is_ok();
        let (core, sentence) = match answer.kind {
            PartKind::Clash { operations, scene, reason, shrinks } => {
                let first_bad = self.first_bad_return(indices);
                let story = self.by_kind(&scene, first_bad, &mut ticker);
                story.unwrap_or_else(|| {
                    let mut core = match shrinks {
                        true => shrink(spec, history, operations, reorders, &mut ticker, ENOUGH),
                        false => self.as_it_is(operations, first_bad, &mut ticker),
                    };
                    core.first_bad = first_bad;
                    let sentence = explain::explain(spec, history, &core, reason.as_ref());
                    (core, sentence)
                })
            }
            PartKind::Stuck(stuck) => {
                let mut shrinking =
                    Shrinking::new(spec, history, indices, stuck, reorders, &mut ticker, effort);
                let first_bad = shrinking.first_bad();
                let story = self.by_kind(indices, first_bad, shrinking.ticker());
                story.unwrap_or_else(|| {
                    let core = shrinking.minimise();
                    let sentence = explain::explain(spec, history, &core, None);
                    (core, sentence)
                })
            }
            _ => unreachable!("only violations are explained"),
        };
        let is_short = core.operations.len() <= SHORT && !by_rule;
        let limit = if is_short { effort.max(RECHECK) } else { effort };
        let rechecked = match recheck(spec, history, &core, reorders, self.budget, limit) {
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

    /// Tells the violation in the words of its kind, where there are such. A claim to be of a kind is tested first.
    fn by_kind(
        &self,
        operations: &[u32],
        first_bad: Option<u32>,
        ticker: &mut Ticker<'_>,
    ) -> Option<(Core<S::State>, explain::Sentence)> {
        let (spec, history) = (self.spec, self.history);
        if operations.is_empty() {
            return None;
        }
        let is_claimed = spec.vocabulary().is_some_and(|words| words.is_claimed());
        if let (Err(_), Some(claim), Source::History, true) =
            (self.canonical, spec.canonical(), self.source, is_claimed)
        {
            monitored::trust(spec, &claim, history, operations).ok()?;
        }
        let complete = self.source != Source::Stream;
        let reorders = self.commuting().is_ok();
        let (sentence, operations) =
            explain::by_kind(spec, history, operations, complete, first_bad, reorders, ticker)?;
        Some((self.as_it_is(operations, first_bad, ticker), sentence))
    }

    /// A violation that a rule found. Whether something can be left out of it is tested, not taken from the rule.
    fn as_it_is(
        &self,
        operations: Vec<u32>,
        first_bad: Option<u32>,
        ticker: &mut Ticker<'_>,
    ) -> Core<S::State> {
        let (spec, history, reorders) = (self.spec, self.history, self.commuting().is_ok());
        let minimal = is_minimal(spec, history, &operations, reorders, ticker, ENOUGH);
        Core { operations, window: Window::ALL, start: None, minimal, first_bad }
    }

    /// The operation whose return ends the shortest prefix that is a violation, by bisection with the monitor. Not
    /// for long histories. (It may come behind all operations of the explanation: in a prefix, the results of
    /// operations that are still open are not known.)
    fn first_bad_return(&self, indices: &[u32]) -> Option<u32> {
        if indices.len() > MANY || self.source != Source::History {
            return None;
        }
        let (spec, history) = (self.spec, self.history);
        let violates = |until: u32| match self.canonical {
            Ok(canonical) => {
                match monitored::decide(spec, canonical, history, indices, until, self.budget) {
                    Ok(Found::Violation { .. }) => Some(true),
                    Ok(Found::Order(_)) => Some(false),
                    Ok(_) => None,
                    Err(_) => grows_wrong(spec, history, indices, until),
                }
            }
            Err(_) => grows_wrong(spec, history, indices, until),
        };
        let returned = |&i: &u32| self.history.operations()[i as usize].returned;
        let mut returns: Vec<u32> =
            indices.iter().copied().filter(|i| returned(i) != PENDING).collect();
        returns.sort_unstable_by_key(returned);
        let (mut low, mut high) = (0, returns.len().checked_sub(1)?);
        while low < high {
            let middle = (low + high) / 2;
            let until = returned(&returns[middle]) + 1;
            if violates(until)? { high = middle } else { low = middle + 1 }
        }
        Some(returns[high])
    }
}

/// Whether the prefix of a collection that only grows is a violation, where the rule fits it.
fn grows_wrong<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
    until: u32,
) -> Option<bool> {
    let ruling = rules::decide_growing(spec, history, indices, until)?;
    Some(matches!(ruling, Ruling::Violation(_)))
}

/// What a rule found, as it is.
fn clash_of(violation: rules::Violation, scene: &[u32]) -> PartKind {
    let rules::Violation { operations, reason } = violation;
    PartKind::Clash { operations, scene: scene.to_vec(), reason, shrinks: false }
}

/// True where the reference search finds no order either; false where it did not end in time.
fn recheck<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    core: &Core<S::State>,
    reorders: bool,
    budget: &Budget,
    limit: u64,
) -> Result<bool, String> {
    let initial = [spec.initial()];
    let starts = core.start.as_deref().unwrap_or(&initial);
    if starts.is_empty() {
        return Err("a story without a state to start in".into());
    }
    for start in starts {
        let problem = Problem::new(spec, history, &core.operations, core.window)
            .reordering(reorders)
            .starting_in(start);
        let mut ticker = Ticker::limited(budget, limit);
        let reference = Reference::Confirming;
        match wing_gong::search(&problem.spans, &mut problem.states(), &mut ticker, reference) {
            Ok(Decision::Stuck(_)) => {}
            Ok(Decision::Order(_)) => {
                return Err("the reference search orders what the search called a violation".into());
            }
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

impl PartAnswer {
    fn is_violation(&self) -> bool {
        matches!(self.kind, PartKind::Stuck(_) | PartKind::Clash { .. })
    }
}

/// Explains a violation that was found without decoding the history: `operations` of `history`, which holds what there is
/// to tell and nothing else.
pub(crate) fn explain_clash<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    operations: Vec<u32>,
    source: Source,
    reason: Option<Blame>,
    budget: &Budget,
) -> Verdict {
    let canonical = Err(String::new());
    let algorithm = Algorithm::Monitor;
    let commuting = &OnceLock::new();
    let canonical = &canonical;
    let setting = Setting { spec, history, algorithm, canonical, commuting, budget, source };
    let scene: Vec<u32> = (0..history.len() as u32).collect();
    let kind = PartKind::Clash { operations, scene: scene.clone(), reason, shrinks: true };
    let answer = PartAnswer { kind, by: "", because: String::new(), steps: 0 };
    setting.violation(&scene, answer)
}

/// Joins the answers of parts of which none is a violation.
fn join<Op, Ret>(history: &History<Op, Ret>, answers: Vec<Option<PartAnswer>>) -> Outcome {
    let partitions = answers.len();
    let mut names: Vec<&'static str> = answers.iter().flatten().map(|a| a.by).collect();
    names.sort_unstable();
    names.dedup();
    let algorithm = match names.as_slice() {
        [one] => one,
        ["depth-first", "just-in-time"] => "search",
        _ => "auto",
    };
    // Where parts differ, what stood in the way of the monitor says most.
    let reasons = || answers.iter().flatten().filter(|a| !a.because.is_empty());
    let because = reasons().find(|a| !a.by.ends_with("monitor")).or_else(|| reasons().next());
    let because = because.map(|a| a.because.clone()).unwrap_or_default();
    let mut orders = Vec::new();
    let mut unknown: Option<Unknown> = None;
    for answer in answers.into_iter().flatten() {
        let found = match answer.kind {
            PartKind::Order(order) => {
                orders.push(order);
                continue;
            }
            PartKind::Stuck(_) | PartKind::Clash { .. } | PartKind::Undecided => continue,
            PartKind::NotApplicable => {
                let (reason, progress) = (Reason::NotApplicable(answer.because), String::new());
                Unknown { reason, progress }
            }
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
        None => Verdict::Linearizable(Witness { order: merge(history.len(), &orders) }),
    };
    Outcome { verdict, algorithm, because, partitions, states: 0 }
}

/// One order of the whole from an order of each part: every operation gets a moment inside its interval, the
/// latest call up to and including it in its part's order; moments are compared across parts. Operations of one
/// moment are of one part and stay as they are. Operations are numbered by their calls, so a moment is a number, and
/// counting sorts them: O(n).
pub(crate) fn merge(
    operations: usize,
    orders: impl IntoIterator<Item = impl AsRef<[u32]>> + Clone,
) -> Vec<u32> {
    // How many have a moment; then where the next one of that moment goes.
    let mut places = vec![0u32; operations];
    let moment = |latest: &mut u32, &index: &u32| {
        *latest = index.max(*latest);
        Some((*latest as usize, index))
    };
    for order in orders.clone() {
        order.as_ref().iter().scan(0, moment).for_each(|(moment, _)| places[moment] += 1);
    }
    let mut count = 0;
    for place in &mut places {
        count += std::mem::replace(place, count);
    }
    let mut merged = vec![0; count as usize];
    for order in orders {
        for (moment, index) in order.as_ref().iter().scan(0, moment) {
            merged[places[moment] as usize] = index;
            places[moment] += 1;
        }
    }
    merged
}
