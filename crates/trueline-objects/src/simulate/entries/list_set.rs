//! The list of Harris and Michael, and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, explored_only, mutant};
use crate::mutants::list_set::{Fault, HastySet, Set as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    LIST_SET,
    mutant(
        LIST_SET,
        "list-set-forgets-mark",
        "remove unlinks a node without marking it: nodes linked behind it meanwhile are lost",
        "before add(1); remove(1) | add(2) contains(2)",
        || Box::new(Mutant::new(Fault::ForgetsMark)),
    ),
    mutant(
        LIST_SET,
        "list-set-marks-apart",
        "the mark is beside the link and not in it: nodes linked behind a marked node are lost",
        "before add(1); remove(1) | add(2) contains(2)",
        || Box::new(Mutant::new(Fault::MarksApart)),
    ),
    mutant(
        LIST_SET,
        "list-set-marks-blindly",
        "remove marks a node without checking whether another has marked it",
        "before add(1); remove(1) | remove(1)",
        || Box::new(Mutant::new(Fault::MarksWithoutComparing)),
    ),
    mutant(
        LIST_SET,
        "list-set-links-blindly",
        "add links its node without checking whether another was linked there meanwhile",
        "add(1) contains(1) | add(2)",
        || Box::new(Mutant::new(Fault::LinksWithoutComparing)),
    ),
    explored_only(mutant(
        LIST_SET,
        "list-set-hasty",
        "frees a node as soon as it is unlinked, while others may still read it",
        "before add(1); remove(1) | contains(2)",
        || Box::new(HastySet::new()),
    )),
];

const LIST_SET: Entry = Entry {
    name: "list-set",
    summary: "a set in a sorted list whose nodes are marked before they are unlinked",
    standing: Standing::Correct,
    spec: "set",
    note: "",
    alphabet: "add(1) add(2) remove(1) remove(2) contains(2)",
    domain: ANY_NUMBERS,
    source: "Harris, A pragmatic implementation of non-blocking linked-lists, 2001; Michael, 2002",
    progress: "lock-free; contains never starts over",
    letter: "S",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::ListSet::new()),
    production: Some(|| Box::new(crate::ListSet::new())),
};
