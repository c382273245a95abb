//! Panics that user code catches: their destructors make events like all other code.
//!
//! Most panics are failures. Then nothing that happens while the thread unwinds matters, because
//! other threads would only blur the report. So a panic is first treated as the end of the
//! execution: points return at once, nothing is recorded. If it turns out to be caught, the engine
//! remembers the line that panicked and runs the execution again up to there. From then on a panic
//! of this line unwinds like other code: its events are recorded, and other threads run between
//! them.
//!
//! The same happens in two other cases. The unwinding thread may reach an access that has to wait
//! for other threads, such as a lock that another one holds. Or a second panic begins: the first
//! one may have been caught by then. So while nothing is recorded, user code runs as if no other
//! thread ran meanwhile. The engine notes the values that locations have then, and restores them
//! when the execution is over.
//!
//! **Which thread unwinds.** Std counts panics per OS thread, and all threads of an execution run
//! on one. While one thread is suspended in its unwinding, std reports that all others panic, too.
//! So the machine records, when a thread reaches a point, whether it unwinds. If two threads unwind
//! at the same time, the machine cannot tell which one has caught its panic, and the report says so
//! ([`Assumption::Unwinding`]). `resume_unwind`, which no hook sees, is noticed only if no other
//! thread unwinds.
//!
//! **An execution that is abandoned** while a thread unwinds would leave std's count wrong for
//! good. So the thread continues with nothing recorded until its panic is caught. If it has to
//! wait, or passes very many points, the other threads run in turn until it need not wait any
//! longer. If nothing else helps, it gets a lock that it holds itself, since its destructor would
//! never end otherwise. If several threads unwind, it is unknown when their panics are caught: they
//! are abandoned, and so is a thread that waits for ever. Then it stays unknown for this OS thread
//! which thread panics.

use corosensei::CoroutineResult;

use super::execution::Machine;
use super::interface::{Access, Effect, Failure, Kind, NOWHERE};
use super::locations::Locations;
use super::panics;
use super::report::Assumption;
use super::strategy::End;
use super::threads::{State, Thread};
use super::trace::NONE;

/// A thread that unwinds passes at most this many points without events: it may spin in a
/// destructor, waiting for others.
const MOST_POINTS: u32 = 1 << 12;
/// After this many points the other threads run, since it may wait for them by reading.
const POINTS_AT_ONCE: u32 = 1 << 6;

/// The machine's knowledge about current panics.
#[derive(Default)]
pub(crate) struct Unwinding {
    /// The lines whose panics were caught in this exploration.
    caught: Vec<Option<String>>,
    /// How many threads unwind, and one more if std's count was left behind.
    count: u32,
    /// Std's count was above zero before the execution began.
    leaked: bool,
    /// Nothing is recorded now: the execution is taken for lost, or is over.
    passive: Option<Passive>,
    /// How many points were passed so.
    points: u32,
    /// Another panic has begun since then.
    another: bool,
    /// The thread that waits for itself may go on.
    granted: bool,
    /// The current thread has passed many points: others go on, if they can.
    yields: bool,
    /// Locations that were changed so, with their last touch and their value before.
    changed: Vec<(usize, u32, u64)>,
    /// The execution is to be run again from here.
    again: bool,
}

enum Passive {
    /// A panic of this line is taken for one that ends the execution.
    Lost(Option<String>),
    /// The execution is over.
    Draining,
}

impl Unwinding {
    /// Resets it for another exploration.
    pub(super) fn renew(&mut self) {
        *self = Unwinding::default();
    }

    /// An execution begins.
    pub(super) fn restart(&mut self) {
        self.leaked = std::thread::panicking();
        self.count = u32::from(self.leaked);
        self.passive = None;
    }

    /// Whether the execution is to be run again from here; the flag is reset.
    pub(super) fn again(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }

    /// Whether nothing is recorded now.
    #[inline]
    pub(super) fn is_passive(&self) -> bool {
        self.passive.is_some()
    }
}

impl Machine {
    /// A panic begins in the current thread.
    pub(super) fn panic_begins(&mut self, message: String, at: Option<String>) {
        let panics = &mut self.threads[self.current as usize].panics;
        let noted = (message, at.clone());
        if !panics.contains(&noted) {
            panics.push(noted);
        }
        if self.unwinding.is_passive() {
            self.unwinding.another = true;
            return;
        }
        let others = self.others_unwind();
        self.note_unwinding(true);
        if others {
            self.assumed = Some(Assumption::Unwinding);
        } else if !self.unwinding.caught.contains(&at) {
            self.become_passive(Passive::Lost(at));
        }
    }

    fn become_passive(&mut self, passive: Passive) {
        self.unwinding.passive = Some(passive);
        (self.unwinding.points, self.unwinding.another) = (0, false);
    }

    /// Whether the current thread just passes this point, because nothing is recorded. If the
    /// execution is over, `end` says so.
    #[inline]
    pub(super) fn passes_point(&mut self, access: &Access) -> bool {
        if self.unwinding.count == 0 && !std::thread::panicking() {
            return false;
        }
        self.look_at_unwinding(access)
    }

    #[cold]
    fn look_at_unwinding(&mut self, access: &Access) -> bool {
        if self.unwinding.passive.is_some() {
            self.pass(access);
            return true;
        }
        if !self.others_unwind() {
            self.note_unwinding(std::thread::panicking());
        }
        false
    }

    /// The current thread reaches an access while nothing is recorded. `end` is set unless it may
    /// make the access.
    #[cold]
    pub(super) fn pass(&mut self, access: &Access) {
        self.unwinding.points += 1;
        let location = self.placed(access.location);
        let record = &mut self.threads[self.current as usize];
        (record.pending, record.state) = (*access, State::Pending);
        record.pending.location = location;
        let waits = access
            .condition
            .is_some_and(|c| !(c.holds)(self.trace.locations.value(location), c.argument));
        let waits = waits && !std::mem::take(&mut self.unwinding.granted);
        let drains = matches!(self.unwinding.passive, Some(Passive::Draining));
        self.unwinding.yields = drains && self.unwinding.points.is_multiple_of(POINTS_AT_ONCE);
        let stops = waits
            || self.unwinding.yields
            || !std::thread::panicking()
            || self.unwinding.points > MOST_POINTS;
        if stops && !self.runs_lost_again() {
            self.end = Some(End::GivenUp);
        }
    }

    /// Resumes a thread that has stopped at an access: it is its turn, or the execution is over and
    /// the thread unwinds. Returns whether it may make the access.
    #[inline]
    pub(super) fn goes_on_with(&mut self, access: &Access) -> bool {
        if self.unwinding.is_passive() {
            self.pass(access);
            return self.end.is_none();
        }
        true
    }

    /// Notes an access that the current thread made while nothing is recorded.
    #[cold]
    pub(super) fn record_passively(&mut self, effect: Effect) {
        let location = self.threads[self.current as usize].pending.location;
        if location != NOWHERE && effect.after != effect.before {
            self.set_passively(location, |locations| locations.set_value(location, effect.after));
        }
    }

    /// Changes a location, so that it can be taken back if nothing is recorded now.
    pub(super) fn set_passively(&mut self, location: usize, set: impl FnOnce(&mut Locations)) {
        let locations = &mut self.trace.locations;
        if self.unwinding.is_passive() {
            let before = (location, locations.last(location), locations.value(location));
            self.unwinding.changed.push(before);
        }
        set(locations);
    }

    /// The execution is over: restores the values that changed while nothing was recorded.
    pub(super) fn take_back(&mut self) {
        while let Some((location, last, value)) = self.unwinding.changed.pop() {
            self.trace.locations.replace(location, last, value);
        }
    }

    /// A panic has left the body of the current thread. Returns whether the execution must be run
    /// again to know its effect: while nothing was recorded, another panic may have begun after the
    /// first one was caught.
    pub(super) fn doubts_last_panic(&mut self) -> bool {
        self.unwinding.another && self.runs_lost_again()
    }

    /// If a panic was treated as the end of the execution, runs the execution again from there.
    fn runs_lost_again(&mut self) -> bool {
        let Some(Passive::Lost(at)) = &self.unwinding.passive else { return false };
        let at = at.clone();
        self.run_again(at);
        true
    }

    /// A panic of this line is caught, or needs other threads to run: from now on its events are
    /// recorded.
    fn run_again(&mut self, at: Option<String>) {
        self.unwinding.caught.push(at);
        self.unwinding.again = true;
        self.end = Some(End::GivenUp);
    }

    /// The current thread unwinds, and needs other threads to run. Returns whether it can do
    /// without, since the execution is over.
    pub(super) fn needs_others(&mut self) -> bool {
        self.runs_lost_again();
        matches!(self.unwinding.passive, Some(Passive::Draining))
    }

    /// Whether another thread unwinds, according to std's count.
    fn others_unwind(&self) -> bool {
        let own = self.threads[self.current as usize].unwinds;
        self.unwinding.count > u32::from(own)
    }

    /// Whether the current thread unwinds.
    pub(super) fn note_unwinding(&mut self, unwinds: bool) {
        let thread = &mut self.threads[self.current as usize];
        let before = std::mem::replace(&mut thread.unwinds, unwinds);
        self.unwinding.count = self.unwinding.count + u32::from(unwinds) - u32::from(before);
    }

    /// As std's `panicking`, for the current thread of the execution.
    pub(crate) fn is_panicking(&self) -> bool {
        if self.others_unwind() {
            return self.threads[self.current as usize].unwinds;
        }
        std::thread::panicking()
    }

    /// The panic that left the body of a thread.
    pub(super) fn panic_of(&self, thread: u32, payload: &(dyn std::any::Any + Send)) -> Failure {
        let message = panics::message(payload);
        let mut noted = self.threads[thread as usize].panics.iter().rev();
        let at = noted.find(|noted| noted.0 == message).and_then(|noted| noted.1.clone());
        Failure::Panic { message, at }
    }

    /// The execution is over: an unwinding thread continues until its panic is caught. The thread
    /// whose failure ended the execution stays where it is.
    pub(super) fn drain(&mut self, end: &End) {
        let alone = self.unwinding.count == 1 && !self.unwinding.leaked;
        if !alone || !std::thread::panicking() {
            return;
        }
        let unwinds = self.threads.iter().position(|t| t.unwinds && t.coroutine.is_some());
        let Some(unwinds) = unwinds else { return };
        let failed = matches!(end, End::Failed(_)).then_some(self.current as usize);
        let others: Vec<usize> =
            (0..self.threads.len()).filter(|&t| t != unwinds && Some(t) != failed).collect();
        self.become_passive(Passive::Draining);
        self.resume(unwinds);
        while std::thread::panicking() && self.unwinding.points <= MOST_POINTS {
            let before = self.unwinding.points;
            let yields = std::mem::take(&mut self.unwinding.yields);
            for &thread in &others {
                let waits = yields || !self.threads[unwinds].could_run(&self.trace.locations);
                if waits && self.threads[thread].could_run(&self.trace.locations) {
                    self.resume(thread);
                }
            }
            if self.unwinding.points == before {
                // No other thread can continue.
                let pending = &self.threads[unwinds].pending;
                self.unwinding.granted = self.waits_for_itself(unwinds, pending);
                if !self.unwinding.granted {
                    break;
                }
            }
            self.resume(unwinds);
        }
        self.unwinding.passive = None;
    }

    /// Lets a thread go on until it has to wait, with nothing recorded.
    fn resume(&mut self, thread: usize) {
        (self.current, self.end) = (thread as u32, None);
        let record: *mut Thread = &mut *self.threads[thread];
        // SAFETY: as in `run`: no reference into the machine lives while the coroutine runs, except
        // to the coroutine itself.
        unsafe {
            let Some(coroutine) = (*record).coroutine.as_mut() else { return };
            if let CoroutineResult::Return(()) = coroutine.resume(()) {
                let coroutine = (*record).coroutine.take().expect("it has just run");
                (*record).stack = Some(coroutine.into_stack());
            }
        }
    }

    /// Whether a thread waits for a lock that it holds itself.
    fn waits_for_itself(&self, thread: usize, access: &Access) -> bool {
        let last = self.trace.locations.last(access.location);
        access.kind == Kind::Update
            && last != NONE
            && self.trace.event(self.trace.touch(last).event).thread as usize == thread
    }
}
