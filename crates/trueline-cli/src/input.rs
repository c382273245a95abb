//! Files: opened, unpacked and read within the budget.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use trueline::formats::{self, ReadOptions};
use trueline::{Budget, History, history};

use crate::args::{ReadingArgs, Rename};
use crate::limits;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

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

/// What the system says, without its error number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "the file may not be read: permission denied".into(),
        io::ErrorKind::IsADirectory => "this is a directory: expected a file".into(),
        _ => error.to_string(),
    }
}

/// How to read.
pub(crate) struct Reading<'a> {
    pub(crate) options: ReadOptions,
    pub(crate) rename: &'a [Rename],
}

impl<'a> From<&'a ReadingArgs> for Reading<'a> {
    fn from(args: &'a ReadingArgs) -> Reading<'a> {
        let options = ReadOptions { format: args.format, keys: args.keys.into() };
        Reading { options, rename: &args.rename }
    }
}

/// Reads a history; `-` is standard input. `progress` counts bytes as they are unpacked.
pub(crate) fn read(
    file: &Path,
    reading: &Reading,
    budget: &Budget,
    progress: &AtomicU64,
) -> Result<History, Failure> {
    let unpacked = open(file).map_err(Failure::File)?;
    let mut exhausted = None;
    let input = Within { input: unpacked, budget, progress, exhausted: &mut exhausted };
    let result = formats::read(input, &reading.options);
    if let Some(why) = exhausted {
        return Err(Failure::Exhausted(why));
    }
    let (mut history, _) = result.map_err(Failure::Content)?;
    for Rename { from, to } in reading.rename {
        history.rename(from, to);
    }
    Ok(history)
}

/// Opens a file and unpacks it where its first bytes say that it is packed.
fn open(file: &Path) -> io::Result<Box<dyn Read>> {
    let mut raw: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let opened = File::open(file)?;
        if opened.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Box::new(opened)
    };
    let mut head = Vec::new();
    raw.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let (gzip, zstd) = (head.starts_with(GZIP), head.starts_with(ZSTD));
    let whole = io::Cursor::new(head).chain(raw);
    Ok(if gzip {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole)))
    } else if zstd {
        Box::new(Zstd::new(BufReader::with_capacity(1 << 16, whole))?)
    } else {
        Box::new(whole)
    })
}

/// Unpacks zstd frame by frame: packers may write several.
struct Zstd<R: io::BufRead> {
    frame: Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>,
}

impl<R: io::BufRead> Zstd<R> {
    fn new(input: R) -> io::Result<Zstd<R>> {
        Ok(Zstd { frame: Some(StreamingDecoder::new(input).map_err(corrupt)?) })
    }
}

fn corrupt(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the zstd data is damaged: {error}"))
}

impl<R: io::BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(frame) = &mut self.frame {
            let n = frame.read(buffer).map_err(corrupt)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            let Some(ended) = self.frame.take() else { break };
            let mut rest = ended.into_inner();
            if !rest.fill_buf()?.is_empty() {
                self.frame = Some(StreamingDecoder::new(rest).map_err(corrupt)?);
            }
        }
        Ok(0)
    }
}

/// Stops when the budget is spent.
struct Within<'a> {
    input: Box<dyn Read>,
    budget: &'a Budget,
    progress: &'a AtomicU64,
    exhausted: &'a mut Option<trueline::budget::Exhausted>,
}

impl Read for Within<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(why) = limits::spent(self.budget) {
            *self.exhausted = Some(why);
            return Err(io::Error::other(why.to_string()));
        }
        let n = self.input.read(buffer)?;
        self.progress.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
