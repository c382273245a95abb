//! What goes wrong is reported as what it is, with the lines of the user's code.

mod frees;
mod memory_misuse;
mod races;

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Exploration, Report};
use trueline_explore::std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use trueline_explore::std::sync::{Arc, Condvar, Mutex};
use trueline_explore::std::{hint, thread};

fn run(body: impl Fn() + Sync) -> Report {
    Exploration::new().run(body)
}

/// The line after the one that asks.
#[track_caller]
fn next_line() -> String {
    let here = Location::caller();
    format!("{}:{}:", here.file(), here.line() + 1)
}

#[track_caller]
fn passes(body: impl Fn() + Sync) {
    assert_eq!(run(body).failure, None);
}

#[track_caller]
fn misuses(text: &str, body: impl Fn() + Sync) -> String {
    match run(body).failure {
        Some(Failure::Memory { what }) if what.contains(text) => what,
        other => panic!("{text} was expected, not {other:?}"),
    }
}

#[test]
fn a_deadlock_is_reported_with_who_waits_for_what() {
    let report = run(|| {
        let (a, b) = (Mutex::new(()), Mutex::new(()));
        thread::scope(|s| {
            s.spawn(|| {
                let _first = a.lock().unwrap();
                let _second = b.lock().unwrap();
            });
            let _first = b.lock().unwrap();
            let _second = a.lock().unwrap();
        });
    });
    let Some(Failure::Deadlock { waiting }) = report.failure else {
        panic!("a deadlock was expected, not {:?}", report.failure);
    };
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    assert!(waiting.iter().all(|line| line.contains("Mutex::lock") && line.contains(file!())));
}

#[test]
fn a_lost_wakeup_is_reported_as_such() {
    let report = run(|| {
        let (lock, wakeup) = (Mutex::new(()), Condvar::new());
        thread::scope(|s| {
            s.spawn(|| wakeup.notify_one());
            // Nothing says whether the notification has come already.
            drop(wakeup.wait(lock.lock().unwrap()).unwrap());
        });
    });
    let Some(Failure::Deadlock { waiting }) = report.failure else {
        panic!("a deadlock was expected, not {:?}", report.failure);
    };
    assert!(waiting.iter().any(|line| line.contains("lost wakeup")), "{waiting:?}");
}

#[test]
fn a_livelock_is_reported_as_such() {
    for hinted in [false, true] {
        let report = run(|| {
            let (a, b) = (AtomicBool::new(false), AtomicBool::new(false));
            let wait = |flag: &AtomicBool| {
                while !flag.load(Ordering::Acquire) {
                    if hinted {
                        hint::spin_loop();
                    }
                }
            };
            thread::scope(|s| {
                s.spawn(|| {
                    wait(&a);
                    b.store(true, Ordering::Release);
                });
                wait(&b);
                a.store(true, Ordering::Release);
            });
        });
        assert!(
            matches!(report.failure, Some(Failure::Livelock { .. })),
            "a livelock was expected, not {:?}",
            report.failure
        );
    }
}

#[test]
fn waiting_for_another_by_sleeping_is_no_livelock() {
    passes(|| {
        let flag = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| flag.store(true, Ordering::Release));
            while !flag.load(Ordering::Acquire) {
                thread::sleep(std::time::Duration::from_millis(1));
            }
            while !flag.load(Ordering::Acquire) {
                thread::park_timeout(std::time::Duration::from_millis(1));
            }
        });
    });
}

#[test]
fn a_panic_inside_is_a_report_and_never_an_abort() {
    struct Noisy(Arc<AtomicUsize>, Mutex<u32>);
    impl Drop for Noisy {
        fn drop(&mut self) {
            // Shadow operations while unwinding, among them one that would have to wait.
            self.0.fetch_add(1, Ordering::SeqCst);
            drop(self.1.lock());
        }
    }
    for who in 0..2 {
        let report = run(|| {
            let counter = Arc::new(AtomicUsize::new(0));
            let noisy = Noisy(counter.clone(), Mutex::new(0));
            let other = counter.clone();
            let thread = thread::spawn(move || {
                let _noisy = Noisy(other.clone(), Mutex::new(0));
                let seen = other.fetch_add(1, Ordering::SeqCst);
                assert!(who != 1 || seen != 1, "thread 1 was second");
            });
            let seen = counter.fetch_add(1, Ordering::SeqCst);
            assert!(who != 0 || seen != 2, "thread 0 was third");
            thread.join().unwrap();
            drop(noisy);
        });
        let Some(Failure::Panic { message, at }) = report.failure else {
            panic!("a panic was expected, not {:?}", report.failure);
        };
        assert!(message.starts_with(&format!("thread {who} was")), "{message}");
        assert!(at.unwrap().contains(file!()));
    }
}

#[test]
fn a_panic_that_is_caught_poisons_and_goes_on() {
    passes(|| {
        let lock = Mutex::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    let _guard = lock.lock();
                    panic!("on purpose");
                }));
                assert!(caught.is_err());
                assert!(lock.is_poisoned());
            });
            drop(lock.lock());
        });
        assert!(lock.lock().is_err());
        lock.clear_poison();
        assert!(lock.lock().is_ok());
    });
}

#[test]
fn a_panic_with_a_destructor_that_panics_again_in_the_next_execution() {
    // Many failing explorations in a row: nothing of one is left for the next.
    for _ in 0..20 {
        let report = run(|| {
            let flag = AtomicBool::new(false);
            thread::scope(|s| {
                s.spawn(|| flag.store(true, Ordering::Relaxed));
                assert!(!flag.load(Ordering::Relaxed), "seen");
            });
        });
        assert!(matches!(report.failure, Some(Failure::Panic { .. })), "{:?}", report.failure);
        assert!(!std::thread::panicking());
    }
}

#[test]
fn explorations_in_parallel_do_not_disturb_each_other() {
    let explore = |seed: usize| {
        let report = run(|| {
            let slot = Arc::new(Mutex::new(vec![seed]));
            let threads: Vec<_> = (0..3)
                .map(|i| {
                    let slot = slot.clone();
                    thread::spawn(move || slot.lock().unwrap().push(seed + i))
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            let slot = slot.lock().unwrap();
            assert_eq!(slot.len(), 4);
            assert!(slot.iter().all(|value| value / 100 == seed / 100));
        });
        assert_eq!(report.failure, None);
        report.executions
    };
    let counts: Vec<u64> = std::thread::scope(|s| {
        let threads: Vec<_> = (1..=4).map(|i| s.spawn(move || explore(100 * i))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(counts.iter().all(|&count| count == counts[0] && count >= 6), "{counts:?}");
}

/// What the engine leaves on the stack differs from event to event, and so does where the code
/// generator puts it: both hid spin loops from the engine.
#[test]
fn leftovers_of_the_engine_do_not_hide_a_spin_loop() {
    #[inline(never)]
    fn shallow(flag: &AtomicBool) -> bool {
        flag.load(Ordering::Acquire)
    }
    #[inline(never)]
    fn deep(flag: &AtomicBool, levels: usize) -> bool {
        // Mostly not written: what it holds is what lay there.
        let room = std::mem::MaybeUninit::<[u64; 8]>::uninit();
        black_box(&room);
        if levels == 0 { shallow(flag) } else { deep(flag, levels - 1) }
    }
    let report = run(|| {
        let (a, b) = (AtomicBool::new(false), AtomicBool::new(false));
        let wait = |flag: &AtomicBool| while !(deep(flag, 3) | shallow(flag) | deep(flag, 1)) {};
        thread::scope(|s| {
            s.spawn(|| {
                wait(&a);
                b.store(true, Ordering::Release);
            });
            wait(&b);
            a.store(true, Ordering::Release);
        });
    });
    assert!(matches!(report.failure, Some(Failure::Livelock { .. })), "{:?}", report.failure);
}
