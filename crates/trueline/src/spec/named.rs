//! The built-in specifications by name: `queue`, `register:init=0`, `semiqueue:k=2`.
//!
//! A [`Builtin`] is a [`Spec`] over [`Value`]s that also decodes its methods as formats spell them,
//! gives results for generated histories, and reads its parameters. [`Named`] hides its type.

use std::borrow::Cow;
use std::fmt::Write;

use super::{Dynamic, Opaque, Spec, readings};
use crate::Budget;
use crate::check::{self, Algorithm, Outcome, decide_directly};
use crate::error::{PlanError, WatchError};
use crate::generate::{self, Generated, Plan};
use crate::history::{Error, History, Position};
use crate::quasi::{self, Finding, Quasi};
use crate::stream::{self, Watch};
use crate::theory::{Event, Object, events};
use crate::value::Value;
use crate::verdict::Verdict;

/// What `trueline specs` prints about a specification.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// Its parameters with their defaults: `init=[]`.
    pub parameters: &'static str,
    /// Its methods as the formats spell them, results included: `deq() -> value or nil`.
    pub methods: &'static [&'static str],
    /// One line.
    pub summary: &'static str,
}

/// A specification that is known by name.
pub trait Builtin: Spec<Ret = Value> + Clone + 'static {
    /// Decodes a call as a format spells it; an error says what was expected.
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(Self::Op, Option<Value>), String>;

    /// Decodes the result of a call, with the operation if the result shows that it is another one.
    fn decode_result(
        &self,
        called: &Self::Op,
        method: &str,
        args: &[Value],
        result: &Value,
    ) -> Result<(Option<Self::Op>, Value), String> {
        let (op, result) = self.decode(method, args, Some(result))?;
        Ok(((op != *called).then_some(op), result.unwrap_or_default()))
    }

    /// Whether a method that reads takes a key: then `[k v]` in a Jepsen history is a key and a
    /// value of one object.
    fn takes_keys(&self) -> bool {
        false
    }

    /// Whether the caller matters: an operation without an argument gets its process as one.
    fn owned(&self) -> bool {
        false
    }

    /// The specifications that the history may mean, each with a name for it; a history is
    /// linearizable if it is so for one of them. There is more than one only if the recording has
    /// two meanings and the user did not choose.
    fn readings(&self, _history: &History) -> Vec<(Self, &'static str)> {
        vec![(self.clone(), "")]
    }

    /// Writes a call as the formats spell it: the inverse of [`Builtin::decode`].
    fn encode(&self, op: &Self::Op) -> (&str, Vec<Value>);

    /// Why a violation that was found since the last call is unreliable, if it is: the
    /// specification itself could not execute an operation.
    fn take_doubt(&self) -> Option<String> {
        None
    }

    /// The possible results of the operation in this state; empty if it blocks.
    fn results(&self, state: &Self::State, op: &Self::Op) -> Vec<Value>;

    /// An operation for a generated history, chosen by the numbers that `pick` returns (each below
    /// its argument). `fresh` is a new value, or one of a few if values may repeat.
    fn sample(&self, state: &Self::State, pick: &mut dyn FnMut(u64) -> u64, fresh: i64)
    -> Self::Op;

    /// The same for an operation of this process, if the process matters. `simple`: of a simple
    /// history, if the type supports these.
    fn sample_by(
        &self,
        _process: u32,
        _simple: bool,
        state: &Self::State,
        pick: &mut dyn FnMut(u64) -> u64,
        fresh: i64,
    ) -> Self::Op {
        self.sample(state, pick, fresh)
    }

    /// Takes the step with one of [`Builtin::results`], in place. Overridden if cloning the state
    /// is expensive.
    fn perform(
        &self,
        state: &mut Self::State,
        op: &Self::Op,
        result: &Value,
        pick: &mut dyn FnMut(u64) -> u64,
    ) {
        let mut next = Vec::new();
        self.step(state, op, Some(result), &mut next);
        if !next.is_empty() {
            let chosen = if next.len() > 1 { pick(next.len() as u64) as usize } else { 0 };
            *state = next.swap_remove(chosen);
        }
    }

    /// A result that resembles the given one and is wrong in the state in which that one is right,
    /// if processes use only their own part. `simple`: in a simple history, which the result must
    /// fit. `None` if the type has none.
    fn falsify(
        &self,
        _op: &Self::Op,
        _result: &Value,
        _simple: bool,
        _pick: &mut dyn FnMut(u64) -> u64,
    ) -> Option<Value> {
        None
    }

    /// Whether this many processes each have a part of the object for themselves, so that
    /// [`Builtin::falsify`] can be used.
    fn keeps_apart(&self, _processes: usize) -> bool {
        false
    }

    /// An operation with a result that is wrong in every state that operations without `value` lead
    /// to; `None` if the type has none.
    fn alien(&self, _value: i64) -> Option<(Self::Op, Value)> {
        None
    }
}

/// A built-in specification whose type is hidden.
pub struct Named {
    text: String,
    spec: Opaque,
    /// Streams are watched by the general search.
    is_searched: bool,
}

impl Named {
    /// Hides the type of a specification.
    pub fn new(text: impl Into<String>, spec: impl Builtin) -> Named {
        Named::of(text.into(), Opaque::new(spec))
    }

    /// The same for a specification whose type is already hidden.
    pub(super) fn of(text: String, spec: Opaque) -> Named {
        Named { text, spec, is_searched: false }
    }

    /// The same specification, whose streams are watched by the general search: there is no exact
    /// monitor for user-defined specifications.
    pub fn searched(self) -> Named {
        Named { is_searched: true, ..self }
    }

    /// As it was named: `queue:init=[1 2]`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same specification as a [`Spec`] over calls by name, for code that makes calls instead
    /// of reading them.
    pub fn dynamic(&self) -> Dynamic {
        Dynamic::new(self.spec.clone())
    }

    /// Why a violation of the [dynamic](Named::dynamic) specification is unreliable, if it is: see
    /// [`Builtin::take_doubt`].
    pub fn take_doubt(&self) -> Option<String> {
        self.spec.take_doubt()
    }

    /// Decides a history. An error means that the history does not fit the specification.
    pub fn check(
        &self,
        history: &History,
        algorithm: Algorithm,
        budget: &Budget,
    ) -> Result<Outcome, Error> {
        self.ensure_nil_is_told(history)?;
        let history = &self.with_owners(history);
        // A doubt that another history raised does not concern this one.
        self.spec.take_doubt();
        let outcome = self.check_all(history, algorithm, budget);
        let outcome = outcome.map_err(|e| self.in_context(e))?;
        match self.spec.take_doubt().filter(|_| outcome.verdict.is_violation()) {
            Some(doubt) => Err(Error::whole(doubt)),
            None => Ok(outcome),
        }
    }

    /// Decides a history for each of its meanings.
    fn check_all(
        &self,
        history: &History,
        algorithm: Algorithm,
        budget: &Budget,
    ) -> Result<Outcome, Error> {
        let readings = self.spec.readings(history);
        let (mut refuted, mut undecided) = (Vec::new(), None);
        for (spec, _) in &readings {
            let outcome = check_one(spec, history, algorithm, budget)?;
            match &outcome.verdict {
                // One meaning that fits is enough.
                Verdict::Linearizable(_) => return Ok(outcome),
                Verdict::Unknown(_) => undecided = undecided.or(Some(outcome)),
                Verdict::Violation(_) => refuted.push(outcome),
            }
        }
        // One that is undecided leaves all undecided.
        if let Some(outcome) = undecided {
            return Ok(outcome);
        }
        let outcome = readings::join(&readings, history, &mut refuted, budget);
        outcome.ok_or_else(|| Error::whole("the history cannot be decoded"))
    }

    /// Decides whether a history is quasi linearizable, or finds the least factor. An error means
    /// that the history or the question does not fit the specification.
    pub fn quasi(
        &self,
        history: &History,
        quasi: &Quasi,
        budget: &Budget,
    ) -> Result<Finding, Error> {
        self.ensure_nil_is_told(history)?;
        let history = &self.with_owners(history);
        let decide = || {
            if let [(_, first), (_, second)] = self.spec.readings(history).as_slice() {
                let message = format!(
                    "the results may be {first} or {second}: expected a specification that says which"
                );
                return Err(Error::whole(message));
            }
            quasi::run(&self.spec, history, quasi, budget)
        };
        decide().map_err(|e| self.in_context(e))
    }

    /// The object that the specification describes, its initial values, and the events of a history
    /// in the terms of its theory. An error means that the history does not fit the specification,
    /// or that it has no theory.
    pub fn events(&self, history: &History) -> Result<(Object, Vec<Value>, Vec<Event>), Error> {
        let tell = || {
            let subject = self.spec.subject(&self.with_owners(history))?;
            let fail = |message| Error::at(Position::default(), message);
            let claim = subject.spec.claim();
            let claim = claim.ok_or_else(|| fail("there is no theory".to_string()))?;
            let all: Vec<u32> = (0..subject.history.len() as u32).collect();
            let object = events::object(&claim).map_err(fail)?;
            let told = events::events(&subject, &claim, &all).map_err(fail)?;
            Ok((object, claim.initial, told))
        };
        tell().map_err(|e| self.in_context(e))
    }

    /// True where a method that reads takes a key, as in maps: then `[k v]` in a Jepsen history is
    /// a key and a value of one object, see [`Keys::Arguments`](crate::formats::Keys).
    pub fn takes_keys(&self) -> bool {
        self.spec.takes_keys()
    }

    /// Checks that every call of the history is one of this specification's.
    pub fn fits(&self, history: &History) -> Result<(), Error> {
        let decoded = self.spec.subject(&self.with_owners(history));
        decoded.map(drop).map_err(|e| self.in_context(e))
    }

    /// An operation in the terms of the specification: `pop() -> nil`. Without a result if there is
    /// none or `with_result` is false: `pop()`.
    pub fn show(&self, history: &History, index: u32, with_result: bool) -> String {
        let o = &history.operations()[index as usize];
        let method = &history.methods()[o.op.method as usize];
        let owner = history.processes().get(o.process as usize).filter(|_| self.spec.owned());
        let args = match (o.op.args.as_slice(), owner) {
            ([] | [Value::Nil], Some(owner)) => std::slice::from_ref(owner),
            (args, _) => args,
        };
        let shown = match self.spec.decode(method, args, o.result.as_ref()) {
            Ok((op, result)) => self.spec.show(&op, result.as_ref().filter(|_| with_result)),
            Err(_) => history.show(index),
        };
        shown.strip_suffix(" -> ?").map_or(shown.clone(), String::from)
    }

    /// Generates a history of this specification, and names the specification in it. An error says
    /// why there is none.
    pub fn generate(&self, plan: &Plan) -> Result<History, PlanError> {
        generate::generate(&self.spec, plan, Some(&self.text))
            .map_err(|e| format!("{}: {e}", self.text).into())
    }

    /// Generates the history of [`Named::generate`] event by event, and keeps only open operations
    /// in memory: see [`generate::stream`].
    pub fn generate_stream(
        &self,
        plan: &Plan,
        tell: &mut dyn FnMut(u32, Generated<'_>) -> bool,
    ) -> Result<(), PlanError> {
        generate::stream(&self.spec, plan, tell).map_err(|e| format!("{}: {e}", self.text).into())
    }

    /// A monitor for streams of this specification; an error says why there is none.
    pub fn watch(&self, algorithm: stream::Algorithm) -> Result<Watch, WatchError> {
        if self.is_searched && algorithm == stream::Algorithm::Exact {
            return Ok(Watch::searched(self.spec.clone()));
        }
        Watch::new(self.spec.clone(), algorithm).map_err(|e| format!("{}: {e}", self.text).into())
    }

    /// The history with owners as arguments, if the caller matters.
    fn with_owners<'h>(&self, history: &'h History) -> Cow<'h, History> {
        match self.spec.owned() {
            true => Cow::Owned(history.with_owners()),
            false => Cow::Borrowed(history),
        }
    }

    /// If the format writes nil as -1, an object with the initial value -1 looks like an empty one.
    fn ensure_nil_is_told(&self, history: &History) -> Result<(), Error> {
        let mut words = self.text.split(['=', '[', ']', ',', ' ']);
        if history.read_minus_one_as_nil() && words.any(|word| word == "-1") {
            return Err(Error::whole(format!(
                "the format uses -1 for an empty result, so the -1 of {} is ambiguous: expected another \
                 initial value, or json-lines",
                self.text
            )));
        }
        Ok(())
    }

    fn in_context(&self, error: Error) -> Error {
        let message = format!("{}, for the specification {}", error.message(), self.text);
        Error::at(error.position().unwrap_or_default(), message)
    }
}

impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Named({})", self.text)
    }
}

/// Decides a history that has one meaning.
fn check_one(
    spec: &Opaque,
    h: &History,
    algorithm: Algorithm,
    budget: &Budget,
) -> Result<Outcome, Error> {
    if let Some(outcome) = decide_directly(spec, h, algorithm, budget)? {
        return Ok(outcome);
    }
    // The laws test the claims of built-in specifications about what commutes.
    Ok(check::run(&spec.subject(h)?, algorithm, true, budget))
}

/// A call as people read it.
pub(super) fn show_call(method: &str, args: &[Value], ret: Option<&Value>) -> String {
    let mut text = format!("{method}(");
    for (i, arg) in args.iter().enumerate() {
        let _ = write!(text, "{}{arg}", if i > 0 { ", " } else { "" });
    }
    match ret {
        Some(Value::Nil) => text + ")",
        Some(ret) => format!("{text}) -> {ret}"),
        None => text + ") -> ?",
    }
}
