//! Real threads that run many short rounds of one scenario.
//!
//! Each round has an object of its own. The threads meet before the first call, so that they start
//! together, and after the last. The first thread leads: it creates the object, makes the calls
//! before and after, and collects the results of the others. No thread waits in the kernel between
//! rounds.
//!
//! **Times.** A thread reads the system's clock before each call and after each return, with a
//! fence between the clock and the call: the call cannot begin before the first reading or end
//! after the second. Operations with equal readings overlap. The verdict relies on the clock being
//! the same on all processors, as `Instant` guarantees.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use trueline::Budget;
use trueline::budget::Exhausted;

use super::scenario::Scenario;
use super::{Invariant, Make, Operate, Thread};
use crate::engine::panics::caught;

/// The result of one call.
#[derive(Clone, Debug)]
pub(crate) struct Done<R> {
    /// Its number in the scenario.
    pub(crate) call: usize,
    pub(crate) called: Duration,
    /// Nothing if it has not returned.
    pub(crate) returned: Option<(Duration, R)>,
}

/// How a round ended.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// All calls returned.
    Well,
    /// This call panicked, with this message.
    Panicked(usize, String),
    /// The invariant is violated.
    Invariant(String),
    /// Some calls did not return in time.
    Stuck,
}

/// One round.
#[derive(Clone, Debug)]
pub(crate) struct Round<R> {
    pub(crate) done: Vec<Done<R>>,
    pub(crate) ended: Ended,
}

/// State shared by the threads of a crew.
struct Shared<T, O: Operate<T>> {
    make: Arc<Make<T>>,
    invariant: Option<Arc<Invariant<T>>>,
    alphabet: Arc<[O]>,
    scenario: Scenario,
    rounds: usize,
    /// The object of the round under way.
    object: Mutex<Option<Arc<T>>>,
    /// The calls that each thread has made in it; the last entry is thread 0's.
    done: Vec<Mutex<Vec<Done<O::Ret>>>>,
    panicked: Mutex<Option<(usize, String)>>,
    /// How many times a thread has come to a meeting.
    arrivals: AtomicUsize,
    over: AtomicBool,
    start: Instant,
}

/// The rounds that were run, and the limit that ended them, if one did.
pub(crate) struct Rounds<R> {
    pub(crate) all: Vec<Round<R>>,
    pub(crate) cut: Option<Exhausted>,
}

/// How long to wait for a round before the budget is checked again.
const GLANCE: Duration = Duration::from_millis(5);

/// Runs this many rounds of a scenario, or fewer if one fails: that is then the last. `patience` is
/// the longest time for a round. When the budget is spent, the current round is abandoned without a
/// result.
pub(crate) fn run<T, O>(
    make: &Arc<Make<T>>,
    invariant: Option<&Arc<Invariant<T>>>,
    alphabet: &Arc<[O]>,
    scenario: &Scenario,
    rounds: usize,
    patience: Duration,
    budget: &Budget,
) -> Rounds<O::Ret>
where
    T: Send + Sync + 'static,
    O: Operate<T>,
{
    let lanes = scenario.lanes.len().max(1);
    let shared = Arc::new(Shared {
        make: Arc::clone(make),
        invariant: invariant.cloned(),
        alphabet: Arc::clone(alphabet),
        scenario: scenario.clone(),
        rounds,
        object: Mutex::new(None),
        done: (0..=lanes).map(|_| Mutex::default()).collect(),
        panicked: Mutex::new(None),
        arrivals: AtomicUsize::new(0),
        over: AtomicBool::new(false),
        start: Instant::now(),
    });
    let (tell, told) = sync_channel(rounds);
    let threads: Vec<_> = (0..lanes)
        .map(|lane| {
            let shared = Arc::clone(&shared);
            let tell = (lane == 0).then(|| tell.clone());
            let name = format!("stress {}", lane + 1);
            let work = move || match tell {
                Some(tell) => shared.lead(&tell),
                None => shared.follow(lane),
            };
            std::thread::Builder::new().name(name).spawn(work).expect("a thread can be started")
        })
        .collect();
    drop(tell);
    let rounds = collect(&shared, &told, patience, budget);
    let stuck = matches!(rounds.all.last(), Some(Round { ended: Ended::Stuck, .. }));
    // Threads that may wait for ever are abandoned. Threads of a round that was only given up end
    // with it.
    if !stuck && rounds.cut.is_none() {
        for thread in threads {
            // A panic outside of the operations (say in a destructor) is the user's own and is
            // passed on unchanged.
            if let Err(payload) = thread.join() {
                std::panic::resume_unwind(payload);
            }
        }
    }
    rounds
}

/// Receives the rounds as they finish. A round that does not finish is stuck, and its threads are
/// abandoned.
fn collect<T, O: Operate<T>>(
    shared: &Shared<T, O>,
    told: &Receiver<Round<O::Ret>>,
    patience: Duration,
    budget: &Budget,
) -> Rounds<O::Ret> {
    let mut all = Vec::new();
    // Time is counted in glances instead of by the clock: if the machine is busy, or the process
    // was stopped, this thread glances as rarely as the others run, and a round that was merely not
    // scheduled does not count as waiting.
    let mut waited = Duration::ZERO;
    loop {
        match told.recv_timeout(GLANCE) {
            Ok(round) => {
                all.push(round);
                waited = Duration::ZERO;
            }
            Err(RecvTimeoutError::Disconnected) => return Rounds { all, cut: None },
            Err(RecvTimeoutError::Timeout) if waited >= patience => {
                shared.over.store(true, Ordering::SeqCst);
                let done = shared.done.iter().flat_map(|done| lock(done).clone()).collect();
                all.push(Round { done, ended: Ended::Stuck });
                return Rounds { all, cut: None };
            }
            Err(RecvTimeoutError::Timeout) => waited += GLANCE,
        }
        if let Err(why) = budget.spend(0) {
            shared.over.store(true, Ordering::SeqCst);
            return Rounds { all, cut: Some(why) };
        }
    }
}

impl<T, O: Operate<T>> Shared<T, O> {
    /// The first thread.
    fn lead(&self, tell: &SyncSender<Round<O::Ret>>) {
        // Dropped when a panic leaves this thread, too: the others must not wait for it.
        let _end = EndOfRounds(&self.over);
        let mut meetings = 0;
        let scenario = &self.scenario;
        let after = *self.scenario.starts().last().expect("there is one after all threads");
        for _ in 0..self.rounds {
            let object = Arc::new((self.make)());
            let alone = !scenario.before.is_empty() || !scenario.after.is_empty();
            let main = Thread { index: 0, role: None };
            let ended = {
                let mut handle = alone.then(|| O::handle(&object, main));
                if let Some(handle) = &mut handle {
                    self.call_all(&scenario.before, 0, self.done.len() - 1, handle);
                }
                *lock(&self.object) = Some(Arc::clone(&object));
                self.meet(&mut meetings);
                self.work(0, &object, &mut meetings);
                self.meet(&mut meetings);
                *lock(&self.object) = None;
                let mut ended = self.quiescent(&object);
                if let (Some(handle), Ended::Well) = (&mut handle, &ended) {
                    self.call_all(&scenario.after, after, self.done.len() - 1, handle);
                    ended = self.quiescent(&object);
                }
                ended
            };
            let mut done: Vec<Done<O::Ret>> = Vec::with_capacity(scenario.len());
            for part in &self.done {
                done.append(&mut lock(part));
            }
            let well = matches!(ended, Ended::Well);
            if tell.send(Round { done, ended }).is_err() || !well {
                return;
            }
        }
    }

    /// Any other thread.
    fn follow(&self, lane: usize) {
        let mut meetings = 0;
        loop {
            if !self.meet(&mut meetings) {
                return;
            }
            let object = lock(&self.object).clone().expect("the leader has made it");
            self.work(lane, &object, &mut meetings);
            drop(object);
            self.meet(&mut meetings);
        }
    }

    fn work(&self, lane: usize, object: &T, meetings: &mut usize) {
        let Some(calls) = self.scenario.lanes.get(lane) else { return };
        let thread = Thread { index: lane + 1, role: Some(calls.role) };
        let start = self.scenario.starts()[lane];
        let mut handle = O::handle(object, thread);
        self.meet(meetings);
        self.call_all(&calls.calls, start, lane, &mut handle);
    }

    /// Whether something is wrong when no operation is under way.
    fn quiescent(&self, object: &T) -> Ended {
        if let Some((call, message)) = lock(&self.panicked).take() {
            return Ended::Panicked(call, message);
        }
        let Some(invariant) = &self.invariant else { return Ended::Well };
        match caught(|| invariant(object)) {
            Ok(Ok(())) => Ended::Well,
            Ok(Err(what)) => Ended::Invariant(what),
            Err(caught) => {
                Ended::Invariant(format!("the invariant does not hold: {}", caught.failure()))
            }
        }
    }

    /// Calls operations in a row; a panic ends the row.
    fn call_all(&self, calls: &[usize], start: usize, part: usize, handle: &mut O::Handle<'_>) {
        for (i, &call) in calls.iter().enumerate() {
            let number = start + i;
            // Noted before, so that an operation which does not return is known.
            let begun = Done { call: number, called: self.start.elapsed(), returned: None };
            let last = {
                let mut done = lock(&self.done[part]);
                let last = done.last().and_then(|done| done.returned.as_ref().map(|(at, _)| *at));
                done.push(begun);
                last
            };
            // A thread's own operations must not seem to overlap, however coarse the clock is.
            let called = loop {
                let now = self.start.elapsed();
                if last.is_none_or(|last| now > last) {
                    break now;
                }
            };
            fence(Ordering::SeqCst);
            let result = caught(|| self.alphabet[call].operate(handle));
            fence(Ordering::SeqCst);
            let returned = self.start.elapsed();
            match result {
                Ok(result) => {
                    let mut done = lock(&self.done[part]);
                    let last = done.last_mut().expect("it was noted");
                    (last.called, last.returned) = (called, Some((returned, result)));
                }
                Err(caught) => {
                    *lock(&self.panicked) = Some((number, caught.failure().to_string()));
                    return;
                }
            }
        }
    }

    /// Waits until all threads have reached this meeting. Returns false if there are no more
    /// rounds.
    fn meet(&self, meetings: &mut usize) -> bool {
        let lanes = self.done.len() - 1;
        *meetings += 1;
        let expected = *meetings * lanes;
        self.arrivals.fetch_add(1, Ordering::SeqCst);
        let mut turns = 0u32;
        while self.arrivals.load(Ordering::SeqCst) < expected {
            if self.over.load(Ordering::SeqCst) {
                return false;
            }
            turns += 1;
            // With more threads than processors, some must yield.
            if turns.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        true
    }
}

struct EndOfRounds<'a>(&'a AtomicBool);

impl Drop for EndOfRounds<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
