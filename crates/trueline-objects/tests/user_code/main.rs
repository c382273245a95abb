//! Objects that hold values of the user's run the user's code: comparisons, clones, destructors. No
//! such code may break memory, hang the object, or lose values beyond what the pages say.

mod wild;

use std::cell::Cell;
use std::cmp::Ordering;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
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

/// A priority queue was freed while it was linked on an upper level, where a comparison said at
/// random what is larger.
#[test]
fn a_random_order_frees_no_node_of_a_priority_queue_that_is_linked() {
    quiet();
    let ledger = Ledger::default();
    let queue = PriorityQueue::new();
    behave(Manners { lies: 255, ..Manners::default() });
    let mut popped = 0;
    for i in 0..20_000 {
        queue.push(ledger.value(i), i.to_string());
        if i % 4 != 0 || i > 1000 {
            popped += u64::from(queue.pop().is_some());
        }
    }
    while queue.pop().is_some() {
        popped += 1;
    }
    assert_eq!(popped, 20_000);
    behave(Manners::default());
    drop(queue);
    ledger.assert_settled("priority queue");
}

/// The same with a derived `PartialOrd` beside a total order, on threads.
#[test]
fn a_number_that_is_none_frees_no_node_of_a_priority_queue_that_is_linked() {
    #[derive(Clone, PartialEq, PartialOrd)]
    struct Number(f64, Vec<u8>);
    impl Eq for Number {}
    #[allow(clippy::derive_ord_xor_partial_ord, reason = "what the test is about")]
    impl Ord for Number {
        fn cmp(&self, other: &Number) -> Ordering {
            assert_eq!((&self.1[..], &other.1[..]), (&[7, 7][..], &[7, 7][..]));
            self.0.total_cmp(&other.0)
        }
    }
    let queue = PriorityQueue::new();
    let (pushed, popped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|s| {
        for t in 0..3 {
            let (queue, pushed, popped) = (&queue, &pushed, &popped);
            s.spawn(move || {
                seed_dice(77 + t);
                for i in 0..20_000 {
                    let number = dice();
                    if number.is_multiple_of(2) {
                        let is_none = number.is_multiple_of(10);
                        let number = if is_none { f64::NAN } else { (number % 1000) as f64 };
                        queue.push(Number(number, vec![7, 7]), i);
                        pushed.fetch_add(1, SeqCst);
                    } else if let Some((number, _)) = queue.pop() {
                        assert_eq!(number.1, [7, 7]);
                        popped.fetch_add(1, SeqCst);
                    }
                }
            });
        }
    });
    let left = std::iter::from_fn(|| queue.pop()).count();
    assert_eq!(left + popped.load(SeqCst), pushed.load(SeqCst));
}

/// A comparison that panicked inside a `pop` kept nodes from being freed for ever, and a `push`
/// that panicked forgot its value.
#[test]
fn a_panicking_comparison_costs_a_priority_queue_nothing_but_that_push() {
    quiet();
    let ledger = Ledger::default();
    let queue = PriorityQueue::with_tuning(Tuning { prefix: 1, batch: 1, ..Tuning::default() });
    for i in 0..1000 {
        queue.push(ledger.value(i), ledger.value(i));
    }
    behave(Manners { panics_comparing: 255, ..Manners::default() });
    let push = || queue.push(ledger.value(3), ledger.value(3));
    assert!((0..100).any(|_| may_panic(push)));
    let mut last = u64::MAX;
    while let Some((priority, value)) = queue.pop() {
        assert!(priority.key == value.key && value.key <= last);
        last = value.key;
    }
    behave(Manners::default());
    // What was pushed and popped is freed, but for the few last nodes: there is no node that keeps
    // others from being cut off.
    assert!(ledger.alive() < 10, "{}", ledger.alive());
    drop(queue);
    ledger.assert_settled("priority queue");
}

/// A clone that panics takes nothing.
#[test]
fn a_panicking_clone_takes_nothing_from_a_priority_queue() {
    quiet();
    let ledger = Ledger::default();
    let queue = PriorityQueue::new();
    (0..10).for_each(|i| queue.push(ledger.value(i), ledger.value(i)));
    behave(Manners { panics_cloning: 200, ..Manners::default() });
    let mut popped = Vec::new();
    while popped.len() < 10 {
        may_panic(|| popped.extend(queue.pop().map(|(_, value)| value.key)));
    }
    behave(Manners::default());
    assert_eq!(popped, (0..10).rev().collect::<Vec<_>>());
    drop(queue);
    ledger.assert_settled("priority queue");
}

/// Fills an object, drops it with a destructor that panics once, and counts what is left.
#[track_caller]
fn check_that_all_are_dropped<O>(what: &str, object: O, fill: impl Fn(&O, PanicsOnce)) {
    const VALUES: usize = 1000;
    let (alive, values) = PanicsOnce::make(VALUES);
    values.into_iter().for_each(|value| fill(&object, value));
    let _ = may_panic(|| drop(object));
    assert_eq!(alive.load(SeqCst), 0, "{what}: of {VALUES} values so many are forgotten");
}

struct PanicsOnce {
    alive: Arc<AtomicUsize>,
    panics: bool,
}

impl PanicsOnce {
    /// Of so many values one panics.
    fn make(values: usize) -> (Arc<AtomicUsize>, Vec<PanicsOnce>) {
        let alive = Arc::new(AtomicUsize::new(values));
        let value = |i| PanicsOnce { alive: Arc::clone(&alive), panics: i == values / 2 };
        let values = (0..values).map(value).collect();
        (alive, values)
    }
}

impl Drop for PanicsOnce {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, SeqCst);
        if self.panics {
            std::panic::panic_any("the user's code panics");
        }
    }
}

impl Ord for PanicsOnce {
    fn cmp(&self, other: &PanicsOnce) -> Ordering {
        (&raw const *self).cmp(&&raw const *other)
    }
}

impl PartialOrd for PanicsOnce {
    fn partial_cmp(&self, other: &PanicsOnce) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PanicsOnce {
    fn eq(&self, other: &PanicsOnce) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PanicsOnce {}

/// Of 1,000 values in a set 986 were forgotten where the destructor of one panicked.
#[test]
fn a_panicking_destructor_leaves_nothing_behind() {
    quiet();
    check_that_all_are_dropped("stack", TreiberStack::new(), |o, v| o.push(v));
    check_that_all_are_dropped("queue", MichaelScottQueue::new(), |o, v| o.enq(v));
    check_that_all_are_dropped("fetch-add queue", FetchAddQueue::new(), |o, v| o.enq(v));
    check_that_all_are_dropped("Herlihy-Wing queue", HerlihyWingQueue::new(), |o, v| o.enq(v));
    check_that_all_are_dropped("semiqueue", Semiqueue::new(3), |o, v| o.enq(v));
    let full = |result: Result<(), PanicsOnce>| assert!(result.is_ok());
    check_that_all_are_dropped("array queue", ArrayQueue::new(1024), |o, v| full(o.enq(v)));
    check_that_all_are_dropped("Vyukov queue", VyukovQueue::new(1024), |o, v| full(o.enq(v)));
    check_that_all_are_dropped("set", ListSet::new(), |o, v| assert!(o.insert(v)));
    check_that_all_are_dropped("multiset", Multiset::new(), |o, v| o.add(v));
    let number = Cell::new(0);
    let next = || {
        number.set(number.get() + 1);
        number.get()
    };
    check_that_all_are_dropped("priority queue", PriorityQueue::new(), |o, v| o.push(next(), v));
    let bounded = BoundedPriorityQueue::new(4, 1024);
    check_that_all_are_dropped("bins", bounded, |o, v| full(o.push(next() % 4, v)));
    let tree = BLinkTree::<usize, Arc<PanicsOnce>>::new();
    check_that_all_are_dropped("tree", tree, |o, v| drop(o.insert(next(), v.into())));
}

/// Where the destructor of a node that was removed panics, those behind it are freed all the same.
#[test]
fn a_panicking_destructor_of_what_was_removed_leaves_nothing_behind() {
    quiet();
    let set = ListSet::with_batch(500);
    let (alive, values) = PanicsOnce::make(1000);
    struct Keyed(usize, #[allow(dead_code, reason = "dropped with it")] PanicsOnce);
    impl std::borrow::Borrow<usize> for Keyed {
        fn borrow(&self) -> &usize {
            &self.0
        }
    }
    impl PartialEq for Keyed {
        fn eq(&self, other: &Keyed) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for Keyed {}
    impl PartialOrd for Keyed {
        fn partial_cmp(&self, other: &Keyed) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Keyed {
        fn cmp(&self, other: &Keyed) -> Ordering {
            self.0.cmp(&other.0)
        }
    }
    for (i, value) in values.into_iter().enumerate().rev() {
        assert!(set.insert(Keyed(i, value)));
    }
    let panics = (0..1000).filter(|i| may_panic(|| assert!(set.remove(i)))).count();
    assert_eq!(panics, 1);
    drop(set);
    assert_eq!(alive.load(SeqCst), 0);
}

/// `remove` dropped its copy of the key under the lock of the leaf.
#[test]
fn a_destructor_of_a_key_may_call_the_tree() {
    quiet();
    let ledger = Ledger::default();
    let tree = BLinkTree::<Wild, Wild, 4>::with_batch(1);
    let call = || {
        let key = ledger.value(dice() % 20);
        match dice() % 3 {
            0 => drop(tree.insert(key, ledger.value(1))),
            1 => drop(tree.remove(&key)),
            _ => drop(tree.get(&key)),
        }
    };
    with_object(call, || {
        behave(Manners { calls_back: 40, ..Manners::default() });
        for i in 0..2000 {
            call();
            tree.remove(&ledger.value(i % 20));
        }
        behave(Manners::default());
    });
    drop(tree);
    ledger.assert_settled("tree");
}

/// A comparison that panicked after `take` had removed a value took the value with it.
#[test]
fn what_is_taken_from_a_set_is_given_out_whatever_comparisons_do() {
    thread_local! {
        static SET: ListSet<Taken> = const { ListSet::with_batch(1) };
        static PANICS: Cell<bool> = const { Cell::new(false) };
    }
    #[derive(PartialEq, Eq, Debug)]
    struct Taken(u8);
    impl PartialOrd for Taken {
        fn partial_cmp(&self, other: &Taken) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Taken {
        fn cmp(&self, other: &Taken) -> Ordering {
            if PANICS.get() {
                std::panic::panic_any("the user's code panics");
            }
            self.0.cmp(&other.0)
        }
    }
    impl Clone for Taken {
        fn clone(&self) -> Taken {
            // Something is linked before the value, so that it is not where it was found.
            SET.with(|set| set.insert(Taken(self.0 - 1)));
            PANICS.set(true);
            Taken(self.0)
        }
    }
    quiet();
    SET.with(|set| {
        [1, 5, 9].into_iter().for_each(|number| assert!(set.insert(Taken(number))));
        let mut taken = None;
        assert!(!may_panic(|| taken = set.take(&Taken(5))));
        PANICS.set(false);
        assert_eq!((taken, set.len(), set.contains(&Taken(4))), (Some(Taken(5)), 3, true));
    });
}

/// A clone that panicked while an iterator fetched the next leaf ended the iterator.
#[test]
fn a_panicking_clone_does_not_end_an_iterator() {
    quiet();
    let ledger = Ledger::default();
    let tree: BLinkTree<Wild, u8, 2> = (0..20).map(|key| (ledger.value(key), 0)).collect();
    let (mut keys, mut panics, mut entries) = (Vec::new(), 0, tree.iter());
    while keys.len() < 20 {
        behave(Manners { panics_cloning: 100, ..Manners::default() });
        let mut next = None;
        panics += u32::from(may_panic(|| next = Some(entries.next())));
        behave(Manners::default());
        keys.extend(next.map(|entry| entry.expect("there are more").0.key));
    }
    assert!(panics > 0 && keys.iter().copied().eq(0..20), "{panics} {keys:?}");
    assert!(entries.next().is_none());
    drop(entries);
    drop(tree);
    ledger.assert_settled("tree");
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
