//! Prints a line of progress every ten seconds, so that a long test does not seem to hang.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use trueline::Budget;
use trueline_report::count;

/// The time before the first line, and between two.
const PAUSE: Duration = Duration::from_secs(10);

/// The number of executions between two readings of the clock.
const EXECUTIONS: u64 = 64;

/// Where lines go.
pub(crate) type Sink = dyn Fn(&str) + Send + Sync;

/// The work of a test so far. Workers of a parallel search share it.
pub(crate) struct Progress<'a> {
    sink: Option<&'a Sink>,
    test: &'a str,
    budget: &'a Budget,
    scenarios: AtomicU64,
    executions: AtomicU64,
    /// When the next line is due, in milliseconds since the test began.
    due: AtomicU64,
}

impl<'a> Progress<'a> {
    /// Without a sink nothing is ever written.
    pub(crate) fn new(sink: Option<&'a Sink>, test: &'a str, budget: &'a Budget) -> Progress<'a> {
        let due = AtomicU64::new(millis(PAUSE));
        let (scenarios, executions) = (AtomicU64::new(0), AtomicU64::new(0));
        Progress { sink, test, budget, scenarios, executions, due }
    }

    /// A scenario begins.
    pub(crate) fn scenario(&self) {
        self.scenarios.fetch_add(1, Relaxed);
        self.look();
    }

    /// Some executions are over.
    pub(crate) fn executions(&self, n: u64) {
        let before = self.executions.fetch_add(n, Relaxed);
        if before / EXECUTIONS != (before + n) / EXECUTIONS {
            self.look();
        }
    }

    /// Writes a line if one is due.
    fn look(&self) {
        let Some(sink) = self.sink else { return };
        let now = self.budget.elapsed();
        let due = self.due.load(Relaxed);
        let next = millis(now + PAUSE);
        // If several workers check at the same time, one of them prints.
        if millis(now) < due || self.due.compare_exchange(due, next, Relaxed, Relaxed).is_err() {
            return;
        }
        let scenarios = count(self.scenarios.load(Relaxed), "scenario");
        let executions = count(self.executions.load(Relaxed), "execution");
        let (test, seconds) = (self.test, now.as_secs());
        sink(&format!("{test}: {seconds} s, {scenarios}, {executions} so far\n"));
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The default sink. It avoids `eprint!`, whose output cargo's test harness holds back until the
/// test fails.
pub(crate) fn to_standard_error(line: &str) {
    // A line that cannot be written is not missed.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}
