//! The option `c`: the possible outcomes of pending operations, one by one.

use super::record::Record;
use crate::theory::{Method, Object};
use crate::value::Value;

/// For each pending operation, by place: its assumed result, or `None` if it has no effect.
pub(super) type Completion = Vec<(u32, Option<Value>)>;

/// Every completion of the pending operations among these. Observers are dropped, because their
/// results were not seen.
pub(super) fn completions(
    record: &Record,
    places: &[u32],
) -> impl Iterator<Item = Completion> + use<> {
    let pending = places.iter().filter(|&&x| record.operations[x as usize].is_pending());
    let choices: Vec<(u32, Vec<Option<Value>>)> =
        pending.map(|&x| (x, results(record, places, x))).collect();
    let count = choices.iter().try_fold(1u64, |n, (_, c)| n.checked_mul(c.len() as u64));
    // More than can be tried in any case.
    (0..count.unwrap_or(u64::MAX)).map(move |mut number| {
        let mut completion = Completion::with_capacity(choices.len());
        for (x, results) in &choices {
            let n = results.len() as u64;
            completion.push((*x, results[(number % n) as usize].clone()));
            number /= n;
        }
        completion
    })
}

/// The possible results of a pending operation.
fn results(record: &Record, places: &[u32], x: u32) -> Vec<Option<Value>> {
    let mut results = vec![None];
    let method = record.operations[x as usize].label.method;
    let arguments_of = |method: Method| {
        let labels =
            places.iter().filter(move |&&y| y != x).map(|&y| &record.operations[y as usize].label);
        labels.filter(move |l| l.method == method).map(|l| Some(l.argument.clone()))
    };
    match (record.object(), method) {
        (_, Method::Contains | Method::Read) => {}
        (Object::Set, _) | (_, Method::Add | Method::Write | Method::Acquire) => {
            results.push(Some(Value::Nil));
        }
        (_, Method::Remove) => {
            results.push(Some(Value::Nil));
            results.extend(arguments_of(Method::Add));
        }
        (_, Method::Release) => results.extend(arguments_of(Method::Acquire)),
        (_, Method::Exchange) => {
            results.push(Some(Value::Nil));
            results.extend(arguments_of(Method::Exchange));
        }
    }
    results.dedup();
    results
}
