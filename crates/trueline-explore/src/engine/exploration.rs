//! The entry point: what to explore, how far, and in what order.

use std::panic::Location;
use std::time::{Duration, Instant};

use super::bounded::Bounded;
use super::execution::{BlockedThread, End, Machine};
use super::interface::{Failure, Kind, ThreadId};
use super::intervals::{self, Histories};
use super::optimal::Optimal;
use super::report::{Aim, Report, Stop};
use super::samplers::{Sample, Sampler};
use super::schedule::{Again, Replay, Schedule};
use super::trace::Trace;

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
    blocking: bool,
}

#[derive(Clone, Debug)]
enum Search {
    Complete,
    Preemptions(u32),
    Sample { sampler: Sampler, seed: u64, executions: u64 },
    Replay(Schedule),
}

/// One execution that ran to its end, as a visitor sees it.
pub struct Execution<'a> {
    trace: &'a Trace,
    end: &'a End,
}

/// One event of an execution.
#[derive(Clone, Debug)]
pub struct Step {
    /// The thread that made it.
    pub thread: ThreadId,
    /// What the front end calls the access.
    pub name: &'static str,
    /// What it could have done.
    pub kind: Kind,
    /// The location that it touched.
    pub location: usize,
    /// The value there before it.
    pub before: u64,
    /// The value there after it.
    pub after: u64,
    /// Whether it counts as a write.
    pub wrote: bool,
    /// The line that made it.
    pub caller: &'static Location<'static>,
}

impl Execution<'_> {
    /// Its operations with all the real-time orders that they can have; None if there are more than
    /// [`MAX_OPERATIONS`](super::MAX_OPERATIONS).
    pub fn histories(&self) -> Option<Histories> {
        intervals::histories(self.trace)
    }

    /// The threads that wait for ever.
    pub fn blocked_threads(&self) -> Vec<ThreadId> {
        match self.end {
            End::Blocked(threads) => threads.iter().map(|t| ThreadId(t.thread)).collect(),
            _ => Vec::new(),
        }
    }

    /// The last recorded value of a location.
    pub fn value(&self, location: usize) -> u64 {
        self.trace.locations.value(location)
    }

    /// Its events, in the order in which they ran.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        self.trace.events().iter().map(|event| Step {
            thread: ThreadId(event.thread),
            name: event.access.name,
            kind: event.access.kind,
            location: event.access.location,
            before: event.effect.before,
            after: event.effect.after,
            wrote: event.footprint.wrote,
            caller: event.access.caller,
        })
    }
}

/// What a visitor says of an execution: an error makes it a failure, and ends the exploration.
pub type Visited = Result<(), Failure>;

impl Default for Exploration {
    fn default() -> Exploration {
        Exploration {
            search: Search::Complete,
            stack_size: 256 << 10,
            step_limit: 10_000,
            executions: None,
            time: None,
            blocking: false,
        }
    }
}

impl Exploration {
    /// Every behaviour, without limits.
    pub fn new() -> Exploration {
        Exploration::default()
    }

    /// Only schedules with at most so many preemptions, those with fewer first.
    pub fn preemptions(mut self, most: u32) -> Exploration {
        self.search = Search::Preemptions(most);
        self
    }

    /// So many schedules drawn at random.
    pub fn sample(mut self, sampler: Sampler, seed: u64, executions: u64) -> Exploration {
        self.search = Search::Sample { sampler, seed, executions };
        self
    }

    /// One schedule, as a report gave it.
    pub fn replay(mut self, schedule: Schedule) -> Exploration {
        self.search = Search::Replay(schedule);
        self
    }

    /// Stops after so many executions.
    pub fn executions(mut self, most: u64) -> Exploration {
        self.executions = Some(most);
        self
    }

    /// Stops after this time, at the end of an execution.
    pub fn time(mut self, most: Duration) -> Exploration {
        self.time = Some(most);
        self
    }

    /// Cuts off executions at so many events (10,000 if not told otherwise).
    pub fn events(mut self, most: usize) -> Exploration {
        self.step_limit = most;
        self
    }

    /// The size of each thread's stack in bytes (256 KiB if not told otherwise).
    pub fn stack_size(mut self, bytes: usize) -> Exploration {
        self.stack_size = bytes;
        self
    }

    /// Lets threads wait for ever: an execution in which some do is no failure.
    pub fn may_block(mut self) -> Exploration {
        self.blocking = true;
        self
    }

    /// Explores a program.
    pub fn run(&self, body: impl Fn() + Sync) -> Report {
        self.run_with(body, |_| Ok(()))
    }

    /// Explores a program and looks at each execution that ran to its end.
    pub fn run_with(
        &self,
        body: impl Fn() + Sync,
        visit: impl Fn(&Execution<'_>) -> Visited + Sync,
    ) -> Report {
        let aim = match &self.search {
            Search::Complete => Aim::Complete,
            Search::Preemptions(most) => Aim::Preemptions(*most),
            Search::Sample { sampler, seed, .. } => {
                Aim::Sample { sampler: sampler.name(), seed: *seed }
            }
            Search::Replay(_) => Aim::Replay,
        };
        let mut run = Run {
            options: self,
            body: &body,
            visit: &visit,
            machine: Machine::new(self.stack_size, self.step_limit),
            start: Instant::now(),
            report: Report::new(aim),
        };
        match &self.search {
            Search::Complete => run.complete(),
            Search::Preemptions(most) => run.preemptions(*most),
            Search::Sample { sampler, seed, executions } => {
                run.sample(*sampler, *seed, *executions);
            }
            Search::Replay(schedule) => run.replay(schedule),
        }
        run.report
    }
}

/// An exploration under way on one OS thread.
struct Run<'a> {
    options: &'a Exploration,
    body: &'a dyn Fn(),
    visit: &'a dyn Fn(&Execution<'_>) -> Visited,
    machine: Machine,
    start: Instant,
    report: Report,
}

impl Run<'_> {
    fn complete(&mut self) {
        let mut search = Optimal::default();
        loop {
            let kept = search.kept();
            let end = self.machine.run(self.body, &mut search, kept);
            let goes_on = self.settle(&end);
            if !goes_on || !search.advance(&self.machine.trace, blocked(&end)) || self.is_spent() {
                break;
            }
        }
        self.report.blocked = search.blocked;
    }

    fn preemptions(&mut self, most: u32) {
        for bound in 0..=most {
            let mut search = Bounded::new(bound);
            loop {
                let kept = search.kept();
                let end = self.machine.run(self.body, &mut search, kept);
                if !self.settle(&end) {
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

    fn sample(&mut self, sampler: Sampler, seed: u64, executions: u64) {
        let mut length = 16;
        for index in 0..executions {
            let mut strategy = Sample::new(sampler, seed, index, length);
            let end = self.machine.run(self.body, &mut strategy, 0);
            if index == 0 {
                // Later samples must not depend on which ones ran before them.
                length = self.machine.trace.len();
            }
            if !self.settle(&end) || self.is_spent() {
                return;
            }
        }
    }

    fn replay(&mut self, schedule: &Schedule) {
        let mut strategy = Replay::new(schedule);
        let end = self.machine.run(self.body, &mut strategy, 0);
        self.settle(&end);
        if let Some(what) = schedule.difference(&self.machine.trace)
            && !matches!(end, End::Diverged(_))
        {
            self.report.failure = Some(Failure::Nondeterminism { what });
        }
    }

    /// Runs the same schedule once more, and yields how that fails. What is left over at the end of an execution may have been made to
    /// stay by the standard library, when it was used for the first time: that does not happen again.
    fn fails_again(&mut self) -> Option<Failure> {
        let length = self.machine.trace.len();
        let mut again = Again::new(&self.machine.trace);
        match self.machine.run(self.body, &mut again, length) {
            End::Failed(failure) => Some(failure),
            End::Diverged(what) => Some(Failure::Nondeterminism { what }),
            _ => None,
        }
    }

    /// Takes an execution into the report. False: the exploration is over.
    fn settle(&mut self, end: &End) -> bool {
        let failure = match end {
            End::GivenUp => return true,
            End::TooLong => {
                self.report.executions += 1;
                self.report.scope.stopped = Some(Stop::Length(self.options.step_limit));
                return true;
            }
            End::Complete => {
                self.report.executions += 1;
                self.visited(end)
            }
            End::Blocked(threads) => {
                self.report.executions += 1;
                if self.options.blocking {
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
            End::Diverged(what) => Some(Failure::Nondeterminism { what: what.clone() }),
        };
        if failure.is_none() {
            return true;
        }
        self.report.failure = failure;
        self.report.schedule = Some(Schedule::of(&self.machine.trace, self.machine.order()));
        self.report.trace = lines(&self.machine.trace, self.machine.order());
        self.report.scope.stopped = Some(Stop::Failure);
        false
    }

    /// What the visitor objects to.
    fn visited(&self, end: &End) -> Option<Failure> {
        (self.visit)(&Execution { trace: &self.machine.trace, end }).err()
    }

    /// Whether a limit is reached, though there is more to explore.
    fn is_spent(&mut self) -> bool {
        let stop = if let Some(most) = self.options.executions
            && self.report.executions >= most
        {
            Stop::Executions(most)
        } else if let Some(most) = self.options.time
            && self.start.elapsed() >= most
        {
            Stop::Time(most)
        } else {
            return false;
        };
        self.report.scope.stopped = Some(stop);
        true
    }
}

fn blocked(end: &End) -> &[BlockedThread] {
    match end {
        End::Blocked(threads) => threads,
        _ => &[],
    }
}

/// The failure of an execution whose threads wait for ever.
pub(crate) fn waiting_for_ever(threads: &[BlockedThread]) -> Failure {
    let line = |thread: &BlockedThread| {
        let does = if thread.watched.is_some() { "spins" } else { "waits" };
        let name = thread.access.name;
        let space = if name.is_empty() { "" } else { " in " };
        format!("thread {} {does}{space}{name} at {}", thread.thread, thread.access.caller)
    };
    let waiting = threads.iter().map(line).collect();
    if threads.iter().any(|thread| thread.watched.is_some()) {
        Failure::Livelock { waiting }
    } else {
        Failure::Deadlock { waiting }
    }
}

/// The events of a trace, one line each; threads are numbered as they were spawned.
pub(crate) fn lines(trace: &Trace, order: &[u32]) -> String {
    let mut text = String::new();
    for event in trace.events() {
        let thread = order.iter().position(|&t| t == event.thread).unwrap_or(0);
        let access = &event.access;
        let name = match (access.name, access.kind) {
            ("", Kind::Read) => "read",
            ("", Kind::Write) => "write",
            ("", Kind::Update) => "update",
            (name, _) => name,
        };
        let effect = &event.effect;
        let values = if event.footprint.wrote {
            format!("{} -> {}", effect.before, effect.after)
        } else {
            effect.before.to_string()
        };
        text.push_str(&format!("  thread {thread}: {name} {values} at {}\n", access.caller));
    }
    text
}
