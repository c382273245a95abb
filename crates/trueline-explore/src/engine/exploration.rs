//! The entry point: what to explore, how far, and in what order.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::bounded::Bounded;
use super::execution::Machine;
use super::interface::Failure;
use super::optimal::Optimal;
use super::parallel::{Parallel, Worker};
use super::report::{Aim, Assumption, Report, Stop};
use super::samplers::{Sample, Sampler};
use super::schedule::{Again, Replay, Schedule};
use super::spare::Spare;
use super::strategy::{BlockedThread, End};
use super::visit::{Execution, Visited, lines, operation, steps, waiting_for_ever};
use trueline::Budget;

/// An exploration of a program: which schedules, and how many at most.
///
/// ```
/// use trueline_explore::engine::Exploration;
///
/// let report = Exploration::new().preemptions(2).run(|| {});
/// assert!(report.holds());
/// ```
#[derive(Clone, Debug)]
pub struct Exploration {
    search: Search,
    pub(crate) stack_size: usize,
    pub(crate) step_limit: usize,
    executions: Option<u64>,
    time: Option<Duration>,
    budget: Option<SharedBudget>,
    blocking: bool,
    workers: usize,
    spurious: bool,
}

/// A budget that others draw on, too.
#[derive(Clone)]
struct SharedBudget(Arc<Budget>);

impl std::fmt::Debug for SharedBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Budget")
    }
}

#[derive(Clone, Debug)]
enum Search {
    Complete,
    Preemptions(u32),
    Sample { sampler: Sampler, seed: u64, executions: u64 },
    Replay(Schedule),
}

impl Default for Exploration {
    fn default() -> Exploration {
        Exploration {
            search: Search::Complete,
            stack_size: 256 << 10,
            step_limit: 10_000,
            executions: None,
            time: None,
            budget: None,
            blocking: false,
            workers: 1,
            spurious: false,
        }
    }
}

impl Exploration {
    /// Every behaviour, without limits.
    pub fn new() -> Exploration {
        Exploration::default()
    }

    /// Explores only schedules with at most this many preemptions, those with fewer first.
    pub fn preemptions(mut self, most: u32) -> Exploration {
        self.search = Search::Preemptions(most);
        self
    }

    /// Explores this many random schedules.
    pub fn sample(mut self, sampler: Sampler, seed: u64, executions: u64) -> Exploration {
        self.search = Search::Sample { sampler, seed, executions };
        self
    }

    /// One schedule, as a report gave it.
    pub fn replay(mut self, schedule: Schedule) -> Exploration {
        self.search = Search::Replay(schedule);
        self
    }

    /// Stops after this many executions.
    pub fn executions(mut self, most: u64) -> Exploration {
        self.executions = Some(most);
        self
    }

    /// Stops after this time, at the end of an execution.
    pub fn time(mut self, most: Duration) -> Exploration {
        self.time = Some(most);
        self
    }

    /// Cuts off executions at this many events (default: 10,000).
    pub fn events(mut self, most: usize) -> Exploration {
        self.step_limit = most;
        self
    }

    /// The size of each thread's stack in bytes (default: 256 KiB).
    pub fn stack_size(mut self, bytes: usize) -> Exploration {
        self.stack_size = bytes;
        self
    }

    /// Draws a step from a budget for each execution, and stops when the budget is spent. Use it
    /// for limits of time and memory that cover more than this exploration. The budget is checked
    /// between executions, and while the real-time orders of an execution are computed.
    pub fn budget(mut self, budget: Arc<Budget>) -> Exploration {
        self.budget = Some(SharedBudget(budget));
        self
    }

    /// Lets threads wait for ever: an execution that ends with waiting threads is not a failure.
    pub fn may_block(mut self) -> Exploration {
        self.blocking = true;
        self
    }

    /// Lets `compare_exchange_weak` fail although the value is the expected one, and lets
    /// `Condvar::wait`, `wait_timeout` and `park` return although nothing has woken the thread.
    /// Each of these is explored both ways, which takes more executions.
    ///
    /// A weak compare-exchange fails as often as that makes a difference. A thread wakes up
    /// spuriously at most once at each line that waits.
    pub fn spurious(mut self, spurious: bool) -> Exploration {
        self.spurious = spurious;
        self
    }

    /// Explores on this many OS threads (default: 1), with the same result. Visitors are then
    /// called from several threads and, if there is a failure, for some executions twice. A bounded
    /// search runs on one thread.
    pub fn workers(mut self, workers: usize) -> Exploration {
        self.workers = workers;
        self
    }

    /// Explores a program.
    pub fn run(&self, body: impl Fn() + Sync) -> Report {
        self.run_with(body, |_| Ok(()))
    }

    /// Explores a program and passes each execution that ran to its end to the visitor.
    pub fn run_with(
        &self,
        body: impl Fn() + Sync,
        visit: impl Fn(&Execution<'_>) -> Visited + Sync,
    ) -> Report {
        self.run_restarting(body, visit, |_| ())
    }

    /// As [`Exploration::run_with`], for a visitor that keeps state. If one of several workers
    /// meets a failure, a single thread then searches for the first failure in search order, and
    /// may visit executions again. `restarting` is called before that. Its argument is whether all
    /// executions are run again.
    pub(crate) fn run_restarting(
        &self,
        body: impl Fn() + Sync,
        visit: impl Fn(&Execution<'_>) -> Visited + Sync,
        restarting: impl Fn(Restart) + Sync,
    ) -> Report {
        let aim = match &self.search {
            Search::Complete => Aim::Complete,
            Search::Preemptions(most) => Aim::Preemptions(*most),
            Search::Sample { sampler, seed, .. } => {
                Aim::Sample { sampler: sampler.name(), seed: *seed }
            }
            Search::Replay(_) => Aim::Replay,
        };
        let start = Instant::now();
        let job = Job { options: self, body: &body, visit: &visit, restarting: &restarting, start };
        let mut run = Run::new(job, aim);
        match &self.search {
            Search::Complete if self.workers > 1 => run.complete_in_parallel(),
            Search::Complete => run.complete(),
            Search::Preemptions(most) => run.preemptions(*most),
            Search::Sample { sampler, seed, executions } => {
                if self.workers > 1 {
                    run.sample_in_parallel(*sampler, *seed, *executions);
                } else {
                    run.sample(*sampler, *seed, 0..*executions);
                }
            }
            Search::Replay(schedule) => run.replay(schedule),
        }
        run.into_report()
    }
}

/// How the single thread proceeds after several workers met a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    /// It runs all executions again, up to the first failure.
    All,
    /// It runs the failing one again.
    Failing,
}

/// What to explore: the same for all workers.
#[derive(Clone, Copy)]
struct Job<'a> {
    options: &'a Exploration,
    body: &'a (dyn Fn() + Sync),
    visit: &'a (dyn Fn(&Execution<'_>) -> Visited + Sync),
    restarting: &'a (dyn Fn(Restart) + Sync),
    start: Instant,
}

/// An exploration under way on one OS thread.
struct Run<'a> {
    job: Job<'a>,
    machine: Box<Machine>,
    search: Box<Optimal>,
    report: Report,
    /// The number of events of the first execution.
    length: Option<usize>,
}

impl<'a> Run<'a> {
    fn new(job: Job<'a>, aim: Aim) -> Run<'a> {
        let Spare { mut machine, search } =
            Spare::take(job.options.stack_size, job.options.step_limit);
        machine.spurious = job.options.spurious;
        machine.budget = job.options.budget.as_ref().map(|shared| Arc::clone(&shared.0));
        let mut run = Run { job, machine, search, report: Report::new(aim), length: None };
        run.report.scope.spurious = job.options.spurious;
        run
    }

    fn into_report(mut self) -> Report {
        if self.report.scope.assumed.is_none() {
            self.report.scope.assumed = self.machine.assumed;
        }
        self.report.scope.clock |= self.machine.clock;
        Spare { machine: self.machine, search: self.search }.leave();
        self.report
    }

    fn complete(&mut self) {
        self.search.renew();
        loop {
            let kept = self.search.kept();
            let end = self.machine.run(self.job.body, &mut *self.search, kept);
            let goes_on = self.take_in(&end);
            if !goes_on
                || !self.search.advance(&self.machine.trace, blocked(&end))
                || self.is_spent()
            {
                break;
            }
        }
        self.report.blocked = self.search.blocked;
    }

    /// As [`Run::complete`], on several OS threads. If a worker meets a failure or a limit, the
    /// sequential search finds it again.
    fn complete_in_parallel(&mut self) {
        let search = Parallel::new();
        let names = Arc::default();
        let total = AtomicU64::new(0);
        let job = self.job;
        let limit = job.options.executions.unwrap_or(u64::MAX);
        let run_worker = || {
            let mut run = Run::new(job, Aim::Complete);
            run.machine.share_names(&names);
            let mut worker = Worker::default();
            while let Some(kept) = search.claim(&mut worker) {
                let end = run.machine.run(job.body, &mut worker, kept);
                let before = run.report.executions;
                let goes_on = run.take_in(&end);
                let ran = run.report.executions - before;
                let spent = total.fetch_add(ran, Ordering::Relaxed) + ran > limit;
                search.finish(&mut worker, &run.machine.trace, blocked(&end));
                if !goes_on || spent || run.is_out_of_time() {
                    search.stop();
                }
            }
            run.into_report()
        };
        let reports = on_threads(job.options.workers, &run_worker);
        self.report.blocked = search.blocked();
        let failed = reports.iter().position(|report| report.failure.is_some());
        if failed.is_none() && total.load(Ordering::Relaxed) <= limit {
            return self.join(reports);
        }
        self.report = Report::new(Aim::Complete);
        self.report.scope.spurious = job.options.spurious;
        (job.restarting)(Restart::All);
        self.complete();
        if let Some(worker) = failed
            && self.report.failure.is_none()
            && self.report.scope.stopped != Some(Stop::Unwinding)
        {
            // The sequential search reached a limit before it found the failure again. The worker's
            // failure is reported all the same. The body runs once more, since it may record
            // details of the failure.
            let found = &reports[worker];
            if let Some(schedule) = &found.schedule {
                self.machine.run(job.body, &mut Replay::new(schedule), 0);
            }
            self.report.failure.clone_from(&found.failure);
            self.report.schedule.clone_from(&found.schedule);
            self.report.trace.clone_from(&found.trace);
            self.report.steps.clone_from(&found.steps);
            self.report.operations.clone_from(&found.operations);
        }
    }

    fn sample_in_parallel(&mut self, sampler: Sampler, seed: u64, executions: u64) {
        let executions = executions.min(self.job.options.executions.unwrap_or(u64::MAX));
        // The first execution shows how long executions are.
        self.sample(sampler, seed, 0..executions.min(1));
        if self.report.failure.is_some() || executions < 2 {
            return;
        }
        let (job, aim, length) = (self.job, self.report.scope.aim.clone(), self.length);
        let next = AtomicU64::new(1);
        let failing = AtomicU64::new(u64::MAX);
        let run_worker = || {
            let mut run = Run::new(job, aim.clone());
            run.length = length;
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= executions || index > failing.load(Ordering::Relaxed) {
                    return run.into_report();
                }
                run.sample(sampler, seed, index..index + 1);
                if run.report.failure.is_some() {
                    failing.fetch_min(index, Ordering::Relaxed);
                    return run.into_report();
                }
                if matches!(run.report.scope.stopped, Some(Stop::Time(_) | Stop::Budget(_))) {
                    return run.into_report();
                }
            }
        };
        let reports = on_threads(job.options.workers, &run_worker);
        let failing = failing.load(Ordering::Relaxed);
        if failing == u64::MAX {
            return self.join(reports);
        }
        // All before the least failing one have passed.
        (job.restarting)(Restart::Failing);
        self.report.executions = failing;
        self.sample(sampler, seed, failing..failing + 1);
    }

    /// Adds up the reports of workers that met no failure.
    fn join(&mut self, reports: Vec<Report>) {
        for report in reports {
            self.report.executions += report.executions;
            if self.report.scope.stopped.is_none() {
                self.report.scope.stopped = report.scope.stopped;
            }
            if self.report.scope.assumed.is_none() {
                self.report.scope.assumed = report.scope.assumed;
            }
            self.report.scope.clock |= report.scope.clock;
        }
    }

    fn preemptions(&mut self, most: u32) {
        for bound in 0..=most {
            let mut search = Bounded::new(bound);
            loop {
                let kept = search.kept();
                let end = self.machine.run(self.job.body, &mut search, kept);
                if !self.take_in(&end) {
                    return;
                }
                if !search.advance(&self.machine.trace, blocked(&end)) {
                    break;
                }
                if self.is_spent() {
                    return;
                }
            }
            if !search.cut {
                // The bound has kept nothing away.
                self.report.scope.aim = Aim::Complete;
                return;
            }
            if bound < most && self.is_spent() {
                return;
            }
        }
    }

    fn sample(&mut self, sampler: Sampler, seed: u64, indices: Range<u64>) {
        for index in indices {
            // The length comes from the first execution, because later executions must not depend
            // on which ones ran before them.
            let length = self.length.unwrap_or(16);
            let mut strategy = Sample::new(sampler, seed, index, length);
            let end = self.machine.run(self.job.body, &mut strategy, 0);
            self.length.get_or_insert(self.machine.trace.len());
            if !self.take_in(&end) || self.is_spent() {
                return;
            }
        }
    }

    fn replay(&mut self, schedule: &Schedule) {
        let mut strategy = Replay::new(schedule);
        let end = self.machine.run(self.job.body, &mut strategy, 0);
        self.take_in(&end);
        if let Some(what) = schedule.difference(&self.machine.trace)
            && !matches!(end, End::Diverged(_) | End::TooLong)
        {
            self.report.failure = Some(Failure::Nondeterminism { what });
        }
    }

    /// Runs the same schedule once more and returns the failure of that run. The standard library
    /// may have kept memory at the end of the first run because it was used for the first time;
    /// that does not happen again.
    fn fails_again(&mut self) -> Option<Failure> {
        let length = self.machine.trace.len();
        match self.machine.run(self.job.body, &mut Again, length) {
            End::Failed(failure) => Some(failure),
            End::Diverged(what) => Some(Failure::Nondeterminism { what }),
            _ => None,
        }
    }

    /// Takes an execution into the report. False: the exploration is over.
    fn take_in(&mut self, end: &End) -> bool {
        let failure = match end {
            End::GivenUp => return true,
            End::TooLong => {
                self.report.executions += 1;
                // The run may also have been cut off because the budget is spent.
                if !self.is_out_of_time() {
                    self.report.scope.stopped = Some(Stop::Length(self.job.options.step_limit));
                }
                return true;
            }
            End::Complete => {
                self.report.executions += 1;
                self.visited(end)
            }
            End::Blocked(threads) => {
                self.report.executions += 1;
                if self.job.options.blocking {
                    self.visited(end)
                } else {
                    Some(waiting_for_ever(threads))
                }
            }
            End::Failed(_) if self.machine.failed_at_end => {
                self.report.executions += 1;
                self.fails_again().or_else(|| self.visited(&End::Complete))
            }
            End::Failed(failure) => {
                self.report.executions += 1;
                Some(failure.clone())
            }
            End::Diverged(_) if self.machine.assumed == Some(Assumption::Unwinding) => {
                self.report.scope.stopped = Some(Stop::Unwinding);
                return false;
            }
            End::Diverged(what) => Some(Failure::Nondeterminism { what: what.clone() }),
        };
        if failure.is_none() {
            return true;
        }
        self.report.failure = failure;
        self.report.schedule = Some(Schedule::of(&self.machine.trace, self.machine.order()));
        self.report.steps = steps(&self.machine.trace).collect();
        self.report.operations = self.machine.trace.operations.iter().map(operation).collect();
        self.report.trace = lines(&self.machine.trace, self.machine.order());
        self.report.scope.stopped = Some(Stop::Failure);
        false
    }

    /// The failure that the visitor reported.
    fn visited(&self, end: &End) -> Option<Failure> {
        let time = self.job.options.time;
        let until = time.and_then(|time| self.job.start.checked_add(time));
        let budget = self.job.options.budget.as_ref().map(|shared| &*shared.0);
        let (trace, order) = (&self.machine.trace, self.machine.order());
        (self.job.visit)(&Execution { trace, order, end, time, until, budget }).err()
    }

    /// Whether a limit is reached, though there is more to explore.
    fn is_spent(&mut self) -> bool {
        if let Some(most) = self.job.options.executions
            && self.report.executions >= most
        {
            self.report.scope.stopped = Some(Stop::Executions(most));
            return true;
        }
        self.is_out_of_time()
    }

    /// Whether the time, or the budget, is spent.
    fn is_out_of_time(&mut self) -> bool {
        if let Some(SharedBudget(budget)) = &self.job.options.budget
            && let Err(why) = budget.spend(1)
        {
            self.report.scope.stopped = Some(Stop::Budget(why));
            return true;
        }
        if let Some(most) = self.job.options.time
            && self.job.start.elapsed() >= most
        {
            self.report.scope.stopped = Some(Stop::Time(most));
            return true;
        }
        false
    }
}

/// Runs a function on this many OS threads.
fn on_threads(count: usize, function: &(dyn Fn() -> Report + Sync)) -> Vec<Report> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(function)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Report>| match thread.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    })
}

fn blocked(end: &End) -> &[BlockedThread] {
    match end {
        End::Blocked(threads) => threads,
        _ => &[],
    }
}
