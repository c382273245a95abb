//! Ctrl-C: a summary, and the exit code for 'undecided'.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use trueline::stream::Tally;

use super::interrupted;
use crate::args::MonitorArgs;

/// Exit code 3: undecided.
const UNDECIDED: i32 = 3;

/// What an interrupt would tell. Whoever holds it has the word.
pub(super) struct Interrupt(Arc<Mutex<Tally>>);

impl Interrupt {
    /// From now on an interrupt prints a summary and ends the program.
    pub(super) fn catch(name: &str, args: &MonitorArgs) -> anyhow::Result<Interrupt> {
        let tally = Arc::new(Mutex::new(Tally::default()));
        let (told, name, json) = (tally.clone(), name.to_string(), args.json);
        let start = Instant::now();
        ctrlc::set_handler(move || {
            let tally = told.lock().unwrap_or_else(PoisonError::into_inner);
            let text = interrupted(&name, json, *tally, start.elapsed().as_secs_f64());
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            std::process::exit(UNDECIDED);
        })?;
        Ok(Interrupt(tally))
    }

    /// What has been seen.
    pub(super) fn tell(&self, tally: Tally) {
        *self.hold() = tally;
    }

    /// Keeps an interrupt waiting.
    pub(super) fn hold(&self) -> MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
