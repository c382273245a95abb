//! Does work in a thread and sees to it that limits and signals end it.
//!
//! The work looks at its budget by itself, and so comes to an end shortly after a limit is reached, with all that it has found. Where it does not, because one
//! step of it takes long, it is given up after [`GRACE`], and goes on, unheeded, until the process ends.
//!
//! The first Ctrl-C or SIGTERM cancels the budget, so that the work writes its checkpoint and says how far it came; the second one ends the process.

use std::panic;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use trueline::Budget;
use trueline::budget::Exhausted;
use trueline_model::engine::Pulse;

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(5);
/// How long the work may go on after a limit of time is reached; after a signal; where memory is short, as more is taken all the while.
const GRACE: Duration = Duration::from_millis(100);
const GRACE_AFTER_SIGNAL: Duration = Duration::from_secs(2);
const GRACE_OF_MEMORY: Duration = Duration::from_millis(25);
/// Deep recursion is no fault of the user's.
const STACK: usize = 256 << 20;
/// Exit code 3: undecided.
const UNDECIDED: i32 = 3;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// What a signal cancels.
static AT_WORK: Mutex<Option<Arc<Budget>>> = Mutex::new(None);

/// From now on a signal cancels what [`attend`] attends to.
pub(super) fn catch_signals() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            process::exit(UNDECIDED);
        }
        if let Some(budget) = &*AT_WORK.lock().unwrap_or_else(PoisonError::into_inner) {
            budget.cancel();
        }
    })?;
    Ok(())
}

/// Whether a signal came.
fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// What the work gives, or why it was given up. An error where it panics.
pub(super) fn attend<T: Send + 'static>(
    budget: &Arc<Budget>,
    pulse: &Arc<Pulse>,
    work: impl FnOnce(&Budget) -> T + Send + 'static,
) -> Result<Result<T, String>, String> {
    *AT_WORK.lock().unwrap_or_else(PoisonError::into_inner) = Some(budget.clone());
    if interrupted() {
        budget.cancel();
    }
    let (done, over) = mpsc::channel();
    let drawn = budget.clone();
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || {
        let result = work(&drawn);
        let _ = done.send(result);
    });
    let worker = worker.map_err(|error| format!("no thread could be started: {error}"))?;
    let mut since: Option<Instant> = None;
    loop {
        match over.recv_timeout(PERIOD) {
            Ok(result) => return Ok(Ok(result)),
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Ok(()) => return Err("the work ended without a result".into()),
                Err(panicked) => panic::resume_unwind(panicked),
            },
            Err(RecvTimeoutError::Timeout) => {}
        }
        let Err(spent) = budget.spend(0) else { continue };
        let since = *since.get_or_insert_with(Instant::now);
        let grace = match spent {
            Exhausted::Cancelled => GRACE_AFTER_SIGNAL,
            Exhausted::Memory(_) => GRACE_OF_MEMORY,
            Exhausted::Time(_) | Exhausted::Steps(_) => GRACE,
        };
        if since.elapsed() > grace && !pulse.saving.load(Ordering::Relaxed) {
            let depth = pulse.depth.load(Ordering::Relaxed);
            return Ok(Err(format!("{spent}; every run of up to {depth} steps was seen")));
        }
    }
}
