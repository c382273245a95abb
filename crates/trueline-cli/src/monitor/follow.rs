//! A file that grows: reading waits at its end for more.
//!
//! The part that was read must not change. If the file is truncated, rewritten or replaced under
//! its name (a rotated log), events are lost, and a verdict on the rest would ignore them. So that
//! is an error, and it is checked before anything more is read. A pipe has no length and cannot
//! seek, so it is read without this check.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How long to wait before checking again for more input.
const PAUSE: Duration = Duration::from_millis(50);
/// This many of the last bytes are kept, to check that the file still contains them.
const LAST: usize = 256;

/// Reads a file and waits at its end for more, without limit.
pub(super) struct Follow {
    file: File,
    path: PathBuf,
    /// The number of bytes read.
    position: u64,
    /// The last bytes read.
    last: Vec<u8>,
    /// Whether it is a regular file, not a pipe or a device.
    is_regular: bool,
}

impl Follow {
    pub(super) fn new(file: File, path: &Path) -> io::Result<Follow> {
        let is_regular = file.metadata()?.is_file();
        let (path, last) = (path.to_path_buf(), Vec::new());
        Ok(Follow { file, path, position: 0, last, is_regular })
    }

    /// An error if the file is not the one that was read before.
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

    /// An error if the name now belongs to another file. If there is no file of that name, a new
    /// one may still appear.
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
            // The file was read to its end, so the error loses no events.
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

/// Whether both are the same file. Where files have no numbers, the creation time decides, if there
/// is one.
#[cfg(not(unix))]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    match (a.created(), b.created()) {
        (Ok(a), Ok(b)) => a == b,
        _ => true,
    }
}
