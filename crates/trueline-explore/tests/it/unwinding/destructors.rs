//! What destructors wait for, take and assert while a panic unwinds.

use trueline_explore::engine::Exploration;
use trueline_explore::engine::interface::Failure;
use trueline_explore::std::sync::atomic::AtomicU32;
use trueline_explore::std::sync::atomic::Ordering::SeqCst;
use trueline_explore::std::sync::{Mutex, OnceLock, PoisonError, TryLockError};
use trueline_explore::std::thread;

use super::{Finally, caught, check, outcomes};

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
