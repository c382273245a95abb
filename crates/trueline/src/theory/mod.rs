//! Theories.
mod label;

pub use label::{Label, Method, Object};
