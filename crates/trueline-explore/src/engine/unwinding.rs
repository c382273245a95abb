//! Panics that the user's code catches: what destructors do meanwhile are events like all others.
//!
//! Most panics are failures, and then nothing that happens while the thread unwinds matters: other threads would only blur the report. So
//! a panic is first taken for one that ends the execution: points return at once, nothing is recorded. If it turns out to be
//! caught, the line that panicked is remembered, and the execution is run again up to there. From then on a panic of
//! this line unwinds as other code runs: its events are recorded, and other threads run between them.
//!
//! **Who unwinds.** Std counts panics for a thread of the OS, on which all threads of an execution run. While one thread is
//! suspended in its unwinding, std says of all others too that they panic. So the machine notes who unwinds, when a thread comes to a
//! point. If two of them unwind at the same time it cannot tell which one has caught its panic, and the
//! report says so ([`Assumption::Unwinding`]). `resume_unwind`, which no hook sees, is noticed only where no other thread unwinds.
//!
//! **An execution that is abandoned** while a thread unwinds would leave std's count as it is for good. So the thread goes on, alone and
//! with nothing recorded, until its panic is caught. If several unwind nobody knows when that is: they are abandoned,
//! and for this thread of the OS it stays unclear who panics.

use corosensei::CoroutineResult;

use super::execution::Machine;
use super::interface::Failure;
use super::panics;
use super::report::Assumption;
use super::strategy::End;

/// A thread that unwinds passes no more points than this without events: it may spin in a destructor, waiting for others.
const MOST_POINTS: u32 = 1 << 12;

/// What is known of panics under way.
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
    /// The execution is to be run again from where it is.
    again: bool,
}

enum Passive {
    /// A panic of this line is taken for one that ends the execution.
    Lost(Option<String>),
    /// The execution is over.
    Draining,
}

impl Unwinding {
    /// Forgets what one exploration has learnt.
    pub(super) fn renew(&mut self) {
        *self = Unwinding::default();
    }

    /// An execution begins.
    pub(super) fn restart(&mut self) {
        self.leaked = std::thread::panicking();
        self.count = u32::from(self.leaked);
        self.passive = None;
    }

    /// Whether the execution is to be run again from where it is; asked once.
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
            return;
        }
        let others = self.others_unwind();
        self.note_unwinding(true);
        if others {
            self.assumed = Some(Assumption::Unwinding);
        } else if !self.unwinding.caught.contains(&at) {
            self.unwinding.passive = Some(Passive::Lost(at));
            self.unwinding.points = 0;
        }
    }

    /// Whether the current thread is at a point that is none, since nothing is recorded. If the execution is over, `end` says so.
    #[inline]
    pub(super) fn passes_point(&mut self) -> bool {
        if self.unwinding.count == 0 && !std::thread::panicking() {
            return false;
        }
        self.look_at_unwinding()
    }

    #[cold]
    fn look_at_unwinding(&mut self) -> bool {
        if let Some(passive) = &self.unwinding.passive {
            self.unwinding.points += 1;
            if !std::thread::panicking() || self.unwinding.points > MOST_POINTS {
                if let Passive::Lost(at) = passive {
                    let at = at.clone();
                    self.run_again(at);
                } else {
                    self.end = Some(End::GivenUp);
                }
            }
            return true;
        }
        if !self.others_unwind() {
            self.note_unwinding(std::thread::panicking());
        }
        false
    }

    /// A panic of this line is caught, or needs other threads to run: its events are recorded from now on.
    fn run_again(&mut self, at: Option<String>) {
        self.unwinding.caught.push(at);
        self.unwinding.again = true;
        self.end = Some(End::GivenUp);
    }

    /// The current thread unwinds, and needs other threads to run. Whether it can do without, since the execution is over.
    pub(super) fn needs_others(&mut self) -> bool {
        match &self.unwinding.passive {
            None => (),
            Some(Passive::Draining) => return true,
            Some(Passive::Lost(at)) => {
                let at = at.clone();
                self.run_again(at);
            }
        }
        false
    }

    /// Whether a thread other than the current one unwinds, as far as std's count is concerned.
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

    /// The execution is over: a thread that unwinds goes on until its panic is caught.
    pub(super) fn drain(&mut self) {
        let alone = self.unwinding.count == 1 && !self.unwinding.leaked;
        if !alone || !std::thread::panicking() {
            return;
        }
        let unwinds = self.threads.iter().position(|t| t.unwinds && t.coroutine.is_some());
        let Some(thread) = unwinds else { return };
        self.unwinding.passive = Some(Passive::Draining);
        self.unwinding.points = 0;
        self.current = thread as u32;
        self.end = None;
        let record: *mut _ = &mut *self.threads[thread];
        // SAFETY: as in `run`: no reference into the machine is held while the coroutine runs, but for the coroutine itself.
        unsafe {
            let record: &mut super::execution::Thread = &mut *record;
            let coroutine = record.coroutine.as_mut().expect("it was found above");
            if let CoroutineResult::Return(()) = coroutine.resume(()) {
                let coroutine = record.coroutine.take().expect("it has just run");
                record.stack = Some(coroutine.into_stack());
            }
        }
        self.unwinding.passive = None;
    }
}
