//! Treiber's stack and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, explored_only, mutant};
use crate::mutants::treiber_stack::{Fault, RelaxedStack, Stack as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    TREIBER_STACK,
    mutant(
        TREIBER_STACK,
        "treiber-stack-reuses-nodes",
        "a popped node is pushed again while another pop has a pointer to it (ABA)",
        "push(1) pop() | pop() push(2) push(3) pop()",
        || Box::new(Mutant::new(Fault::ReusesNodes)),
    ),
    mutant(
        TREIBER_STACK,
        "treiber-stack-pops-blindly",
        "pop writes the head without checking that it has not changed",
        "push(1) pop() | pop()",
        || Box::new(Mutant::new(Fault::PopsWithoutComparing)),
    ),
    mutant(
        TREIBER_STACK,
        "treiber-stack-forgets-link",
        "push tries again after a failure without linking its node to the new head",
        "push(1) pop() | push(2) pop()",
        || Box::new(Mutant::new(Fault::PushesWithoutRelinking)),
    ),
    explored_only(mutant(
        TREIBER_STACK,
        "treiber-stack-relaxed",
        "publishes its nodes with relaxed orderings: a race",
        "push(1) | pop()",
        || Box::new(RelaxedStack::new()),
    )),
];

const TREIBER_STACK: Entry = Entry {
    name: "treiber-stack",
    summary: "a stack: a list whose head is replaced by compare-exchange",
    standing: Standing::Correct,
    spec: "stack",
    note: "",
    alphabet: "push(*) pop()",
    domain: ANY_NUMBERS,
    source: "Treiber, Systems programming: coping with parallelism, 1986",
    progress: "lock-free",
    letter: "S",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::TreiberStack::new()),
    production: Some(|| Box::new(crate::TreiberStack::new())),
};
