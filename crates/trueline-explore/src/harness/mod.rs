//! The test harness: generates scenarios, runs them, checks their histories, minimises and reports
//! failures.
//!
//! ```text
//! operations ──generate──> scenarios ──explore or stress──> histories ──check──> verdict ──minimise──> report
//! ```
//!
//! [`explore`] runs each scenario under every schedule that matters, [`stress`] on real threads.
//! Both check the histories against a specification, or against the object itself, run serially. A
//! failure is minimised as long as it stays one of the same kind, and printed with the command that
//! runs it again.

mod body;
mod builder;
mod checking;
mod crew;
mod detail;
mod driver;
mod explored;
mod generate;
mod guarded;
mod histories;
mod limits;
mod macros;
mod minimise;
mod operate;
mod outcome;
mod page;
mod progress;
mod regressions;
mod replay;
mod report;
mod scenario;
mod serial;
mod setting;
mod stressed;
mod table;
#[cfg(feature = "papers")]
mod two_phase;

pub use builder::{Explore, Harness, Holds, Stress, explore, stress};
#[doc(hidden)]
pub use macros::{call_on, handle_of, is_enabled, write_call};
pub use operate::{Operate, Thread};
pub use outcome::{Counts, Enumerated, Failure, Kind, Minimised, Outcome};
pub use trueline_report::Verdict;
#[cfg(feature = "papers")]
pub use two_phase::{Act, TwoPhase};

/// Makes the object.
pub(crate) type Make<T> = dyn Fn() -> T + Send + Sync;
/// An invariant for when no operation is pending; an error describes the violation.
pub(crate) type Invariant<T> = dyn Fn(&T) -> Result<(), String> + Send + Sync;
