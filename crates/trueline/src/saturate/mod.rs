//! Monitoring by saturation: what must hold is derived until a contradiction shows, and nothing is
//! ever guessed.
//!
//! The algorithm is SATURATE of Emmi, Enea and Hamza (Monitoring refinement via symbolic reasoning,
//! PLDI 2015), with corrected rules. Operations are ordered by real time; the rules of the object's
//! theory add what every linearization must have in common, by unit propagation on an order that is
//! kept transitively closed. A cycle is a violation, and final. The converse is not proven: that no
//! contradiction shows does not mean that the history is linearizable, and whoever says so must ask
//! an exact checker.
//!
//! Beyond the paper: an addition whose removal is not known yet gets a *virtual* removal ('later or
//! never'), and the Hall rule counts whether enough removals are pending to do what must have been
//! done already. Both are needed to see violations while operations are pending.
//!
//! [`Saturate`] is the monitor, [`Online`] what drives it. One file a concern: `order` keeps the
//! closed order, `matched` the operations and their matches, `rules` the theories, `hall` the
//! counting, `forget` the removal of matches; `keys` decides sets and `partners` exchangers, which
//! need no order.
//!
//! Cost: every pair of the order is looked at a constant number of times, so O(m^2) for `m`
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
    /// A monitor of an object that is empty, free, or holds nil at first.
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

    /// The object holds these values at first: oldest or bottom first, a register's one value, a
    /// set's keys. To be said before the first call.
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

    /// The remembered operations by their numbers, ascending, and whether the one at the first
    /// place must come before that at the second. `None` where the object is decided without an
    /// order.
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

/// Why an engine stops: the monitor adds where and when.
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

/// Somebody saw the effect of an operation that is known not to have happened.
const SEEN_BUT_FAILED: Why = Why::Broken("an operation failed, and another has seen its effect");

/// The driver told of a return without a call, or of a method that the object does not have.
fn unknown_operation(operation: u64) -> Why {
    Why::Unfit(format!("operation {operation} returned without a call"))
}

fn unknown_method(object: &str, method: Method) -> Why {
    Why::Unfit(format!("a {object} has no method {method:?}"))
}
