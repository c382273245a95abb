//! `check`: the corpus by group and generated histories, with what a verdict costs; and how our
//! general search compares with `wgl`, the method of the popular checkers, in the same run.

mod manifest;

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use trueline::formats::{self, Format, ReadOptions};
use trueline::generate::Plan;
use trueline::spec::{self, Named};
use trueline::{Algorithm, History};

use crate::measure::{self, large, ratio, seconds};
use manifest::Row;

/// Decisions are repeated this often, unless that takes longer than the time.
const RUNS: (usize, Duration) = (5, Duration::from_millis(200));
/// `wgl` may take this many times as long as the search did, and this long in any case.
const PATIENCE: (f64, Duration) = (20.0, Duration::from_secs(1));
/// Generated histories: of these types and lengths.
const SPECS: [&str; 12] = [
    "register",
    "cas-register",
    "counter",
    "kv",
    "queue",
    "stack",
    "deque",
    "priority-queue",
    "set",
    "mutex",
    "log",
    "snapshot:segments=4",
];
const LENGTHS: [usize; 2] = [1_000, 10_000];
const PROCESSES: usize = 8;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The corpus: a table with path, format, spec, independent_keys and verdict.
    #[arg(long, default_value = "../shared/corpus/MANIFEST.tsv")]
    corpus: PathBuf,
    /// How long one decision may take.
    #[arg(long, default_value = "5s", value_parser = measure::parse_time)]
    timeout: Duration,
    /// Only groups whose name contains this.
    #[arg(long)]
    only: Option<String>,
}

/// Sums over the histories of a group.
#[derive(Default)]
struct Group {
    name: String,
    histories: usize,
    operations: usize,
    undecided: usize,
    /// Seconds of reading, and of deciding as `auto` chooses.
    reading: f64,
    deciding: f64,
    /// Peaks while deciding, with the history.
    bytes: usize,
    /// Seconds of both searches, over the histories that the general search decides in time.
    search: f64,
    wgl: f64,
    search_undecided: usize,
    wgl_undecided: usize,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!(
        "Seconds to read, and to decide as auto chooses (decoding, replayed witness or explanation included); operations\n\
         a second without and with reading; bytes an operation at the peak while deciding, the history included.\n\
         Then the general search against wgl, over the histories that the search decides in time: wgl may take {} times\n\
         as long as the search, at least {} s and at most the timeout, and what is behind > is a lower bound.\n\
         Times of short decisions are medians of {}. undec: histories that auto does not decide in {} s, and how many\n\
         of them the general search does not, where these differ.\n",
        PATIENCE.0,
        PATIENCE.1.as_secs_f64(),
        RUNS.0,
        arguments.timeout.as_secs_f64(),
    );
    let wanted = |name: &str| arguments.only.as_deref().is_none_or(|only| name.contains(only));
    let mut total = Group { name: "all".into(), ..Group::default() };
    println!("{}", Group::header());
    if arguments.corpus.exists() {
        let folder = arguments.corpus.parent().context("the corpus is in a folder")?;
        for (name, rows) in manifest::groups(&arguments.corpus)? {
            if !wanted(&name) {
                continue;
            }
            let mut group = Group { name, ..Group::default() };
            for row in rows {
                let path = folder.join(&row.path);
                group
                    .add_row(&row, || File::open(&path), arguments.timeout)
                    .with_context(|| row.path.clone())?;
            }
            println!("{}", group.line());
            total.join(&group);
        }
    } else {
        println!("(no corpus at {}: skipped, see --corpus)", arguments.corpus.display());
    }
    for name in SPECS {
        for operations in LENGTHS {
            let name = format!("generated {name} {}", large(operations as f64));
            if !wanted(&name) {
                continue;
            }
            let group = generated(name, operations, arguments.timeout)?;
            println!("{}", group.line());
            total.join(&group);
        }
    }
    println!("{}", total.line());
    println!(
        "\ncheck: {} histories, {} operations, {} undecided, {} operations a second with reading, wgl/search {}",
        total.histories,
        total.operations,
        total.undecided,
        large(total.operations as f64 / (total.reading + total.deciding)),
        total.against_wgl()
    );
    Ok(())
}

/// One generated history, read from JSON Lines in memory.
fn generated(name: String, operations: usize, timeout: Duration) -> anyhow::Result<Group> {
    let text = name.split(' ').nth(1).unwrap_or_default();
    let spec = spec::named(text).map_err(|e| anyhow!(e))?;
    let plan = Plan { operations, processes: PROCESSES, seed: 1, ..Plan::default() };
    let mut bytes = Vec::new();
    {
        let history = spec.generate(&plan).map_err(|e| anyhow!(e))?;
        formats::write(&history, Format::JsonLines, &mut bytes)?;
    }
    let mut group = Group { name, ..Group::default() };
    let read = measure::read(|| Ok(bytes.as_slice()), &ReadOptions::default(), RUNS.0)?;
    group.reading = read.seconds;
    group.add(&spec, &read.history, read.held, Some("linearizable"), timeout)?;
    Ok(group)
}

impl Group {
    fn add_row<R: std::io::Read>(
        &mut self,
        row: &Row,
        open: impl Fn() -> std::io::Result<R>,
        timeout: Duration,
    ) -> anyhow::Result<()> {
        let spec = spec::named(&row.spec).map_err(|e| anyhow!(e))?;
        let read = measure::read(open, &row.options, RUNS.0)?;
        self.reading += read.seconds;
        self.add(&spec, &read.history, read.held, row.verdict.as_deref(), timeout)
    }

    /// Decides a history in all ways. `held`: its bytes.
    fn add(
        &mut self,
        spec: &Named,
        history: &History,
        held: usize,
        expected: Option<&str>,
        timeout: Duration,
    ) -> anyhow::Result<()> {
        let decide = |algorithm, timeout| measure::decide(spec, history, algorithm, timeout, RUNS);
        let auto = decide(Algorithm::Auto, timeout)?;
        let search = decide(Algorithm::Search, timeout)?;
        self.histories += 1;
        self.operations += history.len();
        self.undecided += usize::from(!auto.is_decided());
        self.search_undecided += usize::from(!search.is_decided());
        self.deciding += auto.seconds;
        self.bytes += held + auto.peak;
        let mut found = vec![("auto", auto.verdict), ("search", search.verdict)];
        if search.is_decided() {
            let patience = Duration::from_secs_f64(PATIENCE.0 * search.seconds);
            let wgl = decide(Algorithm::Wgl, patience.max(PATIENCE.1).min(timeout))?;
            self.search += search.seconds;
            self.wgl += wgl.seconds;
            self.wgl_undecided += usize::from(!wgl.is_decided());
            found.push(("wgl", wgl.verdict));
        }
        found.retain(|(_, verdict)| *verdict != "unknown");
        let expected = expected.or(found.first().map(|f| f.1));
        if let Some((by, verdict)) = found.iter().find(|f| Some(f.1) != expected) {
            bail!("{by} found {verdict}, expected {}", expected.unwrap_or_default());
        }
        Ok(())
    }

    fn join(&mut self, other: &Group) {
        self.histories += other.histories;
        self.operations += other.operations;
        self.undecided += other.undecided;
        self.reading += other.reading;
        self.deciding += other.deciding;
        self.bytes += other.bytes;
        self.search += other.search;
        self.wgl += other.wgl;
        self.search_undecided += other.search_undecided;
        self.wgl_undecided += other.wgl_undecided;
    }

    fn header() -> String {
        format!(
            "{:<38} {:>5} {:>8} {:>6} {:>9} {:>9} {:>8} {:>8} {:>8} {:>10} {:>11} {:>10}",
            "group",
            "files",
            "ops",
            "undec",
            "read s",
            "decide s",
            "ops/s",
            "w. read",
            "B/op",
            "search s",
            "wgl s",
            "wgl/search"
        )
    }

    fn line(&self) -> String {
        let operations = self.operations as f64;
        let undecided = match self.undecided == self.search_undecided {
            true => self.undecided.to_string(),
            false => format!("{}/{}", self.undecided, self.search_undecided),
        };
        format!(
            "{:<38} {:>5} {:>8} {undecided:>6} {:>9} {:>9} {:>8} {:>8} {:>8} {:>10} {:>11} {:>10}",
            self.name,
            self.histories,
            self.operations,
            seconds(self.reading),
            seconds(self.deciding),
            large(operations / self.deciding),
            large(operations / (self.reading + self.deciding)),
            large(self.bytes as f64 / operations),
            seconds(self.search),
            format!("{}{}", self.more(), seconds(self.wgl)),
            self.against_wgl(),
        )
    }

    /// Says that the time of `wgl` is a lower bound, where it is.
    fn more(&self) -> &'static str {
        if self.wgl_undecided > 0 { "> " } else { "" }
    }

    fn against_wgl(&self) -> String {
        format!("{}{}", self.more(), ratio(self.wgl, self.search))
    }
}
