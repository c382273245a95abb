//! The striped counter and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, mutant};
use crate::mutants::counter::{Counter as Mutant, Fault};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    COUNTER,
    mutant(
        COUNTER,
        "counter-adds-in-two-steps",
        "inc adds with a read and a write",
        "inc() | inc() read()",
        || Box::new(Mutant::new(Fault::AddsInTwoSteps)),
    ),
    mutant(
        COUNTER,
        "counter-carries",
        "inc carries the value of its stripe to a common total, in two steps",
        "inc() inc() | read()",
        || Box::new(Mutant::new(Fault::Carries)),
    ),
    mutant(
        COUNTER,
        "counter-shares-sum",
        "read returns the last sum in a common place, which may be outdated",
        "inc() read() | read()",
        || Box::new(Mutant::new(Fault::SharesSum)),
    ),
];

const COUNTER: Entry = Entry {
    name: "counter",
    summary: "a counter that goes up by one: a stripe for each thread, added up by read",
    standing: Standing::Correct,
    spec: "counter",
    note: "it has no add and no dec, with which a sum of stripes would not be linearizable",
    alphabet: "inc() read()",
    domain: ANY_NUMBERS,
    source: "folklore; see counter.rs for why this one is linearizable",
    progress: "wait-free",
    letter: "C",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::Counter::new()),
    production: Some(|| Box::new(crate::Counter::new())),
};
