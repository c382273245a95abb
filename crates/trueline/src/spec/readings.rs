//! One explanation of a history that fits no order in either of its two meanings.
//!
//! A counter whose increments tell totals is decided for both, see [`Builtin::readings`], and each refutation shows
//! operations that are a violation in its own meaning. In the other one they may well fit an order. So both are shown
//! together, after a search has confirmed that the joint operations fit in neither; else the prefix is that neither explains.

use super::Builtin;
use crate::Budget;
use crate::check::{Algorithm, Check, Outcome};
use crate::history::History;
use crate::verdict::{Explanation, Verdict};

/// Steps that confirming may cost, for each meaning.
const STEPS: u64 = 1 << 18;

/// The outcome for a history that all of its meanings refute. `None` where there is no meaning.
pub(super) fn join<B: Builtin>(
    readings: &[(B, &'static str)],
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
        let sentence = match first.sentence == second.sentence {
            true => format!("{} (read as {} or as {})", first.sentence, a.1, b.1),
            false => {
                format!("Read as {}: {}. Read as {}: {}", a.1, first.sentence, b.1, second.sentence)
            }
        };
        *first = both(readings, history, first, &second, budget);
        first.sentence = sentence;
    }
    Some(outcome)
}

/// What is a violation in both meanings.
fn both<B: Builtin>(
    readings: &[(B, &'static str)],
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
        let minimal = first.minimal && second.minimal;
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
    // A violation stays one when more follows, so that the longer of the two prefixes is one in both meanings.
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

/// True where the reference search finds no order; false where it does not end soon.
fn is_violation<B: Builtin>(spec: &B, history: &History, budget: &Budget) -> bool {
    if budget.spend(0).is_err() {
        return false;
    }
    let steps = Budget::unlimited().steps(STEPS);
    let decoded = history.decode(|method, args, result| spec.decode(method, args, result));
    decoded.is_ok_and(|decoded| {
        let check = Check::new(spec.clone()).algorithm(Algorithm::Wgl).budget(&steps);
        matches!(check.run(&decoded).verdict, Verdict::Violation(_))
    })
}
