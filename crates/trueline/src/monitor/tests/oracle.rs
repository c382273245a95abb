//! The oracle: all orders of a small history, by brute force. It shares no code with any monitor.

use std::collections::HashSet;
use std::hash::Hash;

use crate::monitor::{NEVER, Op};

/// A sequential object.
pub(super) trait Object {
    type Action;
    type State: Clone + Eq + Hash;
    fn initial(&self) -> Self::State;
    /// The same object with only these of its initial contents.
    fn only(&self, initial: &[u32]) -> Self;
    /// The states that the action can lead to with the result that it had.
    fn step(&self, state: &Self::State, action: &Self::Action) -> Vec<Self::State>;
}

/// True iff some order of all returned and any pending operations is legal.
pub(super) fn linearizable<O: Object>(object: &O, ops: &[Op<O::Action>]) -> bool {
    assert!(ops.len() < 32);
    let mut seen = HashSet::new();
    let mut todo = vec![(0u32, object.initial())];
    while let Some((done, state)) = todo.pop() {
        let left = |i: &usize| done >> i & 1 == 0;
        let first_return = (0..ops.len()).filter(left).map(|i| ops[i].span.returned).min();
        let Some(first_return) = first_return.filter(|&r| r != NEVER) else { return true };
        if !seen.insert((done, state.clone())) {
            continue;
        }
        for i in (0..ops.len()).filter(left).filter(|&i| ops[i].span.call < first_return) {
            for next in object.step(&state, &ops[i].action) {
                todo.push((done | 1 << i, next));
            }
        }
    }
    false
}

/// Runs an order on the object and says what is wrong with it.
pub(super) fn replay<O: Object>(
    object: &O,
    ops: &[Op<O::Action>],
    order: &[u32],
) -> Result<(), String> {
    let mut seen = vec![false; ops.len()];
    let mut latest_call = 0;
    let mut states = vec![object.initial()];
    for &i in order {
        let op = &ops[i as usize];
        if std::mem::replace(&mut seen[i as usize], true) {
            return Err(format!("operation {i} twice"));
        }
        latest_call = latest_call.max(op.span.call);
        if op.span.returned < latest_call {
            return Err(format!("operation {i} after one that was called later than it returned"));
        }
        states = states.iter().flat_map(|s| object.step(s, &op.action)).collect();
        if states.is_empty() {
            return Err(format!("operation {i} is not legal"));
        }
    }
    match (0..ops.len()).find(|&i| !seen[i] && ops[i].span.returned != NEVER) {
        Some(i) => Err(format!("operation {i} is missing")),
        None => Ok(()),
    }
}
