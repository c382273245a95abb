//! Rounds: the threads that run them, what they run, and how much of the processors they got.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Runs one round on the crew.
type Run = Box<dyn Fn(&Crew, Duration) -> Round>;

/// One of those that are compared.
pub(super) struct Contender {
    pub(super) name: &'static str,
    /// Runs it on the threads of a crew for so long.
    pub(super) run: Run,
}

/// What came of a round.
#[derive(Clone, Copy)]
pub(super) struct Round {
    /// Million operations a second.
    pub(super) rate: f64,
    /// Whether other programs took much of the time in which the threads could have run.
    pub(super) disturbed: bool,
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
pub(super) struct Load {
    all: u64,
    busy: u64,
    stolen: u64,
    own: u64,
}

impl Load {
    /// `None` where the system does not say it as Linux does.
    pub(super) fn now() -> Option<Load> {
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

    pub(super) fn since(&self, before: &Load) -> String {
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

/// Pairs of operations between two looks at whether the round is over.
const PAIRS_AT_ONCE: u64 = 20;

/// A number below this, as if at random.
pub(super) fn scrambled(number: u64, below: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) % below
}

/// Threads that live as long as the column that they measure, as those of a program would: the
/// system has found them processors by then.
pub(super) struct Crew {
    jobs: Vec<mpsc::Sender<Job>>,
    done: mpsc::Receiver<()>,
}

/// What each thread runs, with its number.
type Job = Arc<dyn Fn(usize) + Send + Sync>;

impl Crew {
    pub(super) fn new(threads: usize) -> Crew {
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
pub(super) fn contender<O: Send + Sync + 'static, R>(
    name: &'static str,
    make: impl Fn() -> O + 'static,
    insert: impl Fn(&O, u64) + Copy + Send + Sync + 'static,
    remove: impl Fn(&O, u64) -> R + Copy + Send + Sync + 'static,
) -> Contender {
    filled(name, 0, make, insert, remove)
}

/// Makes an object into which so many numbers are inserted before the threads begin. The numbers
/// that are inserted and removed are all different; keys and priorities are made from them.
pub(super) fn filled<O: Send + Sync + 'static, R>(
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
