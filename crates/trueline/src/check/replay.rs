//! Re-checks a witness order. Shares nothing with the searches: it works on the history itself.
//!
//! Cost: one pass, times the number of states that a nondeterministic specification keeps possible.

use std::collections::HashSet;

use super::problem::Ticker;
use crate::budget::Exhausted;
use crate::history::PENDING;
use crate::spec::subject::{Recorded, Subject};

/// Why an order was not accepted.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It is wrong.
    Wrong(String),
    /// The budget was spent before the end.
    Exhausted(Exhausted),
}

/// Returns what is wrong with `order` as a linearization of the operations at `indices`, if
/// anything: every operation that returned must be there, none twice, none out of real-time order,
/// each legal.
pub(crate) fn replay(
    subject: &Subject<'_>,
    indices: &[u32],
    order: &[u32],
    ticker: &mut Ticker<'_>,
) -> Result<(), Refused> {
    let operations = subject.history.operations();
    let mut missing: HashSet<u32> = indices.iter().copied().collect();
    let mut walk = subject.spec.walk();
    let mut latest_call = 0;
    for &index in order {
        if !missing.remove(&index) {
            return wrong(format!(
                "operation {index} stands twice in the order or is not of this part"
            ));
        }
        let o = &operations[index as usize];
        if o.returned < latest_call {
            return wrong(format!(
                "operation {index} returned before one that stands before it was called"
            ));
        }
        latest_call = latest_call.max(o.call);
        ticker.tick(|| 0).map_err(Refused::Exhausted)?;
        let operation = Recorded::whole(index);
        if !walk(operation) {
            return wrong(format!("{} is not legal at its place", subject.spec.show(operation)));
        }
    }
    match missing.iter().find(|&&i| operations[i as usize].returned != PENDING) {
        Some(index) => wrong(format!("operation {index} returned but is not in the order")),
        None => Ok(()),
    }
}

fn wrong(what: String) -> Result<(), Refused> {
    Err(Refused::Wrong(what))
}
