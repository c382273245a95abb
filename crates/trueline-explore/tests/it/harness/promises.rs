//! What the harness promises of a failure: it is one of the programs that the test asks for, and it
//! is the same whatever the number of workers. And of the object as its own specification: it is
//! deterministic, or the test says that it is not.

use std::sync::Arc;

use trueline::Budget;
use trueline_explore::engine::Sampler;
use trueline_explore::harness::{Kind, Verdict};
use trueline_explore::std::sync::Mutex;
use trueline_explore::std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use trueline_explore::std::thread;
use trueline_explore::{explore, operations};

/// Two threads, each with a handle of its own, break an assertion.
#[derive(Default)]
struct Slots([AtomicU32; 2]);

struct Slot<'a>(&'a Slots, usize);

impl Slot<'_> {
    fn bump(&mut self) -> u32 {
        self.0.0[self.1].fetch_add(1, SeqCst);
        assert_eq!(self.0.0[1 - self.1].load(SeqCst), 0, "both have one");
        0
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Zero;

impl Zero {
    fn bump(&mut self) -> u32 {
        0
    }
}

mod handles {
    use super::{Slot, Slots, Zero, operations};
    operations! {
        pub enum Op -> Ret for Slots[Slot<'a> = |slots, thread| Slot(slots, thread.index - 1)], Zero {
            bump() -> u32;
        }
    }
}

#[test]
fn minimising_makes_no_handle_for_a_thread_that_has_none_in_the_test() {
    use handles::Op;
    let outcome = explore(Slots::default).spec(Zero).operations([Op::bump()]).length(1).run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!((failure.kind, &*failure.scenario), (Kind::Panic, "bump() | bump()"));
    assert!(failure.sentence.contains("both have one"), "{outcome}");
}

/// A bag that must not be asked for a value when it has none: it answers 77 then.
#[derive(Default)]
struct Bag(Mutex<Vec<u32>>);

impl Bag {
    fn push(&self) {
        self.0.lock().unwrap().push(1);
    }
    fn pop(&self) -> Option<u32> {
        Some(self.0.lock().unwrap().pop().unwrap_or(77))
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Ones(Vec<u32>);

impl Ones {
    fn push(&mut self) {
        self.0.push(1);
    }
    fn pop(&mut self) -> Option<u32> {
        self.0.pop()
    }
}

mod bag {
    use super::{Bag, Ones, operations};
    operations! {
        pub enum Op -> Ret for Bag, Ones { push(); pop() -> Option<u32>; }
    }
}

#[test]
fn a_failure_of_well_formed_scenarios_is_well_formed() {
    use bag::Op;
    let outcome = explore(Bag::default)
        .spec(Ones::default())
        .operations([Op::push(), Op::pop()])
        .well_formed(|op| matches!(op, Op::push()), Op::pop())
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    let of = |what| failure.scenario.matches(what).count();
    assert_eq!((of("push"), of("pop")), (1, 1), "{outcome}");
}

#[test]
fn the_scope_says_that_scenarios_were_well_formed() {
    use bag::Op;
    let outcome = explore(Bag::default)
        .spec(Ones::default())
        .role(1, [Op::push()])
        .role(1, [Op::push()])
        .well_formed(|op| matches!(op, Op::push()), Op::pop())
        .run();
    assert!(outcome.holds(), "{outcome}");
    assert!(
        outcome.scope.to_string().starts_with(
            "all matrices up to 2 threads x 2 operations with at most as many removals as insertions;"
        ),
        "{outcome}"
    );
}

#[test]
fn a_program_that_is_not_well_formed_is_an_error() {
    use bag::Op;
    let outcome = explore(Bag::default)
        .spec(Ones::default())
        .program([vec![Op::push()], vec![Op::pop()]])
        .program([vec![Op::push()], vec![Op::pop(), Op::pop()]])
        .well_formed(|op| matches!(op, Op::push()), Op::pop())
        .run();
    // The first one fails: it is well-formed.
    assert!(outcome.failure().is_some(), "{outcome}");
    let outcome = explore(Bag::default)
        .spec(Ones::default())
        .program([vec![Op::push()], vec![Op::pop(), Op::pop()]])
        .well_formed(|op| matches!(op, Op::push()), Op::pop())
        .run();
    let Some(what) = outcome.error() else { panic!("{outcome}") };
    assert!(what.contains("more removals than insertions"), "{what}");
}

/// An operation that races with a thread of its own.
struct Racy(u32);

impl Racy {
    fn race(&self) -> u32 {
        let x = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..self.0 {
                scope.spawn(|| x.fetch_add(1, SeqCst));
            }
            x.load(SeqCst)
        })
    }
    /// As [`Racy::race`], with the same result under every schedule.
    fn join(&self) -> u32 {
        self.race();
        self.0
    }
}

mod racy {
    use super::{Racy, operations};
    operations! {
        pub enum Op -> Ret for Racy { race() -> u32; join() -> u32; }
    }
}

#[test]
fn an_object_whose_serial_runs_differ_is_an_error_also_where_its_own_threads_make_them_differ() {
    use racy::Op;
    let outcome = explore(|| Racy(1)).operations([Op::race()]).length(1).run();
    let Some(what) = outcome.error() else { panic!("{outcome}") };
    assert!(what.contains("must be deterministic"), "{what}");
    let outcome = explore(|| Racy(1)).operations([Op::join()]).length(1).run();
    assert!(outcome.holds(), "{outcome}");
}

#[test]
fn serial_runs_draw_on_the_budget_of_the_test() {
    use racy::Op;
    // One schedule of the scenario is sampled; the serial run of one operation has thousands.
    let budget = Arc::new(Budget::unlimited().steps(500));
    let outcome = explore(|| Racy(7))
        .program([[Op::join()]])
        .sample(Sampler::Random, 1, 1)
        .budget(budget)
        .run();
    assert!(
        matches!(&outcome.verdict, Verdict::Undecided(why) if why.code == "incomplete"),
        "{outcome}"
    );
}

/// A counter that loses additions.
#[derive(Default)]
struct Hasty(AtomicU32);

impl Hasty {
    fn add(&self) -> u32 {
        let seen = self.0.load(SeqCst);
        self.0.store(seen + 1, SeqCst);
        seen
    }
    fn get(&self) -> u32 {
        self.0.load(SeqCst)
    }
    fn odd(&self) {
        assert!(self.0.load(SeqCst) != 3, "three");
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sum(u32);

impl Sum {
    fn add(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
    fn get(&mut self) -> u32 {
        self.0
    }
    fn odd(&mut self) {}
}

mod hasty {
    use super::{Hasty, Sum, operations};
    operations! {
        pub enum Op -> Ret for Hasty, Sum { add() -> u32; get() -> u32; odd(); }
    }
}

#[test]
fn several_workers_report_the_failure_of_one() {
    use hasty::Op;
    let programs: [Vec<Vec<Op>>; 4] = [
        vec![vec![Op::add(), Op::get(), Op::add()], vec![Op::add(), Op::get(), Op::add()]],
        vec![vec![Op::add(), Op::odd()], vec![Op::add(), Op::add()]],
        vec![vec![Op::add(), Op::get()], vec![Op::odd(), Op::add()], vec![Op::get(), Op::add()]],
        vec![vec![Op::get()], vec![Op::get(), Op::add()], vec![Op::add()], vec![Op::odd()]],
    ];
    for program in &programs {
        for sampled in [false, true] {
            let run = |workers| {
                let test = explore(Hasty::default).spec(Sum::default()).program(program.clone());
                let test = match sampled {
                    true => test.sample(Sampler::Random, 7, 300),
                    false => test,
                };
                test.as_found().workers(workers).run()
            };
            let alone = run(1);
            let expected = alone.failure().unwrap_or_else(|| panic!("{alone}"));
            for workers in [2, 3] {
                for _ in 0..5 {
                    let outcome = run(workers);
                    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
                    let told = |f: &trueline_explore::harness::Failure<_, _>| {
                        (f.kind, f.sentence.clone(), f.replay.clone())
                    };
                    assert_eq!(told(failure), told(expected), "{outcome}");
                    assert_eq!(outcome.counts.executions, alone.counts.executions, "{outcome}");
                }
            }
        }
    }
}
