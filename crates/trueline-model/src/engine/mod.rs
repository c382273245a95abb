//! The checker: runs a [`Program`](crate::program::Program) in every interleaving against its specification.
//!
//! | file | what |
//! |---|---|
//! | `layout`, `code`, `step`, `heap` | a state as numbers and as bits; running one step of one process |
//! | `label`, `spec_sets` | what a step shows; the determinised specification, hash-consed |
//! | `canonical` | symmetry: exact orbits |
//! | `cartesian` | partial order reduction |
//! | `table`, `expand`, `search` | the visited set; successors; breadth first search in parallel |
//! | `checkpoint` | a search that goes on after it was killed |
//! | `published` | Algorithms 4.2 and 4.3 as printed, for comparison |
//! | `progress` | deadlock, lock-freedom, response |
//! | `trace`, `verify` | counterexamples; verdicts |

mod canonical;
mod cartesian;
mod checkpoint;
mod code;
mod expand;
mod heap;
mod label;
mod layout;
mod progress;
mod published;
mod search;
mod spec_sets;
mod step;
mod table;
mod trace;
mod verify;

pub use progress::{Lasso, Progress, ProgressReport, Property, progress};
pub use published::{Counted, Published, published};
pub use search::Pulse;
pub use trace::{Event, Trace, TraceStep};
pub use verify::{Counterexample, Options, Reason, Report, Verdict, verify};
