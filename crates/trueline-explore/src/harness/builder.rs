//! The settings of a test: the object, its operations, its specification, and how much to try.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trueline::{Budget, History, Spec};

use super::generate::{Plan, Role, WellFormed};
use super::guarded::{Guarded, Specification};
use super::operate::has_handles;
use super::outcome::Outcome;
use super::progress;
use super::scenario::{Lane, Scenario};
use super::serial::Serial;
use super::setting::{MakeJudge, Rule, Watch};
use super::stressed::{self, Owned};
use super::{Invariant, Make, Operate, driver, explored, limits, regressions};
use crate::engine::{Exploration, Sampler};
use crate::memory::Reuse;

/// A test of an object of type `T` by operations `O`, under the explorer ([`explore`]) or on real
/// threads (stress mode).
pub struct Harness<T, O: Operate<T>, M = Explore> {
    pub(crate) make: Arc<Make<T>>,
    pub(crate) mode: M,
    spec: Option<Box<MakeSpecification<O, O::Ret>>>,
    pub(crate) operations: Vec<O>,
    pub(crate) before: Vec<O>,
    pub(crate) after: Vec<O>,
    pub(crate) programs: Vec<Vec<Vec<O>>>,
    pub(crate) threads: usize,
    pub(crate) length: usize,
    pub(crate) roles: Vec<(usize, Vec<O>)>,
    pub(crate) random: Option<(u64, u64)>,
    pub(crate) well_formed: Option<(Box<Inserts<O>>, O)>,
    pub(crate) rule: Option<Box<Rule<O>>>,
    pub(crate) invariant: Option<Arc<Invariant<T>>>,
    pub(crate) watch: Option<Box<Watch<O, O::Ret>>>,
    pub(crate) judge: Option<Box<MakeJudge<T, O>>>,
    pub(crate) time: Option<Duration>,
    pub(crate) budget: Option<Arc<Budget>>,
    pub(crate) progress: Option<Box<progress::Sink>>,
    pub(crate) as_found: bool,
    pub(crate) survey: bool,
    pub(crate) name: Option<String>,
    pub(crate) regressions: Option<PathBuf>,
    pub(crate) replay: Option<String>,
}

/// Makes the specification of a test with this alphabet.
type MakeSpecification<O, R> = dyn FnOnce(Vec<O>, Arc<Budget>) -> Specification<O, R> + Send + Sync;

/// Whether an operation inserts.
type Inserts<O> = dyn Fn(&O) -> bool + Send + Sync;

/// How scenarios are explored.
pub struct Explore {
    pub(crate) exploration: Exploration,
    pub(crate) reuse: Reuse,
}

/// How scenarios are run on real threads.
pub struct Stress {
    pub(crate) rounds: u64,
    pub(crate) rounds_each: u64,
    pub(crate) patience: Duration,
}

/// A test that runs the object under every schedule that matters.
///
/// Code that uses the heap needs `#[global_allocator] static ALLOC: trueline_explore::Alloc =
/// trueline_explore::Alloc;`.
pub fn explore<T, O>(make: impl Fn() -> T + Send + Sync + 'static) -> Harness<T, O, Explore>
where
    T: Sync + 'static,
    O: Operate<T>,
{
    let mode = Explore { exploration: Exploration::new(), reuse: Reuse::default() };
    Harness::new(make, mode)
}

/// A test that runs the object on real threads, in many short rounds of random scenarios. It covers
/// whatever this machine happens to do, including weak memory, and proves nothing. The object need
/// not be built over [`crate::std`].
pub fn stress<T, O>(make: impl Fn() -> T + Send + Sync + 'static) -> Harness<T, O, Stress>
where
    T: Send + Sync + 'static,
    O: Operate<T>,
{
    let patience = Duration::from_secs(10);
    Harness::new(make, Stress { rounds: 20_000, rounds_each: 100, patience })
}

/// What an invariant may return: nothing (it panics), whether it holds, or an error message.
pub trait Holds {
    /// The error, if it is violated.
    fn holds(self) -> Result<(), String>;
}

impl Holds for () {
    fn holds(self) -> Result<(), String> {
        Ok(())
    }
}

impl Holds for bool {
    fn holds(self) -> Result<(), String> {
        if self { Ok(()) } else { Err(String::from("the invariant does not hold")) }
    }
}

impl<E: fmt::Display> Holds for Result<(), E> {
    fn holds(self) -> Result<(), String> {
        self.map_err(|e| format!("the invariant does not hold: {e}"))
    }
}

impl<T: 'static, O: Operate<T>, M> Harness<T, O, M> {
    pub(crate) fn new(make: impl Fn() -> T + Send + Sync + 'static, mode: M) -> Self {
        Harness {
            make: Arc::new(make),
            mode,
            spec: None,
            operations: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            programs: Vec::new(),
            threads: 2,
            length: 2,
            roles: Vec::new(),
            random: None,
            well_formed: None,
            rule: None,
            invariant: None,
            watch: None,
            judge: None,
            time: None,
            budget: None,
            progress: None,
            as_found: false,
            survey: false,
            name: None,
            regressions: None,
            replay: None,
        }
    }

    /// The specification of the object. Without one, the object itself, run serially, is the
    /// specification.
    pub fn spec<S>(mut self, spec: S) -> Self
    where
        S: Spec<Op = O, Ret = O::Ret> + 'static,
    {
        self.spec = Some(Box::new(|_, _| Guarded::shared(spec)));
        self
    }

    /// Another object, run serially, as the specification: for instance the same object with its
    /// factor set to 0.
    pub fn golden(mut self, make: impl Fn() -> T + Send + Sync + 'static) -> Self
    where
        T: Sync,
    {
        let make: Arc<Make<T>> = Arc::new(make);
        self.spec =
            Some(Box::new(|alphabet, budget| Guarded::shared(Serial::new(make, alphabet, budget))));
        self
    }

    /// The operations that threads may call.
    pub fn operations(mut self, operations: impl IntoIterator<Item = O>) -> Self {
        self.operations.extend(operations);
        self
    }

    /// The number of threads that call operations (default: 2).
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The number of operations that each thread calls (default: 2); with an
    /// [invariant](Harness::invariant), the maximum.
    pub fn length(mut self, length: usize) -> Self {
        self.length = length;
        self
    }

    /// Adds threads that call these operations and no others. Roles are numbered from 0 in this
    /// order. With roles, [`Harness::operations`] and [`Harness::threads`] have no effect.
    pub fn role(mut self, threads: usize, operations: impl IntoIterator<Item = O>) -> Self {
        self.roles.push((threads, operations.into_iter().collect()));
        self
    }

    /// Runs this many scenarios of the full size, drawn at random, instead of all up to that size.
    pub fn random(mut self, scenarios: u64, seed: u64) -> Self {
        self.random = Some((scenarios, seed));
        self
    }

    /// Runs only scenarios with at most as many removals as insertions. The missing removals are
    /// called at the end, so that all inserted values are removed.
    pub fn well_formed(
        mut self,
        inserts: impl Fn(&O) -> bool + Send + Sync + 'static,
        removal: O,
    ) -> Self {
        self.well_formed = Some((Box::new(inserts), removal));
        self
    }

    /// Runs only scenarios in which each thread satisfies this rule, which receives the calls of
    /// one thread in their order. Use it for an object that makes demands on its callers, such as
    /// that a thread unlocks only what it has locked. One thread makes the calls before and after
    /// the others, and the rule receives these together. Minimisation obeys the rule, too.
    pub fn rule(mut self, rule: impl Fn(&[&O]) -> bool + Send + Sync + 'static) -> Self {
        self.rule = Some(Box::new(rule));
        self
    }

    /// Operations called before the threads start, in every scenario.
    pub fn before(mut self, operations: impl IntoIterator<Item = O>) -> Self {
        self.before.extend(operations);
        self
    }

    /// Operations called after the threads have ended, in every scenario.
    pub fn after(mut self, operations: impl IntoIterator<Item = O>) -> Self {
        self.after.extend(operations);
        self
    }

    /// Runs this scenario, and others given in the same way, instead of all. The argument gives the
    /// calls of each thread.
    pub fn program<P>(mut self, threads: impl IntoIterator<Item = P>) -> Self
    where
        P: IntoIterator<Item = O>,
    {
        let threads = threads.into_iter().map(|calls| calls.into_iter().collect());
        self.programs.push(threads.collect());
        self
    }

    /// What must hold while no operation is pending: after the threads have ended, and at the end.
    /// Threads then call up to [`Harness::length`] operations instead of exactly that many, since
    /// further operations may hide a violation.
    pub fn invariant<H: Holds>(
        mut self,
        invariant: impl Fn(&T) -> H + Send + Sync + 'static,
    ) -> Self {
        self.invariant = Some(Arc::new(move |object| invariant(object).holds()));
        self
    }

    /// The name of the test in the line that runs a failure again (default: the name of the running
    /// `#[test]`).
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Runs only the scenario that a report gave after `TRUELINE_REPLAY=`. A text that belongs to
    /// another test is ignored. The environment variable of that name does the same.
    pub fn replay(mut self, replay: impl Into<String>) -> Self {
        self.replay = Some(replay.into());
        self
    }

    /// Keeps failing scenarios in `trueline-regressions/`, beside `Cargo.toml`, and runs them
    /// first.
    pub fn regressions(self) -> Self {
        self.regressions_in(regressions::directory())
    }

    /// As [`Harness::regressions`], in another directory.
    pub fn regressions_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.regressions = Some(directory.into());
        self
    }

    /// Calls the function for each checked history, except those of scenarios that minimisation
    /// tries.
    pub fn each_history(
        mut self,
        watch: impl Fn(&History<O, O::Ret>) + Send + Sync + 'static,
    ) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Checks no history: each is only passed to [`Harness::each_history`]. If such a test holds,
    /// that says nothing about the histories.
    pub fn survey(mut self) -> Self {
        self.survey = true;
        self
    }

    /// Sets a time limit, which all scenarios and minimisation share. When it is reached, the
    /// verdict is undecided. If a failure was found before, the verdict is that failure, and the
    /// report says that there may be a smaller one. The limit does not interrupt a single
    /// execution, a single round, or a single call of the object or its specification.
    pub fn time(mut self, most: Duration) -> Self {
        self.time = Some(most);
        self
    }

    /// Draws on this budget instead of one with the time of [`Harness::time`]: for limits that
    /// several tests share, or limits of memory.
    pub fn budget(mut self, budget: Arc<Budget>) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Receives a line of progress every ten seconds (default: standard error; with
    /// [`Harness::budget`] there is none).
    pub fn progress(mut self, sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.progress = Some(Box::new(sink));
        self
    }

    /// Reports the first failure as it was found, without looking for a smaller one.
    pub fn as_found(mut self) -> Self {
        self.as_found = true;
        self
    }

    /// The specification, or the object itself if there is none.
    fn take_spec(&mut self, alphabet: &[O], budget: &Arc<Budget>) -> Specification<O, O::Ret>
    where
        T: Sync,
    {
        let (alphabet, budget) = (alphabet.to_vec(), Arc::clone(budget));
        match self.spec.take() {
            Some(make) => make(alphabet, budget),
            None => Guarded::shared(Serial::new(Arc::clone(&self.make), alphabet, budget)),
        }
    }

    /// The limits of the whole test.
    fn limits(&self) -> Arc<Budget> {
        self.budget.clone().unwrap_or_else(|| limits::budget(self.time))
    }

    /// Whether scenarios are drawn at random.
    pub(crate) fn samples_scenarios(&self) -> bool {
        self.random.is_some() && self.programs.is_empty()
    }

    /// A description of the size of scenarios.
    pub(crate) fn size(&self) -> String {
        if !self.programs.is_empty() {
            return String::from("given programs");
        }
        let threads = match &self.roles[..] {
            [] => self.threads,
            roles => roles.iter().map(|(threads, _)| threads).sum(),
        };
        let which = match (self.random, &self.invariant) {
            (Some(_), _) => "random scenarios of",
            (None, Some(_)) => "all scenarios up to",
            (None, None) => "all matrices up to",
        };
        let rule = match (&self.well_formed, &self.rule) {
            (None, None) => "",
            (None, Some(_)) => " that keep to the rule",
            (Some(_), None) => " with at most as many removals as insertions",
            (Some(_), Some(_)) => {
                " with at most as many removals as insertions that keep to the rule"
            }
        };
        // Handles may depend on the number of the thread, unless they are the object itself.
        let same = !has_handles::<T, O>();
        let alone = match &self.roles[..] {
            [] => self.threads < 2,
            roles => roles.iter().all(|(threads, _)| *threads < 2),
        };
        let all = same || alone || self.random.is_some();
        let order = if all { "" } else { " in one order of threads" };
        format!("{which} {threads} threads x {} operations{rule}{order}", self.length)
    }

    /// All operations that are mentioned, each once.
    pub(crate) fn alphabet(&self) -> Vec<O> {
        let mut alphabet: Vec<O> = Vec::new();
        let roles = self.roles.iter().flat_map(|(_, operations)| operations);
        let programs = self.programs.iter().flatten().flatten();
        let removal = self.well_formed.iter().map(|(_, removal)| removal);
        let listed = self.operations.iter().chain(roles);
        for op in listed.chain(&self.before).chain(programs).chain(&self.after).chain(removal) {
            if !alphabet.contains(op) {
                alphabet.push(op.clone());
            }
        }
        alphabet
    }

    /// The rule for well-formed scenarios, if the test asks for them.
    pub(crate) fn well_formed_of(&self, alphabet: &[O]) -> Option<WellFormed> {
        let (inserts, removal) = self.well_formed.as_ref()?;
        let removal = alphabet.iter().position(|other| other == removal)?;
        Some(WellFormed { inserts: alphabet.iter().map(inserts).collect(), removal })
    }

    /// The scenarios of the test, in the order in which they are run.
    pub(crate) fn scenarios<'a>(
        &self,
        alphabet: &[O],
        plan: &'a mut Plan,
    ) -> Box<dyn Iterator<Item = Scenario> + 'a> {
        let index = |op: &O| alphabet.iter().position(|other| other == op).expect("it is in there");
        let indices = |ops: &[O]| ops.iter().map(index).collect::<Vec<_>>();
        let role = |(threads, operations): &(usize, Vec<O>)| Role {
            threads: *threads,
            operations: indices(operations),
        };
        plan.roles = if self.roles.is_empty() {
            vec![Role { threads: self.threads, operations: indices(&self.operations) }]
        } else {
            self.roles.iter().map(role).collect()
        };
        plan.length = self.length;
        plan.uneven = self.invariant.is_some();
        let plan = &*plan;
        let lane = |ops: &Vec<O>| Lane { role: 0, calls: indices(ops) };
        let given = |program: &Vec<Vec<O>>| Scenario {
            lanes: program.iter().map(lane).collect(),
            ..Scenario::default()
        };
        let inner: Box<dyn Iterator<Item = Scenario> + 'a> = match self.random {
            _ if !self.programs.is_empty() => {
                Box::new(self.programs.iter().map(given).collect::<Vec<_>>().into_iter())
            }
            Some((count, seed)) => Box::new(plan.random(count, seed)),
            None => Box::new(plan.all()),
        };
        let well_formed = self.well_formed_of(alphabet);
        let given = !self.programs.is_empty();
        let (before, after) = (indices(&self.before), indices(&self.after));
        Box::new(inner.filter_map(move |mut scenario| {
            scenario.before.clone_from(&before);
            scenario.after.clone_from(&after);
            match &well_formed {
                // A program that is not well-formed is an error; it is not left out.
                Some(well_formed) if given => {
                    Some(well_formed.complete(scenario.clone()).unwrap_or(scenario))
                }
                Some(well_formed) => well_formed.complete(scenario),
                None => Some(scenario),
            }
        }))
    }
}

impl<T: Sync + 'static, O: Operate<T>> Harness<T, O, Explore> {
    /// Explores only schedules with at most this many preemptions, those with fewer first.
    pub fn preemptions(mut self, most: u32) -> Self {
        self.mode.exploration = self.mode.exploration.preemptions(most);
        self
    }

    /// Explores this many random schedules of each scenario.
    pub fn sample(mut self, sampler: Sampler, seed: u64, executions: u64) -> Self {
        self.mode.exploration = self.mode.exploration.sample(sampler, seed, executions);
        self
    }

    /// Gives up a scenario after this many executions; the verdict is then undecided.
    pub fn executions(mut self, most: u64) -> Self {
        self.mode.exploration = self.mode.exploration.executions(most);
        self
    }

    /// Explores on this many OS threads (default: 1), with the same result.
    pub fn workers(mut self, workers: usize) -> Self {
        self.mode.exploration = self.mode.exploration.workers(workers);
        self
    }

    /// Lets weak compare-exchanges fail and waits end spuriously, as described at
    /// [`Exploration::spurious`](crate::engine::Exploration::spurious).
    pub fn spurious(mut self, spurious: bool) -> Self {
        self.mode.exploration = self.mode.exploration.spurious(spurious);
        self
    }

    /// How freed memory is reused: [`Reuse::Lifo`] provokes ABA.
    pub fn reuse(mut self, reuse: Reuse) -> Self {
        self.mode.reuse = reuse;
        self
    }

    /// Runs the test and panics with the report unless it passes. A search that reached a limit has
    /// not passed.
    #[track_caller]
    pub fn check(self) {
        check(&self.run());
    }

    /// Runs the test.
    pub fn run(mut self) -> Outcome<O, O::Ret> {
        let alphabet = self.alphabet();
        let budget = self.limits();
        let spec = self.take_spec(&alphabet, &budget);
        driver::run(&self, &budget, &alphabet, &spec, &|setting, scenario, effort| {
            explored::try_scenario(&self.mode, setting, scenario, effort)
        })
    }
}

impl<T: Send + Sync + 'static, O: Operate<T>> Harness<T, O, Stress> {
    /// The total number of rounds (default: 20,000); every 100 of them run the same scenario.
    pub fn rounds(mut self, rounds: u64) -> Self {
        self.mode.rounds = rounds;
        self
    }

    /// How long a round may take before it counts as stuck (default: 10 s).
    pub fn patience(mut self, patience: Duration) -> Self {
        self.mode.patience = patience;
        self
    }

    /// Runs the test, and panics with the report unless nothing is wrong.
    #[track_caller]
    pub fn check(self) {
        check(&self.run());
    }

    /// Runs the test.
    pub fn run(mut self) -> Outcome<O, O::Ret> {
        let alphabet: Arc<[O]> = self.alphabet().into();
        if self.programs.is_empty() {
            let (_, seed) = self.random.unwrap_or((0, 1));
            let scenarios = self.mode.rounds.div_ceil(self.mode.rounds_each);
            self.random = Some((scenarios, seed));
        } else {
            self.mode.rounds_each = self.mode.rounds.div_ceil(self.programs.len() as u64);
        }
        let owned = Owned {
            make: self.make.clone(),
            invariant: self.invariant.clone(),
            alphabet: Arc::clone(&alphabet),
        };
        let budget = self.limits();
        let spec = self.take_spec(&alphabet, &budget);
        driver::run(&self, &budget, &alphabet, &spec, &|setting, scenario, effort| {
            stressed::try_scenario(&self.mode, &owned, setting, scenario, effort)
        })
    }
}

/// Panics with the report unless the test passed. If it passed, prints the coverage to the output
/// that the test harness captures.
#[track_caller]
fn check<O, R>(outcome: &Outcome<O, R>) {
    assert!(outcome.passes(), "\n{outcome}");
    print!("{outcome}");
}
