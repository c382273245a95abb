//! ENUMERATE: one order after the other.
//!
//! At every return all linear extensions of real time are tried until one satisfies the theory; the
//! solver checks each. With `c` the completions of pending operations are tried one by one, too;
//! without it the solver searches them. This is the baseline of the paper, and deliberately naive.
//!
//! Cost: one query per order; the number of orders is exponential in the operations that overlap.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::completions::{Completion, completions};
use super::ground::Ground;
use super::record::Record;
use super::solve::add_all;
use crate::budget::{Budget, Exhausted};
use crate::papers::Options;
use crate::papers::theory::Theory;
use crate::saturate::{INITIAL, Online, Stop};
use crate::theory::{Method, Object};
use crate::value::Value;

/// The checker. See the module.
pub struct Enumerate<'a> {
    theory: Arc<Theory>,
    /// See [`Options::completions`].
    completions: bool,
    budget: &'a Budget,
    record: Record,
    order: Vec<u64>,
}

impl<'a> Enumerate<'a> {
    /// A checker of an object that is initially empty, free, or nil. Of the options only
    /// [`Options::completions`] matters.
    pub fn new(object: Object, options: Options, budget: &'a Budget) -> Enumerate<'a> {
        Enumerate {
            theory: Arc::new(Theory::of(object)),
            completions: options.completions,
            budget,
            record: Record::new(object),
            order: Vec::new(),
        }
    }

    /// Sets the initial values, as [`crate::saturate::Saturate::holding`] does.
    pub fn holding(mut self, values: &[Value]) -> Enumerate<'a> {
        self.record.hold(values);
        self
    }

    /// The operations in an order that explains the history as of the last return.
    pub fn order(&self) -> &[u64] {
        &self.order
    }

    fn check(&self) -> Result<Option<Vec<u32>>, Exhausted> {
        let operations = &self.record.operations;
        let live: Vec<u32> =
            (0..operations.len() as u32).filter(|&x| !operations[x as usize].failed).collect();
        if !self.completions {
            return self.linearizations(&live, None);
        }
        for completion in completions(&self.record, &live) {
            self.budget.spend(1)?;
            if let Some(order) = self.linearizations(&live, Some(&completion))? {
                return Ok(Some(order));
            }
        }
        Ok(None)
    }

    fn linearizations(
        &self,
        live: &[u32],
        completion: Option<&Completion>,
    ) -> Result<Option<Vec<u32>>, Exhausted> {
        let mut ground = Ground::new(self.theory.clone(), false, self.budget);
        let places = add_all(&mut ground, &self.record, live, completion);
        ground.ground()?;
        let found = if self.theory.atomic {
            let mut sequence = Vec::new();
            match self.extend(&mut ground, &places, &mut sequence) {
                ControlFlow::Break(found) => found?,
                ControlFlow::Continue(()) => None,
            }
        } else {
            ground.solve(&[])?
        };
        Ok(found.map(|order| order.iter().map(|&x| places[x as usize]).collect()))
    }

    /// Appends, in turn, every operation whose predecessors are placed.
    fn extend(
        &self,
        ground: &mut Ground<'_>,
        places: &[u32],
        sequence: &mut Vec<u32>,
    ) -> ControlFlow<Result<Option<Vec<u32>>, Exhausted>> {
        if let Err(why) = self.budget.spend(1) {
            return ControlFlow::Break(Err(why));
        }
        if sequence.len() == places.len() {
            let mut assumptions = Vec::new();
            for (i, &x) in sequence.iter().enumerate() {
                assumptions
                    .extend(sequence[i + 1..].iter().filter_map(|&y| ground.assume_order(x, y)));
            }
            return match ground.solve(&assumptions) {
                Ok(None) => ControlFlow::Continue(()),
                found => ControlFlow::Break(found),
            };
        }
        let entry = |x: u32| &self.record.operations[places[x as usize] as usize];
        let left: Vec<u32> = (0..places.len() as u32).filter(|x| !sequence.contains(x)).collect();
        for &x in &left {
            if left.iter().any(|&y| entry(y).precedes(entry(x))) {
                continue;
            }
            sequence.push(x);
            self.extend(ground, places, sequence)?;
            sequence.pop();
        }
        ControlFlow::Continue(())
    }
}

impl Online for Enumerate<'_> {
    fn call(&mut self, operation: u64, method: Method, argument: &Value) -> Result<(), Stop> {
        self.record.call(operation, method, argument).map(drop)
    }

    fn returned(&mut self, operation: u64, result: &Value) -> Result<(), Stop> {
        self.record.returned(operation, result)?;
        match self.check() {
            Ok(Some(order)) => {
                let number = |&x: &u32| self.record.operations[x as usize].number;
                self.order = order.iter().map(number).filter(|&n| n < INITIAL).collect();
                Ok(())
            }
            Ok(None) => self.record.violation(operation),
            Err(why) => self.record.stop(Stop::Exhausted(why)),
        }
    }

    fn failed(&mut self, operation: u64) -> Result<(), Stop> {
        self.record.failed(operation).map(drop)
    }

    fn held(&self) -> usize {
        self.record.operations.len()
    }

    fn explains(&self) -> Option<&[u64]> {
        Some(&self.order)
    }
}
