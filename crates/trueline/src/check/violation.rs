//! Shrinks a violation, explains it, and confirms it by a search that shares no code with the one
//! that found it.

use std::sync::OnceLock;

use super::minimise::{Core, Shrinking, is_minimal, shrink};
use super::parts::{PartAnswer, PartKind};
use super::problem::{Decision, Problem, Ticker, Window};
use super::rules::{self, Ruling};
use super::run::{Setting, Source};
use super::wing_gong::{self, Reference};
use super::words::Found;
use super::{Algorithm, explain, monitored};
use crate::budget::Budget;
use crate::history::PENDING;
use crate::monitor::Blame;
use crate::spec::OpaqueState;
use crate::spec::subject::Subject;
use crate::verdict::{Explanation, Reason, Start, Unknown, Verdict};

/// Steps that are always allowed for shrinking a violation and for confirming it.
const ENOUGH: u64 = 12_000;
/// Steps that are always allowed for confirming a short story. Most need a few hundred; a dozen
/// operations, most of them pending, need a million.
const RECHECK: u64 = 1 << 22;
const SHORT: usize = 24;

/// In larger parts, the longest linearizable prefix is not searched by bisection.
pub(super) const MANY: usize = 20_000;

impl Setting<'_> {
    /// Shrinks and explains a violation, and confirms it by a search that shares no search code.
    /// That may cost about as much again as the decision, and always a small amount.
    pub(super) fn violation(&self, indices: &[u32], answer: PartAnswer) -> Verdict {
        let subject = self.subject;
        let effort = answer.steps.max(ENOUGH);
        let by_rule = matches!(answer.kind, PartKind::Clash { shrinks: false, .. });
        let mut ticker = Ticker::new(self.budget);
        let is_whole = self.source != Source::Stream;
        let reorders = self.commuting().is_ok();
        let (core, sentence) = match answer.kind {
            PartKind::Clash { operations, scene, reason, shrinks } => {
                let returned = |&i: &u32| subject.history.operations()[i as usize].returned;
                let certain = operations.iter().filter(|&i| returned(i) != PENDING);
                let last = certain.copied().max_by_key(returned);
                let first_bad = self.first_bad_return(indices, last);
                let story = self.by_kind(&scene, first_bad, last, &mut ticker);
                story.unwrap_or_else(|| {
                    let mut core = match shrinks {
                        true => shrink(subject, operations, reorders, &mut ticker, ENOUGH),
                        false => self.as_it_is(operations, first_bad, &mut ticker),
                    };
                    core.first_bad = first_bad;
                    let sentence = explain::explain(subject, &core, reason.as_ref(), is_whole);
                    (core, sentence)
                })
            }
            PartKind::Stuck(stuck) => {
                let mut shrinking =
                    Shrinking::new(subject, indices, stuck, reorders, &mut ticker, effort);
                let first_bad = shrinking.first_bad();
                let story = self.by_kind(indices, first_bad, Some(stuck), shrinking.ticker());
                story.unwrap_or_else(|| {
                    let core = shrinking.minimise();
                    let sentence = explain::explain(subject, &core, None, is_whole);
                    (core, sentence)
                })
            }
            _ => unreachable!("only violations are explained"),
        };
        let is_short = core.operations.len() <= SHORT && !by_rule;
        let limit = if is_short { effort.max(RECHECK) } else { effort };
        let rechecked = match recheck(subject, &core, reorders, self.budget, limit) {
            Ok(confirmed) => confirmed,
            Err(what) => {
                let (reason, progress) = (Reason::Disagreement(what), String::new());
                return Verdict::Unknown(Unknown { reason, progress });
            }
        };
        let show = |state: &OpaqueState| subject.spec.show_state(state);
        let shown = |states: &Vec<OpaqueState>| states.iter().map(show).collect();
        Verdict::Violation(Explanation {
            start: core.start.as_ref().map(|s| Start { from: core.window.from, states: shown(s) }),
            until: core.window.until,
            clash: sentence.clash,
            sentence: sentence.text,
            fine_until: core.first_bad.map(|i| subject.history.operations()[i as usize].returned),
            minimal: core.minimal,
            rechecked,
            operations: core.operations,
        })
    }

    /// Explains the violation in the terms of its kind, if it has one. A claim to be of a kind is
    /// tested first. `blamed`: where to start if the first bad return is not known.
    fn by_kind(
        &self,
        operations: &[u32],
        first_bad: Option<u32>,
        blamed: Option<u32>,
        ticker: &mut Ticker<'_>,
    ) -> Option<(Core, explain::Sentence)> {
        let subject = self.subject;
        if operations.is_empty() {
            return None;
        }
        let is_claimed = subject.spec.portrait().is_some_and(|portrait| portrait.is_claimed);
        if let (Err(_), Some(claim), Source::History, true) =
            (self.claim, subject.spec.claim(), self.source, is_claimed)
        {
            monitored::trust(subject, &claim, operations).ok()?;
        }
        let complete = self.source != Source::Stream;
        let reorders = self.commuting().is_ok();
        let (sentence, operations) = explain::by_kind(
            subject,
            operations,
            complete,
            first_bad.or(blamed),
            reorders,
            ticker,
        )?;
        Some((self.as_it_is(operations, first_bad, ticker), sentence))
    }

    /// A violation that a rule found. Whether it is minimal is tested, not taken from the rule.
    fn as_it_is(
        &self,
        operations: Vec<u32>,
        first_bad: Option<u32>,
        ticker: &mut Ticker<'_>,
    ) -> Core {
        let reorders = self.commuting().is_ok();
        let minimal = is_minimal(self.subject, &operations, reorders, ticker, ENOUGH);
        Core { operations, window: Window::ALL, start: None, minimal, first_bad }
    }

    /// The operation whose return ends the shortest prefix that is a violation, by bisection with
    /// the monitor. It starts at `likely`, because mostly the violation is complete when the last
    /// of the blamed operations returns. Not for long histories. (This return may come after all
    /// operations of the explanation, because in a prefix the results of open operations are
    /// unknown.)
    fn first_bad_return(&self, indices: &[u32], likely: Option<u32>) -> Option<u32> {
        if indices.len() > MANY || self.source != Source::History {
            return None;
        }
        let subject = self.subject;
        let violates = |until: u32| match self.claim {
            Ok(claim) => match monitored::decide(subject, claim, indices, until, self.budget) {
                Ok(Found::Violation { .. }) => Some(true),
                Ok(Found::Order(_)) => Some(false),
                Ok(_) => None,
                Err(_) => grows_wrong(subject, indices, until),
            },
            Err(_) => grows_wrong(subject, indices, until),
        };
        let returned = |&i: &u32| subject.history.operations()[i as usize].returned;
        let mut returns: Vec<u32> =
            indices.iter().copied().filter(|i| returned(i) != PENDING).collect();
        returns.sort_unstable_by_key(returned);
        // Every prefix before `low` is fine; the one at `high` is a violation.
        let (mut low, mut high) = (0, returns.len().checked_sub(1)?);
        let likely = likely.and_then(|likely| returns.iter().position(|&i| i == likely));
        let mut next = likely.filter(|&place| place < high);
        let mut reach = 1;
        while low < high {
            let middle = next.take().unwrap_or((low + high) / 2);
            let until = returned(&returns[middle]) + 1;
            if violates(until)? {
                high = middle;
                // Away from there in growing steps.
                let below = high.saturating_sub(reach);
                next = (likely.is_some() && below > low).then_some(below);
            } else {
                low = middle + 1;
                let above = middle + reach;
                next = (likely.is_some_and(|l| l <= middle) && above < high).then_some(above);
            }
            reach = reach.saturating_mul(4);
        }
        Some(returns[high])
    }
}

/// Whether the prefix of a collection that only grows is a violation, if the rule fits it.
fn grows_wrong(subject: &Subject<'_>, indices: &[u32], until: u32) -> Option<bool> {
    let ruling = rules::decide_growing(subject, indices, until)?;
    Some(matches!(ruling, Ruling::Violation(_)))
}

/// True if the reference search finds no order either; false if it did not end in time.
fn recheck(
    subject: &Subject<'_>,
    core: &Core,
    reorders: bool,
    budget: &Budget,
    limit: u64,
) -> Result<bool, String> {
    let initial = [subject.spec.initial()];
    let starts = core.start.as_deref().unwrap_or(&initial);
    if starts.is_empty() {
        return Err("a story without a state to start in".into());
    }
    for start in starts {
        let problem = Problem::new(subject, &core.operations, core.window)
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

/// Explains a violation that was found without decoding the history: `operations` of the subject,
/// which contains exactly what the explanation needs. `is_tested`: see [`super::run::run`].
pub(crate) fn explain_clash(
    subject: &Subject<'_>,
    operations: Vec<u32>,
    source: Source,
    reason: Option<Blame>,
    is_tested: bool,
    budget: &Budget,
) -> Verdict {
    let algorithm = Algorithm::Monitor;
    let claim = &Err(String::new());
    let commuting = &if is_tested { OnceLock::from(Ok(())) } else { OnceLock::new() };
    let setting = Setting { subject, algorithm, claim, commuting, budget, source };
    let scene: Vec<u32> = (0..subject.history.len() as u32).collect();
    let kind = PartKind::Clash { operations, scene: scene.clone(), reason, shrinks: true };
    let answer = PartAnswer { kind, by: "", because: String::new(), steps: 0 };
    setting.violation(&scene, answer)
}
