//! Loops that change the counts of an `Arc` while they wait. They do not only read: others may see
//! a count change in every round.

use std::sync::atomic::Ordering::SeqCst;

use trueline_explore::engine::Exploration;
use trueline_explore::std::sync::atomic::AtomicBool;
use trueline_explore::std::sync::{Arc, Weak};
use trueline_explore::std::thread;

/// Another thread runs the round until it is told to stop; how often this one saw the count go up,
/// in ten looks.
fn ups(count: impl Fn() -> usize, round: impl Fn() + Send + 'static) -> u32 {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = flag.clone();
    let polling = thread::spawn(move || {
        while !seen.load(SeqCst) {
            round();
        }
    });
    let (mut ups, mut last) = (0, count());
    for _ in 0..10 {
        let now = count();
        ups += u32::from(now > last);
        last = now;
    }
    flag.store(true, SeqCst);
    polling.join().unwrap();
    ups
}

#[track_caller]
fn never_holds(about: &str, body: impl Fn() + Send + Sync + 'static) {
    let report = Exploration::new().executions(20_000).run(body);
    assert!(!report.holds(), "{about}: {report}");
}

#[test]
fn a_loop_that_clones_and_drops_an_arc_does_not_only_read() {
    never_holds("Arc::clone", || {
        let arc = Arc::new(0u32);
        let (other, third) = (arc.clone(), arc.clone());
        let ups = ups(|| Arc::strong_count(&arc), move || drop(other.clone()));
        drop(third);
        assert!(ups < 5, "seen going up five times");
    });
}

#[test]
fn a_loop_that_upgrades_a_weak_does_not_only_read() {
    never_holds("Weak::upgrade", || {
        let arc = Arc::new(0u32);
        let third = arc.clone();
        let weak: Weak<u32> = Arc::downgrade(&arc);
        let ups = ups(|| Arc::strong_count(&arc), move || drop(weak.upgrade()));
        drop(third);
        assert!(ups < 5, "seen going up five times");
    });
}

/// The thread may hold the last owner: its own drop ends the loop.
#[test]
fn a_loop_that_drops_what_it_upgraded_is_no_livelock() {
    let report = Exploration::new().executions(2_000).run(|| {
        let arc = Arc::new(0u32);
        let weak = Arc::downgrade(&arc);
        let other = arc.clone();
        let upgrading = thread::spawn(move || {
            let mut held = weak.upgrade();
            while held.is_some() {
                drop(held.take());
                held = weak.upgrade();
            }
        });
        drop(other);
        drop(arc);
        upgrading.join().unwrap();
    });
    assert!(report.failure.is_none(), "{report}");
}
