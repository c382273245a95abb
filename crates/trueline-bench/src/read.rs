//! `read`: how fast a long history is read and validated, and how much memory that takes beside the
//! history.

use anyhow::anyhow;
use trueline::formats::{Format, ReadOptions};
use trueline::generate::Plan;
use trueline::spec;

use crate::measure::{self, TempFile};

const RUNS: usize = 3;
/// EDN must be read at least this fast, in MB/s.
const SPEED: f64 = 100.0;
/// Peak memory may be this many times the history's.
const MEMORY: f64 = 4.0;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How long the history is.
    #[arg(long, default_value_t = 2_000_000)]
    operations: usize,
    /// Of which specification.
    #[arg(long, default_value = "cas-register")]
    spec: String,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!(
        "Reading and validating a generated {} history of {} operations from a file that was just written:\n\
         median of {RUNS}, the format recognised from the content. Bytes an operation: of the history that results,\n\
         and at the peak while it is read, the history included. ops/s counts operations, of two events each.\n",
        arguments.spec, arguments.operations
    );
    println!(
        "{:<12} {:>8} {:>9} {:>9} {:>10} {:>14} {:>14} {:>7}",
        "format", "MB", "seconds", "MB/s", "ops/s", "history B/op", "peak B/op", "ratio"
    );
    let spec = spec::named(&arguments.spec).map_err(|e| anyhow!(e))?;
    let plan = Plan { operations: arguments.operations, processes: 16, ..Plan::default() };
    let mut files = Vec::new();
    {
        let history = spec.generate(&plan).map_err(|e| anyhow!(e))?;
        for format in [Format::Edn, Format::JsonLines] {
            files.push((format, TempFile::write(&history, format, format.name())?));
        }
    }
    let (mut edn, mut most) = (0.0, 0.0f64);
    for (format, file) in &files {
        let read = measure::read(|| file.open(), &ReadOptions::default(), RUNS)?;
        let operations = read.history.len() as f64;
        let speed = file.bytes as f64 / read.seconds / 1e6;
        let share = read.peak as f64 / read.held as f64;
        if *format == Format::Edn {
            edn = speed;
        }
        most = most.max(share);
        println!(
            "{:<12} {:>8.1} {:>9} {speed:>9.0} {:>10} {:>14.1} {:>14.1} {share:>7.2}",
            format.name(),
            file.bytes as f64 / 1e6,
            measure::seconds(read.seconds),
            measure::large(operations / read.seconds),
            read.held as f64 / operations,
            read.peak as f64 / operations,
        );
    }
    let met = if edn >= SPEED && most <= MEMORY { "met" } else { "missed" };
    println!(
        "\nread: EDN at {edn:.0} MB/s, peak memory {most:.2} times the history; targets {SPEED} MB/s and {MEMORY} times: {met}"
    );
    Ok(())
}
