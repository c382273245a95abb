//! The arguments of `trueline simulate`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use trueline::quasi::Factors;
use trueline::spec::Named;
use trueline_objects::simulate::MOST_PROCESSES;

use super::OutputArgs;
use crate::limits;
use crate::spec_file;

pub(super) const HELP: &str = "\
A program lists the calls of each process: 'enq(3) | enq(4) deq()' has two processes. Without a program all programs of \
the given size are run, up to renaming of processes and values; for an object that is listed as broken, \
the program that shows its fault comes first.

Examples:
  trueline simulate michael-scott-queue --processes 3 --operations 2
  trueline simulate vyukov-queue --program 'enq(1) deq() | enq(2) deq()'
  trueline simulate treiber-stack --mode stress --operations 8 --limit 10000
  trueline simulate herlihy-wing-queue-rereads --histories 3

Exit code: 0 no violation in any of these programs, 1 a violation, 2 an error, 3 undecided: a limit was reached, \
or a sample (random programs, real threads) has no violation.";

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// What to simulate; 'trueline objects' lists them
    pub(crate) object: String,

    /// explore: under every schedule that matters; stress: the shipped code, on real threads
    #[arg(long, default_value = "explore", value_name = "HOW")]
    pub(crate) mode: SimulateMode,

    /// Calls before the processes start: 'enq(1) enq(2)'
    #[arg(long, value_name = "CALLS", conflicts_with = "cases")]
    pub(crate) before: Option<String>,

    /// Calls of the processes: 'enq(3) | enq(4) deq()'
    #[arg(long, value_name = "PROGRAM", conflicts_with = "cases")]
    pub(crate) program: Option<String>,

    /// Calls after the processes have ended: 'deq() deq()'
    #[arg(long, value_name = "CALLS", conflicts_with = "cases")]
    pub(crate) after: Option<String>,

    /// Processes per generated program
    #[arg(long, short, value_name = "N", default_value_t = 2, conflicts_with_all = ["program", "cases"],
        value_parser = clap::value_parser!(u8).range(1..=MOST_PROCESSES as i64))]
    pub(crate) processes: u8,

    /// Operations per process of a generated program
    #[arg(long, short = 'n', value_name = "M", default_value_t = 2, conflicts_with_all = ["program", "cases"],
        value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) operations: u8,

    /// Run N random programs instead of all: a sample; without a violation the verdict is unknown
    #[arg(long, value_name = "N", conflicts_with_all = ["program", "cases"])]
    pub(crate) random: Option<u32>,

    /// A file of programs, one per line: 'before enq(1); enq(3) | deq(); after deq()'
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: Option<PathBuf>,

    /// Maximum executions per program, or rounds on real threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,

    /// Maximum number of preemptions per schedule
    #[arg(long, value_name = "K")]
    pub(crate) preemptions: Option<u32>,

    /// Explore spurious failures of weak compare-exchanges and spurious wakeups; not on real
    /// threads
    #[arg(long)]
    pub(crate) spurious: bool,

    /// Seed of the random programs
    #[arg(long, value_name = "X", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Allow removals to be out of order by K places: deq=2. deq=? finds the least K for all
    /// histories
    #[arg(long, value_name = "METHOD=K")]
    pub(crate) quasi: Option<Factors>,

    /// Specification to check against, instead of the object's own: a name from 'trueline specs',
    /// or a file, such as my-queue.tl; it must have the object's methods
    #[arg(long, value_parser = spec_file::parse, conflicts_with = "quasi")]
    pub(crate) spec: Option<Arc<Named>>,

    /// Run the schedule of a failure of this program again, as its report prints it; not on real
    /// threads
    #[arg(long, value_name = "SCHEDULE", requires = "program")]
    pub(crate) replay: Option<String>,

    /// Time limit, minimisation included: 500ms, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = limits::parse_time)]
    pub(crate) timeout: Option<Duration>,

    /// Give up when the process holds more memory than this: 200M, 4G [default: three quarters of
    /// what is free]
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_memory)]
    pub(crate) memory: Option<u64>,

    /// Print the first N histories, in the notation of Wing and Gong
    #[arg(long, value_name = "N", conflicts_with = "json", default_value_t = 0)]
    pub(crate) histories: u64,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimulateMode {
    Explore,
    Stress,
}
