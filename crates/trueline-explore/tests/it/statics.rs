//! Loops that keep their state in statics.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Mutex as RealMutex, PoisonError};

use trueline_explore::engine::{Exploration, Report};
use trueline_explore::memory::untracked;
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use trueline_explore::std::sync::{Arc, Mutex, RwLock};
use trueline_explore::std::{hint, thread};

/// A loop looks at most so often.
const MOST: u32 = 7;

/// What a loop that looks at a flag finds after how many rounds in vain, in all executions.
fn outcomes(
    looks: impl Fn(&AtomicBool) -> Option<u32> + Send + Sync + Copy + 'static,
) -> (Report, BTreeSet<Option<u32>>) {
    let seen = RealMutex::new(BTreeSet::new());
    let report = Exploration::new().run(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&flag);
        let looking = thread::spawn(move || looks(&theirs));
        flag.store(true, SeqCst);
        let found = looking.join().unwrap();
        untracked(|| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).insert(found);
        });
    });
    (report, seen.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn look(flag: &AtomicBool, hinted: bool, rounds: &Cell<u32>) -> Option<u32> {
    rounds.set(0);
    loop {
        if flag.load(SeqCst) {
            return Some(rounds.get());
        }
        rounds.set(rounds.get() + 1);
        if rounds.get() == MOST {
            return None;
        }
        if hinted {
            hint::spin_loop();
        }
    }
}

#[track_caller]
fn sees_all(looks: impl Fn(&AtomicBool) -> Option<u32> + Send + Sync + Copy + 'static) {
    let (report, seen) = outcomes(looks);
    let expected: BTreeSet<Option<u32>> = (0..MOST).map(Some).chain([None]).collect();
    assert_eq!(seen, expected, "{report}");
    assert!(report.holds(), "{report}");
}

#[test]
fn a_loop_that_counts_in_a_static_lock_that_it_holds_is_not_taken_to_spin() {
    static COUNTER: Mutex<u32> = Mutex::new(0);
    static BOTH: RwLock<u32> = RwLock::new(0);
    for hinted in [false, true] {
        sees_all(move |flag| look(flag, hinted, Cell::from_mut(&mut *COUNTER.lock().unwrap())));
        sees_all(move |flag| look(flag, hinted, Cell::from_mut(&mut *BOTH.write().unwrap())));
    }
}

/// A counter that only one thread uses.
struct Counter(UnsafeCell<u32>);

// SAFETY: only one thread uses it.
unsafe impl Sync for Counter {}

#[test]
fn a_loop_that_counts_in_a_static_cell_is_not_taken_to_spin() {
    static COUNTER: Counter = Counter(UnsafeCell::new(0));
    let add = |by: u32| {
        // SAFETY: nobody else has a pointer to it.
        COUNTER.0.with_mut(|rounds| unsafe {
            *rounds += by;
            *rounds
        })
    };
    for hinted in [false, true] {
        sees_all(move |flag| {
            // SAFETY: as above.
            COUNTER.0.with_mut(|rounds| unsafe { *rounds = 0 });
            loop {
                if flag.load(SeqCst) {
                    return Some(add(0));
                }
                if add(1) == MOST {
                    return None;
                }
                if hinted {
                    hint::spin_loop();
                }
            }
        });
    }
}

/// What a loop leaves as it is does not keep it from waiting.
#[test]
fn a_loop_that_holds_a_static_lock_and_changes_nothing_waits() {
    static VALUE: Mutex<u32> = Mutex::new(0);
    for hinted in [false, true] {
        let (report, seen) = outcomes(move |flag| {
            let mut value = VALUE.lock().unwrap();
            *value = 1;
            while !flag.load(SeqCst) {
                *value = 2;
                if hinted {
                    hint::spin_loop();
                }
            }
            Some(*value)
        });
        assert_eq!(seen, BTreeSet::from([Some(1), Some(2)]), "{report}");
        assert!(report.holds(), "{report}");
    }
}
