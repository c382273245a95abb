//! Decides a part by the theory of its object: the algorithms `saturate`, `symbolic` and `enumerate`.
//!
//! A specification that is of a known kind is an object with a theory; its operations are told to the algorithm event by
//! event, and it answers at every return. What an operation may still do is told at its call, what it did at its
//! return, so the step at which a violation is seen is one at which it can be seen.

use crate::budget::{Budget, Exhausted};
use crate::saturate::{Online, Saturate, Stop};
use crate::spec::subject::{Claim, Subject};
use crate::symbolic::{Enumerate, Options, Symbolic};
use crate::theory::events::{self, Event};

/// One of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Saturate,
    Symbolic,
    Enumerate,
}

/// What came of it.
pub(super) enum Found {
    /// An order that explains the part, by index.
    Order(Vec<u32>),
    /// No violation was seen, which proves nothing.
    Nothing,
    /// A violation, seen when this operation returned, at this step.
    Violation { operation: u32, step: u64 },
    /// The budget was spent after so many returns.
    Exhausted(Exhausted, usize),
}

/// Tells the part to the algorithm. The error says why it does not fit.
pub(super) fn decide(
    which: Which,
    options: Options,
    subject: &Subject<'_>,
    claim: &Claim,
    indices: &[u32],
    budget: &Budget,
) -> Result<Found, String> {
    let object = events::object(claim)?;
    let events = events::events(subject, claim, indices)?;
    let initial = claim.initial.as_slice();
    match which {
        Which::Saturate => {
            let mut monitor = Saturate::new(object).holding(initial);
            if options.removal {
                monitor = monitor.forgetting();
            }
            Ok(tell(&mut monitor, &events, budget)?.unwrap_or(Found::Nothing))
        }
        Which::Symbolic => {
            let mut checker = Symbolic::new(object, options, budget).holding(initial);
            let found = tell(&mut checker, &events, budget)?;
            let nothing = || match options.removal {
                // Forgotten operations are not in the order.
                true => Found::Nothing,
                false => Found::Order(checker.order().iter().map(|&n| n as u32).collect()),
            };
            Ok(found.unwrap_or_else(nothing))
        }
        Which::Enumerate => {
            let mut checker = Enumerate::new(object, options, budget).holding(initial);
            let found = tell(&mut checker, &events, budget)?;
            let order = || checker.order().iter().map(|&n| n as u32).collect();
            Ok(found.unwrap_or_else(|| Found::Order(order())))
        }
    }
}

/// Tells all events; what ended it early.
fn tell(
    monitor: &mut impl Online,
    events: &[Event],
    budget: &Budget,
) -> Result<Option<Found>, String> {
    let mut returns = 0;
    for (event, step) in events.iter().zip(1u64..) {
        // What an event costs grows with the operations before it, so the budget is asked at each.
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
                return Ok(Some(Found::Violation { operation: event.operation, step }));
            }
            Err(Stop::Unfit(why)) => return Err(why),
            Err(Stop::Exhausted(why)) => return Ok(Some(Found::Exhausted(why, returns))),
        }
    }
    Ok(None)
}
