//! The live monitor under load: what it costs, and that it is right when it is stopped in the midst
//! of things.
//!
//! `cargo run --release -p trueline --features live --example live_load [STOPS] [PROCESSES]`
//!
//! - **stops**: a correct queue is used by four threads, and the monitor stopped at a random
//!   moment, so many times (10,000): there must be no violation;
//! - **processes**: so many (a million) come and go, eight at a time: memory and what an operation
//!   costs must stay as they are;
//! - **overhead**: time of an operation with a monitor and without one, for 1, 2 and 4 threads.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Instant;

use trueline::Value;
use trueline::live::{Full, Live, Process};
use trueline::rng::Rng;
use trueline::spec::{self, QueueOp};

type Shared = Mutex<VecDeque<i64>>;

fn main() {
    let number = |place, usual| {
        std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    stops(number(1, 10_000));
    processes(number(2, 1_000_000));
    overhead();
}

fn enq(me: &mut Process<spec::Queue>, queue: &Shared, value: i64) {
    let token = me.call(QueueOp::Enq(Value::Int(value)));
    queue.lock().unwrap().push_back(value);
    token.returns(Value::Nil);
}

fn deq(me: &mut Process<spec::Queue>, queue: &Shared) {
    let token = me.call(QueueOp::Deq);
    let value = queue.lock().unwrap().pop_front();
    token.returns(value.map_or(Value::Nil, Value::Int));
}

fn stops(rounds: i64) {
    let (mut gaps, mut operations) = (0, 0);
    for round in 0..rounds {
        let mut rng = Rng::new(round as u64);
        let (queue, is_over, next) = (Shared::default(), AtomicBool::new(false), AtomicI64::new(1));
        let full = *rng.choose(&[Full::Block, Full::Block, Full::Drop]);
        let capacity = 1 << (4 + rng.index(10));
        let live = Live::new(spec::queue()).capacity(capacity).when_full(full).start().unwrap();
        let last = 1 + rng.index(400) as i64;
        let report = thread::scope(|s| {
            for t in 0..4 {
                let mut me = live.process();
                let (queue, is_over, next) = (&queue, &is_over, &next);
                s.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        if t % 2 == 0 {
                            enq(&mut me, queue, next.fetch_add(1, Ordering::Relaxed));
                        } else {
                            deq(&mut me, queue);
                        }
                    }
                });
            }
            while next.load(Ordering::Relaxed) < last {
                thread::yield_now();
            }
            let report = live.stop();
            is_over.store(true, Ordering::Relaxed);
            report
        });
        assert!(!report.is_violation(), "round {round}: {report}");
        gaps += report.gaps.len();
        operations += report.tally.operations;
    }
    println!("stops: {rounds} runs, no violation; {operations} operations checked, {gaps} gaps");
}

/// Memory of this process in KiB, and its processor time in ticks of the system (a hundredth of a
/// second), where the system tells.
fn usage() -> (u64, u64) {
    let field = |file: &str, place: usize| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let after_name = text.rsplit(") ").next().unwrap_or_default();
        after_name.split_whitespace().nth(place).and_then(|n| n.parse().ok()).unwrap_or(0_u64)
    };
    (4 * field("/proc/self/statm", 1), field("/proc/self/stat", 11) + field("/proc/self/stat", 12))
}

fn processes(all: i64) {
    let (queue, live) = (Shared::default(), Live::new(spec::queue()).start().unwrap());
    println!("processes: so far, ns an operation, KiB of memory, ticks in a second of rest");
    let tenth = (all / 10).max(1);
    for part in 0..10 {
        let start = Instant::now();
        for first in (part * tenth..(part + 1) * tenth).step_by(8) {
            // They overlap, as tasks do.
            let mut tasks: Vec<_> = (0..8).map(|_| live.process()).collect();
            for (task, value) in tasks.iter_mut().zip(first..) {
                enq(task, &queue, value);
            }
            tasks.iter_mut().for_each(|task| deq(task, &queue));
        }
        let each = start.elapsed().as_nanos() / (2 * tenth as u128);
        let (memory, before) = usage();
        thread::sleep(std::time::Duration::from_secs(1));
        println!("  {:>9} {each:>6} {memory:>8} {:>4}", (part + 1) * tenth, usage().1 - before);
    }
    live.stop().assert_linearizable();
}

fn overhead() {
    println!(
        "overhead: threads, ns an operation without a monitor, with one (blocking), difference"
    );
    for threads in [1, 2, 4] {
        const EACH: i64 = 200_000;
        let run = |with: bool| {
            let queue = Shared::default();
            let live = Live::new(spec::queue()).start().unwrap();
            let start = Instant::now();
            thread::scope(|s| {
                for t in 0..threads {
                    let (queue, mut me) = (&queue, live.process());
                    s.spawn(move || {
                        for step in 0..EACH {
                            let value = t * EACH + step;
                            if with {
                                enq(&mut me, queue, value);
                                deq(&mut me, queue);
                            } else {
                                queue.lock().unwrap().push_back(value);
                                std::hint::black_box(queue.lock().unwrap().pop_front());
                            }
                        }
                    });
                }
            });
            let each = start.elapsed().as_nanos() as i64 / (2 * EACH * threads);
            live.stop().assert_linearizable();
            each
        };
        let (bare, watched) = (run(false), run(true));
        println!("  {threads} {bare:>6} {watched:>6} {:>6}", watched - bare);
    }
}
