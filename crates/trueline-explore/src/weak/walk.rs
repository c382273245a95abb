//! The sampler: a graph that grows at random.
//!
//! Each step draws a thread, a write that its read may read, or a place for its write. It reaches
//! every consistent graph with positive probability, and no other: events are added in an order
//! that extends sb and rf, and every restriction of a consistent graph is consistent. The
//! distribution is not uniform.

use trueline::rng::Rng;

use super::coherence;
use super::graph::{EventId, Graph, Kind};
use super::program::Request;
use super::psc;

/// Adds the event of a request, in a random consistent way. Returns false if the thread waits; the
/// graph is then unchanged.
pub(crate) fn add(
    graph: &mut Graph,
    thread: u32,
    request: Request,
    initial: impl FnOnce() -> u64,
    rng: &mut Rng,
) -> bool {
    match request {
        Request::Read { location, .. } | Request::Update { location, .. } => {
            let stamp = graph.stamp();
            let read = graph.add_read(thread, request, location, initial);
            if read_at_random(graph, read, rng) {
                return true;
            }
            graph.cut(stamp);
            false
        }
        Request::Write { location, .. } => {
            let write = graph.add_write(thread, request, location, initial);
            place_at_random(graph, write, rng)
        }
        Request::Fence(_) => {
            graph.add_other(thread, request);
            true
        }
        Request::Choice(count) => {
            let choice = graph.add_other(thread, request);
            graph.choose(choice, rng.below(count));
            true
        }
        Request::Stuck | Request::End => false,
    }
}

/// Draws the write that a read reads, among those with which it does not wait. Also adds the write
/// half of a read-modify-write.
fn read_at_random(graph: &mut Graph, read: EventId, rng: &mut Rng) -> bool {
    let mut sources = coherence::sources(graph, read);
    sources.retain(|&write| !graph.would_wait(read, write));
    while !sources.is_empty() {
        graph.set_source(read, sources.swap_remove(rng.index(sources.len())));
        let event = graph.event(read);
        let (is_half, stamp, location) = (event.is_half, event.stamp, event.location);
        if !psc::is_acyclic(graph) {
            continue;
        }
        if !is_half {
            return true;
        }
        let request = graph.event(read).request;
        let write = graph.add_write(read.thread, request, location, || unreachable!("known"));
        if place_at_random(graph, write, rng) {
            return true;
        }
        graph.cut(stamp);
    }
    false
}

/// Draws the place of a write. A store can always be the last in mo.
fn place_at_random(graph: &mut Graph, write: EventId, rng: &mut Rng) -> bool {
    debug_assert_eq!(graph.event(write).kind, Kind::Write);
    let mut positions = coherence::positions(graph, write, None);
    while !positions.is_empty() {
        graph.set_place(write, positions.swap_remove(rng.index(positions.len())));
        if psc::is_acyclic(graph) {
            return true;
        }
    }
    false
}
