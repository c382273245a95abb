//! The bounded queue for many producers and consumers after Dmitry Vyukov: an enqueue that has
//! taken its place but not filled it hides the ones behind it, so a thread may find the queue empty
//! after its own enqueue has returned.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use trueline::Budget;
use trueline::budget::Meter;
use trueline_explore::harness::{Kind, Minimised, Verdict};
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::{AtomicUsize, Ordering::*};
use trueline_explore::{explore, operations};

const SIZE: usize = 4;

struct Slot {
    turn: AtomicUsize,
    value: UnsafeCell<u8>,
}

struct Queue {
    slots: [Slot; SIZE],
    tail: AtomicUsize,
    head: AtomicUsize,
}

// SAFETY: the turn of a slot says who may use its value: one thread, which has taken the place.
unsafe impl Sync for Queue {}

impl Queue {
    fn new() -> Queue {
        let slot = |i| Slot { turn: AtomicUsize::new(i), value: UnsafeCell::new(0) };
        let slots = std::array::from_fn(slot);
        Queue { slots, tail: AtomicUsize::new(0), head: AtomicUsize::new(0) }
    }

    fn enqueue(&self, v: u8) -> bool {
        let mut place = self.tail.load(Relaxed);
        loop {
            let slot = &self.slots[place % SIZE];
            let ahead = slot.turn.load(Acquire) as isize - place as isize;
            if ahead == 0 {
                match self.tail.compare_exchange_weak(place, place + 1, Relaxed, Relaxed) {
                    Ok(_) => {
                        // SAFETY: the place is this thread's, and the turn says that the slot is
                        // free.
                        slot.value.with_mut(|value| unsafe { *value = v });
                        slot.turn.store(place + 1, Release);
                        return true;
                    }
                    Err(now) => place = now,
                }
            } else if ahead < 0 {
                return false;
            } else {
                place = self.tail.load(Relaxed);
            }
        }
    }

    fn dequeue(&self) -> Option<u8> {
        let mut place = self.head.load(Relaxed);
        loop {
            let slot = &self.slots[place % SIZE];
            let ahead = slot.turn.load(Acquire) as isize - (place + 1) as isize;
            if ahead == 0 {
                match self.head.compare_exchange_weak(place, place + 1, Relaxed, Relaxed) {
                    Ok(_) => {
                        // SAFETY: the place is this thread's, and the turn says that the slot is
                        // full.
                        let v = slot.value.with(|value| unsafe { *value });
                        slot.turn.store(place + SIZE, Release);
                        return Some(v);
                    }
                    Err(now) => place = now,
                }
            } else if ahead < 0 {
                return None;
            } else {
                place = self.head.load(Relaxed);
            }
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Fifo(VecDeque<u8>);

impl Fifo {
    fn enqueue(&mut self, v: u8) -> bool {
        let fits = self.0.len() < SIZE;
        if fits {
            self.0.push_back(v);
        }
        fits
    }
    fn dequeue(&mut self) -> Option<u8> {
        self.0.pop_front()
    }
}

operations! {
    enum Op -> Ret for Queue, Fifo {
        enqueue(v: u8) -> bool;
        dequeue() -> Option<u8>;
    }
}

#[test]
fn its_known_violation_is_found_soon_and_minimised() {
    let outcome = explore(Queue::new)
        .spec(Fifo::default())
        .operations([Op::enqueue(1), Op::enqueue(2), Op::dequeue()])
        .threads(2)
        .length(2)
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::NotLinearizable);
    let history = failure.history.as_ref().expect("it is one of histories");
    assert!(history.processes().len() == 2 && history.len() <= 4, "{outcome}");
    assert!(failure.scenario.contains("dequeue()"), "{outcome}");
    // Executions are what it costs: a hundred thousand are a second on an idle machine.
    assert!(outcome.counts.executions < 100_000, "{outcome}");
    let text = outcome.to_string();
    assert!(
        text.lines().all(|line| line.chars().count() <= 100 || line.contains("reproduce:")),
        "{text}"
    );
}

/// Is asked so many times, and then shows that the time is over.
struct Asked {
    asked: AtomicU64,
    most: u64,
}

impl Meter for Asked {
    fn elapsed(&self) -> Duration {
        let asked = self.asked.fetch_add(1, Relaxed);
        Duration::from_secs(if asked > self.most { 2 } else { 0 })
    }
}

/// A limit of time was one of each scenario, and making a failure smaller had none.
#[test]
fn a_limit_covers_all_scenarios_and_making_a_failure_smaller() {
    let run = |most: u64| {
        let meter = Asked { asked: AtomicU64::new(0), most };
        let budget = Budget::unlimited().meter(meter).time(Duration::from_secs(1));
        explore(Queue::new)
            .spec(Fifo::default())
            .operations([Op::enqueue(1), Op::enqueue(2), Op::dequeue()])
            .threads(2)
            .length(2)
            .budget(Arc::new(budget))
            .run()
    };
    let mut ends = Vec::new();
    // A little more time each time, so that the end falls into all that is done.
    for most in std::iter::successors(Some(1), |most: &u64| Some(most + most / 16 + 1)) {
        let outcome = run(most);
        let end = match (&outcome.verdict, outcome.failure()) {
            (Verdict::Undecided(why), _) => {
                assert!(why.message.contains("the time limit of 1 s is spent"), "{why:?}");
                "undecided"
            }
            (_, Some(failure)) => match &failure.minimised {
                Minimised::Stopped(why) => {
                    assert_eq!(why, "the time limit of 1 s is spent");
                    assert!(outcome.to_string().contains("A smaller program may fail"));
                    "stopped"
                }
                Minimised::Fully => "fully",
                Minimised::NotAsked => panic!("{outcome}"),
            },
            _ => panic!("{outcome}"),
        };
        ends.push(end);
        if end == "fully" {
            break;
        }
    }
    // More time leads further, and never back.
    ends.dedup();
    assert_eq!(ends, ["undecided", "stopped", "fully"]);
}
