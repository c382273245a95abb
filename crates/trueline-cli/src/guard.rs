//! Keeps limits of time and memory that the work itself overruns.
//!
//! Work draws on a [`Budget`] and stops by itself where it can: it then says how far it got. It cannot
//! everywhere: it does not look at the budget inside a call of the SAT solver, or while it gives back
//! gigabytes of tables. So it runs on a thread of its own, and whoever waits for it stops waiting when a
//! limit is overrun by more than a small allowance. The thread is told to stop, and is not waited for.
//!
//! **Invariant:** [`within`] returns at most [`GRACE`] after the time limit, and soon after the process
//! holds more than the memory limit and a tenth of it.

use std::panic;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use trueline::Budget;
use trueline::budget::Exhausted;

use crate::limits::{self, Limits};

/// How long the work may take to notice that its time is over.
const GRACE: Duration = Duration::from_millis(100);
/// The memory is looked at this often: at the speed of memory that is some tens of megabytes.
const PERIOD: Duration = Duration::from_millis(2);
/// Stacks of worker threads. Readers and minimisers recurse a little; the pages that nobody touches cost nothing.
const STACK: usize = 64 << 20;

/// Does the work within the limits. The error says which of them was overrun while the work did not stop by
/// itself; what it would have found is lost.
pub(crate) fn within<T: Send + 'static>(
    limits: Limits,
    budget: &Arc<Budget>,
    work: impl FnOnce(&Budget) -> T + Send + 'static,
) -> Result<T, Exhausted> {
    let start = Instant::now();
    let (tell, told) = mpsc::channel();
    let theirs = Arc::clone(budget);
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || {
        // Nobody listens any more where the work was given up.
        let _ = tell.send(work(&theirs));
    });
    let worker = worker.expect("the system grants a thread");
    loop {
        match told.recv_timeout(PERIOD) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {}
            // The work ended without a result: it panicked.
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => panic::resume_unwind(panic),
                Ok(()) => unreachable!("a worker that ends has told its result"),
            },
        }
        if let Some(why) = overrun(limits, start.elapsed()) {
            budget.cancel();
            return Err(why);
        }
    }
}

/// The limit that is exceeded by more than the allowance.
fn overrun(limits: Limits, elapsed: Duration) -> Option<Exhausted> {
    if let Some(time) = limits.time
        && elapsed > time.saturating_add(GRACE)
    {
        return Some(Exhausted::Time(time));
    }
    let memory = limits.memory?;
    (limits::resident() > memory.saturating_add(memory / 10)).then_some(Exhausted::Memory(memory))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work that ends only after the test: it never looks at its budget.
    fn deaf(limits: Limits) -> Result<(), Exhausted> {
        let (end, ended) = mpsc::channel::<()>();
        let budget = Arc::new(limits.budget());
        let result = within(limits, &budget, move |_| {
            let _ = ended.recv();
        });
        assert_eq!(budget.spend(0), Err(Exhausted::Cancelled), "the work is told to stop");
        drop(end);
        result
    }

    #[test]
    fn work_that_ignores_its_time_limit_is_given_up() {
        let time = Duration::ZERO;
        let limits = Limits { time: Some(time), memory: None };
        assert_eq!(deaf(limits), Err(Exhausted::Time(time)));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn work_that_ignores_its_memory_limit_is_given_up() {
        let limits = Limits { time: None, memory: Some(1) };
        assert_eq!(deaf(limits), Err(Exhausted::Memory(1)));
    }

    #[test]
    fn work_that_keeps_its_limits_is_waited_for() {
        let limits = Limits { time: None, memory: None };
        let budget = Arc::new(limits.budget());
        assert_eq!(within(limits, &budget, |budget| budget.spend(0).map(|()| 7)), Ok(Ok(7)));
    }

    #[test]
    #[should_panic(expected = "as it is")]
    fn a_panic_of_the_work_is_passed_on() {
        let limits = Limits { time: None, memory: None };
        let _ = within(limits, &Arc::new(limits.budget()), |_| panic!("as it is"));
    }
}
