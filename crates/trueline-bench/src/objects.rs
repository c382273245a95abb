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
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

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

/// Runs one round on the crew.
type Run = Box<dyn Fn(&Crew, Duration) -> Round>;

/// One of those that are compared.
struct Contender {
    name: &'static str,
    /// Runs it on the threads of a crew for so long.
    run: Run,
}

/// Objects that can be used in each other's place; the first is ours, the second the one to be
/// measured by. Further ones may be ours, too.
struct Family {
    name: &'static str,
    contenders: Vec<Contender>,
}

const REFERENCE: usize = 1;

/// What came of a round.
#[derive(Clone, Copy)]
struct Round {
    /// Million operations a second.
    rate: f64,
    /// Whether other programs took much of the time in which the threads could have run.
    disturbed: bool,
}

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

/// How long the threads of this program have run, and have waited for a processor, in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Times {
    ran: u64,
    waited: u64,
}

impl Times {
    /// Nothing where the system does not say it as Linux does. It says it as of its last tick, so
    /// that short rounds are judged roughly.
    fn now() -> Times {
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let of_each = threads.filter_map(|thread| {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            let mut numbers = text.split_whitespace().map_while(|n| n.parse().ok());
            Some(Times { ran: numbers.next()?, waited: numbers.next()? })
        });
        of_each.fold(Times::default(), |all, one| Times {
            ran: all.ran + one.ran,
            waited: all.waited + one.waited,
        })
    }

    /// Whether the threads ran for much less time than they would have on processors of their own,
    /// those that wait for each other aside.
    fn were_disturbed_since(self, before: Times, length: Duration) -> bool {
        const ENOUGH: f64 = 0.75;
        let ran = self.ran.saturating_sub(before.ran) as f64;
        let waited = self.waited.saturating_sub(before.waited) as f64;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let length = length.as_nanos() as f64;
        // A thread can always run; one that did not at all has not told for how long it has waited.
        ran < ENOUGH * (ran + waited).clamp(length, length * cores as f64)
    }
}

/// What the processors did so far, in the ticks of the system.
struct Load {
    all: u64,
    busy: u64,
    stolen: u64,
    own: u64,
}

impl Load {
    /// `None` where the system does not say it as Linux does.
    fn now() -> Option<Load> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let ticks: Vec<u64> =
            stat.lines().next()?.split_whitespace().skip(1).map_while(|n| n.parse().ok()).collect();
        let [user, nice, system, idle, waiting, irq, soft, stolen] = *ticks.first_chunk()?;
        let own = std::fs::read_to_string("/proc/self/stat").ok()?;
        // After the name of the program, which may contain blanks: state, ten numbers, and the time
        // of the program and of the system for it.
        let own = own.rsplit(')').next()?.split_whitespace().skip(11).take(2);
        let busy = user + nice + system + irq + soft;
        let own = own.map_while(|n| n.parse::<u64>().ok()).sum();
        Some(Load { all: busy + idle + waiting + stolen, busy, stolen, own })
    }

    fn since(&self, before: &Load) -> String {
        let all = (self.all - before.all).max(1) as f64;
        let share = |ticks: u64| 100.0 * ticks as f64 / all;
        let own = self.own - before.own;
        format!(
            "Meanwhile other programs had {:.0} % of the processors' time, and {:.0} % was stolen by other virtual machines.",
            share((self.busy - before.busy).saturating_sub(own)),
            share(self.stolen - before.stolen)
        )
    }
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

/// Pairs of operations between two looks at whether the round is over.
const PAIRS_AT_ONCE: u64 = 20;

/// A number below this, as if at random.
fn scrambled(number: u64, below: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) % below
}

/// Threads that live as long as the column that they measure, as those of a program would: the
/// system has found them processors by then.
struct Crew {
    jobs: Vec<mpsc::Sender<Job>>,
    done: mpsc::Receiver<()>,
}

/// What each thread runs, with its number.
type Job = Arc<dyn Fn(usize) + Send + Sync>;

impl Crew {
    fn new(threads: usize) -> Crew {
        let (is_done, done) = mpsc::channel();
        let start = |thread: usize| {
            let (jobs, is_done) = (mpsc::channel::<Job>(), is_done.clone());
            thread::spawn(move || {
                for job in jobs.1 {
                    job(thread);
                    // Before it says so, so that the object is dropped by who made it.
                    drop(job);
                    if is_done.send(()).is_err() {
                        return;
                    }
                }
            });
            jobs.0
        };
        Crew { jobs: (0..threads).map(start).collect(), done }
    }

    /// Has all threads run a job, and something else meanwhile, which is to make the job end.
    fn run<R>(&self, job: &Job, meanwhile: impl FnOnce() -> R) -> R {
        self.jobs.iter().for_each(|jobs| jobs.send(job.clone()).expect("it waits for jobs"));
        let result = meanwhile();
        self.jobs.iter().for_each(|_| self.done.recv().expect("it does not panic"));
        result
    }
}

/// Makes an object that starts empty.
fn contender<O: Send + Sync + 'static, R>(
    name: &'static str,
    make: impl Fn() -> O + 'static,
    insert: impl Fn(&O, u64) + Copy + Send + Sync + 'static,
    remove: impl Fn(&O, u64) -> R + Copy + Send + Sync + 'static,
) -> Contender {
    filled(name, 0, make, insert, remove)
}

/// Makes an object into which so many numbers are inserted before the threads begin. The numbers
/// that are inserted and removed are all different; keys and priorities are made from them.
fn filled<O: Send + Sync + 'static, R>(
    name: &'static str,
    fill: u64,
    make: impl Fn() -> O + 'static,
    insert: impl Fn(&O, u64) + Copy + Send + Sync + 'static,
    remove: impl Fn(&O, u64) -> R + Copy + Send + Sync + 'static,
) -> Contender {
    let run = move |crew: &Crew, length: Duration| {
        let object = make();
        (0..fill).for_each(|number| insert(&object, number));
        let is_over = Arc::new(AtomicBool::new(false));
        let pairs: Arc<[OwnLine]> = crew.jobs.iter().map(|_| OwnLine::default()).collect();
        let work = {
            let (is_over, pairs) = (is_over.clone(), pairs.clone());
            move |thread: usize| {
                let mut number = (thread as u64 + 1) << 40;
                while !is_over.load(Ordering::Relaxed) {
                    for _ in 0..PAIRS_AT_ONCE {
                        insert(&object, number);
                        std::hint::black_box(remove(&object, number | 1 << 39));
                        number += 1;
                    }
                    pairs[thread].0.fetch_add(PAIRS_AT_ONCE, Ordering::Relaxed);
                }
            }
        };
        let now = || {
            let pairs: u64 = pairs.iter().map(|own| own.0.load(Ordering::Relaxed)).sum();
            (pairs, Times::now(), Instant::now())
        };
        let work: Job = Arc::new(work);
        let ((before, had, start), (after, have, end)) = crew.run(&work, || {
            thread::sleep(length / 5);
            let start = now();
            thread::sleep(length);
            let end = now();
            is_over.store(true, Ordering::Relaxed);
            (start, end)
        });
        let length = end - start;
        Round {
            rate: 2.0 * (after - before) as f64 / length.as_secs_f64() / 1e6,
            disturbed: have.were_disturbed_since(had, length),
        }
    };
    Contender { name, run: Box::new(run) }
}

/// A counter on cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct OwnLine(AtomicU64);
