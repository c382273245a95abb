//! The stuttering queue and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, mutant};
use crate::mutants::stuttering_queue::{Fault, Queue as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    STUTTERING_QUEUE,
    mutant(
        STUTTERING_QUEUE,
        "stuttering-queue-does-not-count",
        "deq does not count requests for a value: all concurrent callers get it",
        "before enq(1); deq() | deq() | deq()",
        || Box::new(Mutant::new(2, Fault::DoesNotCount)),
    ),
    mutant(
        STUTTERING_QUEUE,
        "stuttering-queue-counts-in-two-steps",
        "deq counts with a read and a write",
        "before enq(1); deq() | deq() | deq()",
        || Box::new(Mutant::new(2, Fault::CountsInTwoSteps)),
    ),
    mutant(
        STUTTERING_QUEUE,
        "stuttering-queue-moves-blindly",
        "deq moves the head without checking that it has not changed",
        "before enq(1) enq(2); deq() deq() deq() | deq(); after deq()",
        || Box::new(Mutant::new(2, Fault::MovesHeadWithoutComparing)),
    ),
    mutant(
        STUTTERING_QUEUE,
        "stuttering-queue-links-blindly",
        "enq links its node without checking whether another was linked there",
        "enq(1) deq() | enq(2) deq()",
        || Box::new(Mutant::new(2, Fault::LinksWithoutComparing)),
    ),
];

const STUTTERING_QUEUE: Entry = Entry {
    name: "stuttering-queue",
    summary: "a queue whose deq may return a value to two concurrent callers",
    standing: Standing::Correct,
    spec: "stuttering-queue:j=2",
    note: "",
    alphabet: "enq(*) deq()",
    domain: ANY_NUMBERS,
    source: "Wing, Gong, Testing and verifying concurrent objects, 1993; Michael, Scott, 1996",
    progress: "lock-free",
    letter: "Q",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::StutteringQueue::new(2)),
    production: Some(|| Box::new(crate::StutteringQueue::new(2))),
};
