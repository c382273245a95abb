//! A monitor of a built-in specification: events as files spell them.

use super::Algorithm;
use super::monitor::{Monitor, Stopped, Tally, Violation};
use super::searched::Searched;
use crate::error::WatchError;
use crate::history::{Args, Call, Error, Event, History, Operation, Part, Position};
use crate::spec::{Builtin, Opaque, OpaqueOp};
use crate::value::Value;

/// Why a monitor stops, in the terms of a file.
pub type Ended = Stopped<Call, Value>;

/// Watches objects of a built-in specification. Made by
/// [`Named::watch`](crate::spec::Named::watch). It assigns the numbers of processes, methods and
/// objects.
pub struct Watch {
    spec: Opaque,
    judge: Box<dyn Judge>,
    methods: Vec<String>,
    /// The last call of each process, as the file spells it.
    called: Vec<Call>,
}

/// Why the decider stops.
pub(super) type Ends = Stopped<OpaqueOp, Value>;

/// The decider of a stream: the exact monitor, or the general search if there is none. See
/// [`Monitor`].
pub(super) trait Judge: Send {
    fn process(&mut self, name: Value) -> u32;
    fn object(&mut self, part: Part) -> Result<u32, WatchError>;
    fn is_open(&self, process: u32) -> bool;
    fn open_operation(&mut self, process: u32) -> Option<&OpaqueOp>;
    fn correct(&mut self, process: u32, op: OpaqueOp) -> Result<(), Ends>;
    fn event(
        &mut self,
        process: u32,
        event: Event<OpaqueOp, Value>,
        at: Position,
    ) -> Result<(), Ends>;
    fn decide_deferred(&mut self) -> Result<(), Ends>;
    fn finish(&mut self) -> Result<(), Ends>;
    fn tally(&self) -> Tally;
    fn algorithm(&self) -> &'static str;
}

impl Judge for Monitor<Opaque> {
    fn process(&mut self, name: Value) -> u32 {
        self.process(name)
    }

    fn object(&mut self, part: Part) -> Result<u32, WatchError> {
        self.object(part)
    }

    fn is_open(&self, process: u32) -> bool {
        self.is_open(process)
    }

    fn open_operation(&mut self, process: u32) -> Option<&OpaqueOp> {
        self.open_operation(process)
    }

    fn correct(&mut self, process: u32, op: OpaqueOp) -> Result<(), Ends> {
        self.correct(process, op)
    }

    fn event(
        &mut self,
        process: u32,
        event: Event<OpaqueOp, Value>,
        at: Position,
    ) -> Result<(), Ends> {
        self.event(process, event, at)
    }

    fn decide_deferred(&mut self) -> Result<(), Ends> {
        self.decide_deferred()
    }

    fn finish(&mut self) -> Result<(), Ends> {
        self.finish()
    }

    fn tally(&self) -> Tally {
        self.tally()
    }

    fn algorithm(&self) -> &'static str {
        self.algorithm()
    }
}

impl Watch {
    pub(crate) fn new(spec: Opaque, algorithm: Algorithm) -> Result<Watch, WatchError> {
        let monitor = Monitor::new(spec.clone())?.decided_by(algorithm);
        Ok(Watch::judged(spec, Box::new(monitor)))
    }

    /// By the general search.
    pub(crate) fn searched(spec: Opaque) -> Watch {
        let searched = Searched::new(spec.clone());
        Watch::judged(spec, Box::new(searched))
    }

    fn judged(spec: Opaque, judge: Box<dyn Judge>) -> Watch {
        Watch { spec, judge, methods: Vec::new(), called: Vec::new() }
    }

    /// The number of a new process.
    pub fn process(&mut self, name: Value) -> u32 {
        self.called.push(Call { method: 0, args: Args::None });
        self.judge.process(name)
    }

    /// The number of a new object.
    pub fn object(&mut self, part: Part) -> Result<u32, WatchError> {
        self.judge.object(part)
    }

    /// The number of a method.
    pub fn method(&mut self, name: &str) -> u32 {
        let known = self.methods.iter().position(|method| method == name);
        known.unwrap_or_else(|| {
            self.methods.push(name.to_string());
            self.methods.len() - 1
        }) as u32
    }

    /// The next event of the stream. After an error the monitor cannot continue, unless it is an
    /// error of the input.
    pub fn event(
        &mut self,
        process: u32,
        event: Event<Call, Value>,
        at: Position,
    ) -> Result<(), Ended> {
        let decoded = match event {
            Event::Call(object, call) => Event::Call(object, self.decode_call(process, call, at)?),
            Event::Return(result) => Event::Return(self.decode_result(process, result, at)?),
            Event::Fail => Event::Fail,
            Event::Unknown => Event::Unknown,
        };
        let told = self.judge.event(process, decoded, at);
        told.map_err(|stopped| self.ended(stopped))
    }

    fn decode_call(&mut self, process: u32, call: Call, at: Position) -> Result<OpaqueOp, Ended> {
        let method = &self.methods[call.method as usize];
        let decoded = self.spec.decode(method, call.args.as_slice(), None);
        let (op, _) = decoded.map_err(|why| Stopped::Input(Error::at(at, why)))?;
        if !self.judge.is_open(process) {
            self.called[process as usize] = call;
        }
        Ok(op)
    }

    fn decode_result(&mut self, process: u32, result: Value, at: Position) -> Result<Value, Ended> {
        // The monitor reports the error if there is no call.
        let Some(called) = self.judge.open_operation(process) else { return Ok(result) };
        let Call { method, args } = &self.called[process as usize];
        let method = &self.methods[*method as usize];
        let decoded = self.spec.decode_result(called, method, args.as_slice(), &result);
        let (other, result) = decoded.map_err(|why| Stopped::Input(Error::at(at, why)))?;
        // An acquire that returns false is a try_acquire: only the result shows which operation was
        // called, as in a file that is read to its end.
        if let Some(other) = other {
            self.judge.correct(process, other).map_err(|stopped| self.ended(stopped))?;
        }
        Ok(result)
    }

    /// No event has arrived for a while: decides what was deferred, as far as that is possible.
    pub fn decide_deferred(&mut self) -> Result<(), Ended> {
        self.judge.decide_deferred().map_err(|stopped| self.ended(stopped))
    }

    /// The stream is over.
    pub fn finish(&mut self) -> Result<(), Ended> {
        self.judge.finish().map_err(|stopped| self.ended(stopped))
    }

    /// The counts so far.
    pub fn tally(&self) -> Tally {
        self.judge.tally()
    }

    /// The name of the algorithm.
    pub fn algorithm(&self) -> &'static str {
        self.judge.algorithm()
    }

    fn ended(&self, stopped: Ends) -> Ended {
        match stopped {
            Stopped::Input(error) => Stopped::Input(error),
            Stopped::Unknown(why) => Stopped::Unknown(why),
            Stopped::Violation(violation) => {
                let Violation { history, outcome } = *violation;
                let history = self.spelled(&history);
                Stopped::Violation(Box::new(Violation { history, outcome }))
            }
        }
    }

    /// The operations as files spell them.
    fn spelled(&self, history: &History<OpaqueOp, Value>) -> History {
        let mut methods: Vec<String> = Vec::new();
        let mut operations = Vec::with_capacity(history.len());
        for o in history.operations() {
            let (method, args) = self.spec.encode(&o.op);
            let number = methods.iter().position(|m| m == method).unwrap_or_else(|| {
                methods.push(method.to_string());
                methods.len() - 1
            });
            let op = Call { method: number as u32, args: args.into() };
            operations.push(Operation {
                process: o.process,
                call: o.call,
                returned: o.returned,
                part: o.part,
                line: o.line,
                column: o.column,
                op,
                result: o.result.clone(),
            });
        }
        let processes = history.processes().to_vec();
        History::assemble(operations, processes, methods, history.parts().to_vec())
    }
}
