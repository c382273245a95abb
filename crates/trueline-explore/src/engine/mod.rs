//! The engine: runs a program repeatedly, once for each schedule that it chooses.
//!
//! A front end announces through [`interface`] what the threads of the program are about to do. An
//! [`Exploration`] selects the schedules, and a [`Report`] gives the result. Values are
//! sequentially consistent: the ordering of an atomic does not affect which value is read.

mod arena;
mod bounded;
mod calls;
mod execution;
mod exploration;
mod footprint;
pub mod interface;
mod intervals;
mod locations;
mod operations;
mod optimal;
pub(crate) mod panics;
mod parallel;
mod races;
pub(crate) mod report;
mod samplers;
mod schedule;
mod slots;
mod spare;
mod spin;
mod strategy;
mod threads;
mod trace;
mod unwinding;
mod visit;
mod waiting;
mod wakeup;

pub use exploration::Exploration;
pub(crate) use exploration::Restart;
pub use intervals::{Histories, IntervalOrder, MAX_OPERATIONS, Operation, union_of_orders};
pub use report::{Aim, Assumption, Report, Scope, Stop};
pub use samplers::Sampler;
pub use schedule::{BadSchedule, Schedule};
pub(crate) use spin::sum_of_bytes;
pub use visit::{Execution, Step, Visited};
