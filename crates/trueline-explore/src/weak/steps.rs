//! The events of a graph in an order that is easy to follow.
//!
//! The order extends sb and rf, and the halves of a read-modify-write are adjacent. A step is
//! **late** if a write that is later in mo was shown before it: a read of an old value, or a write
//! that takes effect before one that was already shown. A graph is sequentially consistent exactly
//! if it has an order without late steps. Then this order has none: it takes steps that make no
//! other step late as long as there are such steps. Otherwise it takes the step that makes the
//! fewest others late, which need not give the smallest total.

use super::graph::{EventId, Graph, Kind};

/// An event as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which one.
    pub event: EventId,
    /// The mo-last write of its location that was shown before, if the step is late: a read missed
    /// it, a write comes before it.
    pub missed: Option<EventId>,
}

impl Graph {
    /// All events, in an order that extends sb and rf, and with no late step if the graph is
    /// sequentially consistent.
    pub fn steps(&self) -> Vec<Step> {
        let mut shown = Shown { graph: self, counts: vec![0; self.threads()], steps: Vec::new() };
        while let Some(event) = shown.next() {
            shown.show(event);
            // The other half of a read-modify-write, if it is there.
            if self.event(event).kind == Kind::Read && self.event(event).is_half {
                let half = EventId { index: event.index + 1, ..event };
                if (half.index as usize) < self.thread(half.thread as usize).len() {
                    shown.show(half);
                }
            }
        }
        shown.steps
    }

    /// Whether an interleaving in which each read reads the last write gives this graph.
    pub fn is_sequentially_consistent(&self) -> bool {
        self.steps().iter().all(|step| step.missed.is_none())
    }
}

/// The steps shown so far.
struct Shown<'a> {
    graph: &'a Graph,
    /// How many events of each thread.
    counts: Vec<u32>,
    steps: Vec<Step>,
}

impl Shown<'_> {
    fn has(&self, event: EventId) -> bool {
        event.is_initial() || event.index < self.counts[event.thread as usize]
    }

    fn show(&mut self, event: EventId) {
        let missed = self.missed(event);
        self.steps.push(Step { event, missed });
        self.counts[event.thread as usize] += 1;
    }

    /// The step that may come next and makes the fewest steps late, including itself.
    fn next(&self) -> Option<EventId> {
        let threads = 0..self.graph.threads() as u32;
        let pending = threads.filter_map(|thread| {
            let event = EventId { thread, index: self.counts[thread as usize] };
            let record = self.graph.thread(thread as usize).get(event.index as usize)?;
            let is_ready = record.kind != Kind::Read || self.has(record.source);
            is_ready.then_some(event)
        });
        pending.min_by_key(|&event| self.makes_late(event))
    }

    /// The write in mo that belongs to an event: itself, or the one that it reads.
    fn rank(&self, event: EventId) -> usize {
        let place = self.graph.place(event);
        let record = self.graph.event(event);
        place.rank(if record.kind == Kind::Read { record.source } else { event })
    }

    fn missed(&self, event: EventId) -> Option<EventId> {
        if !matches!(self.graph.event(event).kind, Kind::Read | Kind::Write) {
            return None;
        }
        let later = &self.graph.place(event).writes[self.rank(event)..];
        later.iter().copied().rfind(|&write| self.has(write))
    }

    /// How many steps become late if this one comes next: itself, and those that its write
    /// overtakes.
    fn makes_late(&self, event: EventId) -> usize {
        let own = usize::from(self.missed(event).is_some());
        let record = self.graph.event(event);
        let write = match record.kind {
            Kind::Write => event,
            Kind::Read if record.is_half => EventId { index: event.index + 1, ..event },
            _ => return own,
        };
        if write.index as usize >= self.graph.thread(write.thread as usize).len() {
            return own;
        }
        let (place, rank) = (self.graph.place(write), self.rank(write));
        let is_left = |&other: &EventId| {
            other != event && other != write && !self.has(other) && self.rank(other) < rank
        };
        own + place.writes.iter().chain(&place.reads).filter(|other| is_left(other)).count()
    }
}
