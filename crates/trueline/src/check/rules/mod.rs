//! Decides parts without a search if the specification makes the necessary claims.
//!
//! - [`growing`]: lists and sets that only grow, read as a whole. Exact, O(n log n) plus the size
//!   of the results.
//! - [`origins`]: a result shows a value that no operation can have inserted by then. Finds
//!   violations only.
//! - [`sum`]: a total outside of what must and may have been added by then. Finds violations only.
//!
//! Each needs a claim of the specification: see [`crate::spec::Origins`] and its neighbours.

mod growing;
mod origins;
mod sum;

use crate::history::PENDING;
use crate::monitor::{Blame, Span};
use crate::spec::subject::{Recorded, Subject};

/// The finding of a rule, in indices of the history.
#[derive(Debug)]
pub(super) enum Ruling {
    /// An order, checked against the rule's own model.
    Order(Vec<u32>),
    /// These operations clash, and without any of them the reason disappears.
    Violation(Violation),
}

/// Operations that clash, ascending, and why.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) operations: Vec<u32>,
    pub(super) reason: Option<Blame>,
}

impl Violation {
    fn new(operations: &[u32], reason: Option<Blame>) -> Violation {
        let mut operations = operations.to_vec();
        operations.sort_unstable();
        operations.dedup();
        Violation { operations, reason }
    }

    /// The sentence names all of these operations, in this order.
    fn naming(operations: &[u32], text: &'static str) -> Violation {
        Violation::new(operations, Some(Blame::naming(operations, text)))
    }

    fn renamed(self, name: impl Fn(u32) -> u32) -> Violation {
        let reason = self.reason.and_then(|blame| blame.renamed(|o| Some(name(o))));
        Violation { operations: self.operations.into_iter().map(name).collect(), reason }
    }
}

/// The operations of a part up to the event of rank `until`, by call: the times of call and return,
/// and the operation.
fn seen(subject: &Subject<'_>, indices: &[u32], until: u32) -> (Vec<Span>, Vec<Recorded>) {
    let operations = subject.history.operations();
    let all = indices.iter().map(|&i| (i, &operations[i as usize]));
    all.take_while(|(_, o)| o.call < until)
        .map(|(index, o)| {
            let returned = if o.returned >= until { PENDING } else { o.returned };
            let span = Span { call: o.call, returned };
            (span, Recorded { index, has_result: returned != PENDING })
        })
        .unzip()
}

/// Decides a part of a collection that only grows, up to the event of rank `until`; `None` if the
/// rule does not fit.
pub(super) fn decide_growing(subject: &Subject<'_>, indices: &[u32], until: u32) -> Option<Ruling> {
    if !subject.spec.grows() {
        return None;
    }
    let (spans, operations) = seen(subject, indices, until);
    let grown = subject.spec.growth(indices, &operations)?;
    let all = subject.history.operations();
    if operations.iter().any(|o| o.has_result && all[o.index as usize].result.is_none()) {
        return None;
    }
    Some(match growing::decide(&grown, &spans)? {
        Ruling::Order(order) => {
            Ruling::Order(order.into_iter().map(|n| indices[n as usize]).collect())
        }
        Ruling::Violation(v) => Ruling::Violation(v.renamed(|n| indices[n as usize])),
    })
}

/// A violation that is found without a search, and the name of the rule that finds it.
pub(super) fn refute(subject: &Subject<'_>, indices: &[u32]) -> Option<(Violation, &'static str)> {
    let (spans, operations) = seen(subject, indices, PENDING);
    let origins =
        || Some((origins::refute(&subject.spec.origins(&operations)?, &spans)?, "origins"));
    let bounds = || Some((sum::refute(&subject.spec.sum(&operations)?, &spans)?, "bounds"));
    let (violation, by) = origins().or_else(bounds)?;
    Some((violation.renamed(|n| indices[n as usize]), by))
}
