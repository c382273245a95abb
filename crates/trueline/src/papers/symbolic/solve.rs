//! SYMBOLIC: the solver searches orders, completions and matchings.
//!
//! Without options every return builds a new formula of the whole history. With `i` one formula
//! grows from return to return. With `r` the operations that saturation forgets are left out, and
//! the order that it derived for the others is kept: real time alone would lose what the forgotten
//! ones forced. A history that saturation itself refutes is refuted.
//!
//! Cost: a formula has as many instances as there are tuples of operations that fit an axiom, cubic
//! for containers; conflict-driven clause learning searches its satisfiability, exponential at
//! worst.

use std::sync::Arc;

use super::completions::{Completion, completions};
use super::ground::{Ground, Use};
use super::record::Record;
use crate::budget::{Budget, Exhausted};
use crate::papers::Options;
use crate::papers::theory::Theory;
use crate::saturate::{Online, Saturate, Stop};
use crate::theory::{Method, Object};
use crate::value::Value;

/// The checker. See the module.
pub struct Symbolic<'a> {
    theory: Arc<Theory>,
    options: Options,
    budget: &'a Budget,
    record: Record,
    /// The formula that grows.
    kept: Option<Ground<'a>>,
    /// Determines which operations to forget.
    saturate: Option<Saturate>,
    /// The operations that still count, by place, ascending.
    live: Vec<u32>,
    order: Vec<u64>,
}

impl<'a> Symbolic<'a> {
    /// A checker of an object that is initially empty, free, or nil.
    pub fn new(object: Object, options: Options, budget: &'a Budget) -> Symbolic<'a> {
        let mut checker = Symbolic {
            theory: Arc::new(Theory::of(object)),
            options,
            budget,
            record: Record::new(object),
            kept: None,
            saturate: options.removal.then(|| Saturate::new(object).forgetting()),
            live: Vec::new(),
            order: Vec::new(),
        };
        checker.start();
        checker
    }

    /// Sets the initial values, as [`Saturate::holding`] does.
    pub fn holding(mut self, values: &[Value]) -> Symbolic<'a> {
        self.record.hold(values);
        self.saturate = self.saturate.map(|saturate| saturate.holding(values));
        self.start();
        self
    }

    fn start(&mut self) {
        self.live = (0..self.record.operations.len() as u32).collect();
        if self.options.incremental {
            let mut kept = Ground::new(self.theory.clone(), true, self.budget);
            for (entry, place) in self.record.operations.iter().zip(0..) {
                kept.add(entry.label.clone(), |x| x < place, self.used());
            }
            self.kept = Some(kept);
        }
    }

    /// The operations in an order that explains the history as of the last return, without those
    /// that took no effect or were forgotten.
    pub fn order(&self) -> &[u64] {
        &self.order
    }

    /// How the effect of returned operations is asserted: for those that may be forgotten, not
    /// permanently.
    fn used(&self) -> Use {
        if self.options.removal { Use::Open } else { Use::Yes }
    }

    /// Takes over what saturation forgot and derived.
    fn forget(&mut self) {
        let Some((numbers, precedes)) = self.saturate.as_ref().and_then(Saturate::order) else {
            return;
        };
        let places: Vec<u32> =
            numbers.iter().filter_map(|&number| self.record.place(number)).collect();
        let mut live = places.clone();
        live.sort_unstable();
        if let Some(kept) = &mut self.kept {
            for &x in self.live.iter().filter(|x| live.binary_search(x).is_err()) {
                kept.forget(x);
            }
            for (i, &x) in places.iter().enumerate() {
                for (j, &y) in places.iter().enumerate() {
                    if precedes(i, j) {
                        kept.order(x, y);
                    }
                }
            }
        }
        drop(precedes);
        self.live = live;
    }

    fn check(&mut self) -> Result<Option<Vec<u32>>, Exhausted> {
        match (self.options.completions, self.kept.is_some()) {
            (false, true) => self.ask_kept(None),
            (false, false) => self.ask_anew(None),
            (true, kept) => {
                for completion in completions(&self.record, &self.live) {
                    self.budget.spend(1)?;
                    let completion = Some(&completion);
                    let found =
                        if kept { self.ask_kept(completion) } else { self.ask_anew(completion) };
                    if let Some(order) = found? {
                        return Ok(Some(order));
                    }
                }
                Ok(None)
            }
        }
    }

    /// Solves the growing formula.
    fn ask_kept(&mut self, completion: Option<&Completion>) -> Result<Option<Vec<u32>>, Exhausted> {
        let Some(kept) = &mut self.kept else { return Ok(None) };
        // Calls are added together at the next return.
        kept.ground()?;
        let mut assumptions = Vec::new();
        for &x in &self.live {
            if !self.record.operations[x as usize].is_pending() {
                assumptions.extend(kept.assume_used(x, true));
            }
        }
        for (x, result) in completion.into_iter().flatten() {
            assumptions.extend(kept.assume_used(*x, result.is_some()));
            if let Some(result) = result {
                assumptions.extend(kept.assume_answers(*x, result));
            }
        }
        kept.solve(&assumptions)
    }

    /// Builds and solves a new formula.
    fn ask_anew(&self, completion: Option<&Completion>) -> Result<Option<Vec<u32>>, Exhausted> {
        let mut ground = Ground::new(self.theory.clone(), false, self.budget);
        let places = add_all(&mut ground, &self.record, &self.live, completion);
        if let Some((numbers, precedes)) = self.saturate.as_ref().and_then(Saturate::order) {
            let place = |&number: &u64| {
                let place = self.record.place(number)?;
                places.iter().position(|&x| x == place).map(|x| x as u32)
            };
            let known: Vec<Option<u32>> = numbers.iter().map(place).collect();
            for (i, x) in known.iter().enumerate() {
                for (j, y) in known.iter().enumerate() {
                    if let (Some(x), Some(y), true) = (x, y, precedes(i, j)) {
                        ground.order(*x, *y);
                    }
                }
            }
        }
        ground.ground()?;
        let order = ground.solve(&[])?;
        Ok(order.map(|order| order.iter().map(|&x| places[x as usize]).collect()))
    }
}

/// Adds these operations, without those that a completion drops; returns the place of each. Pending
/// ones are open unless a completion decides them.
pub(super) fn add_all(
    ground: &mut Ground<'_>,
    record: &Record,
    live: &[u32],
    completion: Option<&Completion>,
) -> Vec<u32> {
    let mut places: Vec<u32> = Vec::new();
    for &x in live {
        let entry = &record.operations[x as usize];
        let mut label = entry.label.clone();
        let mut used = if entry.is_pending() { Use::Open } else { Use::Yes };
        if let Some(completion) = completion.filter(|_| entry.is_pending()) {
            match completion.iter().find(|(y, _)| *y == x) {
                Some((_, Some(result))) => label.result = Some(result.clone()),
                _ => continue,
            }
            used = Use::Yes;
        }
        let before = |y: u32| record.operations[places[y as usize] as usize].precedes(entry);
        ground.add(label, before, used);
        places.push(x);
    }
    places
}

impl Online for Symbolic<'_> {
    fn call(&mut self, operation: u64, method: Method, argument: &Value) -> Result<(), Stop> {
        let place = self.record.call(operation, method, argument)?;
        if let Some(saturate) = &mut self.saturate
            && let Err(stop) = saturate.call(operation, method, argument)
        {
            return self.record.stop(stop);
        }
        self.live.push(place);
        let Some(kept) = &mut self.kept else { return Ok(()) };
        let entry = &self.record.operations[place as usize];
        let before = |x: u32| self.record.operations[x as usize].precedes(entry);
        kept.add(entry.label.clone(), before, Use::Open);
        Ok(())
    }

    fn returned(&mut self, operation: u64, result: &Value) -> Result<(), Stop> {
        let place = self.record.returned(operation, result)?;
        if let Some(saturate) = &mut self.saturate {
            match saturate.returned(operation, result) {
                Ok(()) => {}
                Err(Stop::Violation(_)) => return self.record.violation(operation),
                Err(stop) => return self.record.stop(stop),
            }
        }
        let used = self.used();
        if let Some(kept) = &mut self.kept {
            kept.returned(place, result, used);
        }
        self.forget();
        match self.check() {
            Ok(Some(order)) => {
                let number = |&x: &u32| self.record.operations[x as usize].number;
                self.order =
                    order.iter().map(number).filter(|&n| n < crate::saturate::INITIAL).collect();
                Ok(())
            }
            Ok(None) => self.record.violation(operation),
            Err(why) => self.record.stop(Stop::Exhausted(why)),
        }
    }

    fn failed(&mut self, operation: u64) -> Result<(), Stop> {
        let place = self.record.failed(operation)?;
        self.live.retain(|&x| x != place);
        if let Some(kept) = &mut self.kept {
            kept.forget(place);
        }
        match self.saturate.as_mut().map(|saturate| saturate.failed(operation)) {
            Some(Err(Stop::Violation(_))) => self.record.violation(operation),
            Some(Err(stop)) => self.record.stop(stop),
            _ => Ok(()),
        }
    }

    fn held(&self) -> usize {
        self.live.len()
    }

    fn explains(&self) -> Option<&[u64]> {
        // Forgotten operations are not in the order.
        (!self.options.removal).then_some(&self.order)
    }
}
