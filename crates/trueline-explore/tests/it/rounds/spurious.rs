//! Accesses that fail and waits that end for no reason, in loops and without.

use std::collections::BTreeSet;
use std::time::Duration;

use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Aim, Exploration, Report};
use trueline_explore::explore;
use trueline_explore::std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use trueline_explore::std::sync::{Arc, Condvar, Mutex};
use trueline_explore::std::thread;

use super::{HINTS, outcomes};

/// A lock taken with a weak compare-exchange that is tried once.
#[test]
fn a_weak_compare_exchange_that_is_not_repeated_fails_only_if_spurious() {
    let run = |spurious| {
        Exploration::new().spurious(spurious).run(|| {
            let x = AtomicU32::new(0);
            assert!(x.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok(), "it has failed");
        })
    };
    let report = run(false);
    assert!(report.holds(), "{report}");
    assert!(report.to_string().contains("; no spurious failures or wakeups; complete"), "{report}");
    let report = run(true);
    assert!(matches!(report.failure, Some(Failure::Panic { .. })), "{report}");
}

#[test]
fn a_weak_compare_exchange_that_is_repeated_holds_though_spurious() {
    for workers in [1, 2] {
        for hint in HINTS {
            let exploration = Exploration::new().spurious(true).workers(workers);
            let report = exploration.run(|| {
                let x = AtomicU32::new(0);
                thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            let mut seen = x.load(SeqCst);
                            let weak = |old| x.compare_exchange_weak(old, old + 1, SeqCst, SeqCst);
                            while let Err(now) = weak(seen) {
                                seen = now;
                                hint.give();
                            }
                        });
                    }
                });
                assert_eq!(x.load(SeqCst), 2);
            });
            assert!(report.holds(), "{hint:?}: {report}");
            assert_eq!(report.scope.aim, Aim::Complete);
            assert!(report.scope.spurious && !report.to_string().contains("no spurious"));
        }
    }
}

/// All of a bounded number of attempts can fail for no reason.
#[test]
fn every_attempt_of_a_bounded_number_can_fail_spuriously() {
    for hint in HINTS {
        let exploration = Exploration::new().spurious(true);
        let (report, seen) = outcomes(&exploration, || {
            let x = AtomicU32::new(0);
            let attempt = |_: &u32| {
                let exchanged = x.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok();
                hint.give();
                exchanged
            };
            (0..4).find(attempt)
        });
        assert!(report.holds(), "{hint:?}: {report}");
        let expected = BTreeSet::from([None, Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(seen, expected, "{hint:?}");
    }
}

/// Its compare-exchanges are weak: the function may be called again though nothing has changed.
#[test]
fn a_fetch_update_calls_its_function_again_if_spurious() {
    for (spurious, expected) in [(false, BTreeSet::from([1])), (true, BTreeSet::from([1, 2]))] {
        let (report, seen) = outcomes(&Exploration::new().spurious(spurious), || {
            let (x, mut calls) = (AtomicU32::new(0), 0);
            let add = |value: u32| {
                calls = (calls + 1).min(2);
                Some(value + 1)
            };
            x.fetch_update(SeqCst, SeqCst, add).unwrap();
            calls
        });
        assert!(report.holds(), "{report}");
        assert_eq!(seen, expected, "{report}");
    }
}

fn wait_for_a_flag(spurious: bool, wait: impl Fn(&Condvar, &Mutex<bool>) + Sync) -> Report {
    Exploration::new().spurious(spurious).run(|| {
        let (flag, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                wait(&changed, &flag);
                assert!(*flag.lock().unwrap(), "it woke up too early");
            });
            *flag.lock().unwrap() = true;
            changed.notify_one();
        });
    })
}

#[test]
fn a_wait_with_if_instead_of_while_fails_only_if_spurious() {
    let once = |changed: &Condvar, flag: &Mutex<bool>| {
        let guard = flag.lock().unwrap();
        if !*guard {
            drop(changed.wait(guard).unwrap());
        }
    };
    let report = wait_for_a_flag(false, once);
    assert!(report.holds(), "{report}");
    let report = wait_for_a_flag(true, once);
    assert!(matches!(report.failure, Some(Failure::Panic { .. })), "{report}");
    let repeated = |changed: &Condvar, flag: &Mutex<bool>| {
        let mut guard = flag.lock().unwrap();
        while !*guard {
            guard = changed.wait(guard).unwrap();
        }
    };
    let report = wait_for_a_flag(true, repeated);
    assert!(report.holds(), "{report}");
    assert!(report.to_string().contains("at most one spurious wakeup"), "{report}");
}

/// A wait with a timeout may end without having timed out, and without a notification.
#[test]
fn a_wait_with_a_timeout_that_has_not_timed_out_may_be_spurious() {
    let notified_or_late = |changed: &Condvar, flag: &Mutex<bool>| {
        let mut guard = flag.lock().unwrap();
        if !*guard {
            let (again, result) = changed.wait_timeout(guard, Duration::from_secs(1)).unwrap();
            guard = again;
            assert!(result.timed_out() || *guard, "it woke up for no reason");
        }
        while !*guard {
            guard = changed.wait(guard).unwrap();
        }
    };
    let report = wait_for_a_flag(false, notified_or_late);
    assert!(report.holds(), "{report}");
    let report = wait_for_a_flag(true, notified_or_late);
    assert!(matches!(report.failure, Some(Failure::Panic { .. })), "{report}");
}

#[test]
fn a_thread_that_parks_once_wakes_up_too_early_only_if_spurious() {
    let run = |spurious| {
        Exploration::new().spurious(spurious).run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = Arc::clone(&flag);
            let parked = thread::spawn(move || {
                thread::park();
                assert!(theirs.load(SeqCst), "it woke up too early");
            });
            flag.store(true, SeqCst);
            parked.thread().unpark();
            parked.join().unwrap();
        })
    };
    let report = run(false);
    assert!(report.holds(), "{report}");
    let report = run(true);
    assert!(matches!(report.failure, Some(Failure::Panic { .. })), "{report}");
}

/// A spin lock tried once with a weak compare-exchange.
struct Slot(AtomicU32);

impl Slot {
    fn put(&self) -> bool {
        self.0.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok()
    }
}

mod slot {
    use super::Slot;

    trueline_explore::operations! {
        pub(super) enum Op -> Ret for Slot {
            put() -> bool;
        }
    }
}

#[test]
fn the_harness_finds_a_spurious_failure_if_asked_to() {
    let harness =
        || explore(|| Slot(AtomicU32::new(0))).operations([slot::Op::put()]).threads(2).length(1);
    let outcome = harness().run();
    assert!(outcome.holds(), "{outcome}");
    assert!(outcome.scope.contains("no spurious failures or wakeups"), "{}", outcome.scope);
    let outcome = harness().spurious(true).run();
    assert!(outcome.failure().is_some(), "{outcome}");
}
