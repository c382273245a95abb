//! Throughput of the objects of trueline-objects beside what one would take instead:
//! crossbeam-queue, crossbeam-skiplist, concurrent-queue, and collections of std behind a lock of
//! parking_lot.
//!
//! Each thread inserts and removes in turn until the round is over. A round has a fixed length, so
//! that the threads work at the same time.
//!
//! What is compared is measured in pairs of short rounds, one of a contender and one of the
//! reference right before or after it, in turn. Other load on the machine, which comes and goes
//! more slowly than that, hits both, and so does the speed of the cores. The ratio of a contender
//! is the median of the ratios of its pairs; the quartiles beside it say how much pairs differ.
//! Where a round got less than its share of the processors, its pair is not counted: threads that
//! take turns on one processor do not contend. A round begins with a new object, filled if the
//! family asks for it, and with some time that is not counted.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

mod crew;

use crew::{Contender, Crew, Load, contender, filled, scrambled};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Pairs of rounds for each contender.
    #[arg(long, default_value_t = 51)]
    pairs: usize,
    /// Length of a round in milliseconds, without the fifth of it that comes before and is not
    /// counted.
    #[arg(long, default_value_t = 25)]
    millis: u64,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4])]
    threads: Vec<usize>,
    /// Only families whose name contains this.
    #[arg(long)]
    family: Option<String>,
    /// Only contenders whose name contains this, beside the reference.
    #[arg(long)]
    contender: Option<String>,
}

/// Objects that can be used in each other's place; the first is ours, the second the one to be
/// measured by. Further ones may be ours, too.
struct Family {
    name: &'static str,
    contenders: Vec<Contender>,
}

const REFERENCE: usize = 1;

/// Pairs of which a round was disturbed are measured again, so that all together are so many times
/// what was asked for at most.
const MOST_TRIES: usize = 4;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let cores = thread::available_parallelism()?;
    println!(
        "Million operations a second; in parentheses the ratio to the first after ours: the median over {} pairs of\n\
         adjacent rounds of {} ms, and its quartiles. {cores} processors. Pairs in which other programs took the processors away were not\n\
         counted and measured again.\n",
        arguments.pairs, arguments.millis
    );
    let before = Load::now();
    for mut family in families() {
        if arguments.family.as_ref().is_some_and(|wanted| !family.name.contains(wanted)) {
            continue;
        }
        if let Some(wanted) = &arguments.contender {
            let reference = family.contenders[REFERENCE].name;
            family
                .contenders
                .retain(|contender| contender.name == reference || contender.name.contains(wanted));
            if family.contenders.len() < 2 {
                continue;
            }
            // Where the first one was left out, the reference has come to its place.
            if family.contenders[0].name == reference {
                family.contenders.swap(0, REFERENCE);
            }
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
    if let (Some(before), Some(after)) = (before, Load::now()) {
        println!("{}", after.since(&before));
    }
    Ok(())
}

/// The cells of a column: a figure for each contender.
fn column(family: &Family, threads: usize, arguments: &Arguments) -> Vec<String> {
    let length = Duration::from_millis(arguments.millis);
    let crew = Crew::new(threads);
    let mut pairs = vec![Vec::new(); family.contenders.len()];
    for turn in 0..MOST_TRIES * arguments.pairs {
        for (index, contender) in family.contenders.iter().enumerate() {
            if index == REFERENCE || pairs[index].len() == arguments.pairs {
                continue;
            }
            let mut both = [contender, &family.contenders[REFERENCE]];
            both.rotate_left(turn % 2);
            let mut rounds = both.map(|contender| (contender.run)(&crew, length));
            rounds.rotate_left(turn % 2);
            if rounds.iter().all(|round| !round.disturbed) {
                pairs[index].push(rounds.map(|round| round.rate));
            }
        }
    }
    let reference: Vec<f64> = pairs.iter().flatten().map(|[_, beside]| *beside).collect();
    let cell = |(index, pairs): (usize, &Vec<[f64; 2]>)| {
        let measured = if index == REFERENCE { reference.len() } else { pairs.len() };
        if measured == 0 {
            return "too much other load".to_owned();
        }
        if index == REFERENCE {
            return format!("{:.1}", quartiles(reference.clone())[1]);
        }
        let [low, ratio, high] =
            quartiles(pairs.iter().map(|[own, beside]| own / beside).collect());
        let rate = quartiles(pairs.iter().map(|[own, _]| *own).collect())[1];
        let few = match pairs.len() < arguments.pairs {
            true => format!("; {} pairs", pairs.len()),
            false => String::new(),
        };
        format!("{rate:.1} ({ratio:.2}, {low:.2} to {high:.2}{few})")
    };
    pairs.iter().enumerate().map(cell).collect()
}

fn quartiles(mut figures: Vec<f64>) -> [f64; 3] {
    figures.sort_by(f64::total_cmp);
    let last = figures.len() - 1;
    [last / 4, last / 2, last - last / 4].map(|at| figures[at])
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
        maps_mostly_read(),
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
        filled(
            "ListSet",
            KEYS,
            trueline_objects::ListSet::new,
            |set, number| _ = set.insert(scrambled(number, KEYS)),
            |set, number| set.remove(&scrambled(number, KEYS)),
        ),
        filled(
            "crossbeam SkipSet",
            KEYS,
            crossbeam_skiplist::SkipSet::new,
            |set, number| drop(set.insert(scrambled(number, KEYS))),
            |set, number| set.remove(&scrambled(number, KEYS)).is_some(),
        ),
        filled(
            "parking_lot Mutex<BTreeSet>",
            KEYS,
            || Mutex::new(BTreeSet::new()),
            |set, number| _ = set.lock().insert(scrambled(number, KEYS)),
            |set, number| set.lock().remove(&scrambled(number, KEYS)),
        ),
    ];
    Family { name: "set of up to 128 keys", contenders }
}

const KEYS: u64 = 1 << 16;

/// After so many insertions of random keys more than half of all keys are there, and as many
/// insertions as removals keep it at half.
const FILL: u64 = KEYS * 7 / 10;

/// Half of the operations insert a random key, half remove one; every second one of each finds the
/// key.
fn maps() -> Family {
    let contenders = vec![
        filled(
            "BLinkTree",
            FILL,
            trueline_objects::BLinkTree::<u64, u64>::new,
            |map, number| _ = map.insert(scrambled(number, KEYS), number),
            |map, number| map.remove(&scrambled(number, KEYS)),
        ),
        filled(
            "crossbeam SkipMap",
            FILL,
            crossbeam_skiplist::SkipMap::new,
            |map, number| drop(map.insert(scrambled(number, KEYS), number)),
            |map, number| map.remove(&scrambled(number, KEYS)).is_some(),
        ),
        filled(
            "parking_lot Mutex<BTreeMap>",
            FILL,
            || Mutex::new(BTreeMap::new()),
            |map, number| _ = map.lock().insert(scrambled(number, KEYS), number),
            |map, number| map.lock().remove(&scrambled(number, KEYS)),
        ),
    ];
    Family { name: "map of 32,768 of 65,536 keys, changes alone", contenders }
}

/// Of ten operations eight look up a random key, one inserts one and one removes one: those of a
/// number that five divides. Of the numbers that fill the map, too, only those insert.
fn maps_mostly_read() -> Family {
    let contenders = vec![
        filled(
            "BLinkTree",
            5 * FILL,
            trueline_objects::BLinkTree::<u64, u64>::new,
            |map, number| match number % 5 {
                0 => _ = map.insert(scrambled(number, KEYS), number),
                _ => _ = std::hint::black_box(map.get(&scrambled(number, KEYS))),
            },
            |map, number| match number % 5 {
                0 => map.remove(&scrambled(number, KEYS)),
                _ => map.get(&scrambled(number, KEYS)),
            },
        ),
        filled(
            "crossbeam SkipMap",
            5 * FILL,
            crossbeam_skiplist::SkipMap::new,
            |map, number| match number % 5 {
                0 => drop(map.insert(scrambled(number, KEYS), number)),
                _ => {
                    _ = std::hint::black_box(map.get(&scrambled(number, KEYS)).map(|e| *e.value()))
                }
            },
            |map, number| match number % 5 {
                0 => map.remove(&scrambled(number, KEYS)).map(|e| *e.value()),
                _ => map.get(&scrambled(number, KEYS)).map(|e| *e.value()),
            },
        ),
        filled(
            "parking_lot Mutex<BTreeMap>",
            5 * FILL,
            || Mutex::new(BTreeMap::new()),
            |map, number| match number % 5 {
                0 => _ = map.lock().insert(scrambled(number, KEYS), number),
                _ => _ = std::hint::black_box(map.lock().get(&scrambled(number, KEYS)).copied()),
            },
            |map, number| match number % 5 {
                0 => map.lock().remove(&scrambled(number, KEYS)),
                _ => map.lock().get(&scrambled(number, KEYS)).copied(),
            },
        ),
    ];
    Family { name: "map of 32,768 of 65,536 keys, 8 of 10 operations look up", contenders }
}
