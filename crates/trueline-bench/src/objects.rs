//! Throughput of the objects of trueline-objects beside what one would take instead: crossbeam-queue, crossbeam-skiplist, concurrent-queue,
//! and collections of std behind a lock of parking_lot.
//!
//! Each thread inserts and removes in turn until the round is over. A round has a fixed length, so that the threads work at the same time:
//! with a fixed number of operations, a thread that is woken late meets nobody. The contenders of a family take turns within a round, so
//! that other load on the machine hits all of them. A figure is the median over the rounds, and so is the ratio to the reference in the
//! same round.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Rounds.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Length of a round in milliseconds.
    #[arg(long, default_value_t = 100)]
    millis: u64,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4])]
    threads: Vec<usize>,
    /// Only families whose name contains this.
    #[arg(long)]
    family: Option<String>,
}

/// One of those that are compared.
struct Contender {
    name: &'static str,
    /// Runs so many threads for so long; returns operations per second.
    run: Box<dyn Fn(usize, Duration) -> f64>,
}

/// Objects that can be used in each other's place; the first is ours, the second the one to be measured by. Further ones may be ours, too.
struct Family {
    name: &'static str,
    contenders: Vec<Contender>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!(
        "million operations a second, median of {} rounds of {} ms; in parentheses the ratio to the first after ours\n",
        arguments.rounds, arguments.millis
    );
    for family in families() {
        if arguments.family.as_ref().is_some_and(|wanted| !family.name.contains(wanted)) {
            continue;
        }
        let heads: String = arguments
            .threads
            .iter()
            .map(|n| format!(" {n} {} |", if n == &1 { "thread" } else { "threads" }))
            .collect();
        println!("| {} |{heads}", family.name);
        println!("|---|{}", "---|".repeat(arguments.threads.len()));
        let columns: Vec<Vec<String>> =
            arguments.threads.iter().map(|&threads| column(&family, threads, arguments)).collect();
        for (i, contender) in family.contenders.iter().enumerate() {
            let cells: String = columns.iter().map(|column| format!(" {} |", column[i])).collect();
            println!("| {} |{cells}", contender.name);
        }
        println!();
    }
    Ok(())
}

/// The cells of a column: a figure for each contender.
fn column(family: &Family, threads: usize, arguments: &Arguments) -> Vec<String> {
    let mut rates = vec![Vec::new(); family.contenders.len()];
    for _ in 0..arguments.rounds {
        for (rates, contender) in rates.iter_mut().zip(&family.contenders) {
            let rate = (contender.run)(threads, Duration::from_millis(arguments.millis));
            rates.push(rate / 1e6);
        }
    }
    let reference = rates[1].clone();
    let cell = |rates: &Vec<f64>| {
        let ratios = rates.iter().zip(&reference).map(|(rate, reference)| rate / reference);
        format!("{:.1} ({:.2})", median(rates.clone()), median(ratios.collect()))
    };
    rates.iter().map(cell).collect()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn families() -> Vec<Family> {
    vec![
        unbounded_queues(),
        stacks(),
        bounded_queues(),
        priority_queues(),
        bounded_priority_queues(),
        sets(),
        maps(),
    ]
}

fn unbounded_queues() -> Family {
    let contenders = vec![
        contender(
            "FetchAddQueue",
            trueline_objects::FetchAddQueue::new,
            |queue, value| queue.enq(value),
            |queue, _| queue.deq(),
        ),
        contender(
            "crossbeam SegQueue",
            crossbeam_queue::SegQueue::new,
            |queue, value| queue.push(value),
            |queue, _| queue.pop(),
        ),
        contender(
            "MichaelScottQueue",
            trueline_objects::MichaelScottQueue::new,
            |queue, value| queue.enq(value),
            |queue, _| queue.deq(),
        ),
        contender(
            "concurrent-queue, unbounded",
            concurrent_queue::ConcurrentQueue::unbounded,
            |queue, value| _ = queue.push(value),
            |queue, _| queue.pop().ok(),
        ),
        contender(
            "parking_lot Mutex<VecDeque>",
            || Mutex::new(VecDeque::new()),
            |queue, value| queue.lock().push_back(value),
            |queue, _| queue.lock().pop_front(),
        ),
    ];
    Family { name: "unbounded FIFO queue", contenders }
}

fn stacks() -> Family {
    let contenders = vec![
        contender(
            "TreiberStack",
            trueline_objects::TreiberStack::new,
            |stack, value| stack.push(value),
            |stack, _| stack.pop(),
        ),
        contender(
            "crossbeam SegQueue (a queue)",
            crossbeam_queue::SegQueue::new,
            |queue, value| queue.push(value),
            |queue, _| queue.pop(),
        ),
        contender(
            "parking_lot Mutex<Vec>",
            || Mutex::new(Vec::new()),
            |stack, value| stack.lock().push(value),
            |stack, _| stack.lock().pop(),
        ),
    ];
    Family { name: "stack", contenders }
}

fn bounded_queues() -> Family {
    const CAPACITY: usize = 1024;
    let contenders = vec![
        contender(
            "ArrayQueue",
            || trueline_objects::ArrayQueue::new(CAPACITY),
            |queue, value| _ = queue.enq(value),
            |queue, _| queue.deq(),
        ),
        contender(
            "crossbeam ArrayQueue",
            || crossbeam_queue::ArrayQueue::new(CAPACITY),
            |queue, value| _ = queue.push(value),
            |queue, _| queue.pop(),
        ),
        contender(
            "concurrent-queue, bounded",
            || concurrent_queue::ConcurrentQueue::bounded(CAPACITY),
            |queue, value| _ = queue.push(value),
            |queue, _| queue.pop().ok(),
        ),
        contender(
            "parking_lot Mutex<VecDeque>",
            || Mutex::new(VecDeque::with_capacity(CAPACITY)),
            |queue, value| {
                let mut queue = queue.lock();
                if queue.len() < CAPACITY {
                    queue.push_back(value);
                }
            },
            |queue, _| queue.lock().pop_front(),
        ),
    ];
    Family { name: "bounded FIFO queue", contenders }
}

fn priority_queues() -> Family {
    const PRIORITIES: u64 = 1 << 20;
    let contenders = vec![
        contender(
            "PriorityQueue",
            trueline_objects::PriorityQueue::new,
            |queue, number| queue.push(scrambled(number, PRIORITIES), number),
            |queue, _| queue.pop(),
        ),
        contender(
            "crossbeam SkipMap",
            crossbeam_skiplist::SkipMap::new,
            |map, number| drop(map.insert((scrambled(number, PRIORITIES), number), ())),
            |map, _| map.pop_back().is_some(),
        ),
        contender(
            "parking_lot Mutex<BinaryHeap>",
            || Mutex::new(BinaryHeap::new()),
            |heap, number| heap.lock().push((scrambled(number, PRIORITIES), number)),
            |heap, _| heap.lock().pop(),
        ),
    ];
    Family { name: "priority queue", contenders }
}

fn bounded_priority_queues() -> Family {
    const PRIORITIES: u64 = 4;
    const CAPACITY: usize = 1024;
    let contenders = vec![
        contender(
            "BoundedPriorityQueue",
            || trueline_objects::BoundedPriorityQueue::new(PRIORITIES as usize, CAPACITY),
            |queue, number| _ = queue.push(scrambled(number, PRIORITIES) as usize, number),
            |queue, _| queue.pop(),
        ),
        contender(
            "parking_lot Mutex<BinaryHeap>",
            || Mutex::new(BinaryHeap::new()),
            |heap, number| {
                let mut heap = heap.lock();
                if heap.len() < CAPACITY {
                    heap.push((scrambled(number, PRIORITIES), number));
                }
            },
            |heap, _| heap.lock().pop(),
        ),
    ];
    Family { name: "bounded priority queue, 4 priorities", contenders }
}

fn sets() -> Family {
    const KEYS: u64 = 128;
    let contenders = vec![
        contender(
            "ListSet",
            trueline_objects::ListSet::new,
            |set, number| _ = set.insert(scrambled(number, KEYS)),
            |set, number| set.remove(&scrambled(number, KEYS)),
        ),
        contender(
            "crossbeam SkipSet",
            crossbeam_skiplist::SkipSet::new,
            |set, number| drop(set.insert(scrambled(number, KEYS))),
            |set, number| set.remove(&scrambled(number, KEYS)).is_some(),
        ),
        contender(
            "parking_lot Mutex<BTreeSet>",
            || Mutex::new(BTreeSet::new()),
            |set, number| _ = set.lock().insert(scrambled(number, KEYS)),
            |set, number| set.lock().remove(&scrambled(number, KEYS)),
        ),
    ];
    Family { name: "set of up to 128 keys", contenders }
}

fn maps() -> Family {
    const KEYS: u64 = 1 << 16;
    let contenders = vec![
        contender(
            "BLinkTree",
            trueline_objects::BLinkTree::<u64, u64>::new,
            |map, number| _ = map.insert(scrambled(number, KEYS), number),
            |map, number| map.remove(&scrambled(number, KEYS)),
        ),
        contender(
            "crossbeam SkipMap",
            crossbeam_skiplist::SkipMap::new,
            |map, number| drop(map.insert(scrambled(number, KEYS), number)),
            |map, number| map.remove(&scrambled(number, KEYS)).is_some(),
        ),
        contender(
            "parking_lot Mutex<BTreeMap>",
            || Mutex::new(BTreeMap::new()),
            |map, number| _ = map.lock().insert(scrambled(number, KEYS), number),
            |map, number| map.lock().remove(&scrambled(number, KEYS)),
        ),
    ];
    Family { name: "map of up to 65,536 keys", contenders }
}

/// Pairs of an insertion and a removal between two looks at the clock.
const PAIRS_AT_ONCE: usize = 100;

/// Numbers in no order, below this.
fn scrambled(number: u64, below: u64) -> u64 {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % below
}

/// What is removed is told the number of a later insertion: where keys are removed, it is one that may be there for some time.
fn contender<O: Sync + 'static, R>(
    name: &'static str,
    make: impl Fn() -> O + 'static,
    insert: impl Fn(&O, u64) + Sync + 'static,
    remove: impl Fn(&O, u64) -> R + Sync + 'static,
) -> Contender {
    let run = move |threads: usize, length: Duration| {
        let object = make();
        let (arrived, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = |thread: usize| {
            arrived.fetch_add(1, Ordering::Relaxed);
            // Waiting on a futex would let the first thread run alone until the others wake up.
            while arrived.load(Ordering::Relaxed) < threads {
                thread::yield_now();
            }
            let start = Instant::now();
            let mut pairs = 0;
            while !is_over.load(Ordering::Relaxed) {
                for _ in 0..PAIRS_AT_ONCE {
                    let number = ((thread as u64) << 40) + pairs;
                    insert(&object, number);
                    std::hint::black_box(remove(&object, number + 1000));
                    pairs += 1;
                }
                if thread == 0 && start.elapsed() >= length {
                    is_over.store(true, Ordering::Relaxed);
                }
            }
            (start, Instant::now(), 2 * pairs)
        };
        let ran: Vec<(Instant, Instant, u64)> = thread::scope(|s| {
            let work = &work;
            let threads: Vec<_> = (0..threads).map(|t| s.spawn(move || work(t))).collect();
            threads.into_iter().map(|t| t.join().expect("it does not panic")).collect()
        });
        let start = ran.iter().map(|(start, ..)| *start).min().expect("a thread");
        let end = ran.iter().map(|(_, end, _)| *end).max().expect("a thread");
        let operations: u64 = ran.iter().map(|(.., operations)| operations).sum();
        operations as f64 / (end - start).as_secs_f64()
    };
    Contender { name, run: Box::new(run) }
}
