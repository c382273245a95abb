//! Runs a [`Program`] along the search, or along a random walk.

use std::ops::ControlFlow;

use trueline::rng::Rng;

use super::graph::Graph;
use super::program::{Program, Request};
use super::revisit::Search;
use super::walk;

/// Which thread makes the next event if several could. The choice does not affect the set of
/// graphs.
#[derive(Clone, Copy, Debug, Default)]
pub enum Turn {
    /// The first of them.
    #[default]
    First,
    /// The last of them.
    Last,
    /// One at random, by this seed.
    Random(u64),
}

/// How a graph ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All threads are over.
    Complete,
    /// Threads wait, each with the last value of the location that it waits at.
    Deadlock,
}

/// Counts of an exploration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Graphs in which all threads ended.
    pub complete: u64,
    /// Graphs in which threads wait for ever.
    pub deadlocks: u64,
    /// Graphs that were discarded at their end: an assumption failed, or a thread waits with a
    /// value that would eventually change.
    pub blocked: u64,
    /// Graphs that could not continue: two read-modify-writes read the same write.
    pub dead_ends: u64,
    /// The visitor ended it early.
    pub stopped: bool,
}

impl Summary {
    pub(super) fn count(&mut self, leaf: Leaf) {
        match leaf {
            Leaf::Visit(End::Complete) => self.complete += 1,
            Leaf::Visit(End::Deadlock) => self.deadlocks += 1,
            Leaf::Blocked => self.blocked += 1,
            Leaf::DeadEnd => self.dead_ends += 1,
        }
    }

    /// Adds the counts of another worker.
    pub(super) fn add(&mut self, other: &Summary) {
        self.complete += other.complete;
        self.deadlocks += other.deadlocks;
        self.blocked += other.blocked;
        self.dead_ends += other.dead_ends;
        self.stopped |= other.stopped;
    }
}

/// Visits every consistent RC11 graph of a program, each once.
///
/// The program must end: threads with endless loops are not cut off.
pub fn explore(
    program: &impl Program,
    turn: Turn,
    mut visit: impl FnMut(&Graph, End) -> ControlFlow<()>,
) -> Summary {
    let mut search = Search::new(program.threads());
    let (mut summary, mut turns) = (Summary::default(), Turns::new(turn));
    while search.begins() || search.advance() {
        let leaf = leaf(program, &mut search, &mut turns);
        summary.count(leaf);
        if let Leaf::Visit(end) = leaf
            && visit(search.graph(), end).is_break()
        {
            summary.stopped = true;
            break;
        }
    }
    summary
}

/// Draws one graph of a program. `None`: a thread waits for ever, or an assumption failed.
pub fn sample(program: &impl Program, seed: u64) -> Option<Graph> {
    let (mut rng, mut graph) = (Rng::new(seed), Graph::with_threads(program.threads()));
    loop {
        let mut able: Vec<u32> = (0..program.threads() as u32).collect();
        loop {
            if able.is_empty() {
                let over =
                    |thread| matches!(program.next(thread, &graph.answers(thread)), Request::End);
                return (0..program.threads()).all(over).then_some(graph);
            }
            let thread = able.swap_remove(rng.index(able.len()));
            let request = program.next(thread as usize, &graph.answers(thread as usize));
            let initial = || initial(program, &request);
            if walk::add(&mut graph, thread, request, initial, &mut rng) {
                break;
            }
        }
    }
}

fn initial(program: &impl Program, request: &Request) -> u64 {
    match request {
        Request::Read { location, .. }
        | Request::Write { location, .. }
        | Request::Update { location, .. } => program.initial(*location),
        _ => 0,
    }
}

/// How a run of the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// An execution.
    Visit(End),
    /// See [`Summary::blocked`].
    Blocked,
    /// See [`Summary::dead_ends`].
    DeadEnd,
}

/// Continues the threads from the graph of a search until none can continue.
pub(super) fn leaf(program: &impl Program, search: &mut Search, turns: &mut Turns) -> Leaf {
    if go_on(program, search, turns) { end_of(program, search.graph()) } else { Leaf::DeadEnd }
}

/// How a graph ends to which no thread can add anything.
fn end_of(program: &impl Program, graph: &Graph) -> Leaf {
    let mut end = End::Complete;
    for thread in 0..program.threads() {
        match waiting(graph, thread) {
            Some(true) => end = End::Deadlock,
            Some(false) => return Leaf::Blocked,
            None => match program.next(thread, &graph.answers(thread)) {
                Request::End => (),
                _ => return Leaf::Blocked,
            },
        }
    }
    Leaf::Visit(end)
}

/// Whether a thread waits, and if so, whether with the mo-last value.
fn waiting(graph: &Graph, thread: usize) -> Option<bool> {
    let last = graph.thread(thread).last().filter(|event| event.waits)?;
    let writes = graph.writes(last.location);
    Some(match writes.last() {
        Some(&write) => write == last.source,
        None => last.source.is_initial(),
    })
}

/// Continues the threads until none can continue. Returns false at a dead end.
fn go_on(program: &impl Program, search: &mut Search, turns: &mut Turns) -> bool {
    let request_of = |graph: &Graph, thread: usize| {
        if waiting(graph, thread).is_some() {
            return Request::Stuck;
        }
        program.next(thread, &graph.answers(thread))
    };
    if let Some(thread) = search.graph().unfinished()
        && !search.finish(thread)
    {
        return false;
    }
    let mut requests: Vec<Request> =
        (0..program.threads()).map(|thread| request_of(search.graph(), thread)).collect();
    while let Some(thread) = turns.next(&requests) {
        let request = requests[thread];
        let goes_on = search.add(thread as u32, request, || initial(program, &request))
            && (search.graph().unfinished().is_none() || search.finish(thread as u32));
        if !goes_on {
            return false;
        }
        requests[thread] = request_of(search.graph(), thread);
    }
    true
}

/// Chooses the next thread.
pub(super) struct Turns {
    turn: Turn,
    rng: Rng,
}

impl Turns {
    pub(super) fn new(turn: Turn) -> Turns {
        let seed = if let Turn::Random(seed) = turn { seed } else { 0 };
        Turns { turn, rng: Rng::new(seed) }
    }

    fn next(&mut self, requests: &[Request]) -> Option<usize> {
        let is_able = |request: &Request| !matches!(request, Request::Stuck | Request::End);
        match self.turn {
            Turn::First => requests.iter().position(is_able),
            Turn::Last => requests.iter().rposition(is_able),
            Turn::Random(_) => {
                let able: Vec<usize> =
                    (0..requests.len()).filter(|&thread| is_able(&requests[thread])).collect();
                (!able.is_empty()).then(|| *self.rng.choose(&able))
            }
        }
    }
}
