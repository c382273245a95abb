//! Runs a scenario on real threads, many times.

use std::sync::Arc;
use std::time::Duration;

use super::checking::{Checking, Found, quasi_sentence, stuck_sentence};
use super::crew::{self, Done, Round};
use super::histories::Performed;
use super::outcome::Kind;
use super::scenario::Scenario;
use super::setting::{Effort, Ended, Failing, Setting, Tried};
use super::table::Table;
use super::{Invariant, Make, Operate, Stress};

/// Rounds between two evaluations of their results.
const BATCH: u64 = 500;

/// The data that threads of their own need.
pub(crate) struct Owned<T, O> {
    pub(crate) make: Arc<Make<T>>,
    pub(crate) invariant: Option<Arc<Invariant<T>>>,
    pub(crate) alphabet: Arc<[O]>,
}

/// Runs one scenario on real threads.
pub(crate) fn try_scenario<T, O>(
    mode: &Stress,
    owned: &Owned<T, O>,
    setting: &Setting<'_, T, O>,
    scenario: &Scenario,
    effort: &Effort,
) -> Tried<O, O::Ret>
where
    T: Send + Sync + 'static,
    O: Operate<T>,
{
    let checking = Checking::new(setting, scenario);
    let rounds = match effort {
        Effort::Full => mode.rounds_each,
        // A failure that occurred once occurs again sooner or later; here it gets more rounds than
        // before.
        Effort::Shrinking(most) => (mode.rounds_each * 10).min(*most),
        Effort::Replay(_) => mode.rounds,
        // Real threads are not scheduled by the harness.
        Effort::FewestPreemptions(_) => 0,
    };
    let mut results = Table::<O::Ret>::default();
    let mut left = rounds;
    let (mut ran, mut blocked, mut waited) = (0, 0, false);
    let mut end = Ended::Passed { scope: String::from("real threads; a sample"), sample: true };
    while left > 0 {
        let batch = left.min(BATCH);
        left -= batch;
        let (make, invariant) = (&owned.make, owned.invariant.as_ref());
        let patience = mode.patience;
        let crew::Rounds { all, cut } = crew::run(
            make,
            invariant,
            &owned.alphabet,
            scenario,
            batch as usize,
            patience,
            setting.budget,
        );
        ran += all.len() as u64;
        setting.progress.executions(all.len() as u64);
        let waits = all.last().is_some_and(|round| matches!(round.ended, crew::Ended::Stuck));
        waited |= waits;
        let failed = all
            .into_iter()
            .find_map(|round| look(setting, &checking, scenario, &mut results, round, patience));
        if let Some(failed) = failed {
            end = failed;
            break;
        }
        if let Some(why) = cut {
            end = Ended::Cut(format!("real threads; a sample; stopped: {why}"));
            break;
        }
        if waits {
            // Other rounds would wait for as long, and leave more threads behind.
            blocked = 1;
            let scope = String::from("real threads; a sample, up to a round that waits as it may");
            end = Ended::Passed { scope, sample: true };
            break;
        }
    }
    let mut counts = checking.counts();
    (counts.executions, counts.blocked) = (ran, blocked);
    Tried { counts, waited, end }
}

/// Checks a round. Returns `None` if nothing is wrong with it.
fn look<T, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    checking: &Checking<'_, T, O>,
    scenario: &Scenario,
    results: &mut Table<O::Ret>,
    round: Round<O::Ret>,
    patience: Duration,
) -> Option<Ended<O, O::Ret>> {
    let performed: Vec<Performed> = round
        .done
        .iter()
        .map(|done| {
            let result =
                done.returned.as_ref().map(|(_, result)| u64::from(results.number_of(result)));
            Performed { call: done.call, result }
        })
        .collect();
    let before = before(&round.done);
    let result = |number: u64| results.value(number as u32);
    let mut failing = Failing {
        scenario: scenario.clone(),
        kind: Kind::Other,
        what: String::new(),
        drawn: None,
        culprits: Vec::new(),
        schedule: None,
        steps: Vec::new(),
        race: None,
    };
    let waiting = || match round.ended {
        crew::Ended::Stuck => vec![format!("no return within {} s", patience.as_secs_f64())],
        _ => Vec::new(),
    };
    match &round.ended {
        crew::Ended::Panicked(call, message) => {
            let op = &setting.alphabet[scenario.calls()[*call].1];
            failing.kind = Kind::Panic;
            failing.what = format!("`{op:?}` panics: {message}");
            failing.culprits = vec![*call];
            failing.drawn = Some(checking.drawn(&performed, &before, result));
        }
        crew::Ended::Invariant(what) => {
            failing.kind = Kind::Invariant;
            failing.what.clone_from(what);
            failing.drawn = Some(checking.drawn(&performed, &before, result));
        }
        crew::Ended::Well | crew::Ended::Stuck => {
            match checking.look(&performed, &before, result, waiting)? {
                Found::Error(what) => return Some(Ended::Error(what)),
                Found::Spent(why) => {
                    let scope = format!("real threads; a sample; stopped: {why}");
                    return Some(Ended::Cut(scope));
                }
                Found::NotLinearizable(drawn) => {
                    failing.kind = Kind::NotLinearizable;
                    failing.drawn = Some(*drawn);
                }
                Found::NotQuasiLinearizable { drawn, factor } => {
                    failing.kind = Kind::NotLinearizable;
                    failing.what = quasi_sentence(factor);
                    failing.drawn = Some(*drawn);
                }
                Found::Stuck { drawn, states, waiting, culprits } => {
                    failing.kind = Kind::Stuck;
                    failing.what = stuck_sentence(setting, scenario, &culprits, &states, &waiting);
                    failing.drawn = Some(*drawn);
                    failing.culprits = culprits;
                }
            }
        }
    }
    Some(Ended::Failed(Box::new(failing)))
}

/// The operations that had returned before each was called, as bits.
fn before<R>(done: &[Done<R>]) -> Vec<u128> {
    let earlier = |called: Duration| {
        let returned =
            |other: &Done<R>| other.returned.as_ref().is_some_and(|(at, _)| *at < called);
        let bits = done.iter().enumerate().filter(|(_, other)| returned(other));
        bits.fold(0u128, |set, (j, _)| set | 1 << j)
    };
    done.iter().map(|one| earlier(one.called)).collect()
}
