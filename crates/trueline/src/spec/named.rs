//! The built-in specifications by name: `queue`, `register:init=0`, `semiqueue:k=2`.
//!
//! A [`Builtin`] is a [`Spec`] over [`Value`]s that also knows how formats spell its methods, which results it
//! would give (for generating histories), and how to read its parameters. [`Named`] hides its type.

use std::fmt::Write;

use super::Spec;
use crate::Budget;
use crate::check::{Algorithm, Check, Outcome};
use crate::history::{Error, History};
use crate::value::Value;

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
    /// Reads a call as a format spells it; the error says what was expected.
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(Self::Op, Option<Value>), String>;

    /// Writes a call as the formats spell it: the inverse of [`Builtin::decode`].
    fn encode(&self, op: &Self::Op) -> (&'static str, Vec<Value>);

    /// The results that the operation may have in this state; empty where it blocks.
    fn results(&self, state: &Self::State, op: &Self::Op) -> Vec<Value>;

    /// An operation for a generated history, chosen by the numbers that `pick` yields (each below its
    /// argument). `fresh` is a value that was not used before; a type that likes unique values uses it.
    fn sample(&self, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> Self::Op;
}

/// A built-in specification whose type is hidden.
pub struct Named {
    text: String,
    spec: Box<dyn Erased>,
}

impl Named {
    /// Hides the type of a specification.
    pub fn new(text: impl Into<String>, spec: impl Builtin) -> Named {
        Named { text: text.into(), spec: Box::new(spec) }
    }

    /// As it was named: `queue:init=[1 2]`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Decides a history. An error means that the history does not fit the specification.
    pub fn check(
        &self,
        history: &History,
        algorithm: Algorithm,
        budget: &Budget,
    ) -> Result<Outcome, Error> {
        self.spec.check(history, algorithm, budget).map_err(|e| self.in_context(e))
    }

    /// Says whether every call of the history is one of this specification's.
    pub fn fits(&self, history: &History) -> Result<(), Error> {
        self.spec.fits(history).map_err(|e| self.in_context(e))
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

trait Erased: Send + Sync {
    fn check(&self, h: &History, algorithm: Algorithm, budget: &Budget) -> Result<Outcome, Error>;
    fn fits(&self, history: &History) -> Result<(), Error>;
}

impl<B: Builtin> Erased for B {
    fn check(&self, h: &History, algorithm: Algorithm, budget: &Budget) -> Result<Outcome, Error> {
        let decoded = h.decode(|method, args, result| self.decode(method, args, result))?;
        Ok(Check::new(self.clone()).algorithm(algorithm).budget(budget).run(&decoded))
    }

    fn fits(&self, history: &History) -> Result<(), Error> {
        history.decode(|method, args, result| self.decode(method, args, result)).map(drop)
    }
}

/// Every built-in specification.
pub fn all() -> &'static [Info] {
    &[]
}

/// The specification that a text names: `queue:init=[1 2]`.
pub fn named(text: &str) -> Result<Named, String> {
    Err(format!("no specification is called {text}"))
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
