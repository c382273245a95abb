//! Runs real Rust code under every interleaving that matters.
//!
//! [`operations!`] declares what can be called. [`explore`] runs it under every schedule of all
//! small scenarios and checks every history; [`stress`] does the same on real threads, without
//! covering every schedule. The code under test takes its synchronisation types from [`std`], and
//! the test binary uses [`Alloc`] as its allocator:
//!
//! ```
//! use trueline_explore::std::sync::Mutex;
//! use trueline_explore::{Alloc, explore, operations};
//!
//! #[global_allocator]
//! static ALLOC: Alloc = Alloc;
//!
//! struct Stack(Mutex<Vec<u32>>);
//! impl Stack {
//!     fn push(&self, value: u32) {
//!         self.0.lock().unwrap().push(value);
//!     }
//!     fn pop(&self) -> Option<u32> {
//!         self.0.lock().unwrap().pop()
//!     }
//! }
//!
//! operations! {
//!     enum Op -> Ret for Stack { push(value: u32); pop() -> Option<u32>; }
//! }
//!
//! explore(|| Stack(Mutex::new(Vec::new())))
//!     .operations([Op::push(1), Op::push(2), Op::pop()])
//!     .check();
//! ```
//!
//! `check` panics with a report unless everything holds. [`harness`] lists further settings.
//! Everything else is in [`advanced`].

#[doc(hidden)]
pub mod engine;
mod front;
pub mod harness;
#[doc(hidden)]
pub mod memory;
mod race;
pub mod std;
mod watch;
pub mod weak;

/// Rarely needed: the engine that runs schedules, and the memory of explored code.
pub mod advanced {
    #[doc(inline)]
    pub use crate::engine;
    #[doc(inline)]
    pub use crate::memory;
}

pub use harness::{explore, stress};
pub use memory::Alloc;
// `operations!` generates code that names the crate by this path, so that users need not depend on
// it.
pub use trueline;

/// The users' guide, whose examples are compiled and run.
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
