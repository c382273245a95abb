//! The search: every consistent execution graph once.
//!
//! After 'Truly Stateless, Optimal Dynamic Partial Order Reduction' (Kokologiannakis, Marmanis,
//! Gladstein, Vafeiadis: POPL 2022). A graph grows by one event at a time. The search tries a read
//! with every write that it may read, and a write with every possible place. A write also
//! **revisits** each read of its location that does not come before it: the read then reads the
//! write, and the events added after the read are removed, unless the write needs them. Among all
//! graphs that differ only in what such a revisit removes, exactly one may revisit: the one in
//! which every removed event is *maximal*, as if it were added last.
//!
//! The search is iterative. A run takes the first alternative everywhere and keeps the others, each
//! with the event to which the graph must be cut. A revisit opens a frame with a graph of its own,
//! and the frame below continues when that one is done. So the program runs once for each complete
//! graph, and memory is polynomial in the size of a graph.
//!
//! **Dead ends**: two read-modify-writes cannot both read one write. The search tries the second
//! nevertheless, since its write may revisit the first. A program with neither read-modify-writes
//! nor waits has no dead ends.

use super::coherence;
use super::graph::{EventId, Graph, Kind};
use super::program::Request;
use super::psc;

/// An alternative still to be tried.
#[derive(Clone, Copy, Debug)]
enum Alternative {
    /// A read reads another write.
    Source(EventId, EventId),
    /// A write has another place.
    Place(EventId, usize),
    /// The environment chooses another number.
    Choice(EventId, u64),
    /// A read reads a write that was added later.
    Revisit(EventId, EventId),
}

/// A graph, and the alternatives of its events.
#[derive(Debug)]
struct Frame {
    graph: Graph,
    alternatives: Vec<Alternative>,
}

/// The search for all graphs of one program.
#[derive(Debug)]
pub(crate) struct Search {
    /// The last one is under way. There is always one.
    frames: Vec<Frame>,
    /// The program has not gone on from its first graph yet.
    is_new: bool,
}

impl Search {
    /// Begins with an empty graph.
    pub(crate) fn new(threads: usize) -> Search {
        let graph = Graph::with_threads(threads);
        Search { frames: vec![Frame { graph, alternatives: Vec::new() }], is_new: true }
    }

    /// Whether the program is to go on from the first graph: once.
    pub(crate) fn begins(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// Gives away part of the remaining work: the oldest frame, or the older half of the only one.
    pub(crate) fn split(&mut self) -> Option<Search> {
        let frame = if self.frames.len() > 1 {
            self.frames.remove(0)
        } else {
            let Frame { graph, alternatives } = self.frame();
            let half = alternatives.len() / 2;
            if half == 0 {
                return None;
            }
            Frame { graph: graph.clone(), alternatives: alternatives.drain(..half).collect() }
        };
        let is_empty = frame.alternatives.is_empty();
        (!is_empty).then(|| Search { frames: vec![frame], is_new: false })
    }

    /// The graph so far.
    pub(crate) fn graph(&self) -> &Graph {
        &self.frames.last().expect("there is always one").graph
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("there is always one")
    }

    /// Adds the event of a request. Returns false if the graph is a dead end.
    ///
    /// Afterwards, if [`Graph::unfinished`] names a thread, [`Search::finish`] must add the write
    /// half of its read-modify-write before any other event.
    pub(crate) fn add(
        &mut self,
        thread: u32,
        request: Request,
        initial: impl FnOnce() -> u64,
    ) -> bool {
        match request {
            Request::Read { location, .. } | Request::Update { location, .. } => {
                self.read(thread, request, location, initial);
                true
            }
            Request::Write { location, .. } => self.write(thread, request, location, initial),
            Request::Fence(_) => {
                self.frame().graph.add_other(thread, request);
                true
            }
            Request::Choice(count) => {
                let frame = self.frame();
                let choice = frame.graph.add_other(thread, request);
                let others = (1..count).rev().map(|k| Alternative::Choice(choice, k));
                frame.alternatives.extend(others);
                true
            }
            Request::Stuck | Request::End => unreachable!("the thread makes no event"),
        }
    }

    /// Adds the write half of a read-modify-write. False: the graph is a dead end.
    pub(crate) fn finish(&mut self, thread: u32) -> bool {
        let half = self.graph().thread(thread as usize).last().expect("a read half");
        let (request, location) = (half.request, half.location);
        self.write(thread, request, location, || unreachable!("it is known"))
    }

    fn read(
        &mut self,
        thread: u32,
        request: Request,
        location: usize,
        initial: impl FnOnce() -> u64,
    ) {
        let Frame { graph, alternatives } = self.frame();
        let read = graph.add_read(thread, request, location, initial);
        let mut sources = coherence::sources(graph, read);
        let last = sources.pop().expect("the mo-last write");
        // A thread that waits with an older value would wait for ever, since only a later write
        // revisits its read.
        let others = sources.into_iter().filter(|&write| !graph.would_wait(read, write));
        alternatives.extend(others.map(|write| Alternative::Source(read, write)));
        graph.set_source(read, last);
    }

    fn write(
        &mut self,
        thread: u32,
        request: Request,
        location: usize,
        initial: impl FnOnce() -> u64,
    ) -> bool {
        let Frame { graph, alternatives } = self.frame();
        let write = graph.add_write(thread, request, location, initial);
        for &read in &graph.place(write).reads {
            if may_revisit(graph, read, write) {
                alternatives.push(Alternative::Revisit(read, write));
            }
        }
        let mut positions = coherence::positions(graph, write, None);
        let Some(last) = positions.pop() else { return false };
        let others = positions.into_iter();
        alternatives.extend(others.map(|position| Alternative::Place(write, position)));
        let is_maximal = last == graph.place(write).writes.len();
        graph.set_place(write, last);
        is_maximal || psc::is_acyclic(graph)
    }

    /// Advances to the next graph from which the program is to continue. Returns false if there is
    /// none.
    pub(crate) fn advance(&mut self) -> bool {
        loop {
            match self.frame().alternatives.pop() {
                Some(alternative) if self.take(alternative) => return true,
                Some(_) => (),
                None if self.frames.len() == 1 => return false,
                None => {
                    self.frames.pop();
                }
            }
        }
    }

    /// Makes the alternative the current graph. Returns whether it is consistent.
    fn take(&mut self, alternative: Alternative) -> bool {
        let graph = &mut self.frame().graph;
        let (Alternative::Source(event, _)
        | Alternative::Place(event, _)
        | Alternative::Choice(event, _)
        | Alternative::Revisit(_, event)) = alternative;
        graph.cut(graph.event(event).stamp);
        match alternative {
            Alternative::Source(read, write) => graph.set_source(read, write),
            Alternative::Place(write, position) => graph.set_place(write, position),
            Alternative::Choice(choice, value) => {
                graph.choose(choice, value);
                return true;
            }
            Alternative::Revisit(read, write) => {
                self.revisit(read, write);
                return false;
            }
        }
        psc::is_acyclic(graph)
    }

    /// Opens the frame of a revisit, in which the places of the write are to be tried.
    fn revisit(&mut self, read: EventId, write: EventId) {
        let below = self.frame();
        let mut graph = below.graph.restricted(read, write);
        graph.set_source(read, write);
        let mut positions = coherence::positions(&graph, write, Some(read));
        if graph.event(read).waits {
            // All remaining writes are known: the read waits for ever unless its source is the last
            // of them.
            let last = graph.place(write).writes.len();
            positions.retain(|&position| position == last);
        }
        let places = positions.into_iter().map(|position| Alternative::Place(write, position));
        let frame = Frame { graph, alternatives: places.collect() };
        if frame.alternatives.is_empty() {
            return;
        }
        if below.alternatives.is_empty() {
            *below = frame;
        } else {
            self.frames.push(frame);
        }
    }
}

/// Whether a write may revisit a read: the write does not need the read, and everything that the
/// revisit changes or removes is maximal.
fn may_revisit(graph: &Graph, read: EventId, by: EventId) -> bool {
    let prefix = &graph.event(by).clocks.prefix;
    if prefix.knows(read) {
        return false;
    }
    let stamp = graph.event(read).stamp;
    let is_removed = |id: EventId, event_stamp: u32| {
        id == read || (event_stamp > stamp && id != by && !prefix.knows(id))
    };
    graph.events().all(|(id, event)| !is_removed(id, event.stamp) || is_maximal(graph, id, by))
}

/// Whether an event that a revisit by the write `by` removes is as it would be if it were added
/// again, later.
///
/// It reads the mo-last of the writes that came before it or that `by` needs. Or it is itself the
/// mo-last of them, and no earlier read reads it.
fn is_maximal(graph: &Graph, id: EventId, by: EventId) -> bool {
    let event = graph.event(id);
    let prefix = &graph.event(by).clocks.prefix;
    let is_before = |other: EventId| {
        let came = other.is_initial() || graph.event(other).stamp <= event.stamp;
        other != by && (came || prefix.knows(other))
    };
    let write = match event.kind {
        Kind::Fence => return true,
        Kind::Choice => return event.value == 0,
        Kind::Read => event.source,
        Kind::Write => id,
    };
    let place = graph.place(id);
    let is_read_early = |&read: &EventId| graph.event(read).source == id && is_before(read);
    if event.kind == Kind::Write && place.reads.iter().any(is_read_early) {
        return false;
    }
    let later = &place.writes[place.rank(write)..];
    is_before(write) && !later.iter().any(|&write| is_before(write))
}
