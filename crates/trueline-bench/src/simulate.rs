//! The figures of Wing and Gong's simulator ('Testing and verifying concurrent objects', section
//! 4.3) beside ours: how long histories of a queue take to be made and decided, and how many it
//! takes to find their wrong `Deq`.
//!
//! The queue is theirs: slots that are reserved and then filled. Schedules are drawn at random by
//! the explorer, step by step, so that operations overlap on any machine; all the real-time orders
//! of an execution are decided.

#[path = "../../trueline-explore/tests/it/harness/wing_gong.rs"]
mod wing_gong;

use std::time::Instant;

use trueline_explore::engine::Sampler;
use trueline_explore::harness::{Harness, Kind};
use trueline_explore::{explore, operations};
use wing_gong::{Fifo, Slots};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Histories of each size.
    #[arg(long, default_value_t = 2000)]
    histories: u64,
    /// Processes.
    #[arg(long, default_value_t = 2)]
    processes: usize,
    /// Of the schedules.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const SLOTS: usize = 128;

operations! {
    pub(crate) enum Op -> Ret for Slots<SLOTS>, Fifo {
        enq(v: usize);
        deq() -> usize, if |fifo| !fifo.0.is_empty();
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // Half of the processes put in what the others take out, so that none waits for ever.
    let pairs = arguments.processes.div_ceil(2);
    let test = |operations: usize, wrong: bool| -> Harness<Slots<SLOTS>, Op> {
        let each = operations / (2 * pairs);
        let producer = |p: usize| (1..=each).map(|i| Op::enq(p * 100 + i)).collect::<Vec<_>>();
        let consumer = |_| vec![Op::deq(); each];
        explore(move || Slots::new(wrong))
            .spec(Fifo::default())
            .program((0..pairs).map(producer).chain((0..pairs).map(consumer)))
            .sample(Sampler::Random, arguments.seed, arguments.histories)
    };
    println!("made and decided, for each history; theirs is of 1993");
    for (operations, theirs) in [(60, "2 s"), (100, "1 min")] {
        let start = Instant::now();
        let outcome = test(operations, false).run();
        let each = start.elapsed().as_secs_f64() / outcome.counts.executions.max(1) as f64;
        anyhow::ensure!(outcome.passes(), "{outcome}");
        let ours = readable(each);
        println!(
            "{operations:>4} operations  ours {ours:>10}  theirs {theirs:>6}  {}",
            outcome.counts
        );
    }
    let start = Instant::now();
    let outcome = test(48, true).run();
    let failure = outcome.failure();
    let found = failure.is_some_and(|failure| failure.kind == Kind::NotLinearizable);
    println!(
        "the wrong Deq, histories of about 50 operations: {} after {} (theirs: about 100), {:.2} s",
        if found { "found" } else { "not found" },
        outcome.counts.executions,
        start.elapsed().as_secs_f64(),
    );
    if let Some(failure) = failure {
        println!("{}\n{}", failure.scenario, failure.sentence);
    }
    Ok(())
}

fn readable(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.0} us", seconds * 1e6)
    } else {
        format!("{:.2} ms", seconds * 1e3)
    }
}
