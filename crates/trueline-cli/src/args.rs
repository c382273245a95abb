//! The command line. This one definition makes the parser, the help, the man pages and the shell
//! completions.

mod simulate;
mod verify;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use trueline::Algorithm;
use trueline::formats::{self, Format};
use trueline::papers::{Algorithm as Paper, Options};
use trueline::quasi::{self, Factors, Quasi, Reading};
use trueline::spec::Named;

use crate::again::Again;
use crate::limits::{self, Limits};
use crate::spec_file;

pub(crate) use simulate::{SimulateArgs, SimulateMode};
pub(crate) use verify::{Histories, Reduction, SemanticsArg, Switch, VerifyArgs};

/// Check whether a concurrent object is linearizable.
#[derive(Debug, Parser)]
#[command(name = "trueline", version, max_term_width = 100, after_help = EXITS)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXITS: &str = "\
Start with 'trueline check FILE'; see also 'trueline help check'.

Exit code: 0 no violation, 1 a violation, 2 an error in usage or input, 3 undecided. For several files the \
worst counts: 2 beats 1 beats 3 beats 0.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check recorded histories against a specification
    #[command(after_help = CHECK)]
    Check(CheckArgs),
    /// Watch a stream of events and stop at the first violation
    #[command(after_help = MONITOR)]
    Monitor(MonitorArgs),
    /// Check every history of a manifest and compare the verdicts with the expected ones
    #[command(after_help = CORPUS)]
    Corpus(CorpusArgs),
    /// Write a random history
    #[command(after_help = GENERATE)]
    Generate(GenerateArgs),
    /// Write a history in another format
    #[command(after_help = CONVERT)]
    Convert(ConvertArgs),
    /// Explore a model of an algorithm in every interleaving
    #[command(after_help = verify::HELP)]
    Verify(VerifyArgs),
    /// Run a concurrent object of this project under every schedule that matters, or on real
    /// threads
    #[command(after_help = simulate::HELP)]
    Simulate(SimulateArgs),
    /// List the specifications, or show one in detail
    Specs(ListArgs),
    /// List the formats of histories, or show one in detail
    Formats(ListArgs),
    /// List the algorithms
    Algorithms(ListArgs),
    /// List the built-in models, or show the text of one
    Models(ListArgs),
    /// List the objects that can be simulated, or show one in detail
    Objects(ListArgs),
    /// Write completions for a shell
    #[command(
        after_help = "Example: trueline completions bash > ~/.local/share/bash-completion/completions/trueline"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual page
    #[command(
        after_help = "Examples:\n  trueline man | man -l -\n  trueline man check > trueline-check.1"
    )]
    Man {
        /// The subcommand that the page is about; left out: trueline itself
        page: Option<String>,
    },
}

const CHECK: &str = "\
Examples:
  trueline check history.edn --spec cas-register
  trueline check *.jsonl --timeout 10s --memory 4G
  trueline check log.edn.gz --spec queue --rename offer=enq,poll=deq
  some-test | trueline check - --spec register:init=0 --json
  trueline check k-fifo.jsonl --spec queue --quasi deq=?

Format and, in some formats, specification are recognised from the content. Files packed with gzip or zstd are \
opened as they are. Exit code: 0 all are linearizable, 1 a violation, 2 an error, 3 undecided.";

const MONITOR: &str = "\
Events are JSON objects, one per line, as 'trueline formats json-lines' shows them. Events are checked as they arrive, and events that \
can no longer matter are dropped. Memory is bounded by the operations that are pending, unmatched or overlap those, plus the names of processes and keys, which are kept. \
Several files are merged by the field time.

Examples:
  some-service | trueline monitor --spec queue -
  trueline monitor --spec register --follow events.jsonl
  trueline generate --spec stack -n 1000000 --occupancy 100 | trueline monitor -

Exit code: 0 the stream ended without a violation, 1 a violation, 2 an error, 3 interrupted, out of time or undecided.";

const CORPUS: &str = "\
The manifest is a table with tabs and a header line. It needs the columns path (relative to the manifest), format \
and spec; independent_keys (yes or no) and verdict (linearizable, violation, or empty) may follow. A row passes \
when its verdict is the stated one, or when there is none stated and it is decided. Undecided rows are skipped.

Examples:
  trueline corpus corpus/MANIFEST.tsv --timeout 10s
  trueline corpus corpus/MANIFEST.tsv --only jepsen/ --algorithm wgl --json

Exit code: 0 all passed, 1 a row failed, 2 a row could not be read, 3 rows were skipped.";

const GENERATE: &str = "\
The same arguments give the same history. Without --violation, json-lines output is streamed, so its length is not limited by memory.

Examples:
  trueline generate --spec queue --operations 1000 --processes 4 --seed 1
  trueline generate --spec register --operations 50 --violation | trueline check -";

const CONVERT: &str = "\
Examples:
  trueline convert history.edn --to json-lines
  trueline convert history.jsonl.gz --to edn > history.edn";

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Histories; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Specification to check against: NAME or NAME:key=value,... such as queue or register:init=0,
    /// or a file of your own, such as my-queue.tl or my-queue.tl:capacity=4. Default: the one that
    /// the file names. 'trueline specs' lists those that are built in; docs/model-language.md shows
    /// how to write one
    #[arg(long, value_parser = parse_spec)]
    pub(crate) spec: Option<Arc<Named>>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) deciding: DecidingArgs,

    #[command(flatten)]
    pub(crate) quasi: QuasiArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Print one JSON object per file
    #[arg(long)]
    pub(crate) json: bool,

    /// Print an order that explains a linearizable history
    #[arg(long)]
    pub(crate) witness: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MonitorArgs {
    /// Streams of events, merged by time; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,

    /// Specification to check against: register, queue, stack, priority-queue, set, mutex, map or
    /// kv, with parameters as in register:init=0, or a file of your own, such as my-queue.tl.
    /// Default: the one that the stream names
    #[arg(long, value_parser = parse_spec)]
    pub(crate) spec: Option<Arc<Named>>,

    /// How to decide
    #[arg(long, default_value = "exact")]
    pub(crate) algorithm: Online,

    /// The format of the stream: json-lines, or snapshot-actions for a simple history of a snapshot
    /// object
    #[arg(long, default_value = "json-lines", value_parser = stream_format)]
    pub(crate) format: Format,

    /// Wait for more events at the end of a file
    #[arg(long, short)]
    pub(crate) follow: bool,

    /// Count malformed lines and skip them, instead of stopping at the first
    #[arg(long)]
    pub(crate) lenient: bool,

    /// Give methods other names: the stream's own name = the specification's
    #[arg(long, value_name = "A=B,...", value_delimiter = ',', value_parser = parse_rename)]
    pub(crate) rename: Vec<Rename>,

    /// Stop with 'unknown from here on' after this time, waiting for events included: 500ms, 10s,
    /// 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = limits::parse_time)]
    pub(crate) timeout: Option<Duration>,

    /// Stop with 'unknown from here on' when the process holds more than this: 200M, 4G (powers of
    /// 1000), 4Gi (powers of
    /// 1024) [default: three quarters of what the machine has free]
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_memory)]
    pub(crate) memory: Option<u64>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Algorithms that decide a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Online {
    /// The exact monitor of the specification, in bounded memory
    Exact,
    /// Saturation: reports no false violation, but may miss one; not for sets
    Saturate,
}

impl From<Online> for trueline::stream::Algorithm {
    fn from(online: Online) -> trueline::stream::Algorithm {
        match online {
            Online::Exact => trueline::stream::Algorithm::Exact,
            Online::Saturate => trueline::stream::Algorithm::Saturate,
        }
    }
}

fn stream_format(text: &str) -> Result<Format, String> {
    match text.parse::<Format>() {
        Ok(format @ (Format::JsonLines | Format::SnapshotActions)) => Ok(format),
        Ok(other) => Err(format!(
            "{other} cannot be streamed: expected json-lines ('trueline convert FILE --to json-lines' makes it), or snapshot-actions"
        )),
        Err(unknown) => Err(unknown.to_string()),
    }
}

/// How to decide.
#[derive(Debug, Args)]
pub(crate) struct DecidingArgs {
    /// How to decide; 'trueline algorithms' explains them
    #[arg(long, default_value = "auto", value_parser = algorithm_parser(), hide_possible_values = true)]
    algorithm: Algorithm,

    /// Options of the algorithms saturate (r), symbolic (c, i, r) and enumerate (c): c tries
    /// completions of pending operations one by one, i reuses one solver, r drops matched pairs
    #[arg(long, value_name = "c,i,r", default_value = "", hide_default_value = true)]
    options: Options,
}

impl DecidingArgs {
    /// The algorithm with its options; the error says which it does not take.
    pub(crate) fn algorithm(&self) -> anyhow::Result<Algorithm> {
        self.algorithm.with_options(self.options).map_err(|e| anyhow::anyhow!(e))
    }

    /// Adds the options that differ from the default to a command.
    pub(crate) fn again(&self, again: Again) -> Again {
        let letters = self.options.letters();
        again
            .maybe("algorithm", (self.algorithm != Algorithm::Auto).then(|| self.algorithm.name()))
            .maybe("options", Some(letters).filter(|letters| !letters.is_empty()))
    }
}

/// How much to print, and how.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print the verdict line only
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,

    /// When to use colour; auto: on a terminal
    #[arg(long, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,

    /// Draw with ASCII characters only
    #[arg(long)]
    pub(crate) ascii: bool,

    /// Write the report as a page to this file as well; of several reports, to a folder with an
    /// index
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Width of the report in columns [default: the terminal, or 80]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(20..=10_000))]
    pub(crate) width: Option<u16>,
}

/// How far out of order operations may be.
#[derive(Debug, Args)]
pub(crate) struct QuasiArgs {
    /// Allow methods to be out of order by K places: deq=2. deq=? finds the least K. For
    /// queues, stacks and priority queues
    #[arg(long, value_name = "METHOD=K,...")]
    quasi: Option<Factors>,

    /// How places are counted: slots, among the removals; uniform, among all operations; literal,
    /// as in the published definition
    #[arg(long, requires = "quasi", default_value = "slots", value_parser = reading_parser(), hide_possible_values = true)]
    reading: Reading,

    /// Values left at the end: closed, they stay; open, later operations may still remove them
    #[arg(long, requires = "quasi", default_value = "closed", hide_possible_values = true)]
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum End {
    Closed,
    Open,
}

impl QuasiArgs {
    /// The question about quasi linearizability, if it is asked; the error names an algorithm that
    /// does not answer it.
    pub(crate) fn question(&self, algorithm: Algorithm) -> anyhow::Result<Option<Quasi>> {
        let Some(factors) = self.quasi.clone() else { return Ok(None) };
        let algorithm = match algorithm {
            Algorithm::Auto => quasi::Algorithm::Auto,
            Algorithm::Paper(Paper::RoundUp) => quasi::Algorithm::RoundUp,
            other => anyhow::bail!(
                "the algorithm {other} does not decide quasi linearizability: expected auto or round-up"
            ),
        };
        let end = match self.end {
            End::Closed => quasi::End::Closed,
            End::Open => quasi::End::Open,
        };
        Ok(Some(Quasi { factors, reading: self.reading, end, algorithm }))
    }

    /// Adds the options that differ from the default to a command.
    pub(crate) fn again(&self, again: Again) -> Again {
        let asked = self.quasi.is_some();
        again
            .maybe("quasi", self.quasi.as_ref().map(Factors::to_string))
            .maybe(
                "reading",
                (asked && self.reading != Reading::Slots).then(|| self.reading.name()),
            )
            .maybe("end", (asked && self.end == End::Open).then_some("open"))
    }
}

fn reading_parser() -> impl TypedValueParser<Value = Reading> {
    let values = Reading::ALL.iter().map(|(_, name, about)| PossibleValue::new(name).help(*about));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Reading>())
}

/// How to read a file.
#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
    /// The format of the file [default: recognised from the content]. 'trueline formats' explains
    /// them
    #[arg(long, value_parser = format_parser(false), hide_possible_values = true)]
    pub(crate) format: Option<Format>,

    /// Whether values carry independent keys, as in [k v]; auto: if all values look like it
    #[arg(long, default_value = "auto", value_name = "WHETHER")]
    pub(crate) keys: Keys,

    /// Give methods other names: the file's own name = the specification's
    #[arg(long, value_name = "A=B,...", value_delimiter = ',', value_parser = parse_rename)]
    pub(crate) rename: Vec<Rename>,
}

#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// Give up on a file after this time, reading included: 500ms, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = limits::parse_time)]
    pub(crate) timeout: Option<Duration>,

    /// Give up when the process holds more than this: 200M, 4G (powers of 1000), 4Gi (powers of 1024)
    /// [default: three quarters of what the machine has free]
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_memory)]
    pub(crate) memory: Option<u64>,
}

impl LimitArgs {
    pub(crate) fn limits(&self) -> Limits {
        Limits { time: self.timeout, memory: self.memory }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CorpusArgs {
    /// The table of histories
    pub(crate) manifest: PathBuf,

    /// Only rows whose path or specification contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,

    #[command(flatten)]
    pub(crate) deciding: DecidingArgs,

    /// Give up on a row after this time, reading included: 500ms, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = limits::parse_time)]
    pub(crate) timeout: Duration,

    /// Give up on a row when the process holds more than this: 200M, 4G (powers of 1000), 4Gi
    /// (powers of 1024) [default: three quarters of what the machine has free]
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_memory)]
    pub(crate) memory: Option<u64>,

    /// Write a page for every row to this folder, and an index of them
    #[arg(long, value_name = "FOLDER")]
    pub(crate) html: Option<PathBuf>,

    /// Print one JSON object per row, and the tally as the last one
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// Specification of the object: NAME or NAME:key=value,...; 'trueline specs' lists them
    #[arg(long, value_parser = parse_spec)]
    pub(crate) spec: Arc<Named>,

    /// Number of operations
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub(crate) operations: usize,

    /// Number of processes
    #[arg(long, short, value_name = "P", default_value_t = 4)]
    pub(crate) processes: usize,

    /// Seed of the random choices
    #[arg(long, value_name = "X", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Plant one violation, DEPTH of the way into the history: 0 near its start, 1 near its end
    /// [default depth: 0.5]
    #[arg(long, value_name = "DEPTH", num_args = 0..=1, default_missing_value = "0.5", require_equals = true)]
    pub(crate) violation: Option<f64>,

    /// Leave one operation in twenty without a return
    #[arg(long)]
    pub(crate) pending: bool,

    /// Let values repeat
    #[arg(long)]
    pub(crate) repeat: bool,

    /// Degree of concurrency: 0 one operation at a time, 1 all processes always busy
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub(crate) overlap: f64,

    /// For a snapshot object: the first two processes change their segment once, the others never;
    /// needs a number of segments, 'snapshot:segments=20'
    #[arg(long)]
    pub(crate) simple: bool,

    /// Once the container has this many values, it never has fewer
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) occupancy: usize,

    /// The format to write
    #[arg(long, default_value = "json-lines", value_parser = format_parser(true))]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The history; - is standard input
    pub(crate) file: PathBuf,

    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(true))]
    pub(crate) to: Format,

    /// The specification, if it affects how a Jepsen history is read: for map and kv, get takes a
    /// key
    #[arg(long, value_parser = parse_spec)]
    pub(crate) spec: Option<Arc<Named>>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Show only this one, in detail
    pub(crate) name: Option<String>,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keys {
    Auto,
    Yes,
    No,
}

impl Keys {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Keys::Auto => "auto",
            Keys::Yes => "yes",
            Keys::No => "no",
        }
    }
}

impl From<Keys> for formats::Keys {
    fn from(keys: Keys) -> formats::Keys {
        match keys {
            Keys::Auto => formats::Keys::Auto,
            Keys::Yes => formats::Keys::Yes,
            Keys::No => formats::Keys::No,
        }
    }
}

/// A method's name in the file and its name in the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rename {
    pub(crate) from: String,
    pub(crate) to: String,
}

fn parse_rename(text: &str) -> Result<Rename, String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => {
            Ok(Rename { from: from.into(), to: to.into() })
        }
        _ => Err("expected two names with = between them: offer=enq".into()),
    }
}

/// An error if one name is renamed to two.
pub(crate) fn ensure_distinct(renames: &[Rename]) -> anyhow::Result<()> {
    for (i, rename) in renames.iter().enumerate() {
        let from = &rename.from;
        let again = renames[..i].iter().any(|other| other.from == *from);
        anyhow::ensure!(
            !again,
            "--rename: {from} is renamed twice: expected one new name for each"
        );
    }
    Ok(())
}

fn parse_spec(text: &str) -> anyhow::Result<Arc<Named>> {
    spec_file::parse(text)
}

fn algorithm_parser() -> impl TypedValueParser<Value = Algorithm> {
    let values =
        Algorithm::ALL.iter().map(|(_, name, about)| PossibleValue::new(name).help(*about));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Algorithm>())
}

fn format_parser(writable: bool) -> impl TypedValueParser<Value = Format> {
    let values = Format::ALL.iter().filter(|format| !writable || format.writable()).map(|format| {
        PossibleValue::new(format.name()).aliases(format.aliases()).help(format.summary())
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Format>())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        super::Cli::command().debug_assert();
    }
}
