//! A file that grows: its end is not the end.
//!
//! What was read must stay what it was. A file that is cut short, written anew or replaced under
//! its name (a log that is rotated) has lost events, or will: what follows would be decided as if
//! they had never been. So that is an error. It is looked for before anything more is read. A pipe
//! has no length and no place to go back to: it is read as it comes.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How long to wait before looking again whether there is more.
const PAUSE: Duration = Duration::from_millis(50);
/// So many of the last bytes are remembered, to see whether they are still there.
const LAST: usize = 256;

/// Reads a file and waits at its end for more, for ever.
pub(super) struct Follow {
    file: File,
    path: PathBuf,
    /// Bytes that were read.
    position: u64,
    /// The last of them.
    last: Vec<u8>,
    /// Not a pipe or a device.
    is_regular: bool,
}

impl Follow {
    pub(super) fn new(file: File, path: &Path) -> io::Result<Follow> {
        let is_regular = file.metadata()?.is_file();
        let (path, last) = (path.to_path_buf(), Vec::new());
        Ok(Follow { file, path, position: 0, last, is_regular })
    }

    /// An error where the file is not what it was when it was last read.
    fn check(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length < self.position {
            let (before, now) = (self.position, length);
            return Err(lost(format!("it was truncated from {before} to {now} bytes")));
        }
        let mut again = vec![0; self.last.len()];
        self.file.seek(SeekFrom::Start(self.position - again.len() as u64))?;
        let read = self.file.read_exact(&mut again);
        self.file.seek(SeekFrom::Start(self.position))?;
        if read.is_err() || again != self.last {
            return Err(lost("what was read of it was written anew".into()));
        }
        Ok(())
    }

    /// An error where the name is another file's now. While there is none of the name, a new one
    /// may come.
    fn check_name(&self) -> io::Result<()> {
        match fs::metadata(&self.path) {
            Ok(named) if !is_same(&named, &self.file.metadata()?) => {
                Err(lost("another file has its name now: it was rotated".into()))
            }
            _ => Ok(()),
        }
    }
}

impl Read for Follow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_regular {
                self.check()?;
            }
            let read = self.file.read(buffer)?;
            if read > 0 {
                self.position += read as u64;
                self.last.extend_from_slice(&buffer[..read]);
                let surplus = self.last.len().saturating_sub(LAST);
                self.last.drain(..surplus);
                return Ok(read);
            }
            // All that the file has was read, so nothing of it is lost by the error.
            if self.is_regular {
                self.check_name()?;
            }
            thread::sleep(PAUSE);
        }
    }
}

fn lost(what: String) -> io::Error {
    io::Error::other(format!(
        "{what} while it was followed; events may be lost, so that nothing can be said of what follows: start again"
    ))
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Where files have no numbers, the time at which they were made tells them apart, if there is one.
#[cfg(not(unix))]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    match (a.created(), b.created()) {
        (Ok(a), Ok(b)) => a == b,
        _ => true,
    }
}
