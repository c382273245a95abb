//! Enforces limits that the work itself overruns, and ends the work on signals.
//!
//! Work draws on a [`Budget`] and stops soon after the budget is spent, with everything that it
//! found. Some stretches do not check the budget: a call of the SAT solver or of a specification,
//! and freeing gigabytes of tables. So the work runs on a thread of its own, and the caller stops
//! waiting after a short grace period. The abandoned thread runs on until the process ends.
//!
//! **Invariant:** after the time limit [`within`] returns within [`GRACE`] and [`PERIOD`], unless
//! `busy` reports that something must not be cut short.

use std::panic;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use trueline::Budget;
use trueline::budget::Exhausted;

use crate::exit::Exit;
use crate::limits;

/// How long the work may take to notice that its time is over.
const GRACE: Duration = Duration::from_millis(100);
/// The grace for memory is shorter, because the work allocates more meanwhile.
const GRACE_OF_MEMORY: Duration = Duration::from_millis(25);
/// Beyond this multiple of the memory limit there is no grace.
const MOST_MEMORY: f64 = 1.1;
/// The grace after a signal, in which a checkpoint is written.
const GRACE_AFTER_SIGNAL: Duration = Duration::from_secs(2);
/// How long the next work waits for abandoned work, whose memory would count as its own.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two checks: at the speed of memory, some ten megabytes.
pub(crate) const PERIOD: Duration = Duration::from_millis(2);
/// Users may recurse deeply, and untouched pages of a stack cost nothing.
const STACK: usize = 256 << 20;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The budget that a signal cancels.
static AT_WORK: Mutex<Option<Arc<Budget>>> = Mutex::new(None);

/// Abandoned work that still runs.
static GIVEN_UP: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Installs a handler: the first Ctrl-C or SIGTERM cancels the budget of the current work, which
/// then reports how far it got; the second one ends the process.
pub(crate) fn catch_signals() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            process::exit(i32::from(Exit::Undecided.code()));
        }
        if let Some(budget) = &*AT_WORK.lock().unwrap_or_else(PoisonError::into_inner) {
            budget.cancel();
        }
    })?;
    Ok(())
}

/// Does the work. An error names the limit that was reached without the work stopping by itself;
/// its result is lost. While `busy` returns true, no limit applies and the caller waits.
pub(crate) fn within<T: Send + 'static>(
    budget: &Arc<Budget>,
    busy: impl Fn() -> bool,
    work: impl FnOnce(&Budget) -> T + Send + 'static,
) -> Result<T, Exhausted> {
    *AT_WORK.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(budget));
    if INTERRUPTED.load(Ordering::SeqCst) {
        budget.cancel();
    }
    let (tell, told) = mpsc::channel();
    let theirs = Arc::clone(budget);
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || {
        // If the work was abandoned, nobody receives this.
        let _ = tell.send(work(&theirs));
    });
    let worker = worker.expect("the system grants a thread");
    let mut since: Option<Instant> = None;
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
        let Err(why) = budget.spend(0) else { continue };
        let elapsed = since.get_or_insert_with(Instant::now).elapsed();
        if elapsed >= grace(why) && !busy() {
            budget.cancel();
            GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
            return Err(why);
        }
    }
}

/// Waits briefly until abandoned work has noticed and freed its memory. Call it before more work in
/// the same process, before its clock starts.
pub(crate) fn await_given_up() {
    let start = Instant::now();
    let mut given_up = GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner);
    while !given_up.iter().all(JoinHandle::is_finished) && start.elapsed() < PATIENCE {
        thread::sleep(PERIOD);
    }
    given_up.retain(|worker| !worker.is_finished());
}

fn grace(why: Exhausted) -> Duration {
    match why {
        Exhausted::Memory(most) if is_far_beyond(most) => Duration::ZERO,
        Exhausted::Memory(_) => GRACE_OF_MEMORY,
        Exhausted::Time(_) | Exhausted::Steps(_) => GRACE,
        Exhausted::Cancelled => GRACE_AFTER_SIGNAL,
    }
}

/// Whether the process holds so much more than this that waiting is too dangerous.
pub(crate) fn is_far_beyond(most: u64) -> bool {
    limits::resident() as f64 > most as f64 * MOST_MEMORY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    /// Work that never checks its budget and ends only after the test.
    fn deaf(limits: Limits) -> Result<(), Exhausted> {
        let (end, ended) = mpsc::channel::<()>();
        let budget = Arc::new(limits.budget());
        let result = within(
            &budget,
            || false,
            move |_| {
                let _ = ended.recv();
            },
        );
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
    fn work_that_was_given_up_is_waited_for_before_more_is_done() {
        let limits = Limits { time: Some(Duration::ZERO), memory: None };
        let (end, ended) = mpsc::channel::<()>();
        let done = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&done);
        let work = move |_: &Budget| {
            let _ = ended.recv();
            theirs.store(true, Ordering::SeqCst);
        };
        assert!(within(&Arc::new(limits.budget()), || false, work).is_err());
        drop(end);
        await_given_up();
        // It waits, unless it needed more than a second to wake up.
        let waits = !GIVEN_UP.lock().unwrap().is_empty();
        assert!(done.load(Ordering::SeqCst) || waits);
    }

    #[test]
    fn work_that_must_not_be_cut_short_is_waited_for() {
        let limits = Limits { time: Some(Duration::ZERO), memory: None };
        let (end, ended) = mpsc::channel::<()>();
        // The work ends after `busy` was asked, and so after the grace.
        let end = Mutex::new(Some(end));
        let busy = || {
            drop(end.lock().unwrap().take());
            true
        };
        let done = within(&Arc::new(limits.budget()), busy, move |_| ended.recv().is_err());
        assert_eq!(done, Ok(true));
    }

    #[test]
    fn work_that_keeps_its_limits_is_waited_for() {
        let budget = Arc::new(Limits { time: None, memory: None }.budget());
        assert_eq!(within(&budget, || false, |budget| budget.spend(0).map(|()| 7)), Ok(Ok(7)));
    }

    #[test]
    #[should_panic(expected = "as it is")]
    fn a_panic_of_the_work_is_passed_on() {
        let budget = Arc::new(Limits { time: None, memory: None }.budget());
        let _ = within(&budget, || false, |_| panic!("as it is"));
    }
}
