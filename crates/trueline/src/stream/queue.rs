//! The queue, online: first in, first out.
//!
//! By [`crate::monitor::queue`] a complete history is a violation iff a removed value was never
//! inserted or is removed twice, an empty result is covered, or some a and b have enq(a) before
//! enq(b) and deq(b) before deq(a). Empty results are promises: see [`super::container`]. The last
//! rule is checked when deq(b) returns: every value a inside whose enqueue returned before that of
//! b was called must be taken by an open dequeue. So it gets a deadline: now. Later dequeues only
//! set later deadlines, so the first counts. Values get deadlines in the order of the returns of
//! their enqueues, so those with a deadline are the first of the list, and their deadlines ascend.
//!
//! **Found when** the return of a dequeue leaves more values with a deadline than open dequeues
//! that were called in time for them: without empty results that is the first prefix that is a
//! violation. With them it may be later, if deadlines and promises compete for the same open
//! dequeues: at the latest when these have returned, or at the end.
//!
//! **Kept**: values inside, open operations, waiting promises. A removed value is forgotten: as 'a'
//! it was dequeued in time, as 'b' it has set its deadlines.
//!
//! Cost: O(1) per operation, plus the number of open dequeues that overlap wrongly ordered values.

use super::container::{Contained, Container, NIL};
use super::{Clash, Id, NEVER, Stop, Time};
use crate::value::Value;

pub(super) struct Queue {
    container: Container,
    /// The first value inside that has no deadline.
    fresh: u32,
}

impl Queue {
    pub(super) fn new(initial: &[Value]) -> Result<Queue, Stop> {
        let container = Container::new(initial, false, false)?;
        let fresh = container.head;
        Ok(Queue { container, fresh })
    }

    /// See [`super::forgiving_engine`].
    pub(super) fn forgiving(lasts: bool) -> Result<Queue, Stop> {
        let mut queue = Queue::new(&[])?;
        queue.container.forgive(lasts);
        Ok(queue)
    }
}

impl Contained for Queue {
    fn container(&self) -> &Container {
        &self.container
    }

    fn container_mut(&mut self) -> &mut Container {
        &mut self.container
    }

    fn inserted(&mut self, place: u32) {
        if self.fresh == NIL {
            self.fresh = place;
        }
    }

    fn took(&mut self, id: Id, call: Time, at: Time, value: &Value) -> Result<(), Clash> {
        let fresh_next = match self.fresh {
            NIL => NIL,
            fresh => self.container.entry(fresh).next,
        };
        let Some(taken) = self.container.take(id, call, at, value)? else { return Ok(()) };
        // Initial values were inside before this value, and left before it.
        self.container.unknown_is_gone(at);
        if self.fresh == taken.place && taken.entry.returned != NEVER {
            self.fresh = fresh_next;
        }
        // Every value whose enqueue returned before this one's was called must be taken by now.
        let entry = &taken.entry;
        while self.fresh != NIL && self.container.entry(self.fresh).returned < entry.call {
            let next = self.container.entry(self.fresh).next;
            self.container.set_deadline(self.fresh, at, [entry.insert, id]);
            self.fresh = next;
        }
        Ok(())
    }

    fn found_empty(&mut self) {
        while self.fresh != NIL && self.container.entry(self.fresh).deadline != NEVER {
            self.fresh = self.container.entry(self.fresh).next;
        }
    }
}
