//! Saturation as an engine of streams: sound at every return, and it forgets matches, but it may
//! miss a violation.
//!
//! [`crate::saturate`] explains the algorithm. Its numbers of operations, which are never reused,
//! are mapped to ours, which are. A set does not report lookups before they return, so it uses the
//! exact engine.

use std::collections::BTreeMap;

use super::{Clash, Engine, Id, Stop, Time, strange};
use crate::saturate::{self, Online, Saturate};
use crate::spec::{Action, Kind};
use crate::theory::{Method, Object};
use crate::value::Value;

pub(super) struct Saturated {
    monitor: Saturate,
    /// Our number of each remembered operation, by saturation's number, which ascend.
    ours: BTreeMap<u64, Id>,
    open: Vec<(Id, u64)>,
    next: u64,
    /// At this many operations, saturation is queried for those that it remembers.
    sweep_at: usize,
}

impl Saturated {
    pub(super) fn new(kind: Kind, initial: &[Value]) -> Result<Saturated, Stop> {
        let object = match kind {
            Kind::Queue => Object::Queue,
            Kind::Stack => Object::Stack,
            Kind::PriorityQueue => Object::PriorityQueue { smallest_first: false },
            Kind::MinPriorityQueue => Object::PriorityQueue { smallest_first: true },
            Kind::Register => Object::Register,
            Kind::Mutex if initial.is_empty() => Object::Lock,
            Kind::Set | Kind::Mutex | Kind::Snapshot => {
                let why = "saturation of streams knows no sets, no snapshots and no locks that are held at first";
                return Err(Stop::Unfit(format!("{why}: expected --algorithm exact")));
            }
        };
        let mut monitor = Saturate::new(object).forgetting();
        if !initial.is_empty() {
            monitor = monitor.holding(initial);
        }
        Ok(Saturated { monitor, ours: BTreeMap::new(), open: Vec::new(), next: 0, sweep_at: 1024 })
    }

    fn stop(&self, stop: saturate::Stop) -> Stop {
        match stop {
            saturate::Stop::Unfit(why) => Stop::Unfit(why),
            saturate::Stop::Exhausted(why) => Stop::Unfit(why.to_string()),
            saturate::Stop::Violation(violation) => {
                let ours = violation.operations.iter().filter_map(|number| self.ours.get(number));
                let mut clash = Clash::new(ours.copied());
                clash.partial = true;
                Stop::Clash(clash)
            }
        }
    }

    fn close(&mut self, id: Id) -> Option<u64> {
        let at = self.open.iter().rposition(|open| open.0 == id)?;
        Some(self.open.remove(at).1)
    }

    /// Drops the numbers of forgotten operations.
    fn sweep(&mut self) {
        if self.ours.len() < self.sweep_at {
            return;
        }
        if let Some((numbers, _)) = self.monitor.order() {
            self.ours.retain(|number, _| numbers.binary_search(number).is_ok());
        }
        self.sweep_at = 1024.max(2 * self.ours.len());
    }
}

impl Engine for Saturated {
    fn call(&mut self, id: Id, _at: Time, may: Option<&Action>) -> Result<(), Stop> {
        let (method, argument) = match may {
            Some(Action::Insert(value)) => (Method::Add, value.clone()),
            Some(Action::RemoveUnknown) => (Method::Remove, Value::Nil),
            Some(Action::Write(value)) => (Method::Write, value.clone()),
            Some(Action::Acquire) => (Method::Acquire, Value::Nil),
            Some(Action::Release) => (Method::Release, Value::Nil),
            None => (Method::Read, Value::Nil),
            Some(other) => return Err(strange(other)),
        };
        let number = self.next;
        self.next += 1;
        self.ours.insert(number, id);
        self.open.push((id, number));
        let called = self.monitor.call(number, method, &argument);
        called.map_err(|stop| self.stop(stop))
    }

    fn returns(&mut self, id: Id, _at: Time, action: &Action) -> Result<(), Stop> {
        let result = match action {
            Action::Remove(value) | Action::Read(value) => value.clone(),
            Action::FoundHeld => Value::Bool(false),
            Action::Insert(_)
            | Action::Write(_)
            | Action::FoundEmpty
            | Action::Acquire
            | Action::Release => Value::Nil,
            other => return Err(strange(other)),
        };
        let Some(number) = self.close(id) else { return Ok(()) };
        let returned = self.monitor.returned(number, &result);
        returned.map_err(|stop| self.stop(stop))?;
        self.sweep();
        Ok(())
    }

    fn unknown(&mut self, id: Id, _may: Option<&Action>) -> Result<(), Stop> {
        self.close(id);
        Ok(())
    }

    fn fails(&mut self, id: Id, _may: Option<&Action>) -> Result<(), Stop> {
        let Some(number) = self.close(id) else { return Ok(()) };
        let failed = self.monitor.failed(number);
        failed.map_err(|stop| self.stop(stop))
    }

    fn finish(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    fn mark(&self, keep: &mut dyn FnMut(Id)) {
        self.ours.values().copied().for_each(keep);
    }
}
