//! Virtual time: each thread has its own, but nobody who comes later sees an earlier one.

use std::time::Duration;

use trueline_explore::engine::{Assumption, Exploration};
use trueline_explore::std::sync::Mutex;
use trueline_explore::std::sync::atomic::AtomicU32;
use trueline_explore::std::sync::atomic::Ordering::SeqCst;
use trueline_explore::std::sync::mpsc::{self, RecvTimeoutError};
use trueline_explore::std::thread;
use trueline_explore::std::time::Instant;

#[test]
fn time_does_not_run_backwards_from_one_thread_to_another() {
    let report = Exploration::new().run(|| {
        let told = Mutex::new(None);
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(Duration::from_secs(1));
                *told.lock().unwrap() = Some(Instant::now());
            });
            s.spawn(|| {
                let before = *told.lock().unwrap();
                assert!(before.is_none_or(|before| Instant::now() >= before));
            });
        });
        // Who joins comes after all.
        let before = told.into_inner().unwrap().unwrap();
        assert!(Instant::now() >= before);
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn the_time_that_a_thread_has_slept_is_seen_by_those_who_come_after_it() {
    let report = Exploration::new().run(|| {
        let start = Instant::now();
        let flag = AtomicU32::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(Duration::from_secs(5));
                flag.store(1, SeqCst);
            });
            let seen = flag.load(SeqCst);
            // The load either comes after five seconds, or knows nothing of them: then a few
            // microseconds have passed.
            assert_eq!(seen == 1, start.elapsed() >= Duration::from_secs(5));
        });
        assert!(start.elapsed() >= Duration::from_secs(5));
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn threads_that_look_at_the_clock_are_independent() {
    // Nothing is shared, so that there is one execution.
    let report = Exploration::new().run(|| {
        thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| Instant::now().elapsed());
            }
        });
    });
    assert!(report.holds() && report.executions == 1, "{report}");
}

/// What a sleep left on the stack in a debug build differed from round to round, and a loop that
/// sleeps was never seen to wait.
#[test]
fn a_loop_that_sleeps_until_something_changes_ends() {
    let report = Exploration::new().events(1000).run(|| {
        let (ready, start) = (AtomicU32::new(0), Instant::now());
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(Duration::from_secs(5));
                ready.store(1, SeqCst);
            });
            while ready.load(SeqCst) == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            assert!(start.elapsed() >= Duration::from_secs(5));
        });
    });
    assert_eq!(report.failure, None, "{report}");
    assert_eq!(report.scope.assumed, Some(Assumption::Time), "{report}");
    assert_eq!(report.scope.stopped, None, "{report}");
}

/// Time was at its end afterwards, and to look at the clock was a panic.
#[test]
fn a_timeout_that_lasts_as_long_as_can_be_leaves_time_for_those_who_look_later() {
    let report = Exploration::new().run(|| {
        let (sender, receiver) = mpsc::channel::<()>();
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(receiver.recv_timeout(Duration::MAX), Err(RecvTimeoutError::Timeout));
            thread::park_timeout(Duration::from_secs(u64::MAX));
            thread::sleep(Duration::MAX);
        }
        let later = Instant::now();
        assert!(later - start > Duration::from_secs(1 << 40));
        // A deadline is reached all the same.
        while later.elapsed() < Duration::from_millis(1) {}
        drop(sender);
    });
    assert_eq!(report.failure, None, "{report}");
}
