//! Ends the process when a limit was reached and the work does not stop by itself.
//!
//! Work draws on a budget and stops soon after it is spent, with all that was found. Some of it cannot be interrupted: one execution of a
//! large program, a call of a specification, memory that is given back. A thread of its own waits for that for a grace of a few
//! hundredths of a second, tells that nothing was decided, and exits. It also looks at the memory between two looks of the work.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use trueline::Budget;
use trueline::budget::Exhausted;

use crate::exit::Exit;
use crate::limits::Limits;

/// How long work has to stop by itself.
const GRACE: Duration = Duration::from_millis(150);
/// How often memory is looked at.
const PERIOD: Duration = Duration::from_millis(5);
/// The share of the memory that may be exceeded while the work stops by itself.
const EXCESS: f64 = 0.15;

/// A thread that ends the process; until [`Watchdog::conclude`], or until this is dropped.
pub(crate) struct Watchdog {
    /// Dropped to end the thread.
    _over: Option<Sender<()>>,
    /// Whether the process may still be ended from there.
    armed: Arc<Mutex<bool>>,
}

impl Watchdog {
    /// Watches limits that were given; `tell` says what is printed if the process is ended, with the exit code 'undecided'.
    pub(crate) fn start(
        limits: &Limits,
        budget: &Arc<Budget>,
        tell: impl FnOnce(Exhausted) -> String + Send + 'static,
    ) -> Watchdog {
        let armed = Arc::new(Mutex::new(true));
        if limits.time.is_none() && limits.memory.is_none() {
            return Watchdog { _over: None, armed };
        }
        let (over, ended) = mpsc::channel();
        let (limits, budget, still) = (*limits, Arc::clone(budget), Arc::clone(&armed));
        thread::spawn(move || {
            let mut spent: Option<(Instant, Exhausted)> = None;
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                if spent.is_none() {
                    spent = budget.spend(0).err().map(|why| (Instant::now(), why));
                }
                let Some((since, why)) = spent else { continue };
                let too_much = limits.memory.is_some_and(|most| {
                    crate::limits::resident() as f64 > most as f64 * (1.0 + EXCESS)
                });
                if since.elapsed() < GRACE && !too_much {
                    continue;
                }
                let mut armed = still.lock().unwrap_or_else(PoisonError::into_inner);
                if std::mem::replace(&mut armed, false) {
                    // Not through a lock that the work may hold for ever.
                    let _ = std::io::stdout().write_all(tell(why).as_bytes());
                    let _ = std::io::stdout().flush();
                    std::process::exit(i32::from(Exit::Undecided.code()));
                }
                return;
            }
        });
        Watchdog { _over: Some(over), armed }
    }

    /// From here on the work tells its verdict itself.
    pub(crate) fn conclude(&self) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}
