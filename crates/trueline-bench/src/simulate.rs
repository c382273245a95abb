//! The figures of Wing and Gong's simulator ('Testing and verifying concurrent objects', section 4.3) beside ours: how long histories of a
//! queue take to be made and decided, and how many it takes to find their wrong `Deq`.
//!
//! The queue is theirs: slots that are reserved and then filled. Histories come from real threads, as theirs did.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Instant;

use trueline_explore::harness::{Harness, Kind, Stress};
use trueline_explore::{operations, stress};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Histories of each size.
    #[arg(long, default_value_t = 2000)]
    histories: u64,
    /// Processes.
    #[arg(long, default_value_t = 4)]
    processes: usize,
    /// Of the random scenarios.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const SLOTS: usize = 128;

struct Slots {
    items: [AtomicUsize; SLOTS],
    back: AtomicUsize,
    reads_range_again: bool,
}

impl Slots {
    fn new(reads_range_again: bool) -> Slots {
        let items = [const { AtomicUsize::new(0) }; SLOTS];
        Slots { items, back: AtomicUsize::new(0), reads_range_again }
    }

    fn enq(&self, v: usize) {
        let slot = self.back.fetch_add(1, SeqCst);
        self.items[slot].store(v, SeqCst);
    }

    fn deq(&self) -> usize {
        loop {
            let mut range = self.back.load(SeqCst);
            let mut i = 0;
            while i < range {
                let v = self.items[i].swap(0, SeqCst);
                if v != 0 {
                    return v;
                }
                i += 1;
                if self.reads_range_again {
                    range = self.back.load(SeqCst);
                }
            }
            std::thread::yield_now();
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Fifo(VecDeque<usize>);

impl Fifo {
    fn enq(&mut self, v: usize) {
        self.0.push_back(v);
    }
    fn deq(&mut self) -> usize {
        self.0.pop_front().unwrap_or(0)
    }
}

operations! {
    enum Op -> Ret for Slots, Fifo {
        enq(v: usize);
        deq() -> usize, if |fifo| !fifo.0.is_empty();
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let test = |operations: usize, wrong: bool| -> Harness<Slots, Op, Stress> {
        let enqueues = (1..=8).map(Op::enq);
        stress(move || Slots::new(wrong))
            .spec(Fifo::default())
            .operations(enqueues.chain((0..6).map(|_| Op::deq())))
            .threads(arguments.processes)
            .length(operations / arguments.processes)
            .well_formed(|op| matches!(op, Op::enq(_)), Op::deq())
            .random(0, arguments.seed)
            .rounds(arguments.histories)
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
