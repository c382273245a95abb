//! The B-tree of Lehman and Yao, and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, mutant};
use crate::mutants::b_link_tree::{Fault, Tree as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    B_LINK_TREE,
    mutant(
        WITH_BOUNDS,
        "b-link-tree-readers-stay",
        "get does not move right if the level above has not learnt of a split",
        "before put(1, 1) put(2, 2); put(3, 3) | get(2)",
        || Box::new(Mutant::new(Fault::ReadersStay)),
    ),
    mutant(
        WITH_BOUNDS,
        "b-link-tree-writers-stay",
        "put does not check, once it has the lock, whether the leaf was split",
        "before put(1, 1) put(2, 2); put(3, 3) | put(2, 4) get(2)",
        || Box::new(Mutant::new(Fault::WritersStay)),
    ),
    mutant(
        WITH_BOUNDS,
        "b-link-tree-splits-in-two-steps",
        "a split first removes the right half and then links the new leaf",
        "before put(1, 1) put(2, 2); put(3, 3) | get(2)",
        || Box::new(Mutant::new(Fault::SplitsInTwoSteps)),
    ),
    mutant(
        WITH_BOUNDS,
        "b-link-tree-takes-no-lock",
        "a page is replaced by one made from an older page",
        "put(1, 1) get(1) | put(2, 2)",
        || Box::new(Mutant::new(Fault::TakesNoLock)),
    ),
];

const B_LINK_TREE: Entry = Entry {
    name: "b-link-tree",
    summary: "a sorted map in a B-tree whose nodes are linked to the right, two keys per node",
    standing: Standing::Correct,
    spec: "map",
    note: "",
    alphabet: "put(1, *) swap(2, *) put(3, *) get(2) remove(2)",
    domain: ANY_NUMBERS,
    source: "Lehman, Yao, Efficient locking for concurrent operations on B-trees, 1981",
    progress: "get and contains take no lock and never start over; writers wait for each other",
    letter: "M",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::BLinkTree::<i64, i64, 2>::new()),
    production: Some(|| Box::new(crate::BLinkTree::<i64, i64, 2>::new())),
};

/// The mutants have the least key as a bound below all others.
const WITH_BOUNDS: Entry = Entry { domain: &[i64::MIN + 1..=i64::MAX], ..B_LINK_TREE };
