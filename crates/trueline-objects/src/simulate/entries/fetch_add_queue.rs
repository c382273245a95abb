//! The queue of segments with cells by fetch-and-add, and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, explored_only, mutant};
use crate::mutants::fetch_add_queue::{Fault, Queue as Mutant, RelaxedQueue};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    FETCH_ADD_QUEUE,
    mutant(
        FETCH_ADD_QUEUE,
        "fetch-add-queue-leaves-cell",
        "deq leaves an empty cell unchanged, and an enq fills it after the last deq",
        "enq(1) deq() | deq()",
        || Box::new(Mutant::new(Fault::LeavesCell)),
    ),
    mutant(
        FETCH_ADD_QUEUE,
        "fetch-add-queue-counts-backwards",
        "deq reads the number of enqueuers before the number of dequeuers",
        "before enq(1); deq() | enq(2) deq()",
        || Box::new(Mutant::new(Fault::CountsBackwards)),
    ),
    mutant(
        FETCH_ADD_QUEUE,
        "fetch-add-queue-numbers-in-two-steps",
        "enq takes its number with a read and a write",
        "enq(1) | enq(2); after deq() deq()",
        || Box::new(Mutant::new(Fault::NumbersInTwoSteps)),
    ),
    mutant(
        FETCH_ADD_QUEUE,
        "fetch-add-queue-gives-up",
        "deq returns nil when the cell of its number is empty",
        "enq(1) | enq(2) deq()",
        || Box::new(Mutant::new(Fault::GivesUp)),
    ),
    explored_only(mutant(
        FETCH_ADD_QUEUE,
        "fetch-add-queue-relaxed",
        "marks a cell as full with relaxed orderings: a race",
        "enq(1) | deq()",
        || Box::new(RelaxedQueue::new()),
    )),
];

const FETCH_ADD_QUEUE: Entry = Entry {
    name: "fetch-add-queue",
    summary: "a queue: a list of segments, here of two cells, which are assigned by fetch-and-add",
    standing: Standing::Correct,
    spec: "queue",
    note: "",
    alphabet: "enq(*) deq()",
    domain: ANY_NUMBERS,
    source: "Morrison, Afek, Fast concurrent queues for x86 processors, 2013; Ramalhete, Correia, FAAArrayQueue, 2016",
    progress: "lock-free",
    letter: "Q",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::FetchAddQueue::with_segments_of(2)),
    production: Some(|| Box::new(crate::FetchAddQueue::with_segments_of(2))),
};
