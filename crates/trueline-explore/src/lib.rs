//! Runs real Rust code under every interleaving that matters.

pub mod engine;
mod front;
pub mod memory;
mod race;
pub mod std;
mod watch;

pub use memory::Alloc;

/// The page for users, whose examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/exploring.md")]
pub struct Exploring;
