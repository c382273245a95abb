//! Runs real Rust code under every interleaving that matters.

pub mod engine;
mod front;
pub mod memory;
mod race;
pub mod std;
mod watch;

pub use memory::Alloc;
