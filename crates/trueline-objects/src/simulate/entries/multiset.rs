//! The multiset with counts in the nodes of a sorted list, and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, mutant};
use crate::mutants::multiset::{Fault, Multiset as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    MULTISET,
    mutant(
        MULTISET,
        "multiset-adds-in-two-steps",
        "add reads a count and writes one more",
        "before add(1); add(1) | add(1) count(1); after count(1)",
        || Box::new(Mutant::new(Fault::AddsInTwoSteps)),
    ),
    mutant(
        MULTISET,
        "multiset-raises-zero",
        "add increments a count that may be 0: its node is being removed, and the value with it",
        "before add(1); remove(1) | add(1) count(1); after count(1)",
        || Box::new(Mutant::new(Fault::RaisesZero)),
    ),
    mutant(
        MULTISET,
        "multiset-lowers-blindly",
        "remove checks the count, and decrements it later",
        "before add(1); remove(1) | remove(1)",
        || Box::new(Mutant::new(Fault::LowersBlindly)),
    ),
];

const MULTISET: Entry = Entry {
    name: "multiset",
    summary: "a multiset: a sorted list with a count in each node",
    standing: Standing::Correct,
    spec: "multiset",
    note: "",
    alphabet: "add(1) add(2) remove(1) count(1) contains(2)",
    domain: ANY_NUMBERS,
    source: "Wing, Gong, Testing and verifying concurrent objects, 1993; as a list of Harris and Michael",
    progress: "lock-free; count and contains never start over",
    letter: "M",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::Multiset::new()),
    production: Some(|| Box::new(crate::Multiset::new())),
};
