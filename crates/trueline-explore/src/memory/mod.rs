//! Memory of the code under test: a per-execution arena behind [`Alloc`].
//!
//! With `#[global_allocator] static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;` in a
//! test, whatever the explored code allocates comes from an arena whose addresses are the same in
//! every execution, and
//!
//! - a shadow access to a freed block is a *use after free*, freeing twice is a *double free*, a
//!   block that is still there at the end of an execution is a *leak*, and bytes of a freed block
//!   that changed were *written after free*;
//! - freed blocks are poisoned, and are either kept apart until the execution ends
//!   ([`Reuse::Quarantine`]) or handed out again, the last one first ([`Reuse::Lifo`]), which
//!   provokes ABA.
//!
//! Plain loads are not seen: a plain read of a freed block yields poison and no report. Outside an
//! exploration, and on threads that take no part in one, the allocator is the system's.
//!
//! Invariants. A fresh block comes from a region of the thread that allocates, so that its address
//! depends on this thread's past alone: allocations of different threads commute. A freed block
//! that is handed out again makes its size class a location of its own, read by an allocation that
//! found the list of free blocks empty, written by each other allocation and by each free. A free
//! writes its block, which each shadow access inside the block reads.

mod arena;
mod fault;
mod global;
mod regions;

pub(crate) use arena::{Afterwards, Arena};
pub use fault::{MemoryFault, MemoryFaultKind, Site};
pub use global::{Alloc, allow_leaks, reuse, untracked};
pub(crate) use global::{Memory, canonical, coded, failure};

/// What becomes of a freed block while the execution lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reuse {
    /// Freed blocks stay poisoned until the execution ends, so that each later access is noticed.
    #[default]
    Quarantine,
    /// The block freed last is handed out first, so that a stale pointer meets a new block: ABA.
    /// Allocations and frees of one size class are then ordered in every possible way, which takes
    /// more executions.
    Lifo,
}
