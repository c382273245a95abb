//! Panics that are caught: what destructors do while a thread unwinds are events, other threads run
//! between them, and only the thread that panics is said to.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use trueline::rng;
use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Assumption, Exploration, Report, Stop};
use trueline_explore::memory;
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::Ordering::SeqCst;
use trueline_explore::std::sync::atomic::{AtomicBool, AtomicU32};
use trueline_explore::std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock, TryLockError};
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

/// A pair that is changed under a lock, both sides alike, and tells when the lock is held half way.
struct Pair {
    sides: Mutex<(u32, u32)>,
    begun: AtomicU32,
    half: AtomicU32,
}

impl Pair {
    fn new() -> Pair {
        Pair { sides: Mutex::new((0, 0)), begun: AtomicU32::new(0), half: AtomicU32::new(0) }
    }

    fn change(&self) {
        let mut sides = self.sides.lock().unwrap_or_else(PoisonError::into_inner);
        sides.0 = 1;
        self.begun.store(1, SeqCst);
        self.half.store(1, SeqCst);
        sides.1 = 1;
    }

    fn read(&self) -> (u32, u32) {
        *self.sides.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_being_changed(&self) -> bool {
        self.begun.load(SeqCst) == 1 && self.half.load(SeqCst) == 0
    }
}

/// A destructor took a lock that another thread held, since nothing was recorded while a panic was
/// taken for lost: an assertion that never fails did.
#[test]
fn a_destructor_never_takes_a_lock_that_another_thread_holds() {
    let seen = |pair: &Pair| {
        let seen = std::cell::Cell::new((7, 7));
        caught(|| {
            let _last = Finally(|| seen.set(pair.read()));
            if pair.is_being_changed() {
                panic!("caught")
            }
        });
        assert_eq!(seen.get().0, seen.get().1, "both are set under the lock");
        seen.get()
    };
    check(&[(0, 0), (1, 1)], || {
        let pair = Pair::new();
        thread::scope(|s| {
            s.spawn(|| pair.change());
            seen(&pair)
        })
    });
    check(&[(0, 0), (1, 1)], || {
        let pair = Pair::new();
        thread::scope(|s| {
            s.spawn(|| pair.change());
            s.spawn(|| seen(&pair)).join().unwrap()
        })
    });
}

/// The assertion failed while another panic was on its way, which ended the process.
#[test]
fn a_destructor_that_asserts_under_a_lock_does_not_abort() {
    let ask = |pair: &Pair| {
        let _last = Finally(|| {
            let (one, other) = pair.read();
            assert_eq!(one, other);
        });
        if pair.is_being_changed() {
            panic!("the message")
        }
    };
    check(&[()], || {
        let pair = Pair::new();
        thread::scope(|s| {
            s.spawn(|| pair.change());
            caught(|| ask(&pair));
        });
    });
    let (report, _) = outcomes(|| {
        let pair = Pair::new();
        thread::scope(|s| {
            s.spawn(|| pair.change());
            s.spawn(|| ask(&pair));
        });
    });
    let Some(Failure::Panic { message, .. }) = &report.failure else { panic!("{report}") };
    assert_eq!(message, "the message", "{report}");
    // The schedule leads there again.
    let again = Exploration::new().replay(report.schedule.clone().unwrap()).run(|| {
        let pair = Pair::new();
        thread::scope(|s| {
            s.spawn(|| pair.change());
            s.spawn(|| ask(&pair));
        });
    });
    assert_eq!(again.failure, report.failure);
}

/// It read memory that nobody had written.
#[test]
fn a_destructor_waits_until_a_once_lock_is_filled() {
    check(&[5], || {
        let cell: OnceLock<Box<u32>> = OnceLock::new();
        let mut seen = 0;
        thread::scope(|s| {
            s.spawn(|| cell.set(Box::new(5)));
            caught(|| {
                let _last = Finally(|| seen = **cell.wait());
                panic!("caught")
            });
        });
        seen
    });
}

/// A lock that is given back while nothing is recorded is free for the next destructor.
#[test]
fn a_destructor_finds_the_lock_free_that_one_before_it_gave_back() {
    let (report, _) = outcomes(|| {
        let lock = Mutex::new(0);
        let other = AtomicU32::new(0);
        thread::scope(|s| {
            s.spawn(|| other.store(1, SeqCst));
            let body = || {
                let _last = Finally(|| match lock.try_lock() {
                    Err(TryLockError::WouldBlock) => panic!("nobody holds the lock"),
                    _guard => (),
                });
                let _guard = lock.lock();
                panic!("the message")
            };
            s.spawn(body);
        });
    });
    let Some(Failure::Panic { message, .. }) = &report.failure else { panic!("{report}") };
    assert_eq!(message, "the message", "{report}");
}

/// The execution is over when no thread can go on. The destructor under way is not given what it
/// waits for.
#[test]
fn a_destructor_that_spins_while_a_caught_panic_unwinds_leaves_no_panic_behind() {
    for exploration in
        [Exploration::new(), Exploration::new().preemptions(2), Exploration::new().workers(2)]
    {
        let report = exploration.run(|| {
            let (x, y, z) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
            thread::scope(|s| {
                s.spawn(|| {
                    x.store(1, SeqCst);
                    z.store(y.load(SeqCst), SeqCst);
                });
                caught(|| {
                    let _last = Finally(|| {
                        while x.load(SeqCst) == 0 {}
                        y.store(1, SeqCst);
                    });
                    panic!("caught")
                });
            });
        });
        // There is one panic, and nobody waits for ever.
        assert!(report.holds(), "{report}");
        assert!(!std::thread::panicking());
    }
    let report = Exploration::new().run(|| assert!(caught(|| panic!("caught"))));
    assert!(report.holds(), "{report}");
}

#[test]
fn a_destructor_that_waits_for_a_thread_that_waits_for_ever_is_left_alone() {
    let exploration = Exploration::new().may_block();
    let body = || {
        let pair = Pair::new();
        thread::scope(|s| {
            s.spawn(|| {
                let mut sides = pair.sides.lock().unwrap_or_else(PoisonError::into_inner);
                sides.0 = 1;
                thread::park();
                sides.1 = 1;
            });
            caught(|| {
                let _last = Finally(|| {
                    let (one, other) = pair.read();
                    assert_eq!(one, other);
                });
                panic!("caught")
            });
        });
    };
    // On a thread of its own: std goes on counting the panic of a thread that never ends its
    // unwinding.
    let report = std::thread::spawn(move || exploration.run(body)).join().unwrap();
    assert_eq!(report.failure, None, "{report}");
}

/// A panic that begins after another one was caught, without an event in between, is run again with
/// the events of the first one.
#[test]
fn a_panic_after_one_that_was_caught_is_reported_with_all_events() {
    let (report, _) = outcomes(|| {
        let x = AtomicU32::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                caught(|| {
                    let _last = Finally(|| x.store(1, SeqCst));
                    panic!("caught")
                });
                panic!("the message")
            });
        });
    });
    let Some(Failure::Panic { message, .. }) = &report.failure else { panic!("{report}") };
    assert_eq!(message, "the message", "{report}");
    assert!(report.to_string().contains("AtomicU32::store"), "{report}");
}

/// One step of a thread of a random program.
#[derive(Clone, Debug)]
enum Step {
    Load(usize),
    Store(usize, u32),
    Add(usize),
    /// Takes the lock for these steps.
    Locked(Vec<Step>),
    /// Tries the lock, and takes a load under it.
    Try(usize),
    /// The first steps, and then a panic that is caught: the others are those of a destructor.
    Caught(Vec<Step>, Vec<Step>),
}

/// How a random program ends what it catches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Returns,
    Panics,
    Resumes,
}

fn random_steps(rng: &mut rng::Rng, most: u64, locks: bool, catches: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..1 + rng.below(most) {
        let cell = rng.below(2) as usize;
        steps.push(match rng.below(5) {
            0 if locks => {
                let catches = catches && rng.below(2) == 0;
                Step::Locked(random_steps(rng, 2, false, catches))
            }
            1 if locks => Step::Try(cell),
            2 => Step::Store(cell, 1 + rng.below(2) as u32),
            3 => Step::Add(cell),
            _ => Step::Load(cell),
        });
    }
    if catches {
        let first = random_steps(rng, 2, locks, false);
        // A lock that is held meanwhile is given back by unwinding; else the destructor may wait
        // for it.
        let locked = locks && rng.below(2) == 0;
        let caught = Step::Caught(first, random_steps(rng, 2, locks && !locked, false));
        let caught = if locked { Step::Locked(vec![caught]) } else { caught };
        steps.insert(rng.below(steps.len() as u64 + 1) as usize, caught);
    }
    steps
}

struct Objects {
    cells: [AtomicU32; 2],
    /// Says whether it is held: what looks at it under the lock may be a destructor, and must not
    /// panic.
    lock: Mutex<bool>,
    ending: Ending,
}

/// The lock is held.
struct Held<'a>(MutexGuard<'a, bool>);

impl<'a> Held<'a> {
    fn new(mut guard: MutexGuard<'a, bool>) -> Held<'a> {
        assert!(!std::mem::replace(&mut *guard, true), "two threads hold the lock");
        Held(guard)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0 = false;
    }
}

impl Objects {
    fn lock(&self) -> Held<'_> {
        Held::new(self.lock.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn run(&self, steps: &[Step], read: &RefCell<Vec<u32>>) {
        for step in steps {
            match step {
                Step::Load(cell) => {
                    let value = self.cells[*cell].load(SeqCst);
                    read.borrow_mut().push(value);
                }
                Step::Store(cell, value) => self.cells[*cell].store(*value, SeqCst),
                Step::Add(cell) => {
                    let value = self.cells[*cell].fetch_add(1, SeqCst);
                    read.borrow_mut().push(value);
                }
                Step::Locked(steps) => match &steps[..] {
                    [Step::Caught(first, last)] => self.catch(true, first, last, read),
                    _ => {
                        let _held = self.lock();
                        self.run(steps, read);
                    }
                },
                Step::Try(cell) => {
                    let guard = match self.lock.try_lock() {
                        Ok(guard) => Some(guard),
                        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
                        Err(TryLockError::WouldBlock) => None,
                    };
                    let value = match guard.map(Held::new) {
                        Some(_held) => self.cells[*cell].load(SeqCst),
                        None => 77,
                    };
                    read.borrow_mut().push(value);
                }
                Step::Caught(first, last) => self.catch(false, first, last, read),
            }
        }
    }

    fn catch(&self, locks: bool, first: &[Step], last: &[Step], read: &RefCell<Vec<u32>>) {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let _held = locks.then(|| self.lock());
            let _last = Finally(|| self.run(last, read));
            // With the lock held, the steps must not take it again.
            if !locks {
                self.run(first, read);
            }
            match self.ending {
                Ending::Returns => (),
                Ending::Panics => panic!("caught"),
                Ending::Resumes => resume_unwind(Box::new(1)),
            }
        }));
    }
}

#[test]
fn a_panic_that_is_caught_has_the_executions_of_a_return() {
    /// Programs with more are left to luck.
    const MOST: u64 = 300;
    let seeds = rng::seeds(100);
    let (cases, mut small) = (seeds.cases(), 0);
    for seed in seeds {
        let rng = &mut rng::Rng::new(seed);
        let threads = 2 + rng.below(2);
        let catching = rng.below(threads);
        let program: Vec<Vec<Step>> =
            (0..threads).map(|index| random_steps(rng, 2, true, index == catching)).collect();
        let explore = |exploration: &Exploration, ending| {
            let (report, seen) = outcomes_of(exploration, || {
                let cells = [AtomicU32::new(0), AtomicU32::new(0)];
                let shared = Objects { cells, lock: Mutex::new(false), ending };
                thread::scope(|s| {
                    let mut threads = Vec::new();
                    for steps in &program {
                        let shared = &shared;
                        threads.push(s.spawn(move || {
                            let read = RefCell::default();
                            shared.run(steps, &read);
                            read.into_inner()
                        }));
                    }
                    threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
                })
            });
            let cut = report.scope.stopped == Some(Stop::Executions(MOST));
            assert!(cut || report.holds(), "seed {seed}, {ending:?}: {program:?}\n{report}");
            (report.executions, seen)
        };
        let expected = explore(&Exploration::new().executions(MOST), Ending::Returns);
        if expected.0 == MOST {
            continue;
        }
        small += 1;
        let all = Exploration::new();
        let seen = explore(&all, Ending::Panics);
        assert_eq!(seen, expected, "seed {seed}: {program:?}");
        let seen = explore(&all, Ending::Resumes);
        assert_eq!(seen, expected, "seed {seed}: {program:?}");
        let seen = explore(&Exploration::new().workers(2), Ending::Panics);
        assert_eq!(seen, expected, "seed {seed}, workers: {program:?}");
        if seed.is_multiple_of(8) {
            let seen = explore(&Exploration::new().preemptions(20), Ending::Panics);
            assert_eq!(seen.1, expected.1, "seed {seed}, preemptions: {program:?}");
        }
    }
    assert!(small >= cases / 4, "{small} of {cases} programs are small enough");
}
