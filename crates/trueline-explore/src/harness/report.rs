//! The text of an outcome.

use super::Operate;
use super::outcome::Counts;
use super::setting::{Failing, Setting};
use trueline::Verdict;

/// Why, in one sentence.
pub(crate) fn sentence<O, R>(failing: &Failing<O, R>) -> String {
    let explained = failing.drawn.as_ref().and_then(|drawn| drawn.outcome.as_ref());
    match explained.map(|outcome| &outcome.verdict) {
        Some(Verdict::Violation(explanation)) => explanation.sentence.clone(),
        _ => failing.what.lines().next().unwrap_or_default().to_string(),
    }
}

/// The report on a failure.
pub(crate) fn failure<T, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    failing: &Failing<O, O::Ret>,
    counts: &Counts,
) -> String {
    format!(
        "{}: {}\n  {}\n  {counts}\n",
        failing.kind,
        failing.scenario.show(setting.alphabet),
        sentence(failing)
    )
}
