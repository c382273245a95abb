//! A file that grows: its end is not the end.

use std::fs::File;
use std::io::{self, Read};
use std::thread;
use std::time::Duration;

/// How long to wait before looking again whether there is more.
const PAUSE: Duration = Duration::from_millis(50);

/// Reads a file and waits at its end for more, for ever.
pub(super) struct Follow(File);

impl Follow {
    pub(super) fn new(file: File) -> Follow {
        Follow(file)
    }
}

impl Read for Follow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer)? {
                0 => thread::sleep(PAUSE),
                n => return Ok(n),
            }
        }
    }
}
