//! `quasi`: how long recorded histories of relaxed queues take to decide.
//!
//! Histories are generated, with several processes at a time. Half of the rows ask whether the
//! factor 2 explains a history, half for the least factor. Times are medians of several runs,
//! deciding with the check of the certificate, without reading.

use std::time::Instant;

use trueline::generate::Plan;
use trueline::quasi::{End, Factor, Factors, Quasi};
use trueline::{Budget, Verdict, spec};

use crate::measure::{median, seconds};

const RUNS: usize = 5;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What histories are generated from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What is recorded, what is asked, and how many seconds that may take.
struct Row {
    recorded: &'static str,
    operations: usize,
    processes: usize,
    /// Values inside that generation tends to; 0 for few.
    occupancy: usize,
    factor: Factor,
    target: f64,
}

const fn decided(recorded: &'static str, processes: usize, occupancy: usize) -> Row {
    let (operations, factor, target) = (1000, Factor::AtMost(2), 1.0);
    Row { recorded, operations, processes, occupancy, factor, target }
}

const fn least(recorded: &'static str, processes: usize, occupancy: usize) -> Row {
    let (operations, factor, target) = (10_000, Factor::Least, 10.0);
    Row { recorded, operations, processes, occupancy, factor, target }
}

const ROWS: &[Row] = &[
    decided("relaxed-queue:window=2", 4, 0),
    decided("relaxed-queue:window=3", 8, 50),
    decided("relaxed-queue:window=4", 8, 0),
    decided("queue", 8, 100),
    least("relaxed-queue:window=2", 4, 0),
    least("relaxed-queue:window=4", 4, 0),
    least("relaxed-queue:window=4", 8, 32),
    least("relaxed-queue:window=8", 8, 64),
];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!(
        "{:<24} {:>10} {:>9} {:>9}  {:<6} {:<12} {:>6} {:>10} {:>9} {:>7}",
        "recorded",
        "operations",
        "processes",
        "occupancy",
        "asked",
        "verdict",
        "factor",
        "steps",
        "seconds",
        "target"
    );
    let mut missed = 0;
    for row in ROWS {
        let plan = Plan {
            operations: row.operations,
            processes: row.processes,
            seed: arguments.seed,
            occupancy: row.occupancy,
            ..Plan::default()
        };
        let named = |name: &str| spec::named(name).map_err(|message| anyhow::anyhow!(message));
        let history = named(row.recorded)?.generate(&plan).map_err(|e| anyhow::anyhow!("{e}"))?;
        let factors = Factors::of("deq", row.factor);
        let question = Quasi { factors, end: End::Open, ..Quasi::default() };
        let queue = named("queue")?;
        let mut times = Vec::new();
        let mut last = None;
        for _ in 0..RUNS {
            let budget = Budget::unlimited();
            let start = Instant::now();
            let found = queue.quasi(&history, &question, &budget);
            times.push(start.elapsed().as_secs_f64());
            last = Some((found.map_err(|e| anyhow::anyhow!("{e}"))?, budget.steps_spent()));
        }
        let Some((found, steps)) = last else { continue };
        let time = median(times);
        let verdict = &found.outcome.verdict;
        missed += usize::from(time >= row.target || matches!(verdict, Verdict::Unknown(_)));
        println!(
            "{:<24} {:>10} {:>9} {:>9}  deq={:<2} {:<12} {:>6} {:>10} {:>9} {:>6}s",
            row.recorded,
            row.operations,
            row.processes,
            row.occupancy,
            row.factor.to_string(),
            verdict.name(),
            found.factor.map_or("-".to_string(), |factor| factor.to_string()),
            steps,
            seconds(time),
            row.target,
        );
    }
    println!("\nquasi: {missed} of {} rows miss their target", ROWS.len());
    anyhow::ensure!(missed == 0, "{missed} rows miss their target");
    Ok(())
}
