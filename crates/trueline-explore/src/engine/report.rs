//! The result of an exploration: failures and coverage.

use std::fmt;
use std::time::Duration;

use trueline_report::grouped;

use super::interface::Failure;
use super::intervals::Operation;
use super::schedule::Schedule;
use super::visit::Step;
use trueline::budget::Exhausted;

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Report {
    /// The coverage of the exploration.
    pub scope: Scope,
    /// How many executions ran to their end.
    pub executions: u64,
    /// Executions that were given up because their continuations are explored elsewhere. If the
    /// environment chooses, the number may depend on the number of workers.
    pub blocked: u64,
    /// The first failure in the order of the search, which does not depend on the number of
    /// workers. There is one exception: if a limit is reached first, several workers may have found
    /// a failure that a single worker does not.
    pub failure: Option<Failure>,
    /// The schedule that leads to the failure.
    pub schedule: Option<Schedule>,
    /// The events that led to the failure, one line each.
    pub trace: String,
    /// The same events.
    pub steps: Vec<Step>,
    /// The operations of the execution that failed, in the order of their calls.
    pub operations: Vec<Operation>,
}

/// Which behaviours an exploration covered. Values are always sequentially consistent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The coverage without limits.
    pub aim: Aim,
    /// Why not all of that was.
    pub stopped: Option<Stop>,
    /// Whether weak compare-exchanges failed and waits ended spuriously:
    /// [`Exploration::spurious`](super::Exploration::spurious).
    pub spurious: bool,
    /// Whether a thread has read its clock. The clock is virtual: each reading takes a time of its
    /// own, and other times were not tried.
    pub clock: bool,
    /// An assumption that was not checked. If it is wrong, the exploration may have missed
    /// behaviours.
    pub assumed: Option<Assumption>,
}

/// An assumption that an exploration relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Assumption {
    /// A loop that was assumed to wait changes nothing on the heap. This is checked if the
    /// allocator is installed ([`Alloc`](crate::Alloc)).
    Memory,
    /// A thread slept in a loop that was assumed to wait, and later read the clock. Nothing depends
    /// on how long it slept.
    Time,
    /// Two panics unwound at the same time. Nothing depends on when each of them was caught,
    /// because from then on the engine does not know which of the threads still panics.
    Unwinding,
}

/// The schedules that an exploration is after.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aim {
    /// All.
    Complete,
    /// All schedules with at most this many preemptions.
    Preemptions(u32),
    /// Some, drawn at random.
    Sample {
        /// By which sampler.
        sampler: &'static str,
        /// From which seed.
        seed: u64,
    },
    /// One.
    Replay,
}

/// Why an exploration is not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// A failure was found.
    Failure,
    /// As many executions ran as were allowed.
    Executions(u64),
    /// The time is over.
    Time(Duration),
    /// The budget is spent.
    Budget(Exhausted),
    /// Executions with more events than this were cut off.
    Length(usize),
    /// An execution could not be repeated after two panics had unwound at the same time, see
    /// [`Assumption::Unwinding`].
    Unwinding,
    /// The operations of an execution have more real-time orders than fit into memory.
    Orders,
}

impl Report {
    pub(crate) fn new(aim: Aim) -> Report {
        let scope = Scope { aim, stopped: None, spurious: false, clock: false, assumed: None };
        Report {
            scope,
            executions: 0,
            blocked: 0,
            failure: None,
            schedule: None,
            trace: String::new(),
            steps: Vec::new(),
            operations: Vec::new(),
        }
    }

    /// Whether no behaviour within the aim fails: none was left out, none failed, and there is no
    /// assumption. A sample never holds.
    pub fn holds(&self) -> bool {
        self.failure.is_none()
            && self.scope.stopped.is_none()
            && self.scope.assumed.is_none()
            && !matches!(self.scope.aim, Aim::Sample { .. })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sequentially consistent; ")?;
        f.write_str(if self.spurious {
            "spurious failures, at most one spurious wakeup a line and thread; "
        } else {
            "no spurious failures or wakeups; "
        })?;
        if self.clock {
            f.write_str("virtual time; ")?;
        }
        match &self.aim {
            Aim::Complete if self.stopped.is_none() && self.assumed.is_some() => {
                f.write_str("all schedules")?;
            }
            Aim::Complete if self.stopped.is_none() => f.write_str("complete")?,
            Aim::Complete => f.write_str("incomplete")?,
            Aim::Preemptions(most) => write!(f, "preemptions <= {most}")?,
            Aim::Sample { sampler, seed } => write!(f, "a sample, {sampler}, seed {seed}")?,
            Aim::Replay => f.write_str("one schedule")?,
        }
        match &self.stopped {
            None => (),
            Some(Stop::Failure) => f.write_str("; stopped at a failure")?,
            Some(Stop::Executions(n)) => write!(f, "; stopped after {} executions", grouped(*n))?,
            Some(Stop::Time(t)) => {
                // The rest of a limit, after other work, has meaningless digits.
                write!(f, "; stopped at {} s", (t.as_secs_f64() * 1000.0).round() / 1000.0)?;
            }
            Some(Stop::Budget(why)) => write!(f, "; stopped: {why}")?,
            Some(Stop::Length(n)) => {
                write!(f, "; executions of more than {} events were cut off", grouped(*n as u64))?;
            }
            Some(Stop::Unwinding) => f.write_str(
                "; stopped: two panics unwound at the same time, and what followed could not be \
                 repeated",
            )?,
            Some(Stop::Orders) => f.write_str(
                "; stopped: an execution has more real-time orders than fit into memory",
            )?,
        }
        match self.assumed {
            // After a failure it does not matter.
            _ if self.stopped == Some(Stop::Failure) => Ok(()),
            None => Ok(()),
            Some(Assumption::Memory) => f.write_str(
                "; assuming that waiting loops change nothing on the heap (install \
                 trueline_explore::Alloc to have this checked)",
            ),
            Some(Assumption::Time) => {
                f.write_str("; assuming that nothing depends on how long a waiting loop slept")
            }
            Some(Assumption::Unwinding) => f.write_str(
                "; assuming that nothing depends on when each of two panics was caught that \
                 unwound at the same time",
            ),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {} executions", self.scope, grouped(self.executions))?;
        if let Some(failure) = &self.failure {
            write!(f, "\n{failure}\n{}", self.trace)?;
        }
        if let Some(schedule) = &self.schedule {
            write!(f, "replay: {schedule}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |f: &mut fmt::Formatter<'_>, lines: &[String]| {
            lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
        };
        match self {
            Failure::Panic { message, at: Some(at) } => write!(f, "panic at {at}: {message}"),
            Failure::Panic { message, at: None } => write!(f, "panic: {message}"),
            Failure::Deadlock { waiting } => {
                f.write_str("deadlock: all live threads wait for ever")?;
                lines(f, waiting)
            }
            Failure::Livelock { waiting } => {
                f.write_str("livelock: all live threads spin or wait for ever")?;
                lines(f, waiting)
            }
            Failure::Race { first, second } => {
                write!(f, "data race between\n  {first}\n  {second}")
            }
            Failure::Memory { what } | Failure::Other { what } => f.write_str(what),
            Failure::Nondeterminism { what } => {
                write!(f, "the program has uncontrolled nondeterminism: {what}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_says_what_was_seen() {
        let report = |aim, stopped| {
            let mut report = Report::new(aim);
            report.scope.stopped = stopped;
            report.executions = 2520;
            report
        };
        let check = |report: Report, holds, text| {
            assert_eq!((report.holds(), report.to_string().as_str()), (holds, text));
        };
        let complete =
            "sequentially consistent; no spurious failures or wakeups; complete; 2,520 executions";
        check(report(Aim::Complete, None), true, complete);
        let cut = "sequentially consistent; no spurious failures or wakeups; incomplete; stopped after 2,520 executions; 2,520 executions";
        check(report(Aim::Complete, Some(Stop::Executions(2520))), false, cut);
        let bounded = "sequentially consistent; no spurious failures or wakeups; preemptions <= 2; stopped at 60 s; 2,520 executions";
        let time = Stop::Time(Duration::from_secs(60));
        check(report(Aim::Preemptions(2), Some(time)), false, bounded);
        let sample = "sequentially consistent; no spurious failures or wakeups; a sample, random, seed 7; 2,520 executions";
        check(report(Aim::Sample { sampler: "random", seed: 7 }, None), false, sample);
        let mut assumed = report(Aim::Complete, None);
        (assumed.scope.spurious, assumed.scope.clock) = (true, true);
        assumed.scope.assumed = Some(Assumption::Time);
        let text = "sequentially consistent; spurious failures, at most one spurious wakeup a line \
                    and thread; virtual time; all schedules; assuming that nothing depends on how long a \
                    waiting loop slept; 2,520 executions";
        check(assumed, false, text);
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
