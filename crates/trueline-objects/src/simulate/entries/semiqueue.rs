//! The semiqueue and its mutants.

use super::relaxed::NATURAL;
use super::{ANY_NUMBERS, Entry, Standing, mutant};
use crate::mutants::semiqueue::{Fault, Queue as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    SEMIQUEUE,
    mutant(
        IN_CELLS,
        "semiqueue-looks-once",
        "deq returns nil after one pass over the cells, while values come and go behind it",
        "before enq(1); deq() | enq(2) deq()",
        || Box::new(Mutant::new(2, Fault::LooksOnce)),
    ),
    mutant(
        IN_CELLS,
        "semiqueue-leaves-early",
        "deq leaves the first segment for good when it has no value, although cells are free",
        "deq() | enq(1) deq()",
        || Box::new(Mutant::new(2, Fault::LeavesEarly)),
    ),
    mutant(
        IN_CELLS,
        "semiqueue-too-far",
        "deq searches the second segment first: a value overtakes more than one",
        "before enq(1) enq(2) enq(3); deq() | enq(4)",
        || Box::new(Mutant::new(2, Fault::TakesTooFar)),
    ),
    mutant(
        IN_CELLS,
        "semiqueue-takes-twice",
        "deq does not mark the values it takes: they are removed again",
        "before enq(1); deq() | deq()",
        || Box::new(Mutant::new(2, Fault::TakesTwice)),
    ),
];

const SEMIQUEUE: Entry = Entry {
    name: "semiqueue",
    summary: "a queue whose deq takes one of the first two values: a list of segments of two cells",
    standing: Standing::Correct,
    spec: "semiqueue:k=2",
    note: "",
    alphabet: "enq(*) deq()",
    domain: ANY_NUMBERS,
    source: "Wing, Gong, Testing and verifying concurrent objects, 1993; Afek, Korland, Yanovsky, Quasi-linearizability, 2010",
    progress: "lock-free",
    letter: "Q",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::Semiqueue::new(2)),
    production: Some(|| Box::new(crate::Semiqueue::new(2))),
};

/// The mutants keep their values in cells that have numbers for 'free' and 'taken'.
const IN_CELLS: Entry = Entry { domain: NATURAL, ..SEMIQUEUE };
