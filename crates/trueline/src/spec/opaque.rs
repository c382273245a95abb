//! A built-in specification with its types hidden.
//!
//! There are many built-in specifications, and each is used in many ways: to generate histories,
//! watch streams, check models. [`Opaque`] is a [`Builtin`] that represents any of them, so that
//! code generic over `Builtin` is compiled once. Its states are boxed, which costs an allocation
//! and a type check each, and so are operations that `opaque_op` does not list. Whole histories are
//! decided without them, see [`Subject`].

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::opaque_op::{ActionOf, OpaqueOp};
use super::subject::{Claim, Subject};
use super::{Action, Builtin, Canonical, Data, Spec, Touches, Vocabulary};
use crate::history::{Error, History};
use crate::value::Value;

/// Some built-in specification.
#[derive(Clone)]
pub struct Opaque(Arc<dyn Object>);

impl Opaque {
    /// Hides the types of a specification.
    pub fn new<B: Builtin>(spec: B) -> Opaque {
        let action = spec.canonical().map(|canonical| canonical.action);
        Opaque(Arc::new(Concrete { spec, action }))
    }

    /// The history in the operations of the specification.
    pub(crate) fn subject(&self, history: &History) -> Result<Subject<'_>, Error> {
        self.0.subject(history)
    }

    /// Decodes calls to actions of the kind that the specification claims.
    pub(crate) fn decoder(&self) -> Option<Box<dyn Decoder + '_>> {
        self.0.decoder()
    }
}

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opaque").finish_non_exhaustive()
    }
}

/// A state of a specification whose types are hidden.
#[derive(Clone)]
pub struct OpaqueState(Arc<dyn Content>);

impl OpaqueState {
    pub(crate) fn new(state: impl Data) -> OpaqueState {
        OpaqueState(Arc::new(state))
    }

    /// The state, of this type.
    pub(crate) fn get<State: Data>(&self) -> &State {
        self.0.as_any().downcast_ref().expect("a state of this specification")
    }
}

/// A value whose type is hidden.
pub(super) trait Content: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn is_same(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<T: Data> Content for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl PartialEq for OpaqueState {
    fn eq(&self, other: &OpaqueState) -> bool {
        self.0.is_same(other.0.as_any())
    }
}

impl Eq for OpaqueState {}

impl Hash for OpaqueState {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash_into(hasher);
    }
}

impl fmt::Debug for OpaqueState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f)
    }
}

/// Decodes calls, as files spell them, to actions of a kind of object.
pub(crate) trait Decoder: Sync {
    /// The kind.
    fn claim(&self) -> Claim;
    /// The operation. An error says why this is not a call of the specification.
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
        is_pending: bool,
        partitions: bool,
    ) -> Result<Decoded, String>;
}

/// An operation in the terms of a kind.
pub(crate) enum Decoded {
    /// Its action, and its part within its object, if that is requested.
    Action(Action, Option<u64>),
    /// Its result is unknown and it changed nothing.
    Nothing,
    /// The kind has no such action.
    NoWord,
}

/// A call and its result, as a specification sees them.
type Known<'a> = (&'a OpaqueOp, Option<&'a Value>);

/// The methods of [`Spec`] and [`Builtin`] that [`Opaque`] needs from the specification behind it.
trait Object: Send + Sync {
    fn subject(&self, history: &History) -> Result<Subject<'_>, Error>;
    fn decoder(&self) -> Option<Box<dyn Decoder + '_>>;
    fn initial(&self) -> OpaqueState;
    fn step(&self, state: &OpaqueState, known: Known<'_>, next: &mut Vec<OpaqueState>);
    fn partition(&self, op: &OpaqueOp) -> Option<u64>;
    fn claim(&self) -> Option<Claim>;
    fn vocabulary(&self) -> Option<Vocabulary<OpaqueOp, Value>>;
    fn observes(&self, known: Known<'_>) -> bool;
    fn order_insensitive(&self) -> bool;
    fn reorders(&self) -> bool;
    fn commutes(&self, a: Known<'_>, b: Known<'_>) -> bool;
    fn says_nothing(&self, op: &OpaqueOp, ret: &Value) -> bool;
    fn looks_ahead(&self) -> bool;
    fn in_reach(&self, state: &OpaqueState, observer: Known<'_>) -> bool;
    fn may_help(&self, op: &OpaqueOp, observer: Known<'_>) -> bool;
    fn touches(&self, known: Known<'_>) -> Touches;
    fn show(&self, known: Known<'_>) -> String;
    fn show_state(&self, state: &OpaqueState) -> String;
    fn decode(&self, method: &str, args: &[Value], result: Option<&Value>) -> Decoding;
    fn decode_result(
        &self,
        called: &OpaqueOp,
        method: &str,
        args: &[Value],
        result: &Value,
    ) -> Corrected;
    fn takes_keys(&self) -> bool;
    fn owned(&self) -> bool;
    fn readings(&self, history: &History) -> Vec<(Opaque, &'static str)>;
    fn encode(&self, op: &OpaqueOp) -> (&str, Vec<Value>);
    fn take_doubt(&self) -> Option<String>;
    fn results(&self, state: &OpaqueState, op: &OpaqueOp) -> Vec<Value>;
    fn sample(&self, state: &OpaqueState, pick: Pick<'_>, fresh: i64) -> OpaqueOp;
    fn sample_by(
        &self,
        process: u32,
        simple: bool,
        state: &OpaqueState,
        pick: Pick<'_>,
        fresh: i64,
    ) -> OpaqueOp;
    fn perform(&self, state: &mut OpaqueState, op: &OpaqueOp, result: &Value, pick: Pick<'_>);
    fn falsify(&self, op: &OpaqueOp, result: &Value, simple: bool, pick: Pick<'_>)
    -> Option<Value>;
    fn keeps_apart(&self, processes: usize) -> bool;
    fn alien(&self, value: i64) -> Option<(OpaqueOp, Value)>;
}

type Pick<'a> = &'a mut dyn FnMut(u64) -> u64;
type Decoding = Result<(OpaqueOp, Option<Value>), String>;
type Corrected = Result<(Option<OpaqueOp>, Value), String>;

struct Concrete<B: Builtin> {
    spec: B,
    action: Option<ActionOf<B::Op>>,
}

impl<B: Builtin> Concrete<B> {
    fn hide(&self, op: B::Op) -> OpaqueOp {
        OpaqueOp::new(op, self.action)
    }
}

impl<B: Builtin> Object for Concrete<B> {
    fn subject(&self, history: &History) -> Result<Subject<'_>, Error> {
        let decoded =
            history.decode(|method, args, result| self.spec.decode(method, args, result))?;
        Ok(Subject::owning(&self.spec, decoded))
    }

    fn decoder(&self) -> Option<Box<dyn Decoder + '_>> {
        let canonical = self.spec.canonical()?;
        Some(Box::new(Decodes { spec: &self.spec, canonical }))
    }

    fn initial(&self) -> OpaqueState {
        OpaqueState::new(self.spec.initial())
    }

    fn step(&self, state: &OpaqueState, (op, ret): Known<'_>, next: &mut Vec<OpaqueState>) {
        let mut states = Vec::new();
        self.spec.step(state.get(), op.get(), ret, &mut states);
        next.extend(states.into_iter().map(OpaqueState::new));
    }

    fn partition(&self, op: &OpaqueOp) -> Option<u64> {
        self.spec.partition(op.get())
    }

    fn claim(&self) -> Option<Claim> {
        let Canonical { kind, initial, .. } = self.spec.canonical()?;
        Some(Claim { kind, initial })
    }

    fn vocabulary(&self) -> Option<Vocabulary<OpaqueOp, Value>> {
        let read =
            |op: &OpaqueOp, ret: Option<&Value>| Some((op.get::<B::Op>().clone(), ret.cloned()));
        Some(self.spec.vocabulary()?.translated(read))
    }

    fn observes(&self, (op, ret): Known<'_>) -> bool {
        self.spec.observes(op.get(), ret)
    }

    fn order_insensitive(&self) -> bool {
        self.spec.order_insensitive()
    }

    fn reorders(&self) -> bool {
        self.spec.reorders()
    }

    fn commutes(&self, a: Known<'_>, b: Known<'_>) -> bool {
        self.spec.commutes((a.0.get(), a.1), (b.0.get(), b.1))
    }

    fn says_nothing(&self, op: &OpaqueOp, ret: &Value) -> bool {
        self.spec.says_nothing(op.get(), ret)
    }

    fn looks_ahead(&self) -> bool {
        self.spec.looks_ahead()
    }

    fn in_reach(&self, state: &OpaqueState, (op, ret): Known<'_>) -> bool {
        self.spec.in_reach(state.get(), op.get(), ret)
    }

    fn may_help(&self, op: &OpaqueOp, (observer, ret): Known<'_>) -> bool {
        self.spec.may_help(op.get(), observer.get(), ret)
    }

    fn touches(&self, (op, ret): Known<'_>) -> Touches {
        self.spec.touches(op.get(), ret)
    }

    fn show(&self, (op, ret): Known<'_>) -> String {
        self.spec.show(op.get(), ret)
    }

    fn show_state(&self, state: &OpaqueState) -> String {
        self.spec.show_state(state.get())
    }

    fn decode(&self, method: &str, args: &[Value], result: Option<&Value>) -> Decoding {
        let (op, result) = self.spec.decode(method, args, result)?;
        Ok((self.hide(op), result))
    }

    fn decode_result(
        &self,
        called: &OpaqueOp,
        method: &str,
        args: &[Value],
        result: &Value,
    ) -> Corrected {
        let (other, result) = self.spec.decode_result(called.get(), method, args, result)?;
        Ok((other.map(|op| self.hide(op)), result))
    }

    fn takes_keys(&self) -> bool {
        self.spec.takes_keys()
    }

    fn owned(&self) -> bool {
        self.spec.owned()
    }

    fn readings(&self, history: &History) -> Vec<(Opaque, &'static str)> {
        let readings = self.spec.readings(history).into_iter();
        readings.map(|(spec, name)| (Opaque::new(spec), name)).collect()
    }

    fn encode(&self, op: &OpaqueOp) -> (&str, Vec<Value>) {
        self.spec.encode(op.get())
    }

    fn take_doubt(&self) -> Option<String> {
        self.spec.take_doubt()
    }

    fn results(&self, state: &OpaqueState, op: &OpaqueOp) -> Vec<Value> {
        self.spec.results(state.get(), op.get())
    }

    fn sample(&self, state: &OpaqueState, pick: Pick<'_>, fresh: i64) -> OpaqueOp {
        self.hide(self.spec.sample(state.get(), pick, fresh))
    }

    fn sample_by(
        &self,
        process: u32,
        simple: bool,
        state: &OpaqueState,
        pick: Pick<'_>,
        fresh: i64,
    ) -> OpaqueOp {
        self.hide(self.spec.sample_by(process, simple, state.get(), pick, fresh))
    }

    fn perform(&self, state: &mut OpaqueState, op: &OpaqueOp, result: &Value, pick: Pick<'_>) {
        if Arc::get_mut(&mut state.0).is_none() {
            *state = OpaqueState::new(state.get::<B::State>().clone());
        }
        let own = Arc::get_mut(&mut state.0).and_then(|state| state.as_any_mut().downcast_mut());
        let own = own.expect("a state of this specification");
        self.spec.perform(own, op.get(), result, pick);
    }

    fn falsify(
        &self,
        op: &OpaqueOp,
        result: &Value,
        simple: bool,
        pick: Pick<'_>,
    ) -> Option<Value> {
        self.spec.falsify(op.get(), result, simple, pick)
    }

    fn keeps_apart(&self, processes: usize) -> bool {
        self.spec.keeps_apart(processes)
    }

    fn alien(&self, value: i64) -> Option<(OpaqueOp, Value)> {
        let (op, result) = self.spec.alien(value)?;
        Some((self.hide(op), result))
    }
}

struct Decodes<'a, B: Builtin> {
    spec: &'a B,
    canonical: Canonical<B::Op, Value>,
}

impl<B: Builtin> Decoder for Decodes<'_, B> {
    fn claim(&self) -> Claim {
        let Canonical { kind, initial, .. } = &self.canonical;
        Claim { kind: *kind, initial: initial.clone() }
    }

    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
        is_pending: bool,
        partitions: bool,
    ) -> Result<Decoded, String> {
        let (op, result) = self.spec.decode(method, args, result)?;
        if is_pending && self.spec.observes(&op, None) {
            return Ok(Decoded::Nothing);
        }
        if !is_pending && result.is_none() {
            return Ok(Decoded::NoWord);
        }
        let partition = || if partitions { self.spec.partition(&op) } else { None };
        Ok(match (self.canonical.action)(&op, result.as_ref()) {
            Some(action) => Decoded::Action(action, partition()),
            None => Decoded::NoWord,
        })
    }
}

impl Spec for Opaque {
    type State = OpaqueState;
    type Op = OpaqueOp;
    type Ret = Value;

    fn initial(&self) -> OpaqueState {
        self.0.initial()
    }

    fn step(
        &self,
        state: &OpaqueState,
        op: &OpaqueOp,
        ret: Option<&Value>,
        next: &mut Vec<OpaqueState>,
    ) {
        self.0.step(state, (op, ret), next);
    }

    fn partition(&self, op: &OpaqueOp) -> Option<u64> {
        self.0.partition(op)
    }

    fn canonical(&self) -> Option<Canonical<OpaqueOp, Value>> {
        let Claim { kind, initial } = self.0.claim()?;
        Some(Canonical::new(kind, |op: &OpaqueOp, ret| op.action(ret)).holding(initial))
    }

    fn vocabulary(&self) -> Option<Vocabulary<OpaqueOp, Value>> {
        self.0.vocabulary()
    }

    fn observes(&self, op: &OpaqueOp, ret: Option<&Value>) -> bool {
        self.0.observes((op, ret))
    }

    fn order_insensitive(&self) -> bool {
        self.0.order_insensitive()
    }

    fn reorders(&self) -> bool {
        self.0.reorders()
    }

    fn commutes(&self, a: Known<'_>, b: Known<'_>) -> bool {
        self.0.commutes(a, b)
    }

    fn says_nothing(&self, op: &OpaqueOp, ret: &Value) -> bool {
        self.0.says_nothing(op, ret)
    }

    fn looks_ahead(&self) -> bool {
        self.0.looks_ahead()
    }

    fn in_reach(&self, state: &OpaqueState, observer: &OpaqueOp, ret: Option<&Value>) -> bool {
        self.0.in_reach(state, (observer, ret))
    }

    fn may_help(&self, op: &OpaqueOp, observer: &OpaqueOp, ret: Option<&Value>) -> bool {
        self.0.may_help(op, (observer, ret))
    }

    fn touches(&self, op: &OpaqueOp, ret: Option<&Value>) -> Touches {
        self.0.touches((op, ret))
    }

    fn show(&self, op: &OpaqueOp, ret: Option<&Value>) -> String {
        self.0.show((op, ret))
    }

    fn show_state(&self, state: &OpaqueState) -> String {
        self.0.show_state(state)
    }
}

impl Builtin for Opaque {
    fn decode(&self, method: &str, args: &[Value], result: Option<&Value>) -> Decoding {
        self.0.decode(method, args, result)
    }

    fn decode_result(
        &self,
        called: &OpaqueOp,
        method: &str,
        args: &[Value],
        result: &Value,
    ) -> Corrected {
        self.0.decode_result(called, method, args, result)
    }

    fn takes_keys(&self) -> bool {
        self.0.takes_keys()
    }

    fn owned(&self) -> bool {
        self.0.owned()
    }

    fn readings(&self, history: &History) -> Vec<(Opaque, &'static str)> {
        self.0.readings(history)
    }

    fn encode(&self, op: &OpaqueOp) -> (&str, Vec<Value>) {
        self.0.encode(op)
    }

    fn take_doubt(&self) -> Option<String> {
        self.0.take_doubt()
    }

    fn results(&self, state: &OpaqueState, op: &OpaqueOp) -> Vec<Value> {
        self.0.results(state, op)
    }

    fn sample(&self, state: &OpaqueState, pick: Pick<'_>, fresh: i64) -> OpaqueOp {
        self.0.sample(state, pick, fresh)
    }

    fn sample_by(
        &self,
        process: u32,
        simple: bool,
        state: &OpaqueState,
        pick: Pick<'_>,
        fresh: i64,
    ) -> OpaqueOp {
        self.0.sample_by(process, simple, state, pick, fresh)
    }

    fn perform(&self, state: &mut OpaqueState, op: &OpaqueOp, result: &Value, pick: Pick<'_>) {
        self.0.perform(state, op, result, pick);
    }

    fn falsify(
        &self,
        op: &OpaqueOp,
        result: &Value,
        simple: bool,
        pick: Pick<'_>,
    ) -> Option<Value> {
        self.0.falsify(op, result, simple, pick)
    }

    fn keeps_apart(&self, processes: usize) -> bool {
        self.0.keeps_apart(processes)
    }

    fn alien(&self, value: i64) -> Option<(OpaqueOp, Value)> {
        self.0.alien(value)
    }
}
