//! What the engine does beside searching: failures, limits, replay, many threads, several
//! explorations.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{Cell, boxed, join, threads};
use trueline_explore::engine::interface::{
    Access, Effect, Failure, PerExecution, choose, fail, point, record, spawn, value, with_state,
};
use trueline_explore::engine::{Aim, Exploration, Report, Sampler, Schedule, Stop};

const A: Cell = Cell(8);
const B: Cell = Cell(16);

/// Loses an update if both threads read before either writes.
fn lost_update() {
    let all = threads((0..2).map(|_| {
        boxed(|| {
            let value = A.load();
            A.store(value + 1);
        })
    }));
    all.into_iter().for_each(join);
    assert_eq!(A.load(), 2, "an update is lost");
}

#[track_caller]
fn replayed(report: &Report, body: impl Fn() + Sync) {
    let schedule = report.schedule.as_ref().expect("a schedule").to_string();
    let again = Exploration::new().replay(schedule.parse().unwrap()).run(body);
    assert_eq!(again.failure, report.failure, "{schedule}");
    assert_eq!(again.schedule, report.schedule);
    assert_eq!(again.trace, report.trace);
}

#[test]
fn a_panic_is_a_failure_with_message_line_and_replay() {
    for exploration in [Exploration::new(), Exploration::new().preemptions(2)] {
        let report = exploration.run(lost_update);
        let Some(Failure::Panic { message, at }) = &report.failure else {
            panic!("{report:?}");
        };
        assert!(message.contains("an update is lost"), "{message}");
        assert!(at.as_ref().unwrap().contains("tests/bare/engine.rs:"), "{at:?}");
        assert!(report.trace.contains("tests/bare/engine.rs:"), "{}", report.trace);
        assert!(report.schedule.as_ref().unwrap().to_string().starts_with("t1:"));
        assert_eq!(report.scope.stopped, Some(Stop::Failure));
        assert!(!report.holds());
        replayed(&report, lost_update);
    }
}

#[test]
fn samplers_find_what_is_frequent_and_repeat_themselves() {
    for sampler in [Sampler::Random, Sampler::Pct { depth: 2 }, Sampler::Pos] {
        let run = || Exploration::new().sample(sampler, 7, 1000).run(lost_update);
        let report = run();
        assert!(matches!(report.failure, Some(Failure::Panic { .. })), "{report:?}");
        assert_eq!(report.executions, run().executions);
        replayed(&report, lost_update);
        let correct = Exploration::new().sample(sampler, 7, 100).run(|| {
            threads((0..3).map(|_| boxed(|| drop(Box::new(A.add(1))))));
        });
        assert_eq!((correct.failure.is_none(), correct.executions), (true, 100));
        assert!(!correct.holds(), "a sample proves nothing");
    }
}

#[test]
fn samplers_reach_every_outcome_of_a_small_program() {
    for sampler in [Sampler::Random, Sampler::Pct { depth: 3 }, Sampler::Pos] {
        let seen: Mutex<BTreeSet<u64>> = Mutex::default();
        let body = || {
            threads((1..=3).map(|i| {
                boxed(move || {
                    let a = A.load();
                    A.store(a * 4 + i);
                })
            }));
        };
        let visit = |execution: &trueline_explore::engine::Execution<'_>| {
            seen.lock().unwrap().insert(execution.value(A.0));
            Ok(())
        };
        Exploration::new().run_with(body, visit);
        let all = std::mem::take(&mut *seen.lock().unwrap());
        Exploration::new().sample(sampler, 1, 5000).run_with(body, visit);
        assert_eq!(*seen.lock().unwrap(), all, "{sampler:?}");
    }
}

#[test]
fn a_deadlock_names_its_threads() {
    let body = || {
        threads([
            boxed(|| {
                A.lock();
                B.lock();
                B.unlock();
                A.unlock();
            }),
            boxed(|| {
                B.lock();
                A.lock();
                A.unlock();
                B.unlock();
            }),
        ]);
    };
    let report = Exploration::new().run(body);
    let Some(Failure::Deadlock { waiting }) = &report.failure else {
        panic!("{report:?}");
    };
    assert_eq!(waiting.len(), 2);
    assert!(waiting[0].starts_with("thread 1 waits at ") && waiting[0].contains("engine.rs:"));
    replayed(&report, body);
    let report = Exploration::new().may_block().run(body);
    assert_eq!((report.failure.is_none(), report.executions), (true, 3));
}

#[test]
fn the_search_that_stops_early_says_so() {
    let body = || {
        threads((0..4).map(|_| boxed(|| drop(Box::new((A.add(1), A.add(1)))))));
    };
    let report = Exploration::new().executions(100).run(body);
    assert_eq!(report.executions, 100);
    assert_eq!(
        report.to_string(),
        "sequentially consistent; no spurious failures or wakeups; incomplete; \
         stopped after 100 executions; 100 executions"
    );
    assert!(!report.holds());
    let report = Exploration::new().time(Duration::ZERO).run(body);
    assert_eq!(report.scope.stopped, Some(Stop::Time(Duration::ZERO)));
    let report = Exploration::new().events(5).run(body);
    assert_eq!(report.scope.stopped, Some(Stop::Length(5)));
    assert!(!report.holds());
    // As many as there are is not too many.
    let report = Exploration::new().executions(2520).run(body);
    assert_eq!((report.holds(), report.executions), (true, 2520));
    let report = Exploration::new().preemptions(1).run(body);
    assert_eq!((report.holds(), report.scope.aim), (true, Aim::Preemptions(1)));
    assert!(report.executions < 2520);
}

#[test]
fn a_program_that_does_not_repeat_itself_is_found_out() {
    let check = |body: &(dyn Fn(u64) + Sync)| {
        let runs = AtomicU64::new(0);
        let report = Exploration::new().run(|| body(runs.fetch_add(1, Ordering::Relaxed)));
        assert!(matches!(report.failure, Some(Failure::Nondeterminism { .. })), "{report:?}");
    };
    // In what has been run before.
    check(&|run| {
        Cell(100 + run as usize).store(1);
        threads((0..2).map(|_| boxed(|| drop(Box::new(A.add(1))))));
    });
    // In what a reversed race is expected to do.
    check(&|run| {
        threads([
            boxed(|| A.store(1)),
            boxed(move || drop(Box::new((Cell(100 + run as usize).load(), A.load())))),
        ]);
    });
    // A schedule of another program.
    let schedule: Schedule = "t1:0*3.7/0".parse().unwrap();
    let report = Exploration::new().replay(schedule).run(lost_update);
    assert!(matches!(report.failure, Some(Failure::Nondeterminism { .. })), "{report:?}");
}

#[test]
fn a_hundred_threads() {
    let body = || {
        let all = threads((0..100).map(|i| boxed(move || Cell(1000 + i).store(1))));
        all.into_iter().for_each(join);
        assert_eq!((0..100).map(|i| Cell(1000 + i).load()).sum::<u64>(), 100);
    };
    let report = Exploration::new().run(body);
    assert_eq!((report.holds(), report.executions), (true, 1), "{report}");
    // And one race among them.
    let report = Exploration::new().run(|| {
        threads((0..40).map(|i| boxed(move || Cell(1000 + i % 39).store(1))));
    });
    assert_eq!((report.holds(), report.executions), (true, 2), "{report}");
}

#[test]
fn threads_that_spawn_threads_keep_their_names() {
    let seen: Mutex<BTreeSet<u64>> = Mutex::default();
    let body = || {
        threads((0..2).map(|i| {
            boxed(move || {
                A.add(1);
                spawn(boxed(move || A.store(10 * (i + 1))));
                A.add(1);
            })
        }));
    };
    let report = Exploration::new().run_with(body, |execution| {
        seen.lock().unwrap().insert(execution.value(A.0));
        Ok(())
    });
    assert!(report.holds(), "{report}");
    assert_eq!(report.blocked, 0);
    assert!(seen.lock().unwrap().is_superset(&BTreeSet::from([10, 20, 11, 21])));
}

#[test]
fn explorations_in_several_os_threads_do_not_disturb_each_other() {
    std::thread::scope(|scope| {
        for n in 1..=4u64 {
            scope.spawn(move || {
                for _ in 0..5 {
                    let report = Exploration::new().run(|| {
                        threads((0..n).map(|_| boxed(|| drop(Box::new(A.add(1))))));
                    });
                    assert_eq!((report.holds(), report.executions), (true, (1..=n).product()));
                    let report = Exploration::new().run(lost_update);
                    assert!(report.failure.is_some());
                }
            });
        }
    });
}

#[test]
fn a_panic_that_the_program_catches_is_no_failure() {
    let report = Exploration::new().run(|| {
        threads((0..2).map(|_| {
            boxed(|| {
                let caught = std::panic::catch_unwind(|| {
                    A.add(1);
                    panic!("caught");
                });
                assert!(caught.is_err());
                A.add(1);
            })
        }));
    });
    assert_eq!(report.failure, None);
    assert_eq!(report.executions, 6);
}

/// Its destructor makes an access, while its thread unwinds.
struct Touches;

impl Drop for Touches {
    fn drop(&mut self) {
        A.add(1);
        B.lock();
    }
}

#[test]
fn destructors_that_make_accesses_while_unwinding_do_not_abort() {
    let report = Exploration::new().run(|| {
        threads([
            boxed(|| {
                let _touches = Touches;
                A.add(1);
                panic!("on purpose");
            }),
            boxed(|| {
                B.lock();
                A.add(1);
            }),
        ]);
    });
    assert!(matches!(report.failure, Some(Failure::Panic { .. })), "{report}");
    // The panic is over: nothing of it is left on this OS thread.
    assert!(!std::thread::panicking());
    assert!(Exploration::new().run(|| drop(Box::new(A.add(1)))).holds());
}

#[test]
fn abandoned_threads_are_never_unwound() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a destructor of an abandoned execution ran");
        }
    }
    let report = Exploration::new().run(|| {
        threads([
            boxed(|| {
                let _bomb = Bomb;
                A.wait_for(1);
                std::mem::forget(_bomb);
            }),
            boxed(|| fail(Failure::Other { what: String::from("told so") })),
        ]);
    });
    assert_eq!(report.failure, Some(Failure::Other { what: String::from("told so") }));
}

#[test]
fn the_environment_chooses_every_way() {
    let seen: Mutex<BTreeSet<(u64, u64)>> = Mutex::default();
    let body = || {
        threads((0..2usize).map(|i| {
            boxed(move || {
                let cell = Cell(100 + i);
                point(&Access::update(A.0));
                let old = value(A.0);
                let choice = choose(3);
                record(Effect::update(old, old + u64::from(choice)));
                cell.store(u64::from(choice) * 10 + old);
            })
        }));
    };
    let report = Exploration::new().run_with(body, |execution| {
        seen.lock().unwrap().insert((execution.value(100), execution.value(101)));
        Ok(())
    });
    let mut expected = BTreeSet::new();
    for a in 0..3 {
        for b in 0..3 {
            expected.insert((a * 10, b * 10 + a));
            expected.insert((a * 10 + b, b * 10));
        }
    }
    assert_eq!(*seen.lock().unwrap(), expected);
    assert!(report.holds());
    let failing = || {
        point(&Access::local());
        let choice = choose(5);
        record(Effect::read(0));
        assert_ne!(choice, 3);
    };
    let report = Exploration::new().run(failing);
    assert_eq!(report.executions, 4);
    assert!(report.schedule.as_ref().unwrap().to_string().starts_with("t1:0=3"));
    replayed(&report, failing);
}

#[derive(Default)]
struct Count(u64);

impl PerExecution for Count {
    fn reset(&mut self) {
        self.0 = 0;
    }
    fn thread_ends() {
        A.add(1);
        with_state::<Count, _>(|count| count.0 += 100);
    }
    fn execution_ends(&mut self) -> Option<Failure> {
        (self.0 != 302).then(|| Failure::Other { what: format!("{}", self.0) })
    }
}

#[test]
fn the_state_of_a_front_end_is_new_in_each_execution() {
    let report = Exploration::new().run(|| {
        let count = || with_state::<Count, _>(|count| count.0 += 1);
        count();
        threads([boxed(count), boxed(|| {})]);
    });
    assert_eq!(report.failure, None);
    // All three threads add to the cell when they end, after the spawning thread has added.
    assert_eq!(report.executions, 6);
}
