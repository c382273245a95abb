//! The priority queue without a bound, and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, mutant};
use crate::mutants::priority_queue::{Fault, Queue as Mutant};
use crate::shadowed;
use crate::shadowed::priority_queue::Tuning;

pub(super) const ENTRIES: &[Entry] = &[
    PRIORITY_QUEUE,
    mutant(
        PRIORITY_QUEUE,
        "priority-queue-marks-nodes",
        "a mark in the node means that it is taken, as in the queue of Lotan and Shavit without time stamps",
        "before insert(2); poll() | poll() insert(3) insert(1)",
        || Box::new(Mutant::new(Fault::MarksNodes)),
    ),
    mutant(
        PRIORITY_QUEUE,
        "priority-queue-marks-blindly",
        "poll marks a link without checking that it has not changed",
        "before insert(1); poll() | poll()",
        || Box::new(Mutant::new(Fault::MarksWithoutComparing)),
    ),
    mutant(
        PRIORITY_QUEUE,
        "priority-queue-links-blindly",
        "insert links its node without checking whether another was linked there meanwhile",
        "insert(1) poll() | insert(2) poll()",
        || Box::new(Mutant::new(Fault::LinksWithoutComparing)),
    ),
    mutant(
        PRIORITY_QUEUE,
        "priority-queue-cuts-too-far",
        "poll moves the head to the first remaining node: nodes linked behind the last taken one are lost",
        "before insert(1); poll() | insert(2) poll(); after poll()",
        || Box::new(Mutant::new(Fault::CutsTooFar)),
    ),
];

const PRIORITY_QUEUE: Entry = Entry {
    name: "priority-queue",
    summary: "an unbounded priority queue: a skip list whose front nodes are taken",
    standing: Standing::Correct,
    spec: "priority-queue",
    note: "",
    alphabet: "insert(1) insert(2) poll()",
    domain: ANY_NUMBERS,
    source: "Linden, Jonsson, A skiplist-based concurrent priority queue with minimal memory contention, 2013",
    progress: "lock-free",
    letter: "P",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::PriorityQueue::with_tuning(TUNING)),
    production: Some(|| Box::new(crate::PriorityQueue::<i64, i64>::new())),
};

/// Two levels, and cuts as soon as there is something to cut off, so that all of it is met in small
/// programs. The seed gives the first nodes of process 0 the heights 2, 1, 2, those of process 1
/// the heights 2, 1, 1, those of process 2 the heights 1, 2, 1 and those of process 3 the heights
/// 2, 1.
const TUNING: Tuning = Tuning { prefix: 1, batch: 64, levels: 2, seed: 4393 };
