//! Panics that are caught: what destructors do while a thread unwinds are events, other threads run
//! between them, and only the thread that panics is said to.

mod destructors;
mod random;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Assumption, Exploration, Report, Stop};
use trueline_explore::memory;
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::Ordering::SeqCst;
use trueline_explore::std::sync::atomic::{AtomicBool, AtomicU32};
use trueline_explore::std::sync::{Mutex, RwLock, TryLockError};
use trueline_explore::std::thread;

/// All outcomes of a body.
fn outcomes<T: Ord + Clone + Send>(body: impl Fn() -> T + Sync) -> (Report, Vec<T>) {
    outcomes_of(&Exploration::new(), body)
}

fn outcomes_of<T: Ord + Clone + Send>(
    exploration: &Exploration,
    body: impl Fn() -> T + Sync,
) -> (Report, Vec<T>) {
    let seen = std::sync::Mutex::new(BTreeSet::new());
    let report = exploration.run(|| {
        let outcome = body();
        memory::untracked(|| seen.lock().unwrap().insert(outcome.clone()));
    });
    assert!(!std::thread::panicking(), "no panic is left behind");
    (report, seen.into_inner().unwrap().into_iter().collect())
}

#[track_caller]
fn check<T: Ord + Clone + Send + std::fmt::Debug>(expected: &[T], body: impl Fn() -> T + Sync) {
    let (report, seen) = outcomes(body);
    assert!(report.holds(), "{report}");
    assert_eq!(seen, expected);
}

/// Runs a function that may panic.
fn caught(function: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(function)).is_err()
}

/// Does something when it is dropped.
struct Finally<F: FnMut()>(F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_lock_is_busy_until_unwinding_gives_it_back() {
    // The attempt comes before the lock is taken, while it is held, or after it was given back,
    // poisoned.
    check(&["busy", "free", "poisoned"], || {
        let lock = Mutex::new(());
        thread::scope(|s| {
            s.spawn(|| {
                caught(|| {
                    let _guard = lock.lock();
                    panic!("caught")
                })
            });
            match lock.try_lock() {
                Ok(_) => "free",
                Err(TryLockError::WouldBlock) => "busy",
                Err(TryLockError::Poisoned(_)) => "poisoned",
            }
        })
    });
}

#[test]
fn a_reader_is_there_until_unwinding_gives_its_lock_back() {
    // Before or after, or while the lock is held; a reader poisons nothing.
    check(&["busy", "free"], || {
        let lock = RwLock::new(());
        thread::scope(|s| {
            s.spawn(|| {
                caught(|| {
                    let _guard = lock.read();
                    panic!("caught")
                })
            });
            if lock.try_write().is_ok() { "free" } else { "busy" }
        })
    });
}

#[test]
fn what_a_destructor_stores_while_unwinding_is_an_event() {
    // The load comes before the first store, between the two, or after both.
    check(&[0, 1, 2], || {
        let x = AtomicU32::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                caught(|| {
                    let _second = Finally(|| x.store(2, SeqCst));
                    let _first = Finally(|| x.store(1, SeqCst));
                    panic!("caught")
                })
            });
            x.load(SeqCst)
        })
    });
}

#[test]
fn waiting_for_a_lock_that_unwinding_gives_back_is_deterministic() {
    // The second thread has the lock first, or finds what the first has stored.
    check(&[(0, false), (1, true)], || {
        let lock = Mutex::new(());
        let x = AtomicU32::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                caught(|| {
                    let _guard = lock.lock();
                    x.store(1, SeqCst);
                    panic!("caught")
                })
            });
            let guard = lock.lock();
            (x.load(SeqCst), guard.is_err())
        })
    });
}

#[test]
fn waiting_for_a_spinlock_that_unwinding_gives_back_is_deterministic() {
    check(&[0, 1], || {
        let (lock, x) = (AtomicBool::new(false), AtomicU32::new(0));
        let take = || {
            while lock.compare_exchange(false, true, SeqCst, SeqCst).is_err() {}
            Finally(|| lock.store(false, SeqCst))
        };
        thread::scope(|s| {
            s.spawn(|| {
                caught(|| {
                    let _guard = take();
                    x.store(1, SeqCst);
                    panic!("caught")
                })
            });
            let _guard = take();
            x.load(SeqCst)
        })
    });
}

#[test]
fn a_destructor_waits_for_a_lock_while_unwinding() {
    // Both variables are set under the lock: the destructor sees neither or both.
    check(&[(0, 0), (1, 1)], || {
        let lock = Mutex::new(());
        let (a, b) = (AtomicU32::new(0), AtomicU32::new(0));
        let mut seen = (7, 7);
        thread::scope(|s| {
            s.spawn(|| {
                let _guard = lock.lock();
                a.store(1, SeqCst);
                b.store(1, SeqCst);
            });
            caught(|| {
                let _last = Finally(|| {
                    let _guard = lock.lock();
                    seen = (a.load(SeqCst), b.load(SeqCst));
                });
                panic!("caught")
            });
        });
        seen
    });
}

#[test]
fn a_destructor_that_spawns_while_unwinding_is_explored() {
    // The new thread stores before the load or after it.
    check(&[0, 1], || {
        let x = AtomicU32::new(0);
        thread::scope(|s| {
            caught(|| {
                let _last = Finally(|| {
                    s.spawn(|| x.store(1, SeqCst));
                });
                panic!("caught")
            });
            x.load(SeqCst)
        })
    });
}

#[test]
fn a_destructor_that_joins_a_thread_while_a_panic_ends_the_execution_does_not_abort() {
    let report = Exploration::new().run(|| {
        let x = AtomicU32::new(0);
        thread::scope(|s| {
            let mut thread = Some(s.spawn(|| x.load(SeqCst)));
            let _last = Finally(|| {
                thread.take().unwrap().join().unwrap();
            });
            panic!("the message");
        });
    });
    let Some(Failure::Panic { message, .. }) = &report.failure else { panic!("{report}") };
    assert_eq!(message, "the message");
}

#[test]
fn only_the_thread_that_unwinds_panics() {
    for resumes in [false, true] {
        // The first thread panics in its destructor and not afterwards; the second one never does,
        // whenever it asks.
        check(&[(true, false, false)], || {
            let x = AtomicU32::new(0);
            let mut first = (false, true);
            let second = thread::scope(|s| {
                let second = s.spawn(|| {
                    x.load(SeqCst);
                    let before = thread::panicking();
                    x.load(SeqCst);
                    before || thread::panicking()
                });
                caught(|| {
                    let _last = Finally(|| {
                        x.store(1, SeqCst);
                        first.0 = thread::panicking();
                    });
                    if resumes {
                        resume_unwind(Box::new(1))
                    }
                    panic!("caught")
                });
                x.store(2, SeqCst);
                first.1 = thread::panicking();
                second.join().unwrap()
            });
            (first.0, first.1, second)
        });
    }
}

#[test]
fn a_lock_whose_holder_does_not_panic_is_never_poisoned_by_another_thread() {
    check(&[false], || {
        let (lock, x) = (Mutex::new(()), AtomicU32::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                // The lock may be taken before this thread panics, and given back while it does.
                x.load(SeqCst);
                caught(|| {
                    let _last = Finally(|| x.store(1, SeqCst));
                    resume_unwind(Box::new(1))
                })
            });
            let guard = lock.lock();
            x.load(SeqCst);
            drop(guard);
            lock.lock().is_err()
        })
    });
}

struct Shared(UnsafeCell<u32>);

// SAFETY: the tests want races.
unsafe impl Sync for Shared {}

#[test]
fn a_race_is_found_while_another_thread_resumes_a_panic() {
    let (report, _) = outcomes(|| {
        let (x, cell) = (AtomicU32::new(0), Shared(UnsafeCell::new(0)));
        let cell = &cell;
        thread::scope(|s| {
            s.spawn(|| {
                caught(|| {
                    let _last = Finally(|| x.store(1, SeqCst));
                    resume_unwind(Box::new(1))
                })
            });
            for value in 0..2 {
                // SAFETY: none; it is a race.
                s.spawn(move || cell.0.with_mut(|p| unsafe { *p = value }));
            }
        });
    });
    assert!(matches!(report.failure, Some(Failure::Race { .. })), "{report}");
}

#[test]
fn a_race_in_a_destructor_is_found_while_its_thread_unwinds() {
    let (report, _) = outcomes(|| {
        let cell = Shared(UnsafeCell::new(0));
        let cell = &cell;
        thread::scope(|s| {
            s.spawn(move || {
                caught(|| {
                    // SAFETY: none; it is a race.
                    let _last = Finally(|| cell.0.with_mut(|p| unsafe { *p = 1 }));
                    panic!("caught")
                })
            });
            // SAFETY: as above.
            cell.0.with(|p| unsafe { *p });
        });
    });
    assert!(matches!(report.failure, Some(Failure::Race { .. })), "{report}");
}

#[test]
fn a_panic_that_leaves_a_scope_keeps_its_message() {
    let (report, _) = outcomes(|| {
        let x = AtomicU32::new(0);
        thread::scope(|s| {
            s.spawn(|| x.load(SeqCst));
            panic!("the message");
        });
    });
    let Some(Failure::Panic { message, at: Some(at) }) = &report.failure else {
        panic!("{report}");
    };
    assert!(message == "the message" && at.contains("unwinding.rs"), "{report}");
}

#[test]
fn a_deadlock_in_a_destructor_leaves_no_panic_behind() {
    let (report, _) = outcomes(|| {
        let lock = Mutex::new(());
        let _held = lock.lock();
        caught(|| {
            let _last = Finally(|| drop(lock.lock()));
            panic!("caught")
        });
    });
    // The thread waits for itself in its destructor, for ever.
    assert!(matches!(report.failure, Some(Failure::Deadlock { .. })), "{report}");
}

#[test]
fn two_panics_at_once_rest_on_an_assumption() {
    let (report, seen) = outcomes(|| {
        let x = AtomicU32::new(0);
        let panics = || {
            caught(|| {
                let _last = Finally(|| {
                    x.fetch_add(1, SeqCst);
                });
                panic!("caught")
            })
        };
        thread::scope(|s| {
            s.spawn(panics);
            s.spawn(panics);
        });
        x.load(SeqCst)
    });
    assert_eq!((report.failure.as_ref(), seen), (None, vec![2]), "{report}");
    assert_eq!(report.scope.assumed, Some(Assumption::Unwinding), "{report}");
    assert!(!report.holds());
}

/// Who panics is not known then, so that a lock may seem not to be poisoned. That was called
/// nondeterminism of the program.
#[test]
fn what_cannot_be_repeated_after_two_panics_at_once_stops_the_search() {
    let body = || {
        let (mutex, rwlock, x) = (Mutex::new(()), RwLock::new(()), AtomicU32::new(0));
        let tell = || _ = x.fetch_add(1, SeqCst);
        let panics_locked = || {
            caught(|| {
                let _last = Finally(tell);
                let _guard = mutex.lock();
                panic!("caught")
            })
        };
        let panics_writing = || {
            caught(|| {
                let _guard = rwlock.write();
                let _last = Finally(tell);
                panic!("caught")
            })
        };
        thread::scope(|s| {
            s.spawn(|| {
                thread::scope(|inner| {
                    inner.spawn(tell);
                    panics_locked();
                })
            });
            s.spawn(|| thread::scope(|inner| _ = inner.spawn(tell)));
            s.spawn(panics_writing);
            s.spawn(|| {
                if let Ok(_guard) = mutex.try_lock() {
                    panics_writing();
                }
            });
            thread::scope(|inner| {
                inner.spawn(tell);
                mutex.clear_poison();
                rwlock.clear_poison();
            });
        });
    };
    for workers in [1, 2] {
        let report = Exploration::new().workers(workers).run(body);
        assert_eq!(report.failure, None, "{workers} workers: {report}");
        assert_eq!(report.scope.stopped, Some(Stop::Unwinding), "{workers} workers: {report}");
        assert_eq!(report.scope.assumed, Some(Assumption::Unwinding), "{workers}: {report}");
        assert!(!report.holds());
    }
}
