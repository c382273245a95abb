//! Deciding while operations arrive: the interface between a driver and a monitor.
//!
//! The driver reports every call and every return, in the order in which they happened, with a
//! number of its own for each operation. The monitor answers at every return, as in the paper:
//!
//! ```
//! use trueline::saturate::{Online, Saturate, Stop};
//! use trueline::theory::{Method, Object};
//! use trueline::Value;
//!
//! let mut monitor = Saturate::new(Object::Queue).forgetting();
//! monitor.call(1, Method::Add, &Value::Int(7))?;
//! monitor.returned(1, &Value::Nil)?;
//! monitor.call(2, Method::Remove, &Value::Nil)?;
//! let Err(Stop::Violation(why)) = monitor.returned(2, &Value::Nil) else { panic!("7 is still there") };
//! assert_eq!(why.operations, [1, 2]);
//! # Ok::<(), Stop>(())
//! ```

use std::fmt;

use crate::budget::Exhausted;
use crate::theory::Method;
use crate::value::Value;

/// A monitor that receives events as they happen.
///
/// After an error, every later answer is the same error.
pub trait Online {
    /// Operation `operation` was called. The number is the driver's; no two operations share one.
    /// An operation that never returns stays pending.
    fn call(&mut self, operation: u64, method: Method, argument: &Value) -> Result<(), Stop>;

    /// Operation `operation` returned; `result` is as [`Method`] says.
    fn returned(&mut self, operation: u64, result: &Value) -> Result<(), Stop>;

    /// Operation `operation` is known not to have happened, though it was called.
    fn failed(&mut self, operation: u64) -> Result<(), Stop>;

    /// How many operations it remembers: its memory is proportional to the square of this.
    fn held(&self) -> usize;

    /// The operations in an order that explains the history as of the last return, for a monitor
    /// that decides every history. If a monitor gives an order, all of its violations are exact.
    fn explains(&self) -> Option<&[u64]> {
        None
    }
}

/// Why a monitor stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The history up to here is not linearizable, whatever comes. This is final.
    Violation(Violation),
    /// This monitor cannot decide the history, and why: a value was added twice, for example.
    Unfit(String),
    /// The budget is spent.
    Exhausted(Exhausted),
}

/// A violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The operation whose return showed it.
    pub operation: u64,
    /// The event that showed it, counted from 1 over calls and returns.
    pub step: u64,
    /// The operations that the monitor remembered then, ascending, including `operation`. Forgotten
    /// operations are missing, so these need not be a violation in themselves.
    pub operations: Vec<u64>,
    /// The rule that it breaks, as a sentence about the object.
    pub reason: &'static str,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Violation(why) => write!(f, "not linearizable: {}", why.reason),
            Stop::Unfit(why) => f.write_str(why),
            Stop::Exhausted(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for Stop {}
