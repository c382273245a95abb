//! A built-in specification over calls that are made at run time: method and arguments by name.
//!
//! [`Named`](super::Named) decides histories as files spell them. If calls are not read but made (a
//! program that the user typed drives an object), code that is generic over [`Spec`] needs a type:
//! [`Dynamic`]. Each step decodes the call again, which costs little for the short histories of
//! such code.

use std::fmt;
use std::sync::Arc;

use super::{Builtin, Opaque, OpaqueOp, OpaqueState, Spec, Touches, Vocabulary};
use crate::error::SpecError;
use crate::history::Args;
use crate::value::Value;

/// A call by name: `enq(5)`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Invocation {
    /// The method, as the formats spell it.
    pub method: Arc<str>,
    /// The arguments.
    pub args: Args,
}

impl Invocation {
    /// A call of a method with these arguments.
    pub fn new(method: &str, args: Vec<Value>) -> Invocation {
        Invocation { method: Arc::from(method), args: Args::from(args) }
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<String> = self.args.as_slice().iter().map(Value::to_string).collect();
        write!(f, "{}({})", self.method, args.join(", "))
    }
}

impl fmt::Debug for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A built-in specification whose operations are [`Invocation`]s. A call that is not one of its
/// operations has no next state.
#[derive(Clone, Debug)]
pub struct Dynamic {
    spec: Opaque,
    waits: &'static [Wait],
}

/// A method that waits although its specification does not say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It waits if the specification returns nil.
    ForResult(&'static str),
    /// It may wait if there is no room for this many more calls of it. A waiting call has no
    /// effect.
    ForRoom(&'static str, usize),
}

impl Dynamic {
    /// The specification over calls by name.
    pub fn new(spec: Opaque) -> Dynamic {
        Dynamic { spec, waits: &[] }
    }

    /// The same specification, in which these methods wait.
    pub fn waiting(self, waits: &'static [Wait]) -> Dynamic {
        Dynamic { waits, ..self }
    }

    /// Checks that the call is one of this specification's; an error says what was expected.
    pub fn accepts(&self, call: &Invocation) -> Result<(), SpecError> {
        let read = self.spec.decode(&call.method, call.args.as_slice(), None);
        read.map(drop).map_err(SpecError::from)
    }

    /// The call as the specification reads it, and its result.
    fn read(&self, call: &Invocation, ret: Option<&Value>) -> Option<(OpaqueOp, Option<Value>)> {
        self.spec.decode(&call.method, call.args.as_slice(), ret).ok()
    }

    fn take(
        &self,
        state: &OpaqueState,
        call: &Invocation,
        ret: Option<&Value>,
        next: &mut Vec<OpaqueState>,
    ) {
        if let Some((op, ret)) = self.read(call, ret) {
            self.spec.step(state, &op, ret.as_ref(), next);
        }
    }

    /// Whether this many consecutive calls have room after this state.
    fn has_room(&self, state: &OpaqueState, call: &Invocation, more: usize) -> bool {
        if more == 0 {
            return true;
        }
        let mut next = Vec::new();
        self.take(state, call, None, &mut next);
        next.iter().any(|state| self.has_room(state, call, more - 1))
    }
}

impl Spec for Dynamic {
    type State = OpaqueState;
    type Op = Invocation;
    type Ret = Value;

    fn initial(&self) -> OpaqueState {
        self.spec.initial()
    }

    fn step(
        &self,
        state: &OpaqueState,
        call: &Invocation,
        ret: Option<&Value>,
        next: &mut Vec<OpaqueState>,
    ) {
        let before = next.len();
        for wait in self.waits {
            match *wait {
                Wait::ForResult(method) if method == &*call.method => {
                    self.take(state, call, Some(&Value::Nil), next);
                    if next.len() > before {
                        // Here it would return nil, which it never does.
                        return next.truncate(before);
                    }
                }
                // A call that has not returned has not taken effect: the question is whether it
                // could continue.
                Wait::ForRoom(method, spare)
                    if method == &*call.method
                        && ret.is_none()
                        && !self.has_room(state, call, spare + 1) =>
                {
                    return;
                }
                _ => {}
            }
        }
        self.take(state, call, ret, next);
    }

    fn partition(&self, call: &Invocation) -> Option<u64> {
        let (op, _) = self.read(call, None)?;
        self.spec.partition(&op)
    }

    fn observes(&self, call: &Invocation, ret: Option<&Value>) -> bool {
        let read = self.read(call, ret);
        read.is_some_and(|(op, ret)| self.spec.observes(&op, ret.as_ref()))
    }

    fn touches(&self, call: &Invocation, ret: Option<&Value>) -> Touches {
        match self.read(call, ret) {
            Some((op, ret)) => self.spec.touches(&op, ret.as_ref()),
            None => Touches::Everything,
        }
    }

    /// A waiting method returns only some of the results that the specification allows, so the
    /// vocabulary is the same.
    fn vocabulary(&self) -> Option<Vocabulary<Invocation, Value>> {
        let dynamic = self.clone();
        let read = move |call: &Invocation, ret: Option<&Value>| dynamic.read(call, ret);
        Some(self.spec.vocabulary()?.translated(read))
    }

    fn show(&self, call: &Invocation, ret: Option<&Value>) -> String {
        match self.read(call, ret) {
            Some((op, ret)) => self.spec.show(&op, ret.as_ref()),
            None => call.to_string(),
        }
    }

    fn show_state(&self, state: &OpaqueState) -> String {
        self.spec.show_state(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::named;

    #[test]
    fn a_method_that_waits_has_no_next_state_where_it_would_return_nil() {
        let waiting = named("queue").unwrap().dynamic().waiting(&[Wait::ForResult("deq")]);
        let steps = |state: &_, call: &Invocation, ret: Option<&Value>| {
            let mut next = Vec::new();
            waiting.step(state, call, ret, &mut next);
            next
        };
        let (enq, deq) = (Invocation::new("enq", vec![1.into()]), Invocation::new("deq", vec![]));
        let empty = waiting.initial();
        assert!(steps(&empty, &deq, None).is_empty());
        assert!(steps(&empty, &deq, Some(&Value::Nil)).is_empty());
        let one = steps(&empty, &enq, Some(&Value::Nil)).remove(0);
        let empty = [empty];
        assert_eq!(steps(&one, &deq, Some(&1.into())), empty);
        assert_eq!(steps(&one, &deq, None), empty);
        assert!(steps(&one, &deq, Some(&Value::Nil)).is_empty());
    }

    #[test]
    fn a_method_that_waits_for_room_may_wait_a_little_early() {
        let spec = named("relaxed-queue:capacity=3,init=[1]").unwrap().dynamic();
        let waiting = spec.waiting(&[Wait::ForRoom("enq", 1)]);
        let enq = Invocation::new("enq", vec![2.into()]);
        let steps = |state: &_, ret: Option<&Value>| {
            let mut next = Vec::new();
            waiting.step(state, &enq, ret, &mut next);
            next
        };
        let one = waiting.initial();
        assert_eq!(steps(&one, None).len(), 1);
        let two = steps(&one, Some(&Value::Nil)).remove(0);
        // With room for one value it may wait, and may return.
        assert!(steps(&two, None).is_empty());
        let three = steps(&two, Some(&Value::Nil)).remove(0);
        assert!(steps(&three, None).is_empty() && steps(&three, Some(&Value::Nil)).is_empty());
    }
}
