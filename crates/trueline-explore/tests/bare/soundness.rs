//! Random small programs: the engine sees exactly the behaviours that brute force sees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use crate::common::{Cell, boxed, threads};
use crate::oracle::{Behaviours, Outcome, Program, Step, all_interleavings, fold, maximal};
use trueline::rng::{self, Rng, Seeds};
use trueline_explore::engine::interface::{operation_begins, operation_ends};
use trueline_explore::engine::{Aim, Exploration, Report};

const CELLS: usize = 4;
/// The last cell is a lock.
const LOCK: usize = 3;

/// How a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    /// What a compare-exchange does is not foretold.
    Opaque,
    /// Awaits are loops of loads.
    Spinning,
}

fn cell(index: usize) -> Cell {
    Cell(8 + 8 * index)
}

fn random_program(rng: &mut Rng) -> Program {
    let threads = 2 + rng.below(3) as usize;
    let cells = 1 + rng.below(3);
    let mut left = 4 + rng.below(7);
    let mut program = vec![Vec::new(); threads];
    let locks = rng.below(3) == 0;
    let awaits = rng.below(3) == 0;
    while left > 0 {
        let thread = rng.below(threads as u64) as usize;
        let length = rng.below(4).min(left);
        left -= length.max(1);
        let mut steps = Vec::new();
        for _ in 0..length {
            let cell = rng.below(cells) as usize;
            let (a, b) = (rng.below(3), rng.below(3));
            steps.push(match rng.below(if awaits { 8 } else { 7 }) {
                0 | 1 => Step::Load(cell),
                2 => Step::Store(cell, a),
                3 => Step::Add(cell, 1),
                4 => Step::Swap(cell, a),
                5 | 6 => Step::Cas(cell, a, b),
                _ => Step::Await(cell, a),
            });
        }
        if locks && rng.below(2) == 0 && left >= 2 {
            left -= 2;
            steps.insert(0, Step::Lock(LOCK));
            // Now and then it is never released.
            if rng.below(8) > 0 {
                steps.push(Step::Unlock(LOCK));
            }
        }
        program[thread].push(steps);
    }
    program
}

/// Many threads with next to nothing to do: what one race leaves open is decided by others, in
/// other places.
fn random_crowd(rng: &mut Rng) -> Program {
    let threads = if rng.below(3) > 0 { 6 } else { 4 + rng.below(2) as usize };
    let cells = 1 + rng.below(5).min(1) + rng.below(5) / 4;
    let mut program = vec![vec![Vec::new()]; threads];
    let more = (threads < 6 && rng.below(2) == 0).then(|| rng.below(threads as u64) as usize);
    for thread in (0..threads).chain(more) {
        let cell = rng.below(cells) as usize;
        let (a, b) = (rng.below(3), rng.below(3));
        program[thread][0].push(match rng.below(8) {
            0..=3 => Step::Load(cell),
            4 | 5 => Step::Store(cell, 1 + thread as u64),
            6 => Step::Add(cell, 1),
            _ => Step::Cas(cell, a, b),
        });
    }
    program
}

fn run_steps(steps: &[Step], style: Style) -> u64 {
    let mut result = 0;
    for &step in steps {
        match step {
            Step::Load(c) => result = fold(result, cell(c).load()),
            Step::Store(c, value) => cell(c).store(value),
            Step::Add(c, n) => result = fold(result, cell(c).add(n)),
            Step::Swap(c, value) => result = fold(result, cell(c).swap(value)),
            Step::Cas(c, expected, new) => {
                let (Ok(old) | Err(old)) = if style == Style::Opaque {
                    cell(c).opaque_compare_exchange(expected, new)
                } else {
                    cell(c).compare_exchange(expected, new)
                };
                result = fold(result, old);
            }
            Step::WeakCas(c, expected, new) => {
                let old = cell(c).weak_compare_exchange(expected, new);
                result = fold(result, old.unwrap_or(expected + 5));
            }
            Step::Await(c, value) => {
                if style == Style::Spinning {
                    while cell(c).load() != value {}
                } else {
                    cell(c).wait_for(value);
                }
                result = fold(result, value);
            }
            Step::Either((a, x), (b, y)) => loop {
                let (first, second) = (cell(a).load(), cell(b).load());
                if first == x || second == y {
                    result = fold(fold(result, first), second);
                    break;
                }
            },
            Step::Lock(c) => cell(c).lock(),
            Step::Unlock(c) => cell(c).unlock(),
        }
    }
    result
}

fn explore(exploration: &Exploration, program: &Program, style: Style) -> (Report, Behaviours) {
    let seen: Mutex<BTreeMap<Outcome, BTreeSet<Vec<u128>>>> = Mutex::default();
    let body = || {
        threads(program.iter().map(|operations| {
            let operations = operations.clone();
            boxed(move || {
                for steps in &operations {
                    operation_begins(0);
                    operation_ends(run_steps(steps, style));
                }
            })
        }));
    };
    let report = exploration.run_with(body, |execution| {
        let histories = execution.histories().unwrap();
        let mut results = Vec::new();
        let mut numbers = Vec::new();
        for (thread, operations) in program.iter().enumerate() {
            let of_thread: Vec<usize> = (0..histories.operations.len())
                .filter(|&i| histories.operations[i].thread as usize == thread + 1)
                .collect();
            for i in 0..operations.len() {
                numbers.push(of_thread.get(i).copied());
                results.push(of_thread.get(i).and_then(|&i| histories.operations[i].result));
            }
        }
        let ended =
            (0..results.len()).filter(|&i| results[i].is_some()).fold(0, |set, i| set | 1u128 << i);
        let values = (0..CELLS).map(|c| execution.value(cell(c).0)).collect();
        let mut seen = seen.lock().unwrap();
        let orders = seen.entry((results, values)).or_default();
        for order in &histories.orders {
            let of = |number: &Option<usize>| match number {
                None => ended,
                Some(b) => (0..numbers.len())
                    .filter(|&a| numbers[a].is_some_and(|a| order.precedes(a, *b)))
                    .fold(0, |set, a| set | 1u128 << a),
            };
            orders.insert(numbers.iter().map(of).collect());
        }
        Ok(())
    });
    let seen = seen.into_inner().unwrap();
    let outcomes = seen.into_iter().map(|(outcome, orders)| (outcome, maximal(&orders))).collect();
    let traces = report.executions as usize;
    (report, Behaviours { outcomes, traces, interleavings: 0 })
}

fn seeds() -> Seeds {
    rng::seeds(300)
}

#[track_caller]
fn compare(name: &str, program: &Program, seen: &Behaviours, expected: &Behaviours) {
    for (outcome, orders) in &expected.outcomes {
        let found = seen.outcomes.get(outcome);
        assert_eq!(found, Some(orders), "{name}: {outcome:?} of {program:?}");
    }
    for outcome in seen.outcomes.keys() {
        assert!(expected.outcomes.contains_key(outcome), "{name}: {outcome:?} of {program:?}");
    }
}

#[test]
fn every_behaviour_is_seen_and_every_trace_once() {
    let exploration = Exploration::new().may_block();
    for seed in seeds() {
        let program = random_program(&mut Rng::new(seed));
        let expected = all_interleavings(&program, CELLS, usize::MAX);
        let (report, seen) = explore(&exploration, &program, Style::Plain);
        assert_eq!(report.failure, None, "seed {seed}: {program:?}");
        compare(&format!("seed {seed}"), &program, &seen, &expected);
        assert_eq!(report.blocked, 0, "seed {seed}: {program:?}");
        assert_eq!(seen.traces, expected.traces, "seed {seed}: {program:?}");
        let (report, seen) = explore(&exploration, &program, Style::Opaque);
        assert_eq!(report.failure, None, "seed {seed}: {program:?}");
        compare(&format!("opaque, seed {seed}"), &program, &seen, &expected);
        assert_eq!(seen.traces, expected.traces, "seed {seed}: {program:?}");
    }
}

/// As above, with more threads.
#[test]
fn every_trace_of_many_threads_is_seen_once() {
    for seed in seeds() {
        let program = random_crowd(&mut Rng::new(seed));
        let expected = all_interleavings(&program, CELLS, usize::MAX);
        for (workers, style) in [(1, Style::Plain), (1, Style::Opaque), (2, Style::Plain)] {
            let exploration = Exploration::new().workers(workers);
            let (report, seen) = explore(&exploration, &program, style);
            let name = format!("{workers} workers, {style:?}, seed {seed}");
            assert!(report.holds(), "{name}: {program:?}");
            compare(&name, &program, &seen, &expected);
            assert_eq!(seen.traces, expected.traces, "{name}: {program:?}");
        }
    }
}

/// A race that two executions have in common was reversed after the first of them only. What
/// follows the race differs between them, and is part of what has to be run.
#[test]
fn a_race_is_reversed_again_when_what_follows_differs() {
    // Two cells, each stored to once and loaded twice: each load sees the store or not.
    let (x, y) = (0, 1);
    let steps = [
        Step::Load(x),
        Step::Store(y, 1),
        Step::Load(y),
        Step::Store(x, 1),
        Step::Load(x),
        Step::Load(y),
    ];
    let program: Program = steps.into_iter().map(|step| vec![vec![step]]).collect();
    for workers in [1, 2] {
        let (report, seen) = explore(&Exploration::new().workers(workers), &program, Style::Plain);
        assert!(report.holds(), "{report}");
        assert_eq!((report.executions, seen.outcomes.len()), (16, 16), "{workers} workers");
    }
}

/// The awaits of a program are loops: more traces, the same behaviours.
#[test]
fn loops_that_spin_behave_as_awaits() {
    let exploration = Exploration::new().may_block();
    let mut programs = 0;
    for seed in seeds() {
        let program = random_program(&mut Rng::new(seed));
        if !program.iter().flatten().flatten().any(|step| matches!(step, Step::Await(..))) {
            continue;
        }
        programs += 1;
        let expected = all_interleavings(&program, CELLS, usize::MAX);
        let (report, seen) = explore(&exploration, &program, Style::Spinning);
        assert_eq!(report.failure, None, "seed {seed}: {program:?}");
        assert_eq!(report.blocked, 0, "seed {seed}: {program:?}");
        compare(&format!("spinning, seed {seed}"), &program, &seen, &expected);
    }
    assert!(programs * 10 > seeds().cases());
}

/// Loops over two cells: they wait for either to change.
#[test]
fn loops_over_two_cells_behave_as_loops() {
    let mut programs = 0;
    for seed in seeds() {
        let rng = &mut Rng::new(seed);
        let mut program = random_program(rng);
        let mut number = 0;
        let mut loops = 0;
        for step in program.iter_mut().flatten().flatten() {
            number += 1;
            let (Step::Load(cell) | Step::Await(cell, _)) = *step else {
                continue;
            };
            if loops < 2 && number < 8 && rng.below(2) == 0 {
                loops += 1;
                let other = (cell + 1 + rng.below(2) as usize) % 3;
                *step = Step::Either((cell, 1 + rng.below(2)), (other, 1 + rng.below(2)));
            }
        }
        // A loop adds steps for each change that it sees.
        if loops == 0 || number + 2 * loops > 9 {
            continue;
        }
        programs += 1;
        let expected = all_interleavings(&program, CELLS, usize::MAX);
        for workers in [1, 2] {
            let exploration = Exploration::new().may_block().workers(workers);
            let (report, seen) = explore(&exploration, &program, Style::Plain);
            assert_eq!(report.failure, None, "seed {seed}: {program:?}");
            compare(&format!("{workers} workers, seed {seed}"), &program, &seen, &expected);
        }
    }
    assert!(programs * 10 > seeds().cases());
}

/// Compare-exchanges that may fail for no reason: the environment's choices are all explored, in
/// every search.
#[test]
fn every_choice_of_the_environment_is_seen() {
    for seed in seeds() {
        let mut program = random_program(&mut Rng::new(seed));
        for step in program.iter_mut().flatten().flatten() {
            if let Step::Cas(cell, expected, new) = *step {
                *step = Step::WeakCas(cell, expected, new);
            }
        }
        program.iter_mut().for_each(|operations| operations.retain(|steps| !steps.is_empty()));
        let expected = all_interleavings(&program, CELLS, usize::MAX);
        let (report, seen) = explore(&Exploration::new().may_block(), &program, Style::Plain);
        assert_eq!(report.failure, None, "seed {seed}: {program:?}");
        compare(&format!("weak, seed {seed}"), &program, &seen, &expected);
        // A thread sleeps with what all its choices touch: some executions repeat others.
        assert!(seen.traces >= expected.traces, "weak, seed {seed}: {program:?}");
        let (_, seen) = explore(&Exploration::new().may_block().workers(2), &program, Style::Plain);
        compare(&format!("weak, two workers, seed {seed}"), &program, &seen, &expected);
        let expected = all_interleavings(&program, CELLS, 1);
        let bounded = Exploration::new().may_block().preemptions(1);
        let (report, seen) = explore(&bounded, &program, Style::Plain);
        assert_eq!(report.failure, None, "seed {seed}: {program:?}");
        let outcomes: Vec<_> = seen.outcomes.keys().collect();
        let within: Vec<_> = expected.outcomes.keys().collect();
        assert_eq!(outcomes, within, "weak, one preemption, seed {seed}: {program:?}");
    }
}

/// A compare-exchange that failed for no reason was a read, so that a schedule with it was taken to
/// cover one in which it succeeded later: `Load(0)` before the store was never seen together with
/// that success.
#[test]
fn a_harmless_choice_does_not_cover_a_harmful_one() {
    let program = vec![
        vec![vec![Step::Store(0, 2)]],
        vec![vec![Step::WeakCas(1, 0, 1)]],
        vec![vec![Step::Await(1, 0), Step::Load(0), Step::Cas(1, 2, 1)]],
    ];
    let expected = all_interleavings(&program, CELLS, usize::MAX);
    for workers in [1, 2] {
        let exploration = Exploration::new().may_block().workers(workers);
        let (report, seen) = explore(&exploration, &program, Style::Plain);
        assert_eq!(report.failure, None);
        compare(&format!("{workers} workers"), &program, &seen, &expected);
    }
}

/// Several workers explore what one does: each trace once.
#[test]
fn workers_together_see_what_one_sees() {
    for seed in seeds().one_in(2) {
        let program = random_program(&mut Rng::new(seed));
        let expected = all_interleavings(&program, CELLS, usize::MAX);
        for (workers, style) in [(2, Style::Plain), (3, Style::Opaque), (3, Style::Spinning)] {
            let exploration = Exploration::new().may_block().workers(workers);
            let (report, seen) = explore(&exploration, &program, style);
            assert_eq!(report.failure, None, "seed {seed}: {program:?}");
            compare(&format!("{workers} workers, seed {seed}"), &program, &seen, &expected);
            if style != Style::Spinning {
                assert_eq!(seen.traces, expected.traces, "seed {seed}: {program:?}");
            }
            if style != Style::Opaque {
                assert_eq!(report.blocked, 0, "seed {seed}: {program:?}");
            }
        }
    }
}

/// With a bound: exactly the outcomes of the interleavings within it.
#[test]
fn a_bounded_search_misses_nothing_within_its_bound() {
    for seed in seeds() {
        let mut program = random_program(&mut Rng::new(seed));
        // An operation without steps is a step to the oracle, and could be preempted there.
        program.iter_mut().for_each(|operations| operations.retain(|steps| !steps.is_empty()));
        for bound in 0..3 {
            let expected = all_interleavings(&program, CELLS, bound);
            let exploration = Exploration::new().may_block().preemptions(bound as u32);
            let (report, seen) = explore(&exploration, &program, Style::Plain);
            assert_eq!(report.failure, None, "seed {seed}: {program:?}");
            let outcomes: Vec<_> = seen.outcomes.keys().collect();
            let within: Vec<_> = expected.outcomes.keys().collect();
            assert_eq!(outcomes, within, "{bound} preemptions, seed {seed}: {program:?}");
            if report.scope.aim == Aim::Complete {
                let all = all_interleavings(&program, CELLS, usize::MAX);
                compare(&format!("{bound} preemptions, seed {seed}"), &program, &seen, &all);
            }
        }
    }
}

/// Whether a read was one that waits was decided by what others had done when its thread came to
/// it, which differs among executions that should be the same.
#[test]
fn whether_a_thread_spins_depends_on_its_own_past_alone() {
    let looping = vec![Step::Cas(1, 2, 2), Step::Either((1, 2), (0, 2))];
    let program = vec![
        vec![vec![Step::Store(0, 0)]],
        vec![vec![Step::Swap(1, 1)]],
        vec![vec![], looping],
        vec![vec![Step::Cas(0, 1, 2)], vec![]],
    ];
    let expected = all_interleavings(&program, CELLS, usize::MAX);
    let (report, seen) = explore(&Exploration::new().may_block(), &program, Style::Plain);
    assert_eq!(report.failure, None);
    compare("", &program, &seen, &expected);
}

/// A compare-exchange of 0 for 0 was foretold to write. Its thread slept, and was run asleep out of
/// a wakeup tree, and its later events slept with it.
#[test]
fn a_thread_that_a_wakeup_tree_runs_asleep_does_not_stay_asleep() {
    let program = random_program(&mut Rng::new(12667));
    let expected = all_interleavings(&program, CELLS, usize::MAX);
    let (_, seen) = explore(&Exploration::new(), &program, Style::Opaque);
    compare("seed 12667", &program, &seen, &expected);
}

#[test]
fn load_against_load_and_compare_exchange_sees_both_values() {
    let program =
        vec![vec![vec![Step::Load(0)]], vec![vec![Step::Load(0)], vec![Step::Cas(0, 0, 1)]]];
    let (report, seen) = explore(&Exploration::new(), &program, Style::Plain);
    assert_eq!((report.executions, report.blocked), (2, 0));
    let first: BTreeSet<u64> = seen.outcomes.keys().map(|o| o.0[0].unwrap()).collect();
    assert_eq!(first, BTreeSet::from([fold(0, 0), fold(0, 1)]));
}
