//! The history so far, as both algorithms remember it.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::saturate::{INITIAL, Stop, Violation};
use crate::theory::{Label, Method, Object};
use crate::value::Value;

/// Calls and returns in order.
#[derive(Clone, Debug)]
pub(super) struct Record {
    object: Object,
    /// Those that were there at first, then by call.
    pub(super) operations: Vec<Entry>,
    places: HashMap<u64, u32, FixedState>,
    /// Events so far.
    step: u64,
    /// The same, including the additions of initial values.
    clock: u64,
    stopped: Option<Stop>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The driver's, or [`INITIAL`] and up.
    pub(super) number: u64,
    pub(super) label: Label,
    /// It is known not to have happened.
    pub(super) failed: bool,
    called: u64,
    returned: u64,
}

impl Entry {
    pub(super) fn is_pending(&self) -> bool {
        self.label.result.is_none()
    }

    /// Whether it returned before the other was called.
    pub(super) fn precedes(&self, other: &Entry) -> bool {
        self.returned < other.called
    }
}

impl Record {
    pub(super) fn new(object: Object) -> Record {
        let (operations, places) = (Vec::new(), HashMap::default());
        let mut record = Record { object, operations, places, step: 0, clock: 0, stopped: None };
        if object == Object::Register {
            record.hold(&[Value::Nil]);
        }
        record
    }

    /// Sets the initial content: consecutive additions.
    pub(super) fn hold(&mut self, values: &[Value]) {
        *self = Record { operations: Vec::new(), places: HashMap::default(), ..self.clone() };
        let register = self.object == Object::Register;
        let method = if register { Method::Write } else { Method::Add };
        for (value, number) in values.iter().zip(INITIAL..) {
            self.enter(number, method, value);
            self.leave(number, &Value::Nil);
        }
    }

    pub(super) fn object(&self) -> Object {
        self.object
    }

    /// The place of an operation.
    pub(super) fn place(&self, number: u64) -> Option<u32> {
        self.places.get(&number).copied()
    }

    /// Notes a call; its place.
    pub(super) fn call(
        &mut self,
        number: u64,
        method: Method,
        argument: &Value,
    ) -> Result<u32, Stop> {
        self.go_on()?;
        Ok(self.enter(number, method, argument))
    }

    /// Notes a return; its place.
    pub(super) fn returned(&mut self, number: u64, result: &Value) -> Result<u32, Stop> {
        self.go_on()?;
        match self.leave(number, result) {
            Some(place) => Ok(place),
            None => {
                self.stop(Stop::Unfit(format!("operation {number} returned without a call")))?;
                Ok(0)
            }
        }
    }

    /// Notes that an operation did not happen; its place.
    pub(super) fn failed(&mut self, number: u64) -> Result<u32, Stop> {
        self.go_on()?;
        match self.place(number) {
            Some(place) => {
                self.operations[place as usize].failed = true;
                Ok(place)
            }
            None => {
                self.stop(Stop::Unfit(format!("operation {number} failed without a call")))?;
                Ok(0)
            }
        }
    }

    fn go_on(&mut self) -> Result<(), Stop> {
        self.step += 1;
        self.stopped.clone().map_or(Ok(()), Err)
    }

    fn enter(&mut self, number: u64, method: Method, argument: &Value) -> u32 {
        self.clock += 1;
        let place = self.operations.len() as u32;
        let label = Label { method, argument: argument.clone(), result: None };
        self.places.insert(number, place);
        let (called, returned) = (self.clock, u64::MAX);
        self.operations.push(Entry { number, label, failed: false, called, returned });
        place
    }

    fn leave(&mut self, number: u64, result: &Value) -> Option<u32> {
        self.clock += 1;
        let place = self.place(number)?;
        let entry = &mut self.operations[place as usize];
        entry.label.result = Some(result.clone());
        entry.returned = self.clock;
        Some(place)
    }

    /// Ends it.
    pub(super) fn stop(&mut self, stop: Stop) -> Result<(), Stop> {
        self.stopped = Some(stop.clone());
        Err(stop)
    }

    /// Ends it: no order satisfies the theory.
    pub(super) fn violation(&mut self, operation: u64) -> Result<(), Stop> {
        let mut operations: Vec<u64> =
            self.operations.iter().map(|o| o.number).filter(|&n| n < INITIAL).collect();
        operations.sort_unstable();
        let reason = "no order of the operations satisfies the theory of the object";
        let step = self.step;
        self.stop(Stop::Violation(Violation { operation, step, operations, reason }))
    }
}
