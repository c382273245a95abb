//! Verification: from a program and options to a verdict.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use trueline::Budget;
use trueline::budget::Exhausted;
use trueline_report::{Outcome, Scope, Undecided, Verdict, limit_code};

use crate::program::{MOST_NODES, MOST_PROCESSES, Points, Program};

use super::checkpoint;
use super::expand::{Hit, Reductions, Wrong};
use super::label::result_count;
use super::marks;
use super::search::{End, Pulse, Search};
use super::simple::{self, Simple};
use super::spec_sets::SpecSets;
use super::step::{Ended, Machine};
use super::trace::{self, Trace};

/// How to verify. The default has everything on.
#[derive(Clone)]
pub struct Options {
    /// Store one state an orbit of exchanged processes.
    pub symmetry: bool,
    /// Cartesian partial order reduction.
    pub partial_order: bool,
    /// Drop states whose set of explanations includes that of another.
    pub antichain: bool,
    /// Trust the marked linearization points (Theorem 2), where the program has them.
    pub points: bool,
    /// Workers.
    pub threads: usize,
    /// Told while the search runs.
    pub pulse: Arc<Pulse>,
    /// Where to keep what was found, every half minute and when the budget is spent.
    pub checkpoint: Option<PathBuf>,
    /// Where to go on from.
    pub resume: Option<PathBuf>,
    /// Look at simple executions of a snapshot algorithm only.
    pub simple: Option<Simple>,
    /// Leave tables to the end of the process: freeing gigabytes takes seconds.
    pub leaves_tables: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            symmetry: true,
            partial_order: true,
            antichain: true,
            points: false,
            threads: 1,
            pulse: Arc::default(),
            checkpoint: None,
            resume: None,
            simple: None,
            leaves_tables: false,
        }
    }
}

impl Options {
    /// Everything off.
    pub fn plain() -> Options {
        Options { symmetry: false, partial_order: false, antichain: false, ..Options::default() }
    }

    fn reductions(&self) -> Reductions {
        Reductions {
            symmetry: self.symmetry,
            partial_order: self.partial_order,
            antichain: self.antichain,
        }
    }
}

/// A run that must not be.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// What is wrong at the last step.
    pub reason: Reason,
    /// The run.
    pub trace: Trace,
    /// No shorter one of this kind exists. False where that is not known: the second search, which
    /// looks for a shorter one, came to the end of its [`SHORTENING`], or antichains evicted states
    /// of a very large level.
    pub shortest: bool,
    /// Every run of up to so many steps was seen in that second search, and does nothing wrong.
    pub shorter_seen: Option<u64>,
}

/// The states that are looked at for a shorter counterexample. A count, so that what is reported
/// does not depend on the clock.
pub const SHORTENING: u64 = 100_000;

/// What is wrong at the last step of a counterexample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No order of the operations explains what was seen.
    NotLinearizable,
    /// The model does what it must not: an assertion, null, a value out of range.
    Fault(Fault),
    /// After the last step nobody can take a step, although some process is within an operation and
    /// the specification does not explain that all of them wait.
    Deadlock,
    /// With the marked points no order explains what was seen, without them one does: a point is
    /// missing or misplaced.
    WrongPoints,
}

/// What a model does that it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// In words.
    pub message: String,
    /// A value is none of its type: the model is too small for what it does, which says nothing
    /// about the algorithm.
    pub leaves_range: bool,
}

impl From<&str> for Fault {
    fn from(message: &str) -> Fault {
        Fault { message: message.into(), leaves_range: false }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What a search cost. One for progress counts states and transitions alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Product states; with antichains those that were kept.
    pub states: u64,
    /// Transitions taken.
    pub transitions: u64,
    /// Levels completed.
    pub depth: u64,
    /// Sets of specification states.
    pub sets: u64,
    /// Bytes of the visited set.
    pub bytes: u64,
    /// Product states in which every process has ended.
    pub terminal: u64,
    /// Whether marked points were trusted.
    pub points: bool,
}

impl Counts {
    /// Adds those of another search; `whole`: its states are not among those of a search that
    /// follows.
    pub(super) fn add(&mut self, other: &Counts, whole: bool) {
        self.transitions += other.transitions;
        self.depth = self.depth.max(other.depth);
        self.sets = self.sets.max(other.sets);
        self.bytes = self.bytes.max(other.bytes);
        if whole {
            self.states += other.states;
            self.terminal += other.terminal;
        }
    }
}

/// What came of a search for counterexamples.
type Searched = Outcome<Counterexample, Counts>;

/// A verdict on a program.
pub(crate) fn told<V>(
    program: &Program,
    verdict: Verdict<V>,
    counts: Counts,
) -> Outcome<V, Counts> {
    let scope = Scope { programs: program.bound(), schedules: String::new() };
    Outcome { verdict, scope, counts }
}

/// Not looked at: the options or the program ask for what cannot be done, as going on from a file
/// that is no checkpoint of it.
pub(super) fn refused<V>(why: impl Into<String>) -> Verdict<V> {
    Verdict::Undecided(Undecided::new(Undecided::ERROR, why))
}

/// Not decided, for another reason than a limit.
pub(super) fn incomplete<V>(why: impl Into<String>) -> Verdict<V> {
    Verdict::Undecided(Undecided::new("incomplete", why))
}

/// Not decided: a limit was reached.
pub(super) fn cut<V>(spent: &Exhausted, why: impl Into<String>) -> Verdict<V> {
    Verdict::Undecided(Undecided::new(limit_code(spent), why))
}

/// A run that is killed loses no more than this and the time that saving takes.
const BETWEEN_CHECKPOINTS: Duration = Duration::from_secs(30);

/// Decides whether every history of the program is one of its specification. An undecided verdict
/// with the code [`Undecided::ERROR`] says why the program was not looked at.
pub fn verify(
    program: &Arc<Program>,
    options: &Options,
    budget: &Budget,
) -> Outcome<Counterexample, Counts> {
    if let Some(path) = &options.checkpoint
        && let Err(error) = checkpoint::usable(path)
    {
        let verdict = refused(format!("{}: {error}", path.display()));
        return told(program, verdict, Counts::default());
    }
    if let Some(simple) = &options.simple {
        return simple::verify(program, simple, options, budget);
    }
    let points = if options.points { marks::trusted(program) } else { Points::None };
    let mut found = once(program, points, options, budget);
    if points != Points::None
        && let Verdict::Violation(counterexample) = &found.verdict
        && !matches!(counterexample.reason, Reason::Fault(_))
    {
        // Theorem 2 decides only if every point is marked: ask again without the marks. With them
        // it is also not known who has taken effect and thus may wait.
        let fresh = Options { checkpoint: None, resume: None, ..options.clone() };
        let again = once(program, Points::None, &fresh, budget);
        found.verdict = match again.verdict {
            Verdict::Holds if counterexample.reason == Reason::Deadlock => {
                found = again;
                found.counts.points = true;
                return found;
            }
            Verdict::Holds => Verdict::Violation(Counterexample {
                reason: Reason::WrongPoints,
                ..counterexample.clone()
            }),
            other => other,
        };
    }
    found
}

fn once(program: &Arc<Program>, points: Points, options: &Options, budget: &Budget) -> Searched {
    let machine = Machine::new(program.clone(), points);
    let sets = Mutex::new(SpecSets::new(program.clone(), points));
    match decide(&machine, &sets, options, budget, true) {
        Ok((verdict, counts)) => told(program, verdict, counts),
        Err(_) => unreachable!("nothing is taken to be constant"),
    }
}

/// What is wrong with a program whose setup ends so.
pub(super) fn wrong_setup(program: &Program, ended: Ended) -> Verdict<Counterexample> {
    match ended {
        Ended::Full(pool) => incomplete(full(program, pool)),
        ended => Verdict::Violation(Counterexample {
            reason: Reason::Fault(match ended {
                Ended::Fault(message) => message,
                _ => "the setup does not end".into(),
            }),
            trace: Trace::default(),
            shortest: true,
            shorter_seen: None,
        }),
    }
}

/// Searches; an error names a cell that was taken to be constant and is not. `shortens`: a
/// counterexample is to be the shortest.
pub(super) fn decide(
    machine: &Machine,
    sets: &Mutex<SpecSets>,
    options: &Options,
    budget: &Budget,
    shortens: bool,
) -> Result<(Verdict<Counterexample>, Counts), usize> {
    let program = &machine.program;
    let mut counts = Counts { points: machine.points != Points::None, ..Counts::default() };
    if let Some(reason) = too_large(program) {
        return Ok((refused(reason), counts));
    }
    let initial = match machine.initial() {
        Ok(initial) => initial,
        Err(ended) => return Ok((wrong_setup(program, ended), counts)),
    };
    let reductions = options.reductions();
    let restored = match &options.resume {
        None => None,
        Some(path) => match checkpoint::load(path, machine, sets, reductions, options.threads) {
            Ok(search) => Some(search),
            Err(error) => {
                let why = format!("{}: {error}", path.display());
                return Ok((refused(why), counts));
            }
        },
    };
    let initial_set = lock(sets).initial();
    let mut search = restored.unwrap_or_else(|| {
        Search::new(machine, sets, reductions, options.threads, &initial, initial_set)
    });
    if options.checkpoint.is_some() {
        search.reserve = Box::new(time_to_save);
    }
    let mut saved = budget.elapsed();
    let mut trouble = None;
    let mut save = |search: &Search| {
        options.pulse.saving.store(true, Ordering::Relaxed);
        if let Some(path) = &options.checkpoint
            && let Err(error) = checkpoint::save(path, search)
        {
            trouble = Some(format!("{}: {error}", path.display()));
        }
        options.pulse.saving.store(false, Ordering::Relaxed);
    };
    let end = search.run(budget, None, &options.pulse, &mut |search| {
        if budget.elapsed() - saved >= BETWEEN_CHECKPOINTS {
            save(search);
            saved = budget.elapsed();
        }
        Ok(())
    });
    if let End::Spent(_) = end {
        save(&search);
    }
    counts.states = search.states();
    counts.states += u64::from(program.setup.is_a_step);
    counts.transitions = search.transitions;
    counts.depth = search.depth() as u64;
    counts.sets = lock(sets).count() as u64;
    counts.bytes = search.bytes();
    counts.terminal = search.terminal;
    if program.count_terminal_states && !options.antichain {
        counts.states += search.terminal;
    }
    if let Some(trouble) = program.spec.trouble() {
        return Ok((refused(trouble), counts));
    }
    let verdict = match end {
        End::Complete => Verdict::Holds,
        End::Depth => incomplete("the depth is reached"),
        End::Spent(spent) => {
            let seen = spent_after(&spent, &search);
            cut(&spent, trouble.map_or(seen.clone(), |trouble| format!("{seen}; {trouble}")))
        }
        End::Wrong(_, Hit { wrong: Wrong::Full(pool), .. }) => incomplete(full(program, pool)),
        End::Wrong(_, Hit { wrong: Wrong::Changed(slot), .. }) => return Err(slot),
        End::Wrong(record, hit) => {
            let start = (&initial[..], initial_set);
            let verdict = explain(search, start, (&record, &hit), options, budget, shortens);
            return Ok((verdict, counts));
        }
    };
    if options.leaves_tables {
        std::mem::forget(search);
    }
    Ok((verdict, counts))
}

/// The time that a checkpoint of so many bytes may take to write.
fn time_to_save(bytes: u64) -> Duration {
    Duration::from_millis(20) + Duration::from_secs_f64(bytes as f64 / SAVED_A_SECOND)
}

/// Bytes of a checkpoint that are surely written in a second.
const SAVED_A_SECOND: f64 = 200e6;

/// The trace of a hit. After a search with partial order reduction a second one without it looks
/// for a shorter trace, within a small budget of its own.
fn explain(
    search: Search,
    (initial, initial_set): (&[i32], u32),
    (record, hit): (&[u32], &Hit),
    options: &Options,
    budget: &Budget,
    shortens: bool,
) -> Verdict<Counterexample> {
    let (machine, sets) = (search.machine, search.sets);
    let Reductions { symmetry, partial_order, .. } = search.reductions;
    let found = |trace: Trace, hit: &Hit, shortest, shorter_seen| {
        let reason = match &hit.wrong {
            Wrong::Fault(message) => Reason::Fault(message.clone()),
            Wrong::Stuck => Reason::Deadlock,
            Wrong::NoState | Wrong::Full(_) | Wrong::Changed(_) => Reason::NotLinearizable,
        };
        Verdict::Violation(Counterexample { reason, trace, shortest, shorter_seen })
    };
    let concrete = |search: &Search, record: &[u32], hit: &Hit| {
        let path = search.path_to(record, budget)?;
        Ok(trace::concrete(machine, sets, symmetry, &path, hit).unwrap_or_default())
    };
    // The shortest run that a search without partial order reduction has found, and whether it is
    // known to be that.
    let shortest = |search: &Search, record: &[u32], hit: &Hit| {
        if hit.wrong == Wrong::Stuck {
            return Ok((concrete(search, record, hit)?, hit.clone(), search.finds_the_shortest()));
        }
        match search.stuck_state(SHORTENING as usize, budget) {
            Ok(Some((record, stuck))) => {
                Ok((concrete(search, &record, &stuck)?, stuck, search.finds_the_shortest()))
            }
            Ok(None) => {
                Ok((concrete(search, record, hit)?, hit.clone(), search.finds_the_shortest()))
            }
            Err(_) => Ok((concrete(search, record, hit)?, hit.clone(), false)),
        }
    };
    if !partial_order {
        let found_shortest: Result<(Trace, Hit, bool), Exhausted> = shortest(&search, record, hit);
        if let Ok((trace, hit, is_shortest)) = found_shortest {
            return found(trace, &hit, is_shortest, None);
        }
    }
    let first: Result<Trace, Exhausted> = concrete(&search, record, hit);
    let first = match first {
        Ok(first) => first,
        Err(spent) => {
            let depth = search.depth();
            return cut(
                &spent,
                format!(
                    "{spent}; a violation was found after {depth} levels, but there was no time left to write down a run that shows it"
                ),
            );
        }
    };
    if !partial_order || !shortens {
        return found(first, hit, false, None);
    }
    drop(search);
    let reductions = Reductions { symmetry, partial_order: false, antichain: true };
    let threads = options.threads;
    let mut search = Search::new(machine, sets, reductions, threads, initial, initial_set);
    search.most_expanded = Some(SHORTENING);
    // What was found is still to be confirmed and written: half of the time that is left is kept
    // for that.
    let kept = budget.time_left().map_or(Duration::ZERO, |(_, left)| left / 2);
    search.reserve = Box::new(move |_| kept);
    // A state in which nobody can move is found where it is expanded, one level behind its last
    // step.
    let length = first.steps.len() + usize::from(hit.wrong == Wrong::Stuck);
    match search.run(budget, Some(length), &options.pulse, &mut |_| Ok(())) {
        End::Wrong(record, shorter)
            if !matches!(shorter.wrong, Wrong::Full(_) | Wrong::Changed(_)) =>
        {
            match shortest(&search, &record, &shorter) {
                Ok((trace, hit, is_shortest)) => found(trace, &hit, is_shortest, None),
                Err(_) => found(first, hit, false, None),
            }
        }
        // A run that ends in a deadlock is seen one level later than its length.
        _ => found(first, hit, false, Some(search.depth().saturating_sub(1) as u64)),
    }
}

/// What this checker cannot hold, in words.
fn too_large(program: &Program) -> Option<String> {
    let processes = program.processes();
    if processes == 0 || processes > MOST_PROCESSES {
        return Some(format!(
            "{processes} processes: between 1 and {MOST_PROCESSES} can be checked"
        ));
    }
    if let Some(node) = program.nodes.iter().find(|n| n.capacity > MOST_NODES) {
        let (name, capacity) = (&node.name, node.capacity);
        return Some(format!(
            "{capacity} nodes of type {name}: at most {MOST_NODES} can be checked"
        ));
    }
    let results: u64 = program.operations.iter().map(|o| result_count(&o.results)).sum();
    if program.calls.len() >= 1 << 16 || results >= 1 << 31 {
        return Some("the arguments or results of an operation have too many values".into());
    }
    None
}

/// What is known where a search stopped. Memory is that of the whole process: the states are only a
/// part of it.
fn spent_after(spent: &Exhausted, search: &Search) -> String {
    let depth = search.depth();
    let held = match spent {
        Exhausted::Memory(_) => {
            let (states, sets) = (search.bytes(), lock(search.sets).bytes());
            format!(
                " by the process; {states} bytes of it are states, {sets} sets of the specification"
            )
        }
        _ => String::new(),
    };
    format!("{spent}{held}; every run of up to {depth} steps was seen")
}

pub(crate) fn full(program: &Program, pool: usize) -> String {
    let node = &program.nodes[pool];
    format!("the heap of {} nodes of type {} is full", node.capacity, node.name)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
