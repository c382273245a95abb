//! Runs real Rust code under every interleaving that matters.

pub mod engine;
