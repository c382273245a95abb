//! The interface between running a program and searching its schedules: what a strategy sees and
//! decides.

use super::footprint::Watched;
use super::interface::{Access, Failure};
use super::threads::Thread;
use super::trace::Trace;

/// Schedules threads. One file per strategy.
pub(crate) trait Strategy {
    /// The thread that makes the next event; at least one thread can.
    fn next(&mut self, view: &View<'_>) -> Decision;

    /// The thread that must make the next event, if that was decided before. Called when no thread
    /// can run.
    fn decided(&self, _view: &View<'_>) -> Option<u32> {
        None
    }

    /// One of `0..count`, for the event that is under way: number `trace.len()`.
    fn choose(&mut self, trace: &Trace, count: u32) -> u32;

    /// Whether [`Strategy::choose`] would return an earlier decision for the current event.
    fn has_chosen(&self, _trace: &Trace) -> bool {
        false
    }

    /// The chosen event is now the last of the trace. Returns false if it is not the expected one.
    fn executed(&mut self, _trace: &Trace) -> bool {
        true
    }
}

/// The earlier choice for an event that now has this many choices; the first choice if there is
/// none.
pub(crate) fn choose_again(choice: &mut u32, choices: &mut u32, count: u32) -> u32 {
    *choices = count;
    *choice = (*choice).min(count - 1);
    *choice
}

/// The decision of a strategy.
pub(crate) enum Decision {
    /// This thread runs next. If it cannot, the program did not repeat itself.
    Run(u32),
    /// The rest of this execution is of no interest.
    GiveUp,
    /// The program did not repeat itself.
    Diverged,
}

/// The state that a strategy sees.
pub(crate) struct View<'a> {
    pub(crate) trace: &'a Trace,
    /// The thread that ran last.
    pub(crate) current: u32,
    pub(super) threads: &'a [Box<Thread>],
    /// Those that have not ended, in ascending order.
    pub(super) alive: &'a [u32],
}

impl View<'_> {
    /// Whether a thread can make the next event.
    #[inline]
    pub(crate) fn can_run(&self, thread: u32) -> bool {
        let record = self.threads.get(thread as usize);
        record.is_some_and(|record| record.can_run(&self.trace.locations))
    }

    /// As [`View::can_run`], even if the thread seems to spin.
    pub(crate) fn could_run(&self, thread: u32) -> bool {
        let record = self.threads.get(thread as usize);
        record.is_some_and(|record| record.could_run(&self.trace.locations))
    }

    /// The threads that can run, in ascending order.
    #[inline]
    pub(crate) fn enabled(&self) -> impl Iterator<Item = u32> + '_ {
        self.alive.iter().copied().filter(|&thread| self.can_run(thread))
    }

    /// The thread to run if a search is free to choose among these: the thread that ran last,
    /// unless it hints that others should run; then the next thread without such a hint.
    pub(crate) fn preferred(&self, may: impl Fn(&u32) -> bool) -> Option<u32> {
        let yields = |thread: u32| self.threads[thread as usize].yields;
        if self.can_run(self.current) && may(&self.current) && !yields(self.current) {
            return Some(self.current);
        }
        let mut first = None;
        let mut next = None;
        for thread in self.enabled().filter(|thread| may(thread)) {
            if !yields(thread) {
                return Some(thread);
            }
            first = first.or(Some(thread));
            if thread > self.current {
                next = next.or(Some(thread));
            }
        }
        next.or(first)
    }

    /// The thread that ran last, if it can go on; else the first that can run.
    pub(crate) fn current_or_first(&self) -> u32 {
        if self.can_run(self.current) {
            return self.current;
        }
        self.enabled().next().expect("one that can run")
    }

    /// The access that a thread will make next.
    pub(crate) fn pending(&self, thread: u32) -> &Access {
        &self.threads[thread as usize].pending
    }
}

/// How an execution ended.
#[derive(Debug)]
pub(crate) enum End {
    /// All threads have ended.
    Complete,
    /// Those that have not ended wait for ever.
    Blocked(Vec<BlockedThread>),
    /// The strategy gave it up.
    GivenUp,
    /// The front end or a panic made it a failure.
    Failed(Failure),
    /// It differed from an earlier execution with the same schedule; the text says where.
    Diverged(String),
    /// It reached the limit of events.
    TooLong,
}

/// A thread that waits when no thread can run.
#[derive(Clone, Debug)]
pub(crate) struct BlockedThread {
    pub(crate) thread: u32,
    pub(crate) access: Access,
    /// Set if it spins: the locations that it reads.
    pub(crate) watched: Option<Watched>,
}
