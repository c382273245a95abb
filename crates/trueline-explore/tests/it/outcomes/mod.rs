//! What all tests ask that compare the outcomes of a program with those counted by hand.

#![allow(unreachable_pub)]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Exploration, Report};
use trueline_explore::memory::untracked;

/// Explores a program; the report, and all outcomes.
pub fn explore<T: Ord + Clone + Send>(body: impl Fn() -> T + Sync) -> (Report, BTreeSet<T>) {
    let outcomes = Mutex::new(BTreeSet::new());
    let report = Exploration::new().run(|| {
        let outcome = body();
        untracked(|| {
            outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(outcome.clone());
        });
    });
    (report, outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The program never fails, all of it is explored, and these are its outcomes.
#[track_caller]
pub fn check<T: Ord + Clone + Send + Debug>(
    expected: impl IntoIterator<Item = T>,
    body: impl Fn() -> T + Sync,
) {
    let (report, outcomes) = explore(body);
    assert_eq!(report.failure, None, "{report}");
    assert!(report.holds(), "{report}");
    assert_eq!(outcomes, BTreeSet::from_iter(expected));
}

/// Some execution of the program has a data race.
#[track_caller]
pub fn races(body: impl Fn() + Sync) {
    let (report, _) = explore(body);
    assert!(matches!(report.failure, Some(Failure::Race { .. })), "{report}");
}
