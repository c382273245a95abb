//! The operation that a monitor's rule blames, with a short reason.

use crate::monitor::{Blame, Why};

/// The operation that a rule blames, and what is wrong with it.
pub(super) fn reason(why: Why) -> Option<Blame> {
    let (operation, text) = match why {
        Why::Scans(property, operations) => return Some(property.blame(operations)),
        Why::EmptyWhileCovered { empty } => {
            (empty, "found nothing, but from its call to its return some value was always inside")
        }
        Why::HigherInside { remove } => (
            remove,
            "came out although from its call to its return a value of higher priority was always inside",
        ),
        Why::Impossible { operation, present: true } => (
            operation,
            "is not possible: from its call to its return the key was there, or the lock held",
        ),
        Why::Impossible { operation, present: false } => (
            operation,
            "is not possible: from its call to its return the key was not there, or the lock free",
        ),
        _ => return None,
    };
    Some(Blame::new(operation, text))
}
