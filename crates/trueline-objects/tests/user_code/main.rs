//! Objects that hold values of the user's run the user's code: comparisons, clones, destructors. No
//! such code may break memory, hang the object, or lose values beyond what the pages say.

mod faults;
mod wild;

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use trueline_objects::blocking;
use trueline_objects::priority_queue::Tuning;
use trueline_objects::{
    ArrayQueue, BLinkTree, Blocking, BoundedPriorityQueue, FetchAddQueue, HerlihyWingQueue,
    ListSet, MichaelScottQueue, Multiset, PriorityQueue, Semiqueue, TreiberStack, VyukovQueue,
};
use wild::{Ledger, Manners, Wild, behave, dice, may_panic, quiet, seed_dice, with_object};

const STEPS: u64 = 400;

/// The seeds of the random tests, told as for all of the project's: this crate has no dependency
/// that reads them (`trueline::rng::seeds`).
fn rounds() -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = number("TRUELINE_FROM").unwrap_or(0);
    first..first.saturating_add(number("TRUELINE_CASES").unwrap_or(24))
}

/// Runs one object with user's code of all manners: alone and on threads.
fn run_wild<O: Send + Sync>(
    what: &str,
    make: impl Fn() -> O,
    step: impl Fn(&O, &Ledger) + Send + Sync,
) {
    quiet();
    for round in rounds() {
        let (mut manners, ledger) = (manners_of(round), Ledger::default());
        // An operation of the tree starts over when its own user's code has changed the page: it
        // must not each time. And who looks at all values takes very long if its own user's code
        // does the same for each of them, above all where an order that lies lets values in again
        // and again.
        let most = match what {
            "tree" => 6,
            _ if what.ends_with("looked at") => {
                if manners.lies > 0 {
                    0
                } else {
                    6
                }
            }
            _ => 128,
        };
        manners.calls_back = manners.calls_back.min(most);
        let object = make();
        let run = |seed| {
            seed_dice(seed);
            behave(manners);
            with_object(
                || step(&object, &ledger),
                || {
                    for _ in 0..STEPS {
                        may_panic(|| step(&object, &ledger));
                    }
                },
            );
            behave(Manners::default());
        };
        if round % 2 == 0 {
            run(round);
        } else {
            let run = &run;
            thread::scope(|s| (0..3).for_each(|t| drop(s.spawn(move || run(100 * round + t)))));
        }
        behave(Manners::default());
        may_panic(|| drop(object));
        ledger.assert_settled(&format!("{what}, round {round}"));
    }
}

/// What is taken apart, with destructors that panic and lists that lie.
#[test]
fn what_is_taken_apart_loses_nothing() {
    quiet();
    for round in rounds() {
        let ledger = Ledger::default();
        let (set, bag, tree) =
            (ListSet::new(), Multiset::new(), BLinkTree::<Wild, Wild, 2>::with_batch(2));
        behave(manners_of(round));
        for _ in 0..100 {
            may_panic(|| assert!(set.insert(ledger.value(dice() % 50)) || !set.is_empty()));
            may_panic(|| bag.add(ledger.value(dice() % 50)));
            may_panic(|| drop(tree.insert(ledger.value(dice() % 50), ledger.value(1))));
        }
        may_panic(|| assert!(set.into_iter().take(20).count() <= 20));
        may_panic(|| assert!(bag.into_iter().take(20).count() <= 20));
        may_panic(|| assert!((&tree).into_iter().take(20).count() <= 20));
        may_panic(|| drop(tree));
        behave(Manners::default());
        ledger.assert_settled("what is taken apart");
    }
}

/// Each round mixes the faults in another way.
fn manners_of(round: u64) -> Manners {
    seed_dice(round + 1);
    let chance = || [0, 0, 3, 20, 128][dice() as usize % 5];
    Manners {
        lies: chance(),
        panics_comparing: chance() / 2,
        panics_cloning: chance() / 4,
        panics_dropping: chance() / 4,
        calls_back: chance(),
    }
}

#[test]
fn a_stack_with_wild_values() {
    run_wild(
        "stack",
        || TreiberStack::with_batch(2),
        |stack, ledger| match dice() % 2 {
            0 => stack.push(ledger.value(dice())),
            _ => drop(stack.pop()),
        },
    );
}

#[test]
fn queues_with_wild_values() {
    run_wild(
        "queue",
        || MichaelScottQueue::with_batch(2),
        |queue, ledger| match dice() % 2 {
            0 => queue.enq(ledger.value(dice())),
            _ => drop(queue.deq()),
        },
    );
    run_wild(
        "fetch-add queue",
        || FetchAddQueue::with_segments_of(3),
        |queue, ledger| match dice() % 2 {
            0 => queue.enq(ledger.value(dice())),
            _ => drop(queue.deq()),
        },
    );
    run_wild(
        "semiqueue",
        || Semiqueue::with_batch(3, 2),
        |queue, ledger| match dice() % 2 {
            0 => queue.enq(ledger.value(dice())),
            _ => drop(queue.deq()),
        },
    );
    run_wild("Herlihy-Wing queue", HerlihyWingQueue::new, |queue, ledger| match dice() % 2 {
        0 => queue.enq(ledger.value(dice())),
        _ => drop(queue.try_deq()),
    });
    run_wild(
        "array queue",
        || ArrayQueue::new(7),
        |queue, ledger| match dice() % 4 {
            0 => drop(queue.enq(ledger.value(dice()))),
            1 => drop(queue.force_push(ledger.value(dice()))),
            2 => drop(queue.len()),
            _ => drop(queue.deq()),
        },
    );
    run_wild(
        "Vyukov queue",
        || VyukovQueue::new(8),
        |queue, ledger| match dice() % 2 {
            0 => drop(queue.enq(ledger.value(dice()))),
            _ => drop(queue.deq()),
        },
    );
}

#[test]
fn priority_queues_with_wild_values() {
    let tuning = Tuning { prefix: 2, batch: 2, levels: 3, seed: 5 };
    run_wild(
        "priority queue",
        || PriorityQueue::with_tuning(tuning),
        |queue, ledger| match dice() % 6 {
            0 | 1 => queue.push(ledger.value(dice() % 8), ledger.value(0)),
            2 => drop(queue.peek()),
            3 => drop((queue.len(), queue.is_empty())),
            _ => drop(queue.pop()),
        },
    );
    run_wild(
        "bins",
        || BoundedPriorityQueue::new(3, 8),
        |queue, ledger| match dice() % 2 {
            0 => drop(queue.push(dice() as usize % 3, ledger.value(0))),
            _ => drop(queue.pop()),
        },
    );
}

/// Nobody waits here for what does not come: each wait has an end.
fn wait_a_little<Q: blocking::Queue>(queue: &Blocking<Q>, item: Q::Item) {
    match dice() % 16 {
        0 | 1 => drop(queue.try_push(item)),
        2 | 3 => drop(queue.push_timeout(item, Duration::ZERO)),
        4 | 5 => drop(poll_once(queue.push_async(item))),
        6 if dice().is_multiple_of(64) => drop((queue.close(), item)),
        7 => drop((queue.is_closed(), item)),
        8 | 9 => drop(poll_once(queue.pop_async())),
        10 | 11 => drop(queue.pop_timeout(Duration::ZERO)),
        _ => drop(queue.try_pop()),
    }
}

/// Polls a task once, and drops it then.
fn poll_once<F: Future>(task: F) -> Option<F::Output> {
    match pin!(task).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

#[test]
fn queues_that_are_waited_for_with_wild_values() {
    let tuning = Tuning { prefix: 1, batch: 1, levels: 2, seed: 3 };
    run_wild(
        "waiting priority queue",
        || Blocking::new(PriorityQueue::with_tuning(tuning)),
        |queue, ledger| wait_a_little(queue, (ledger.value(dice() % 8), ledger.value(0))),
    );
    run_wild(
        "waiting bins",
        || Blocking::new(BoundedPriorityQueue::new(3, 2)),
        |queue, ledger| wait_a_little(queue, (dice() as usize % 3, ledger.value(0))),
    );
    run_wild(
        "waiting ring",
        || Blocking::new(ArrayQueue::new(2)),
        |queue, ledger| wait_a_little(queue, ledger.value(0)),
    );
    run_wild(
        "waiting stack",
        || Blocking::new(TreiberStack::with_batch(1)),
        |queue, ledger| wait_a_little(queue, ledger.value(0)),
    );
}

#[test]
fn sets_with_wild_values() {
    run_wild(
        "set",
        || ListSet::with_batch(2),
        |set, ledger| {
            let value = ledger.value(dice() % 12);
            match dice() % 5 {
                0 | 1 => drop(set.insert(value)),
                2 => drop(set.remove(&value)),
                3 => drop((set.take(&value), set.get(&value))),
                _ => drop(set.contains(&value)),
            }
        },
    );
    run_wild(
        "multiset",
        || Multiset::with_batch(2),
        |bag, ledger| {
            let value = ledger.value(dice() % 12);
            match dice() % 3 {
                0 => bag.add(value),
                1 => drop(bag.remove(&value)),
                _ => drop(bag.count(&value)),
            }
        },
    );
}

#[test]
fn sets_that_are_looked_at_with_wild_values() {
    run_wild(
        "set, looked at",
        || ListSet::with_batch(2),
        |set, ledger| {
            let value = ledger.value(dice() % 12);
            match dice() % 6 {
                0 | 1 => drop(set.insert(value)),
                2 | 3 => drop(set.take(&value)),
                4 => drop((set.first(), set.last())),
                _ => drop((set.iter(), set.len(), set.range(..value))),
            }
        },
    );
    run_wild(
        "multiset, looked at",
        || Multiset::with_batch(2),
        |bag, ledger| {
            let value = ledger.value(dice() % 12);
            match dice() % 5 {
                0 | 1 => bag.add(value),
                2 | 3 => drop(bag.remove(&value)),
                _ => drop((bag.first(), bag.last(), bag.range(value..))),
            }
        },
    );
}

#[test]
fn a_tree_with_wild_values() {
    run_wild(
        "tree",
        || BLinkTree::<Wild, Wild, 2>::with_batch(2),
        |tree, ledger| {
            let key = ledger.value(dice() % 24);
            match dice() % 10 {
                0..3 => drop(tree.insert(key, ledger.value(7))),
                3 | 4 => drop(tree.remove(&key)),
                5 => drop(tree.entry(key).or_insert_with(|| ledger.value(8))),
                6 => drop(tree.entry(key).and_modify(|value| *value = ledger.value(9))),
                7 => drop((tree.first(), tree.last(), tree.len())),
                // A tree whose order lies may be walked through in circles.
                8 => assert!(tree.range(key..).take(50).count() <= 50),
                _ => drop(tree.get(&key)),
            }
        },
    );
}
