//! One fault of the user's code at a time: an order that lies, a comparison, a clone or a destructor
//! that panics.

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use trueline_objects::priority_queue::Tuning;
use trueline_objects::{
    ArrayQueue, BLinkTree, BoundedPriorityQueue, FetchAddQueue, HerlihyWingQueue, ListSet,
    MichaelScottQueue, Multiset, PriorityQueue, Semiqueue, TreiberStack, VyukovQueue,
};

use crate::wild::{Ledger, Manners, Wild, behave, dice, may_panic, quiet, seed_dice, with_object};

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
