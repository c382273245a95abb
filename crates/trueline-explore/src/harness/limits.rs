//! The budget of a test with a time limit; its clock starts with the test.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trueline::Budget;
use trueline::budget::Meter;

/// A clock. It does not know the memory of the process.
struct Clock(Instant);

impl Meter for Clock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A budget of so much time from now on, or without limits.
pub(crate) fn budget(time: Option<Duration>) -> Arc<Budget> {
    let budget = Budget::unlimited().meter(Clock(Instant::now()));
    Arc::new(match time {
        Some(time) => budget.time(time),
        None => budget,
    })
}
