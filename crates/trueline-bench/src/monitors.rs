//! `monitors`: long histories of the types that have exact monitors, decided as `auto` chooses.
//!
//! The yardstick is the time to read the same file: deciding, witness and explanation included,
//! should not take longer. A history with a violation near its end shows that nothing depends on
//! stopping early.

mod own_queue;

use std::time::Duration;

use anyhow::anyhow;
use trueline::Algorithm;
use trueline::formats::{Format, ReadOptions};
use trueline::generate::Plan;
use trueline::spec::{self, Named};

use crate::measure::{self, Decision, TempFile, large, seconds};

const SPECS: [&str; 5] = ["queue", "stack", "priority-queue", "register", "set"];
const RUNS: usize = 7;
/// Once the decisions of a history took this long together, they are not repeated.
const ENOUGH: Duration = Duration::from_secs(5);
/// Where the violation is: just before the end.
const DEPTH: f64 = 0.999;
/// MB/s of reading, at least.
const SPEED: f64 = 150.0;
/// Deciding over reading, at most.
const SHARE: f64 = 1.0;
/// Growth of deciding when the length doubles, less than. Of histories without a violation: how
/// much of one with has to be looked at depends on where it is.
const GROWTH: f64 = 2.4;
/// Deciding a history with a violation near its end over deciding one of the same length without,
/// at most.
const PLANTED: f64 = 1.1;
/// Bytes an operation at the peak, less than.
const BYTES: f64 = 150.0;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The shorter length; the longer is twice that.
    #[arg(long, default_value_t = 1_000_000)]
    operations: usize,
    /// How many processes.
    #[arg(long, default_value_t = 16)]
    processes: usize,
    /// Only this specification.
    #[arg(long)]
    spec: Option<String>,
    /// How long one decision may take.
    #[arg(long, default_value = "30s", value_parser = measure::parse_time)]
    timeout: Duration,
}

/// One history, measured.
struct Row {
    megabytes: f64,
    reading: f64,
    /// Peak while deciding, with the history: bytes an operation.
    bytes: f64,
    decision: Decision,
}

impl Row {
    fn speed(&self) -> f64 {
        self.megabytes / self.reading
    }

    fn share(&self) -> f64 {
        self.decision.seconds / self.reading
    }
}

/// The worst numbers over all rows.
struct Worst {
    speed: f64,
    share: f64,
    growth: f64,
    planted: f64,
    bytes: f64,
    undecided: usize,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let n = arguments.operations;
    println!(
        "Generated histories of {} processes with unique values, decided by auto: read from a JSON Lines file that\n\
         was just written, then decided, decoding and a replayed witness or an explanation included; medians of up\n\
         to {RUNS} runs. decide/read: at most 1 means that the verdict costs no more than reading. B/op: peak while\n\
         deciding, the history included. growth: deciding {} against {n} operations. planted: one violation\n\
         at {DEPTH} of the way; in brackets, how many operations explain it.\n",
        arguments.processes,
        2 * n
    );
    println!(
        "{:<15} {:<8} {:>8} {:>7} {:>7} {:>8} {:>9} {:>12} {:>6} {:>7}  {:<22} verdict",
        "spec",
        "history",
        "ops",
        "MB",
        "MB/s",
        "read s",
        "decide s",
        "decide/read",
        "B/op",
        "growth",
        "algorithm"
    );
    let mut worst = Worst {
        speed: f64::INFINITY,
        share: 0.0,
        growth: 0.0,
        planted: 0.0,
        bytes: 0.0,
        undecided: 0,
    };
    let only = arguments.spec.as_deref();
    let names = match only {
        Some(name) => vec![name],
        None => SPECS.to_vec(),
    };
    for name in names {
        let spec = spec::named(name).map_err(|e| anyhow!(e))?;
        // Seconds of those without a violation, the shorter one first.
        let mut fine = Vec::new();
        for violation in [None, Some(DEPTH)] {
            let mut before: Option<f64> = None;
            for operations in [n, 2 * n] {
                let processes = arguments.processes;
                let plan = Plan { operations, processes, violation, seed: 1, ..Plan::default() };
                let row = measure(&spec, &plan, arguments.timeout)?;
                let growth = before.filter(|_| row.decision.is_decided());
                let growth = growth.map(|before| row.decision.seconds / before);
                print(name, &plan, &row, growth);
                worst.add(&row, growth.filter(|_| violation.is_none()));
                match (violation, fine.get(usize::from(operations > n))) {
                    (Some(_), Some(fine)) => {
                        worst.planted = worst.planted.max(row.decision.seconds / fine);
                    }
                    (Some(_), None) => {}
                    (None, _) => fine.push(row.decision.seconds),
                }
                if !row.decision.is_decided() {
                    // Twice the length would only take the time again.
                    break;
                }
                before = Some(row.decision.seconds);
            }
        }
    }
    if only.is_none_or(|only| only == "queue") {
        println!();
        own_queue::run(n, arguments.processes)?;
    }
    println!("\nmonitors: {}", worst.summary());
    Ok(())
}

fn measure(spec: &Named, plan: &Plan, timeout: Duration) -> anyhow::Result<Row> {
    let file = {
        let history = spec.generate(plan).map_err(|e| anyhow!(e))?;
        TempFile::write(&history, Format::JsonLines, "monitors")?
    };
    let read = measure::read(|| file.open(), &ReadOptions::default(), RUNS)?;
    let decision = measure::decide(spec, &read.history, Algorithm::Auto, timeout, (RUNS, ENOUGH))?;
    let expected = if plan.violation.is_some() { "violation" } else { "linearizable" };
    anyhow::ensure!(
        !decision.is_decided() || decision.verdict == expected,
        "{}: expected {expected}, found {}: {plan:?}",
        spec.text(),
        decision.verdict
    );
    Ok(Row {
        megabytes: file.bytes as f64 / 1e6,
        reading: read.seconds,
        bytes: (read.held + decision.peak) as f64 / read.history.len() as f64,
        decision,
    })
}

fn print(name: &str, plan: &Plan, row: &Row, growth: Option<f64>) {
    let decision = &row.decision;
    let verdict = match decision.explained {
        0 => decision.verdict.to_string(),
        n => format!("{} ({n})", decision.verdict),
    };
    println!(
        "{name:<15} {:<8} {:>8} {:>7.1} {:>7.0} {:>8} {:>9} {:>12.2} {:>6.0} {:>7}  {:<22} {verdict}",
        if plan.violation.is_some() { "planted" } else { "fine" },
        large(plan.operations as f64),
        row.megabytes,
        row.speed(),
        seconds(row.reading),
        decision.shown(),
        row.share(),
        row.bytes,
        growth.map_or("".to_string(), |g| format!("{g:.2}")),
        decision.algorithm,
    );
}

impl Worst {
    fn add(&mut self, row: &Row, growth: Option<f64>) {
        self.speed = self.speed.min(row.speed());
        self.share = self.share.max(row.share());
        self.growth = self.growth.max(growth.unwrap_or(0.0));
        self.bytes = self.bytes.max(row.bytes);
        self.undecided += usize::from(!row.decision.is_decided());
    }

    fn summary(&self) -> String {
        let Worst { speed, share, growth, planted, bytes, undecided } = *self;
        let met = |met: bool| if met { "met" } else { "missed" };
        format!(
            "{undecided} undecided; at worst: reading {speed:.0} MB/s (target {SPEED}: {}), deciding/reading {share:.2} \
             (target {SHARE}: {}), growth {growth:.2} (target {GROWTH}: {}), with a violation {planted:.2} of the time without (target {PLANTED}: {}), \
             {bytes:.0} B/op (target {BYTES}: {})",
            met(speed >= SPEED),
            met(share <= SHARE && undecided == 0),
            met(growth < GROWTH && undecided == 0),
            met(planted <= PLANTED),
            met(bytes < BYTES),
        )
    }
}
