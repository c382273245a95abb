//! Input that may block: a pipe whose writer is silent must not outlast the budget.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use trueline::Budget;

use crate::limits;

const CHUNK: usize = 1 << 16;
/// The number of chunks that are read ahead.
const AHEAD: usize = 4;
/// How often the budget is checked while no input arrives.
const PERIOD: Duration = Duration::from_millis(10);

/// Reads on a thread of its own. When the budget is spent the error is `TimedOut`. The thread is
/// abandoned, because nothing can wake it, and ends with the process.
pub(super) struct Slow<'a> {
    budget: &'a Budget,
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
}

impl<'a> Slow<'a> {
    /// `open` also runs on that thread: opening a named pipe waits for its writer.
    pub(super) fn new<R: Read>(
        budget: &'a Budget,
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
    ) -> io::Result<Slow<'a>> {
        let (send, chunks) = mpsc::sync_channel(AHEAD);
        thread::Builder::new().spawn(move || {
            let mut input = match open() {
                Ok(input) => input,
                Err(error) => return drop(send.send(Err(error))),
            };
            loop {
                let mut chunk = vec![0; CHUNK];
                let result = match input.read(&mut chunk) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(0) => return,
                    Ok(n) => {
                        chunk.truncate(n);
                        Ok(chunk)
                    }
                    Err(error) => Err(error),
                };
                // Either the receiver is gone, or the input has ended.
                let failed = result.is_err();
                if send.send(result).is_err() || failed {
                    return;
                }
            }
        })?;
        Ok(Slow { budget, chunks, chunk: io::Cursor::default() })
    }
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.position() == self.chunk.get_ref().len() as u64 && !buffer.is_empty() {
            match self.chunks.recv_timeout(PERIOD) {
                Ok(chunk) => self.chunk = io::Cursor::new(chunk?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(why) = limits::spent(self.budget) {
                        return Err(io::Error::new(io::ErrorKind::TimedOut, why.to_string()));
                    }
                }
            }
        }
        self.chunk.read(buffer)
    }
}
