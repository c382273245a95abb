//! The brute-force oracle: tries every order. It shares no code with any checker and has no
//! cleverness to be wrong about; what it says is the definition of linearizability (Herlihy and
//! Wing, section 2.2).

pub mod compare;
pub mod every_spec;
pub mod random;

use trueline::history::{History, PENDING};
use trueline::spec::Spec;

/// True iff some order of all returned and any pending operations is legal and respects real time.
pub fn is_linearizable<S: Spec>(spec: &S, history: &History<S::Op, S::Ret>) -> bool {
    let mut placed = vec![false; history.len()];
    can_finish(spec, history, &mut placed, &spec.initial())
}

fn can_finish<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    placed: &mut [bool],
    state: &S::State,
) -> bool {
    let operations = history.operations();
    let left: Vec<usize> = (0..operations.len()).filter(|&i| !placed[i]).collect();
    if left.iter().all(|&i| operations[i].returned == PENDING) {
        return true;
    }
    for &i in &left {
        // Nothing that is left may have returned before this one was called.
        if left.iter().any(|&j| operations[j].returned < operations[i].call) {
            continue;
        }
        let mut next = Vec::new();
        let result =
            if operations[i].returned == PENDING { None } else { operations[i].result.as_ref() };
        spec.step(state, &operations[i].op, result, &mut next);
        placed[i] = true;
        if next.iter().any(|after| can_finish(spec, history, placed, after)) {
            return true;
        }
        placed[i] = false;
    }
    false
}
