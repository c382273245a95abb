//! The bounded priority queue with its counts in one word, and its mutants.

use super::{Entry, Standing, mutant};
use crate::mutants::bounded_priority_queue::{Fault, Queue as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    BOUNDED_PRIORITY_QUEUE,
    mutant(
        BOUNDED_PRIORITY_QUEUE,
        "bounded-priority-queue-looks-through",
        "poll searches the bins, the best first, as in the bins of Shavit and Zemach",
        "poll() | insert(2) insert(1)",
        || Box::new(Mutant::new(Fault::LooksThrough)),
    ),
    mutant(
        BOUNDED_PRIORITY_QUEUE,
        "bounded-priority-queue-reserves-first",
        "insert reserves its room and is counted later: the queue is full before its values are there",
        "before insert(1); insert(2) | insert(3) poll()",
        || Box::new(Mutant::new(Fault::ReservesFirst)),
    ),
    mutant(
        BOUNDED_PRIORITY_QUEUE,
        "bounded-priority-queue-claims-blindly",
        "changes the counts without checking that they have not changed",
        "before insert(1); poll() | poll()",
        || Box::new(Mutant::new(Fault::ClaimsWithoutComparing)),
    ),
    mutant(
        BOUNDED_PRIORITY_QUEUE,
        "bounded-priority-queue-chooses-once",
        "poll chooses a bin once, and takes from it even if there is a better one meanwhile",
        "before insert(1); poll() | poll() insert(2) insert(1)",
        || Box::new(Mutant::new(Fault::ChoosesOnce)),
    ),
];

const BOUNDED_PRIORITY_QUEUE: Entry = Entry {
    name: "bounded-priority-queue",
    summary: "a bounded priority queue for a few priorities: a bin for each, and their counts in one word",
    standing: Standing::Correct,
    spec: "bounded-priority-queue:capacity=2",
    note: "values are their own priorities",
    alphabet: "insert(1) insert(2) poll() peek()",
    domain: &[0..=15],
    source: "Shavit, Zemach, Scalable concurrent priority queue algorithms, 1999, made linearizable",
    progress: "waits for an operation on the same priority that is half done",
    letter: "P",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::BoundedPriorityQueue::new(16, 2)),
    production: Some(|| Box::new(crate::BoundedPriorityQueue::new(16, 2))),
};
