//! Monitoring by saturation: derives necessary facts until a contradiction appears, without
//! guessing.
//!
//! The algorithm is SATURATE of Emmi, Enea and Hamza (Monitoring refinement via symbolic reasoning,
//! PLDI 2015), with corrected rules. Operations are ordered by real time. The rules of the object's
//! theory add the facts that all linearizations share, by unit propagation on an order that is kept
//! transitively closed. A cycle is a violation, and final. The absence of a contradiction does not
//! prove that the history is linearizable; for that, use an exact checker.
//!
//! Beyond the paper: an addition whose removal is not known yet gets a *virtual* removal ('later or
//! never'), and the Hall rule counts whether enough removals are pending for what must already have
//! been done. Both are needed to find violations while operations are pending.
//!
//! [`Saturate`] is the monitor, [`Online`] the interface to drive it. One file per concern: `order`
//! keeps the closed order, `matched` the operations and their matches, `rules` the theories, `hall`
//! the counting, `forget` the removal of matches; `keys` decides sets and `partners` exchangers,
//! which need no order.
//!
//! Cost: every pair of the order is processed a constant number of times, so O(m^2) for `m`
//! remembered operations; with [`Saturate::forgetting`] `m` is bounded by the operations that
//! overlap or are unmatched.

mod forget;
mod hall;
mod keys;
mod matched;
mod online;
pub(crate) mod order;
mod partners;
mod rules;
#[cfg(test)]
mod tests;

pub use online::{Online, Stop, Violation};

use keys::Keys;
#[cfg(feature = "papers")]
pub(crate) use matched::INITIAL;
use matched::Matched;
use partners::Partners;

use crate::theory::{Method, Object};
use crate::value::Value;

/// The monitor. See the module.
#[derive(Clone, Debug)]
pub struct Saturate {
    engine: Engine,
    /// Events so far.
    step: u64,
    stopped: Option<Stop>,
}

#[derive(Clone, Debug)]
enum Engine {
    Matched(Box<Matched>),
    Keys(Keys),
    Partners(Partners),
}

impl Saturate {
    /// A monitor of an object that is initially empty, free, or nil.
    pub fn new(object: Object) -> Saturate {
        let engine = match object {
            Object::Set => Engine::Keys(Keys::default()),
            Object::Exchanger => Engine::Partners(Partners::default()),
            object => Engine::Matched(Box::new(Matched::new(object))),
        };
        let mut monitor = Saturate { engine, step: 0, stopped: None };
        if object == Object::Register {
            monitor = monitor.holding(&[Value::Nil]);
        }
        monitor
    }

    /// Sets the initial values: oldest or bottom first, a register's one value, a set's keys. Call
    /// it before the first call.
    pub fn holding(mut self, values: &[Value]) -> Saturate {
        let told = match &mut self.engine {
            Engine::Matched(engine) => engine.hold(values),
            Engine::Keys(engine) => {
                engine.hold(values);
                Ok(())
            }
            Engine::Partners(_) => Ok(()),
        };
        if let Err(why) = told {
            self.stopped = Some(self.stop(why, None));
        }
        self
    }

    /// Forgets matches once they cannot matter: the option `r` of the paper, with its waiting rule
    /// corrected.
    pub fn forgetting(mut self) -> Saturate {
        if let Engine::Matched(engine) = &mut self.engine {
            engine.forgets = true;
        }
        self
    }

    /// The remembered operations by their numbers, ascending, and whether the first argument's
    /// operation must come before the second's. `None` if the object is decided without an order.
    pub(crate) fn order(&self) -> Option<(Vec<u64>, impl Fn(usize, usize) -> bool + '_)> {
        let Engine::Matched(engine) = &self.engine else { return None };
        let slots = engine.slots();
        let numbers = slots.iter().map(|&(number, _)| number).collect();
        Some((numbers, move |x: usize, y: usize| engine.order.precedes(slots[x].1, slots[y].1)))
    }

    fn stop(&self, why: Why, operation: Option<u64>) -> Stop {
        match why {
            Why::Unfit(why) => Stop::Unfit(why),
            Why::Broken(reason) => {
                let mut operations = match &self.engine {
                    Engine::Matched(engine) => engine.numbers(),
                    Engine::Keys(engine) => engine.numbers(),
                    Engine::Partners(engine) => engine.numbers(),
                };
                operations.extend(operation);
                operations.sort_unstable();
                operations.dedup();
                let operation = operation.unwrap_or_default();
                Stop::Violation(Violation { operation, step: self.step, operations, reason })
            }
        }
    }

    fn answer(&mut self, told: Result<(), Why>, operation: u64) -> Result<(), Stop> {
        told.map_err(|why| {
            let stop = self.stop(why, Some(operation));
            self.stopped = Some(stop.clone());
            stop
        })
    }
}

impl Online for Saturate {
    fn call(&mut self, operation: u64, method: Method, argument: &Value) -> Result<(), Stop> {
        if let Some(stop) = &self.stopped {
            return Err(stop.clone());
        }
        self.step += 1;
        let told = match &mut self.engine {
            Engine::Matched(engine) => engine.call(operation, method, argument),
            Engine::Keys(engine) => engine.call(operation, method, argument),
            Engine::Partners(engine) => engine.call(operation, method, argument),
        };
        self.answer(told, operation)
    }

    fn returned(&mut self, operation: u64, result: &Value) -> Result<(), Stop> {
        if let Some(stop) = &self.stopped {
            return Err(stop.clone());
        }
        self.step += 1;
        let told = match &mut self.engine {
            Engine::Matched(engine) => engine.returned(operation, result),
            Engine::Keys(engine) => engine.returned(operation, result),
            Engine::Partners(engine) => engine.returned(operation, result),
        };
        self.answer(told, operation)
    }

    fn failed(&mut self, operation: u64) -> Result<(), Stop> {
        if let Some(stop) = &self.stopped {
            return Err(stop.clone());
        }
        self.step += 1;
        let told = match &mut self.engine {
            Engine::Matched(engine) => engine.failed(operation),
            Engine::Keys(engine) => engine.failed(operation),
            Engine::Partners(engine) => engine.failed(operation),
        };
        self.answer(told, operation)
    }

    fn held(&self) -> usize {
        match &self.engine {
            Engine::Matched(engine) => engine.held(),
            Engine::Keys(engine) => engine.held(),
            Engine::Partners(engine) => engine.held(),
        }
    }
}

/// Why an engine stops; the monitor adds the operation and the step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    Broken(&'static str),
    Unfit(String),
}

impl From<order::Cycle> for Why {
    fn from(_: order::Cycle) -> Why {
        Why::Broken("what its rules force to come first runs in a circle")
    }
}

/// An operation that is known not to have happened had an effect that was seen.
const SEEN_BUT_FAILED: Why = Why::Broken("an operation failed, and another has seen its effect");

/// The driver reported a return without a call, or a method that the object does not have.
fn unknown_operation(operation: u64) -> Why {
    Why::Unfit(format!("operation {operation} returned without a call"))
}

fn unknown_method(object: &str, method: Method) -> Why {
    Why::Unfit(format!("a {object} has no method {method:?}"))
}
