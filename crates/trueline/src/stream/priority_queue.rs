//! The priority queue, online: largest (or smallest) first. Values are their own priorities, so
//! there are no ties.
//!
//! By [`crate::monitor::priority_queue`] a complete history is linearizable iff each removed value
//! was inserted and is removed once, each removal of x has a slot, at or after the call of x's
//! insert, that no cover of a higher value contains, and each empty result has one that no cover
//! contains. Both are promises: see [`super::container`], which also argues what is kept. Assigning
//! an open removal to a value y makes a promise of its own, about values above y. It is kept in the
//! slot for whose sake y had to leave, since nothing above the promised value, let alone above y,
//! is inside there.
//!
//! **Found when** a promise has no slot left, or too few open removals: usually at the return of
//! the removal itself, at the latest when the removals that were open then have returned, or at the
//! end.
//!
//! Cost: O(log n) per operation for n values inside, plus the number of higher values that overlap
//! the removal.

use super::container::{Contained, Container};
use super::{Clash, Id, Stop, Time};
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
    pub(super) fn forgiving(smallest_first: bool, lasts: bool) -> Result<PriorityQueue, Stop> {
        let mut queue = PriorityQueue::new(&[], smallest_first)?;
        queue.container.forgive(lasts);
        Ok(queue)
    }
}

impl Contained for PriorityQueue {
    fn container(&self) -> &Container {
        &self.container
    }

    fn container_mut(&mut self) -> &mut Container {
        &mut self.container
    }

    fn took(&mut self, id: Id, call: Time, at: Time, value: &Value) -> Result<(), Clash> {
        let Some(taken) = self.container.take(id, call, at, value)? else { return Ok(()) };
        let from = call.max(taken.entry.call);
        self.container.promise(id, taken.entry.insert, Some(value), from, at)
    }
}
