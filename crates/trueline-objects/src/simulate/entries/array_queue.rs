//! Vyukov's queue, as published and fixed, and the mutants of the fixed one.

use super::{ANY_NUMBERS, Entry, Standing, explored_only, mutant};
use crate::mutants::array_queue::{Fault, Queue as Mutant, RelaxedQueue};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    ARRAY_QUEUE,
    mutant(
        ARRAY_QUEUE,
        "array-queue-claims-blindly",
        "deq claims its number without checking whether another has it",
        "enq(1) deq() | deq()",
        || Box::new(Mutant::new(2, Fault::ClaimsWithoutComparing)),
    ),
    mutant(
        ARRAY_QUEUE,
        "array-queue-publishes-first",
        "enq marks its slot as filled before it fills it",
        "enq(1) | deq()",
        || Box::new(Mutant::new(2, Fault::PublishesFirst)),
    ),
    mutant(
        ARRAY_QUEUE,
        "array-queue-frees-first",
        "deq marks its slot as free before it has read the value",
        "enq(1) enq(2) enq(3) | deq()",
        || Box::new(Mutant::new(2, Fault::FreesFirst)),
    ),
    explored_only(mutant(
        ARRAY_QUEUE,
        "array-queue-relaxed",
        "marks a slot as filled with relaxed orderings: a race",
        "enq(1) | deq()",
        || Box::new(RelaxedQueue::new(2)),
    )),
    VYUKOV_QUEUE,
];

const ARRAY_QUEUE: Entry = Entry {
    name: "array-queue",
    summary: "a bounded queue in a ring: Vyukov's, made linearizable",
    standing: Standing::Correct,
    spec: "bounded-queue:capacity=2",
    note: "",
    alphabet: "enq(*) deq()",
    domain: ANY_NUMBERS,
    source: "Vyukov, Bounded MPMC queue, 2010, with the repair of crossbeam's ArrayQueue",
    progress: "waits for an operation that is half done",
    letter: "Q",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::ArrayQueue::new(2)),
    production: Some(|| Box::new(crate::ArrayQueue::new(2))),
};

const VYUKOV_QUEUE: Entry = Entry {
    name: "vyukov-queue",
    summary: "a bounded queue in a ring, as published: reports empty or full while an operation is unfinished",
    standing: Standing::Flawed { repaired: "array-queue", shown_by: "enq(1) deq() | enq(2) deq()" },
    source: "Vyukov, Bounded MPMC queue, 2010",
    progress: "no operation waits for another",
    shadowed: || Box::new(shadowed::VyukovQueue::new(2)),
    production: Some(|| Box::new(crate::VyukovQueue::new(2))),
    ..ARRAY_QUEUE
};
