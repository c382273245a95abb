//! The integration tests of the crate, one module per subject, in one binary.

mod common;
mod explanations;
mod sentences;
mod text;
