//! Weak memory: the search for all RC11 graphs of an abstract program, and the sampler, against
//! known counts and against brute force.

mod litmus;
mod oracle;
mod program;
mod random;
mod requests;

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Mutex;

use program::Litmus;
use trueline_explore::weak::{
    End, EventId, Graph, Kind, Order, Summary, Turn, explore, explore_with_workers,
};

/// What an exploration found: each graph once, or it fails.
#[derive(Debug, Default)]
struct Found {
    graphs: HashSet<String>,
    outcomes: BTreeSet<String>,
    /// How many of the graphs are sequentially consistent, by the order of their steps.
    sequential: usize,
    race: bool,
    summary: Summary,
}

#[track_caller]
fn all_graphs(litmus: &Litmus, turn: Turn) -> Found {
    let mut found = Found::default();
    let summary = explore(litmus, turn, |graph, end| {
        if end == End::Complete {
            let is_new = found.graphs.insert(name(graph));
            assert!(is_new, "twice: {}", name(graph));
            found.outcomes.insert(outcome(litmus, graph));
            found.race |= graph.race().is_some();
            check_steps(graph);
            found.sequential += usize::from(graph.is_sequentially_consistent());
        }
        ControlFlow::Continue(())
    });
    assert_eq!(summary.complete, found.graphs.len() as u64);
    Found { summary, ..found }
}

/// The steps must be all events, in an order that extends sb and rf, with the halves of a
/// read-modify-write next to each other. A step is late exactly if a write that is later in mo came
/// before.
#[track_caller]
fn check_steps(graph: &Graph) {
    let steps = graph.steps();
    let mut shown: Vec<EventId> = Vec::new();
    for step in &steps {
        let event = graph.event(step.event);
        let before = EventId { index: step.event.index.wrapping_sub(1), ..step.event };
        assert!(step.event.index == 0 || shown.contains(&before));
        if event.kind == Kind::Write && event.is_half {
            assert_eq!(shown.last(), Some(&before));
        }
        if event.kind == Kind::Read {
            assert!(event.source.is_initial() || shown.contains(&event.source));
        }
        let writes = graph.writes(event.location);
        let at = if event.kind == Kind::Read { event.source } else { step.event };
        let later = match writes.iter().position(|&write| write == at) {
            Some(position) => &writes[position + 1..],
            None => writes,
        };
        let is_access = matches!(event.kind, Kind::Read | Kind::Write);
        let missed = later.iter().rfind(|write| is_access && shown.contains(write));
        assert_eq!(step.missed.as_ref(), missed);
        shown.push(step.event);
    }
    assert_eq!(steps.len(), graph.events().count());
}

/// As [`all_graphs`], with several workers: their graphs.
#[track_caller]
fn graphs_of_workers(litmus: &Litmus, workers: usize) -> HashSet<String> {
    let graphs = Mutex::new(HashSet::new());
    let summary = explore_with_workers(litmus, Turn::First, workers, |graph, end| {
        if end == End::Complete {
            assert!(graphs.lock().unwrap().insert(name(graph)), "twice: {}", name(graph));
        }
        ControlFlow::Continue(())
    });
    let graphs = graphs.into_inner().unwrap();
    assert_eq!(summary.complete, graphs.len() as u64);
    graphs
}

/// The graph itself, without the order in which it was built.
fn name(graph: &Graph) -> String {
    let mut name = String::new();
    for thread in 0..graph.threads() {
        for event in graph.thread(thread) {
            let (kind, location, order) = (event.kind, event.location, event.order);
            let (value, source, half) = (event.value, event.source, event.is_half);
            write!(name, "{kind:?} {location} {order:?} {value} {source:?} {half}, ").unwrap();
        }
        name.push_str("| ");
    }
    let mut locations: Vec<usize> = graph.locations().collect();
    locations.sort_unstable();
    for location in locations {
        write!(name, "{location}: {:?} ", graph.writes(location)).unwrap();
    }
    name
}

fn outcome(litmus: &Litmus, graph: &Graph) -> String {
    let registers: Vec<_> = (0..litmus.threads.len())
        .map(|thread| litmus.run(thread, &graph.answers(thread)).1)
        .collect();
    let last = |location: char| {
        let write = graph.writes(location as usize).last();
        write.map_or(0, |&write| graph.event(write).value as i64)
    };
    litmus.outcome(&registers, last)
}

/// The program with every ordering SeqCst.
fn sequential(litmus: &Litmus) -> Litmus {
    litmus.with_orders(|_, _, _| Order::SeqCst)
}
