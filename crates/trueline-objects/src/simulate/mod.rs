//! Simulates the objects of this crate, in the terms of Wing and Gong (Testing and verifying
//! concurrent objects. JPDC 17, 1993, section 3): processes, operations, programs, cases from a
//! file or at random.
//!
//! ```text
//! 'enq(3) | deq()' ──program──> calls ──harness of trueline-explore──> histories ──check──> verdict
//! ```
//!
//! To add an object: its file in `objects/`, a line in `lib.rs` and one in `shadowed/mod.rs`, one
//! in `families.rs` if it is of a family that is there, and an [`Entry`] in `entries`. Its
//! operations are those of a named specification of `trueline`, which also reads and prints them.

mod domain;
mod entries;
mod families;
mod generated;
mod matrices;
mod notation;
pub mod program;
mod run;
mod subject;
#[cfg(test)]
mod tests;

pub(crate) use entries::Locked;
pub use entries::{Entry, Standing, all, find};
pub use generated::Generated;
pub use notation::wing_gong;
pub use program::{Case, Program};
pub use run::{Found, MOST_PROCESSES, Mode, Request, Simulated, Watch};
pub use trueline_explore::harness::{Kind, Minimised};
pub use trueline_report::Verdict;
