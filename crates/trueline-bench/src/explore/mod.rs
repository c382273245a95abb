//! `explore`: the same programs under trueline, loom and shuttle's depth-first search, in one run.
//!
//! `objects.rs` is compiled three times, over three libraries in the place of std. An execution
//! ends with an outcome: all that the threads have seen. A tool that sees fewer outcomes than
//! another has missed behaviours, however fast it was.

mod under_loom;
mod under_shuttle;
mod under_trueline;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::measure;

/// The goals: how many times the executions a second of each.
const OVER_LOOM: f64 = 10.0;
const OVER_SHUTTLE: f64 = 3.0;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How long one tool may take for one program.
    #[arg(long, default_value = "1s", value_parser = measure::parse_time)]
    timeout: Duration,
    /// Only the programs whose names contain this.
    #[arg(long, default_value = "")]
    only: String,
}

/// A program, under each of the tools.
pub(crate) type Body = fn() -> u64;

/// Takes notes while a program is explored.
pub(crate) struct Notes {
    inner: Mutex<Inner>,
}

struct Inner {
    start: Instant,
    executions: u64,
    outcomes: HashSet<u64, foldhash::fast::FixedState>,
    covered: Duration,
}

impl Notes {
    fn new() -> Notes {
        let (start, outcomes) = (Instant::now(), HashSet::default());
        let inner = Inner { start, executions: 0, outcomes, covered: Duration::ZERO };
        Notes { inner: Mutex::new(inner) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was noted.
    fn restart(&self) {
        let mut inner = self.inner();
        inner.executions = 0;
        inner.outcomes.clear();
        inner.start = Instant::now();
    }

    /// An execution has ended with this outcome.
    pub(crate) fn note(&self, outcome: u64) {
        let mut inner = self.inner();
        inner.executions += 1;
        if inner.outcomes.insert(outcome) {
            inner.covered = inner.start.elapsed();
        }
    }
}

/// What a tool did with a program.
struct Measured {
    executions: u64,
    outcomes: usize,
    rate: f64,
    /// When the last outcome appeared for the first time, on average.
    covered: f64,
    complete: bool,
}

/// Explores a program until it is done, or for so long; true if it was done.
type Tool = fn(Body, Duration, &'static Notes) -> bool;

fn measure_tool(tool: Tool, body: Body, timeout: Duration) -> Measured {
    let started = Instant::now();
    let (mut executions, mut seconds, mut covered) = (0, 0.0, 0.0);
    let mut runs = 0;
    // Loom and shuttle want bodies that live for ever; a few bytes are not given back.
    let notes: &'static Notes = Box::leak(Box::new(Notes::new()));
    // Few programs have enough executions to be timed once: they are explored again and again.
    loop {
        notes.restart();
        let complete = tool(body, timeout, notes);
        let inner = notes.inner();
        seconds += inner.start.elapsed().as_secs_f64();
        executions += inner.executions;
        covered += inner.covered.as_secs_f64();
        runs += 1;
        if !complete || started.elapsed() > timeout {
            return Measured {
                executions: inner.executions,
                outcomes: inner.outcomes.len(),
                rate: executions as f64 / seconds,
                covered: covered / runs as f64,
                complete,
            };
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!(
        "Executions of one exploration ('+': stopped after {:?}); executions a second over all explorations\n\
         of that time; outcomes seen, and the time until the last of them appeared first.\n",
        arguments.timeout
    );
    println!(
        "{:<24} {:<10} {:>11} {:>11} {:>9} {:>11}",
        "program", "tool", "executions", "a second", "outcomes", "covered in"
    );
    let (mut over_loom, mut over_shuttle) = (Vec::new(), Vec::new());
    let mut missed = Vec::new();
    for (index, (name, ours)) in under_trueline::objects().into_iter().enumerate() {
        if !name.contains(&arguments.only) {
            continue;
        }
        let tools: [(&str, Tool, Body); 3] = [
            ("trueline", under_trueline::explore, ours),
            ("loom", under_loom::explore, under_loom::objects()[index].1),
            ("shuttle", under_shuttle::explore, under_shuttle::objects()[index].1),
        ];
        let measured = tools.map(|(tool, explore, body)| {
            let measured = measure_tool(explore, body, arguments.timeout);
            println!(
                "{name:<24} {tool:<10} {:>10}{} {:>11.0} {:>9} {:>11}",
                measured.executions,
                if measured.complete { " " } else { "+" },
                measured.rate,
                measured.outcomes,
                measure::seconds(measured.covered),
            );
            measured
        });
        let [ours, loom, shuttle] = &measured;
        ensure!(ours.complete, "{name}: not explored completely");
        ensure!(
            loom.outcomes.max(shuttle.outcomes) <= ours.outcomes,
            "{name}: outcomes that trueline has missed"
        );
        if loom.complete && loom.outcomes < ours.outcomes {
            missed.push(format!("{name} ({} of {})", loom.outcomes, ours.outcomes));
        }
        over_loom.push(ours.rate / loom.rate);
        over_shuttle.push(ours.rate / shuttle.rate);
    }
    println!();
    ratio("loom", &over_loom, OVER_LOOM);
    ratio("shuttle", &over_shuttle, OVER_SHUTTLE);
    if !missed.is_empty() {
        println!("complete according to loom, with outcomes missing: {}", missed.join(", "));
    }
    Ok(())
}

fn ratio(peer: &str, ratios: &[f64], goal: f64) {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!(
        "executions a second over {peer}'s: {mean:.1} times (geometric mean), {least:.1} at least; the goal is {goal}"
    );
}
