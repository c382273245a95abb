//! One execution, as a visitor sees it, and as it is shown.

use std::panic::Location;
use std::time::{Duration, Instant};

use super::interface::{Failure, Kind, ThreadId};
use super::intervals::{self, Histories, Operation, Unfinished};
use super::report::Stop;
use super::schedule::Schedule;
use super::strategy::{BlockedThread, End};
use super::trace::{Aside, Event, OperationSpan, Trace};
use trueline::Budget;

/// One execution that ran to its end, as a visitor sees it.
pub struct Execution<'a> {
    pub(super) trace: &'a Trace,
    /// The threads in the order in which they were spawned.
    pub(super) order: &'a [u32],
    pub(super) end: &'a End,
    /// How much time the exploration has, and when that is over.
    pub(super) time: Option<Duration>,
    pub(super) until: Option<Instant>,
    pub(super) budget: Option<&'a Budget>,
}

/// One event of an execution.
#[derive(Clone, Debug)]
pub struct Step {
    /// The thread that made it.
    pub thread: ThreadId,
    /// The front end's name for the access.
    pub name: &'static str,
    /// What it could have done.
    pub kind: Kind,
    /// The location that it touched.
    pub location: usize,
    /// The value there before it.
    pub before: u64,
    /// The value there after it.
    pub after: u64,
    /// Whether it wrote, or changed a count.
    pub wrote: bool,
    /// The line that made it.
    pub caller: &'static Location<'static>,
    /// The number of the operation to which it belongs.
    pub operation: Option<u64>,
    /// An access to plain memory, which is not an event: its values are not known.
    pub plain: bool,
}

impl Execution<'_> {
    /// Its operations with all their possible real-time orders. `None` if there are more than
    /// [`MAX_OPERATIONS`](super::MAX_OPERATIONS), or more orders than fit into memory.
    pub fn histories(&self) -> Option<Histories> {
        intervals::histories(self.trace, &|| Ok(())).ok()
    }

    /// The same; the error says why the exploration must stop here.
    pub(crate) fn histories_in_time(&self) -> Result<Histories, Stop> {
        let may_go_on = || self.may_go_on();
        intervals::histories(self.trace, &may_go_on).map_err(|unfinished| match unfinished {
            Unfinished::Stopped(why) => why,
            Unfinished::Operations | Unfinished::Room => Stop::Orders,
        })
    }

    /// The schedule that replays it.
    pub(crate) fn schedule(&self) -> Schedule {
        Schedule::of(self.trace, self.order)
    }

    /// An error if the time of the exploration, or its budget, is spent.
    pub(crate) fn may_go_on(&self) -> Result<(), Stop> {
        if let Some(until) = self.until
            && Instant::now() >= until
        {
            return Err(Stop::Time(self.time.unwrap_or_default()));
        }
        self.budget.map_or(Ok(()), |budget| budget.spend(0).map_err(Stop::Budget))
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

    /// Its events and its accesses to plain memory, in the order in which they ran.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        steps(self.trace)
    }

    /// What each thread that waits for ever waits for, one line per thread.
    pub fn waiting(&self) -> Vec<String> {
        match self.end {
            End::Blocked(threads) => threads.iter().map(wait).collect(),
            _ => Vec::new(),
        }
    }
}

pub(super) fn steps(trace: &Trace) -> impl Iterator<Item = Step> + '_ {
    let within = |event: &Event| {
        let inside = |span: &&OperationSpan| {
            let ended = span.result.is_some() && event.number > span.ret;
            span.thread == event.thread && event.number > span.call && !ended
        };
        trace.operations.iter().find(inside).map(|span| span.operation)
    };
    let event = move |event: &Event| Step {
        thread: ThreadId(event.thread),
        name: event.access.name,
        kind: event.access.kind,
        location: event.access.location,
        before: event.effect.before,
        after: event.effect.after,
        wrote: event.footprint.wrote || event.effect.counted,
        caller: event.access.caller,
        operation: within(event),
        plain: false,
    };
    let (mut events, mut asides) = (trace.events().iter(), trace.asides.iter().peekable());
    let mut passed = 0;
    std::iter::from_fn(move || {
        let is_next = |aside: &&Aside| aside.after <= passed || events.len() == 0;
        if let Some(next) = asides.next_if(is_next) {
            return Some(aside(next));
        }
        passed += 1;
        events.next().map(&event)
    })
}

fn aside(aside: &Aside) -> Step {
    Step {
        thread: ThreadId(aside.thread),
        name: "",
        kind: if aside.wrote { Kind::Write } else { Kind::Read },
        location: aside.location,
        before: 0,
        after: 0,
        wrote: aside.wrote,
        caller: aside.caller,
        operation: aside.operation,
        plain: true,
    }
}

pub(super) fn operation(span: &OperationSpan) -> Operation {
    Operation { thread: span.thread, operation: span.operation, result: span.result }
}

/// A visitor's result for an execution: an error makes it a failure and ends the exploration.
pub type Visited = Result<(), Failure>;

/// The failure of an execution whose threads wait for ever.
pub(crate) fn waiting_for_ever(threads: &[BlockedThread]) -> Failure {
    let waiting = threads.iter().map(wait).collect();
    if threads.iter().any(|thread| thread.watched.is_some()) {
        Failure::Livelock { waiting }
    } else {
        Failure::Deadlock { waiting }
    }
}

/// What a thread waits for.
fn wait(thread: &BlockedThread) -> String {
    let does = if thread.watched.is_some() { "spins" } else { "waits" };
    let name = thread.access.name;
    let space = if name.is_empty() { "" } else { " in " };
    format!("thread {} {does}{space}{name} at {}", thread.thread, thread.access.caller)
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
        let values = if event.footprint.wrote || effect.counted {
            format!("{} -> {}", effect.before, effect.after)
        } else {
            effect.before.to_string()
        };
        text.push_str(&format!("  thread {thread}: {name} {values} at {}\n", access.caller));
    }
    text
}
