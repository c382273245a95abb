//! One explanation of a history that fits no order in either of its two meanings.
//!
//! A counter whose increments return totals is decided for both meanings, see
//! [`Builtin::readings`](super::Builtin::readings), and each refutation shows operations that are a
//! violation in its own meaning. In the other meaning they may well fit an order. So both are shown
//! together, after a search has confirmed that the joint operations fit an order in neither;
//! otherwise the shortest prefix that neither explains is shown.

use super::Opaque;
use super::subject::Recorded;
use crate::Budget;
use crate::check::explain::{self, Names};
use crate::check::{self, Algorithm, Outcome, Window};
use crate::history::History;
use crate::verdict::{Explanation, Verdict};

/// Steps for confirming, for each meaning.
const STEPS: u64 = 1 << 18;

/// The outcome for a history that is refuted in all of its meanings. `None` if there is no meaning.
pub(super) fn join(
    readings: &[(Opaque, &'static str)],
    history: &History,
    refuted: &mut Vec<Outcome>,
    budget: &Budget,
) -> Option<Outcome> {
    let others: Vec<Outcome> = refuted.drain(1..).collect();
    let mut outcome = refuted.pop()?;
    let second = others.into_iter().next().map(|outcome| outcome.verdict);
    if let (Verdict::Violation(first), Some(Verdict::Violation(second)), [a, b]) =
        (&mut outcome.verdict, second, readings)
    {
        let mut joint = both(readings, history, first, &second, budget);
        let one = retold(&a.0, &a.0, history, first, &joint);
        let other = retold(&b.0, &a.0, history, &second, &joint);
        joint.sentence = match one == other {
            true => format!("{one} (read as {} or as {})", a.1, b.1),
            false => format!("Read as {}: {one}. Read as {}: {other}", a.1, b.1),
        };
        *first = joint;
    }
    Some(outcome)
}

/// The operations that are a violation in both meanings.
fn both(
    readings: &[(Opaque, &'static str)],
    history: &History,
    first: &Explanation,
    second: &Explanation,
    budget: &Budget,
) -> Explanation {
    let joint = |a: &[u32], b: &[u32]| {
        let mut all = [a, b].concat();
        all.sort_unstable();
        all.dedup();
        all
    };
    let operations = joint(&first.operations, &second.operations);
    let clash = joint(&first.clash, &second.clash);
    let part = |i: u32| history.operations()[i as usize].part;
    let is_one_part = operations.iter().all(|&i| part(i) == part(operations[0]));
    // A prefix is fine as long as it is so in one of the two.
    let fine_until = match (first.fine_until, second.fine_until) {
        (Some(a), Some(b)) if is_one_part => Some(a.max(b)),
        _ => None,
    };
    let until = first.until.max(second.until);
    let starts = first.start.is_none() && second.start.is_none();
    let told = history.select(&operations).prefix(until);
    if starts && readings.iter().all(|(spec, _)| is_violation(spec, &told, budget)) {
        let minimal = first.minimal
            && second.minimal
            && (first.operations == second.operations
                || is_minimal(readings, history, &operations, until, budget));
        let rechecked = first.rechecked && second.rechecked;
        let (start, sentence) = (None, String::new());
        return Explanation {
            operations,
            start,
            until,
            clash,
            sentence,
            fine_until,
            minimal,
            rechecked,
        };
    }
    // A violation stays one when more follows, so the longer of the two prefixes is one in both
    // meanings.
    let mut until = fine_until.map_or(u32::MAX, |last| last + 1);
    let is_told = |&i: &u32| {
        let o = &history.operations()[i as usize];
        fine_until.is_none() || (o.part == part(operations[0]) && o.call < until)
    };
    let mut told: Vec<u32> = (0..history.len() as u32).filter(is_told).collect();
    // Whatever the sentence is about is shown.
    if clash.iter().any(|i| told.binary_search(i).is_err()) {
        (told, until) = ((0..history.len() as u32).collect(), u32::MAX);
    }
    Explanation {
        operations: told,
        until,
        clash,
        fine_until,
        minimal: false,
        rechecked: false,
        ..Explanation::default()
    }
}

/// The sentence of one meaning, in which operations that look alike among the joint operations are
/// distinguished. Operations have their names in the reading `base`, as where they are shown.
fn retold(
    spec: &Opaque,
    base: &Opaque,
    history: &History,
    explanation: &Explanation,
    joint: &Explanation,
) -> String {
    let Ok(subject) = spec.subject(history) else { return explanation.sentence.clone() };
    let from = explanation.start.as_ref().map_or(0, |start| start.from);
    let show = |index: u32| {
        let o = &subject.history.operations()[index as usize];
        let is_open = o.call < from || o.returned >= explanation.until;
        subject.spec.show(Recorded { index, has_result: !o.is_pending() && !is_open })
    };
    let window = Window { from, until: explanation.until };
    let own = Names::new(&subject, window, &explanation.operations, &show);
    // The two meanings may call an operation by different names.
    let Ok(shown) = base.subject(history) else { return explanation.sentence.clone() };
    let recorded = |index: u32| {
        let o = &history.operations()[index as usize];
        let is_open = o.is_pending() || o.call < from || o.returned >= explanation.until;
        shown.spec.show(Recorded { index, has_result: !is_open })
    };
    let all = Names::new(&subject, window, &joint.operations, &recorded).named_otherwise();
    let mut changes: Vec<(String, String)> = Vec::new();
    for &index in &explanation.operations {
        // Only a name that the sentence has can change.
        let shown = show(index);
        let shown = shown.strip_suffix(" -> ?").unwrap_or(&shown);
        let is_told = explanation.sentence.contains(shown) || shown.len() > explain::LONG;
        if !is_told || joint.operations.binary_search(&index).is_err() {
            continue;
        }
        let (name, other) = (own.name(index), all.name(index));
        if name != other {
            changes.push((name, other));
        }
    }
    // A name may be a prefix of another one: the longest first, and each place once.
    changes.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let mut text = explanation.sentence.clone();
    for (n, (name, _)) in changes.iter().enumerate() {
        text = text.replace(name.as_str(), &format!("\u{1}{n}\u{1}"));
    }
    for (n, (_, name)) in changes.iter().enumerate() {
        text = text.replace(&format!("\u{1}{n}\u{1}"), name);
    }
    text
}

/// Whether no observer can be left out: without it the others have an order in one of the meanings.
fn is_minimal(
    readings: &[(Opaque, &'static str)],
    history: &History,
    operations: &[u32],
    until: u32,
    budget: &Budget,
) -> bool {
    let looks = |&i: &u32| {
        readings.iter().all(|(spec, _)| {
            let one = history.select(&[i]).prefix(until);
            spec.subject(&one).is_ok_and(|one| {
                (0..one.history.len() as u32).all(|i| one.spec.observes(Recorded::whole(i)))
            })
        })
    };
    operations.iter().filter(|i| looks(i)).all(|&left_out| {
        let rest: Vec<u32> = operations.iter().copied().filter(|&i| i != left_out).collect();
        let rest = history.select(&rest).prefix(until);
        let orders = |verdict: Option<Verdict>| matches!(verdict, Some(Verdict::Linearizable(_)));
        readings.iter().any(|(spec, _)| orders(decide(spec, &rest, budget)))
    })
}

/// True if the reference search finds no order; false if it does not end soon.
fn is_violation(spec: &Opaque, history: &History, budget: &Budget) -> bool {
    matches!(decide(spec, history, budget), Some(Verdict::Violation(_)))
}

/// The verdict of the reference search within [`STEPS`].
fn decide(spec: &Opaque, history: &History, budget: &Budget) -> Option<Verdict> {
    budget.spend(0).ok()?;
    let steps = Budget::unlimited().steps(STEPS);
    let subject = spec.subject(history).ok()?;
    Some(check::run(&subject, Algorithm::Wgl, true, &steps).verdict)
}
