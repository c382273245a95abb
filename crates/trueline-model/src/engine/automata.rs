//! The three automata of simple snapshot histories, as one deterministic automaton in the product.
//!
//! In an (i, j)-simple history segments i and j change once each, to a value 1; everything else
//! stays 0. Such a history is a violation iff one of three properties breaks (Theorem 10 and Lemma
//! 14 of *Polynomial-Time Verification and Testing of Implementations of the Snapshot Data
//! Structure*). Let Fi be the first update of i to 1. The automaton remembers:
//!
//! - whether Fi was called: before that, no scan may return 1 in i;
//! - whether Fi has returned or a scan with 1 in i has: every scan called from then on *must*
//!   return 1 in i (Appropriateness, Non-Decreasing). For each pending scan, the automaton
//!   remembers what it must return;
//! - whether (0, 1) is *forbidden*: either a scan has returned (1, 0) (No Inversion), or scans
//!   already had to return 1 in i when Fj was called (Appropriateness, and its consequences);
//!   likewise (1, 0).
//!
//! So there are 6 bits, and 2 per process, whereas sets of specification states grow with the
//! number of orders. Cost: O(1) per label.

use crate::program::{Program, SnapshotShape};

use super::label::{Label, LabelKind, results_of};

/// The automaton of one pair of segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Automata {
    pub(crate) shape: SnapshotShape,
    pub(crate) pair: (usize, usize),
}

/// Bits of the first word: for the first segment of the pair, and shifted by one for the second.
const CALLED: u32 = 1;
const MUST: u32 = 1 << 2;
/// Showing this segment's change without the other's is forbidden.
const FORBIDDEN: u32 = 1 << 4;
/// An open scan.
const SCANS: u32 = 1 << 2;

impl Automata {
    /// Advances with a label; returns false if a property breaks. The first word is global, the
    /// others belong to one process each.
    pub(crate) fn after(&self, program: &Program, words: &mut [u32], label: Label) -> bool {
        let process = usize::from(label.process);
        let place = match process {
            p if p == self.pair.0 => Some(0),
            p if p == self.pair.1 => Some(1),
            _ => None,
        };
        match label.what {
            LabelKind::Call(call) => {
                let call = &program.calls[usize::from(call)];
                if call.operation == self.shape.scan {
                    words[1 + process] = SCANS | (words[0] >> 2 & 3);
                } else if let Some(place) = place
                    && call.args[0] != self.shape.initial
                    && words[0] & CALLED << place == 0
                {
                    words[0] |= CALLED << place;
                    if words[0] & MUST << (1 - place) != 0 {
                        words[0] |= FORBIDDEN << place;
                    }
                }
            }
            LabelKind::Return(operation, number) if usize::from(operation) == self.shape.scan => {
                let results = results_of(&program.operations[self.shape.scan].results, number);
                let must = words[1 + process] & 3;
                words[1 + process] = 0;
                return self.shows(words, must, &results);
            }
            LabelKind::Return(..) => {
                // Once it has changed, its updates write nothing else.
                if let Some(place) = place
                    && words[0] & CALLED << place != 0
                {
                    words[0] |= MUST << place;
                }
            }
            LabelKind::Lin(_) | LabelKind::Point(..) => {}
        }
        true
    }

    /// Whether everything that breaks a property after `weaker` also does so after `stronger`: the
    /// two are otherwise equal, and `stronger` forbids at least as much. Labels preserve this,
    /// since they only add to what is forbidden.
    pub(crate) fn forbids_no_less(&self, stronger: &[u32], weaker: &[u32]) -> bool {
        const CONSTRAINTS: u32 = (MUST * 3) | (FORBIDDEN * 3);
        let first = stronger[0] & !CONSTRAINTS == weaker[0] & !CONSTRAINTS
            && weaker[0] & !stronger[0] & CONSTRAINTS == 0;
        first
            && stronger[1..]
                .iter()
                .zip(&weaker[1..])
                .all(|(a, b)| a & SCANS == b & SCANS && b & !a & 3 == 0)
    }

    fn shows(&self, words: &mut [u32], must: u32, results: &[i32]) -> bool {
        let pair = [self.pair.0, self.pair.1];
        let is_new = |p: usize| results[p] != self.shape.initial;
        if (0..results.len()).any(|p| is_new(p) && !pair.contains(&p)) {
            return false;
        }
        let shown = [is_new(pair[0]), is_new(pair[1])];
        for (place, is_shown) in shown.into_iter().enumerate() {
            let bad = match is_shown {
                true => words[0] & CALLED << place == 0,
                false => must >> place & 1 == 1,
            };
            if bad {
                return false;
            }
        }
        for place in 0..2 {
            if shown[place] && !shown[1 - place] {
                if words[0] & FORBIDDEN << place != 0 {
                    return false;
                }
                words[0] |= FORBIDDEN << (1 - place);
            }
            if shown[place] {
                words[0] |= MUST << place;
            }
        }
        true
    }
}
