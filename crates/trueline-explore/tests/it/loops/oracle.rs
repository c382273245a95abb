//! Small programs with loops, and all that they can do: every state that is reachable, one access
//! at a time. Shares no code with the engine.
//!
//! A loop may go on for ever, so there are infinitely many interleavings, but finitely many states.
//! An execution ends where all threads have ended, or where nothing changes any more however the
//! threads go on: those that are left wait for ever.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// One look of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Leaves the loop if the cell has this value.
    Load(usize, u64),
    /// The same, by adding 0.
    Peek(usize, u64),
    /// Sets the cell to 0, and leaves the loop if it was something else.
    Take(usize),
    /// Sets these bits, and leaves the loop if they were not all set.
    Set(usize, u64),
    /// Makes the value at least this, and leaves the loop if it was less.
    Raise(usize, u64),
    /// Puts in the first value, and leaves the loop if the second was there.
    Swap(usize, u64, u64),
    /// Leaves the loop if it succeeds.
    Cas(usize, u64, u64),
    /// The same, and it may fail for no reason.
    WeakCas(usize, u64, u64),
    /// A load, then weak compare-exchanges while the expected value is there; says whether there
    /// were several.
    Update(usize, u64, u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Load(usize),
    Store(usize, u64),
    Swap(usize, u64),
    Cas(usize, u64, u64),
    WeakCas(usize, u64, u64),
    /// Looks in turn, each so many times, up to so many rounds.
    Loop(Vec<(Look, u64)>, Option<u64>),
    /// Adds one: a load, and compare-exchanges that expect what was found last.
    Increment(usize),
    /// Starts a thread that makes these steps.
    Spawn(Vec<Step>),
    /// Waits for the thread that this operation has spawned last, and takes its result.
    Join,
    /// Takes the lock.
    Lock,
    /// Tries to take the lock, up to so many times.
    TryLock(Option<u64>),
    /// Waits at the condition variable while the value under the lock is 0, or once if it is.
    Wait {
        once: bool,
    },
    /// Adds this to the value under the lock and gives the lock back, if it was had.
    Unlock {
        adds: u64,
    },
    /// Wakes one thread that waits, or all.
    Notify {
        all: bool,
    },
}

/// Threads, each a sequence of operations, each a sequence of steps.
pub(crate) type Program = Vec<Vec<Vec<Step>>>;

/// Each operation's result (None if it has not returned), and the cells' final values.
pub(crate) type Outcome = (Vec<Option<u64>>, Vec<u64>);

/// For each operation the set of operations that ended before it began, as bits.
pub(crate) type Order = Vec<u32>;

/// The maximal orders of each outcome.
pub(crate) type Behaviours = BTreeMap<Outcome, BTreeSet<Order>>;

/// All that a program can do.
pub(crate) struct Expected {
    pub(crate) behaviours: Behaviours,
    /// How often the processor must be taken from a thread that could go on, at least, for each
    /// outcome.
    pub(crate) preemptions: BTreeMap<Outcome, u32>,
}

/// How results come from what was read.
pub(crate) fn fold(result: u64, read: u64) -> u64 {
    result.wrapping_mul(11).wrapping_add(read + 1)
}

/// What a loop that ends adds to the result: which look ended it, what that found, and after how
/// many rounds in vain, or whether there were any.
pub(crate) fn fold_loop(result: u64, found: Option<(usize, u64)>, rounds: u64) -> u64 {
    let (look, value) = found.map_or((9, 0), |(look, value)| (look as u64, value));
    fold(fold(fold(result, look), value), rounds)
}

/// What an update says that it found, and whether it has looked again.
pub(crate) fn found_again(found: u64, again: bool) -> u64 {
    found + 5 * u64::from(again)
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Thread {
    /// Where its code is: a thread of the program, or operation and step of the thread that spawned
    /// it.
    origin: Vec<(usize, usize)>,
    top: usize,
    operation: usize,
    step: usize,
    result: u64,
    /// Within a step: the look, how often it was repeated, the rounds in vain, what was found last.
    look: usize,
    repeated: u64,
    rounds: u64,
    found: Option<u64>,
    /// The thread that it has spawned last, in this operation.
    child: Option<usize>,
    wait: Wait,
    /// It has woken up for no reason: where it waits once, and where it waits in a loop.
    woken: [bool; 2],
    ended: bool,
}

/// How far a thread that waits at the condition variable has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Wait {
    #[default]
    Not,
    /// It can be notified.
    Entered,
    /// It goes on when it has the lock.
    Woken,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    cells: Vec<u64>,
    /// Who has the lock, and the value under it.
    holder: Option<usize>,
    locked: u64,
    threads: Vec<Thread>,
    results: Vec<Option<u64>>,
    before: Vec<Option<u32>>,
    ended: u32,
}

/// A state that an access leads to.
struct Next {
    thread: usize,
    state: State,
    /// It happens if nothing else does: no failure or wakeup for no reason.
    must: bool,
}

/// The same, by the number of the state.
struct Edge {
    thread: usize,
    to: usize,
    must: bool,
}

/// All outcomes with their maximal orders; None if there are more states than this.
pub(crate) fn behaviours(
    program: &Program,
    cells: usize,
    spurious: bool,
    most: usize,
) -> Option<Expected> {
    let oracle = Oracle { program, spurious };
    let operations: usize = program.iter().map(Vec::len).sum();
    let thread = |top: usize| Thread { top, ended: program[top].is_empty(), ..Thread::default() };
    let first = State {
        cells: vec![0; cells],
        holder: None,
        locked: 0,
        threads: (0..program.len()).map(thread).collect(),
        results: vec![None; operations],
        before: vec![None; operations],
        ended: 0,
    };
    let mut numbers = HashMap::from([(first.clone(), 0)]);
    let mut states = vec![first];
    let mut edges: Vec<Vec<Edge>> = Vec::new();
    let mut moving = Vec::new();
    while edges.len() < states.len() {
        let at = edges.len();
        let mut out = Vec::new();
        for Next { thread, state: next, must } in oracle.successors(&states[at]) {
            if must && differ(&states[at], &next) {
                moving.push(at);
            }
            let number = *numbers.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                states.len() - 1
            });
            out.push(Edge { thread, to: number, must });
        }
        edges.push(out);
        if states.len() > most {
            return None;
        }
    }
    let unfinished = who_reaches(&moving, &edges);
    let preemptions = fewest_preemptions(&states, &edges);
    let mut all = Expected { behaviours: Behaviours::new(), preemptions: BTreeMap::new() };
    for at in (0..states.len()).filter(|&at| !unfinished[at]) {
        let state = &states[at];
        // What never made a step is called last.
        let order = state.before.iter().map(|before| before.unwrap_or(state.ended)).collect();
        let outcome = (state.results.clone(), state.cells.clone());
        all.behaviours.entry(outcome.clone()).or_default().insert(order);
        let fewest = all.preemptions.entry(outcome).or_insert(u32::MAX);
        *fewest = preemptions[at].min(*fewest);
    }
    all.behaviours.values_mut().for_each(|orders| *orders = maximal(orders));
    Some(all)
}

/// Whoever can reach a change has not come to an end, unless it is one that need not happen.
fn who_reaches(moving: &[usize], edges: &[Vec<Edge>]) -> Vec<bool> {
    let mut predecessors = vec![Vec::new(); edges.len()];
    for (at, out) in edges.iter().enumerate() {
        out.iter().filter(|edge| edge.must).for_each(|edge| predecessors[edge.to].push(at));
    }
    let mut reaches = vec![false; edges.len()];
    let mut left = moving.to_vec();
    while let Some(state) = left.pop() {
        if !std::mem::replace(&mut reaches[state], true) {
            left.extend(&predecessors[state]);
        }
    }
    reaches
}

/// How often a thread that could go on must be left, at least, on the way to each state. One that
/// spins could go on.
fn fewest_preemptions(states: &[State], edges: &[Vec<Edge>]) -> Vec<u32> {
    let mut fewest = vec![u32::MAX; states.len()];
    let mut known: HashMap<(usize, usize), u32> = HashMap::new();
    let threads = states[0].threads.len();
    let mut left: VecDeque<(usize, usize, u32)> = (0..threads).map(|t| (0, t, 0)).collect();
    while let Some((at, current, count)) = left.pop_front() {
        if known.get(&(at, current)).is_some_and(|&known| known <= count) {
            continue;
        }
        known.insert((at, current), count);
        fewest[at] = fewest[at].min(count);
        let goes_on = edges[at].iter().any(|edge| edge.thread == current);
        for edge in &edges[at] {
            if edge.thread == current || !goes_on {
                left.push_front((edge.to, edge.thread, count));
            } else {
                left.push_back((edge.to, edge.thread, count + 1));
            }
        }
    }
    fewest
}

/// Whether a step leads on: another value, another place in the code, another number of rounds of
/// those that are counted.
fn differ(a: &State, b: &State) -> bool {
    let place = |thread: &Thread| {
        (thread.operation, thread.step, thread.result, thread.ended, thread.wait, thread.woken)
    };
    a.cells != b.cells
        || a.holder != b.holder
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

    /// The states after one more access.
    fn successors(&self, state: &State) -> Vec<Next> {
        let mut all = Vec::new();
        for thread in (0..state.threads.len()).filter(|&t| !state.threads[t].ended) {
            let steps = self.steps(&state.threads[thread]);
            if let Step::Notify { all: false } = steps[state.threads[thread].step] {
                let waits = |t: &usize| state.threads[*t].wait == Wait::Entered;
                let mut chosen: Vec<Option<usize>> =
                    (0..state.threads.len()).filter(waits).map(Some).collect();
                if chosen.is_empty() {
                    chosen.push(None);
                }
                let one = |chosen| self.notify(state, thread, chosen, steps.len());
                all.extend(chosen.into_iter().map(|c| Next { thread, state: one(c), must: true }));
                continue;
            }
            for fails in [false, true].into_iter().filter(|fails| self.spurious || !fails) {
                let next = self.advance(state, thread, fails);
                all.extend(next.map(|state| Next { thread, state, must: !fails }));
            }
        }
        all
    }

    fn notify(&self, state: &State, index: usize, woken: Option<usize>, steps: usize) -> State {
        let mut state = state.clone();
        self.begin(&mut state, index);
        if let Some(waiter) = woken {
            state.threads[waiter].wait = Wait::Woken;
        }
        self.finish(state, index, true, steps)
    }

    /// The operation of a thread has begun, if it had not.
    fn begin(&self, state: &mut State, index: usize) {
        if let Some(me) = self.number_of(&state.threads[index]) {
            let ended = state.ended;
            state.before[me].get_or_insert(ended);
        }
    }

    /// The state after the thread's next access; None if it waits, or if it cannot fail for no
    /// reason though it should.
    fn advance(&self, before: &State, index: usize, fails: bool) -> Option<State> {
        let mut state = before.clone();
        self.begin(&mut state, index);
        let steps = self.steps(&before.threads[index]);
        let thread = &mut state.threads[index];
        let cells = &mut state.cells;
        let mut used = false;
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
                used = fails && found == *expected && matches!(step, Step::WeakCas(..));
                let success = found == *expected && !used;
                if success {
                    cells[*cell] = *new;
                }
                thread.result = fold(fold(thread.result, found), u64::from(success));
            }
            Step::Loop(looks, rounds) => {
                over = look(thread, cells, looks, *rounds, fails, &mut used);
            }
            Step::Increment(cell) => match thread.found {
                None => {
                    thread.found = Some(cells[*cell]);
                    over = false;
                }
                Some(last) => {
                    over = cells[*cell] == last;
                    thread.found = Some(cells[*cell]);
                    if over {
                        cells[*cell] = last + 1;
                        thread.result = fold(thread.result, last);
                    }
                }
            },
            Step::Spawn(body) => {
                let mut origin = thread.origin.clone();
                origin.push((thread.operation, thread.step));
                thread.child = Some(before.threads.len());
                let (top, ended) = (thread.top, body.is_empty());
                state.threads.push(Thread { origin, top, ended, ..Thread::default() });
            }
            Step::Join => {
                let child = &before.threads[thread.child.expect("a thread to join")];
                if !child.ended {
                    return None;
                }
                thread.result = fold(thread.result, child.result);
            }
            Step::Lock => {
                if before.holder.is_some() {
                    return None;
                }
                state.holder = Some(index);
            }
            Step::TryLock(most) => {
                let had = before.holder.is_none();
                if had {
                    state.holder = Some(index);
                } else {
                    over = count_round(thread, *most);
                }
                if over {
                    thread.result = fold(fold(thread.result, u64::from(had)), thread.rounds);
                }
            }
            Step::Wait { once } => {
                over = false;
                match thread.wait {
                    Wait::Not => thread.wait = Wait::Entered,
                    // Whoever does not need the lock may notify it before it has given it back.
                    _ if before.holder == Some(index) => state.holder = None,
                    Wait::Entered => {
                        let woken = &mut thread.woken[usize::from(*once)];
                        if !fails || *woken {
                            return None;
                        }
                        (*woken, used) = (true, true);
                        thread.wait = Wait::Woken;
                    }
                    Wait::Woken => {
                        if before.holder.is_some() {
                            return None;
                        }
                        thread.wait = Wait::Not;
                        state.holder = Some(index);
                        over = *once || before.locked != 0;
                        if over {
                            thread.result = fold(thread.result, before.locked);
                        }
                    }
                }
            }
            Step::Unlock { adds } => {
                state.locked += adds;
                thread.result = fold(thread.result, state.locked);
                state.holder = None;
            }
            Step::Notify { .. } => {
                let waiting = state.threads.iter_mut().filter(|t| t.wait == Wait::Entered);
                waiting.for_each(|waiter| waiter.wait = Wait::Woken);
            }
        }
        if fails && !used {
            return None;
        }
        Some(self.finish(state, index, over, steps.len()))
    }

    /// Goes on to the next step that makes an access, if this one is over.
    fn finish(&self, mut state: State, index: usize, over: bool, steps: usize) -> State {
        if !over {
            return state;
        }
        let me = self.number_of(&state.threads[index]);
        loop {
            let thread = &mut state.threads[index];
            (thread.look, thread.repeated, thread.rounds, thread.found) = (0, 0, 0, None);
            thread.step += 1;
            if thread.step == steps {
                break;
            }
            let has_lock = state.holder == Some(index);
            match self.steps(&state.threads[index])[state.threads[index].step] {
                Step::Unlock { .. } if !has_lock => (),
                Step::Wait { .. } if state.locked != 0 => {
                    let thread = &mut state.threads[index];
                    thread.result = fold(thread.result, state.locked);
                }
                _ => return state,
            }
        }
        let thread = &mut state.threads[index];
        let Some(me) = me else {
            thread.ended = true;
            return state;
        };
        state.results[me] = Some(std::mem::take(&mut thread.result));
        state.ended |= 1 << me;
        (thread.operation, thread.step, thread.child) = (thread.operation + 1, 0, None);
        thread.ended = thread.operation == self.program[thread.top].len();
        state
    }

    /// The number of the operation that a thread is in; None for one that was spawned by an
    /// operation.
    fn number_of(&self, thread: &Thread) -> Option<usize> {
        let earlier = self.program[..thread.top].iter().map(Vec::len).sum::<usize>();
        thread.origin.is_empty().then_some(earlier + thread.operation)
    }
}

/// One access of a look; whether the loop is over.
fn look(
    thread: &mut Thread,
    cells: &mut [u64],
    looks: &[(Look, u64)],
    most: Option<u64>,
    fails: bool,
    used: &mut bool,
) -> bool {
    let (look, times) = looks[thread.look];
    let (Look::Load(cell, _)
    | Look::Peek(cell, _)
    | Look::Take(cell)
    | Look::Set(cell, _)
    | Look::Raise(cell, _)
    | Look::Swap(cell, ..)
    | Look::Cas(cell, ..)
    | Look::WeakCas(cell, ..)
    | Look::Update(cell, ..)) = look;
    let found = cells[cell];
    let (leaves, after) = match look {
        Look::Load(_, value) | Look::Peek(_, value) => (found == value, found),
        Look::Take(_) => (found != 0, 0),
        Look::Set(_, mask) => (found & mask != mask, found | mask),
        Look::Raise(_, value) => (found < value, found.max(value)),
        Look::Swap(_, new, expected) => (found == expected, new),
        Look::Cas(_, expected, new) => (found == expected, new),
        Look::WeakCas(_, expected, new) => {
            *used = fails && found == expected;
            (found == expected && !*used, new)
        }
        Look::Update(_, expected, new) => {
            let loaded = thread.found.is_some();
            if found == expected {
                *used = fails && loaded;
                if !loaded || *used {
                    thread.found = Some(u64::from(loaded));
                    return false;
                }
            }
            (found == expected, new)
        }
    };
    if leaves || !matches!(look, Look::Cas(..) | Look::WeakCas(..) | Look::Update(..)) {
        cells[cell] = after;
    }
    let found = found_again(found, thread.found.take() == Some(1));
    if leaves {
        thread.result = fold_loop(thread.result, Some((thread.look, found)), thread.rounds);
        return true;
    }
    thread.repeated += 1;
    if thread.repeated < times {
        return false;
    }
    (thread.repeated, thread.look) = (0, thread.look + 1);
    if thread.look < looks.len() {
        return false;
    }
    thread.look = 0;
    let over = count_round(thread, most);
    if over {
        thread.result = fold_loop(thread.result, None, thread.rounds);
    }
    over
}

/// A round was in vain; whether it was the last.
fn count_round(thread: &mut Thread, most: Option<u64>) -> bool {
    match most {
        // It matters only whether there was one.
        None => thread.rounds = 1,
        Some(_) => thread.rounds += 1,
    }
    most == Some(thread.rounds)
}
