//! The entry point: what to explore, how far, and what came of it.

use std::fmt;
use std::time::{Duration, Instant};

use super::execution::{End, Machine};
use super::interface::{Failure, ThreadId};
use super::intervals::{self, Histories};
use super::optimal::Optimal;
use super::trace::Trace;

/// An exploration of a program: which schedules, and how many at most.
#[derive(Clone, Debug)]
pub struct Exploration {
    stack_size: usize,
    step_limit: usize,
    executions: Option<u64>,
    time: Option<Duration>,
    blocking: bool,
}

/// One execution, as a visitor sees it.
pub struct Execution<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) end: &'a End,
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
}

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many executions ran to their end.
    pub executions: u64,
    /// How many were given up because what they led to is explored elsewhere.
    pub blocked: u64,
    /// What it claims.
    pub scope: Scope,
    /// The first failure, in the order of the search.
    pub failure: Option<Failure>,
}

/// How much of the program's behaviours an exploration has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All.
    Complete,
    /// Not all: why.
    Stopped(String),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Complete => f.write_str("complete"),
            Scope::Stopped(why) => f.write_str(why),
        }
    }
}

impl Default for Exploration {
    fn default() -> Exploration {
        Exploration {
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

    /// Lets threads wait for ever: an execution in which some do is no failure.
    pub fn may_block(mut self) -> Exploration {
        self.blocking = true;
        self
    }

    /// Explores a program.
    pub fn run(&self, body: impl Fn()) -> Report {
        self.run_with(body, |_| Ok(()))
    }

    /// Explores a program and looks at each execution that ran to its end.
    pub fn run_with(
        &self,
        body: impl Fn(),
        mut visit: impl FnMut(&Execution<'_>) -> Result<(), Failure>,
    ) -> Report {
        let start = Instant::now();
        let mut machine = Machine::new(self.stack_size, self.step_limit);
        let mut search = Optimal::default();
        let mut report =
            Report { executions: 0, blocked: 0, scope: Scope::Complete, failure: None };
        loop {
            let kept = search.kept();
            let end = machine.run(&body, &mut search, kept);
            let mut blocked = Vec::new();
            match &end {
                End::Complete => report.executions += 1,
                End::Blocked(threads) => {
                    report.executions += 1;
                    blocked.clone_from(threads);
                }
                End::GivenUp => {}
                End::Failed(failure) => {
                    report.executions += 1;
                    report.failure = Some(failure.clone());
                }
                End::Diverged(why) => {
                    report.failure = Some(Failure::Other { what: why.clone() });
                }
                End::TooLong => {}
            }
            if report.failure.is_none()
                && let End::Complete | End::Blocked(_) = end
                && let Err(failure) = visit(&Execution { trace: &machine.trace, end: &end })
            {
                report.failure = Some(failure);
            }
            if report.failure.is_some() || !search.advance(&machine.trace, &blocked) {
                break;
            }
            if self.executions.is_some_and(|limit| report.executions >= limit)
                || self.time.is_some_and(|limit| start.elapsed() > limit)
            {
                report.scope = Scope::Stopped(String::from("stopped"));
                break;
            }
        }
        report.blocked = search.blocked;
        report
    }
}
