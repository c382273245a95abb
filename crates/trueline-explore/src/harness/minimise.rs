//! Shrinks a failing scenario as long as it fails in the same way.
//!
//! It repeats the following until nothing helps any more: leave out a thread, or make its calls
//! before or after the others instead; leave out an operation; replace an operation by an earlier
//! one of the list that has the same name (another argument) and is not called yet, so that
//! distinguishable calls stay distinguishable. A smaller scenario obeys the rule of the test. Then
//! it searches for the failure with the fewest preemptions. The attempts depend on counts of
//! executions, so that the same failure gives the same report. Only the budget of the test can end
//! it early, and the report then says so.

use super::Operate;
use super::operate::has_handles;
use super::outcome::Minimised;
use super::scenario::Scenario;
use super::setting::{Attempt, Effort, Ended, Failing, Setting};
use trueline_report::grouped;

/// The executions allowed for one smaller scenario. A violation usually comes among the first.
const ONE: u64 = 20_000;
/// The executions allowed for all of them.
const ALL: u64 = 200_000;

/// The smallest failure of this kind found, and whether all scenarios one step smaller were tried.
pub(crate) fn minimise<T: 'static, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    failing: Failing<O, O::Ret>,
    attempt: &Attempt<'_, T, O>,
) -> (Failing<O, O::Ret>, Minimised) {
    let mut best = failing;
    let mut left = ALL;
    let mut stopped = None;
    let mut fails = |scenario: &Scenario, effort: Effort, kind| {
        if stopped.is_some() {
            return None;
        }
        if left == 0 {
            stopped = Some(format!("{} executions were spent on it", grouped(ALL)));
            return None;
        }
        if let Err(why) = setting.budget.spend(0) {
            stopped = Some(why.to_string());
            return None;
        }
        let tried = attempt(setting, scenario, &effort);
        // A round that waits, on real threads, takes as long as very many that do not.
        let waited = if tried.waited { ONE } else { 1 };
        left = left.saturating_sub(tried.counts.executions.max(waited));
        match tried.end {
            Ended::Failed(smaller) if smaller.kind == kind => Some(*smaller),
            _ => None,
        }
    };
    let names: Vec<String> = setting.alphabet.iter().map(name).collect();
    loop {
        let candidates = smaller(&best.scenario, &names, has_handles::<T, O>());
        let found = candidates
            .into_iter()
            .filter_map(|scenario| setting.adapt(scenario))
            .filter(|scenario| *scenario != best.scenario)
            .find_map(|scenario| fails(&scenario, Effort::Shrinking(ONE), best.kind));
        match found {
            Some(smaller) => best = smaller,
            None => break,
        }
    }
    if let Some(calmer) = fails(&best.scenario, Effort::FewestPreemptions(ONE), best.kind) {
        best = calmer;
    }
    (best, stopped.map_or(Minimised::Fully, Minimised::Stopped))
}

/// The name of an operation: its text up to the arguments.
fn name(op: &impl std::fmt::Debug) -> String {
    let text = format!("{op:?}");
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    text[..end].to_string()
}

/// The scenarios that are one step smaller, the most promising first. With `handles`, threads may
/// call operations on handles of their own.
fn smaller(scenario: &Scenario, names: &[String], handles: bool) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Scenario)| {
        let mut changed = scenario.clone();
        change(&mut changed);
        changed.lanes.retain(|lane| !lane.calls.is_empty());
        if changed != *scenario && changed.len() > 0 {
            all.push(changed);
        }
    };
    for i in 0..scenario.lanes.len() {
        add(&|s| drop(s.lanes.remove(i)));
    }
    for i in 0..scenario.before.len() {
        add(&|s| {
            s.before.remove(i);
        });
    }
    for i in 0..scenario.after.len() {
        add(&|s| {
            s.after.remove(i);
        });
    }
    for (i, lane) in scenario.lanes.iter().enumerate() {
        for j in (0..lane.calls.len()).rev() {
            add(&|s| {
                s.lanes[i].calls.remove(j);
            });
        }
    }
    // Thread 0 may have no handle, or one that does not support these operations.
    if !handles && scenario.lanes.len() > 1 && scenario.lanes.iter().all(|lane| lane.role == 0) {
        for i in 0..scenario.lanes.len() {
            add(&|s| {
                let lane = s.lanes.remove(i);
                s.before.extend(lane.calls);
            });
            add(&|s| {
                let lane = s.lanes.remove(i);
                s.after.splice(0..0, lane.calls);
            });
        }
    }
    let called: Vec<usize> = scenario.calls().into_iter().map(|(_, call)| call).collect();
    let plainer = |call: usize| {
        let called = &called;
        (0..call).filter(move |other| names[*other] == names[call] && !called.contains(other))
    };
    for (i, &call) in scenario.before.iter().enumerate() {
        plainer(call).for_each(|other| add(&|s| s.before[i] = other));
    }
    for (i, lane) in scenario.lanes.iter().enumerate() {
        for (j, &call) in lane.calls.iter().enumerate() {
            plainer(call).for_each(|other| add(&|s| s.lanes[i].calls[j] = other));
        }
    }
    for (i, &call) in scenario.after.iter().enumerate() {
        plainer(call).for_each(|other| add(&|s| s.after[i] = other));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_scenarios_lose_threads_then_operations_then_arguments() {
        let names = ["push", "push", "pop"].map(String::from);
        let scenario: Scenario = "/1.2,2/".parse().unwrap();
        let all: Vec<String> =
            smaller(&scenario, &names, false).iter().map(|s| s.to_string()).collect();
        let expected = [
            "/2/", "/1.2/", "/1,2/", "/2,2/", "/1.2/", "1.2/2/", "/2/1.2", "2/1.2/", "/1.2/2",
            "/0.2,2/",
        ];
        assert_eq!(all, expected);
        assert!(smaller(&scenario, &names, true).iter().all(|s| s.before.is_empty()));
        assert_eq!(name(&"x"), "");
        assert_eq!(name(&Some(1)), "Some");
    }
}
