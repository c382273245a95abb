//! Formats of histories: bytes in, a validated [`History`] out, and back.
//!
//! [`read()`] detects the format from the content unless the caller gives it. Every reader streams:
//! it keeps one chunk of the input and the history that it builds, never the file. Errors name line
//! and column, what was found and what was expected.
//!
//! **Invariants.** No input makes a reader panic, recurse without bound or use more memory than the
//! history, a chunk and one form of at most 64 MiB. The result does not depend on how the reader
//! cuts its chunks. A byte order mark, Windows line ends and a missing last line end are accepted
//! in every format.

mod calls;
mod detect;
mod edn;
mod edn_history;
mod events;
mod intervals;
mod jepsen;
mod jepsen_log;
mod json;
mod json_lines;
mod lexis;
mod snapshot_actions;
mod source;
mod wing_gong;
mod write;

use std::fmt;
use std::io::Read;
use std::str::FromStr;

pub use detect::detect;
pub use events::{EventError, EventLine, EventReader, EventWriter};
pub use write::{WriteError, write};

use crate::history::{Error, History};
pub(crate) use lexis::{found, int, number};
pub(crate) use source::Source;

/// How much of the input decides which format it is.
const HEAD: usize = 64 * 1024;

/// A format of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Our own: one JSON object a line.
    JsonLines,
    /// Events of Jepsen and Knossos.
    Edn,
    /// Events of Jepsen on a key-value store, with the key in a field of its own.
    EdnKv,
    /// The log of a Jepsen run.
    JepsenLog,
    /// Calls and returns of numbered operations.
    Calls,
    /// Calls and returns of numbered threads.
    Limo,
    /// Operations with start and end.
    Intervals,
    /// Operations with process, start and end.
    IntervalsPid,
    /// Starts and ends of updates and scans of a snapshot object.
    SnapshotActions,
    /// The notation of Wing and Gong's paper.
    WingGong,
}

impl Format {
    /// All formats.
    pub const ALL: &[Format] = &[
        Format::JsonLines,
        Format::Edn,
        Format::EdnKv,
        Format::JepsenLog,
        Format::Calls,
        Format::Limo,
        Format::Intervals,
        Format::IntervalsPid,
        Format::SnapshotActions,
        Format::WingGong,
    ];

    /// The name, as people type it.
    pub fn name(self) -> &'static str {
        match self {
            Format::JsonLines => "json-lines",
            Format::Edn => "edn",
            Format::EdnKv => "edn-kv",
            Format::JepsenLog => "jepsen-log",
            Format::Calls => "calls",
            Format::Limo => "limo",
            Format::Intervals => "intervals",
            Format::IntervalsPid => "intervals-pid",
            Format::SnapshotActions => "snapshot-actions",
            Format::WingGong => "wing-gong",
        }
    }

    /// Other names that people type.
    pub fn aliases(self) -> &'static [&'static str] {
        match self {
            Format::JsonLines => &["jsonl"],
            _ => &[],
        }
    }

    /// A one-line description.
    pub fn summary(self) -> &'static str {
        match self {
            Format::JsonLines => {
                "our own format: one JSON object per event, or per operation with start and end"
            }
            Format::Edn => "events of Jepsen and Knossos: one map per line, or a vector of maps",
            Format::EdnKv => "events of Jepsen on a key-value store, with :key beside :value",
            Format::JepsenLog => {
                "the log of a Jepsen run: process, type, operation and value after tabs"
            }
            Format::Calls => "'[3] call push(a)', '[3] return': the number is the operation",
            Format::Limo => "'[3] call push(a)', '[3] return': the number is the thread",
            Format::Intervals => "method, value, start and end of each operation",
            Format::IntervalsPid => "process, start, end, METHOD and value of each operation",
            Format::SnapshotActions => {
                "startUpdate, endUpdate, startScan and endScan of a snapshot object"
            }
            Format::WingGong => "'Q Enq(5) A', 'Q Ok() A': the notation of Wing and Gong",
        }
    }

    /// A short history in this format.
    pub fn example(self) -> &'static str {
        match self {
            Format::JsonLines => {
                "{\"process\":0,\"call\":\"enq\",\"args\":[5]}\n{\"process\":0,\"return\":null}\n"
            }
            Format::Edn => {
                "{:process 0, :type :invoke, :f :write, :value 3}\n\
                 {:process 0, :type :ok, :f :write, :value 3}\n"
            }
            Format::EdnKv => {
                "{:process 0, :type :invoke, :f :put, :key \"x\", :value \"1\"}\n\
                 {:process 0, :type :ok, :f :put, :key \"x\", :value \"1\"}\n"
            }
            Format::JepsenLog => {
                "INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 0\t:ok\t:cas\t[1 2]\n"
            }
            Format::Calls => {
                "# @object atomic-stack\n[1] call push(a)\n[1] return\n[2] call pop\n[2] return a\n"
            }
            Format::Limo => {
                "# @object atomic-queue\n[1] call enq(1)\n[1] return\n[1] call deq\n[1] return 1\n"
            }
            Format::Intervals => "# stack\npush 1 1 3\npop 1 2 4\n",
            Format::IntervalsPid => "# queue\n0 1 3 ENQ 10\n1 2 4 DEQ 10\n",
            Format::SnapshotActions => "startUpdate!1,5;startScan!0;endUpdate!1,5;endScan!0,0,5;\n",
            Format::WingGong => "Q Enq(5) A\nQ Deq() B\nQ Ok() A\nQ Ok(5) B\n",
        }
    }

    /// Whether [`write()`] supports it.
    pub fn writable(self) -> bool {
        matches!(self, Format::JsonLines | Format::Edn | Format::WingGong | Format::Calls)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no format has. Displays as a message with the names there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no format '{}': expected one of {}", self.0, known())
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        let is_called = |f: &&Format| f.name() == name || f.aliases().contains(&name);
        let found = Format::ALL.iter().find(is_called);
        found.copied().ok_or_else(|| UnknownFormat(name.to_string()))
    }
}

/// Whether the values of a Jepsen history carry independent keys, as in `[k v]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Keys {
    /// They do if every call's value is a pair, and that of every cas a key and a pair.
    #[default]
    Auto,
    /// They do; another value is an error.
    Yes,
    /// They do not.
    No,
    /// They do not: the object itself has keys, as a map does, and `[k v]` is one of its keys with
    /// a value. So the value of a call to `get` is a key.
    Arguments,
}

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; `None`: detect it from the content.
    pub format: Option<Format>,
    /// For `edn` and `jepsen-log`: whether values carry independent keys.
    pub keys: Keys,
}

/// Reads a history and returns its format. An input with several histories is rejected: use
/// [`read_all`].
pub fn read(input: impl Read, options: &ReadOptions) -> Result<(History, Format), Error> {
    let mut source = Source::new(input);
    let format = format_of(&mut source, options)?;
    Ok((read_one(&mut source, format, options)?, format))
}

/// Reads all histories of an input, at least one, and returns their format. In Wing and Gong's
/// notation a blank line separates histories; an input in any other format is one history.
pub fn read_all(input: impl Read, options: &ReadOptions) -> Result<(Vec<History>, Format), Error> {
    let mut source = Source::new(input);
    let format = format_of(&mut source, options)?;
    let histories = match format {
        Format::WingGong => wing_gong::read_all(&mut source)?,
        _ => vec![read_one(&mut source, format, options)?],
    };
    Ok((histories, format))
}

/// The given format, or the detected one.
fn format_of<R: Read>(source: &mut Source<R>, options: &ReadOptions) -> Result<Format, Error> {
    Ok(match options.format {
        Some(format) => format,
        None => {
            let head = source.head(HEAD);
            let mut lines = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
            let blank = lines.all(|line| matches!(line, [] | [b'#' | b';' | b'*', ..]));
            match detect(head) {
                Some(format) => format,
                None => {
                    let is_all = source.head(HEAD + 1).len() <= HEAD;
                    source.check_end()?;
                    return Err(if blank && !is_all {
                        Error::whole(format!(
                            "found only blanks and comments in the first {} KiB: expected \
                             operations there, or the name of the format",
                            HEAD / 1024
                        ))
                    } else if blank {
                        no_operations("a history")
                    } else {
                        Error::whole(format!(
                            "found no format that fits: expected one of {}",
                            known()
                        ))
                    });
                }
            }
        }
    })
}

fn read_one<R: Read>(
    source: &mut Source<R>,
    format: Format,
    options: &ReadOptions,
) -> Result<History, Error> {
    match format {
        Format::JsonLines => json_lines::read(source),
        Format::Edn => edn_history::read(source, options.keys, false),
        Format::EdnKv => edn_history::read(source, options.keys, true),
        Format::JepsenLog => jepsen_log::read(source, options.keys),
        Format::Calls => calls::read_calls(source),
        Format::Limo => calls::read_limo(source),
        Format::Intervals => intervals::read(source, false),
        Format::IntervalsPid => intervals::read(source, true),
        Format::SnapshotActions => snapshot_actions::read(source),
        Format::WingGong => wing_gong::read(source),
    }
}

/// The names of all formats, for messages.
fn known() -> String {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    names.join(", ")
}

/// The error for an input without any operation.
fn no_operations(expected: &str) -> Error {
    Error::whole(format!("no operations: expected {expected}"))
}

#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod tests;
