//! The scalable nonzero indicator and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, mutant};
use crate::mutants::snzi::{Fault, Snzi as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    SNZI,
    mutant(
        SNZI,
        "snzi-does-not-announce",
        "an arrival that is not the first returns before the indicator is set",
        "arrive() | arrive() query()",
        || Box::new(Mutant::new(Fault::DoesNotAnnounce)),
    ),
    mutant(
        SNZI,
        "snzi-clears-blindly",
        "a departure clears the indicator without checking for a later arrival",
        "arrive() depart() | arrive() query()",
        || Box::new(Mutant::new(Fault::ClearsBlindly)),
    ),
    mutant(
        SNZI,
        "snzi-half-for-one",
        "an arrival that finds a node at one half treats it as one",
        "arrive() | arrive() query()",
        || Box::new(Mutant::new(Fault::TakesHalfForOne)),
    ),
    mutant(
        SNZI,
        "snzi-does-not-take-back",
        "an arrival that updated the root in vain does not undo that: the indicator stays set for ever",
        "arrive() depart() | arrive() depart(); after query()",
        || Box::new(Mutant::new(Fault::DoesNotTakeBack)),
    ),
];

const SNZI: Entry = Entry {
    name: "snzi",
    summary: "nonzero indicator: a tree of counts with an indicator at the root",
    standing: Standing::Correct,
    spec: "snzi",
    note: "a process departs only after it has arrived, and from the place where it did",
    alphabet: "arrive() depart() query()",
    domain: ANY_NUMBERS,
    source: "Ellen, Lev, Luchangco, Moir, SNZI: scalable nonzero indicators, 2007",
    progress: "query is wait-free, the others are lock-free",
    letter: "N",
    waiting: &[],
    rule: Some(departs_after_arriving),
    stress_rule: None,
    shadowed: || Box::new(shadowed::Snzi::new(1)),
    production: Some(|| Box::new(crate::Snzi::new(1))),
};

/// A process departs at most as often as it has arrived: otherwise the call is not allowed.
fn departs_after_arriving(methods: &[&str]) -> Result<(), String> {
    let mut arrived = 0;
    for &method in methods {
        match method {
            "arrive" => arrived += 1,
            "depart" if arrived == 0 => {
                return Err("a process must not depart before it has arrived".into());
            }
            "depart" => arrived -= 1,
            _ => {}
        }
    }
    Ok(())
}
