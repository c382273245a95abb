//! Loops that wait without saying so.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{Cell, boxed, join, threads};
use trueline_explore::engine::interface::{Failure, spin_hint};
use trueline_explore::engine::{Assumption, Exploration};

const A: Cell = Cell(8);
const B: Cell = Cell(16);

#[test]
fn a_loop_that_waits_for_a_flag_ends() {
    let report = Exploration::new().run(|| {
        threads([boxed(|| while A.load() == 0 {}), boxed(|| A.store(1))]);
    });
    assert_eq!(report.failure, None);
    println!("{report:?}");
    assert!(report.executions <= 4, "{report:?}");
}

#[test]
fn a_spin_lock_excludes() {
    for n in 2..=3 {
        let seen: Mutex<BTreeSet<u64>> = Mutex::default();
        let report = Exploration::new().run_with(
            || {
                let all = threads((0..n).map(|_| {
                    boxed(|| {
                        while A.compare_exchange(0, 1).is_err() {}
                        let value = B.load();
                        B.store(value + 1);
                        A.store(0);
                    })
                }));
                all.into_iter().for_each(join);
                assert_eq!(B.load(), n);
            },
            |execution| {
                seen.lock().unwrap().insert(execution.value(B.0));
                Ok(())
            },
        );
        println!("{n}: {report:?}");
        assert_eq!(report.failure, None);
        assert_eq!(seen.into_inner().unwrap(), BTreeSet::from([n]));
    }
}

#[test]
fn a_loop_that_waits_for_ever_is_a_livelock() {
    let report = Exploration::new().run(|| {
        threads([boxed(|| while A.load() != 2 || B.load() != 1 {}), boxed(|| A.store(2))]);
    });
    println!("{report:?}");
    assert!(matches!(report.failure, Some(Failure::Livelock { .. })), "{report:?}");
}

/// Reads that are repeated a fixed number of times do not spin: the last may see what the first
/// does not.
#[test]
fn a_loop_that_gives_up_is_not_taken_for_one_that_spins() {
    let seen: Mutex<BTreeSet<u64>> = Mutex::default();
    let body = || {
        threads([
            boxed(|| {
                let mut tries = 0;
                while tries < 7 && A.load() == 0 {
                    tries += 1;
                }
                B.store(tries);
            }),
            boxed(|| A.store(1)),
        ]);
    };
    let report = Exploration::new().run_with(body, |execution| {
        seen.lock().unwrap().insert(execution.value(B.0));
        Ok(())
    });
    assert_eq!(report.failure, None);
    assert_eq!(seen.into_inner().unwrap(), (0..=7).collect());
}

#[test]
fn a_loop_over_two_locations_waits_for_either() {
    let seen: Mutex<BTreeSet<(u64, u64)>> = Mutex::default();
    let body = || {
        threads([
            boxed(|| {
                loop {
                    let (a, b) = (A.load(), B.load());
                    if a + b > 1 {
                        Cell(24).store(a * 10 + b);
                        break;
                    }
                }
            }),
            boxed(|| A.store(1)),
            boxed(|| B.store(1)),
            boxed(|| B.store(2)),
        ]);
    };
    let report = Exploration::new().run_with(body, |execution| {
        seen.lock().unwrap().insert((execution.value(24), execution.value(B.0)));
        Ok(())
    });
    println!("{report:?}");
    assert_eq!(report.failure, None);
    let expected = [(2, 1), (2, 2), (11, 1), (11, 2), (12, 1), (12, 2)];
    assert_eq!(seen.into_inner().unwrap(), BTreeSet::from(expected));
}

/// Adds one to a counter; whether it is below 5 then. The count itself is never on the stack or in
/// a register: where nothing is optimised a compiler leaves copies there, by which the engine tells
/// the rounds apart.
#[cfg(target_arch = "x86_64")]
fn count_out_of_sight(rounds: &mut u64) -> bool {
    let below: u8;
    // SAFETY: the pointer is that of the reference, and nothing else is touched.
    unsafe {
        std::arch::asm!(
            "inc qword ptr [{rounds}]",
            "cmp qword ptr [{rounds}], 5",
            "setb {below}",
            rounds = in(reg) rounds,
            below = out(reg_byte) below,
        );
    }
    below != 0
}

/// Without the allocator nobody knows what a loop does on the heap: one that counts there is taken
/// to wait, and the report does not say that it is complete.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_loop_that_counts_in_a_box_where_the_heap_is_unknown_is_not_complete() {
    for hinted in [false, true] {
        let report = Exploration::new().may_block().run(|| {
            threads([
                boxed(move || {
                    let mut rounds = std::hint::black_box(Box::new(0));
                    while A.load() == 0 && count_out_of_sight(&mut rounds) {
                        if hinted {
                            spin_hint();
                        }
                    }
                }),
                boxed(|| A.store(1)),
            ]);
        });
        assert_eq!(report.failure, None);
        assert_eq!(report.scope.assumed, Some(Assumption::Memory), "{report}");
        assert!(!report.holds());
        let text = report.to_string();
        assert!(text.contains("; all schedules; assuming that waiting loops"), "{text}");
        assert!(!text.contains("complete"), "{text}");
    }
}

/// As above, in plain Rust: whether a compiler leaves the count on the stack is its own affair. If
/// it does all rounds are seen, else the report does not say that it is complete.
#[test]
fn a_loop_that_counts_in_a_box_is_complete_only_if_all_its_rounds_are_seen() {
    for hinted in [false, true] {
        let seen: Mutex<BTreeSet<u64>> = Mutex::default();
        let body = || {
            threads([
                boxed(move || {
                    let mut rounds = std::hint::black_box(Box::new(0));
                    while *rounds < 5 && A.load() == 0 {
                        *rounds += 1;
                        if hinted {
                            spin_hint();
                        }
                    }
                    B.store(*rounds);
                }),
                boxed(|| A.store(1)),
            ]);
        };
        let report = Exploration::new().may_block().run_with(body, |execution| {
            seen.lock().unwrap().insert(execution.value(B.0));
            Ok(())
        });
        assert_eq!(report.failure, None);
        let all = seen.into_inner().unwrap() == (0..=5).collect();
        assert_eq!(report.holds(), all, "{report}");
        assert_eq!(report.scope.assumed.is_none(), all, "{report}");
    }
}

#[test]
fn a_hint_leads_to_the_same_executions() {
    let executions = [false, true].map(|hinted| {
        let report = Exploration::new().run(|| {
            let wait = move || {
                while A.load() == 0 {
                    if hinted {
                        spin_hint();
                    }
                }
            };
            threads([boxed(wait), boxed(|| A.store(1))]);
        });
        assert_eq!(report.failure, None, "{report:?}");
        report.executions
    });
    assert_eq!(executions[0], executions[1]);
}

/// A queue whose `deq` waits for an `enq` that is half done was reported as stuck: after the hint
/// it reads a new front, with which the next look at the back ends it, though the back is what it
/// was.
#[test]
fn a_thread_that_has_seen_something_new_since_its_hint_does_not_spin() {
    let report = Exploration::new().run(|| {
        threads([
            boxed(|| {
                let mut front = A.load();
                while B.load() != front {
                    spin_hint();
                    front = A.load();
                }
            }),
            boxed(|| {
                B.store(1);
                A.store(1);
            }),
        ]);
    });
    assert_eq!(report.failure, None, "{report:?}");
}

/// Something that loops carry along, and that differs between executions though nothing depends on
/// it, was called nondeterminism: in debug builds what other functions have left on the stack is
/// such a thing. The loop is recognised in another round than before.
#[test]
fn a_loop_that_is_recognised_in_another_round_than_before_is_no_nondeterminism() {
    for workers in [1, 2] {
        let executions = AtomicU64::new(0);
        let seen: Mutex<BTreeSet<u64>> = Mutex::default();
        let body = || {
            let leftover = executions.fetch_add(1, Ordering::Relaxed) % 3;
            threads([
                boxed(move || {
                    let mut carried = [0; 3];
                    while A.load() != 1 {
                        carried = std::hint::black_box([carried[1], carried[2], leftover]);
                    }
                    let value = B.load();
                    Cell(24).store(10 + value);
                }),
                boxed(|| {
                    A.store(0);
                    B.store(1);
                    A.store(1);
                }),
                boxed(|| {
                    A.store(1);
                    A.store(0);
                }),
            ]);
        };
        let exploration = Exploration::new().may_block().workers(workers);
        let report = exploration.run_with(body, |execution| {
            seen.lock().unwrap().insert(execution.value(24));
            Ok(())
        });
        assert_eq!(report.failure, None, "{report}");
        assert_eq!(seen.into_inner().unwrap(), BTreeSet::from([0, 10, 11]));
    }
}
