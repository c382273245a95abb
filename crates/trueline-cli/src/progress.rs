//! A progress line for long work: on a terminal, after a second, and never in a pipe.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use trueline_report::{clean, seconds};

const PATIENCE: Duration = Duration::from_secs(1);
const PERIOD: Duration = Duration::from_millis(100);

/// Does the work. Meanwhile the last line of the terminal shows the result of `say`.
pub(crate) fn during<T>(say: impl Fn() -> String + Send, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (done, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let start = Instant::now();
            let mut shown = false;
            // No message is ever sent: the other end is dropped when the work is over.
            while over.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                if start.elapsed() > PATIENCE {
                    shown = true;
                    let columns =
                        terminal_size::terminal_size_of(io::stderr()).map_or(80, |s| s.0.0);
                    let line =
                        format!("{} {}", seconds(start.elapsed().as_secs_f64()), clean(&say()));
                    let line: String =
                        line.chars().take(usize::from(columns).saturating_sub(1)).collect();
                    let _ = write!(io::stderr().lock(), "\r{line}\x1b[K");
                }
            }
            if shown {
                let _ = write!(io::stderr().lock(), "\r\x1b[K");
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// Clears the line so that something else can be written. The line reappears by itself.
pub(crate) fn clear() {
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
    }
}
