//! Random programs: a panic that is caught has the executions of a return.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use trueline::rng;
use trueline_explore::engine::{Exploration, Stop};
use trueline_explore::std::sync::atomic::AtomicU32;
use trueline_explore::std::sync::atomic::Ordering::SeqCst;
use trueline_explore::std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use trueline_explore::std::thread;

use super::{Finally, outcomes_of};

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
