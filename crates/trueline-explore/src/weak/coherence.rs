//! Which writes a read may read, and where a write may be placed: the axioms COHERENCE and
//! ATOMICITY, step by step.
//!
//! The **floor** of a thread at a location is the mo-last write that happens before its next event,
//! directly or through a read of that write. A read reads the floor or a later write. A write is
//! placed after the floor, but not between a read-modify-write and the write that it read. There
//! are no other restrictions, because a new event happens before no other.

use super::clocks::Clock;
use super::graph::{EventId, Graph, Place};

/// The rank in mo of the last write that is in a clock, or is read by a read in it.
fn floor(graph: &Graph, place: &Place, clock: &Clock) -> usize {
    let known = |event: &EventId| clock.knows(*event);
    let written = place.writes.iter().rposition(known).map_or(0, |index| index + 1);
    let read = place.reads.iter().filter(|read| known(read));
    let read = read.map(|&read| place.rank(graph.event(read).source)).max();
    written.max(read.unwrap_or(0))
}

/// The floor of an event's thread just before the event, at the event's location, as a rank in mo.
fn floor_before(graph: &Graph, event: EventId) -> usize {
    floor(graph, graph.place(event), &graph.clocks_before(event).happens_before)
}

/// The writes that the last event of a thread may read, in mo order. The last of them is the
/// mo-last.
pub(super) fn sources(graph: &Graph, read: EventId) -> Vec<EventId> {
    let place = graph.place(read);
    (floor_before(graph, read)..=place.writes.len()).map(|rank| place.at(rank)).collect()
}

/// The possible places of a write that has none yet, as numbers of writes before it, in ascending
/// order. `reader`: a read that already reads it.
pub(super) fn positions(graph: &Graph, write: EventId, reader: Option<EventId>) -> Vec<usize> {
    let place = graph.place(write);
    let known = floor_before(graph, write);
    let lowest = reader.map_or(known, |read| known.max(floor_before(graph, read)));
    let splits = |&position: &usize| {
        place.writes.get(position).is_some_and(|&next| graph.event(next).is_half)
    };
    if graph.event(write).is_half {
        let before = EventId { index: write.index - 1, ..write };
        let position = place.rank(graph.event(before).source);
        return Some(position).filter(|p| *p >= lowest && !splits(p)).into_iter().collect();
    }
    (lowest..=place.writes.len()).filter(|position| !splits(position)).collect()
}
