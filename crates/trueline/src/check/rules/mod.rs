//! Decides parts without a search where the specification knows enough about itself.
//!
//! - [`growing`]: lists and sets that only grow, read as a whole. Exact, O(n log n) and the size of the results.
//! - [`origins`]: a result shows a value that nobody can have brought by then. Finds violations only.
//! - [`sum`]: a total lies outside of what must and may have been added by then. Finds violations only.
//!
//! What each needs to know is a claim of the specification: see [`crate::spec::Origins`] and its neighbours.

mod growing;
mod origins;
mod sum;

use crate::history::{History, PENDING};
use crate::monitor::Blame;
use crate::spec::Spec;

/// What a rule found out, in indices of the history.
#[derive(Debug)]
pub(super) enum Ruling {
    /// An order, checked against the rule's own model.
    Order(Vec<u32>),
    /// These operations clash, and none of them can be left out without the reason going away.
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

/// An operation as a rule sees it.
struct Seen<'a, Op, Ret> {
    call: u32,
    returned: u32,
    op: &'a Op,
    /// `None` where the outcome is unknown.
    ret: Option<&'a Ret>,
}

impl<Op, Ret> Seen<'_, Op, Ret> {
    fn is_pending(&self) -> bool {
        self.returned == PENDING
    }
}

/// The operations of a part up to the event of rank `until`, by call.
fn seen<'a, Op, Ret>(
    history: &'a History<Op, Ret>,
    indices: &[u32],
    until: u32,
) -> Vec<Seen<'a, Op, Ret>> {
    let operations = indices.iter().map(|&i| &history.operations()[i as usize]);
    operations
        .take_while(|o| o.call < until)
        .map(|o| {
            let returned = if o.returned >= until { PENDING } else { o.returned };
            let ret = o.result.as_ref().filter(|_| returned != PENDING);
            Seen { call: o.call, returned, op: &o.op, ret }
        })
        .collect()
}

/// Decides a part of a collection that only grows, up to the event of rank `until`; nothing where the rule does not fit.
pub(super) fn decide_growing<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
    until: u32,
) -> Option<Ruling> {
    let growing = spec.growing()?;
    if let (Some(key), Some(&first)) = (growing.key, indices.first()) {
        let key_of = |i: u32| key(&history.operations()[i as usize].op);
        if indices.iter().any(|&i| key_of(i) != key_of(first)) {
            return None;
        }
    }
    Some(match growing::decide(&growing, &seen(history, indices, until))? {
        Ruling::Order(order) => {
            Ruling::Order(order.into_iter().map(|n| indices[n as usize]).collect())
        }
        Ruling::Violation(v) => Ruling::Violation(v.renamed(|n| indices[n as usize])),
    })
}

/// A violation that can be seen without a search, and the name of the rule that sees it.
pub(super) fn refute<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
) -> Option<(Violation, &'static str)> {
    let (origins, sum) = (spec.origins(), spec.sum());
    if origins.is_none() && sum.is_none() {
        return None;
    }
    let all = seen(history, indices, PENDING);
    let by_origin = origins.and_then(|o| origins::refute(&o, &all)).map(|v| (v, "origins"));
    let found =
        by_origin.or_else(|| sum.and_then(|s| sum::refute(&s, &all)).map(|v| (v, "bounds")));
    found.map(|(violation, by)| (violation.renamed(|n| indices[n as usize]), by))
}
