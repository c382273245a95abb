//! Histories for theories: calls and returns, one at a time, in the terms of an object.
//!
//! The event of a call contains what the operation may still do, that of a return what it did: no
//! event reveals the future.

use crate::history::PENDING;
use crate::spec::subject::{Claim, Recorded, Subject};
use crate::spec::{Action, Kind};
use crate::theory::{Label, Method, Object};
use crate::value::Value;

/// A call or a return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its rank in the history.
    pub rank: u32,
    /// The operation: its index in [`History::operations`](crate::History::operations).
    pub operation: u32,
    /// The called method.
    pub method: Method,
    /// Its argument.
    pub argument: Value,
    /// The result; `None` at the call.
    pub result: Option<Value>,
}

/// The events of the operations at these ascending indices, in order. An error says why the object
/// cannot express them.
pub(crate) fn events(
    subject: &Subject<'_>,
    claim: &Claim,
    indices: &[u32],
) -> Result<Vec<Event>, String> {
    let mut events = Vec::with_capacity(2 * indices.len());
    for &operation in indices {
        let o = &subject.history.operations()[operation as usize];
        let Some(Label { method, argument, result }) = label(subject, claim, operation)? else {
            continue;
        };
        if o.returned != PENDING {
            let (rank, argument) = (o.returned, argument.clone());
            events.push(Event { rank, operation, method, argument, result });
        }
        events.push(Event { rank: o.call, operation, method, argument, result: None });
    }
    events.sort_unstable_by_key(|event| event.rank);
    Ok(events)
}

/// The object of a kind.
pub(crate) fn object(claim: &Claim) -> Result<Object, String> {
    Ok(match claim.kind {
        Kind::Register => Object::Register,
        Kind::Queue => Object::Queue,
        Kind::Stack => Object::Stack,
        Kind::PriorityQueue => Object::PriorityQueue { smallest_first: false },
        Kind::MinPriorityQueue => Object::PriorityQueue { smallest_first: true },
        Kind::Set => Object::Set,
        Kind::Mutex if claim.initial.is_empty() => Object::Lock,
        Kind::Mutex => return Err("there is no theory of a lock that is held at first".into()),
        Kind::Snapshot => return Err("there is no theory of snapshots".into()),
    })
}

/// The label of an operation; `None` if its result is unknown and it changed nothing.
fn label(subject: &Subject<'_>, claim: &Claim, index: u32) -> Result<Option<Label>, String> {
    let (spec, o) = (&subject.spec, &subject.history.operations()[index as usize]);
    let no_word = || {
        let (kind, shown) = (claim.kind, spec.show(Recorded::whole(index)));
        format!("the theory of a {kind} has no word for {shown}")
    };
    let may = spec.action(Recorded::open(index));
    if o.returned == PENDING {
        if spec.observes(Recorded::open(index)) {
            return Ok(None);
        }
        let (method, argument) = may.as_ref().and_then(called).ok_or_else(no_word)?;
        return Ok(Some(Label { method, argument, result: None }));
    }
    let did = o.result.and_then(|()| spec.action(Recorded::whole(index)));
    let did = did.ok_or_else(no_word)?;
    let (method, argument) = called(may.as_ref().unwrap_or(&did)).ok_or_else(no_word)?;
    let result = answered(method, &did).ok_or_else(no_word)?;
    Ok(Some(Label { method, argument, result: Some(result) }))
}

/// The method and argument of an operation that may turn out to be this action.
pub(crate) fn called(may: &Action) -> Option<(Method, Value)> {
    Some(match may {
        Action::Insert(v) | Action::Add(v) => (Method::Add, v.clone()),
        Action::Remove(_) | Action::RemoveUnknown | Action::FoundEmpty => {
            (Method::Remove, Value::Nil)
        }
        Action::Delete(v) => (Method::Remove, v.clone()),
        Action::Present(v) | Action::Absent(v) => (Method::Contains, v.clone()),
        Action::Write(v) => (Method::Write, v.clone()),
        Action::Read(_) => (Method::Read, Value::Nil),
        Action::Acquire | Action::FoundHeld => (Method::Acquire, Value::Nil),
        Action::Release => (Method::Release, Value::Nil),
        Action::FoundFree | Action::Update(..) | Action::Scan(_) => return None,
    })
}

/// The result of an operation with this method that turned out to be this action.
pub(crate) fn answered(method: Method, did: &Action) -> Option<Value> {
    Some(match did {
        Action::Remove(v) | Action::Read(v) => v.clone(),
        // An addition to a set that finds its key present returns false, a removal and a lookup
        // return true.
        Action::Add(_) | Action::Delete(_) => Value::Bool(true),
        Action::Present(_) => Value::Bool(method != Method::Add),
        Action::Absent(_) => Value::Bool(method == Method::Add),
        Action::FoundHeld => Value::Bool(false),
        Action::Insert(_) | Action::Write(_) | Action::Acquire | Action::Release => Value::Nil,
        Action::FoundEmpty => Value::Nil,
        Action::FoundFree | Action::RemoveUnknown | Action::Update(..) | Action::Scan(_) => {
            return None;
        }
    })
}
