//! Histories as theories see them: calls and returns, one at a time, in the words of an object.
//!
//! What an operation may still do is told at its call, what it did at its return: nobody is told the future.

use crate::history::{History, Operation, PENDING};
use crate::spec::{Action, Canonical, Kind, Spec};
use crate::theory::{Method, Object};
use crate::value::Value;

/// A call or a return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its rank in the history.
    pub rank: u32,
    /// The operation: its index in [`History::operations`].
    pub operation: u32,
    /// What is called.
    pub method: Method,
    /// With what.
    pub argument: Value,
    /// What came back; `None` at the call.
    pub result: Option<Value>,
}

/// The events of the operations at these ascending indices, in order. The error says why the object has no words for
/// them.
pub(crate) fn events<S: Spec>(
    spec: &S,
    canonical: &Canonical<S::Op, S::Ret>,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
) -> Result<Vec<Event>, String> {
    let mut events = Vec::with_capacity(2 * indices.len());
    for &operation in indices {
        let o = &history.operations()[operation as usize];
        let Some(Told { method, argument, result }) = label(spec, canonical, o)? else { continue };
        if o.returned != PENDING {
            let (rank, argument, result) = (o.returned, argument.clone(), Some(result));
            events.push(Event { rank, operation, method, argument, result });
        }
        events.push(Event { rank: o.call, operation, method, argument, result: None });
    }
    events.sort_unstable_by_key(|event| event.rank);
    Ok(events)
}

/// The object of a kind.
pub(crate) fn object<Op, Ret>(canonical: &Canonical<Op, Ret>) -> Result<Object, String> {
    Ok(match canonical.kind {
        Kind::Register => Object::Register,
        Kind::Queue => Object::Queue,
        Kind::Stack => Object::Stack,
        Kind::PriorityQueue => Object::PriorityQueue { smallest_first: false },
        Kind::MinPriorityQueue => Object::PriorityQueue { smallest_first: true },
        Kind::Set => Object::Set,
        Kind::Mutex if canonical.initial.is_empty() => Object::Lock,
        Kind::Mutex => return Err("there is no theory of a lock that is held at first".into()),
        Kind::Snapshot => return Err("there is no theory of snapshots".into()),
    })
}

/// An operation in the words of a theory.
struct Told {
    method: Method,
    argument: Value,
    result: Value,
}

/// What an operation is; nothing where nobody saw it and it changed nothing.
fn label<S: Spec>(
    spec: &S,
    canonical: &Canonical<S::Op, S::Ret>,
    o: &Operation<S::Op, S::Ret>,
) -> Result<Option<Told>, String> {
    let no_word = || {
        let (kind, shown) = (canonical.kind, spec.show(&o.op, o.result.as_ref()));
        format!("the theory of a {kind} has no word for {shown}")
    };
    let may = (canonical.action)(&o.op, None);
    if o.returned == PENDING {
        if spec.observes(&o.op, None) {
            return Ok(None);
        }
        let (method, argument) = may.as_ref().and_then(called).ok_or_else(no_word)?;
        return Ok(Some(Told { method, argument, result: Value::Nil }));
    }
    let did = o.result.as_ref().and_then(|result| (canonical.action)(&o.op, Some(result)));
    let did = did.ok_or_else(no_word)?;
    let (method, argument) = called(may.as_ref().unwrap_or(&did)).ok_or_else(no_word)?;
    let result = answered(method, &did).ok_or_else(no_word)?;
    Ok(Some(Told { method, argument, result }))
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
        // An addition to a set that finds its key present tells false, a removal and a look tell true.
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
