//! Files: opened, unpacked and read within the budget.

mod slow;
mod zstd;

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use trueline::formats::{self, Keys, ReadOptions};
use trueline::spec::Named;
use trueline::{Budget, History, history};

use crate::args::{self, ReadingArgs, Rename};
use crate::limits;
use slow::Slow;
use zstd::Zstd;

const GZIP: &[u8] = &[0x1f, 0x8b];

/// Why there is no history.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The file cannot be opened or read.
    File(io::Error),
    /// Its content is wrong.
    Content(history::Error),
    /// A limit was reached while it was read.
    Exhausted(trueline::budget::Exhausted),
}

impl Failure {
    /// `file:line:column: message`.
    pub(crate) fn message(&self, file: &str) -> String {
        match self {
            Failure::File(error) => format!("{file}: {}", reason(error)),
            Failure::Content(error) => format!("{file}:{error}"),
            Failure::Exhausted(why) => format!("{file}: {why} while the file was read"),
        }
    }
}

/// The system's message, without its error number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "the file may not be read: permission denied".into(),
        io::ErrorKind::IsADirectory => "this is a directory: expected a file".into(),
        _ => error.to_string(),
    }
}

/// How to read a file.
pub(crate) struct Reading<'a> {
    pub(crate) options: ReadOptions,
    pub(crate) rename: &'a [Rename],
}

impl<'a> Reading<'a> {
    /// The settings in the arguments, for a history of this specification, if it is known before
    /// the file is read.
    pub(crate) fn new(args: &'a ReadingArgs, spec: Option<&Named>) -> Reading<'a> {
        let options = ReadOptions { format: args.format, keys: keys(args.keys, spec) };
        Reading { options, rename: &args.rename }
    }
}

/// How to read `[k v]`. An object with keys of its own, such as a map, takes them as arguments.
pub(crate) fn keys(given: args::Keys, spec: Option<&Named>) -> Keys {
    match given {
        args::Keys::Auto | args::Keys::No if spec.is_some_and(Named::takes_keys) => Keys::Arguments,
        given => given.into(),
    }
}

/// Reads a history; `-` is standard input. `progress` counts bytes as they are unpacked. A file of
/// several histories is refused.
pub(crate) fn read(
    file: &Path,
    reading: &Reading,
    budget: &Budget,
    progress: &AtomicU64,
) -> Result<History, Failure> {
    let read = |input: Within<'_>| formats::read(input, &reading.options).map(|read| read.0);
    let mut history = within(file, budget, progress, read)?;
    rename(&mut history, reading.rename);
    Ok(history)
}

/// Reads all histories of a file, at least one.
pub(crate) fn read_all(
    file: &Path,
    reading: &Reading,
    budget: &Budget,
    progress: &AtomicU64,
) -> Result<Vec<History>, Failure> {
    let read = |input: Within<'_>| formats::read_all(input, &reading.options).map(|read| read.0);
    let mut histories = within(file, budget, progress, read)?;
    histories.iter_mut().for_each(|history| rename(history, reading.rename));
    Ok(histories)
}

fn rename(history: &mut History, renames: &[Rename]) {
    history.rename(|method| {
        renames.iter().find(|rename| rename.from == method).map(|rename| rename.to.as_str())
    });
}

/// Opens a file and reads from it, as long as the budget lasts.
fn within<T>(
    file: &Path,
    budget: &Budget,
    progress: &AtomicU64,
    read: impl FnOnce(Within<'_>) -> Result<T, history::Error>,
) -> Result<T, Failure> {
    let unpacked = open(file, budget).map_err(|error| match limits::spent(budget) {
        Some(why) if error.kind() == io::ErrorKind::TimedOut => Failure::Exhausted(why),
        _ => Failure::File(error),
    })?;
    let mut exhausted = None;
    let input = Within { input: unpacked, budget, progress, exhausted: &mut exhausted };
    let result = read(input);
    // One long line can take much memory between two checks of the budget.
    if let Some(why) = exhausted.or_else(|| limits::spent(budget).filter(|_| result.is_ok())) {
        return Err(Failure::Exhausted(why));
    }
    result.map_err(Failure::Content)
}

/// Opens a file and unpacks it if its first bytes are those of a packed file.
fn open<'a>(file: &Path, budget: &'a Budget) -> io::Result<Box<dyn Read + 'a>> {
    let raw: Box<dyn Read + 'a> = if file == Path::new("-") {
        Box::new(Slow::new(budget, || Ok(io::stdin()))?)
    } else {
        let kind = fs::metadata(file)?.file_type();
        if kind.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if kind.is_file() {
            Box::new(File::open(file)?)
        } else {
            let file = file.to_path_buf();
            Box::new(Slow::new(budget, || File::open(file))?)
        }
    };
    unpacked(raw)
}

/// Unpacks the input if its first bytes are those of a packed file.
pub(crate) fn unpacked<'a>(mut raw: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    let mut head = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut head)?;
    let (gzip, zstd) = (head.starts_with(GZIP), zstd::starts(&head));
    let whole = io::Cursor::new(head).chain(raw);
    Ok(if gzip {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole)))
    } else if zstd {
        Box::new(Zstd::new(BufReader::with_capacity(1 << 16, whole)))
    } else {
        Box::new(whole)
    })
}

/// Stops when the budget is spent.
struct Within<'a> {
    input: Box<dyn Read + 'a>,
    budget: &'a Budget,
    progress: &'a AtomicU64,
    exhausted: &'a mut Option<trueline::budget::Exhausted>,
}

impl Read for Within<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = match limits::spent(self.budget) {
            Some(why) => Err(io::Error::new(io::ErrorKind::TimedOut, why.to_string())),
            None => self.input.read(buffer),
        };
        if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            *self.exhausted = limits::spent(self.budget);
        }
        self.progress.fetch_add(*result.as_ref().unwrap_or(&0) as u64, Ordering::Relaxed);
        result
    }
}
