//! A monitor that a program attaches to a live object. Feature `live`; safe code, one background
//! thread.
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
//! Every event takes its number from one shared word by an atomic read-modify-write with sequential
//! consistency. The changes of one word are totally ordered, and each sees the previous one. So if
//! the return of a has a smaller number than the call of b, everything that a did happens before
//! everything that b does. No access of an operation can be moved before the number of its call or
//! after that of its return, since each is an acquire and a release. The low bits of the same word
//! count the running operations, so each call also learns whether it starts from rest.
//!
//! # Events on their way
//!
//! Each process has a list of its own, behind a lock that only it and the monitor take. Under that
//! lock it announces its list, if it has not done so since the monitor came last, and takes a
//! number *after* that. The monitor reads the word, then empties the announced lists. A process
//! that had taken a smaller number than the one read has announced its list before, and releases
//! its lock with the event in the list. So all smaller numbers are known, in order, and missing
//! ones were lost on purpose. There may be gaps between larger numbers, which wait for the next
//! round; at the end they are left out, so that the decided part is always a prefix. A process
//! without events costs the monitor nothing, and one that is dropped is forgotten. If no events
//! arrive the monitor sleeps longer each time, up to 10 ms; it is woken when half of the capacity
//! is used.
//!
//! **When it is full.** At most `capacity` events (and one for each process) are on their way.
//! Beyond that, [`Full::Block`] lets calls wait until the monitor has caught up, and nothing is
//! lost. [`Full::Drop`] lets the operation run unrecorded. From the first lost call on, nothing can
//! be decided, so the monitor skips everything up to a call that starts from rest after the last
//! lost one, and continues from there, from an unknown state (see [`Monitor::restart`]). Each such
//! [`Gap`] is reported, with what was lost and what was skipped. Values that may or may not have
//! been inside are not judged, and counted ([`Report::unjudged`]), until the object itself shows
//! that they are gone: a queue by the first removed value that was inserted after the gap, every
//! container by an empty result.
//!
//! **Operations that never return.** A [`Token`] that is dropped, in a panic or because a task was
//! cancelled, leaves an operation of unknown outcome: it may take effect at any later time, or
//! never. It no longer counts as running, because otherwise there would never be rest again; the
//! monitor remembers it instead, and carries removals among them over a gap. Each costs memory as
//! long as the monitor runs.
//!
//! **Windows.** The numbers alone slow down an object as fast as a bare lock-free queue. With
//! [`Live::windows`] the first n operations are recorded; then calls cost one load until
//! [`Running::next_window`] is called, at rest and in the initial state. A window ends at a number:
//! operations that run then are pending, so its prefix is a history like any other.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

mod checker;
#[cfg(test)]
mod tests;

use crate::error::WatchError;
use crate::history::{Event, Part};
use crate::spec::Spec;
use crate::stream::{Monitor, Stopped, Tally, Violation};
use crate::verdict::Verdict;
use checker::Checker;

/// One event, in the shared word; the bits below count running operations. So there can be a
/// million of them at a time, and 17 million million events.
const EVENT: u64 = 1 << 20;
/// The largest number of running operations: the count must not overflow.
const MOST_RUNNING: u64 = EVENT / 2;

/// What happens to a call when too many events are on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Full {
    /// It waits. Nothing is lost.
    #[default]
    Block,
    /// The operation is not recorded. The gap is reported.
    Drop,
}

/// A monitor to be started.
pub struct Live<S: Spec> {
    spec: S,
    capacity: u64,
    when_full: Full,
    window: Option<u64>,
    on_violation: Option<OnViolation<S>>,
}

/// The callback for a violation.
type OnViolation<S> = Box<dyn FnOnce(&Violation<<S as Spec>::Op, <S as Spec>::Ret>) + Send>;

impl<S: Spec + 'static> Live<S> {
    /// A monitor with room for 65,536 events that blocks when it is full.
    pub fn new(spec: S) -> Live<S> {
        Live { spec, capacity: 1 << 16, when_full: Full::Block, window: None, on_violation: None }
    }

    /// Calls a function with the violation, on the monitor's thread, as soon as it is found,
    /// whether or not the report is requested. If the function panics, the report still contains
    /// the violation.
    pub fn on_violation(
        mut self,
        call: impl FnOnce(&Violation<S::Op, S::Ret>) + Send + 'static,
    ) -> Live<S> {
        self.on_violation = Some(Box::new(call));
        self
    }

    /// The number of events that may be on their way.
    pub fn capacity(mut self, events: usize) -> Live<S> {
        self.capacity = (events as u64).max(2);
        self
    }

    /// What happens to calls beyond the capacity.
    pub fn when_full(mut self, policy: Full) -> Live<S> {
        self.when_full = policy;
        self
    }

    /// Records this many operations, then pauses until [`Running::next_window`].
    pub fn windows(mut self, operations: usize) -> Live<S> {
        self.window = Some((operations as u64).max(1));
        self
    }

    /// Starts the background thread. An error says why there is no exact monitor for this
    /// specification.
    pub fn start(self) -> Result<Running<S>, WatchError> {
        let (shared, checker) = self.prepare()?;
        let gone = Gone(shared.clone());
        let thread = thread::Builder::new()
            .name("trueline-live".into())
            .spawn(move || {
                let _gone = gone;
                checker.run()
            })
            .map_err(|error| format!("no thread can be started: {error}"))?;
        // Until then no thread wakes it, and it wakes up by itself.
        let _ = shared.monitor.set(thread.thread().clone());
        Ok(Running { shared, thread: Some(thread) })
    }

    /// The state that the threads share, and the work of the background thread.
    fn prepare(self) -> Result<(SharedState<S>, Checker<S>), WatchError> {
        let mut monitor = Monitor::new(self.spec)?;
        monitor.object(Part::default())?;
        let shared = Arc::new(Shared {
            word: AtomicU64::new(0),
            done: AtomicU64::new(0),
            end_of_window: AtomicU64::new(self.window.map_or(u64::MAX, |n| n.saturating_mul(2))),
            is_paused: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            has_stopped: AtomicBool::new(false),
            capacity: self.capacity,
            when_full: self.when_full,
            window: self.window,
            has_too_many: AtomicBool::new(false),
            ready: Mutex::new(Vec::new()),
            windows: Mutex::new(Vec::new()),
            caught_up: Condvar::new(),
            gate: Mutex::new(()),
            monitor: OnceLock::new(),
        });
        let checker = Checker::new(shared.clone(), monitor, self.on_violation);
        Ok((shared, checker))
    }
}

/// The state that the threads share.
struct Shared<Op, Ret> {
    /// Events so far, and operations that run: see [`EVENT`].
    word: AtomicU64,
    /// Events that are off their way.
    done: AtomicU64,
    /// Events from this number on are not recorded.
    end_of_window: AtomicU64,
    is_paused: AtomicBool,
    is_stopping: AtomicBool,
    /// A violation was found, or the monitor cannot continue: recording is over.
    has_stopped: AtomicBool,
    capacity: u64,
    when_full: Full,
    window: Option<u64>,
    /// More operations ran at a time than can be counted.
    has_too_many: AtomicBool,
    /// The announced lists.
    ready: Mutex<Vec<SharedList<Op, Ret>>>,
    /// The starts of windows.
    windows: Mutex<Vec<u64>>,
    caught_up: Condvar,
    gate: Mutex<()>,
    /// The thread to wake when there is much to do.
    monitor: OnceLock<Thread>,
}

type SharedState<S> = Arc<Shared<<S as Spec>::Op, <S as Spec>::Ret>>;
type SharedList<Op, Ret> = Arc<Mutex<List<Op, Ret>>>;

/// The events of one process on their way to the monitor.
struct List<Op, Ret> {
    events: Vec<(u64, Recorded<Op, Ret>)>,
    /// The first and the last call that was lost, and how many were.
    lost: Option<Lost>,
    /// The list is announced.
    is_ready: bool,
    /// Nothing will come any more.
    is_over: bool,
    /// The number that the monitor has given the process.
    number: Option<u32>,
}

/// The first and the last call that was lost, and how many were.
#[derive(Clone, Copy)]
struct Lost {
    first: u64,
    last: u64,
    calls: u64,
}

/// An item on its way to the monitor.
enum Recorded<Op, Ret> {
    Event {
        event: Event<Op, Ret>,
        /// A call while nothing else ran.
        from_rest: bool,
    },
    /// The outcome of a call that was lost stays unknown.
    LostUnknown(Op),
}

impl<Op, Ret> From<Event<Op, Ret>> for Recorded<Op, Ret> {
    fn from(event: Event<Op, Ret>) -> Recorded<Op, Ret> {
        Recorded::Event { event, from_rest: false }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running monitor. If it is dropped without [`Running::stop`], it ends, and only
/// [`Live::on_violation`] learns what it has found.
#[must_use = "what the monitor finds is told by `stop`"]
pub struct Running<S: Spec> {
    shared: Arc<Shared<S::Op, S::Ret>>,
    thread: Option<JoinHandle<Report<S>>>,
}

impl<S: Spec> Running<S> {
    /// A caller of operations, one after the other: a thread or a task.
    pub fn process(&self) -> Process<S> {
        let list = Arc::new(Mutex::new(List {
            events: Vec::new(),
            lost: None,
            is_ready: false,
            is_over: false,
            number: None,
        }));
        Process { shared: self.shared.clone(), list, open: None }
    }

    /// Records the next window. Call it while no operation runs and the object is in its initial
    /// state.
    pub fn next_window(&self) {
        let Some(operations) = self.shared.window else { return };
        let start = self.shared.word.load(Ordering::SeqCst) / EVENT;
        lock(&self.shared.windows).push(start);
        let end = start.saturating_add(operations.saturating_mul(2));
        self.shared.end_of_window.store(end, Ordering::SeqCst);
        self.shared.is_paused.store(false, Ordering::SeqCst);
    }

    /// Whether a window is being recorded, or there are no windows.
    pub fn is_recording(&self) -> bool {
        !self.shared.is_paused.load(Ordering::SeqCst)
    }

    /// Whether there is something to report: a violation, or the monitor cannot continue.
    pub fn has_stopped(&self) -> bool {
        self.shared.has_stopped.load(Ordering::SeqCst)
    }

    /// Ends the recording, decides the rest and reports. Operations that run are pending.
    pub fn stop(mut self) -> Report<S> {
        self.shared.stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            _ => Report {
                outcome: Err(Stopped::Unknown("the monitor's thread ended by a panic".into())),
                gaps: Vec::new(),
                unjudged: 0,
                windows: 0,
                tally: Tally::default(),
            },
        }
    }
}

impl<S: Spec> Drop for Running<S> {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

/// Calls operations, one after the other. It can be dropped at any time, and then costs nothing.
pub struct Process<S: Spec> {
    shared: Arc<Shared<S::Op, S::Ret>>,
    list: SharedList<S::Op, S::Ret>,
    /// A call that counts as running: it has neither returned nor been dropped.
    open: Option<Open<S::Op>>,
}

/// A call that has not returned.
enum Open<Op> {
    Recorded,
    /// It was lost; the operation, in case that its outcome stays unknown.
    Lost(Op),
    /// It is behind the end of a window.
    Outside,
}

impl<S: Spec> Process<S> {
    /// Records a call, which must be made after this. May wait under [`Full::Block`].
    pub fn call(&mut self, op: S::Op) -> Token<'_, S> {
        // A token that was forgotten is as good as dropped.
        self.abandon();
        let shared = &*self.shared;
        if shared.is_paused.load(Ordering::Relaxed) || shared.has_stopped.load(Ordering::Relaxed) {
            return Token { process: self };
        }
        let mut is_full = shared.is_full();
        if is_full {
            shared.wake_monitor();
            if shared.when_full == Full::Block {
                shared.wait();
                is_full = false;
            }
        }
        if shared.word.load(Ordering::Relaxed) % EVENT >= MOST_RUNNING {
            shared.has_too_many.store(true, Ordering::SeqCst);
            return Token { process: self };
        }
        let mut list = lock(&self.list);
        shared.announce(&mut list, &self.list);
        let before = shared.word.fetch_add(EVENT + 1, Ordering::SeqCst);
        let (number, from_rest) = (before / EVENT, before.is_multiple_of(EVENT));
        shared.has_taken(number);
        let open = if number >= shared.end_of_window.load(Ordering::SeqCst) {
            shared.is_paused.store(true, Ordering::SeqCst);
            Open::Outside
        } else if is_full {
            let Lost { first, calls, .. } =
                list.lost.unwrap_or(Lost { first: number, last: number, calls: 0 });
            list.lost = Some(Lost { first, last: number, calls: calls + 1 });
            Open::Lost(op)
        } else {
            let event = Event::Call(0, op);
            list.events.push((number, Recorded::Event { event, from_rest }));
            Open::Recorded
        };
        drop(list);
        self.open = Some(open);
        Token { process: self }
    }

    /// The outcome of the open call stays unknown.
    fn abandon(&mut self) {
        match self.open.take() {
            None => {}
            Some(Open::Recorded) => self.end(Some(Event::Unknown.into())),
            Some(Open::Lost(op)) => self.end(Some(Recorded::LostUnknown(op))),
            Some(Open::Outside) => self.end(None),
        }
    }

    /// The open call no longer runs: takes a number, and records the event if there is one.
    fn end(&mut self, recorded: Option<Recorded<S::Op, S::Ret>>) {
        let shared = &*self.shared;
        let mut list = lock(&self.list);
        shared.announce(&mut list, &self.list);
        let number = shared.word.fetch_add(EVENT - 1, Ordering::SeqCst) / EVENT;
        shared.has_taken(number);
        if number < shared.end_of_window.load(Ordering::SeqCst) {
            list.events.extend(recorded.map(|recorded| (number, recorded)));
        }
    }
}

impl<S: Spec> Drop for Process<S> {
    fn drop(&mut self) {
        self.abandon();
        let mut list = lock(&self.list);
        list.is_over = true;
        // If the monitor has never seen it, it need not learn that it is over.
        if list.number.is_some() {
            self.shared.announce(&mut list, &self.list);
        }
    }
}

/// A call that has not returned. If it is dropped without a return, its outcome is unknown: it is
/// pending for ever.
#[must_use = "a call that is not said to have returned is pending for ever"]
pub struct Token<'a, S: Spec> {
    process: &'a mut Process<S>,
}

impl<S: Spec> Token<'_, S> {
    /// Records what the call returned; it must have returned before this.
    pub fn returns(self, result: S::Ret) {
        match self.process.open.take() {
            None => {}
            Some(Open::Recorded) => self.process.end(Some(Event::Return(result).into())),
            Some(_) => self.process.end(None),
        }
    }
}

impl<S: Spec> Drop for Token<'_, S> {
    fn drop(&mut self) {
        self.process.abandon();
    }
}

impl<Op, Ret> Shared<Op, Ret> {
    /// Announces a list, whose lock is held, to the monitor. Call it before taking a number.
    fn announce(&self, list: &mut List<Op, Ret>, shared: &SharedList<Op, Ret>) {
        if !list.is_ready && !self.has_stopped.load(Ordering::Relaxed) {
            list.is_ready = true;
            lock(&self.ready).push(shared.clone());
        }
    }

    fn is_full(&self) -> bool {
        let taken = self.word.load(Ordering::Relaxed) / EVENT;
        taken.saturating_sub(self.done.load(Ordering::Relaxed)) >= self.capacity
    }

    /// An event has this number: wakes the monitor if it is the one that fills half of the
    /// capacity.
    fn has_taken(&self, number: u64) {
        if number.wrapping_sub(self.done.load(Ordering::Relaxed)) == self.capacity / 2 {
            self.wake_monitor();
        }
    }

    fn wake_monitor(&self) {
        if let Some(monitor) = self.monitor.get() {
            monitor.unpark();
        }
    }

    /// Tells the monitor to end.
    fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.wake_monitor();
    }

    /// Waits until the monitor has caught up.
    fn wait(&self) {
        let mut gate = lock(&self.gate);
        while self.is_full() {
            // A time limit, so that no thread waits for a monitor that is gone.
            let waited = self.caught_up.wait_timeout(gate, Duration::from_millis(1));
            gate = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The monitor's thread is gone, in whatever way: no thread waits for it.
struct Gone<Op, Ret>(Arc<Shared<Op, Ret>>);

impl<Op, Ret> Drop for Gone<Op, Ret> {
    fn drop(&mut self) {
        self.0.has_stopped.store(true, Ordering::SeqCst);
        self.0.done.store(u64::MAX, Ordering::SeqCst);
        self.0.caught_up.notify_all();
    }
}

/// A part that was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Number of the first event that was lost.
    pub from: u64,
    /// Number of the event at which checking continued; `None` if it did not.
    pub until: Option<u64>,
    /// Calls that were lost.
    pub lost: u64,
    /// Calls that were recorded, and not checked.
    pub skipped: u64,
}

/// What the monitor found.
#[must_use = "it may tell of a violation"]
pub struct Report<S: Spec> {
    /// The answer, about everything but the gaps: no violation, or why it went no further.
    pub outcome: Result<(), Stopped<S::Op, S::Ret>>,
    /// What was not checked.
    pub gaps: Vec<Gap>,
    /// Results behind a gap that were not judged: values of which it is not known whether they were
    /// inside.
    pub unjudged: u64,
    /// Windows that were checked to their ends.
    pub windows: u64,
    /// What was seen.
    pub tally: Tally,
}

impl<S: Spec> Report<S> {
    /// True where everything that was recorded was checked, and is fine: no violation, no gap,
    /// nothing unknown.
    pub fn is_fine(&self) -> bool {
        self.outcome.is_ok() && self.gaps.is_empty()
    }

    /// True where a violation was found.
    pub fn is_violation(&self) -> bool {
        matches!(self.outcome, Err(Stopped::Violation(_)))
    }

    /// Panics with the explanation unless everything was checked and is fine.
    #[track_caller]
    pub fn assert_linearizable(&self) {
        assert!(self.is_fine(), "{self}");
    }
}

impl<S: Spec> fmt::Display for Report<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Ok(()) if self.gaps.is_empty() => write!(f, "no violation")?,
            Ok(()) => write!(f, "no violation in what was checked")?,
            Err(Stopped::Unknown(why)) => write!(f, "unknown: {why}")?,
            Err(Stopped::Input(error)) => write!(f, "unknown: {}", error.message())?,
            Err(Stopped::Violation(violation)) => match &violation.outcome.verdict {
                Verdict::Violation(explanation) => {
                    write!(f, "violation: {}", explanation.sentence)?
                }
                other => write!(f, "{other:?}")?,
            },
        }
        write!(f, ", {} operations", self.tally.operations)?;
        for gap in &self.gaps {
            let Gap { from, lost, skipped, .. } = gap;
            write!(f, "; from event {from} on {lost} calls were lost and {skipped} not checked")?;
            match gap.until {
                Some(until) => write!(f, ", up to event {until}")?,
                None => write!(f, ", up to the end")?,
            }
        }
        if self.unjudged > 0 {
            write!(f, "; {} results behind gaps were not judged", self.unjudged)?;
        }
        Ok(())
    }
}
