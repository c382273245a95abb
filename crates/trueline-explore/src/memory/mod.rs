//! Memory of the code under test: a per-execution arena behind [`Alloc`].
//!
//! Install the allocator in a test with `#[global_allocator] static ALLOC: trueline_explore::Alloc
//! = trueline_explore::Alloc;`. All allocations of the explored code then come from an arena whose
//! addresses are the same in every execution.
//!
//! - A shadow access to a freed block is a *use after free*, freeing twice is a *double free*, a
//!   block that remains at the end of an execution is a *leak*, and bytes of a freed block that
//!   changed were *written after free*.
//! - Freed blocks are poisoned. They are either kept apart until the execution ends
//!   ([`Reuse::Quarantine`]) or reused, the last one first ([`Reuse::Lifo`]), which provokes ABA.
//!
//! Plain loads are not detected: a plain read of a freed block returns poison and causes no report.
//! Outside an exploration, and on threads that take no part in one, the allocator is the system's.
//!
//! Invariants. A fresh block comes from a region of the allocating thread, so that its address
//! depends only on this thread's past: allocations of different threads commute. If freed blocks
//! are reused, the size class becomes a location. An allocation that found the list of free blocks
//! empty reads it; every other allocation and every free writes it. A free writes its block, and
//! each shadow access inside the block reads it.

mod arena;
mod fault;
mod global;
mod regions;

pub(crate) use arena::{Afterwards, Arena};
pub use fault::{MemoryFault, MemoryFaultKind, Site};
pub use global::{Alloc, allow_leaks, reuse, untracked};
pub(crate) use global::{Memory, canonical, coded, failure};

/// How freed memory is reused while the execution lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reuse {
    /// Freed blocks stay poisoned until the execution ends, so that every later access is detected.
    #[default]
    Quarantine,
    /// The block freed last is reused first, so that a stale pointer meets a new block: ABA.
    /// Allocations and frees of one size class are then run in every possible order, which takes
    /// more executions.
    Lifo,
}
