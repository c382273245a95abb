//! Small programs, and every interleaving of them by brute force. Shares no code with the engine.

#![allow(unreachable_pub)]

use std::collections::{BTreeMap, BTreeSet};

/// One step of a thread, on one of a few cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Load(usize),
    Store(usize, u64),
    Add(usize, u64),
    Swap(usize, u64),
    Cas(usize, u64, u64),
    /// May fail though the value is the expected one.
    WeakCas(usize, u64, u64),
    Await(usize, u64),
    /// Reads one cell and then another, again and again, until one of them has the value given for
    /// it.
    Either((usize, u64), (usize, u64)),
    Lock(usize),
    Unlock(usize),
}

/// Threads, each a sequence of operations, each a sequence of steps.
pub type Program = Vec<Vec<Vec<Step>>>;

/// Each operation's result (what it read, folded; None if it has not returned) by thread, and the
/// cells' final values.
pub type Outcome = (Vec<Option<u64>>, Vec<u64>);

/// For each operation the set of operations that ended before it began, as bits.
pub type Order = Vec<u128>;

/// What all interleavings of a program have to show.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Behaviours {
    /// The maximal orders of each outcome.
    pub outcomes: BTreeMap<Outcome, BTreeSet<Order>>,
    /// How many interleavings there are up to the order of steps that do not conflict.
    pub traces: usize,
    pub interleavings: usize,
}

/// How the result of an operation comes from what it read.
pub fn fold(result: u64, read: u64) -> u64 {
    result * 11 + read + 1
}

/// A step that writes, or steps that read: thread and number of each.
type Group = (bool, BTreeSet<(usize, usize)>);

#[derive(Clone)]
struct State {
    cells: Vec<u64>,
    /// Operation and step within it.
    at: Vec<(usize, usize)>,
    results: Vec<u64>,
    before: Order,
    begun: Vec<bool>,
    ended: u128,
    /// For each cell, groups of steps that may be exchanged: single writers, sets of readers.
    past: Vec<Vec<Group>>,
    counts: Vec<usize>,
    last: Option<usize>,
    preemptions: usize,
    /// Of each thread in a loop: what it has read first in this round, and both values of the round
    /// before.
    first: Vec<Option<u64>>,
    round: Vec<Option<(u64, u64)>>,
}

/// Every interleaving, with at most so many switches away from a thread that could go on.
pub fn all_interleavings(program: &Program, cells: usize, preemptions: usize) -> Behaviours {
    let operations: usize = program.iter().map(Vec::len).sum();
    let state = State {
        cells: vec![0; cells],
        at: vec![(0, 0); program.len()],
        results: vec![0; operations],
        before: vec![0; operations],
        begun: vec![false; operations],
        ended: 0,
        past: vec![Vec::new(); cells],
        counts: vec![0; program.len()],
        last: None,
        preemptions: 0,
        first: vec![None; program.len()],
        round: vec![None; program.len()],
    };
    let mut orders: BTreeMap<Outcome, BTreeSet<Order>> = BTreeMap::new();
    let mut traces = BTreeSet::new();
    let mut interleavings = 0;
    walk(program, state, preemptions, &mut |state| {
        interleavings += 1;
        let results = (0..operations)
            .map(|i| (state.ended >> i & 1 == 1).then_some(state.results[i]))
            .collect();
        let mut before = state.before.clone();
        for (before, begun) in before.iter_mut().zip(&state.begun) {
            // What never made a step is called last, if its thread has come to it.
            if !begun {
                *before = state.ended;
            }
        }
        orders.entry((results, state.cells.clone())).or_default().insert(before);
        traces.insert((state.past.clone(), state.counts.clone(), state.results.clone()));
    });
    let outcomes = orders.into_iter().map(|(outcome, set)| (outcome, maximal(&set))).collect();
    Behaviours { outcomes, traces: traces.len(), interleavings }
}

/// Those that no other contains.
pub fn maximal(orders: &BTreeSet<Order>) -> BTreeSet<Order> {
    let below = |a: &Order, b: &Order| a != b && a.iter().zip(b).all(|(a, b)| a & !b == 0);
    orders.iter().filter(|a| !orders.iter().any(|b| below(a, b))).cloned().collect()
}

fn walk(program: &Program, state: State, bound: usize, done: &mut impl FnMut(&State)) {
    let can: Vec<bool> = (0..program.len()).map(|t| enabled(program, &state, t)).collect();
    if !can.contains(&true) {
        done(&state);
        return;
    }
    for thread in 0..program.len() {
        if !can[thread] {
            continue;
        }
        let preempts = state.last.is_some_and(|last| last != thread && can[last]);
        if preempts && state.preemptions == bound {
            continue;
        }
        let mut next = state.clone();
        next.preemptions += usize::from(preempts);
        next.last = Some(thread);
        if may_fail(program, &next, thread) {
            let mut failed = next.clone();
            step(program, &mut failed, thread, true);
            walk(program, failed, bound, done);
        }
        step(program, &mut next, thread, false);
        walk(program, next, bound, done);
    }
}

fn index(program: &Program, thread: usize, operation: usize) -> usize {
    program[..thread].iter().map(Vec::len).sum::<usize>() + operation
}

fn enabled(program: &Program, state: &State, thread: usize) -> bool {
    let (operation, step) = state.at[thread];
    match program[thread].get(operation).map(|steps| steps.get(step)) {
        None => false,
        Some(None | Some(Step::Load(_) | Step::Store(..) | Step::Add(..) | Step::Swap(..))) => true,
        Some(Some(Step::Cas(..) | Step::WeakCas(..) | Step::Unlock(_))) => true,
        Some(Some(&Step::Await(cell, value))) => state.cells[cell] == value,
        Some(Some(&Step::Lock(cell))) => state.cells[cell] == 0,
        // A round that would be like the last one is not run.
        Some(Some(&Step::Either((a, _), (b, _)))) => {
            state.first[thread].is_some()
                || state.round[thread] != Some((state.cells[a], state.cells[b]))
        }
    }
}

fn may_fail(program: &Program, state: &State, thread: usize) -> bool {
    let (operation, step) = state.at[thread];
    let step = program[thread].get(operation).and_then(|steps| steps.get(step));
    matches!(step, Some(&Step::WeakCas(cell, expected, _)) if state.cells[cell] == expected)
}

fn step(program: &Program, state: &mut State, thread: usize, fails: bool) {
    let (operation, at) = state.at[thread];
    let steps = &program[thread][operation];
    let me = index(program, thread, operation);
    if !state.begun[me] {
        state.begun[me] = true;
        state.before[me] = state.ended;
    }
    // An operation without steps still takes its turn.
    if let Some(&step) = steps.get(at) {
        let (cell, read, write) = match step {
            Step::Load(cell) => (cell, true, None),
            Step::Store(cell, value) => (cell, false, Some(value)),
            Step::Add(cell, n) => (cell, true, Some(state.cells[cell] + n)),
            Step::Swap(cell, value) => (cell, true, Some(value)),
            Step::Cas(cell, expected, new) => {
                (cell, true, (state.cells[cell] == expected).then_some(new))
            }
            Step::WeakCas(cell, expected, new) => {
                (cell, true, (state.cells[cell] == expected && !fails).then_some(new))
            }
            Step::Await(cell, _) => (cell, true, None),
            Step::Either(a, b) => {
                let cell = if state.first[thread].is_some() { b.0 } else { a.0 };
                (cell, false, None)
            }
            Step::Lock(cell) => (cell, false, Some(1)),
            Step::Unlock(cell) => (cell, false, Some(0)),
        };
        let old = state.cells[cell];
        if read {
            state.results[me] = fold(state.results[me], if fails { old + 5 } else { old });
        }
        let writes = match write {
            None => false,
            Some(value) => matches!(step, Step::Store(..)) || value != old,
        };
        if let Some(value) = write {
            state.cells[cell] = value;
        }
        let mut again = false;
        if let Step::Either((_, x), (_, y)) = step {
            match state.first[thread].take() {
                None => {
                    state.first[thread] = Some(old);
                    again = true;
                }
                Some(first) if first == x || old == y => {
                    state.results[me] = fold(fold(state.results[me], first), old);
                    state.round[thread] = None;
                }
                Some(first) => {
                    state.round[thread] = Some((first, old));
                    again = true;
                }
            }
        }
        let name = (thread, state.counts[thread]);
        match state.past[cell].last_mut() {
            Some((false, readers)) if !writes => {
                readers.insert(name);
            }
            _ => state.past[cell].push((writes, BTreeSet::from([name]))),
        }
        state.counts[thread] += 1;
        if again {
            return;
        }
    }
    if at + 1 >= steps.len() {
        state.ended |= 1 << me;
        state.at[thread] = (operation + 1, 0);
    } else {
        state.at[thread] = (operation, at + 1);
    }
}
