//! The monitor of a stream of events: checks that they follow the rules of a history, passes them
//! to the engine of their object, or of their key if the specification distinguishes keys, and
//! explains violations.

mod explain;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::container::first_time;
use super::idle::Idle;
use super::records::{Record, Records};
use super::{Algorithm, Engine, Forgotten, Id, NEVER, NONE, Stop, Time, engine, forgiving_engine};
use crate::check::{Outcome, monitor_name, trust};
use crate::error::WatchError;
use crate::history::{Error, Event, History, Part, Position};
use crate::spec::subject::{Claim, Subject};
use crate::spec::{Action, Canonical, Kind, Spec};
use crate::value::Value;

/// Operations on which a specification's claim to be of a kind is tested.
const TRIAL: usize = if cfg!(test) { 5 } else { 200 };

/// Why a monitor does not go on.
#[derive(Debug)]
pub enum Stopped<Op, Ret> {
    /// The history up to here is a violation, whatever comes.
    Violation(Box<Violation<Op, Ret>>),
    /// Undecided from here on: the exact monitor does not decide such histories; with the reason.
    Unknown(String),
    /// The event is invalid: a return without a call, for example.
    Input(Error),
}

/// A violation in a stream.
#[derive(Debug)]
pub struct Violation<Op, Ret> {
    /// The few operations that matter.
    pub history: History<Op, Ret>,
    /// The explanation, about them.
    pub outcome: Outcome,
}

/// The counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Events.
    pub events: u64,
    /// Operations that were called.
    pub operations: u64,
    /// Operations that are open now.
    pub open: u64,
    /// Operations that are in memory now.
    pub held: u64,
    /// The largest number of operations in memory.
    pub most_held: u64,
}

/// Watches objects of one specification.
pub struct Monitor<S: Spec> {
    spec: S,
    canonical: Canonical<S::Op, S::Ret>,
    algorithm: Algorithm,
    engines: Vec<Box<dyn Engine>>,
    /// Which engine decides what: by object, and by the specification's key.
    engine_of: HashMap<(u32, Option<u64>), u32, FixedState>,
    /// Engines of which nothing is left.
    idle: Idle,
    parts: Vec<Part>,
    /// For each object, whether its operations touch one key each; `None` before the first.
    are_split: Vec<Option<bool>>,
    processes: Vec<Value>,
    /// The open operation of each process.
    open: Vec<Id>,
    records: Records<S::Op, S::Ret>,
    at: Time,
    tally: Tally,
    /// Started from a state that is not known.
    is_forgiving: bool,
    /// Earlier inserts may still take effect.
    forgives_for_ever: bool,
    /// The first operations, until the claim has been tested.
    trial: Option<Vec<Id>>,
}

impl<S: Spec> Monitor<S> {
    /// A monitor; an error says why there is no exact one for this specification.
    pub fn new(spec: S) -> Result<Monitor<S>, WatchError> {
        let canonical = spec.canonical().ok_or(
            "no exact monitor is known for this specification: expected a register, queue, stack, priority queue, set, \
             mutex or snapshot",
        )?;
        let at = first_time(canonical.initial.len());
        Ok(Monitor {
            spec,
            canonical,
            algorithm: Algorithm::Exact,
            engines: Vec::new(),
            engine_of: HashMap::default(),
            idle: Idle::default(),
            parts: Vec::new(),
            are_split: Vec::new(),
            processes: Vec::new(),
            open: Vec::new(),
            records: Records::new(),
            at,
            tally: Tally::default(),
            is_forgiving: false,
            forgives_for_ever: false,
            trial: Some(Vec::new()),
        })
    }

    /// Selects another algorithm; call it before the first event.
    pub fn decided_by(mut self, algorithm: Algorithm) -> Monitor<S> {
        self.algorithm = algorithm;
        self
    }

    /// The number of a new process.
    pub fn process(&mut self, name: Value) -> u32 {
        self.processes.push(name);
        self.open.push(NONE);
        self.open.len() as u32 - 1
    }

    /// The number of a new object.
    pub fn object(&mut self, part: Part) -> Result<u32, WatchError> {
        // A specification that cannot be watched is reported at once.
        self.fresh_engine()?;
        self.parts.push(part);
        self.are_split.push(None);
        Ok(self.parts.len() as u32 - 1)
    }

    /// An engine for a new object, or for a new key of it.
    fn fresh_engine(&self) -> Result<Box<dyn Engine>, String> {
        let engine = match self.is_forgiving {
            true => forgiving_engine(self.canonical.kind, self.forgives_for_ever),
            false => engine(self.algorithm, self.canonical.kind, &self.canonical.initial),
        };
        engine.map_err(|stop| match stop {
            Stop::Unfit(why) => why,
            Stop::Clash(_) => "its initial contents are impossible".into(),
        })
    }

    /// The number of the engine that decides an operation.
    fn engine_for(&mut self, part: u32, op: &S::Op) -> Result<u32, String> {
        let key = match self.canonical.kind {
            // These engines distinguish keys themselves.
            Kind::Set | Kind::Mutex | Kind::Snapshot => None,
            _ => self.spec.partition(op),
        };
        if let Some(&engine) = self.engine_of.get(&(part, key)) {
            return Ok(engine);
        }
        if *self.are_split[part as usize].get_or_insert(key.is_some()) != key.is_some() {
            let shown = self.spec.show(op, None);
            return Err(format!(
                "{shown} and others: some operations access one key and some access all keys"
            ));
        }
        let engine = self.fresh_engine()?;
        let number = self.idle.number((part, key));
        match self.engines.get_mut(number as usize) {
            Some(place) => *place = engine,
            None => self.engines.push(engine),
        }
        self.engine_of.insert((part, key), number);
        Ok(number)
    }

    /// The counts so far.
    pub fn tally(&self) -> Tally {
        let open = self.open.iter().filter(|&&id| id != NONE).count() as u64;
        Tally { open, held: self.records.len() as u64, ..self.tally }
    }

    /// How many engines there are, or were at the same time.
    #[cfg(test)]
    pub(super) fn engines(&self) -> usize {
        self.engines.len()
    }

    /// The name of the algorithm.
    pub fn algorithm(&self) -> &'static str {
        if self.algorithm == Algorithm::Saturate {
            return "saturate";
        }
        monitor_name(self.canonical.kind)
    }

    /// Whether the process has an open operation.
    pub fn is_open(&self, process: u32) -> bool {
        self.open[process as usize] != NONE
    }

    /// The open operation of a process.
    pub fn open_operation(&mut self, process: u32) -> Option<&S::Op> {
        let id = self.open[process as usize];
        self.records.get(id).map(|record| &record.op)
    }

    /// Replaces the open operation of a process: its result shows that it is another one than its
    /// call suggested.
    pub(crate) fn correct(
        &mut self,
        process: u32,
        op: S::Op,
    ) -> Result<(), Stopped<S::Op, S::Ret>> {
        let id = self.open[process as usize];
        let Some(record) = self.records.get(id) else { return Ok(()) };
        if record.op == op {
            return Ok(());
        }
        let (part, engine) = (record.part, record.engine);
        if self.engine_for(part, &op).map_err(Stopped::Unknown)? != engine {
            let shown = self.spec.show(&op, None);
            return Err(Stopped::Unknown(format!(
                "undecided: {shown} accesses another key than its call said"
            )));
        }
        if let Some(record) = self.records.get(id) {
            record.op = op;
        }
        Ok(())
    }

    /// The next event of the stream. After an error the monitor cannot continue.
    pub fn event(
        &mut self,
        process: u32,
        event: Event<S::Op, S::Ret>,
        at: Position,
    ) -> Result<(), Stopped<S::Op, S::Ret>> {
        self.tally.events += 1;
        self.at += 1;
        let now = self.at;
        let (id, result) = match event {
            Event::Call(part, op) => return self.calls(process, part, op, at),
            Event::Return(result) => (self.close(process, "returns", at)?, Some(result)),
            Event::Fail => {
                let id = self.close(process, "fails", at)?;
                return self.lost(id, |engine, may| engine.fails(id, may), true);
            }
            Event::Unknown => {
                let id = self.close(process, "ends with an unknown outcome", at)?;
                return self.lost(id, |engine, may| engine.unknown(id, may), false);
            }
        };
        let Some(record) = self.records.get(id) else { return Ok(()) };
        record.returned = now;
        record.result = result;
        let action = (self.canonical.action)(&record.op, record.result.as_ref());
        let engine = record.engine as usize;
        let stop = match action {
            Some(action) => self.engines[engine].returns(id, now, &action),
            None => {
                let shown = self.spec.show(&record.op, record.result.as_ref());
                let why = format!("the monitor does not support {shown}");
                if !self.spec.observes(&record.op, record.result.as_ref()) {
                    // Its effect may explain what seems to be a violation.
                    return Err(Stopped::Unknown(why));
                }
                Err(Stop::Unfit(why))
            }
        };
        stop.map_err(|stop| self.stopped(stop))?;
        self.rest(engine as u32)?;
        if let Some(trial) = &mut self.trial {
            trial.push(id);
            if trial.len() == TRIAL {
                self.test_claim()?;
            }
        } else if self.records.wants_sweep() {
            self.sweep();
        }
        Ok(())
    }

    /// No event has arrived for a while: decides what was deferred, as far as that is possible.
    pub fn decide_deferred(&mut self) -> Result<(), Stopped<S::Op, S::Ret>> {
        let stop = self.engines.iter_mut().try_for_each(|engine| engine.decide_deferred());
        stop.map_err(|stop| self.stopped(stop))
    }

    /// The stream is over; open operations stay open.
    pub fn finish(&mut self) -> Result<(), Stopped<S::Op, S::Ret>> {
        self.test_claim()?;
        // A violation of one object counts, even if another object is undecided.
        let mut unfit = None;
        for number in 0..self.engines.len() {
            match self.engines[number].finish() {
                Err(Stop::Unfit(why)) => unfit = unfit.or(Some(why)),
                Err(clash) => return Err(self.stopped(clash)),
                Ok(()) => {}
            }
        }
        unfit.map_or(Ok(()), |why| Err(Stopped::Unknown(why)))
    }

    /// Forgets everything and starts again while no operation runs: from the initial state, or from
    /// an unknown one, in which operations on earlier content are ignored. An error says why that
    /// is impossible.
    pub fn restart(&mut self, state_is_known: bool) -> Result<(), WatchError> {
        self.open.fill(NONE);
        self.records = Records::new();
        self.trial = self.trial.take().map(|_| Vec::new());
        self.is_forgiving = !state_is_known;
        self.engines.clear();
        self.engine_of.clear();
        self.idle = Idle::default();
        self.are_split.fill(None);
        if !self.parts.is_empty() {
            self.fresh_engine()?;
        }
        Ok(())
    }

    /// Whether an operation is an observer, whatever its result.
    pub fn observes(&self, op: &S::Op) -> bool {
        self.spec.observes(op, None)
    }

    /// How many results were not judged since a start from an unknown state.
    pub fn unjudged(&self) -> u64 {
        self.engines.iter().map(|engine| engine.unjudged()).sum()
    }

    /// As [`Monitor::restart`] from an unknown state, while operations of unknown outcome may still
    /// take effect: removals may take later values, so processes of their own call them again; the
    /// values of such inserts are unknown.
    pub fn restart_behind(
        &mut self,
        process: u32,
        abandoned: &[S::Op],
    ) -> Result<(), Stopped<S::Op, S::Ret>> {
        let is_removal = |op: &&S::Op| {
            let may = may(&self.spec, &self.canonical, op);
            matches!(may, Ok(Some(Action::RemoveUnknown)))
        };
        let (removals, others): (Vec<&S::Op>, Vec<&S::Op>) = abandoned.iter().partition(is_removal);
        self.forgives_for_ever = others.iter().any(|op| !self.observes(op));
        self.restart(false).map_err(|why| Stopped::Unknown(why.to_string()))?;
        for op in removals {
            self.event(process, Event::Call(0, op.clone()), Position::default())?;
            self.event(process, Event::Unknown, Position::default())?;
        }
        Ok(())
    }

    fn calls(
        &mut self,
        process: u32,
        part: u32,
        op: S::Op,
        position: Position,
    ) -> Result<(), Stopped<S::Op, S::Ret>> {
        let now = self.at;
        if self.open[process as usize] != NONE {
            let (name, shown) = (&self.processes[process as usize], self.spec.show(&op, None));
            return Err(Stopped::Input(call_within_call(name, &shown, position)));
        }
        let Position { line, column } = position;
        let may = may(&self.spec, &self.canonical, &op);
        let engine = self.engine_for(part, &op).map_err(Stopped::Unknown)?;
        let (returned, result) = (NEVER, None);
        let record =
            Record { process, part, engine, line, column, call: now, returned, op, result };
        let id = self.records.add(record);
        self.open[process as usize] = id;
        self.tally.operations += 1;
        self.tally.most_held = self.tally.most_held.max(self.records.len() as u64);
        let called = match may {
            Ok(may) => self.engines[engine as usize].call(id, now, may.as_ref()),
            Err(why) => Err(Stop::Unfit(why)),
        };
        called.map_err(|stop| self.stopped(stop))
    }

    fn close(
        &mut self,
        process: u32,
        what: &str,
        at: Position,
    ) -> Result<Id, Stopped<S::Op, S::Ret>> {
        match std::mem::replace(&mut self.open[process as usize], NONE) {
            NONE => {
                let name = &self.processes[process as usize];
                Err(Stopped::Input(event_without_call(name, what, at)))
            }
            id => Ok(id),
        }
    }

    fn lost(
        &mut self,
        id: Id,
        tell: impl FnOnce(&mut dyn Engine, Option<&Action>) -> Result<(), Stop>,
        failed: bool,
    ) -> Result<(), Stopped<S::Op, S::Ret>> {
        let Some(record) = self.records.get(id) else { return Ok(()) };
        let engine = record.engine as usize;
        let is_mute = !self.spec.observes(&record.op, None)
            && (self.canonical.action)(&record.op, None).is_none();
        if is_mute && !failed {
            let shown = self.spec.show(&record.op, None);
            return Err(Stopped::Unknown(format!("the monitor does not support {shown}")));
        }
        let told = match may(&self.spec, &self.canonical, &record.op) {
            Ok(may) => tell(self.engines[engine].as_mut(), may.as_ref()),
            Err(why) => Err(Stop::Unfit(why)),
        };
        if failed {
            self.records.drop(id);
        }
        told.map_err(|stop| self.stopped(stop))?;
        self.rest(engine as u32)
    }

    /// An operation of this engine is over: forgets the engines that have been at rest for longest.
    fn rest(&mut self, engine: u32) -> Result<(), Stopped<S::Op, S::Ret>> {
        // Initial values are not in an empty container. Sets and locks show when they are in their
        // initial state.
        let is_empty_at_first = self.canonical.initial.is_empty()
            || matches!(self.canonical.kind, Kind::Set | Kind::Mutex);
        // The claim is tested on operations that one engine decides.
        if self.trial.is_some() || !is_empty_at_first || !self.engines[engine as usize].is_bare() {
            return Ok(());
        }
        self.idle.add(engine);
        while let Some(engine) = self.idle.next() {
            let place = engine as usize;
            if !self.engines[place].is_bare() {
                continue;
            }
            self.engines[place].rest().map_err(|stop| self.stopped(stop))?;
            self.engines[place] = Box::new(Forgotten);
            let owner = self.idle.forget(engine);
            self.engine_of.remove(&owner);
        }
        Ok(())
    }

    fn sweep(&mut self) {
        let (engines, open) = (&self.engines, &self.open);
        self.records.sweep(|keep| {
            open.iter().for_each(|&id| keep(id));
            engines.iter().for_each(|engine| engine.mark(keep));
        });
    }

    /// Tests the specification's claim to be of a kind, on the first operations that one engine
    /// decides.
    fn test_claim(&mut self) -> Result<(), Stopped<S::Op, S::Ret>> {
        let Some(mut trial) = self.trial.take() else { return Ok(()) };
        let engine_of = |id: &Id| self.records.peek(*id).map(|record| record.engine);
        trial.sort_by_key(engine_of);
        let groups = trial.chunk_by(|a, b| engine_of(a) == engine_of(b));
        let Some(trial) = groups.max_by_key(|group| group.len()) else { return Ok(()) };
        let (history, _) = self.records.history(trial, &self.processes, &self.parts);
        let all: Vec<u32> = (0..history.len() as u32).collect();
        let subject = Subject::new(&self.spec, &history);
        let Canonical { kind, initial, .. } = &self.canonical;
        let claim = Claim { kind: *kind, initial: initial.clone() };
        trust(&subject, &claim, &all).map_err(Stopped::Unknown)
    }
}

/// A process calls before its last call has returned.
pub(super) fn call_within_call(process: &Value, shown: &str, at: Position) -> Error {
    let shown = shown.trim_end_matches(" -> ?");
    let message = format!(
        "process {process} calls {shown} while its previous call is pending: expected a return first"
    );
    Error::at(at, message)
}

/// The error for a process that ends a call, as `what` describes, without having one.
pub(super) fn event_without_call(process: &Value, what: &str, at: Position) -> Error {
    let message = format!("process {process} {what} without an open call: expected a call first");
    Error::at(at, message)
}

/// The effect of an operation while its outcome is unknown; `None` for an observer.
fn may<S: Spec>(
    spec: &S,
    canonical: &Canonical<S::Op, S::Ret>,
    op: &S::Op,
) -> Result<Option<Action>, String> {
    if spec.observes(op, None) {
        return Ok(None);
    }
    match ((canonical.action)(op, None), canonical.kind) {
        (Some(action), _) => Ok(Some(action)),
        // It may be a removal, so it counts as one; its result decides at the end.
        (None, Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::MinPriorityQueue) => {
            Ok(Some(Action::RemoveUnknown))
        }
        // Most likely a read: see `is_rash`.
        (None, Kind::Register) => Ok(None),
        (None, Kind::Set | Kind::Mutex | Kind::Snapshot) => {
            Err(format!("the monitor has no rule for {}", spec.show(op, None)))
        }
    }
}
