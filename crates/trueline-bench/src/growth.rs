//! `growth`: how the time of the general search grows with the length of a register history, `wgl`
//! beside it.
//!
//! Linear is a factor of 2. `wgl` hashes a set of all operations at every step, so a step costs
//! more the longer the history is.

use std::time::Duration;

use anyhow::anyhow;
use trueline::Algorithm;
use trueline::generate::Plan;
use trueline::spec;

use crate::measure::{self, median, ratio, seconds};

/// Histories of each kind.
const SEEDS: u64 = 5;
const SPEC: &str = "register";
/// The factor must stay below this.
const TARGET: f64 = 2.5;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The shorter length; the longer is twice that.
    #[arg(long, default_value_t = 10_000)]
    operations: usize,
    /// How long one decision may take.
    #[arg(long, default_value = "10s", value_parser = measure::parse_time)]
    timeout: Duration,
}

/// A median, and whether it is only a lower bound.
struct Time {
    seconds: f64,
    more: bool,
}

impl Time {
    fn shown(&self) -> String {
        format!("{}{}", if self.more { "> " } else { "" }, seconds(self.seconds))
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let n = arguments.operations;
    println!(
        "Growth on generated {SPEC} histories from {n} to {} operations. Seconds to decide, decoding and the\n\
         replay of the witness included, reading not: median over {SEEDS} histories, each the median of up to 5\n\
         runs (wgl: one). few values: 8 in all; unique: every written value is new.\n",
        2 * n
    );
    println!(
        "{:<12} {:>9} {:>11} {:>11} {:>7} {:>11} {:>11} {:>7} {:>11}",
        "values",
        "processes",
        "search n",
        "search 2n",
        "growth",
        "wgl n",
        "wgl 2n",
        "growth",
        "wgl/search"
    );
    let mut worst: f64 = 0.0;
    for unique in [false, true] {
        for processes in [5, 7, 10] {
            let time = |operations, algorithm| {
                let plan = Plan { operations, processes, unique, ..Plan::default() };
                time(&plan, algorithm, arguments.timeout)
            };
            let (short, long) = (time(n, Algorithm::Search)?, time(2 * n, Algorithm::Search)?);
            let (wgl_short, wgl_long) = (time(n, Algorithm::Wgl)?, time(2 * n, Algorithm::Wgl)?);
            let growth = |a: &Time, b: &Time| match a.more {
                true => "-".to_string(),
                false => {
                    format!("{}{:.2}", if b.more { "> " } else { "" }, b.seconds / a.seconds)
                }
            };
            let undecided = short.more || long.more;
            worst = worst.max(if undecided { f64::INFINITY } else { long.seconds / short.seconds });
            let more = if wgl_long.more { "> " } else { "" };
            println!(
                "{:<12} {processes:>9} {:>11} {:>11} {:>7} {:>11} {:>11} {:>7} {:>11}",
                if unique { "unique" } else { "few" },
                short.shown(),
                long.shown(),
                growth(&short, &long),
                wgl_short.shown(),
                wgl_long.shown(),
                growth(&wgl_short, &wgl_long),
                format!("{more}{}", ratio(wgl_long.seconds, long.seconds)),
            );
        }
    }
    let met = if worst < TARGET { "met" } else { "missed" };
    println!("\ngrowth: the search grows by at most {worst:.2}; target below {TARGET}: {met}");
    Ok(())
}

/// Median over the seeds. The first history that is not decided in time ends it, with a lower
/// bound.
fn time(plan: &Plan, algorithm: Algorithm, timeout: Duration) -> anyhow::Result<Time> {
    let spec = spec::named(SPEC).map_err(|e| anyhow!(e))?;
    let runs = if algorithm == Algorithm::Wgl { 1 } else { 5 };
    let mut times = Vec::new();
    for seed in 1..=SEEDS {
        let plan = Plan { seed, ..plan.clone() };
        let history = spec.generate(&plan).map_err(|e| anyhow!(e))?;
        let decision = measure::decide(&spec, &history, algorithm, timeout, (runs, timeout))?;
        if !decision.is_decided() {
            return Ok(Time { seconds: decision.seconds, more: true });
        }
        anyhow::ensure!(
            decision.verdict == "linearizable",
            "{algorithm}, seed {seed}: what is linearizable by construction was found a violation"
        );
        times.push(decision.seconds);
    }
    Ok(Time { seconds: median(times), more: false })
}
