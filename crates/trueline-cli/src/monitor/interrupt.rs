//! Ctrl-C and the limits: print a summary and exit with the code for 'undecided'.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use trueline::budget::Exhausted;
use trueline::stream::Tally;
use trueline_report::Undecided;

use super::interrupted;
use crate::args::MonitorArgs;
use crate::guard;

/// Exit code 3: undecided.
const UNDECIDED: i32 = 3;

/// What an interrupt would print. Holding the lock delays the handler.
pub(super) struct Interrupt(Arc<Mutex<Tally>>);

impl Interrupt {
    /// Installs a handler: an interrupt prints a summary and ends the program.
    pub(super) fn catch(name: &str, args: &MonitorArgs) -> anyhow::Result<Interrupt> {
        let tally = Arc::new(Mutex::new(Tally::default()));
        let (shared, name, json) = (tally.clone(), name.to_string(), args.json);
        let start = Instant::now();
        ctrlc::set_handler(move || {
            end(&shared, &name, &Undecided::new("cancelled", "interrupted"), json, start);
        })?;
        Ok(Interrupt(tally))
    }

    /// Ends the program with a summary after this time, unless it is about to print its result.
    pub(super) fn after(&self, time: Duration, name: &str, json: bool) -> anyhow::Result<()> {
        let (shared, name, start) = (self.0.clone(), name.to_string(), Instant::now());
        let why = Undecided::limit(&Exhausted::Time(time));
        let watch = move || {
            thread::sleep(time);
            end(&shared, &name, &why, json, start);
        };
        thread::Builder::new().name("time limit".into()).spawn(watch).map(drop)?;
        Ok(())
    }

    /// Ends the program with a summary as soon as it holds much more memory than this. The monitor
    /// checks its memory between events, but a single event can take more than all before it:
    /// saturation doubles its tables.
    pub(super) fn beyond(&self, bytes: u64, name: &str, json: bool) -> anyhow::Result<()> {
        let (shared, name, start) = (self.0.clone(), name.to_string(), Instant::now());
        let why = Undecided::limit(&Exhausted::Memory(bytes));
        let watch = move || {
            while !guard::is_far_beyond(bytes) {
                thread::sleep(guard::PERIOD);
            }
            end(&shared, &name, &why, json, start);
        };
        thread::Builder::new().name("memory limit".into()).spawn(watch).map(drop)?;
        Ok(())
    }

    /// Updates the counts that an interrupt prints.
    pub(super) fn update(&self, tally: Tally) {
        *self.hold() = tally;
    }

    /// Delays an interrupt and the limits while the guard lives.
    pub(super) fn hold(&self) -> MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints the summary and ends the program.
fn end(shared: &Mutex<Tally>, name: &str, why: &Undecided, json: bool, start: Instant) -> ! {
    let tally = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let text = interrupted(name, why, json, *tally, start.elapsed().as_secs_f64());
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    std::process::exit(UNDECIDED)
}
