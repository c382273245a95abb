//! Decides a part by the theory of its object: the algorithm `saturate`, and those of papers.
//!
//! A specification of a known kind is an object with a theory. The algorithm receives its
//! operations event by event and answers at every return. The event of a call contains what the
//! operation may still do, that of a return what it did. So a violation is found at the first step
//! at which it can be found.

use super::Algorithm;
use crate::budget::{Budget, Exhausted};
use crate::saturate::{Online, Saturate, Stop};
use crate::spec::subject::{Claim, Subject};
use crate::theory::Object;
use crate::theory::events::{self, Event};
use crate::value::Value;

/// The result of the algorithm.
pub(super) enum Found {
    /// An order that explains the part, by index.
    Order(Vec<u32>),
    /// No violation was found, which proves nothing.
    Nothing,
    /// A violation, found when this operation returned, at this step. `is_exact`: by a monitor that
    /// decides every history.
    Violation { operation: u32, step: u64, is_exact: bool },
    /// The budget was spent after this many returns.
    Exhausted(Exhausted, usize),
}

/// True for an algorithm that decides by the object's theory.
pub(super) fn applies(algorithm: Algorithm) -> bool {
    match algorithm {
        Algorithm::Saturate { .. } => true,
        #[cfg(feature = "papers")]
        Algorithm::Paper(paper) => paper.refusal().is_none(),
        _ => false,
    }
}

/// Passes the part to the algorithm. An error says why it does not fit.
pub(super) fn decide(
    algorithm: Algorithm,
    subject: &Subject<'_>,
    claim: &Claim,
    indices: &[u32],
    budget: &Budget,
) -> Result<Found, String> {
    let object = events::object(claim)?;
    let events = events::events(subject, claim, indices)?;
    let mut monitor = monitor(algorithm, object, &claim.initial, budget)
        .ok_or_else(|| format!("{algorithm} does not decide by a theory"))?;
    if let Some(found) = feed(&mut *monitor, &events, budget)? {
        return Ok(found);
    }
    let order = monitor.explains().map(|order| order.iter().map(|&n| n as u32).collect());
    Ok(order.map_or(Found::Nothing, Found::Order))
}

/// The monitor of an object with these initial values.
fn monitor<'a>(
    algorithm: Algorithm,
    object: Object,
    initial: &[Value],
    #[cfg_attr(not(feature = "papers"), expect(unused_variables))] budget: &'a Budget,
) -> Option<Box<dyn Online + 'a>> {
    match algorithm {
        Algorithm::Saturate { forgetting } => {
            let monitor = Saturate::new(object).holding(initial);
            Some(Box::new(if forgetting { monitor.forgetting() } else { monitor }))
        }
        #[cfg(feature = "papers")]
        Algorithm::Paper(paper) => paper.monitor(object, initial, budget),
        _ => None,
    }
}

/// Passes all events; returns what ended it early.
fn feed(
    monitor: &mut dyn Online,
    events: &[Event],
    budget: &Budget,
) -> Result<Option<Found>, String> {
    let mut returns = 0;
    for (event, step) in events.iter().zip(1u64..) {
        // The cost of an event grows with the operations before it, so the budget is checked at
        // each.
        if let Err(why) = budget.spend(1) {
            return Ok(Some(Found::Exhausted(why, returns)));
        }
        let told = match &event.result {
            None => monitor.call(u64::from(event.operation), event.method, &event.argument),
            Some(result) => monitor.returned(u64::from(event.operation), result),
        };
        match told {
            Ok(()) => returns += usize::from(event.result.is_some()),
            Err(Stop::Violation(_)) => {
                let is_exact = monitor.explains().is_some();
                return Ok(Some(Found::Violation { operation: event.operation, step, is_exact }));
            }
            Err(Stop::Unfit(why)) => return Err(why),
            Err(Stop::Exhausted(why)) => return Ok(Some(Found::Exhausted(why, returns))),
        }
    }
    Ok(None)
}
