//! trueline tells whether a concurrent object behaves as if its operations happened one at a time.
//!
//! This crate is the core: histories and their formats, specifications, checkers, verdicts and explanations.
//! It does no I/O of its own, reads no clock and prints nothing.
#![forbid(unsafe_code)]

pub mod budget;
pub mod check;
pub mod decimal;
pub mod error;
pub mod formats;
pub mod generate;
pub mod history;
#[cfg(feature = "live")]
pub mod live;
pub(crate) mod monitor;
pub mod quasi;
#[doc(hidden)]
pub mod rng;
pub mod saturate;
pub mod spec;
pub mod stream;
pub mod symbolic;
pub mod theory;
pub mod value;
pub mod verdict;

pub use budget::Budget;
pub use check::{Algorithm, Check, Outcome};
pub use history::History;
pub use spec::{Sequential, Spec};
pub use value::Value;
pub use verdict::Verdict;

/// The page about specifications, whose example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/specifications.md")]
pub struct Specifications;
