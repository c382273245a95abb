#![forbid(unsafe_code)]
//! Checks a model of a concurrent algorithm against its specification, in every interleaving.

pub mod engine;
pub mod generate;
pub mod graph;
pub mod interpret;
mod language;
pub mod library;
pub mod program;
pub mod report;
mod verification;

pub use language::{
    Diagnostic, Expectation, Model, ParameterInfo, Semantics, SettingError, Span, Specification,
};
pub use verification::{Findings, Verification, VerifyError};
