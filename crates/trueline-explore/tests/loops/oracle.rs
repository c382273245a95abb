//! Small programs with loops, and all that they can do: every state that is reachable, one access at a time. Shares no code with
//! the engine.
//!
//! A loop may go on for ever, so there are infinitely many interleavings, but finitely many states. An execution ends where all threads have
//! ended, or where nothing changes any more however the threads go on: those that are left wait for ever.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// One look of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Leaves the loop if the cell has this value.
    Load(usize, u64),
    /// Sets the cell to 0, and leaves the loop if it was something else.
    Take(usize),
    /// Leaves the loop if it succeeds.
    Cas(usize, u64, u64),
    /// The same, and it may fail for no reason.
    WeakCas(usize, u64, u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Load(usize),
    Store(usize, u64),
    Swap(usize, u64),
    Cas(usize, u64, u64),
    WeakCas(usize, u64, u64),
    /// Looks in turn, up to so many rounds.
    Loop(Vec<Look>, Option<u64>),
    /// Adds one: a load, and compare-exchanges that expect what was found last.
    Increment(usize),
    /// Starts a thread that makes these steps.
    Spawn(Vec<Step>),
    /// Waits for the thread that this operation has spawned last, and takes its result.
    Join,
}

/// Threads, each a sequence of operations, each a sequence of steps.
pub(crate) type Program = Vec<Vec<Vec<Step>>>;

/// Each operation's result (None if it has not returned), and the cells' final values.
pub(crate) type Outcome = (Vec<Option<u64>>, Vec<u64>);

/// For each operation the set of operations that ended before it began, as bits.
pub(crate) type Order = Vec<u32>;

/// The maximal orders of each outcome.
pub(crate) type Behaviours = BTreeMap<Outcome, BTreeSet<Order>>;

/// How results come from what was read.
pub(crate) fn fold(result: u64, read: u64) -> u64 {
    result.wrapping_mul(11).wrapping_add(read + 1)
}

/// What a loop that ends adds to the result: which look ended it, what that found, and after how many rounds in vain, or whether there were any.
pub(crate) fn fold_loop(result: u64, found: Option<(usize, u64)>, rounds: u64) -> u64 {
    let (look, value) = found.map_or((9, 0), |(look, value)| (look as u64, value));
    fold(fold(fold(result, look), value), rounds)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    /// Where its code is: a thread of the program, or operation and step of the thread that spawned it.
    origin: Vec<(usize, usize)>,
    top: usize,
    operation: usize,
    step: usize,
    result: u64,
    /// Within a step: the look, the rounds in vain, what was found last.
    look: usize,
    rounds: u64,
    found: Option<u64>,
    /// The thread that it has spawned last, in this operation.
    child: Option<usize>,
    ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    cells: Vec<u64>,
    threads: Vec<Thread>,
    results: Vec<Option<u64>>,
    before: Vec<Option<u32>>,
    ended: u32,
}

/// All outcomes with their maximal orders; None if there are more states than this.
pub(crate) fn behaviours(
    program: &Program,
    cells: usize,
    spurious: bool,
    most: usize,
) -> Option<Behaviours> {
    let oracle = Oracle { program, spurious };
    let operations: usize = program.iter().map(Vec::len).sum();
    let thread = |top: usize| Thread {
        origin: Vec::new(),
        top,
        operation: 0,
        step: 0,
        result: 0,
        look: 0,
        rounds: 0,
        found: None,
        child: None,
        ended: program[top].is_empty(),
    };
    let first = State {
        cells: vec![0; cells],
        threads: (0..program.len()).map(thread).collect(),
        results: vec![None; operations],
        before: vec![None; operations],
        ended: 0,
    };
    let mut numbers = HashMap::from([(first.clone(), 0)]);
    let mut states = vec![first];
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new()];
    let mut moving = Vec::new();
    let mut at = 0;
    while at < states.len() {
        for next in oracle.successors(&states[at]) {
            if differ(&states[at], &next) {
                moving.push(at);
            }
            let number = *numbers.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                predecessors.push(Vec::new());
                states.len() - 1
            });
            predecessors[number].push(at);
        }
        if states.len() > most {
            return None;
        }
        at += 1;
    }
    // Whoever can reach a change has not come to an end.
    let mut unfinished = vec![false; states.len()];
    while let Some(state) = moving.pop() {
        if !std::mem::replace(&mut unfinished[state], true) {
            moving.extend(&predecessors[state]);
        }
    }
    let mut all = Behaviours::new();
    for (state, _) in states.iter().zip(&unfinished).filter(|(_, unfinished)| !**unfinished) {
        // What never made a step is called last.
        let order = state.before.iter().map(|before| before.unwrap_or(state.ended)).collect();
        let outcome = (state.results.clone(), state.cells.clone());
        all.entry(outcome).or_default().insert(order);
    }
    all.values_mut().for_each(|orders| *orders = maximal(orders));
    Some(all)
}

/// Whether a step leads on: another value, another place in the code, another number of rounds of those that are counted.
fn differ(a: &State, b: &State) -> bool {
    let place = |thread: &Thread| (thread.operation, thread.step, thread.result, thread.ended);
    a.cells != b.cells
        || a.threads.len() != b.threads.len()
        || a.ended != b.ended
        || a.threads.iter().map(place).ne(b.threads.iter().map(place))
        || a.threads.iter().zip(&b.threads).any(|(a, b)| b.rounds > 1 && a.rounds != b.rounds)
}

/// Those that no other contains.
pub(crate) fn maximal(orders: &BTreeSet<Order>) -> BTreeSet<Order> {
    let below = |a: &Order, b: &Order| a != b && a.iter().zip(b).all(|(a, b)| a & !b == 0);
    orders.iter().filter(|a| !orders.iter().any(|b| below(a, b))).cloned().collect()
}

struct Oracle<'a> {
    program: &'a Program,
    spurious: bool,
}

impl Oracle<'_> {
    /// The steps of the operation that a thread is in, or of its whole body if it was spawned.
    fn steps(&self, thread: &Thread) -> &[Step] {
        let Some((&(operation, step), inner)) = thread.origin.split_first() else {
            return &self.program[thread.top][thread.operation];
        };
        let mut steps = &self.program[thread.top][operation];
        let mut step = step;
        for &(_, next) in inner {
            let Step::Spawn(body) = &steps[step] else { unreachable!("only spawns have bodies") };
            (steps, step) = (body, next);
        }
        let Step::Spawn(body) = &steps[step] else { unreachable!("only spawns have bodies") };
        body
    }

    fn successors(&self, state: &State) -> Vec<State> {
        let mut all = Vec::new();
        for thread in 0..state.threads.len() {
            if state.threads[thread].ended {
                continue;
            }
            all.push(self.advance(state, thread, false));
            if self.spurious {
                all.push(self.advance(state, thread, true));
            }
        }
        all.into_iter().flatten().collect()
    }

    /// The state after the thread's next access; None if it waits, or if it cannot fail for no reason though it should.
    fn advance(&self, before: &State, index: usize, fails: bool) -> Option<State> {
        let mut state = before.clone();
        let me = self.number_of(&state.threads[index]);
        if let Some(me) = me {
            state.before[me].get_or_insert(before.ended);
        }
        let steps = self.steps(&before.threads[index]);
        let thread = &mut state.threads[index];
        let cells = &mut state.cells;
        let mut used = false;
        // Whether a compare-exchange succeeds; one that may not is made to fail.
        let mut exchange = |cells: &mut Vec<u64>, cell: usize, expected: u64, new: u64, weak| {
            let matches = cells[cell] == expected;
            let fails = matches && weak && fails;
            used |= fails;
            if matches && !fails {
                cells[cell] = new;
            }
            matches && !fails
        };
        let step = &steps[thread.step];
        let mut over = true;
        match step {
            Step::Load(cell) => thread.result = fold(thread.result, cells[*cell]),
            Step::Store(cell, value) => cells[*cell] = *value,
            Step::Swap(cell, value) => {
                thread.result = fold(thread.result, cells[*cell]);
                cells[*cell] = *value;
            }
            Step::Cas(cell, expected, new) | Step::WeakCas(cell, expected, new) => {
                let found = cells[*cell];
                let weak = matches!(step, Step::WeakCas(..));
                let success = exchange(cells, *cell, *expected, *new, weak);
                thread.result = fold(fold(thread.result, found), u64::from(success));
            }
            Step::Loop(looks, rounds) => {
                let look = looks[thread.look];
                let (Look::Load(cell, _) | Look::Take(cell)) = look else {
                    let (Look::Cas(cell, expected, new) | Look::WeakCas(cell, expected, new)) =
                        look
                    else {
                        unreachable!("all looks")
                    };
                    let weak = matches!(look, Look::WeakCas(..));
                    let found = cells[cell];
                    let leaves = exchange(cells, cell, expected, new, weak);
                    over = end_look(thread, looks, *rounds, leaves, found);
                    if fails && !used {
                        return None;
                    }
                    return self.finish(state, index, over, steps.len());
                };
                let found = cells[cell];
                let leaves = match look {
                    Look::Load(_, value) => found == value,
                    _ => {
                        cells[cell] = 0;
                        found != 0
                    }
                };
                over = end_look(thread, looks, *rounds, leaves, found);
            }
            Step::Increment(cell) => match thread.found {
                None => {
                    thread.found = Some(cells[*cell]);
                    over = false;
                }
                Some(last) => {
                    over = exchange(cells, *cell, last, last + 1, false);
                    thread.found = (!over).then_some(cells[*cell]);
                    if over {
                        thread.result = fold(thread.result, last);
                    }
                }
            },
            Step::Spawn(body) => {
                let mut origin = thread.origin.clone();
                origin.push((thread.operation, thread.step));
                let child = Thread {
                    origin,
                    top: thread.top,
                    operation: 0,
                    step: 0,
                    result: 0,
                    look: 0,
                    rounds: 0,
                    found: None,
                    child: None,
                    ended: body.is_empty(),
                };
                thread.child = Some(before.threads.len());
                state.threads.push(child);
            }
            Step::Join => {
                let child = &before.threads[thread.child.expect("a thread to join")];
                if !child.ended {
                    return None;
                }
                thread.result = fold(thread.result, child.result);
            }
        }
        if fails && !used {
            return None;
        }
        self.finish(state, index, over, steps.len())
    }

    /// Goes on to the next step, if this one is over.
    fn finish(&self, mut state: State, index: usize, over: bool, steps: usize) -> Option<State> {
        if !over {
            return Some(state);
        }
        let me = self.number_of(&state.threads[index]);
        let thread = &mut state.threads[index];
        (thread.look, thread.rounds, thread.found) = (0, 0, None);
        thread.step += 1;
        if thread.step < steps {
            return Some(state);
        }
        let Some(me) = me else {
            thread.ended = true;
            return Some(state);
        };
        state.results[me] = Some(std::mem::take(&mut thread.result));
        state.ended |= 1 << me;
        (thread.operation, thread.step, thread.child) = (thread.operation + 1, 0, None);
        thread.ended = thread.operation == self.program[thread.top].len();
        Some(state)
    }

    /// The number of the operation that a thread is in; None for one that was spawned by an operation.
    fn number_of(&self, thread: &Thread) -> Option<usize> {
        let earlier = self.program[..thread.top].iter().map(Vec::len).sum::<usize>();
        thread.origin.is_empty().then_some(earlier + thread.operation)
    }
}

/// Whether the loop is over after this look.
fn end_look(
    thread: &mut Thread,
    looks: &[Look],
    most: Option<u64>,
    leaves: bool,
    found: u64,
) -> bool {
    if leaves {
        thread.result = fold_loop(thread.result, Some((thread.look, found)), thread.rounds);
        return true;
    }
    thread.look += 1;
    if thread.look < looks.len() {
        return false;
    }
    thread.look = 0;
    match most {
        // It matters only whether there was one.
        None => thread.rounds = 1,
        Some(most) => {
            thread.rounds += 1;
            if thread.rounds == most {
                thread.result = fold_loop(thread.result, None, thread.rounds);
                return true;
            }
        }
    }
    false
}
