//! Random small programs that clone, drop and look at the handles of one `Arc`: the engine sees the
//! outcomes that brute force sees.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use trueline::rng::{self, Rng};
use trueline_explore::engine::{Exploration, Report};
use trueline_explore::memory::untracked;
use trueline_explore::std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use trueline_explore::std::sync::{Arc, Weak};
use trueline_explore::std::thread;

/// What a thread does next. Without a handle to do it with, it does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Clone,
    Drop,
    StrongCount,
    WeakCount,
    GetMut,
    TryUnwrap,
    IntoInner,
    Downgrade,
    Upgrade,
    CloneWeak,
    DropWeak,
    /// Both counts, seen from a `Weak`, one after the other.
    CountsOfWeak,
    Load,
    Store,
    Swap,
    /// Until the cell is not 0.
    Poll(Round),
}

/// What a loop does while it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    Nothing,
    Clone,
    CloneWeak,
    Upgrade,
    /// Looks at the count, and forgets it.
    StrongCount,
}

const ROUNDS: [Round; 5] =
    [Round::Nothing, Round::Clone, Round::CloneWeak, Round::Upgrade, Round::StrongCount];

const OWNERS: [Step; 7] = [
    Step::Clone,
    Step::Drop,
    Step::Drop,
    Step::IntoInner,
    Step::StrongCount,
    Step::GetMut,
    Step::TryUnwrap,
];
const WEAKS: [Step; 6] = [
    Step::WeakCount,
    Step::Downgrade,
    Step::Upgrade,
    Step::CloneWeak,
    Step::DropWeak,
    Step::CountsOfWeak,
];
const CELL: [Step; 3] = [Step::Load, Step::Store, Step::Swap];

/// The threads; the first is the main one, which starts the others. At its end a thread drops its
/// owners, then its `Weak` handles.
#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Vec<Step>>,
    /// All threads get a `Weak`, too.
    weak: bool,
    /// The main thread waits for the others before it does anything.
    joins: bool,
}

/// What each thread saw, and the cell at the end.
type Outcome = (Vec<Vec<u64>>, u64);

fn random_program(rng: &mut Rng) -> Program {
    if rng.below(4) == 0 {
        return random_crowd(rng);
    }
    let threads = 2 + rng.below(3) as usize;
    let (weak, joins) = (rng.below(3) == 0, rng.below(5) == 0);
    let mut steps = || {
        let length = rng.below(if threads > 3 { 3 } else { 4 });
        let step = |_| match rng.below(4) {
            0 => CELL[rng.below(3) as usize],
            1 | 2 if weak => WEAKS[rng.below(6) as usize],
            _ => OWNERS[rng.below(7) as usize],
        };
        (0..length).map(step).collect()
    };
    let threads = (0..threads).map(|_| steps()).collect();
    Program { threads, weak, joins }
}

/// More threads, which do little besides giving up their owners.
fn random_crowd(rng: &mut Rng) -> Program {
    let steps = [Step::Drop, Step::IntoInner, Step::StrongCount, Step::Load, Step::Store];
    let threads = 4 + rng.below(2) as usize;
    let steps = |_| (0..rng.below(3)).map(|_| *rng.choose(&steps)).collect();
    Program { threads: (0..threads).map(steps).collect(), weak: false, joins: false }
}

/// As above; a thread that started last polls the cell before anything else, and another one stores
/// to it.
fn random_waiting_program(rng: &mut Rng) -> Program {
    let threads = 2 + rng.below(2) as usize;
    let mut program = random_program(rng);
    program.threads.resize(threads, vec![Step::Load]);
    program.joins = false;
    program.threads.iter_mut().for_each(|steps| steps.truncate(2));
    let storing = &mut program.threads[rng.below(threads as u64 - 1) as usize];
    storing.insert(rng.below(storing.len() as u64 + 1) as usize, Step::Store);
    program.threads[threads - 1].insert(0, Step::Poll(*rng.choose(&ROUNDS)));
    if rng.below(4) == 0 {
        // One thread may see the count go up more often than a loop needs rounds to be known.
        let mut looks = vec![Step::StrongCount; 6];
        looks.push(Step::Store);
        let polls = vec![program.threads[threads - 1][0]];
        program.threads = vec![looks, polls];
    }
    program
}

/// Tells when it is dropped.
struct Tells<'a>(&'a AtomicU64);

impl Drop for Tells<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(16, SeqCst);
    }
}

fn run_thread<'a>(
    cell: &'a AtomicU64,
    me: u64,
    steps: &[Step],
    mut owners: Vec<Arc<Tells<'a>>>,
    mut weaks: Vec<Weak<Tells<'a>>>,
) -> Vec<u64> {
    let mut seen = Vec::new();
    for step in steps {
        match step {
            Step::Clone => owners.extend(owners.last().cloned()),
            Step::Drop => drop(owners.pop()),
            Step::StrongCount => {
                seen.extend(owners.last().map(|arc| Arc::strong_count(arc) as u64));
            }
            Step::WeakCount => seen.extend(owners.last().map(|arc| Arc::weak_count(arc) as u64)),
            Step::GetMut => {
                seen.extend(owners.last_mut().map(|arc| u64::from(Arc::get_mut(arc).is_some())));
            }
            Step::TryUnwrap => {
                if let Some(arc) = owners.pop() {
                    let result = Arc::try_unwrap(arc);
                    seen.push(u64::from(result.is_ok()));
                    owners.extend(result.err());
                }
            }
            Step::IntoInner => {
                if let Some(arc) = owners.pop() {
                    let inner = Arc::into_inner(arc);
                    seen.push(u64::from(inner.is_some()));
                }
            }
            Step::Downgrade => weaks.extend(owners.last().map(Arc::downgrade)),
            Step::Upgrade => {
                if let Some(weak) = weaks.last() {
                    let owner = weak.upgrade();
                    seen.push(u64::from(owner.is_some()));
                    owners.extend(owner);
                }
            }
            Step::CloneWeak => weaks.extend(weaks.last().cloned()),
            Step::DropWeak => drop(weaks.pop()),
            Step::CountsOfWeak => {
                if let Some(weak) = weaks.last() {
                    seen.push(weak.strong_count() as u64);
                    seen.push(weak.weak_count() as u64);
                }
            }
            Step::Load => seen.push(cell.load(SeqCst)),
            Step::Store => cell.store(me, SeqCst),
            Step::Swap => seen.push(cell.swap(me, SeqCst)),
            Step::Poll(round) => {
                while cell.load(SeqCst) == 0 {
                    match round {
                        Round::Nothing => (),
                        Round::Clone => drop(owners.last().cloned()),
                        Round::CloneWeak => drop(weaks.last().cloned()),
                        Round::Upgrade => drop(weaks.last().and_then(Weak::upgrade)),
                        Round::StrongCount => drop(owners.last().map(Arc::strong_count)),
                    }
                }
            }
        }
    }
    while let Some(owner) = owners.pop() {
        drop(owner);
    }
    while let Some(weak) = weaks.pop() {
        drop(weak);
    }
    seen
}

fn run(program: &Program) -> Outcome {
    let cell = AtomicU64::new(0);
    let owner = Arc::new(Tells(&cell));
    let weak = program.weak.then(|| Arc::downgrade(&owner));
    let (main, others) = program.threads.split_first().expect("a main thread");
    let seen = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, steps) in (2..).zip(others) {
            let (owner, weak) = (owner.clone(), weak.clone());
            let (owners, weaks) = (vec![owner], Vec::from_iter(weak));
            let cell = &cell;
            threads.push(scope.spawn(move || run_thread(cell, number, steps, owners, weaks)));
        }
        let join = |threads: Vec<thread::ScopedJoinHandle<'_, Vec<u64>>>| -> Vec<Vec<u64>> {
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        };
        let main = |owner, weak| run_thread(&cell, 1, main, vec![owner], Vec::from_iter(weak));
        let mut all = Vec::new();
        if program.joins {
            let others = join(threads);
            all.push(main(owner, weak));
            all.extend(others);
        } else {
            all.push(main(owner, weak));
            all.extend(join(threads));
        }
        all
    });
    (seen, cell.load(SeqCst))
}

fn explore(exploration: &Exploration, program: &Program) -> (Report, BTreeSet<Outcome>) {
    let outcomes = Mutex::new(BTreeSet::new());
    let report = exploration.run(|| {
        let outcome = run(program);
        untracked(|| {
            let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.insert(outcome.clone());
        });
    });
    (report, outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// A thread of the oracle.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Thread {
    at: usize,
    owners: usize,
    weaks: usize,
    /// It runs the destructor next.
    destroys: bool,
    /// It is in the middle of a step.
    half: bool,
    /// It polls, and has found 0; and holds a handle for the round.
    in_round: bool,
    round_owner: bool,
    round_weak: bool,
    seen: Vec<u64>,
}

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    threads: Vec<Thread>,
    cell: u64,
    owners: usize,
    weaks: usize,
}

/// All outcomes, by brute force. Shares no code with the engine.
fn all_outcomes(program: &Program) -> BTreeSet<Outcome> {
    let weaks = usize::from(program.weak);
    let main = Thread { owners: 1, weaks, ..Thread::default() };
    let start = State { threads: vec![main], cell: 0, owners: 1, weaks };
    let mut known = BTreeSet::from([start.clone()]);
    let mut left = vec![start];
    let mut outcomes = BTreeSet::new();
    while let Some(state) = left.pop() {
        let next: Vec<State> =
            (0..state.threads.len()).filter_map(|thread| after(program, &state, thread)).collect();
        if next.is_empty() {
            let seen = state.threads.iter().map(|thread| thread.seen.clone()).collect();
            outcomes.insert((seen, state.cell));
        }
        left.extend(next.into_iter().filter(|state| known.insert(state.clone())));
    }
    outcomes
}

fn is_over(program: &Program, state: &State, index: usize) -> bool {
    let thread = &state.threads[index];
    let handles = thread.owners + thread.weaks;
    thread.at == program.threads[index].len() && handles == 0 && !thread.destroys
}

/// The state after a thread's next step, if it has one.
fn after(program: &Program, state: &State, index: usize) -> Option<State> {
    let mut next = state.clone();
    let started = state.threads.len();
    if index == 0 && started < program.threads.len() {
        // It clones the owner, then the `Weak`, and starts a thread with both.
        let main = &mut next.threads[0];
        if program.weak && main.half {
            next.weaks += 1;
        } else {
            next.owners += 1;
        }
        main.half = program.weak && !main.half;
        if !main.half {
            let weaks = usize::from(program.weak);
            next.threads.push(Thread { owners: 1, weaks, ..Thread::default() });
        }
        return Some(next);
    }
    let waits = (1..started).any(|other| !is_over(program, state, other));
    if is_over(program, state, index) || index == 0 && program.joins && waits {
        return None;
    }
    let thread = &mut next.threads[index];
    if std::mem::take(&mut thread.destroys) {
        next.cell += 16;
        return Some(next);
    }
    if std::mem::take(&mut thread.round_owner) {
        next.owners -= 1;
        thread.destroys = next.owners == 0;
        return Some(next);
    }
    if std::mem::take(&mut thread.round_weak) {
        next.weaks -= 1;
        return Some(next);
    }
    let Some(&step) = program.threads[index].get(thread.at) else {
        if thread.owners > 0 {
            thread.owners -= 1;
            next.owners -= 1;
            thread.destroys = next.owners == 0;
        } else {
            thread.weaks -= 1;
            next.weaks -= 1;
        }
        return Some(next);
    };
    thread.at += 1;
    let (alone, owns, weak) = (next.owners == 1, thread.owners > 0, thread.weaks > 0);
    match step {
        Step::Clone if owns => {
            thread.owners += 1;
            next.owners += 1;
        }
        Step::StrongCount if owns => thread.seen.push(next.owners as u64),
        Step::WeakCount if owns => thread.seen.push(next.weaks as u64),
        Step::GetMut if owns => thread.seen.push(u64::from(alone && next.weaks == 0)),
        Step::TryUnwrap if owns && !alone => thread.seen.push(0),
        Step::Drop | Step::IntoInner | Step::TryUnwrap if owns => {
            if step != Step::Drop {
                thread.seen.push(u64::from(alone));
            }
            thread.owners -= 1;
            next.owners -= 1;
            thread.destroys = alone;
        }
        Step::Downgrade if owns => {
            thread.weaks += 1;
            next.weaks += 1;
        }
        Step::Upgrade if weak => {
            let found = next.owners > 0;
            thread.seen.push(u64::from(found));
            thread.owners += usize::from(found);
            next.owners += usize::from(found);
        }
        Step::CloneWeak if weak => {
            thread.weaks += 1;
            next.weaks += 1;
        }
        Step::DropWeak if weak => {
            thread.weaks -= 1;
            next.weaks -= 1;
        }
        Step::CountsOfWeak if weak && !thread.half => {
            thread.seen.push(next.owners as u64);
            thread.half = true;
            thread.at -= 1;
        }
        Step::CountsOfWeak if weak => {
            thread.seen.push(if next.owners > 0 { next.weaks as u64 } else { 0 });
            thread.half = false;
        }
        Step::Load => thread.seen.push(next.cell),
        Step::Store => next.cell = index as u64 + 1,
        Step::Swap => {
            thread.seen.push(next.cell);
            next.cell = index as u64 + 1;
        }
        Step::Poll(_) if !thread.in_round => {
            thread.in_round = next.cell == 0;
            thread.at -= usize::from(thread.in_round);
        }
        Step::Poll(round) => {
            thread.at -= 1;
            thread.in_round = false;
            match round {
                Round::Clone if owns => thread.round_owner = true,
                Round::Upgrade if weak && next.owners > 0 => thread.round_owner = true,
                Round::CloneWeak if weak => thread.round_weak = true,
                _ => (),
            }
            next.owners += usize::from(thread.round_owner);
            next.weaks += usize::from(thread.round_weak);
        }
        _ => (),
    }
    Some(next)
}

/// More executions than a small program should need.
const MOST: u64 = 3_000;

/// A loop that changes counts is not seen to wait: it ends where the execution is too long.
fn limited() -> Exploration {
    Exploration::new().executions(MOST).events(150)
}

/// How many executions show all outcomes, if there are not too many. With few preemptions no more
/// outcomes may be seen.
#[track_caller]
fn compare(name: &str, program: &Program) -> Option<u64> {
    let expected = all_outcomes(program);
    let mut counts = Vec::new();
    for workers in [1, 2] {
        let (report, seen) = explore(&limited().workers(workers), program);
        let wrong: Vec<_> = seen.difference(&expected).collect();
        assert!(wrong.is_empty(), "{name}, {workers} workers: {program:?}: wrong {wrong:?}");
        assert_eq!(report.failure, None, "{name}, {workers} workers: {program:?}: {report}");
        if report.scope.stopped.is_some() {
            return None;
        }
        let missed: Vec<_> = expected.difference(&seen).collect();
        assert!(missed.is_empty(), "{name}, {workers} workers: {program:?}: missed {missed:?}");
        counts.push(report.executions);
    }
    assert_eq!(counts[0], counts[1], "{name}: {program:?}");
    // More preemptions than such a program has events.
    let (report, seen) = explore(&limited().preemptions(64), program);
    if report.scope.stopped.is_none() {
        assert_eq!(seen, expected, "{name}, bounded: {program:?}");
    }
    Some(counts[0])
}

#[test]
fn random_handles_behave_as_brute_force_says() {
    let seeds = rng::seeds(150);
    let cases = seeds.cases();
    let small = seeds
        .filter(|&seed| {
            compare(&format!("seed {seed}"), &random_program(&mut Rng::new(seed))).is_some()
        })
        .count();
    assert!(2 * small as u64 >= cases, "{small} of {cases} programs were explored completely");
}

/// The claim is broken if a loop that others see changing counts is taken to wait.
#[test]
fn random_handles_of_polling_threads_behave_as_brute_force_says() {
    let seeds = rng::seeds(80);
    let cases = seeds.cases();
    let complete = seeds
        .filter(|&seed| {
            let program = random_waiting_program(&mut Rng::new(seed));
            compare(&format!("seed {seed}"), &program).is_some()
        })
        .count();
    assert!(
        8 * complete as u64 >= cases,
        "{complete} of {cases} programs were explored completely"
    );
}

/// Which of three owners is dropped last is decided by all three: a drop that left two others was
/// taken to commute with one that left a single one.
#[test]
fn a_drop_that_decides_who_is_last_wakes_those_that_slept() {
    let threads =
        vec![vec![Step::IntoInner], vec![Step::Store, Step::Drop], vec![Step::Drop, Step::Load]];
    assert!(compare("", &Program { threads, weak: false, joins: false }).is_some());
    let threads = vec![vec![Step::IntoInner], vec![Step::Drop, Step::Upgrade], vec![Step::Drop]];
    assert!(compare("with a weak", &Program { threads, weak: true, joins: false }).is_some());
}

/// Nothing but the number of executions tells whether drops commute where they may.
#[test]
fn drops_before_the_last_are_not_run_in_all_orders() {
    for others in 2..=5 {
        let mut threads = vec![Vec::new(); others + 1];
        // The main thread drops its owner when the others have ended.
        let waits = Program { threads: threads.clone(), weak: false, joins: true };
        assert_eq!(compare("joined", &waits), Some(1), "{others} threads");
        // Any of the others may be the last.
        threads[0] = vec![Step::Drop];
        let last = Program { threads, weak: false, joins: false };
        assert_eq!(compare("raced", &last), Some(others as u64 + 1), "{others} threads");
    }
}
