//! Poisoned locks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::outcomes::{check, explore};
use trueline_explore::std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use trueline_explore::std::sync::{Mutex, Once, OnceLock, RwLock, TryLockError};
use trueline_explore::std::thread;

/// Runs a function that panics, and catches that.
fn caught(function: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(function)).is_err());
}

fn poison(mutex: &Mutex<u32>) {
    caught(|| {
        let _guard = mutex.lock();
        panic!("it is poisoned");
    });
}

fn poisoned() -> Mutex<u32> {
    let mutex = Mutex::new(0);
    poison(&mutex);
    mutex
}

#[test]
fn is_poisoned_races_with_clear_poison() {
    check([false, true], || {
        let mutex = poisoned();
        thread::scope(|s| {
            s.spawn(|| mutex.clear_poison());
            mutex.is_poisoned()
        })
    });
    check([false, true], || {
        let lock = RwLock::new(0);
        caught(|| {
            let _guard = lock.write();
            panic!("it is poisoned");
        });
        thread::scope(|s| {
            s.spawn(|| lock.clear_poison());
            lock.is_poisoned()
        })
    });
}

#[test]
fn whoever_locks_races_with_clear_poison() {
    check([false, true], || {
        let mutex = poisoned();
        thread::scope(|s| {
            s.spawn(|| mutex.clear_poison());
            mutex.lock().is_err()
        })
    });
    // Std looks for poison once it has the lock: the flag may be cleared while another finds the
    // lock taken.
    let lock_then_clear = || {
        let mutex = poisoned();
        thread::scope(|s| {
            let locks = s.spawn(|| mutex.lock().is_err());
            let free = !matches!(mutex.try_lock(), Err(TryLockError::WouldBlock));
            mutex.clear_poison();
            (locks.join().unwrap(), free)
        })
    };
    // It is taken or not; the other looks before it is cleared or after.
    check([(false, false), (false, true), (true, false), (true, true)], lock_then_clear);
}

#[test]
fn locks_that_are_never_poisoned_have_no_further_events() {
    // Two critical sections: one execution for each order.
    let (report, _) = explore(|| {
        let mutex = Mutex::new(0);
        thread::scope(|s| {
            s.spawn(|| *mutex.lock().unwrap() += 1);
            *mutex.lock().unwrap() += 1;
        });
    });
    assert!(report.holds(), "{report}");
    assert_eq!(report.executions, 2);
}

#[test]
fn a_static_lock_is_not_poisoned_by_the_execution_before() {
    static LOCK: Mutex<u32> = Mutex::new(0);
    // The lock is poisoned in those executions in which the flag is not yet set; it is never found
    // so at first.
    check([(false, false), (false, true)], || {
        let first = LOCK.lock().is_err();
        let flag = AtomicU32::new(0);
        thread::scope(|s| {
            s.spawn(|| flag.store(1, SeqCst));
            if flag.load(SeqCst) == 0 {
                poison(&LOCK);
            }
        });
        (first, LOCK.is_poisoned())
    });
}

#[test]
fn what_is_poisoned_outside_is_so_inside() {
    let mutex = poisoned();
    check([(true, false)], || {
        let before = mutex.lock().is_err();
        mutex.clear_poison();
        (before, mutex.is_poisoned())
    });
    assert!(mutex.is_poisoned());
    mutex.clear_poison();
    assert!(!mutex.is_poisoned() && mutex.into_inner().is_ok());
}

/// Whoever took the lock looked without an event, so that one order was explored.
#[test]
fn a_lock_that_was_poisoned_outside_may_be_cleared_before_or_after_it_is_taken() {
    let mutex = poisoned();
    check([false, true], || {
        thread::scope(|s| {
            s.spawn(|| mutex.clear_poison());
            mutex.lock().is_err()
        })
    });
}

#[test]
fn a_lock_that_moves_stays_poisoned() {
    check([(true, true, false)], || {
        let moved = Box::new(poisoned());
        let (is, locks) = (moved.is_poisoned(), moved.lock().is_err());
        moved.clear_poison();
        (is, locks, Mutex::into_inner(*moved).is_err())
    });
}

#[test]
fn a_once_whose_function_has_panicked_can_be_forced() {
    check([true], || {
        let once = Once::new();
        caught(|| once.call_once(|| panic!("not yet")));
        let mut seen = None;
        once.call_once_force(|state| seen = Some(state.is_poisoned()));
        once.wait();
        seen.unwrap() && once.is_completed()
    });
    check([5], || {
        let once = OnceLock::new();
        caught(|| {
            once.get_or_init(|| panic!("not yet"));
        });
        *once.get_or_init(|| 5)
    });
}

/// A wait for a `OnceLock` panicked when a function had. Std's goes on until a later one succeeds.
#[test]
fn a_wait_for_a_once_lock_outlasts_a_function_that_panics() {
    check([1], || {
        let once = OnceLock::new();
        thread::scope(|s| {
            let waits = s.spawn(|| *once.wait());
            caught(|| {
                once.get_or_init(|| panic!("not yet"));
            });
            once.set(1).unwrap();
            waits.join().unwrap()
        })
    });
    check([()], || {
        let once = Once::new();
        thread::scope(|s| {
            s.spawn(|| once.wait_force());
            caught(|| once.call_once(|| panic!("not yet")));
            once.call_once_force(|_| ());
        });
    });
}
