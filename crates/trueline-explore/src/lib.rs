//! Runs real Rust code under every interleaving that matters.

pub mod engine;
mod front;
pub mod harness;
pub mod memory;
mod race;
pub mod std;
mod watch;
pub mod weak;

pub use harness::{explore, stress};
pub use memory::Alloc;
// What `operations!` writes names the crate by this path, so that a user needs no dependency of their own on it.
pub use trueline;

/// The page for users, whose examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/exploring.md")]
pub struct Exploring;

/// The page about the harness.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing-code.md")]
pub struct TestingCode;

/// The short page about testing code.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/quick-start-code.md")]
pub struct QuickStart;
