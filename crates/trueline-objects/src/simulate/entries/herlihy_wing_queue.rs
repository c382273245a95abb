//! Herlihy and Wing's queue and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, Wait, mutant};
use crate::mutants::herlihy_wing_queue::{Fault, Queue as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    HERLIHY_WING_QUEUE,
    mutant(
        IN_WORDS,
        "herlihy-wing-queue-rereads",
        "deq reads the number of reserved places again, and may miss a value: Wing and Gong, section 3.2.2",
        "enq(1) enq(2) | deq()",
        || Box::new(Mutant::new(Fault::RereadsRange)),
    ),
    mutant(
        IN_WORDS,
        "herlihy-wing-queue-shares-places",
        "enq reserves its place with a read and a write",
        "enq(1) deq() | enq(2) deq()",
        || Box::new(Mutant::new(Fault::ReservesInTwoSteps)),
    ),
    mutant(
        IN_WORDS,
        "herlihy-wing-queue-takes-twice",
        "deq empties a place with a read and a write",
        "enq(1) deq() | deq()",
        || Box::new(Mutant::new(Fault::TakesInTwoSteps)),
    ),
];

const HERLIHY_WING_QUEUE: Entry = Entry {
    name: "herlihy-wing-queue",
    summary: "a queue in an unbounded array: enq reserves a place, then fills it",
    standing: Standing::Correct,
    spec: "queue",
    note: "deq waits while there is nothing",
    alphabet: "enq(*) deq()",
    domain: ANY_NUMBERS,
    source: "Herlihy, Wing, Linearizability: a correctness condition for concurrent objects, 1990",
    progress: "enq wait-free; deq waits on an empty queue, otherwise lock-free",
    letter: "Q",
    waiting: &[Wait::ForResult("deq")],
    rule: None,
    stress_rule: Some(takes_what_it_brought),
    shadowed: || Box::new(shadowed::HerlihyWingQueue::new()),
    production: Some(|| Box::new(crate::HerlihyWingQueue::new())),
};

/// The mutants store their values in words; the least number means that the place is empty.
const IN_WORDS: Entry = Entry { domain: &[i64::MIN + 1..=i64::MAX], ..HERLIHY_WING_QUEUE };

/// A process enqueues at least as many values as it dequeues. If all do, there is a value for each
/// that waits.
pub(super) fn takes_what_it_brought(methods: &[&str]) -> Result<(), String> {
    let mut brought = 0;
    for &method in methods {
        brought += if method == "enq" { 1 } else { -1 };
        if brought < 0 {
            return Err("a process that takes more than it brought may wait for ever".into());
        }
    }
    Ok(())
}
