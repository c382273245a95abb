//! A built-in specification over calls that are made at run time: method and arguments by name.
//!
//! [`Named`](super::Named) decides histories as files spell them. Where calls are not read but made (an object is driven by a program that
//! the user typed), code that is generic over [`Spec`] wants a type: [`Dynamic`] is it. States and operations of the specification behind
//! are hidden; each step reads the call anew, which costs little for the short histories that such code makes.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Builtin, Spec, Touches, Vocabulary};
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

/// A built-in specification whose operations are [`Invocation`]s.
#[derive(Clone)]
pub struct Dynamic(Arc<dyn Hidden>);

impl Dynamic {
    /// Hides the types of a specification.
    pub fn new(spec: impl Builtin) -> Dynamic {
        Dynamic(Arc::new(spec))
    }

    /// Whether the call is one of this specification's; the error says what was expected.
    pub fn accepts(&self, call: &Invocation) -> Result<(), String> {
        self.0.accepts(call)
    }
}

impl fmt::Debug for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dynamic").finish_non_exhaustive()
    }
}

/// A state of a [`Dynamic`] specification.
#[derive(Clone)]
pub struct DynamicState(Arc<dyn HiddenState>);

impl PartialEq for DynamicState {
    fn eq(&self, other: &DynamicState) -> bool {
        self.0.same(&*other.0)
    }
}

impl Eq for DynamicState {}

impl Hash for DynamicState {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash_into(hasher);
    }
}

impl fmt::Debug for DynamicState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f)
    }
}

trait HiddenState: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn same(&self, other: &dyn HiddenState) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<S: super::Data> HiddenState for S {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn same(&self, other: &dyn HiddenState) -> bool {
        other.as_any().downcast_ref::<S>() == Some(self)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What [`Dynamic`] asks of the specification behind it. A call that is none of its operations has no next state.
trait Hidden: Send + Sync {
    fn accepts(&self, call: &Invocation) -> Result<(), String>;
    fn first(&self) -> DynamicState;
    fn steps(
        &self,
        state: &DynamicState,
        call: &Invocation,
        ret: Option<&Value>,
        next: &mut Vec<DynamicState>,
    );
    fn key(&self, call: &Invocation) -> Option<u64>;
    fn only_observes(&self, call: &Invocation, ret: Option<&Value>) -> bool;
    fn touched(&self, call: &Invocation, ret: Option<&Value>) -> Touches;
    fn shown(&self, call: &Invocation, ret: Option<&Value>) -> String;
    fn shown_state(&self, state: &DynamicState) -> String;
    fn words(&self) -> Option<Vocabulary<Invocation, Value>>;
}

fn state_of<B: Builtin>(state: &DynamicState) -> &B::State {
    state.0.as_any().downcast_ref().expect("a state of this specification")
}

impl<B: Builtin> Hidden for B {
    fn accepts(&self, call: &Invocation) -> Result<(), String> {
        self.decode(&call.method, call.args.as_slice(), None).map(drop)
    }

    fn first(&self) -> DynamicState {
        DynamicState(Arc::new(self.initial()))
    }

    fn steps(
        &self,
        state: &DynamicState,
        call: &Invocation,
        ret: Option<&Value>,
        next: &mut Vec<DynamicState>,
    ) {
        if let Ok((op, ret)) = self.decode(&call.method, call.args.as_slice(), ret) {
            let mut states = Vec::new();
            self.step(state_of::<B>(state), &op, ret.as_ref(), &mut states);
            next.extend(states.into_iter().map(|state| DynamicState(Arc::new(state))));
        }
    }

    fn key(&self, call: &Invocation) -> Option<u64> {
        let (op, _) = self.decode(&call.method, call.args.as_slice(), None).ok()?;
        self.partition(&op)
    }

    fn only_observes(&self, call: &Invocation, ret: Option<&Value>) -> bool {
        let decoded = self.decode(&call.method, call.args.as_slice(), ret);
        decoded.is_ok_and(|(op, ret)| self.observes(&op, ret.as_ref()))
    }

    fn touched(&self, call: &Invocation, ret: Option<&Value>) -> Touches {
        match self.decode(&call.method, call.args.as_slice(), ret) {
            Ok((op, ret)) => self.touches(&op, ret.as_ref()),
            Err(_) => Touches::Everything,
        }
    }

    fn shown(&self, call: &Invocation, ret: Option<&Value>) -> String {
        match self.decode(&call.method, call.args.as_slice(), ret) {
            Ok((op, ret)) => self.show(&op, ret.as_ref()),
            Err(_) => call.to_string(),
        }
    }

    fn shown_state(&self, state: &DynamicState) -> String {
        self.show_state(state_of::<B>(state))
    }

    fn words(&self) -> Option<Vocabulary<Invocation, Value>> {
        let spec = self.clone();
        Some(self.vocabulary()?.translated(move |call: &Invocation, ret: Option<&Value>| {
            spec.decode(&call.method, call.args.as_slice(), ret).ok()
        }))
    }
}

impl Spec for Dynamic {
    type State = DynamicState;
    type Op = Invocation;
    type Ret = Value;

    fn initial(&self) -> DynamicState {
        self.0.first()
    }

    fn step(
        &self,
        state: &DynamicState,
        op: &Invocation,
        ret: Option<&Value>,
        next: &mut Vec<DynamicState>,
    ) {
        self.0.steps(state, op, ret, next);
    }

    fn partition(&self, op: &Invocation) -> Option<u64> {
        self.0.key(op)
    }

    fn observes(&self, op: &Invocation, ret: Option<&Value>) -> bool {
        self.0.only_observes(op, ret)
    }

    fn touches(&self, op: &Invocation, ret: Option<&Value>) -> Touches {
        self.0.touched(op, ret)
    }

    fn vocabulary(&self) -> Option<Vocabulary<Invocation, Value>> {
        self.0.words()
    }

    fn show(&self, op: &Invocation, ret: Option<&Value>) -> String {
        self.0.shown(op, ret)
    }

    fn show_state(&self, state: &DynamicState) -> String {
        self.0.shown_state(state)
    }
}
