//! Random small programs with loops, bounded and not, with hints and without, with locks, and with
//! threads that operations spawn: the engine sees exactly what brute force sees.

mod generate;
mod oracle;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64 as RealAtomic, Ordering::Relaxed};
use std::sync::{Mutex as RealMutex, PoisonError};

use generate::{Flavour, random_program};
use oracle::{
    Behaviours, Expected, Look, Program, Step, behaviours, fold, fold_loop, found_again, maximal,
};
use trueline::rng::{self, Seeds};
use trueline_explore::engine::interface::{operation_begins, operation_ends};
use trueline_explore::engine::{Aim, Execution, Exploration, Report};
use trueline_explore::std::hint;
use trueline_explore::std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use trueline_explore::std::sync::{Condvar, Mutex, MutexGuard};
use trueline_explore::std::thread::{self, Scope, ScopedJoinHandle};

const CELLS: usize = 3;

/// Programs have at most so many threads that no operation has spawned.
const THREADS: usize = 3;

/// Programs with more states are left out: brute force would take too long.
const MOST_STATES: usize = 30_000;

/// How a program is run. What it does must not depend on it.
#[derive(Clone, Copy, Debug)]
struct Style {
    hint: Hint,
    counter: Counter,
    /// Loops carry something along that differs between executions and that nothing depends on, as
    /// copies of values that are uninitialised in part do. So the round in which a loop is seen to
    /// wait differs, too.
    leftovers: bool,
}

#[derive(Clone, Copy, Debug)]
enum Hint {
    Nothing,
    SpinLoop,
    YieldNow,
}

/// Where loops count their rounds. Threads that operations spawn count on their stacks in place of
/// the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    Stack,
    Heap,
    ThreadLocal,
    /// A variable of the thread that waits for this one.
    Borrowed,
    /// What a static lock protects, which the thread holds; each test has its own, since tests run
    /// side by side.
    Static(Flavour),
}

const HINTS: [Hint; 3] = [Hint::Nothing, Hint::SpinLoop, Hint::YieldNow];

trueline_explore::thread_local! {
    static ROUNDS: Cell<u64> = Cell::new(0);
}

/// The number of an execution, more or less: std's, so that the explorer does not know of it.
static EXECUTIONS: RealAtomic = RealAtomic::new(0);

static HELD: [[Mutex<u64>; THREADS]; 3] = [const { [const { Mutex::new(0) }; THREADS] }; 3];

/// What the threads of a program share.
#[derive(Default)]
struct Shared {
    cells: [AtomicU64; CELLS],
    lock: Mutex<u64>,
    changed: Condvar,
}

type Cells = [AtomicU64; CELLS];

fn give(hint: Hint) {
    match hint {
        Hint::Nothing => (),
        Hint::SpinLoop => hint::spin_loop(),
        Hint::YieldNow => thread::yield_now(),
    }
}

/// What a look found, if it ends the loop.
fn look(cells: &Cells, look: Look) -> Option<u64> {
    let (found, leaves) = match look {
        Look::Load(cell, value) => {
            let found = cells[cell].load(SeqCst);
            (found, found == value)
        }
        Look::Peek(cell, value) => {
            let found = cells[cell].fetch_add(0, SeqCst);
            (found, found == value)
        }
        Look::Take(cell) => {
            let found = cells[cell].swap(0, SeqCst);
            (found, found != 0)
        }
        Look::Set(cell, mask) => {
            let found = cells[cell].fetch_or(mask, SeqCst);
            (found, found & mask != mask)
        }
        Look::Raise(cell, value) => {
            let found = cells[cell].fetch_max(value, SeqCst);
            (found, found < value)
        }
        Look::Swap(cell, new, expected) => {
            let found = cells[cell].swap(new, SeqCst);
            (found, found == expected)
        }
        Look::Cas(cell, expected, new) => {
            return cells[cell].compare_exchange(expected, new, SeqCst, SeqCst).ok();
        }
        Look::WeakCas(cell, expected, new) => {
            return cells[cell].compare_exchange_weak(expected, new, SeqCst, SeqCst).ok();
        }
        Look::Update(cell, expected, new) => {
            let mut calls = 0;
            let update = |found| {
                calls = u64::min(calls + 1, 2);
                (found == expected).then_some(new)
            };
            let found = cells[cell].fetch_update(SeqCst, SeqCst, update).ok();
            return found.map(|found| found_again(found, calls == 2));
        }
    };
    leaves.then_some(found)
}

/// One round in vain is counted, or only whether there was one; whether it was the last.
fn count_round(rounds: &Cell<u64>, most: Option<u64>) -> bool {
    rounds.set(most.map_or(1, |_| rounds.get() + 1));
    most == Some(rounds.get())
}

/// Looks in turn; says which look ended the loop.
fn look_around(
    cells: &Cells,
    looks: &[(Look, u64)],
    most: Option<u64>,
    style: Style,
    rounds: &Cell<u64>,
) -> Option<(usize, u64)> {
    let leftover = if style.leftovers { EXECUTIONS.load(Relaxed) % 2 } else { 0 };
    let mut carried = [0; 3];
    loop {
        carried = std::hint::black_box([carried[1], carried[2], leftover]);
        for (index, &(one, times)) in looks.iter().enumerate() {
            for _ in 0..times {
                if let Some(found) = look(cells, one) {
                    return Some((index, found));
                }
            }
        }
        if count_round(rounds, most) {
            return None;
        }
        give(style.hint);
    }
}

/// Tries to take the lock.
fn try_around<'a>(
    lock: &'a Mutex<u64>,
    most: Option<u64>,
    hint: Hint,
    rounds: &Cell<u64>,
) -> Option<MutexGuard<'a, u64>> {
    loop {
        if let Ok(guard) = lock.try_lock() {
            return Some(guard);
        }
        if count_round(rounds, most) {
            return None;
        }
        give(hint);
    }
}

/// Runs a loop with a counter that is 0, and yields what that is in the end.
fn counted<R>(
    counter: Counter,
    lent: Option<&Cell<u64>>,
    run: impl FnOnce(&Cell<u64>) -> R,
) -> (R, u64) {
    let start = |rounds: &Cell<u64>| {
        rounds.set(0);
        (run(rounds), rounds.get())
    };
    match (counter, lent) {
        (Counter::Heap, _) => {
            let rounds = std::hint::black_box(Box::new(Cell::new(0)));
            start(&rounds)
        }
        (Counter::ThreadLocal, _) => ROUNDS.with(start),
        (Counter::Borrowed | Counter::Static(_), Some(lent)) => start(lent),
        _ => start(&Cell::new(0)),
    }
}

fn run_steps<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared,
    steps: &'scope [Step],
    style: Style,
    lent: Option<&Cell<u64>>,
) -> u64 {
    let cells = &shared.cells;
    let mut result = 0;
    let mut child: Option<ScopedJoinHandle<'scope, u64>> = None;
    let mut guard: Option<MutexGuard<'scope, u64>> = None;
    for step in steps {
        match step {
            Step::Load(cell) => result = fold(result, cells[*cell].load(SeqCst)),
            Step::Store(cell, value) => cells[*cell].store(*value, SeqCst),
            Step::Swap(cell, value) => result = fold(result, cells[*cell].swap(*value, SeqCst)),
            Step::Cas(cell, expected, new) => {
                let exchanged = cells[*cell].compare_exchange(*expected, *new, SeqCst, SeqCst);
                let (Ok(found) | Err(found)) = exchanged;
                result = fold(fold(result, found), u64::from(exchanged.is_ok()));
            }
            Step::WeakCas(cell, expected, new) => {
                let exchanged = cells[*cell].compare_exchange_weak(*expected, *new, SeqCst, SeqCst);
                let (Ok(found) | Err(found)) = exchanged;
                result = fold(fold(result, found), u64::from(exchanged.is_ok()));
            }
            Step::Loop(looks, most) => {
                let run = |rounds: &Cell<u64>| look_around(cells, looks, *most, style, rounds);
                let (found, rounds) = counted(style.counter, lent, run);
                result = fold_loop(result, found, rounds);
            }
            Step::Increment(cell) => {
                let cell = &cells[*cell];
                let mut last = cell.load(SeqCst);
                while let Err(now) = cell.compare_exchange(last, last + 1, SeqCst, SeqCst) {
                    last = now;
                    give(style.hint);
                }
                result = fold(result, last);
            }
            Step::Spawn(body) => {
                child = Some(scope.spawn(move || run_steps(scope, shared, body, style, None)));
            }
            Step::Join => {
                let child = child.take().expect("a thread to join");
                result = fold(result, child.join().expect("it does not panic"));
            }
            Step::Lock => guard = Some(shared.lock.lock().expect("nobody panics")),
            Step::TryLock(most) => {
                let run = |rounds: &Cell<u64>| try_around(&shared.lock, *most, style.hint, rounds);
                let (tried, rounds) = counted(style.counter, lent, run);
                result = fold(fold(result, u64::from(tried.is_some())), rounds);
                guard = tried;
            }
            Step::Wait { once } => {
                let mut value = guard.take().expect("the lock is held");
                if *once {
                    if *value == 0 {
                        value = shared.changed.wait(value).expect("nobody panics");
                    }
                } else {
                    while *value == 0 {
                        value = shared.changed.wait(value).expect("nobody panics");
                    }
                }
                result = fold(result, *value);
                guard = Some(value);
            }
            Step::Unlock { adds } => {
                if let Some(mut value) = guard.take() {
                    *value += adds;
                    result = fold(result, *value);
                }
            }
            Step::Notify { all: true } => shared.changed.notify_all(),
            Step::Notify { all: false } => shared.changed.notify_one(),
        }
    }
    result
}

fn run_program(program: &Program, style: Style) {
    EXECUTIONS.fetch_add(1, Relaxed);
    let shared = Shared::default();
    // The first events say where the cells are.
    shared.cells.iter().for_each(|cell| cell.store(0, SeqCst));
    let mut lent = [0; THREADS];
    thread::scope(|scope| {
        for (index, (operations, mine)) in program.iter().zip(&mut lent).enumerate() {
            let shared = &shared;
            scope.spawn(move || {
                let mut guard = match style.counter {
                    Counter::Static(test) => Some(HELD[test as usize][index].lock().unwrap()),
                    _ => None,
                };
                let counter = Cell::from_mut(guard.as_deref_mut().unwrap_or(mine));
                for steps in operations {
                    operation_begins(0);
                    operation_ends(run_steps(scope, shared, steps, style, Some(counter)));
                }
            });
        }
    });
}

/// The results and the final values of an execution, and its orders.
fn observe(program: &Program, execution: &Execution<'_>, seen: &mut Behaviours) {
    let mut values = BTreeMap::new();
    let mut places = Vec::new();
    for step in execution.steps() {
        if places.len() < CELLS {
            places.push(step.location);
        }
        values.insert(step.location, step.after);
    }
    let cells = places.iter().map(|place| values[place]).collect();
    let histories = execution.histories().expect("few operations");
    let (mut results, mut numbers) = (Vec::new(), Vec::new());
    for (thread, operations) in program.iter().enumerate() {
        let mine = |i: &usize| histories.operations[*i].thread as usize == thread + 1;
        let of_thread: Vec<usize> = (0..histories.operations.len()).filter(mine).collect();
        for i in 0..operations.len() {
            numbers.push(of_thread.get(i).copied());
            results.push(of_thread.get(i).and_then(|&i| histories.operations[i].result));
        }
    }
    let bits = |holds: &dyn Fn(usize) -> bool| {
        (0..numbers.len()).filter(|&i| holds(i)).fold(0, |set, i| set | 1u32 << i)
    };
    let ended = bits(&|i| results[i].is_some());
    let orders = seen.entry((results, cells)).or_default();
    for order in &histories.orders {
        let before = |number: &Option<usize>| match number {
            None => ended,
            Some(b) => bits(&|a| numbers[a].is_some_and(|a| order.precedes(a, *b))),
        };
        orders.insert(numbers.iter().map(before).collect());
    }
}

fn explore(exploration: &Exploration, program: &Program, style: Style) -> (Report, Behaviours) {
    let seen: RealMutex<Behaviours> = RealMutex::default();
    let report = exploration.run_with(
        || run_program(program, style),
        |execution| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            observe(program, execution, &mut seen);
            Ok(())
        },
    );
    let mut seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    seen.values_mut().for_each(|orders: &mut BTreeSet<_>| *orders = maximal(orders));
    (report, seen)
}

#[track_caller]
fn compare(name: &str, program: &Program, seen: &Behaviours, expected: &Behaviours) {
    for (outcome, orders) in expected {
        assert_eq!(seen.get(outcome), Some(orders), "{name}: {outcome:?} of {program:?}");
    }
    for outcome in seen.keys() {
        assert!(expected.contains_key(outcome), "{name}: {outcome:?} of {program:?}");
    }
}

fn seeds() -> Seeds {
    rng::seeds(200)
}

/// The styles that a program is run in: all hints, each with another place for its counters.
fn styles(seed: u64, flavour: Flavour) -> [Style; 3] {
    let counters = [
        Counter::Stack,
        Counter::Heap,
        Counter::ThreadLocal,
        Counter::Borrowed,
        Counter::Static(flavour),
    ];
    [0, 1, 2].map(|i| Style {
        hint: HINTS[i],
        counter: counters[(2 * i + seed as usize) % 5],
        leftovers: false,
    })
}

/// Runs a program in all styles, on one worker and on two, and with leftovers.
fn explore_in_all_styles(
    seed: u64,
    flavour: Flavour,
    program: &Program,
    expected: &Expected,
    exploration: impl Fn() -> Exploration,
) {
    let mut executions = BTreeSet::new();
    for style in styles(seed, flavour) {
        let name = format!("seed {seed}, {style:?}");
        let (report, seen) = explore(&exploration(), program, style);
        compare(&name, program, &seen, &expected.behaviours);
        assert!(report.holds(), "{name}: {report} of {program:?}");
        executions.insert(report.executions);
    }
    assert!(executions.len() == 1, "seed {seed}: {executions:?} of {program:?}");
    if seed % 4 == 3 {
        let style = Style { leftovers: true, ..styles(seed, flavour)[seed as usize % 3] };
        let name = format!("leftovers, seed {seed}, {style:?}");
        let (report, seen) = explore(&exploration(), program, style);
        assert!(report.holds(), "{name}: {report} of {program:?}");
        compare(&name, program, &seen, &expected.behaviours);
    }
    let mut style = styles(seed, flavour)[seed as usize % 3];
    style.leftovers = seed.is_multiple_of(4);
    if let Counter::Static(_) = style.counter {
        // Workers run executions at the same time, which share what is static.
        style.counter = Counter::Stack;
    }
    let name = format!("two workers, seed {seed}, {style:?}");
    let (report, seen) = explore(&exploration().workers(2), program, style);
    compare(&name, program, &seen, &expected.behaviours);
    assert!(report.holds(), "{name}: {report} of {program:?}");
}

/// Runs a program with few preemptions: all that they suffice for is seen.
fn explore_bounded(seed: u64, flavour: Flavour, program: &Program, expected: &Expected) {
    let most = (seed % 3) as u32;
    let mut style = styles(seed, flavour)[seed as usize % 3];
    style.leftovers = seed % 4 == 1;
    let name = format!("{most} preemptions, seed {seed}, {style:?}");
    let exploration = Exploration::new().may_block().preemptions(most);
    let (report, seen) = explore(&exploration, program, style);
    let complete = report.scope.aim == Aim::Complete;
    for (outcome, &fewest) in &expected.preemptions {
        let is_seen = seen.contains_key(outcome);
        let wanted = complete || fewest <= most;
        assert!(is_seen || !wanted, "{name}: {outcome:?} of {program:?}, {report}");
    }
    for outcome in seen.keys() {
        let known = expected.behaviours.contains_key(outcome);
        assert!(known, "{name}: {outcome:?} of {program:?}");
    }
    assert!(report.holds(), "{name}: {report} of {program:?}");
}

#[test]
fn every_behaviour_of_a_program_with_loops_is_seen_with_hints_and_without() {
    let (mut programs, mut waiting, mut spawning) = (0, 0, 0);
    for seed in seeds() {
        let program = random_program(seed, Flavour::Atomics, CELLS);
        let Some(expected) = behaviours(&program, CELLS, false, MOST_STATES) else { continue };
        programs += 1;
        waiting += u64::from(expected.behaviours.keys().any(|outcome| outcome.0.contains(&None)));
        let spawns = |step: &Step| matches!(step, Step::Spawn(_));
        spawning += u64::from(program.iter().flatten().flatten().any(spawns));
        let exploration = || Exploration::new().may_block();
        explore_in_all_styles(seed, Flavour::Atomics, &program, &expected, exploration);
        explore_bounded(seed, Flavour::Atomics, &program, &expected);
    }
    assert!(programs * 10 > seeds().cases() * 9, "{programs} programs");
    assert!(waiting * 10 > programs && spawning * 10 > programs, "{waiting}, {spawning}");
}

#[test]
fn every_behaviour_of_a_program_with_locks_and_loops_is_seen() {
    let (mut programs, mut waiting) = (0, 0);
    for seed in seeds() {
        let program = random_program(seed, Flavour::Locks, CELLS);
        let spurious = seed % 2 == 0;
        let Some(expected) = behaviours(&program, CELLS, spurious, MOST_STATES) else { continue };
        programs += 1;
        let waits = |step: &Step| matches!(step, Step::Wait { .. });
        waiting += u64::from(program.iter().flatten().flatten().any(waits));
        let exploration = || Exploration::new().may_block().spurious(spurious);
        explore_in_all_styles(seed, Flavour::Locks, &program, &expected, exploration);
        if !spurious {
            explore_bounded(seed, Flavour::Locks, &program, &expected);
        }
    }
    assert!(programs * 10 > seeds().cases() * 9, "{programs} programs");
    assert!(waiting * 10 > programs, "{waiting}");
}

#[test]
fn every_behaviour_with_spurious_failures_is_seen_if_asked_for() {
    let mut programs = 0;
    for seed in seeds() {
        let program = random_program(seed, Flavour::Weak, CELLS);
        let mut style = styles(seed, Flavour::Weak)[seed as usize % 3];
        style.leftovers = seed % 2 == 1;
        for spurious in [false, true] {
            let most = MOST_STATES / 4;
            let Some(expected) = behaviours(&program, CELLS, spurious, most) else { continue };
            programs += 1;
            let name = format!("spurious: {spurious}, seed {seed}, {style:?}");
            let exploration = Exploration::new().may_block().spurious(spurious);
            let (report, seen) = explore(&exploration, &program, style);
            compare(&name, &program, &seen, &expected.behaviours);
            assert!(report.holds(), "{name}: {report} of {program:?}");
        }
    }
    assert!(programs * 10 > seeds().cases() * 15, "{programs} programs");
}
