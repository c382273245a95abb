//! The background thread of a live monitor: collects events, sorts them, and passes them to the
//! monitor of streams.

use std::collections::HashMap;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::{EVENT, Gap, Lost, OnViolation, Recorded, Report, Shared, lock};
use crate::history::{Event, Position};
use crate::spec::Spec;
use crate::stream::{Monitor, Stopped};
use crate::value::Value;

/// How long the monitor sleeps while no events arrive: twice as long each time, from the first to
/// the second.
const NAPS: (Duration, Duration) = (Duration::from_micros(300), Duration::from_millis(10));
/// At most this many operations of unknown outcome are carried over a gap.
const MOST_ABANDONED: usize = 1 << 16;

/// An event with its number and its process.
type Numbered<S> = (u64, u32, Recorded<<S as Spec>::Op, <S as Spec>::Ret>);

pub(super) struct Checker<S: Spec> {
    shared: Arc<Shared<S::Op, S::Ret>>,
    monitor: Monitor<S>,
    on_violation: Option<OnViolation<S>>,
    /// Events before which numbers may be missing.
    events: Vec<Numbered<S>>,
    /// Lost calls that have not been turned into a gap yet.
    lost: Option<Lost>,
    /// How many processes the monitor has a number for.
    processes: i64,
    /// Numbers of processes that are over.
    free: Vec<u32>,
    /// Processes that ended at a number, whose earlier events may not have arrived yet.
    over: Vec<(u64, u32)>,
    /// Why nothing more is checked.
    stopped: Option<Stopped<S::Op, S::Ret>>,
    gaps: Vec<Gap>,
    unjudged: u64,
    windows: u64,
    /// In a gap: nothing is checked before a call from rest behind this number.
    skip_until: Option<u64>,
    /// During a gap: the calls of processes since it began that have not returned.
    called: HashMap<u32, S::Op>,
    /// Operations whose outcome stays unknown; only kept if gaps are possible.
    abandoned: Vec<S::Op>,
    /// The process that calls them again behind a gap.
    ghost: u32,
    /// The starts of windows that have not begun yet.
    starts: Vec<u64>,
}

impl<S: Spec> Checker<S> {
    pub(super) fn new(
        shared: Arc<Shared<S::Op, S::Ret>>,
        mut monitor: Monitor<S>,
        on_violation: Option<OnViolation<S>>,
    ) -> Checker<S> {
        let ghost = monitor.process(Value::from("abandoned"));
        Checker {
            shared,
            monitor,
            on_violation,
            events: Vec::new(),
            lost: None,
            processes: 0,
            free: Vec::new(),
            over: Vec::new(),
            stopped: None,
            gaps: Vec::new(),
            unjudged: 0,
            windows: 0,
            skip_until: None,
            called: HashMap::new(),
            abandoned: Vec::new(),
            ghost,
            starts: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Report<S> {
        let (shortest, longest) = NAPS;
        let mut nap = shortest;
        loop {
            // The stop flag is read before the last round, so that no event is left behind.
            let is_last = self.shared.is_stopping.load(Ordering::SeqCst);
            let is_idle = self.round();
            if is_last {
                return self.finish();
            }
            if is_idle {
                if self.stopped.is_none()
                    && let Err(stopped) = self.monitor.decide_deferred()
                {
                    self.stop(stopped);
                }
                thread::park_timeout(nap);
                nap = longest.min(2 * nap);
            } else {
                nap = shortest;
            }
        }
    }

    /// Checks the events known by now; returns true if none had arrived.
    pub(super) fn round(&mut self) -> bool {
        let until = self.shared.word.load(Ordering::SeqCst) / EVENT;
        self.collect();
        let is_idle = self.events.is_empty();
        self.events.sort_unstable_by_key(|event| event.0);
        self.check(until);
        self.shared.done.fetch_max(until, Ordering::SeqCst);
        self.shared.caught_up.notify_all();
        is_idle
    }

    #[cfg(test)]
    pub(super) fn processes(&self) -> i64 {
        self.processes
    }

    /// Empties the announced lists.
    pub(super) fn collect(&mut self) {
        let ready = mem::take(&mut *lock(&self.shared.ready));
        self.starts.append(&mut lock(&self.shared.windows));
        for list in ready {
            let mut list = lock(&list);
            list.is_ready = false;
            let process = *list.number.get_or_insert_with(|| {
                self.free.pop().unwrap_or_else(|| {
                    self.processes += 1;
                    self.monitor.process(Value::Int(self.processes - 1))
                })
            });
            self.events.extend(
                list.events.drain(..).map(|(number, recorded)| (number, process, recorded)),
            );
            self.lost = match (self.lost, list.lost.take()) {
                (Some(a), Some(b)) => Some(Lost {
                    first: a.first.min(b.first),
                    last: a.last.max(b.last),
                    calls: a.calls + b.calls,
                }),
                (a, b) => a.or(b),
            };
            if list.is_over {
                list.number = None;
                let above = self.shared.word.load(Ordering::SeqCst) / EVENT;
                self.over.push((above, process));
            }
        }
        if self.shared.has_too_many.load(Ordering::SeqCst) && self.stopped.is_none() {
            let why = "more operations ran at a time than can be counted";
            self.stop(Stopped::Unknown(why.into()));
        }
    }

    /// Checks the events before this number: all of them are known.
    pub(super) fn check(&mut self, until: u64) {
        let mut events = mem::take(&mut self.events);
        let known = events.partition_point(|event| event.0 < until);
        for (number, process, recorded) in events.drain(..known) {
            if self.lost.is_some_and(|lost| lost.first <= number) {
                self.begin_gap();
            }
            if self.starts.first().is_some_and(|&start| start <= number) {
                self.begin_window();
            }
            if self.stopped.is_none() {
                self.event(number, process, recorded);
            }
        }
        self.events = events;
        let free = &mut self.free;
        self.over.retain(|&(above, process)| {
            let is_free = above <= until;
            free.extend(is_free.then_some(process));
            !is_free
        });
        if self.lost.is_some_and(|lost| lost.first < until) {
            self.begin_gap();
        }
    }

    fn event(&mut self, number: u64, process: u32, recorded: Recorded<S::Op, S::Ret>) {
        if let Some(last) = self.skip_until {
            let from_rest = matches!(recorded, Recorded::Event { from_rest: true, .. });
            if number <= last || !from_rest {
                return self.skip(process, recorded);
            }
            self.end_gap(number);
            if self.stopped.is_some() {
                return;
            }
        }
        let event = match recorded {
            Recorded::Event { event, .. } => event,
            // It was lost in a gap that is over: then something ran, and the gap is not.
            Recorded::LostUnknown(op) => return self.abandon(Some(op)),
        };
        if matches!(event, Event::Unknown) {
            let op = self.monitor.open_operation(process).cloned();
            self.abandon(op);
        }
        if let Err(stopped) = self.monitor.event(process, event, Position::default()) {
            self.stop(stopped);
        }
    }

    /// An event in a gap.
    fn skip(&mut self, process: u32, recorded: Recorded<S::Op, S::Ret>) {
        let event = match recorded {
            Recorded::Event { event, .. } => event,
            Recorded::LostUnknown(op) => return self.abandon(Some(op)),
        };
        match event {
            Event::Call(_, op) => {
                self.called.insert(process, op);
                if let Some(gap) = self.gaps.last_mut() {
                    gap.skipped += 1;
                }
            }
            Event::Return(_) | Event::Fail => {
                self.called.remove(&process);
            }
            Event::Unknown => {
                let before = self.monitor.open_operation(process).cloned();
                let op = self.called.remove(&process).or(before);
                self.abandon(op);
            }
        }
    }

    /// The outcome of an operation stays unknown: after a gap it may still take effect.
    fn abandon(&mut self, op: Option<S::Op>) {
        let may_lose = self.shared.when_full == super::Full::Drop;
        if may_lose && self.abandoned.len() <= MOST_ABANDONED {
            self.abandoned.extend(op.filter(|op| !self.monitor.observes(op)));
        }
    }

    fn begin_gap(&mut self) {
        let Some(Lost { first, last, calls }) = self.lost.take() else { return };
        match (self.skip_until, self.gaps.last_mut()) {
            // The gap goes on.
            (Some(until), Some(gap)) => {
                gap.lost += calls;
                self.skip_until = Some(until.max(last));
            }
            _ => {
                self.gaps.push(Gap { from: first, until: None, lost: calls, skipped: 0 });
                self.skip_until = Some(last);
            }
        }
    }

    fn end_gap(&mut self, number: u64) {
        self.leave_gap(number);
        if self.abandoned.len() > MOST_ABANDONED {
            let why = "events were lost, and too many operations before that never returned";
            return self.stop(Stopped::Unknown(why.into()));
        }
        let restarted = self.monitor.restart_behind(self.ghost, &self.abandoned);
        restarted.unwrap_or_else(|stopped| self.stop(stopped));
    }

    fn leave_gap(&mut self, number: u64) {
        self.skip_until = None;
        self.called.clear();
        self.unjudged += self.monitor.unjudged();
        if let Some(gap) = self.gaps.last_mut() {
            gap.until = Some(number);
        }
    }

    /// The previous window is over: operations that run at its end are pending.
    fn begin_window(&mut self) {
        let start = self.starts.remove(0);
        if self.skip_until.is_some() {
            self.leave_gap(start);
        } else {
            self.windows += 1;
            if self.stopped.is_none()
                && let Err(stopped) = self.monitor.finish()
            {
                return self.stop(stopped);
            }
            self.unjudged += self.monitor.unjudged();
        }
        if let Err(why) = self.monitor.restart(true) {
            self.stop(Stopped::Unknown(why.to_string()));
        }
    }

    fn stop(&mut self, stopped: Stopped<S::Op, S::Ret>) {
        self.shared.has_stopped.store(true, Ordering::SeqCst);
        if let Stopped::Violation(violation) = &stopped
            && let Some(call) = self.on_violation.take()
        {
            // The report contains the violation, whatever the callback does.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| call(violation)));
        }
        self.stopped = Some(stopped);
    }

    pub(super) fn finish(mut self) -> Report<S> {
        let tally = self.monitor.tally();
        if self.stopped.is_none() && self.skip_until.is_none() {
            match self.monitor.finish() {
                Ok(()) => self.windows += u64::from(self.shared.window.is_some()),
                Err(stopped) => self.stop(stopped),
            }
        }
        let unjudged = self.unjudged + self.monitor.unjudged();
        let outcome = self.stopped.map_or(Ok(()), Err);
        Report { outcome, gaps: self.gaps, unjudged, windows: self.windows, tally }
    }
}
