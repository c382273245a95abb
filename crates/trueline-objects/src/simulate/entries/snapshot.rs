//! The snapshot of Afek and others, and its mutants.

use super::{Entry, Standing, mutant};
use crate::mutants::snapshot::{Fault, Snapshot as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    SNAPSHOT,
    mutant(
        SNAPSHOT,
        "snapshot-collects-once",
        "a scan reads one segment after the other, once",
        "update(0, 1) update(1, 2) | scan()",
        || Box::new(Mutant::new(Fault::CollectsOnce)),
    ),
    mutant(
        SNAPSHOT,
        "snapshot-borrows-early",
        "a scan borrows the view of a thread that moved once, which may be older than the scan",
        "update(0, 1) | update(1, 2) scan()",
        || Box::new(Mutant::new(Fault::BorrowsEarly)),
    ),
    mutant(
        SNAPSHOT,
        "snapshot-leaves-old-view",
        "an update stores the view of the previous update beside its value",
        "update(0, 1) update(0, 2) update(0, 3) | update(1, 4) scan()",
        || Box::new(Mutant::new(Fault::LeavesOldView)),
    ),
    mutant(
        SNAPSHOT,
        "snapshot-shares-numbers",
        "two threads update under the same number, so that a scan takes their updates for consecutive ones",
        "update(1, 1) | update(1, 2) update(1, 3) | update(0, 4) scan()",
        || Box::new(Mutant::new(Fault::SharesNumbers)),
    ),
];

const SNAPSHOT: Entry = Entry {
    name: "snapshot",
    summary: "two segments, updated one by one and scanned atomically",
    standing: Standing::Correct,
    spec: "snapshot:segments=2",
    note: "",
    alphabet: "update(0, *) update(1, *) scan()",
    domain: &[0..=1],
    source: "Afek, Attiya, Dolev, Gafni, Merritt, Shavit, Atomic snapshots of shared memory, 1993",
    progress: "wait-free for a fixed number of threads",
    letter: "A",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::Snapshot::new(2, 0)),
    production: Some(|| Box::new(crate::Snapshot::new(2, 0))),
};
