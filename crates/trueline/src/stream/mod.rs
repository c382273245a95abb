//! Exact online monitors for unbounded streams: they check events as they arrive and drop those
//! that can no longer matter.
//!
//! An `Engine` reads the events of one object, in order, as actions of its kind. At a return it
//! reports a violation (`Clash`) only if the history up to there is one, whatever is still open;
//! and by the end of the stream (`Engine::finish`) it has reported one iff the whole history is
//! one. Its memory is bounded by the operations that are open, unmatched, or overlap those; each
//! file argues its rule:
//!
//! | file | decides | keeps |
//! |---|---|---|
//! | `queue` | first in, first out | open operations, values inside |
//! | `priority_queue` | largest first | open operations, values inside, what left while an open removal ran |
//! | `stack` | last in, first out | as above, and what left since a moment without an open pop |
//! | `register` | reads and unique writes | values that an open or later read may still find |
//! | `set` | keys, locks | open operations, keys in another than their initial state, owed changes |
//! | `snapshot` | snapshots, simple histories | open operations, a few that explain a violation |
//! | `actions` | the same, directly from its text | four bits per open scan |
//!
//! The containers use the rules of `crate::monitor`, which are about complete histories. Two ideas
//! carry them over to streams.
//!
//! **Owed removals.** Often a value must have left by some moment, and only an operation that is
//! open then can have taken it. Which one is unknown before it returns, so the value gets a
//! *deadline*: its removal must have been called before. Deadlines can be met iff each gets an open
//! removal of its own that was called in time; as both are numbers, that is so iff the n-th
//! deadline is later than the n-th call, for every n. This is checked at every return, so a
//! violation is found at the first return after which no assignment is left.
//!
//! **Reused values.** Values must be unique as long as they can be confused: a value may be
//! inserted again once its removal has returned, because an operation that returns it from then on
//! took the new one. A second insert before that is ambiguous, and `Stop::Unfit`; so is an
//! operation that the kind does not have.
//!
//! A specification without an exact monitor is watched by the general search (`searched`).
//!
//! Times are positions in the stream (64 bit); operations are identified by numbers of the caller.

mod actions;
mod container;
mod idle;
mod monitor;
mod priority_queue;
mod queue;
mod recent;
mod records;
mod register;
mod saturated;
mod searched;
mod set;
mod snapshot;
mod stack;
#[cfg(test)]
mod tests;
mod watch;

pub use crate::history::Event;
pub use actions::{Tested, test_actions};
pub use monitor::{Monitor, Stopped, Tally, Violation};
pub use watch::{Ended, Watch};

use crate::monitor::Blame;
use crate::spec::{Action, Kind};
use crate::value::Value;

/// The number of an operation.
type Id = u32;
/// A position in the stream.
type Time = u64;

/// No operation: stands for the insertion of an initial value.
const NONE: Id = Id::MAX;
/// Later than everything.
const NEVER: Time = Time::MAX;

/// Operations that are a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Clash {
    /// The operations, in no order; those that have not returned yet count as pending.
    operations: Vec<Id>,
    /// Whether relevant operations were forgotten: the named ones need not be a violation in
    /// themselves.
    partial: bool,
    /// The operation to blame and the reason, if a few words suffice.
    reason: Option<Blame>,
}

impl Clash {
    fn new(operations: impl IntoIterator<Item = Id>) -> Clash {
        let mut operations: Vec<Id> = operations.into_iter().filter(|&id| id != NONE).collect();
        operations.sort_unstable();
        operations.dedup();
        Clash { operations, partial: false, reason: None }
    }

    fn because(mut self, operation: Id, what: &'static str) -> Clash {
        self.reason = Some(Blame::new(operation, what));
        self
    }
}

/// Why an engine does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stop {
    /// A violation.
    Clash(Clash),
    /// The monitor of the kind does not decide such a history, and why.
    Unfit(String),
}

impl From<Clash> for Stop {
    fn from(clash: Clash) -> Stop {
        Stop::Clash(clash)
    }
}

/// An online monitor of one object.
trait Engine: Send {
    /// An operation is called. `may` is its effect if its outcome stays unknown; `None` for an
    /// observer.
    fn call(&mut self, id: Id, at: Time, may: Option<&Action>) -> Result<(), Stop>;

    /// An operation returns; `action` is its effect.
    fn returns(&mut self, id: Id, at: Time, action: &Action) -> Result<(), Stop>;

    /// The outcome of an operation stays unknown: it is pending for ever.
    fn unknown(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop>;

    /// An operation is known not to have happened.
    fn fails(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop>;

    /// Decides what was deferred, as far as that is possible now: no event has arrived for a while.
    fn decide_deferred(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// An event could not be judged, and no later one will be: decides what was deferred before it.
    fn give_up(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// The stream is over; open operations stay open.
    fn finish(&mut self) -> Result<(), Stop>;

    /// Whether no operation runs and the object is in its initial state: once everything deferred
    /// is decided ([`Engine::rest`]), a new engine would decide later events as this one does.
    /// False if that is unknown.
    fn is_bare(&self) -> bool {
        false
    }

    /// Decides everything deferred: no operation runs.
    fn rest(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// How many results were not judged because the initial content was unknown: see
    /// [`forgiving_engine`].
    fn unjudged(&self) -> u64 {
        0
    }

    /// Passes every operation that a [`Clash`] may still name.
    fn mark(&self, keep: &mut dyn FnMut(Id));
}

/// How a stream is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// By the exact monitor of the specification's kind.
    #[default]
    Exact,
    /// By saturation: every reported violation is one, but it may miss some.
    Saturate,
}

/// The engine of a kind, with these values inside at first.
fn engine(algorithm: Algorithm, kind: Kind, initial: &[Value]) -> Result<Box<dyn Engine>, Stop> {
    if algorithm == Algorithm::Saturate {
        return Ok(Box::new(saturated::Saturated::new(kind, initial)?));
    }
    Ok(match kind {
        Kind::Queue => Box::new(queue::Queue::new(initial)?),
        Kind::Stack => Box::new(stack::Stack::new(initial)?),
        Kind::PriorityQueue => Box::new(priority_queue::PriorityQueue::new(initial, false)?),
        Kind::MinPriorityQueue => Box::new(priority_queue::PriorityQueue::new(initial, true)?),
        Kind::Register => Box::new(register::Register::new(initial)),
        Kind::Set => Box::new(set::Set::new(initial)),
        Kind::Mutex => Box::new(set::Set::mutex(!initial.is_empty())),
        Kind::Snapshot => Box::new(snapshot::Snapshot::new(initial)),
    })
}

/// The engine of a kind for an object at rest whose state is unknown. Operations on earlier content
/// are ignored where they appear: leaving out all operations of a value makes no violation. So such
/// an engine reports no false violation, but may miss a value that is removed twice or was never
/// inserted. Keys and locks have no such rule: there is no engine for them.
///
/// A container shows when the earlier content is gone ([`Unknown`]): from then on everything is
/// judged. If earlier inserts may still take effect (`lasts`) that never happens.
fn forgiving_engine(kind: Kind, lasts: bool) -> Result<Box<dyn Engine>, Stop> {
    Ok(match kind {
        Kind::Queue => Box::new(queue::Queue::forgiving(lasts)?),
        Kind::Stack => Box::new(stack::Stack::forgiving(lasts)?),
        Kind::PriorityQueue => Box::new(priority_queue::PriorityQueue::forgiving(false, lasts)?),
        Kind::MinPriorityQueue => Box::new(priority_queue::PriorityQueue::forgiving(true, lasts)?),
        Kind::Register => Box::new(register::Register::forgiving()),
        Kind::Set | Kind::Mutex | Kind::Snapshot => {
            return Err(Stop::Unfit("events were lost, and the state is not known".into()));
        }
    })
}

/// Unknown content of an object that was not watched from the beginning.
///
/// **When it is gone.** At some moment of the interval of an empty result nothing was inside, so
/// all initial content had left. In a queue the initial content leaves before a value that was
/// inserted later. So a removal that is called after the return of such an operation took none of
/// it. One that was called before may have.
struct Unknown {
    /// A removal that was called before this may have taken some of it.
    gone: Time,
    /// Unknown values may still be inserted.
    lasts: bool,
    unjudged: u64,
}

impl Unknown {
    /// There is none.
    const NONE: Unknown = Unknown { gone: 0, lasts: false, unjudged: 0 };

    fn new(lasts: bool) -> Unknown {
        Unknown { gone: NEVER, lasts, unjudged: 0 }
    }

    /// An operation returned now which shows that it is gone.
    fn is_gone(&mut self, at: Time) {
        if !self.lasts {
            self.gone = self.gone.min(at);
        }
    }

    /// Whether a removal that was called then may have taken some of it, and so is not judged.
    fn explains(&mut self, call: Time) -> bool {
        let explains = call < self.gone;
        self.unjudged += u64::from(explains);
        explains
    }
}

/// Replaces an engine that was forgotten. It takes no memory, and receives no events.
struct Forgotten;

impl Engine for Forgotten {
    fn call(&mut self, _: Id, _: Time, _: Option<&Action>) -> Result<(), Stop> {
        Ok(())
    }

    fn returns(&mut self, _: Id, _: Time, _: &Action) -> Result<(), Stop> {
        Ok(())
    }

    fn unknown(&mut self, _: Id, _: Option<&Action>) -> Result<(), Stop> {
        Ok(())
    }

    fn fails(&mut self, _: Id, _: Option<&Action>) -> Result<(), Stop> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    fn mark(&self, _: &mut dyn FnMut(Id)) {}
}

/// The error for an action of another kind.
fn strange(action: &Action) -> Stop {
    Stop::Unfit(format!("{action:?} is no word for this kind of object"))
}

/// The error for a value that is inserted while it may still be inside.
fn ambiguous(value: &Value) -> Stop {
    Stop::Unfit(format!("the value {value} is put in again while it may still be inside"))
}
