//! The engine: runs a program again and again under schedules of its choosing.

mod execution;
mod exploration;
mod footprint;
pub mod interface;
mod intervals;
mod locations;
mod optimal;
mod panics;
mod races;
mod spin;
mod trace;
mod wakeup;

pub use intervals::{Histories, IntervalOrder, MAX_OPERATIONS, Operation, union_of_orders};
pub use exploration::{Execution, Exploration, Report, Scope};
