//! Tests a specification's claim of which operations commute, on the operations of the history at
//! hand.
//!
//! A wrong claim makes a search drop orders that it should try, and so report a violation where
//! there is none. So the claim is tested before a violation that may rely on it is reported: all
//! pairs of operations that are claimed to commute, in the initial state and in states that the
//! operations lead to, the nearest first, up to [`MOST`] tests. If a test fails, the claim is not
//! used at all. A claim that is wrong only in more distant states is not detected. The claims of
//! built-in specifications are tested by their laws.

use std::collections::HashSet;

use crate::spec::subject::{Recorded, States, Subject};

/// How many different operations are tested, how many are examined to find them, and the maximum
/// number of tested pairs in states.
const KINDS: usize = 24;
const LOOK: usize = 20_000;
const MOST: usize = 1024;

/// Tests the claim; an error names the operations that do not commute.
pub(super) fn trust(subject: &Subject<'_>) -> Result<(), String> {
    let spec = &subject.spec;
    if !spec.reorders() {
        return Ok(());
    }
    let mut kinds: Vec<Recorded> = Vec::new();
    let mut hashes: Vec<u64> = Vec::new();
    for (index, o) in subject.history.operations().iter().enumerate().take(LOOK) {
        let has_result = !o.is_pending() && o.result.is_some();
        let known = Recorded { index: index as u32, has_result };
        // In a prefix of the history its result may not be known yet.
        for known in [known, Recorded::open(index as u32)] {
            let hash = spec.hash(known);
            let mut alike = kinds.iter().zip(&hashes).filter(|(_, other)| **other == hash);
            if !alike.any(|(&other, _)| spec.are_equal(other, known)) {
                kinds.push(known);
                hashes.push(hash);
            }
        }
        if kinds.len() >= KINDS {
            break;
        }
    }
    let all = (0..kinds.len()).flat_map(|n| (0..=n).map(move |m| (m, n)));
    let pairs: Vec<(usize, usize)> =
        all.filter(|&(m, n)| spec.commutes(kinds[m], kinds[n])).collect();
    if pairs.is_empty() {
        return Ok(());
    }
    // Each operation with its result, then each without.
    let open = kinds.iter().map(|known| Recorded::open(known.index));
    let operations: Vec<Recorded> = kinds.iter().copied().chain(open).collect();
    let mut table = spec.states(&operations);
    let mut states = vec![table.initial()];
    let mut reached: HashSet<u32> = states.iter().copied().collect();
    let most = (MOST / pairs.len()).max(4);
    let mut at = 0;
    while at < states.len() {
        let state = states[at];
        at += 1;
        // In two orders of equal operations the same is done.
        for &(m, n) in pairs.iter().filter(|(m, n)| m != n) {
            let one = both(&mut *table, state, [m, n]);
            let other = both(&mut *table, state, [n, m]);
            if one != other {
                return Err(format!(
                    "the specification says that {} and {} commute, but they do not where the object is {}",
                    spec.show(kinds[m]),
                    spec.show(kinds[n]),
                    spec.show_state(&table.keep(state))
                ));
            }
        }
        if states.len() >= most {
            continue;
        }
        for open in kinds.len()..operations.len() {
            let mut next = Vec::new();
            table.step(state, open as u32, &mut next);
            for next in next {
                if states.len() < most && reached.insert(next) {
                    states.push(next);
                }
            }
        }
    }
    Ok(())
}

/// The states that two operations lead to, one after the other, ascending.
fn both(table: &mut dyn States, from: u32, [first, second]: [usize; 2]) -> Vec<u32> {
    let (mut between, mut after) = (Vec::new(), Vec::new());
    table.step(from, first as u32, &mut between);
    for state in between {
        table.step(state, second as u32, &mut after);
    }
    after.sort_unstable();
    after.dedup();
    after
}
