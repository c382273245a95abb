//! Generated histories: linearizable by construction, or with one planted violation.
//!
//! Simulates processes that call, take effect at a random moment on the sequential object, and
//! return later. The operation of a call is chosen when it takes effect, so nothing blocks for
//! ever. Cost: O(1) per operation besides the change of the state.

mod plant;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::error::PlanError;
use crate::history::{Builder, Call, Error, History, Position};
use crate::rng::Rng;
use crate::spec::{Action, Builtin, Canonical};
use crate::value::Value;

/// The parameters of a history. The same plan gives the same history on every platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Number of operations.
    pub operations: usize,
    /// Number of processes.
    pub processes: usize,
    /// The seed of the random choices.
    pub seed: u64,
    /// Where to plant one violation: 0.0 near the start, 1.0 near the end. `None`: the history is
    /// linearizable.
    pub violation: Option<f64>,
    /// Share of the operations whose outcome stays unknown; half of these have an effect. If a
    /// planted violation needs a known state, they start after it.
    pub pending: f64,
    /// Removals may find the container empty.
    pub empties: bool,
    /// Inserted and written values never repeat.
    pub unique: bool,
    /// 0.0: one operation at a time; 1.0: every process is always busy.
    pub overlap: f64,
    /// Once a container has held this many values (a set, keys), it never holds fewer.
    pub occupancy: usize,
    /// For a snapshot object: the first two processes change their segment once, the others never.
    pub simple: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            operations: 1000,
            processes: 4,
            seed: 0,
            violation: None,
            pending: 0.0,
            empties: true,
            unique: true,
            overlap: 0.5,
            occupancy: 0,
            simple: false,
        }
    }
}

/// Generates a history of this specification, which names the specification if it has a name. An
/// error says why there is none.
pub fn generate<B: Builtin>(
    spec: &B,
    plan: &Plan,
    name: Option<&str>,
) -> Result<History, PlanError> {
    plan.validate()?;
    let run = match plan.violation {
        None => Run::simulate(spec, plan, Forgery::None)?,
        Some(depth) => plant::violation(spec, plan, depth)?,
    };
    run.history(spec, name).map_err(|e| PlanError::from(e.message()))
}

/// An event of a process, as [`stream`] produces it: a call is a method and its arguments.
pub type Generated<'a> = crate::history::Event<(&'a str, Vec<Value>), &'a Value>;

/// Generates the history of [`generate`] event by event, in order, and keeps only open operations
/// in memory. A process is a number. Ends early if `tell` returns false. An error says why there is
/// no such history; a planted violation needs the whole history in memory.
pub fn stream<B: Builtin>(
    spec: &B,
    plan: &Plan,
    tell: &mut dyn FnMut(u32, Generated<'_>) -> bool,
) -> Result<(), PlanError> {
    plan.validate()?;
    if plan.violation.is_some() {
        return Err("a violation is planted into a whole history, not into a stream".into());
    }
    let mut simulation = Simulation::new(spec, plan, Forgery::None);
    while simulation.step()? {
        if !simulation.hand_out(tell) {
            return Ok(());
        }
    }
    simulation.hand_out(tell);
    Ok(())
}

impl Plan {
    fn validate(&self) -> Result<(), String> {
        let shares = [
            ("violation", self.violation.unwrap_or(0.0)),
            ("pending", self.pending),
            ("overlap", self.overlap),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{name}: expected a number from 0 to 1, found {share}"));
            }
        }
        if !(1..=1 << 20).contains(&self.processes) {
            let found = self.processes;
            return Err(format!("processes: expected a number from 1 to 1048576, found {found}"));
        }
        if self.operations >= 1 << 30 {
            let found = self.operations;
            return Err(format!("operations: expected a number below 1073741824, found {found}"));
        }
        Ok(())
    }
}

/// How a simulation falsifies a result. The operation is at the given index or a little after it.
#[derive(Clone, Copy, Debug)]
enum Forgery {
    None,
    /// A result that no state allows: see [`Builtin::alien`].
    Alien(usize),
    /// A result that is wrong in the only possible state of the object: no other operation is
    /// running or has an unknown outcome.
    Wrong(usize),
}

/// No value of a generated history is that large.
const ALIEN: i64 = 1 << 50;
/// The number of values, if values may repeat.
const FEW: u64 = 8;
/// `returned` of an operation of a stream, all of whose events were emitted.
const HANDED_OUT: u32 = u32::MAX - 1;
/// How often to try for an operation that fits.
const TRIES: usize = 10_000;

/// One operation of a simulated history.
struct Record<Op> {
    process: u32,
    /// `None` until it takes effect.
    op: Option<Op>,
    /// `None` if the outcome stays unknown.
    result: Option<Value>,
    call: u32,
    /// `u32::MAX` if it never returns.
    returned: u32,
}

impl<Op> Record<Op> {
    /// The operation. When the simulation is over, every operation has taken effect.
    fn op(&self) -> &Op {
        self.op.as_ref().expect("the operation took effect")
    }
}

#[derive(Clone, Copy)]
enum Event {
    Call(u32),
    Return(u32),
    /// The process gives up waiting; the outcome stays unknown.
    Leave(u32),
}

struct Run<Op> {
    records: Vec<Record<Op>>,
    events: Vec<Event>,
}

struct Simulation<'a, B: Builtin> {
    spec: &'a B,
    plan: &'a Plan,
    rng: Rng,
    state: B::State,
    /// The operations that were not emitted yet, from index `first` on.
    records: VecDeque<Record<B::Op>>,
    events: VecDeque<Event>,
    first: usize,
    called: usize,
    ranks: u32,
    /// The number of values inside, and the effect of an operation on it; if an occupancy is
    /// required.
    inside: usize,
    canonical: Option<Canonical<B::Op, Value>>,
    idle: Vec<u32>,
    /// Indices of the operations that were called and have not returned.
    open: Vec<u32>,
    forgery: Forgery,
}

impl<Op: Clone> Run<Op> {
    fn simulate<B: Builtin<Op = Op>>(
        spec: &B,
        plan: &Plan,
        forgery: Forgery,
    ) -> Result<Run<Op>, String> {
        let mut simulation = Simulation::new(spec, plan, forgery);
        simulation.records.reserve(plan.operations);
        simulation.events.reserve(2 * plan.operations);
        while simulation.step()? {}
        Ok(Run { records: simulation.records.into(), events: simulation.events.into() })
    }

    fn history<B: Builtin<Op = Op>>(self, spec: &B, name: Option<&str>) -> Result<History, Error> {
        let mut builder = Builder::new();
        if let Some(name) = name {
            builder.set_spec(name);
        }
        let part = builder.part(Default::default());
        let at = Position::default();
        for event in self.events {
            let (Event::Call(i) | Event::Return(i) | Event::Leave(i)) = event;
            let record = &self.records[i as usize];
            let process = builder.process(&Value::Int(i64::from(record.process)));
            match event {
                Event::Call(_) => {
                    let (method, args) = spec.encode(record.op());
                    let call = Call { method: builder.method(method), args: args.into() };
                    builder.call(process, part, call, at)?;
                }
                Event::Return(_) => {
                    builder.returns(process, record.result.clone().unwrap_or_default(), at)?;
                }
                Event::Leave(_) => drop(builder.unknown(process, at)?),
            }
        }
        Ok(builder.finish())
    }
}

impl<'a, B: Builtin> Simulation<'a, B> {
    fn new(spec: &'a B, plan: &'a Plan, forgery: Forgery) -> Simulation<'a, B> {
        Simulation {
            spec,
            plan,
            rng: Rng::new(plan.seed),
            state: spec.initial(),
            records: VecDeque::new(),
            events: VecDeque::new(),
            first: 0,
            called: 0,
            ranks: 0,
            inside: 0,
            canonical: if plan.occupancy > 0 { spec.canonical() } else { None },
            idle: (0..plan.processes as u32).rev().collect(),
            open: Vec::new(),
            forgery,
        }
    }

    /// One step of some process; returns false at the end.
    fn step(&mut self) -> Result<bool, String> {
        let busy = 1.0 + self.plan.overlap * (self.plan.processes - 1) as f64;
        let called = self.called;
        let rest = matches!(self.forgery, Forgery::Wrong(at) if called >= at.min(self.plan.operations - 1));
        if rest && self.open.is_empty() {
            self.forge_wrong()?;
            return Ok(true);
        }
        let wanted = busy as usize + usize::from(self.rng.chance(busy.fract()));
        let more = called < self.plan.operations && !self.idle.is_empty() && !rest;
        if more && self.open.len() < wanted {
            self.call();
        } else if !self.open.is_empty() {
            self.advance()?;
        } else if !more {
            return Ok(false);
        }
        Ok(true)
    }

    /// Emits the events up to the first call that has not taken effect, because its operation is
    /// not chosen yet.
    fn hand_out(&mut self, tell: &mut dyn FnMut(u32, Generated<'_>) -> bool) -> bool {
        while let Some(&event) = self.events.front() {
            let (Event::Call(i) | Event::Return(i) | Event::Leave(i)) = event;
            let record = &mut self.records[i as usize - self.first];
            let told = match event {
                Event::Call(_) => {
                    let Some(op) = &record.op else { return true };
                    let (method, args) = self.spec.encode(op);
                    Generated::Call(0, (method, args))
                }
                Event::Return(_) => {
                    record.returned = HANDED_OUT;
                    Generated::Return(record.result.as_ref().unwrap_or(&Value::Nil))
                }
                Event::Leave(_) => {
                    record.returned = HANDED_OUT;
                    Generated::Unknown
                }
            };
            if !tell(record.process, told) {
                return false;
            }
            self.events.pop_front();
            while self.records.front().is_some_and(|record| record.returned == HANDED_OUT) {
                self.records.pop_front();
                self.first += 1;
            }
        }
        true
    }

    fn record_of(&mut self, index: usize) -> &mut Record<B::Op> {
        &mut self.records[index - self.first]
    }

    fn event(&mut self, event: Event) -> u32 {
        self.events.push_back(event);
        self.ranks += 1;
        self.ranks - 1
    }

    fn call(&mut self) -> usize {
        let idle = self.rng.below(self.idle.len() as u64) as usize;
        let process = self.idle.swap_remove(idle);
        let index = self.called;
        self.called += 1;
        let call = self.event(Event::Call(index as u32));
        self.open.push(index as u32);
        let (op, result, returned) = (None, None, u32::MAX);
        self.records.push_back(Record { process, op, result, call, returned });
        index
    }

    /// Some open operation takes effect or, if it did, returns.
    fn advance(&mut self) -> Result<(), String> {
        let at = self.rng.below(self.open.len() as u64) as usize;
        let index = self.open[at];
        if self.record_of(index as usize).op.is_none() {
            return self.take_effect(index as usize);
        }
        self.open.swap_remove(at);
        self.leave(index);
        Ok(())
    }

    fn leave(&mut self, index: u32) {
        let record = self.record_of(index as usize);
        let (process, returns) = (record.process, record.result.is_some());
        self.idle.push(process);
        if returns {
            let rank = self.event(Event::Return(index));
            self.record_of(index as usize).returned = rank;
        } else {
            self.event(Event::Leave(index));
        }
    }

    fn take_effect(&mut self, index: usize) -> Result<(), String> {
        if let Forgery::Alien(at) = self.forgery
            && index >= at.min(self.plan.operations - 1)
        {
            let forged = self.spec.alien(ALIEN).ok_or("no result is always wrong")?;
            self.forgery = Forgery::None;
            self.record(index, forged.0, Some(forged.1));
            return Ok(());
        }
        let (op, result) = self.choose(index)?;
        let pending =
            !matches!(self.forgery, Forgery::Wrong(_)) && self.rng.chance(self.plan.pending);
        if !pending || self.rng.chance(0.5) {
            let rng = &mut self.rng;
            self.spec.perform(&mut self.state, &op, &result, &mut |n| rng.below(n));
            match self.canonical.as_ref().and_then(|c| (c.action)(&op, Some(&result))) {
                Some(Action::Insert(_) | Action::Add(_)) => self.inside += 1,
                Some(Action::Remove(_) | Action::Delete(_)) => self.inside -= 1,
                _ => {}
            }
        }
        self.record(index, op, (!pending).then_some(result));
        Ok(())
    }

    fn record(&mut self, index: usize, op: B::Op, result: Option<Value>) {
        let record = self.record_of(index);
        record.op = Some(op);
        record.result = result;
    }

    /// An operation that does not block, and one of its results.
    fn choose(&mut self, index: usize) -> Result<(B::Op, Value), String> {
        // A set that is to hold many keys needs some that it does not hold.
        let few = FEW.max(2 * self.plan.occupancy as u64);
        for _ in 0..TRIES {
            let fresh =
                if self.plan.unique { index as u64 + 1 } else { self.rng.below(few) + 1 } as i64;
            let process = self.record_of(index).process;
            let rng = &mut self.rng;
            let mut pick = |n| rng.below(n);
            let simple = self.plan.simple;
            let op = self.spec.sample_by(process, simple, &self.state, &mut pick, fresh);
            if self.inside <= self.plan.occupancy
                && let Some(canonical) = &self.canonical
                && let Some(Action::RemoveUnknown | Action::Delete(_)) =
                    (canonical.action)(&op, None)
            {
                continue;
            }
            let mut results = self.spec.results(&self.state, &op);
            let chosen = match results.len() {
                0 => continue,
                1 => 0,
                n => self.rng.below(n as u64) as usize,
            };
            let result = results.swap_remove(chosen);
            if self.plan.empties || !result.is_nil() || !self.found_nothing(&op) {
                return Ok((op, result));
            }
        }
        Err(format!("operation {index}: no operation is possible"))
    }

    /// Whether nil means that a removal found nothing: the operation may change the state, but not
    /// with this result.
    fn found_nothing(&self, op: &B::Op) -> bool {
        self.spec.observes(op, Some(&Value::Nil)) && !self.spec.observes(op, None)
    }

    /// While no other operation runs, calls an operation that returns a wrong result.
    fn forge_wrong(&mut self) -> Result<(), String> {
        let index = self.call();
        for _ in 0..TRIES {
            let (op, result) = self.choose(index)?;
            let (rng, simple) = (&mut self.rng, self.plan.simple);
            let wrong = match self.spec.falsify(&op, &result, simple, &mut |n| rng.below(n)) {
                Some(wrong) => wrong,
                None => match result {
                    Value::Bool(b) => Value::Bool(!b),
                    Value::Int(n) => Value::Int(n.wrapping_add(1)),
                    _ => continue,
                },
            };
            let mut next = Vec::new();
            self.spec.step(&self.state, &op, Some(&wrong), &mut next);
            if next.is_empty() {
                self.forgery = Forgery::None;
                self.record(index, op, Some(wrong));
                self.open.clear();
                self.leave(index as u32);
                return Ok(());
            }
        }
        Err("no operation has a result that is certainly wrong".into())
    }
}
