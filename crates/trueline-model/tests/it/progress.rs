//! Progress properties on programs made by hand.

use std::sync::Arc;

use crate::support::*;
use trueline::Budget;
use trueline_model::engine::{Lasso, Property, Verdict, progress};
use trueline_model::program::*;

#[track_caller]
fn holds(program: &Arc<Program>, property: Property) {
    let report = progress(program, &property, &Budget::unlimited());
    assert!(matches!(report.verdict, Verdict::Holds), "{property:?}: {:?}", report.verdict);
}

#[track_caller]
fn fails(program: &Arc<Program>, property: Property) -> Lasso {
    match progress(program, &property, &Budget::unlimited()).verdict {
        Verdict::Violation(lasso) => lasso,
        other => panic!("{property:?}: {other:?}"),
    }
}

fn response(operation: OpId, weakly_fair: bool) -> Property {
    Property::Response { operation, results: None, weakly_fair }
}

/// A lock as one bit, taken by spinning or by waiting; `release` says whether it is given back.
fn lock(processes: usize, spinning: bool, release: bool, limit: Option<u32>) -> Arc<Program> {
    let l = || shared(0);
    let take = if spinning {
        vec![when(eq(get(l()), c(0)), vec![set(l(), c(1)), goto(1)], vec![goto(0)])]
    } else {
        vec![Stmt::Await(eq(get(l()), c(0))), set(l(), c(1)), goto(1)]
    };
    let give = if release {
        vec![set(l(), c(0)), Stmt::Return(vec![])]
    } else {
        vec![Stmt::Return(vec![])]
    };
    let mut program = (*counter(processes, 1, limit)).clone();
    program.name = "lock".into();
    program.shared = vec![Variable::scalar("L", Type::bool(), 0)];
    program.own = vec![];
    program.operations = vec![operation("work", vec![], 0, vec![], vec![goto(0)])];
    program.locations = vec![location(0, 0, take), location(0, 0, give)];
    program.calls = vec![Call { operation: 0, args: vec![] }];
    program.roles = vec![role("p", processes, vec![0], limit)];
    Arc::new(program)
}

#[test]
fn the_counter_is_lock_free_and_not_wait_free() {
    let program = counter(2, 2, None);
    holds(&program, Property::DeadlockFree);
    holds(&program, Property::LockFree);
    // One process can be overtaken for ever by another that pushes and pops, and fairness does not
    // help it.
    let lasso = fails(&program, response(0, true));
    assert!(!lasso.cycle.is_empty());
    // With one operation each nobody can be overtaken for ever.
    holds(&counter(2, 2, Some(1)), response(0, false));
}

#[test]
fn a_reader_of_the_register_returns() {
    // Example 1 of the paper: with one write the scans end, under no assumption but that the reader
    // goes on.
    let program = register(3, 3);
    holds(&program, Property::DeadlockFree);
    holds(&program, response(1, false));
    let wanted = Some(vec![vec![0], vec![1], vec![2]]);
    holds(&program, Property::Response { operation: 1, results: wanted, weakly_fair: false });
    let narrow = Some(vec![vec![0], vec![1]]);
    fails(&program, Property::Response { operation: 1, results: narrow, weakly_fair: false });
}

#[test]
fn a_spinning_lock_is_not_lock_free() {
    let program = lock(2, true, true, Some(1));
    holds(&program, Property::DeadlockFree);
    let lasso = fails(&program, Property::LockFree);
    assert!(!lasso.stem.is_empty() && lasso.cycle.len() == 1, "{lasso:?}");
    // The one who waits waits for ever only if the other is never scheduled again.
    fails(&program, response(0, false));
    holds(&program, response(0, true));
    // Without end the same process may take the lock again and again.
    fails(&lock(2, true, true, None), response(0, true));
}

#[test]
fn a_lock_that_is_not_given_back_ends_in_deadlock() {
    let program = lock(3, false, false, Some(1));
    let lasso = fails(&program, Property::DeadlockFree);
    assert!(lasso.cycle.is_empty() && lasso.stem.len() >= 3, "{lasso:?}");
    fails(&program, response(0, true));
    holds(&lock(3, false, true, Some(1)), Property::DeadlockFree);
    // Who waits for a lock waits for a process that may have stopped.
    let lasso = fails(&lock(3, false, true, Some(1)), Property::LockFree);
    assert!(lasso.cycle.is_empty() && lasso.waits.is_some(), "{lasso:?}");
}
