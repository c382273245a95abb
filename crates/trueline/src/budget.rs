//! Limits of a decision: a cancel flag, steps, time and memory.
//!
//! The core reads neither a clock nor the memory of the process: a [`Meter`] that the caller
//! supplies reports both, and tests inject one that counts. Checkers call [`Budget::spend`] every
//! few hundred steps and stop when it returns a reason. A user's `apply` cannot be interrupted: the
//! time of a single call counts only after it returns.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Reports elapsed time and the memory of the process.
pub trait Meter: Send + Sync {
    /// Time since the work began.
    fn elapsed(&self) -> Duration;
    /// Bytes that the process holds; 0 if unknown.
    fn resident(&self) -> u64 {
        0
    }
}

/// Why a checker stopped without a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// [`Budget::cancel`] was called.
    Cancelled,
    /// The steps are spent.
    Steps(u64),
    /// The time is spent.
    Time(Duration),
    /// The memory is spent.
    Memory(u64),
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exhausted::Cancelled => f.write_str("interrupted"),
            Exhausted::Steps(n) => write!(f, "the budget of {n} steps is spent"),
            Exhausted::Time(t) => write!(f, "the time limit of {} s is spent", t.as_secs_f64()),
            Exhausted::Memory(bytes) => {
                write!(f, "the memory limit of {} MB is spent", bytes / 1_000_000)
            }
        }
    }
}

/// A budget that any number of threads draw on.
#[derive(Default)]
pub struct Budget {
    cancelled: AtomicBool,
    steps: Option<u64>,
    time: Option<Duration>,
    memory: Option<u64>,
    meter: Option<Box<dyn Meter>>,
    steps_spent: AtomicU64,
    tables: AtomicU64,
}

impl Budget {
    /// A budget without limits.
    pub fn unlimited() -> Budget {
        Budget::default()
    }

    /// Stops after this many steps, counted over all threads.
    pub fn steps(mut self, steps: u64) -> Budget {
        self.steps = Some(steps);
        self
    }

    /// Stops when the meter shows this much time.
    pub fn time(mut self, time: Duration) -> Budget {
        self.time = Some(time);
        self
    }

    /// Sets the limit of memory, which applies to the tables of the checkers and to the process as
    /// the meter reports it.
    pub fn memory(mut self, bytes: u64) -> Budget {
        self.memory = Some(bytes);
        self
    }

    /// Supplies clock and memory.
    pub fn meter(mut self, meter: impl Meter + 'static) -> Budget {
        self.meter = Some(Box::new(meter));
        self
    }

    /// Makes every checker that uses this budget stop soon. May be called from any thread.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Steps spent so far.
    pub fn steps_spent(&self) -> u64 {
        self.steps_spent.load(Ordering::Relaxed)
    }

    /// Time since the work began, as the meter reports it.
    pub fn elapsed(&self) -> Duration {
        self.meter.as_ref().map_or(Duration::ZERO, |m| m.elapsed())
    }

    /// The limit of time, and how much of it is left.
    pub fn time_left(&self) -> Option<(Duration, Duration)> {
        let limit = self.time?;
        Some((limit, limit.saturating_sub(self.elapsed())))
    }

    /// Draws `steps`; an error names the limit that is reached.
    pub fn spend(&self, steps: u64) -> Result<(), Exhausted> {
        let spent = self.steps_spent.fetch_add(steps, Ordering::Relaxed) + steps;
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Exhausted::Cancelled);
        }
        if let Some(limit) = self.steps
            && spent > limit
        {
            return Err(Exhausted::Steps(limit));
        }
        if let Some(limit) = self.time
            && self.elapsed() > limit
        {
            return Err(Exhausted::Time(limit));
        }
        if let Some(limit) = self.memory {
            let resident = self.meter.as_ref().map_or(0, |m| m.resident());
            if resident.max(self.tables.load(Ordering::Relaxed)) > limit {
                return Err(Exhausted::Memory(limit));
            }
        }
        Ok(())
    }
}

/// The memory of one checker's tables, which the budget counts until this is dropped.
pub struct Footprint<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl<'a> Footprint<'a> {
    /// An empty footprint.
    pub fn new(budget: &'a Budget) -> Footprint<'a> {
        Footprint { budget, bytes: 0 }
    }

    /// Replaces the previous amount.
    pub fn set(&mut self, bytes: u64) {
        if bytes >= self.bytes {
            self.budget.tables.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else {
            self.budget.tables.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Footprint<'_> {
    fn drop(&mut self) {
        self.budget.tables.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
