//! The result of a stream monitor that stops early: the violation with its explanation, or why it
//! is undecided.

use super::{Monitor, Stopped, Violation};
use crate::budget::Budget;
use crate::check::explain::Names;
use crate::check::{Outcome, Source, Window, explain_clash};
use crate::history::History;
use crate::monitor::Blame;
use crate::spec::subject::Subject;
use crate::spec::{Kind, Spec};
use crate::stream::{Clash, Id, Stop};
use crate::verdict::{Explanation, Start, Verdict};

/// How many operations are shown if other relevant ones are forgotten.
const RECENT: usize = 12;
/// Maximum steps of an explanation.
const EXPLAIN: u64 = 20_000_000;

impl<S: Spec> Monitor<S> {
    /// Explains a clash.
    pub(super) fn stopped(&mut self, stop: Stop) -> Stopped<S::Op, S::Ret> {
        let clash = match stop {
            Stop::Clash(clash) => clash,
            // The deferred part may contain an earlier violation.
            Stop::Unfit(why) => match self.engines.iter_mut().try_for_each(|e| e.give_up()) {
                Err(Stop::Clash(clash)) => clash,
                _ => return Stopped::Unknown(why),
            },
        };
        // A false claim leads to false violations.
        if let Err(untrue) = self.test_claim() {
            return untrue;
        }
        if self.is_rash(&clash) {
            return Stopped::Unknown("undecided: a pending operation may be a write, and is classified only when it returns".into());
        }
        let (history, ids) = self.records.history(&clash.operations, &self.processes, &self.parts);
        let place = |id: Id| ids.iter().position(|&other| other == id).map(|place| place as u32);
        let reason = clash.reason.as_ref().and_then(|blame| blame.renamed(place));
        let verdict = self.explain(&clash, &history, reason);
        if let Verdict::Unknown(unknown) = verdict {
            return Stopped::Unknown(unknown.reason.to_string());
        }
        let outcome = Outcome {
            verdict,
            algorithm: self.algorithm(),
            because: String::new(),
            partitions: self.parts.len(),
            states: 0,
        };
        Stopped::Violation(Box::new(Violation { history, outcome }))
    }

    /// Whether a register has a value that may come from an open operation whose kind is known only
    /// after it has returned.
    fn is_rash(&self, clash: &Clash) -> bool {
        let engine_of = |id: &Id| self.records.peek(*id).map(|record| record.engine);
        let engine = clash.operations.iter().find_map(engine_of);
        let is_mute = |id: &Id| {
            let record = self.records.peek(*id);
            record.is_some_and(|record| {
                engine.is_none_or(|engine| record.engine == engine)
                    && !self.spec.observes(&record.op, None)
                    && (self.canonical.action)(&record.op, None).is_none()
            })
        };
        self.canonical.kind == Kind::Register && self.open.iter().any(is_mute)
    }

    fn explain(
        &self,
        clash: &Clash,
        history: &History<S::Op, S::Ret>,
        reason: Option<Blame>,
    ) -> Verdict {
        // Initial values that left are forgotten: without them the operations show something else.
        let starts_full = (self.is_forgiving || !self.canonical.initial.is_empty())
            && !matches!(
                self.canonical.kind,
                Kind::Register | Kind::Set | Kind::Mutex | Kind::Snapshot
            );
        let show = |index: u32| {
            let o = &history.operations()[index as usize];
            self.spec.show(&o.op, o.result.as_ref())
        };
        let all: Vec<u32> = (0..history.len() as u32).collect();
        let subject = Subject::new(&self.spec, history);
        let names = Names::new(&subject, Window::ALL, &all, &show);
        let quoted = |index: u32| names.name(index);
        let is_cut = clash.partial && matches!(self.canonical.kind, Kind::Set | Kind::Mutex);
        if !starts_full && !is_cut {
            let budget = Budget::unlimited().steps(EXPLAIN);
            let all = all.clone();
            let known = reason.clone();
            let verdict = explain_clash(&subject, all, Source::Stream, known, false, &budget);
            match verdict {
                Verdict::Violation(mut explanation) if clash.partial => {
                    let text = reason.as_ref().map(|blame| blame.render(quoted));
                    explanation.sentence = text.unwrap_or(explanation.sentence);
                    return Verdict::Violation(explanation);
                }
                verdict if !clash.partial => return verdict,
                _ => {}
            }
        }
        // The remaining operations of a set may be a violation for a false reason, since the
        // history of a key begins in the middle; those of a container need not be one: they are
        // shown without a claim.
        let last = |&i: &u32| {
            let o = &history.operations()[i as usize];
            if o.is_pending() { 0 } else { o.returned }
        };
        let culprits = match &reason {
            Some(blame) => blame.operations().to_vec(),
            None => all.iter().copied().max_by_key(last).into_iter().collect(),
        };
        let sentence = match (&reason, culprits.first()) {
            (Some(blame), _) => blame.render(quoted),
            (None, Some(&last)) if starts_full => format!(
                "{} contradicts the initial contents and the operations before it, some of which \
                 may no longer be in memory",
                quoted(last)
            ),
            (None, Some(&last)) => format!(
                "{} contradicts the operations before it, some of which are no longer in memory",
                quoted(last)
            ),
            (None, None) => "Operations contradict each other that are no longer in memory".into(),
        };
        // The last ones of many, and those that the sentence is about.
        let mut operations = all.clone();
        operations.sort_unstable_by_key(last);
        let recent = operations.split_off(operations.len().saturating_sub(RECENT));
        let mut operations = [recent, culprits.clone()].concat();
        operations.sort_unstable();
        operations.dedup();
        let left = match starts_full {
            true => {
                "what the initial contents and earlier operations, some of which may no longer be \
                 in memory, had left"
            }
            false => "what earlier operations, which are no longer in memory, had left",
        };
        let states = vec![left.into()];
        Verdict::Violation(Explanation {
            operations,
            start: Some(Start { from: 0, states }),
            until: u32::MAX,
            clash: culprits,
            sentence,
            fine_until: None,
            minimal: false,
            rechecked: false,
        })
    }
}
