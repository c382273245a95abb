//! A monitor of a built-in specification whose type is hidden: events as files spell them.

use super::Algorithm;
use super::monitor::{Event, Monitor, Stopped, Tally, Violation};
use crate::error::WatchError;
use crate::history::{Args, Call, Error, History, Part, Position};
use crate::spec::Builtin;
use crate::value::Value;

/// Why a monitor does not go on, in the words of a file.
pub type Ended = Stopped<Call, Value>;

/// Watches objects of a built-in specification. Made by [`Named::watch`](crate::spec::Named::watch).
pub trait Watch: Send {
    /// The number of a new process.
    fn process(&mut self, name: Value) -> u32;
    /// The number of a new object.
    fn object(&mut self, part: Part) -> Result<u32, WatchError>;
    /// A process calls a method of an object.
    fn call(
        &mut self,
        process: u32,
        object: u32,
        method: &str,
        args: Args,
        at: Position,
    ) -> Result<(), Ended>;
    /// The open call of a process returns.
    fn returns(&mut self, process: u32, result: &Value, at: Position) -> Result<(), Ended>;
    /// The open call of a process is known not to have happened.
    fn fails(&mut self, process: u32, at: Position) -> Result<(), Ended>;
    /// The outcome of the open call of a process stays unknown.
    fn unknown(&mut self, process: u32, at: Position) -> Result<(), Ended>;
    /// Nothing has come for a while: decides what was put off, as far as that is possible.
    fn settle(&mut self) -> Result<(), Ended>;
    /// The stream is over.
    fn finish(&mut self) -> Result<(), Ended>;
    /// What was seen so far.
    fn tally(&self) -> Tally;
    /// The name of the algorithm.
    fn algorithm(&self) -> &'static str;
}

/// See [`Watch`].
pub(crate) struct Watched<B: Builtin> {
    spec: B,
    monitor: Monitor<B>,
    methods: Vec<String>,
    /// The last call of each process, as the file spells it.
    called: Vec<(u32, Args)>,
}

impl<B: Builtin> Watched<B> {
    pub(crate) fn new(spec: B, algorithm: Algorithm) -> Result<Watched<B>, WatchError> {
        let monitor = Monitor::new(spec.clone())?.decided_by(algorithm);
        Ok(Watched { spec, monitor, methods: Vec::new(), called: Vec::new() })
    }

    fn event(
        &mut self,
        process: u32,
        event: Event<B::Op, Value>,
        at: Position,
    ) -> Result<(), Ended> {
        let told = self.monitor.event(process, event, at);
        told.map_err(|stopped| self.ended(stopped))
    }

    fn ended(&self, stopped: Stopped<B::Op, Value>) -> Ended {
        match stopped {
            Stopped::Input(error) => Stopped::Input(error),
            Stopped::Unknown(why) => Stopped::Unknown(why),
            Stopped::Violation(violation) => {
                let Violation { history, outcome } = *violation;
                let history = spelled(&self.spec, &history);
                Stopped::Violation(Box::new(Violation { history, outcome }))
            }
        }
    }
}

impl<B: Builtin> Watch for Watched<B> {
    fn process(&mut self, name: Value) -> u32 {
        self.called.push((0, Args::None));
        self.monitor.process(name)
    }

    fn object(&mut self, part: Part) -> Result<u32, WatchError> {
        self.monitor.object(part)
    }

    fn call(
        &mut self,
        process: u32,
        object: u32,
        method: &str,
        args: Args,
        at: Position,
    ) -> Result<(), Ended> {
        let decoded = self.spec.decode(method, args.as_slice(), None);
        let (op, _) = decoded.map_err(|why| Stopped::Input(Error::at(at, why)))?;
        let number = match self.methods.iter().position(|m| m == method) {
            Some(number) => number,
            None => {
                self.methods.push(method.to_string());
                self.methods.len() - 1
            }
        };
        if !self.monitor.is_open(process) {
            self.called[process as usize] = (number as u32, args);
        }
        self.event(process, Event::Call(object, op), at)
    }

    fn returns(&mut self, process: u32, result: &Value, at: Position) -> Result<(), Ended> {
        let Some(called) = self.monitor.open_operation(process) else {
            // It will say what is wrong.
            return self.event(process, Event::Return(result.clone()), at);
        };
        let (method, args) = &self.called[process as usize];
        let method = &self.methods[*method as usize];
        let decoded = self.spec.decode_result(called, method, args.as_slice(), result);
        let (other, result) = decoded.map_err(|why| Stopped::Input(Error::at(at, why)))?;
        // An acquire that returns false is a try_acquire: only the result says what was called, as in a file that is
        // read to its end.
        if let Some(other) = other {
            self.monitor.correct(process, other).map_err(|stopped| self.ended(stopped))?;
        }
        self.event(process, Event::Return(result), at)
    }

    fn fails(&mut self, process: u32, at: Position) -> Result<(), Ended> {
        self.event(process, Event::Fail, at)
    }

    fn unknown(&mut self, process: u32, at: Position) -> Result<(), Ended> {
        self.event(process, Event::Unknown, at)
    }

    fn settle(&mut self) -> Result<(), Ended> {
        self.monitor.settle().map_err(|stopped| self.ended(stopped))
    }

    fn finish(&mut self) -> Result<(), Ended> {
        self.monitor.finish().map_err(|stopped| self.ended(stopped))
    }

    fn tally(&self) -> Tally {
        self.monitor.tally()
    }

    fn algorithm(&self) -> &'static str {
        self.monitor.algorithm()
    }
}

/// The operations as files spell them.
pub(super) fn spelled<B: Builtin>(spec: &B, history: &History<B::Op, Value>) -> History {
    let mut methods: Vec<String> = Vec::new();
    let mut operations = Vec::with_capacity(history.len());
    for o in history.operations() {
        let (method, args) = spec.encode(&o.op);
        let number = methods.iter().position(|m| m == method).unwrap_or_else(|| {
            methods.push(method.to_string());
            methods.len() - 1
        });
        let op = Call { method: number as u32, args: args.into() };
        operations.push(crate::history::Operation {
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
