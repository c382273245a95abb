//! Weak memory: the search for all RC11 graphs of an abstract program, and the sampler, against known counts and against brute force.

mod litmus;
mod oracle;
mod program;
mod random;
mod requests;

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::ops::ControlFlow;

use program::Litmus;
use trueline_explore::weak::{End, Graph, Order, Summary, Turn, explore};

/// What an exploration found: each graph once, or it fails.
#[derive(Debug, Default)]
struct Found {
    graphs: HashSet<String>,
    outcomes: BTreeSet<String>,
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
        }
        ControlFlow::Continue(())
    });
    assert_eq!(summary.complete, found.graphs.len() as u64);
    Found { summary, ..found }
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
