//! Splits a history into parts, decides each, and joins the answers.

use rayon::prelude::*;

use super::problem::{Decision, Problem, Ticker};
use super::{Algorithm, Outcome, replay, wing_gong};
use crate::budget::{Budget, Exhausted};
use crate::history::{self, History, PENDING};
use crate::spec::Spec;
use crate::verdict::{Explanation, Reason, Unknown, Verdict, Witness};

/// See [`super::Check::run`].
pub(super) fn run<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    algorithm: Algorithm,
    budget: &Budget,
) -> Outcome {
    let parts = parts(spec, history);
    let decided: Vec<_> = parts
        .par_iter()
        .map(|indices| {
            let problem = Problem::new(spec, history, indices, PENDING);
            let mut ticker = Ticker::new(budget);
            let mut states = problem.states();
            let found = wing_gong::search(
                &problem.spans,
                &mut states,
                &mut ticker,
                algorithm != Algorithm::WingGong,
            );
            (found, problem.operations, ticker.steps())
        })
        .collect();
    let _ = decided;
    todo!()
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
