//! Tests what a specification claims to commute, on the operations of the history at hand.
//!
//! A wrong claim makes a search drop orders that it should try, so that it reports a violation where there is none. So
//! the claim is tested before a violation that may rest on it is reported: all pairs of operations that are said to
//! commute, in the initial state and those that the operations lead to, the nearest first, as far as [`MOST`] tests go. A
//! claim that fails is not used at all. One that is wrong only in states beyond those is not noticed. What built-in
//! specifications claim is tested once and for all, by their laws.

use std::collections::HashSet;

use crate::history::History;
use crate::spec::{Data, Spec};

/// Different operations that are looked at, how far they are looked for, and pairs in states that are tested at most.
const KINDS: usize = 24;
const LOOK: usize = 20_000;
const MOST: usize = 1024;

/// An operation and its result.
type Known<'a, S> = (&'a <S as Spec>::Op, Option<&'a <S as Spec>::Ret>);

/// The error says which operations do not commute.
pub(super) fn trust<S: Spec>(spec: &S, history: &History<S::Op, S::Ret>) -> Result<(), String> {
    if !spec.reorders() {
        return Ok(());
    }
    let mut kinds: Vec<Known<'_, S>> = Vec::new();
    let mut seen = HashSet::new();
    for o in history.operations().iter().take(LOOK) {
        // In a prefix of the history its result may not be known yet.
        for known in [(&o.op, o.result.as_ref().filter(|_| !o.is_pending())), (&o.op, None)] {
            if seen.insert(known) {
                kinds.push(known);
            }
        }
        if kinds.len() >= KINDS {
            break;
        }
    }
    let all = (0..kinds.len()).flat_map(|n| (0..=n).map(move |m| (m, n)));
    let pairs: Vec<(usize, usize)> =
        all.filter(|&(m, n)| spec.commutes(kinds[m], kinds[n])).collect();
    if pairs.is_empty() {
        return Ok(());
    }
    let mut states = vec![spec.initial()];
    let mut reached: HashSet<S::State> = states.iter().cloned().collect();
    let most = (MOST / pairs.len()).max(4);
    let mut at = 0;
    while at < states.len() {
        let state = states[at].clone();
        at += 1;
        let after = |from: &S::State, (op, ret): Known<'_, S>| {
            let mut next = Vec::new();
            spec.step(from, op, ret, &mut next);
            next
        };
        for &(m, n) in &pairs {
            let both = |first: usize, second: usize| {
                let between = after(&state, kinds[first]);
                between.iter().flat_map(|s| after(s, kinds[second])).collect::<Vec<S::State>>()
            };
            if !are_same(&both(m, n), &both(n, m)) {
                let shown = |n: usize| spec.show(kinds[n].0, kinds[n].1);
                return Err(format!(
                    "the specification says that {} and {} commute, but they do not where the object is {}",
                    shown(m),
                    shown(n),
                    spec.show_state(&state)
                ));
            }
        }
        for &(op, _) in &kinds {
            for next in after(&state, (op, None)) {
                if states.len() < most && !reached.contains(&next) {
                    reached.insert(next.clone());
                    states.push(next);
                }
            }
        }
    }
    Ok(())
}

fn are_same<State: Data>(one: &[State], other: &[State]) -> bool {
    // Most objects are deterministic.
    if one.len() <= 1 && other.len() <= 1 {
        return one == other;
    }
    let set = |states: &[State]| states.iter().cloned().collect::<HashSet<State>>();
    set(one) == set(other)
}
