//! A monitor that a program attaches to a live object. Feature `live`; safe code, one background thread.
//!
//! ```
//! use trueline::live::{Full, Live};
//! use trueline::spec::{self, QueueOp};
//! use trueline::Value;
//!
//! let live = Live::new(spec::queue()).capacity(1 << 16).when_full(Full::Block).start().unwrap();
//! let mut me = live.process(); // one for each thread
//! let token = me.call(QueueOp::Enq(Value::Int(5)));
//! // queue.push(5)
//! token.returns(Value::Nil);
//! live.stop().assert_linearizable();
//! ```
//!
//! # Why the recorded order can be trusted
//!
//! Every event takes its number from one shared word by an atomic read-modify-write with sequential consistency. The
//! changes of one word are totally ordered, and each sees the one before. So if the return of a has a smaller number than
//! the call of b, everything that a did happens before everything that b does; and no access of an operation can be
//! moved before the number of its call or behind that of its return, since each is an acquire and a release. The low bits
//! of the same word count the operations that run, so each call also learns whether it starts from rest.
//!
//! # Events on their way
//!
//! Each process has a list of its own, behind a lock that only it and the monitor take. A number is taken *under* that
//! lock. The monitor reads the word, then empties all lists: whoever had taken a smaller number than the one read has
//! let go of its lock with the event in the list. So all smaller numbers are known, in order, and those that are missing
//! were lost on purpose.
//!
//! **When it is full.** At most `capacity` events (and one for each process) are on their way. Beyond, [`Full::Block`] lets calls wait
//! until the monitor has caught up; nothing is lost. [`Full::Drop`] lets the operation run unrecorded: from the first lost
//! call on nothing can be said, so the monitor skips everything up to a call that starts from rest behind the last lost one
//! and goes on from there, from a state that is not known (see [`Monitor::restart`]). Each such [`Gap`] is reported.
//!
//! **Windows.** An object as fast as a bare lock-free queue is slowed down by the numbers alone. With [`Live::windows`] the first n
//! operations are recorded; then calls cost one load until [`Running::next_window`] is called, at rest and in the initial
//! state. A window ends at a number: what runs then is pending, so that its prefix is a history like any other.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::history::{Part, Position};
use crate::spec::Spec;
use crate::stream::{Event, Monitor, Stopped, Tally, Violation};
use crate::value::Value;
use crate::verdict::Verdict;

/// How long the monitor sleeps when there is nothing to do.
const NAP: Duration = Duration::from_micros(300);
/// One event, in the shared word; the bits below count operations that run, and those of unknown outcome. So there can be a
/// million of them at a time, and 17 million million events.
const EVENT: u64 = 1 << 20;

/// What happens to a call when too many events are on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Full {
    /// It waits. Nothing is lost.
    #[default]
    Block,
    /// The operation is not recorded. The gap is reported.
    Drop,
}

/// A monitor to be started.
pub struct Live<S> {
    spec: S,
    capacity: u64,
    when_full: Full,
    window: Option<u64>,
}

impl<S: Spec + 'static> Live<S> {
    /// A monitor with room for 65,536 events that blocks when it is full.
    pub fn new(spec: S) -> Live<S> {
        Live { spec, capacity: 1 << 16, when_full: Full::Block, window: None }
    }

    /// How many events may be on their way.
    pub fn capacity(mut self, events: usize) -> Live<S> {
        self.capacity = (events as u64).max(2);
        self
    }

    /// What happens beyond.
    pub fn when_full(mut self, policy: Full) -> Live<S> {
        self.when_full = policy;
        self
    }

    /// Records this many operations, then pauses until [`Running::next_window`].
    pub fn windows(mut self, operations: usize) -> Live<S> {
        self.window = Some((operations as u64).max(1));
        self
    }

    /// Starts the background thread. The error says why there is no exact monitor for this specification.
    pub fn start(self) -> Result<Running<S>, String> {
        let mut monitor = Monitor::new(self.spec)?;
        monitor.object(Part::default())?;
        let shared = Arc::new(Shared {
            word: AtomicU64::new(0),
            done: AtomicU64::new(0),
            end_of_window: AtomicU64::new(self.window.map_or(u64::MAX, |n| 2 * n)),
            is_paused: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            has_stopped: AtomicBool::new(false),
            capacity: self.capacity,
            when_full: self.when_full,
            window: self.window,
            lists: Mutex::new(Vec::new()),
            windows: Mutex::new(Vec::new()),
            caught_up: Condvar::new(),
            gate: Mutex::new(()),
        });
        let theirs = shared.clone();
        let thread = thread::Builder::new()
            .name("trueline-live".into())
            .spawn(move || {
                let _gone = Gone(theirs.clone());
                Checker::new(theirs, monitor).run()
            })
            .map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(Running { shared, thread: Some(thread) })
    }
}

/// What the threads share.
struct Shared<Op, Ret> {
    /// Events so far, and operations that run: see [`EVENT`].
    word: AtomicU64,
    /// Events that are off their way.
    done: AtomicU64,
    /// Events from this number on are not recorded.
    end_of_window: AtomicU64,
    is_paused: AtomicBool,
    is_stopping: AtomicBool,
    /// A violation was found, or nothing can be said any more: recording is over.
    has_stopped: AtomicBool,
    capacity: u64,
    when_full: Full,
    window: Option<u64>,
    lists: Mutex<Vec<SharedList<Op, Ret>>>,
    /// Where windows begin.
    windows: Mutex<Vec<u64>>,
    caught_up: Condvar,
    gate: Mutex<()>,
}

type SharedList<Op, Ret> = Arc<Mutex<List<Op, Ret>>>;

/// An event with its number and its process.
type Numbered<S> = (u64, u32, What<<S as Spec>::Op, <S as Spec>::Ret>);

/// The events of one process on their way to the monitor.
struct List<Op, Ret> {
    events: Vec<(u64, What<Op, Ret>)>,
    /// The first and the last call that was lost, and how many were.
    lost: Option<(u64, u64, u64)>,
}

enum What<Op, Ret> {
    Call {
        op: Op,
        /// Nothing else ran.
        from_rest: bool,
    },
    Return(Ret),
    Unknown,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A monitor that runs.
pub struct Running<S: Spec> {
    shared: Arc<Shared<S::Op, S::Ret>>,
    thread: Option<JoinHandle<Report<S>>>,
}

impl<S: Spec> Running<S> {
    /// Somebody who calls operations, one after the other: a thread or a task.
    pub fn process(&self) -> Process<S> {
        let list = Arc::new(Mutex::new(List { events: Vec::new(), lost: None }));
        lock(&self.shared.lists).push(list.clone());
        Process { shared: self.shared.clone(), list }
    }

    /// Records the next window. Call it while no operation runs and the object is as it was at first.
    pub fn next_window(&self) {
        let Some(operations) = self.shared.window else { return };
        let start = self.shared.word.load(Ordering::SeqCst) / EVENT;
        lock(&self.shared.windows).push(start);
        self.shared.end_of_window.store(start + 2 * operations, Ordering::SeqCst);
        self.shared.is_paused.store(false, Ordering::SeqCst);
    }

    /// True while a window is being recorded, or where there are no windows.
    pub fn is_recording(&self) -> bool {
        !self.shared.is_paused.load(Ordering::SeqCst)
    }

    /// True once there is something to report: a violation, or nothing can be said any more.
    pub fn has_stopped(&self) -> bool {
        self.shared.has_stopped.load(Ordering::SeqCst)
    }

    /// Ends the recording, decides what is left and tells. Operations that run are pending.
    pub fn stop(mut self) -> Report<S> {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            _ => Report {
                outcome: Outcome::Unknown("the monitor's thread ended by a panic".into()),
                gaps: Vec::new(),
                windows: 0,
                tally: Tally::default(),
            },
        }
    }
}

impl<S: Spec> Drop for Running<S> {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
    }
}

/// Calls operations, one after the other.
pub struct Process<S: Spec> {
    shared: Arc<Shared<S::Op, S::Ret>>,
    list: SharedList<S::Op, S::Ret>,
}

impl<S: Spec> Process<S> {
    /// Records a call, which must be made after this. May wait under [`Full::Block`].
    pub fn call(&mut self, op: S::Op) -> Token<'_, S> {
        let shared = &*self.shared;
        if shared.is_paused.load(Ordering::Relaxed) || shared.has_stopped.load(Ordering::Relaxed) {
            return Token { process: self, is_counted: false, is_recorded: false };
        }
        let mut is_full = shared.is_full();
        if is_full && shared.when_full == Full::Block {
            shared.wait();
            is_full = false;
        }
        let mut list = lock(&self.list);
        let before = shared.word.fetch_add(EVENT + 1, Ordering::SeqCst);
        let (number, from_rest) = (before / EVENT, before.is_multiple_of(EVENT));
        let is_recorded = if number >= shared.end_of_window.load(Ordering::SeqCst) {
            shared.is_paused.store(true, Ordering::SeqCst);
            false
        } else if is_full {
            let (first, _, count) = list.lost.unwrap_or((number, number, 0));
            list.lost = Some((first, number, count + 1));
            false
        } else {
            list.events.push((number, What::Call { op, from_rest }));
            true
        };
        drop(list);
        Token { process: self, is_counted: true, is_recorded }
    }
}

/// A call that has not returned. Dropped without a return it is pending for ever.
pub struct Token<'a, S: Spec> {
    process: &'a mut Process<S>,
    /// It counts among the operations that run.
    is_counted: bool,
    is_recorded: bool,
}

impl<S: Spec> Token<'_, S> {
    /// Records what the call returned; it must have returned before this.
    pub fn returns(mut self, result: S::Ret) {
        self.end(What::Return(result), true);
    }

    fn end(&mut self, what: What<S::Op, S::Ret>, has_returned: bool) {
        if !std::mem::take(&mut self.is_counted) {
            return;
        }
        let shared = &*self.process.shared;
        let mut list = lock(&self.process.list);
        // An operation of unknown outcome may still run: there is no rest any more.
        let change = if has_returned { EVENT - 1 } else { EVENT };
        let number = shared.word.fetch_add(change, Ordering::SeqCst) / EVENT;
        if self.is_recorded && number < shared.end_of_window.load(Ordering::SeqCst) {
            list.events.push((number, what));
        }
    }
}

impl<S: Spec> Drop for Token<'_, S> {
    fn drop(&mut self) {
        self.end(What::Unknown, false);
    }
}

impl<Op, Ret> Shared<Op, Ret> {
    fn is_full(&self) -> bool {
        let taken = self.word.load(Ordering::Relaxed) / EVENT;
        taken.saturating_sub(self.done.load(Ordering::Relaxed)) >= self.capacity
    }

    /// Waits until the monitor has caught up.
    fn wait(&self) {
        let mut gate = lock(&self.gate);
        while self.is_full() {
            // A time limit, so that nobody waits for a monitor that is gone.
            let waited = self.caught_up.wait_timeout(gate, Duration::from_millis(1));
            gate = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The monitor's thread is gone, in whatever way: nobody waits for it.
struct Gone<Op, Ret>(Arc<Shared<Op, Ret>>);

impl<Op, Ret> Drop for Gone<Op, Ret> {
    fn drop(&mut self) {
        self.0.has_stopped.store(true, Ordering::SeqCst);
        self.0.done.store(u64::MAX, Ordering::SeqCst);
        self.0.caught_up.notify_all();
    }
}

/// What was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Number of the first event that was lost.
    pub from: u64,
    /// Number of the event at which checking went on; none where it did not.
    pub until: Option<u64>,
    /// Calls that were lost.
    pub lost: u64,
}

/// What the monitor found.
pub struct Report<S: Spec> {
    /// The answer, about everything but the gaps.
    pub outcome: Outcome<S>,
    /// What was not checked.
    pub gaps: Vec<Gap>,
    /// Windows that were checked to their ends.
    pub windows: u64,
    /// What was seen.
    pub tally: Tally,
}

/// The answer of a monitor.
pub enum Outcome<S: Spec> {
    /// No violation.
    Fine,
    /// A violation.
    Violation(Box<Violation<S::Op, S::Ret>>),
    /// Nothing was known from some event on, and why.
    Unknown(String),
}

impl<S: Spec> Report<S> {
    /// True where no violation was found and nothing is unknown. Gaps may have hidden something.
    pub fn is_fine(&self) -> bool {
        matches!(self.outcome, Outcome::Fine)
    }

    /// True where a violation was found.
    pub fn is_violation(&self) -> bool {
        matches!(self.outcome, Outcome::Violation(_))
    }

    /// Panics with the explanation unless everything was checked and is fine.
    #[track_caller]
    pub fn assert_linearizable(&self) {
        assert!(self.is_fine() && self.gaps.is_empty(), "{self}");
    }
}

impl<S: Spec> fmt::Display for Report<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Fine => write!(f, "no violation")?,
            Outcome::Unknown(why) => write!(f, "unknown: {why}")?,
            Outcome::Violation(violation) => match &violation.outcome.verdict {
                Verdict::Violation(explanation) => {
                    write!(f, "violation: {}", explanation.sentence)?
                }
                other => write!(f, "{other:?}")?,
            },
        }
        write!(f, ", {} operations", self.tally.operations)?;
        for gap in &self.gaps {
            write!(f, "; {} calls were lost from event {} on", gap.lost, gap.from)?;
        }
        Ok(())
    }
}

/// The background thread.
struct Checker<S: Spec> {
    shared: Arc<Shared<S::Op, S::Ret>>,
    monitor: Monitor<S>,
    /// The lists that are known, by the number of their process.
    lists: Vec<SharedList<S::Op, S::Ret>>,
    outcome: Option<Outcome<S>>,
    gaps: Vec<Gap>,
    windows: u64,
    /// In a gap: nothing is checked before a call from rest behind this number.
    skip_until: Option<u64>,
    /// Where windows begin that have not begun yet.
    starts: Vec<u64>,
}

impl<S: Spec> Checker<S> {
    fn new(shared: Arc<Shared<S::Op, S::Ret>>, monitor: Monitor<S>) -> Checker<S> {
        let (lists, gaps, starts) = (Vec::new(), Vec::new(), Vec::new());
        Checker {
            shared,
            monitor,
            lists,
            outcome: None,
            gaps,
            windows: 0,
            skip_until: None,
            starts,
        }
    }

    fn run(mut self) -> Report<S> {
        let mut events = Vec::new();
        loop {
            // Whether to stop is asked before the last look, so that nothing is left behind.
            let is_last = self.shared.is_stopping.load(Ordering::SeqCst);
            let until = self.shared.word.load(Ordering::SeqCst) / EVENT;
            let lost = self.collect(&mut events);
            let is_idle = events.is_empty();
            events.sort_unstable_by_key(|event: &Numbered<S>| event.0);
            // What came in while the lists were being emptied may have holes: it stays for the next time.
            let known = events.partition_point(|event| event.0 < until);
            self.check(events.drain(..if is_last { events.len() } else { known }), lost);
            self.shared.done.fetch_max(until, Ordering::SeqCst);
            self.shared.caught_up.notify_all();
            if is_last {
                return self.finish();
            }
            if is_idle {
                if self.outcome.is_none()
                    && let Err(stopped) = self.monitor.settle()
                {
                    self.stopped(stopped);
                }
                thread::sleep(NAP);
            }
        }
    }

    /// Empties all lists; what was lost since the last time.
    fn collect(&mut self, events: &mut Vec<Numbered<S>>) -> Option<(u64, u64, u64)> {
        {
            let all = lock(&self.shared.lists);
            for list in &all[self.lists.len()..] {
                self.monitor.process(Value::Int(self.lists.len() as i64));
                self.lists.push(list.clone());
            }
        }
        self.starts.append(&mut lock(&self.shared.windows));
        let mut lost: Option<(u64, u64, u64)> = None;
        for (process, list) in (0..).zip(&self.lists) {
            let mut list = lock(list);
            events.extend(list.events.drain(..).map(|(number, what)| (number, process, what)));
            if let Some((first, last, count)) = list.lost.take() {
                let (a, b, n) = lost.unwrap_or((first, last, 0));
                lost = Some((a.min(first), b.max(last), n + count));
            }
        }
        lost
    }

    fn check(&mut self, events: impl Iterator<Item = Numbered<S>>, lost: Option<(u64, u64, u64)>) {
        // What is lost may lie behind what is looked at now, but never before.
        let mut lost = lost;
        for (number, process, what) in events {
            if self.outcome.is_some() {
                continue;
            }
            if lost.is_some_and(|(first, ..)| first <= number) {
                self.begin_gap(lost.take());
            }
            if self.starts.first().is_some_and(|&start| start <= number) {
                self.begin_window();
            }
            if let Some(last) = self.skip_until {
                if number <= last || !matches!(what, What::Call { from_rest: true, .. }) {
                    continue;
                }
                self.end_gap(number);
                if self.outcome.is_some() {
                    continue;
                }
            }
            let event = match what {
                What::Call { op, .. } => Event::Call(0, op),
                What::Return(result) => Event::Return(result),
                What::Unknown => Event::Unknown,
            };
            if let Err(stopped) = self.monitor.event(process, event, Position::default()) {
                self.stopped(stopped);
            }
        }
        self.begin_gap(lost);
    }

    fn begin_gap(&mut self, lost: Option<(u64, u64, u64)>) {
        let Some((first, last, count)) = lost else { return };
        match (self.skip_until, self.gaps.last_mut()) {
            // The gap goes on.
            (Some(until), Some(gap)) => {
                gap.lost += count;
                self.skip_until = Some(until.max(last));
            }
            _ => {
                self.gaps.push(Gap { from: first, until: None, lost: count });
                self.skip_until = Some(last);
            }
        }
    }

    fn end_gap(&mut self, number: u64) {
        self.skip_until = None;
        if let Some(gap) = self.gaps.last_mut() {
            gap.until = Some(number);
        }
        if let Err(why) = self.monitor.restart(false) {
            self.stopped(Stopped::Unknown(why));
        }
    }

    /// The window before is over: what runs at its end is pending.
    fn begin_window(&mut self) {
        self.starts.remove(0);
        if self.skip_until.take().is_none() {
            self.windows += 1;
            if let Err(stopped) = self.monitor.finish() {
                return self.stopped(stopped);
            }
        }
        if let Err(why) = self.monitor.restart(true) {
            self.stopped(Stopped::Unknown(why));
        }
    }

    fn stopped(&mut self, stopped: Stopped<S::Op, S::Ret>) {
        self.shared.has_stopped.store(true, Ordering::SeqCst);
        self.outcome = Some(match stopped {
            Stopped::Violation(violation) => Outcome::Violation(violation),
            Stopped::Unknown(why) => Outcome::Unknown(why),
            Stopped::Input(error) => Outcome::Unknown(error.message().to_string()),
        });
    }

    fn finish(mut self) -> Report<S> {
        let tally = self.monitor.tally();
        if self.outcome.is_none() && self.skip_until.is_none() {
            match self.monitor.finish() {
                Ok(()) => self.windows += u64::from(self.shared.window.is_some()),
                Err(stopped) => self.stopped(stopped),
            }
        }
        let outcome = self.outcome.unwrap_or(Outcome::Fine);
        Report { outcome, gaps: self.gaps, windows: self.windows, tally }
    }
}
