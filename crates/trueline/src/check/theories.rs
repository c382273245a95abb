//! Decides a part by the theory of its object: the algorithms `saturate`, `symbolic` and `enumerate`.
//!
//! A specification that is of a known kind is an object with a theory; its operations are told to the algorithm event by
//! event, and it answers at every return. What an operation may still do is told at its call, what it did at its
//! return, so the step at which a violation is seen is one at which it can be seen.

use crate::budget::{Budget, Exhausted};
use crate::history::{History, PENDING};
use crate::saturate::{Online, Saturate, Stop};
use crate::spec::{Action, Canonical, Kind, Spec};
use crate::symbolic::{Enumerate, Options, Symbolic};
use crate::theory::{Method, Object};
use crate::value::Value;

/// Events between two looks at the budget.
const CHARGE: u64 = 64;

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

/// One event of a part: the index of the operation, and what it returns; `None` at its call.
struct Event<'a> {
    rank: u32,
    operation: u32,
    method: Method,
    argument: &'a Value,
    result: Option<Value>,
}

/// Tells the part to the algorithm. The error says why it does not fit.
pub(super) fn decide<S: Spec>(
    which: Which,
    options: Options,
    canonical: &Canonical<S::Op, S::Ret>,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
    budget: &Budget,
) -> Result<Found, String> {
    let object = object(canonical)?;
    let labels = indices
        .iter()
        .map(|&i| label(canonical, &history.operations()[i as usize]))
        .collect::<Result<Vec<Option<Told>>, String>>()?;
    let mut events = Vec::new();
    for (&operation, told) in indices.iter().zip(&labels) {
        let Some(Told { method, argument, result }) = told else { continue };
        let o = &history.operations()[operation as usize];
        events.push(Event { rank: o.call, operation, method: *method, argument, result: None });
        if o.returned != PENDING {
            let (rank, result) = (o.returned, Some(result.clone()));
            events.push(Event { rank, operation, method: *method, argument, result });
        }
    }
    events.sort_unstable_by_key(|event| event.rank);
    let initial = canonical.initial.as_slice();
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
    events: &[Event<'_>],
    budget: &Budget,
) -> Result<Option<Found>, String> {
    let mut returns = 0;
    for (event, step) in events.iter().zip(1u64..) {
        if step.is_multiple_of(CHARGE)
            && let Err(why) = budget.spend(CHARGE)
        {
            return Ok(Some(Found::Exhausted(why, returns)));
        }
        let told = match &event.result {
            None => monitor.call(u64::from(event.operation), event.method, event.argument),
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

/// The object of a kind.
pub(super) fn object<Op, Ret>(canonical: &Canonical<Op, Ret>) -> Result<Object, String> {
    Ok(match canonical.kind {
        Kind::Register => Object::Register,
        Kind::Queue => Object::Queue,
        Kind::Stack => Object::Stack,
        Kind::PriorityQueue => Object::PriorityQueue { smallest_first: false },
        Kind::MinPriorityQueue => Object::PriorityQueue { smallest_first: true },
        Kind::Set => Object::Set,
        Kind::Mutex if canonical.initial.is_empty() => Object::Lock,
        Kind::Mutex => return Err("there is no theory of a lock that is held at first".into()),
    })
}

/// An operation in the words of a theory.
struct Told {
    method: Method,
    argument: Value,
    result: Value,
}

/// What an operation is; nothing where nobody saw it and it changed nothing.
fn label<Op, Ret>(
    canonical: &Canonical<Op, Ret>,
    o: &crate::history::Operation<Op, Ret>,
) -> Result<Option<Told>, String> {
    let unknown = (canonical.action)(&o.op, None);
    let known = match &o.result {
        Some(result) if o.returned != PENDING => Some((canonical.action)(&o.op, Some(result))),
        None if o.returned != PENDING => Some(None),
        _ => None,
    };
    let no_word = || format!("the theory of a {} has no word for an operation", canonical.kind);
    if let Some(None) = known {
        return Err(no_word());
    }
    let known = known.flatten();
    // What it may do, then what it did.
    let (method, argument) = match (unknown, &known) {
        (Some(Action::Insert(v) | Action::Add(v)), _) => (Method::Add, v),
        (Some(Action::Remove(_) | Action::RemoveUnknown | Action::FoundEmpty), _) => {
            (Method::Remove, Value::Nil)
        }
        (Some(Action::Delete(v)), _) => (Method::Remove, v),
        (Some(Action::Write(v)), _) => (Method::Write, v),
        (Some(Action::Acquire), _) => (Method::Acquire, Value::Nil),
        (Some(Action::Release), _) => (Method::Release, Value::Nil),
        (None | Some(Action::Read(_)), Some(Action::Read(_))) => (Method::Read, Value::Nil),
        (
            None | Some(Action::Present(_) | Action::Absent(_)),
            Some(Action::Present(v) | Action::Absent(v)),
        ) => (Method::Contains, v.clone()),
        (_, None) => return Ok(None),
        _ => return Err(no_word()),
    };
    let result = match known {
        None => Value::Nil,
        Some(Action::Remove(v) | Action::Read(v)) => v,
        // An addition to a set that finds its key present tells false, a removal and a look tell true.
        Some(Action::Add(_) | Action::Delete(_)) => Value::Bool(true),
        Some(Action::Present(_)) => Value::Bool(method != Method::Add),
        Some(Action::Absent(_)) => Value::Bool(method == Method::Add),
        Some(Action::FoundHeld) => Value::Bool(false),
        Some(Action::FoundFree | Action::RemoveUnknown) => return Err(no_word()),
        Some(_) => Value::Nil,
    };
    Ok(Some(Told { method, argument, result }))
}
