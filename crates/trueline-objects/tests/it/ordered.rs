//! The ordered and set-like objects as they ship, over std: in sequence beside std's collections,
//! on real threads, that they free what they hold, and that code of the user's which they run may
//! panic and may call them.

use std::cell::Cell;
use std::cmp::{Ordering as Order, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use trueline_objects::priority_queue::Tuning;
use trueline_objects::{BLinkTree, BoundedPriorityQueue, ListSet, Multiset, PriorityQueue};

/// Counts how many of it there are; ordered by its number.
struct Counted(u64, Arc<AtomicUsize>);

impl Counted {
    fn new(number: u64, alive: &Arc<AtomicUsize>) -> Counted {
        alive.fetch_add(1, Ordering::SeqCst);
        Counted(number, Arc::clone(alive))
    }
}

impl Clone for Counted {
    fn clone(&self) -> Counted {
        Counted::new(self.0, &self.1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Counted) -> bool {
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Counted) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Counted {
    fn cmp(&self, other: &Counted) -> Order {
        self.0.cmp(&other.0)
    }
}

/// Pseudo-random numbers, the same each time.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

const TUNINGS: [Tuning; 4] = [
    Tuning { prefix: 1, batch: 1, levels: 1, seed: 1 },
    Tuning { prefix: 1, batch: 1, levels: 3, seed: 2 },
    Tuning { prefix: 5, batch: 3, levels: 16, seed: 3 },
    Tuning { prefix: 32, batch: 64, levels: 16, seed: 4 },
];

#[test]
fn a_set_in_sequence() {
    for batch in [1, 64] {
        let (set, mut model, mut draw) =
            (ListSet::with_batch(batch), BTreeSet::new(), numbers(batch as u64));
        for _ in 0..4000 {
            let value = draw(40);
            match draw(3) {
                0 => assert_eq!(set.insert(value), model.insert(value)),
                1 => assert_eq!(set.remove(&value), model.remove(&value)),
                _ => assert_eq!(set.contains(&value), model.contains(&value)),
            }
        }
    }
}

#[test]
fn a_multiset_in_sequence() {
    for batch in [1, 64] {
        let (bag, mut model, mut draw) =
            (Multiset::with_batch(batch), BTreeMap::<u64, usize>::new(), numbers(batch as u64));
        for _ in 0..4000 {
            let value = draw(20);
            let count = model.entry(value).or_default();
            match draw(4) {
                0 => {
                    bag.add(value);
                    *count += 1;
                }
                1 => {
                    assert_eq!(bag.remove(&value), *count > 0);
                    *count = count.saturating_sub(1);
                }
                2 => assert_eq!(bag.count(&value), *count),
                _ => assert_eq!(bag.contains(&value), *count > 0),
            }
        }
    }
}

/// Also that of equal priorities the oldest comes first.
#[test]
fn a_priority_queue_in_sequence() {
    for (seed, tuning) in TUNINGS.into_iter().enumerate() {
        let queue = PriorityQueue::with_tuning(tuning);
        let mut model: BTreeSet<(u64, Reverse<u64>)> = BTreeSet::new();
        let mut draw = numbers(seed as u64);
        for number in 0..6000 {
            // First it grows, then it shrinks.
            if draw(12) < if number < 3000 { 7 } else { 4 } {
                let priority = draw(100);
                queue.push(priority, number);
                model.insert((priority, Reverse(number)));
            } else {
                assert_eq!(queue.peek(), model.last().map(|last| last.0));
                let expected =
                    model.pop_last().map(|(priority, Reverse(number))| (priority, number));
                assert_eq!(queue.pop(), expected);
            }
        }
    }
}

#[test]
fn a_bounded_priority_queue_in_sequence() {
    for (priorities, capacity) in [(1, 1), (1, 5), (3, 4), (16, 15), (64, 1)] {
        let queue = BoundedPriorityQueue::new(priorities, capacity);
        let mut model: BTreeSet<(usize, Reverse<u64>)> = BTreeSet::new();
        let mut draw = numbers(priorities as u64);
        for number in 0..3000 {
            if draw(2) == 0 {
                let priority = draw(priorities as u64) as usize;
                let has_room = model.len() < capacity;
                let expected = if has_room { Ok(()) } else { Err(number) };
                assert_eq!(queue.push(priority, number), expected);
                if has_room {
                    model.insert((priority, Reverse(number)));
                }
            } else {
                assert_eq!(queue.peek(), model.last().map(|last| last.0));
                let expected =
                    model.pop_last().map(|(priority, Reverse(number))| (priority, number));
                assert_eq!(queue.pop(), expected);
            }
        }
    }
}

#[test]
fn the_counts_of_a_bounded_priority_queue_fit_into_a_word() {
    type Queue = BoundedPriorityQueue<u8>;
    for (priorities, most) in
        [(2, u32::MAX as usize), (4, (1 << 16) - 1), (8, 255), (16, 15), (64, 1)]
    {
        assert!(Queue::fits(priorities, most), "{priorities} x {most}");
        assert!(!Queue::fits(priorities, most + 1), "{priorities} x {most} + 1");
    }
    assert!(!Queue::fits(0, 1) && !Queue::fits(1, 0) && !Queue::fits(65, 1));
    let too_many = catch_unwind(|| Queue::new(16, 16));
    assert!(too_many.is_err());
}

#[test]
fn a_tree_in_sequence() {
    fn run<const CAPACITY: usize>(keys: u64) {
        let tree = BLinkTree::<u64, u64, CAPACITY>::with_batch(CAPACITY);
        let (mut model, mut draw) = (BTreeMap::new(), numbers(keys));
        for value in 0..6000 {
            let key = draw(keys);
            match draw(4) {
                0 | 1 => assert_eq!(tree.insert(key, value), model.insert(key, value)),
                2 => assert_eq!(tree.remove(&key), model.remove(&key)),
                _ => assert_eq!(tree.get(&key), model.get(&key).copied()),
            }
            assert_eq!(tree.contains(&key), model.contains_key(&key));
        }
    }
    run::<2>(10);
    run::<2>(1000);
    run::<3>(500);
    run::<32>(3000);
}

#[test]
fn a_tree_holds_what_was_inserted_in_order() {
    let (up, down) = (BLinkTree::<u32, u32, 4>::new(), BLinkTree::<u32, u32, 4>::new());
    for key in 0..2000 {
        up.insert(key, key);
        down.insert(1999 - key, key);
    }
    assert!((0..2000).all(|key| up.get(&key) == Some(key) && down.get(&key) == Some(1999 - key)));
    assert_eq!((up.get(&2000), down.get(&2000)), (None, None));
}

/// What the calls of all threads say about a value adds up to what is there at the end.
#[test]
fn sets_add_up_on_threads() {
    const VALUES: usize = 8;
    for batch in [1, 64] {
        let (set, bag) = (ListSet::with_batch(batch), Multiset::with_batch(batch));
        let net = |thread: u64| {
            let mut draw = numbers(thread);
            let (mut in_set, mut in_bag) = ([0i64; VALUES], [0i64; VALUES]);
            for _ in 0..4000 {
                let value = draw(VALUES as u64);
                let at = value as usize;
                match draw(5) {
                    0 => in_set[at] += i64::from(set.insert(value)),
                    1 => in_set[at] -= i64::from(set.remove(&value)),
                    2 => {
                        bag.add(value);
                        in_bag[at] += 1;
                    }
                    3 => in_bag[at] -= i64::from(bag.remove(&value)),
                    _ => _ = (set.contains(&value), bag.count(&value)),
                }
            }
            (in_set, in_bag)
        };
        let all: Vec<_> = thread::scope(|s| {
            let net = &net;
            let threads: Vec<_> = (0..4).map(|t| s.spawn(move || net(t))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        for value in 0..VALUES {
            let in_set: i64 = all.iter().map(|(in_set, _)| in_set[value]).sum();
            assert_eq!(in_set, i64::from(set.contains(&(value as u64))));
            let in_bag: i64 = all.iter().map(|(_, in_bag)| in_bag[value]).sum();
            assert_eq!(in_bag, bag.count(&(value as u64)) as i64);
        }
    }
}

/// Each thread pushes and pops as often; nothing is lost, doubled or left, and what is left in
/// between comes out in order.
#[test]
fn priority_queues_lose_nothing_on_threads() {
    const THREADS: u64 = 4;
    const EACH: u64 = 2000;
    let alive = Arc::default();
    let run = |push: &(dyn Fn(u64, Counted) + Sync), pop: &(dyn Fn() -> Option<Counted> + Sync)| {
        let one = |thread: u64| {
            let (mut draw, mut taken) = (numbers(thread), Vec::new());
            for i in 0..EACH {
                push(draw(8), Counted::new(thread * EACH + i, &alive));
                if draw(4) > 0 {
                    taken.extend(pop().map(|counted| counted.0));
                }
            }
            taken
        };
        let mut all: Vec<u64> = thread::scope(|s| {
            let one = &one;
            let threads: Vec<_> = (0..THREADS).map(|t| s.spawn(move || one(t))).collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        all.extend(std::iter::from_fn(pop).map(|counted| counted.0));
        assert_eq!(all.len() as u64, THREADS * EACH);
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len() as u64, THREADS * EACH);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    };
    for tuning in TUNINGS {
        let queue = PriorityQueue::with_tuning(tuning);
        run(&|priority, value| queue.push(priority, value), &|| {
            queue.pop().map(|(_, value)| value)
        });
    }
    let queue = BoundedPriorityQueue::new(4, (THREADS * EACH) as usize);
    let push = |priority: u64, value| assert!(queue.push(priority as usize / 2, value).is_ok());
    run(&push, &|| queue.pop().map(|(_, value)| value));
}

/// A bounded queue is full and empty again and again, so that slots are waited for.
#[test]
fn a_small_queue_hands_everything_over() {
    let (queue, each) = (BoundedPriorityQueue::new(2, 3), 500u64);
    let sum: u64 = thread::scope(|s| {
        let queue = &queue;
        for thread in 0..2 {
            s.spawn(move || {
                for number in 0..each {
                    while queue.push(thread, number).is_err() {
                        thread::yield_now();
                    }
                }
            });
        }
        let takes = move || {
            let mut sum = 0;
            for _ in 0..each {
                sum += loop {
                    match queue.pop() {
                        Some((_, number)) => break number,
                        None => thread::yield_now(),
                    }
                };
            }
            sum
        };
        [s.spawn(takes), s.spawn(takes)].map(|taker| taker.join().unwrap()).into_iter().sum()
    });
    assert_eq!(sum, each * (each - 1));
}

/// While writers split nodes, a key that was there before is found at all times; at the end
/// everything is there.
#[test]
fn a_tree_hides_nothing_while_it_is_split() {
    const KEYS: u64 = 2000;
    let tree = BLinkTree::<u64, u64, 3>::with_batch(2);
    (0..KEYS).step_by(10).for_each(|key| assert_eq!(tree.insert(key, key), None));
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        let (tree, done) = (&tree, &done);
        let readers = (0..2).map(|_| {
            s.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    for key in (0..KEYS).step_by(10) {
                        assert_eq!(tree.get(&key), Some(key), "a key that was there all the time");
                    }
                }
            })
        });
        let readers: Vec<_> = readers.collect();
        let writers = (1..4).map(|thread| {
            s.spawn(move || {
                for key in (0..KEYS).filter(|key| key % 10 != 0 && key % 3 == thread % 3) {
                    assert_eq!(tree.insert(key, key), None);
                    if key % 7 == 0 {
                        assert_eq!(tree.remove(&key), Some(key));
                    }
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    for key in 0..KEYS {
        let there = key % 10 == 0 || key % 7 != 0;
        assert_eq!(tree.get(&key), there.then_some(key));
    }
}

#[test]
fn what_is_left_is_dropped_with_the_object() {
    let alive: Arc<AtomicUsize> = Arc::default();
    let (set, bag) = (ListSet::new(), Multiset::new());
    let (queue, bounded) = (PriorityQueue::new(), BoundedPriorityQueue::new(4, 100));
    let tree = BLinkTree::<Counted, Counted, 2>::new();
    for number in 0..20 {
        let new = || Counted::new(number, &alive);
        set.insert(new());
        set.insert(new());
        bag.add(new());
        bag.add(new());
        queue.push(new(), new());
        assert!(bounded.push(number as usize % 4, new()).is_ok());
        tree.insert(new(), new());
    }
    for number in 0..10 {
        let key = Counted::new(number, &alive);
        assert!(set.remove(&key) && bag.remove(&key) && tree.remove(&key).is_some());
        assert!(queue.pop().is_some() && bounded.pop().is_some());
    }
    drop((set, bag, queue, bounded, tree));
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[test]
fn objects_go_where_their_values_may() {
    fn crosses<T: Send + Sync>() {}
    crosses::<ListSet<u8>>();
    crosses::<Multiset<u8>>();
    crosses::<BLinkTree<u8, u8>>();
    // A `Cell` may move to another thread, and not be shared: values of which no `&T` is given out
    // may be such.
    crosses::<PriorityQueue<u8, Cell<u8>>>();
    crosses::<BoundedPriorityQueue<Cell<u8>>>();
}

/// A number whose comparisons panic when they are told to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fragile(u64);

thread_local! {
    /// After how many comparisons one panics.
    static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

impl PartialOrd for Fragile {
    fn partial_cmp(&self, other: &Fragile) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Fragile {
    fn cmp(&self, other: &Fragile) -> Order {
        if let Some(left) = LEFT.get() {
            assert!(left > 0, "a comparison that panics");
            LEFT.set(Some(left - 1));
        }
        self.0.cmp(&other.0)
    }
}

#[test]
fn a_comparison_that_panics_leaves_a_sound_object() {
    let panics_after = |comparisons, call: &mut dyn FnMut()| {
        LEFT.set(Some(comparisons));
        let ended = catch_unwind(AssertUnwindSafe(call));
        LEFT.set(None);
        ended.is_err()
    };
    let (set, bag) = (ListSet::with_batch(1), Multiset::with_batch(1));
    let queue = PriorityQueue::with_tuning(TUNINGS[1]);
    let tree = BLinkTree::<Fragile, u64, 2>::with_batch(1);
    for number in (0..40).step_by(2) {
        set.insert(Fragile(number));
        bag.add(Fragile(number));
        queue.push(Fragile(number), ());
        tree.insert(Fragile(number), number);
    }
    let mut panics = 0;
    for comparisons in 0..12 {
        let key = Fragile(2 * u64::from(comparisons) + 1);
        let calls: [&mut dyn FnMut(); 7] = [
            &mut || _ = set.insert(key.clone()),
            &mut || _ = set.remove(&key),
            &mut || bag.add(key.clone()),
            &mut || queue.push(key.clone(), ()),
            &mut || _ = queue.pop(),
            &mut || _ = tree.insert(key.clone(), 1),
            &mut || _ = tree.remove(&key),
        ];
        for call in calls {
            panics += u32::from(panics_after(comparisons, call));
        }
    }
    assert!(panics > 20, "{panics}");
    // Objects that another thread uses, too: nobody is inside of them any more, and no lock is
    // held.
    thread::scope(|s| {
        s.spawn(|| {
            for number in (0..40).step_by(2) {
                assert!(set.remove(&Fragile(number)) && bag.remove(&Fragile(number)));
                assert_eq!(tree.remove(&Fragile(number)), Some(number));
            }
        });
    });
    let rest: Vec<Fragile> =
        std::iter::from_fn(|| queue.pop()).map(|(number, ())| number).collect();
    assert!(rest.is_sorted_by(|a, b| a.0 >= b.0), "{rest:?}");
}

/// A number whose comparisons and destructor call the set that it is in.
#[derive(PartialEq, Eq)]
struct Meddling(u64);

static MEDDLED_WITH: OnceLock<ListSet<Meddling>> = OnceLock::new();

thread_local! {
    /// How often this thread will meddle: not for ever, since an operation that always finds
    /// something changed never ends.
    static MEDDLES: Cell<u32> = const { Cell::new(0) };
}

fn meddle(number: u64) {
    let (Some(set), left @ 1..) = (MEDDLED_WITH.get(), MEDDLES.replace(0)) else { return };
    set.remove(&Meddling(number));
    set.insert(Meddling(number + 1));
    MEDDLES.set(left - 1);
}

impl PartialOrd for Meddling {
    fn partial_cmp(&self, other: &Meddling) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Meddling {
    fn cmp(&self, other: &Meddling) -> Order {
        meddle(self.0);
        self.0.cmp(&other.0)
    }
}

impl Drop for Meddling {
    fn drop(&mut self) {
        meddle(self.0);
    }
}

/// What the outer operation has found is removed, retired and, but for the protection of the outer
/// one, freed under its hands.
#[test]
fn comparisons_and_destructors_may_call_the_object() {
    let set = MEDDLED_WITH.get_or_init(|| ListSet::with_batch(1));
    thread::scope(|s| {
        for thread in 0..2 {
            s.spawn(move || {
                let mut draw = numbers(thread);
                for _ in 0..500 {
                    MEDDLES.set(5);
                    set.insert(Meddling(draw(10)));
                    MEDDLES.set(5);
                    set.remove(&Meddling(draw(10)));
                }
            });
        }
    });
    let there: Vec<bool> = (0..20).map(|number| set.contains(&Meddling(number))).collect();
    let again: Vec<bool> = (0..20).map(|number| set.contains(&Meddling(number))).collect();
    assert_eq!(there, again);
}
