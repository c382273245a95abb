//! Michael and Scott's queue and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, explored_only, mutant};
use crate::mutants::michael_scott_queue::{Fault, HastyQueue, Queue as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    MICHAEL_SCOTT_QUEUE,
    mutant(
        MICHAEL_SCOTT_QUEUE,
        "michael-scott-queue-links-blindly",
        "enq links its node without checking whether another was linked there",
        "enq(1) deq() | enq(2) deq()",
        || Box::new(Mutant::new(Fault::LinksWithoutComparing)),
    ),
    mutant(
        MICHAEL_SCOTT_QUEUE,
        "michael-scott-queue-moves-blindly",
        "deq moves the head without checking that it has not changed",
        "enq(1) deq() | deq()",
        || Box::new(Mutant::new(Fault::MovesHeadWithoutComparing)),
    ),
    mutant(
        MICHAEL_SCOTT_QUEUE,
        "michael-scott-queue-tail-first",
        "enq moves the tail first and links its node after that",
        "enq(1) | enq(2) deq()",
        || Box::new(Mutant::new(Fault::MovesTailFirst)),
    ),
    explored_only(mutant(
        MICHAEL_SCOTT_QUEUE,
        "michael-scott-queue-hasty",
        "frees a node as soon as the head has passed it: a use of freed memory",
        "enq(1) deq() | deq()",
        || Box::new(HastyQueue::new()),
    )),
];

const MICHAEL_SCOTT_QUEUE: Entry = Entry {
    name: "michael-scott-queue",
    summary: "a queue: a list with a pointer to each end; threads help a tail that lags",
    standing: Standing::Correct,
    spec: "queue",
    note: "",
    alphabet: "enq(*) deq()",
    domain: ANY_NUMBERS,
    source: "Michael, Scott, Simple, fast, and practical non-blocking and blocking concurrent queue algorithms, 1996",
    progress: "lock-free",
    letter: "Q",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::MichaelScottQueue::new()),
    production: Some(|| Box::new(crate::MichaelScottQueue::new())),
};
