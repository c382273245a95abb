//! Random small programs with loops, bounded and not, with hints and without, and with threads that operations spawn: the engine sees exactly
//! what brute force sees.

mod oracle;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use oracle::{Behaviours, Look, Program, Step, behaviours, fold, fold_loop, maximal};
use trueline::rng::{self, Rng, Seeds};
use trueline_explore::engine::interface::{operation_begins, operation_ends};
use trueline_explore::engine::{Execution, Exploration, Report};
use trueline_explore::std::hint;
use trueline_explore::std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use trueline_explore::std::thread::{self, Scope, ScopedJoinHandle};

#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

const CELLS: usize = 3;

/// Programs with more states are left out: brute force would take too long.
const MOST_STATES: usize = 30_000;

/// How a program is run. What it does must not depend on it.
#[derive(Clone, Copy, Debug)]
struct Style {
    hint: Hint,
    counter: Counter,
}

#[derive(Clone, Copy, Debug)]
enum Hint {
    Nothing,
    SpinLoop,
    YieldNow,
}

/// Where loops count their rounds.
#[derive(Clone, Copy, Debug)]
enum Counter {
    Stack,
    Heap,
    ThreadLocal,
}

const HINTS: [Hint; 3] = [Hint::Nothing, Hint::SpinLoop, Hint::YieldNow];
const COUNTERS: [Counter; 3] = [Counter::Stack, Counter::Heap, Counter::ThreadLocal];

trueline_explore::thread_local! {
    static ROUNDS: Cell<u64> = Cell::new(0);
}

/// What a program may cost: about the number of accesses.
struct Generator<'a> {
    rng: &'a mut Rng,
    left: u64,
    cells: u64,
    weak: bool,
}

impl Generator<'_> {
    fn program(&mut self) -> Program {
        let threads = 2 + usize::from(self.rng.below(4) == 0);
        let mut program = vec![Vec::new(); threads];
        while self.left > 0 {
            let thread = self.rng.below(threads as u64) as usize;
            let length = 1 + self.rng.below(3);
            let operation = self.operation(length);
            program[thread].push(operation);
        }
        program
    }

    fn operation(&mut self, length: u64) -> Vec<Step> {
        let mut steps: Vec<Step> = (0..length).map(|_| self.step()).collect();
        if self.rng.below(5) == 0 {
            let length = 1 + self.rng.below(2);
            let body = (0..length).map(|_| self.step()).collect();
            let at = self.rng.below(steps.len() as u64 + 1) as usize;
            steps.insert(at, Step::Spawn(body));
            if self.rng.below(4) > 0 {
                let behind = at + 1 + self.rng.below((steps.len() - at) as u64) as usize;
                steps.insert(behind, Step::Join);
            }
            self.left = self.left.saturating_sub(1);
        }
        steps
    }

    fn cell(&mut self) -> usize {
        self.rng.below(self.cells) as usize
    }

    fn step(&mut self) -> Step {
        let (cell, a, b) = (self.cell(), self.rng.below(3), self.rng.below(3));
        let (step, cost) = match self.rng.below(10) {
            0 => (Step::Load(cell), 1),
            1 | 2 => (Step::Store(cell, a), 1),
            3 => (Step::Swap(cell, a), 1),
            4 if self.weak => (Step::WeakCas(cell, a, b), 1),
            4 => (Step::Cas(cell, a, b), 1),
            5 => (Step::Increment(cell), 3),
            _ => {
                let looks: Vec<Look> = (0..=self.rng.below(3)).map(|_| self.look()).collect();
                let rounds = (self.rng.below(2) == 0).then(|| 1 + self.rng.below(3));
                let cost = looks.len() as u64 * rounds.unwrap_or(2);
                (Step::Loop(looks, rounds), cost)
            }
        };
        self.left = self.left.saturating_sub(cost);
        step
    }

    fn look(&mut self) -> Look {
        let (cell, a, b) = (self.cell(), self.rng.below(3), self.rng.below(3));
        match self.rng.below(4) {
            0 | 1 => Look::Load(cell, 1 + self.rng.below(2)),
            2 => Look::Take(cell),
            _ if self.weak => Look::WeakCas(cell, a, b),
            _ => Look::Cas(cell, a, b),
        }
    }
}

fn random_program(seed: u64, weak: bool) -> Program {
    let rng = &mut Rng::new(seed);
    let (left, cells) = (4 + rng.below(if weak { 4 } else { 6 }), 1 + rng.below(CELLS as u64));
    Generator { rng, left, cells, weak }.program()
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
    match look {
        Look::Load(cell, value) => {
            let found = cells[cell].load(SeqCst);
            (found == value).then_some(found)
        }
        Look::Take(cell) => {
            let found = cells[cell].swap(0, SeqCst);
            (found != 0).then_some(found)
        }
        Look::Cas(cell, expected, new) => {
            cells[cell].compare_exchange(expected, new, SeqCst, SeqCst).ok()
        }
        Look::WeakCas(cell, expected, new) => {
            cells[cell].compare_exchange_weak(expected, new, SeqCst, SeqCst).ok()
        }
    }
}

/// Looks in turn; says which look ended the loop, and after how many rounds in vain.
fn look_around(
    cells: &Cells,
    looks: &[Look],
    most: Option<u64>,
    hint: Hint,
    rounds: &Cell<u64>,
) -> (Option<(usize, u64)>, u64) {
    rounds.set(0);
    loop {
        for (index, &one) in looks.iter().enumerate() {
            if let Some(found) = look(cells, one) {
                return (Some((index, found)), rounds.get());
            }
        }
        match most {
            None => rounds.set(1),
            Some(most) => {
                rounds.set(rounds.get() + 1);
                if rounds.get() == most {
                    return (None, most);
                }
            }
        }
        give(hint);
    }
}

fn run_loop(
    cells: &Cells,
    looks: &[Look],
    most: Option<u64>,
    style: Style,
) -> (Option<(usize, u64)>, u64) {
    match style.counter {
        Counter::Stack => look_around(cells, looks, most, style.hint, &Cell::new(0)),
        Counter::Heap => {
            let rounds = std::hint::black_box(Box::new(Cell::new(0)));
            look_around(cells, looks, most, style.hint, &rounds)
        }
        Counter::ThreadLocal => {
            ROUNDS.with(|rounds| look_around(cells, looks, most, style.hint, rounds))
        }
    }
}

fn run_steps<'scope>(
    scope: &'scope Scope<'scope, '_>,
    cells: &'scope Cells,
    steps: &'scope [Step],
    style: Style,
) -> u64 {
    let mut result = 0;
    let mut child: Option<ScopedJoinHandle<'scope, u64>> = None;
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
                let (found, rounds) = run_loop(cells, looks, *most, style);
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
                child = Some(scope.spawn(move || run_steps(scope, cells, body, style)));
            }
            Step::Join => {
                let child = child.take().expect("a thread to join");
                result = fold(result, child.join().expect("it does not panic"));
            }
        }
    }
    result
}

fn run_program(program: &Program, style: Style) {
    let cells = Cells::default();
    // The first events say where the cells are.
    cells.iter().for_each(|cell| cell.store(0, SeqCst));
    thread::scope(|scope| {
        for operations in program {
            let cells = &cells;
            scope.spawn(move || {
                for steps in operations {
                    operation_begins(0);
                    operation_ends(run_steps(scope, cells, steps, style));
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
    let seen: Mutex<Behaviours> = Mutex::default();
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
    rng::seeds(150)
}

/// The styles that a program is run in: all hints, each with another place for its counters.
fn styles(seed: u64) -> [Style; 3] {
    [0, 1, 2].map(|i| Style { hint: HINTS[i], counter: COUNTERS[(i + seed as usize) % 3] })
}

#[test]
fn every_behaviour_of_a_program_with_loops_is_seen_with_hints_and_without() {
    let (mut programs, mut waiting, mut spawning) = (0, 0, 0);
    for seed in seeds() {
        let program = random_program(seed, false);
        let Some(expected) = behaviours(&program, CELLS, false, MOST_STATES) else { continue };
        programs += 1;
        waiting += u64::from(expected.keys().any(|outcome| outcome.0.contains(&None)));
        let spawns = |step: &Step| matches!(step, Step::Spawn(_));
        spawning += u64::from(program.iter().flatten().flatten().any(spawns));
        let mut executions = BTreeSet::new();
        for style in styles(seed) {
            let name = format!("seed {seed}, {style:?}");
            let (report, seen) = explore(&Exploration::new().may_block(), &program, style);
            compare(&name, &program, &seen, &expected);
            assert!(report.holds(), "{name}: {report} of {program:?}");
            executions.insert(report.executions);
        }
        let name = format!("two workers, seed {seed}");
        let exploration = Exploration::new().may_block().workers(2);
        let (report, seen) = explore(&exploration, &program, styles(seed)[seed as usize % 3]);
        compare(&name, &program, &seen, &expected);
        assert!(report.holds(), "{name}: {report} of {program:?}");
        assert!(executions.len() == 1, "seed {seed}: {executions:?} of {program:?}");
    }
    assert!(programs * 10 > seeds().cases() * 9, "{programs} programs");
    assert!(waiting * 10 > programs && spawning * 10 > programs, "{waiting}, {spawning}");
}

#[test]
fn every_behaviour_with_spurious_failures_is_seen_if_asked_for() {
    let mut programs = 0;
    for seed in seeds() {
        let program = random_program(seed, true);
        let style = styles(seed)[seed as usize % 3];
        for spurious in [false, true] {
            let most = MOST_STATES / 4;
            let Some(expected) = behaviours(&program, CELLS, spurious, most) else { continue };
            programs += 1;
            let name = format!("spurious: {spurious}, seed {seed}, {style:?}");
            let exploration = Exploration::new().may_block().spurious(spurious);
            let (report, seen) = explore(&exploration, &program, style);
            compare(&name, &program, &seen, &expected);
            assert!(report.holds(), "{name}: {report} of {program:?}");
        }
    }
    assert!(programs * 10 > seeds().cases() * 15, "{programs} programs");
}
