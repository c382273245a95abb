//! Watches real concurrent queues under load with the feature `live`.
//!
//! `cargo run --release --features live --example watch_queue [operations]`
//!
//! Four threads enqueue and dequeue, each operation taking at least a microsecond. Shown are: what
//! watching costs; that a queue which breaks first-in-first-out once in a million operations is
//! caught; what happens when the monitor is too slow and may drop; and windows on a bare lock-free
//! queue, which is too fast to be watched all the time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_queue::SegQueue;
use trueline::Value;
use trueline::live::{Full, Live, Process, Report, Running};
use trueline::spec::{self, Queue, QueueOp};

const THREADS: u64 = 4;

/// What is watched.
trait Fifo: Sync {
    fn enq(&self, value: i64);
    fn deq(&self) -> Option<i64>;
}

/// The queue with two locks of Michael and Scott (1996): enqueues and dequeues do not hinder each
/// other.
struct TwoLocks {
    head: Mutex<Arc<Node>>,
    tail: Mutex<Arc<Node>>,
}

struct Node {
    value: i64,
    next: OnceLock<Arc<Node>>,
}

impl TwoLocks {
    fn new() -> TwoLocks {
        let dummy = Arc::new(Node { value: 0, next: OnceLock::new() });
        TwoLocks { head: Mutex::new(dummy.clone()), tail: Mutex::new(dummy) }
    }
}

impl Fifo for TwoLocks {
    fn enq(&self, value: i64) {
        let node = Arc::new(Node { value, next: OnceLock::new() });
        let mut tail = self.tail.lock().unwrap();
        let _ = tail.next.set(node.clone());
        *tail = node;
    }

    fn deq(&self) -> Option<i64> {
        let mut head = self.head.lock().unwrap();
        let next = head.next.get()?.clone();
        *head = next.clone();
        Some(next.value)
    }
}

impl Drop for TwoLocks {
    fn drop(&mut self) {
        // One node after the other: a long list would be dropped recursively.
        while self.deq().is_some() {}
    }
}

/// Gives out the second value before the first, once in so many dequeues.
struct Faulty {
    values: Mutex<VecDeque<i64>>,
    dequeues: AtomicU64,
    every: u64,
}

impl Fifo for Faulty {
    fn enq(&self, value: i64) {
        self.values.lock().unwrap().push_back(value);
    }

    fn deq(&self) -> Option<i64> {
        let mut values = self.values.lock().unwrap();
        let count = self.dequeues.fetch_add(1, Ordering::Relaxed);
        // Values next to each other may have been enqueued at the same time, so that their order is
        // free.
        let place = if count % self.every == self.every - 1 {
            values.len().saturating_sub(1).min(20)
        } else {
            0
        };
        values.remove(place)
    }
}

impl Fifo for SegQueue<i64> {
    fn enq(&self, value: i64) {
        self.push(value);
    }

    fn deq(&self) -> Option<i64> {
        self.pop()
    }
}

/// Operations that are not the queue's: at least so long.
fn work(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// All threads enqueue and dequeue in turn. Operations a second.
fn load(
    queue: &(impl Fifo + ?Sized),
    live: Option<&Running<Queue>>,
    operations: u64,
    time: Duration,
) -> f64 {
    static USED: AtomicU64 = AtomicU64::new(0);
    // No value is used twice, by whatever load.
    let base = 1 + USED.fetch_add(operations, Ordering::Relaxed);
    let each = operations / THREADS;
    let barrier = Barrier::new(THREADS as usize + 1);
    let mut start = Instant::now();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let barrier = &barrier;
            let mut me = live.map(Running::process);
            scope.spawn(move || {
                barrier.wait();
                for n in 0..each {
                    // Forty values stay inside.
                    if n % 2 == 0 || n < 20 {
                        enq(queue, me.as_mut(), (base + thread * each + n) as i64, time);
                    } else {
                        deq(queue, me.as_mut(), time);
                    }
                }
            });
        }
        // Nobody starts before this thread has come to the barrier.
        start = Instant::now();
        barrier.wait();
    });
    operations as f64 / start.elapsed().as_secs_f64()
}

fn enq(queue: &(impl Fifo + ?Sized), me: Option<&mut Process<Queue>>, value: i64, time: Duration) {
    let token = me.map(|me| me.call(QueueOp::Enq(Value::Int(value))));
    queue.enq(value);
    work(time);
    if let Some(token) = token {
        token.returns(Value::Nil);
    }
}

fn deq(queue: &(impl Fifo + ?Sized), me: Option<&mut Process<Queue>>, time: Duration) {
    let token = me.map(|me| me.call(QueueOp::Deq));
    let value = queue.deq();
    work(time);
    if let Some(token) = token {
        token.returns(value.map_or(Value::Nil, Value::Int));
    }
}

fn start(capacity: usize, when_full: Full) -> Running<Queue> {
    Live::new(spec::queue()).capacity(capacity).when_full(when_full).start().unwrap()
}

/// What watching costs a good queue. Nothing is lost under `Block`.
fn cost(operations: u64, time: Duration) -> Report<Queue> {
    let bare = load(&TwoLocks::new(), None, operations, time);
    let live = start(1 << 16, Full::Block);
    let watched = load(&TwoLocks::new(), Some(&live), operations, time);
    let report = live.stop();
    println!(
        "two locks, {time:?} an operation: {bare:.0} operations a second alone, {watched:.0} watched ({:.0} %); {report}",
        100.0 * watched / bare
    );
    report
}

/// A queue that is wrong once in `every` dequeues.
fn faulty(operations: u64, every: u64) -> Report<Queue> {
    let values = Mutex::new(VecDeque::new());
    let queue = Faulty { values, dequeues: AtomicU64::new(0), every };
    let live = start(1 << 16, Full::Block);
    load(&queue, Some(&live), operations, Duration::ZERO);
    let report = live.stop();
    println!("wrong once in {every} dequeues: {report}");
    report
}

/// A good queue whose monitor has room for few events and may drop: then everybody rests for a
/// moment.
fn gaps(operations: u64) -> Report<Queue> {
    let queue = TwoLocks::new();
    let live = start(64, Full::Drop);
    for _ in 0..8 {
        load(&queue, Some(&live), operations / 8, Duration::ZERO);
        // At rest the monitor catches up, and checking starts again.
        thread::sleep(Duration::from_millis(20));
    }
    let report = live.stop();
    let (lost, gaps) = (report.gaps.iter().map(|gap| gap.lost).sum::<u64>(), report.gaps.len());
    println!(
        "room for 64 events, dropping: {lost} calls lost in {gaps} gaps, {} seen",
        report.tally.operations
    );
    report
}

/// A bare lock-free queue: alone, watched all the time, and through windows.
fn windows(operations: u64) -> Report<Queue> {
    let alone = load(&SegQueue::new(), None, operations, Duration::ZERO);
    let live = start(1 << 16, Full::Block);
    let watched = load(&SegQueue::new(), Some(&live), operations, Duration::ZERO);
    live.stop().assert_linearizable();
    let live = Live::new(spec::queue()).windows(2_000).start().unwrap();
    let mut total = 0.0;
    let rounds = 4;
    for round in 0..rounds {
        if round > 0 {
            // Nothing runs, and each round has a new, empty queue.
            live.next_window();
        }
        total += load(&SegQueue::new(), Some(&live), operations / rounds, Duration::ZERO);
    }
    let through = total / rounds as f64;
    let report = live.stop();
    println!(
        "SegQueue: {alone:.0} operations a second alone, {watched:.0} watched ({:.0} %), {through:.0} through windows \
         of 2,000 ({:.0} %); {} windows, {report}",
        100.0 * watched / alone,
        100.0 * through / alone,
        report.windows
    );
    report
}

pub(crate) fn main() {
    let operations = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(200_000);
    let report = cost(operations, Duration::from_micros(1));
    report.assert_linearizable();
    assert_eq!(report.tally.operations, operations, "nothing is lost");
    let report = faulty(operations, operations / 10);
    assert!(report.is_violation(), "{report}");
    // Whether the monitor falls behind, and when it catches up, is the machine's business: again
    // until it did both.
    let goes_on = |report: &Report<Queue>| report.gaps.iter().any(|gap| gap.until.is_some());
    let mut report = gaps(operations);
    for _ in 0..1000 {
        assert!(!report.is_violation() && report.is_fine() == report.gaps.is_empty(), "{report}");
        if goes_on(&report) {
            break;
        }
        report = gaps(operations);
    }
    assert!(goes_on(&report), "checking goes on behind a gap: {report}");
    windows(operations).assert_linearizable();
}
