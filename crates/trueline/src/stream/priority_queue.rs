//! The priority queue, online: largest (or smallest) first. Values are their own priorities, so there are no ties.
//!
//! By [`crate::monitor::priority_queue`] a complete history is linearizable iff no value comes from nowhere or twice,
//! each removal of x has a slot, at or after the call of x's insert, that no cover of a higher value contains, and each
//! empty result has one that no cover contains. Both are promises: see [`super::container`], which also argues what is
//! kept. That an open removal is dealt to a value y makes a promise of its own, about what is above y; it is kept in
//! the slot for whose sake y had to leave, since there nothing above the promised value, let alone above y, is inside.
//!
//! **Found when** a promise has no slot left, or not enough open removals: mostly at the return of the removal itself,
//! at the latest when the removals that were open then have returned, or at the end.
//!
//! Cost: O(log n) an operation for n values inside, plus the number of higher values that overlap the removal.

use super::container::Container;
use super::{Clash, Engine, Id, Stop, Time, strange};
use crate::spec::Action;
use crate::value::Value;

pub(super) struct PriorityQueue {
    container: Container,
}

impl PriorityQueue {
    pub(super) fn new(initial: &[Value], smallest_first: bool) -> Result<PriorityQueue, Stop> {
        let mut sorted = initial.to_vec();
        sorted.sort();
        Ok(PriorityQueue { container: Container::new(&sorted, true, smallest_first)? })
    }

    /// See [`super::forgiving_engine`].
    pub(super) fn forgiving(smallest_first: bool) -> Result<PriorityQueue, Stop> {
        let mut queue = PriorityQueue::new(&[], smallest_first)?;
        queue.container.forgive();
        Ok(queue)
    }

    fn took(&mut self, id: Id, call: Time, at: Time, value: &Value) -> Result<(), Clash> {
        let Some(taken) = self.container.take(id, call, at, value)? else { return Ok(()) };
        let from = call.max(taken.entry.call);
        self.container.promise(id, taken.entry.insert, Some(value), from, at)
    }
}

impl Engine for PriorityQueue {
    fn call(&mut self, id: Id, at: Time, may: Option<&Action>) -> Result<(), Stop> {
        match may {
            Some(Action::Insert(value)) => self.container.insert_called(id, at, value),
            Some(Action::RemoveUnknown) | None => {
                self.container.removal_called(id, at, may.is_some());
                Ok(())
            }
            Some(other) => Err(strange(other)),
        }
    }

    fn returns(&mut self, id: Id, at: Time, action: &Action) -> Result<(), Stop> {
        match action {
            Action::Insert(value) => return self.container.insert_returned(at, value).map(drop),
            Action::Remove(value) => {
                let call = self.container.removal_closed(id);
                self.took(id, call, at, value)?;
            }
            Action::FoundEmpty => {
                let call = self.container.removal_closed(id);
                self.container.promise(id, super::NONE, None, call, at)?;
            }
            other => return Err(strange(other)),
        }
        Ok(self.container.look_again()?)
    }

    fn unknown(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        self.container.unknown(id, may)
    }

    fn fails(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        self.container.fails(id, may)
    }

    fn finish(&mut self) -> Result<(), Stop> {
        self.container.finish()
    }

    fn mark(&self, keep: &mut dyn FnMut(Id)) {
        self.container.mark(keep);
    }
}
