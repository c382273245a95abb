//! Histories made to order: linearizable by construction, or with one violation planted.
//!
//! Simulates processes that call, take effect at a random moment on the sequential object, and return later.
//! What is called is decided when it takes effect, so nothing blocks for ever. Cost: O(1) an operation besides
//! the change of the state.

mod plant;
#[cfg(test)]
mod tests;

use crate::history::{Builder, Call, Error, History, Position};
use crate::rng::Rng;
use crate::spec::Builtin;
use crate::value::Value;

/// What kind of history to make. The same plan gives the same history, on every platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Number of operations.
    pub operations: usize,
    /// Number of processes.
    pub processes: usize,
    /// Where the random choices come from.
    pub seed: u64,
    /// Where to plant one violation: 0.0 near the start, 1.0 near the end. `None`: the history is linearizable.
    pub violation: Option<f64>,
    /// Share of the operations whose outcome stays unknown; half of these have an effect. Where a planted
    /// violation needs a known state, they start behind it.
    pub pending: f64,
    /// Removals may find nothing.
    pub empties: bool,
    /// Inserted and written values never repeat.
    pub unique: bool,
    /// 0.0: one operation at a time; 1.0: every process is always busy.
    pub overlap: f64,
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
        }
    }
}

/// Makes a history of this specification, which the history then names if there is a name. The error says why
/// there is none.
pub fn generate<B: Builtin>(spec: &B, plan: &Plan, name: Option<&str>) -> Result<History, String> {
    plan.validate()?;
    let run = match plan.violation {
        None => Run::simulate(spec, plan, Forgery::None)?,
        Some(depth) => plant::violation(spec, plan, depth)?,
    };
    run.history(spec, name).map_err(|e| e.message().to_string())
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

/// How a simulation falsifies a result. The operation is at the given index or a little behind.
#[derive(Clone, Copy, Debug)]
enum Forgery {
    None,
    /// A result that no state allows: see [`Builtin::alien`].
    Alien(usize),
    /// A result that is wrong in the one state that the object can be in: everything else is at rest and has a
    /// known outcome.
    Wrong(usize),
}

/// No value of a generated history is that large.
const ALIEN: i64 = 1 << 50;
/// Where values may repeat, there are so many.
const FEW: u64 = 8;
/// How often to try for an operation that fits.
const TRIES: usize = 10_000;

/// One operation of a simulated history.
struct Record<Op> {
    process: u32,
    /// `None` until it takes effect.
    op: Option<Op>,
    /// `None` where the outcome stays unknown.
    result: Option<Value>,
    call: u32,
    /// `u32::MAX` where it never returns.
    returned: u32,
}

impl<Op> Record<Op> {
    /// What was called. Every operation took effect when the simulation is over.
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
    run: Run<B::Op>,
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
        let mut simulation = Simulation {
            spec,
            plan,
            rng: Rng::new(plan.seed),
            state: spec.initial(),
            run: Run {
                records: Vec::with_capacity(plan.operations),
                events: Vec::with_capacity(2 * plan.operations),
            },
            idle: (0..plan.processes as u32).rev().collect(),
            open: Vec::new(),
            forgery,
        };
        simulation.go()?;
        Ok(simulation.run)
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

impl<B: Builtin> Simulation<'_, B> {
    fn go(&mut self) -> Result<(), String> {
        let busy = 1.0 + self.plan.overlap * (self.plan.processes - 1) as f64;
        loop {
            let called = self.run.records.len();
            let rest = matches!(self.forgery, Forgery::Wrong(at) if called >= at.min(self.plan.operations - 1));
            if rest && self.open.is_empty() {
                self.forge_wrong()?;
                continue;
            }
            let wanted = busy as usize + usize::from(self.rng.chance(busy.fract()));
            let more = called < self.plan.operations && !self.idle.is_empty() && !rest;
            if more && self.open.len() < wanted {
                self.call();
            } else if !self.open.is_empty() {
                self.advance()?;
            } else if !more {
                return Ok(());
            }
        }
    }

    fn call(&mut self) -> usize {
        let idle = self.rng.below(self.idle.len() as u64) as usize;
        let process = self.idle.swap_remove(idle);
        let index = self.run.records.len();
        let call = self.run.events.len() as u32;
        self.run.events.push(Event::Call(index as u32));
        self.open.push(index as u32);
        let (op, result, returned) = (None, None, u32::MAX);
        self.run.records.push(Record { process, op, result, call, returned });
        index
    }

    /// Some open operation takes effect or, if it did, returns.
    fn advance(&mut self) -> Result<(), String> {
        let at = self.rng.below(self.open.len() as u64) as usize;
        let index = self.open[at];
        if self.run.records[index as usize].op.is_none() {
            return self.take_effect(index as usize);
        }
        self.open.swap_remove(at);
        self.leave(index);
        Ok(())
    }

    fn leave(&mut self, index: u32) {
        let rank = self.run.events.len() as u32;
        let record = &mut self.run.records[index as usize];
        self.idle.push(record.process);
        if record.result.is_some() {
            record.returned = rank;
            self.run.events.push(Event::Return(index));
        } else {
            self.run.events.push(Event::Leave(index));
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
        }
        self.record(index, op, (!pending).then_some(result));
        Ok(())
    }

    fn record(&mut self, index: usize, op: B::Op, result: Option<Value>) {
        self.run.records[index].op = Some(op);
        self.run.records[index].result = result;
    }

    /// An operation that does not block, and one of its results.
    fn choose(&mut self, index: usize) -> Result<(B::Op, Value), String> {
        for _ in 0..TRIES {
            let fresh =
                if self.plan.unique { index as u64 + 1 } else { self.rng.below(FEW) + 1 } as i64;
            let rng = &mut self.rng;
            let op = self.spec.sample(&self.state, &mut |n| rng.below(n), fresh);
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

    /// True iff nil says that a removal found nothing: it may change the state, but not with this result.
    fn found_nothing(&self, op: &B::Op) -> bool {
        self.spec.observes(op, Some(&Value::Nil)) && !self.spec.observes(op, None)
    }

    /// While everything else is at rest, calls an operation that returns what is wrong.
    fn forge_wrong(&mut self) -> Result<(), String> {
        let index = self.call();
        for _ in 0..TRIES {
            let (op, result) = self.choose(index)?;
            let wrong = match result {
                Value::Bool(b) => Value::Bool(!b),
                Value::Int(n) => Value::Int(n.wrapping_add(1)),
                _ => continue,
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
