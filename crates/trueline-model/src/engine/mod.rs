//! The checker: runs a [`Program`](crate::program::Program) in every interleaving against its
//! specification.
//!
//! | file | what |
//! |---|---|
//! | `layout`, `code`, `step`, `eval`, `scratch`, `heap` | a state as numbers and as bits; running one step of one process |
//! | `label`, `spec_sets` | what a step shows; the determinised specification, hash-consed |
//! | `marks` | whether marked points can stand for calls and returns |
//! | `canonical`, `colours`, `classes` | symmetry: exact orbits of processes and of data values; what is said without names; what may be exchanged |
//! | `cartesian` | partial order reduction |
//! | `table`, `expand`, `search` | the visited set; successors; breadth first search in parallel |
//! | `checkpoint` | a search that goes on after it was killed |
//! | `published` | feature `papers`: Algorithms 4.2 and 4.3 as printed, for comparison |
//! | `progress` | deadlock whatever the specification says, lock-freedom, response |
//! | `trace`, `verify` | counterexamples; verdicts |
//! | `graph` | the whole graph of a small program, for a drawing |
//! | `simple`, `automata`, `constants`, `walks` | snapshot algorithms: simple executions, automata instead of sets, redundant steps left out, random runs first |

mod automata;
mod canonical;
mod cartesian;
mod checkpoint;
mod classes;
mod code;
mod colours;
mod constants;
mod eval;
mod expand;
mod graph;
mod heap;
mod label;
mod layout;
mod marks;
#[cfg(test)]
mod orbits;
mod progress;
#[cfg(feature = "papers")]
mod published;
mod scratch;
mod search;
mod simple;
mod spec_sets;
mod step;
mod table;
mod trace;
mod verify;
mod walks;

pub use graph::{Graph, Move, NoGraph, State, Values, graph};
pub use progress::{Lasso, Property, progress};
#[cfg(feature = "papers")]
pub use published::{Counted, Published, published};
pub use search::Pulse;
pub use simple::Simple;
pub use trace::{Event, Trace, TraceStep};
pub use trueline_report::{Outcome, Undecided, Verdict};
pub(crate) use verify::told;
pub use verify::{Counterexample, Counts, Fault, Options, Reason, SHORTENING, verify};
