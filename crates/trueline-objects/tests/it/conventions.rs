//! What users of std and crossbeam expect: names, iterators, collecting, lengths, ranges.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use trueline_objects::b_link_tree::Change;
use trueline_objects::{
    ArrayQueue, BLinkTree, Blocking, BoundedPriorityQueue, Counter, FetchAddQueue,
    HerlihyWingQueue, ListSet, MichaelScottQueue, Multiset, PriorityQueue, Semiqueue, Snapshot,
    Snzi, StutteringQueue, TicketLock, TreiberStack, VyukovQueue, WideRegister,
};

macro_rules! check {
    ($object:ident, $expected:expr) => {
        let object: $object<u32> = (0..4).collect();
        (&object).extend([4, 5]);
        assert_eq!((object.len(), object.is_empty()), (6, false));
        assert_eq!(object.drain().take(2).count(), 2);
        object.push(6);
        assert_eq!(object.len(), 5);
        let rest: Vec<u32> = object.into_iter().collect();
        assert_eq!(rest, $expected);
        let mut object = $object::default();
        object.extend(["a".to_string()]);
        assert_eq!((object.pop().as_deref(), object.pop()), (Some("a"), None));
        assert_eq!((object.len(), object.is_empty()), (0, true));
    };
}

#[test]
fn containers_are_filled_drained_and_taken_apart() {
    check!(TreiberStack, [6, 3, 2, 1, 0]);
    check!(MichaelScottQueue, [2, 3, 4, 5, 6]);
    check!(FetchAddQueue, [2, 3, 4, 5, 6]);
    check!(HerlihyWingQueue, [2, 3, 4, 5, 6]);
    let mut semiqueue = Semiqueue::new(2);
    semiqueue.extend(0..5);
    assert_eq!(semiqueue.len(), 5);
    let mut all: Vec<u32> = semiqueue.drain().collect();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3, 4]);
    assert!(semiqueue.is_empty() && semiqueue.into_iter().next().is_none());
    let mut stuttering = StutteringQueue::new(3);
    stuttering.extend(0..5);
    assert_eq!((stuttering.len(), stuttering.is_empty()), (5, false));
    assert_eq!(stuttering.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

/// Lengths over many segments, some of which were left.
#[test]
fn lengths_are_those_of_what_is_inside() {
    let (segments, semiqueue) = (FetchAddQueue::with_segments_of(3), Semiqueue::new(3));
    let mut inside = 0;
    for step in 0..200_usize {
        if step % 5 < 3 {
            segments.push(step);
            semiqueue.push(step);
            inside += 1;
        } else {
            assert!(segments.pop().is_some() && semiqueue.pop().is_some());
            inside -= 1;
        }
        assert_eq!((segments.len(), semiqueue.len()), (inside, inside));
        assert_eq!((segments.is_empty(), semiqueue.is_empty()), (inside == 0, inside == 0));
    }
}

#[test]
fn bounded_queues_have_any_capacity() {
    for capacity in 1..20 {
        let (queue, vyukov) = (ArrayQueue::new(capacity), VyukovQueue::new(capacity));
        assert_eq!((queue.capacity(), vyukov.capacity()), (capacity, capacity));
        let mut next = 0;
        for round in 0..50 {
            // Fills it and empties it in part, so that it goes round and round.
            while queue.push(next).is_ok() {
                assert_eq!(vyukov.push(next), Ok(()));
                next += 1;
            }
            assert!(queue.is_full() && vyukov.is_full());
            assert_eq!((queue.len(), vyukov.len(), vyukov.push(0)), (capacity, capacity, Err(0)));
            let first = next - capacity;
            assert_eq!(queue.force_push(next), Some(first));
            assert_eq!(
                (queue.len(), vyukov.pop(), vyukov.push(next)),
                (capacity, Some(first), Ok(()))
            );
            next += 1;
            for taken in 0..=round % capacity {
                assert_eq!(queue.pop(), Some(next - capacity + taken));
                assert_eq!(vyukov.pop(), Some(next - capacity + taken));
                assert_eq!(queue.len(), capacity - 1 - taken);
                assert_eq!(vyukov.len(), capacity - 1 - taken);
            }
        }
        let left = queue.len();
        assert_eq!((queue.drain().count(), vyukov.into_iter().count()), (left, left));
        assert!(queue.is_empty() && queue.force_push(1).is_none() && queue.into_iter().eq([1]));
    }
}

#[test]
#[should_panic(expected = "the capacity is at least 1")]
fn a_bounded_queue_has_room() {
    let _ = ArrayQueue::<u8>::new(0);
}

/// Of values that are pushed by force each comes out once, whoever has it.
#[test]
fn what_is_pushed_by_force_comes_out_once() {
    let value = Arc::new(());
    for capacity in [1, 2, 3, 7] {
        let queue = ArrayQueue::new(capacity);
        std::thread::scope(|s| {
            let push = || (0..20_000).filter(|_| queue.force_push(value.clone()).is_some()).count();
            let pop = || (0..20_000).filter(|_| queue.pop().is_some()).count();
            let threads = [s.spawn(push), s.spawn(push), s.spawn(pop)];
            let out: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(out + queue.len(), 40_000);
        });
        assert_eq!(Arc::strong_count(&value), 1 + queue.len());
        drop(queue);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

#[test]
fn priority_queues_are_filled_drained_and_taken_apart() {
    let mut queue: PriorityQueue<u8, char> = [(1, 'a'), (3, 'b'), (2, 'c')].into_iter().collect();
    queue.extend([(9, 'd')]);
    assert_eq!((queue.len(), queue.is_empty()), (4, false));
    assert_eq!(queue.drain().next(), Some((9, 'd')));
    assert!(queue.into_iter().eq([(3, 'b'), (2, 'c'), (1, 'a')]));
    let bounded = BoundedPriorityQueue::new(4, 3);
    (0..3).for_each(|priority| assert_eq!(bounded.push(priority, ()), Ok(())));
    assert!(bounded.is_full() && bounded.len() == 3 && bounded.push(1, ()).is_err());
    assert_eq!(bounded.drain().next(), Some((2, ())));
    assert!(bounded.into_iter().eq([(1, ()), (0, ())]));
}

#[test]
fn sets_are_looked_at_in_order() {
    let set: ListSet<u32> = [5, 1, 9, 3, 5].into_iter().collect();
    (&set).extend([7]);
    assert_eq!((set.len(), set.is_empty(), set.first(), set.last()), (5, false, Some(1), Some(9)));
    assert_eq!(
        (set.get(&5), set.get(&6), set.take(&5), set.take(&5)),
        (Some(5), None, Some(5), None)
    );
    assert!(set.iter().eq([1, 3, 7, 9]) && (&set).into_iter().eq([1, 3, 7, 9]));
    let std: BTreeSet<u32> = set.iter().collect();
    for (low, high) in (0..10).flat_map(|low| (low + 1..11).map(move |high| (low, high))) {
        assert!(set.range(low..high).eq(std.range(low..high).copied()));
        assert!(set.range(low..=high).eq(std.range(low..=high).copied()));
        assert!(set.range(..high).eq(std.range(..high).copied()));
        let after = (Bound::Excluded(low), Bound::Unbounded);
        assert!(set.range(after).eq(std.range(after).copied()));
    }
    assert!(set.into_iter().eq([1, 3, 7, 9]));
    let bag: Multiset<&str> = ["nail", "screw", "nail"].into_iter().collect();
    assert_eq!((bag.len(), bag.first(), bag.last()), (3, Some("nail"), Some("screw")));
    assert!(bag.iter().eq([("nail", 2), ("screw", 1)]) && bag.range("o"..).eq([("screw", 1)]));
    assert!(bag.remove("screw") && bag.into_iter().eq([("nail", 2)]));
}

#[test]
#[should_panic(expected = "a range that begins after its end")]
fn a_range_does_not_begin_after_its_end() {
    #[allow(clippy::reversed_empty_ranges, reason = "what the test is about")]
    let _ = ListSet::from_iter([1]).range(2..1);
}

/// The tree against std's, with leaves that are split and emptied.
#[test]
fn a_tree_is_looked_at_in_order() {
    let (tree, mut std) = (BLinkTree::<u64, u64, 3>::new(), BTreeMap::new());
    let mut state = 7_u64;
    for step in 0..3000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (key, low, high) = (state >> 58, (state >> 40) % 64, (state >> 30) % 64);
        if (state >> 20) % 16 < 6 + step % 1000 / 100 {
            assert_eq!(tree.remove(&key), std.remove(&key));
        } else {
            assert_eq!(tree.insert(key, step), std.insert(key, step));
        }
        assert_eq!(tree.first(), std.first_key_value().map(|(key, value)| (*key, *value)));
        assert_eq!(tree.last(), std.last_key_value().map(|(key, value)| (*key, *value)));
        assert_eq!((tree.len(), tree.is_empty()), (std.len(), std.is_empty()));
        let range = low.min(high)..=low.max(high);
        let expected = std.range(range.clone()).map(|(key, value)| (*key, *value));
        assert!(tree.range(range).eq(expected));
    }
    assert!(tree.iter().eq(std.clone()) && (&tree).into_iter().eq(std.clone()));
    assert!(tree.into_iter().eq(std));
}

#[test]
fn a_tree_has_entries() {
    let tree: BLinkTree<&str, u32> = [("one", 1)].into_iter().collect();
    assert_eq!((tree.entry("one").or_insert(7), tree.entry("two").or_insert(2)), (1, 2));
    assert_eq!(tree.entry("three").or_default(), 0);
    assert_eq!(tree.entry("three").and_modify(|value| *value += 3).or_insert(9), 3);
    assert_eq!(tree.entry("four").and_modify(|value| *value += 3).or_insert(4), 4);
    assert_eq!((tree.entry("one").get(), tree.entry("one").insert(11)), (Some(1), Some(1)));
    assert_eq!((tree.entry("one").remove(), tree.get("one")), (Some(11), None));
    let put = |value: Option<&u32>| value.map_or(Change::Put(5), |_| Change::Remove);
    assert_eq!((tree.update("five", put), tree.get("five")), (None, Some(5)));
    assert_eq!((tree.update("five", put), tree.get("five")), (Some(5), None));
    assert_eq!(tree.update("six", |_| Change::Remove), None);
    assert!(tree.iter().eq([("four", 4), ("three", 3), ("two", 2)]));
}

/// Each update counts once, and keys that are there all the time are seen by who goes through the
/// tree.
#[test]
fn a_tree_is_updated_and_walked_through_by_threads() {
    let tree = BLinkTree::<u32, u32>::new();
    (&tree).extend((0..40).map(|key| (2 * key, 0)));
    std::thread::scope(|s| {
        for odd in [1, 21] {
            let tree = &tree;
            s.spawn(move || {
                for step in 0..2000 {
                    tree.entry(10).and_modify(|value| *value += 1);
                    tree.insert(odd + 2 * (step % 10), 1);
                    tree.remove(&(odd + 2 * (step % 7)));
                }
            });
        }
        for _ in 0..200 {
            let keys: Vec<u32> = tree.iter().map(|(key, _)| key).collect();
            assert!(keys.is_sorted_by(|a, b| a < b));
            assert!(
                keys.iter()
                    .filter(|key| *key % 2 == 0)
                    .eq(&(0..40).map(|key| 2 * key).collect::<Vec<_>>())
            );
        }
    });
    assert_eq!(tree.get(&10), Some(4000));
}

#[test]
fn what_is_left_of_an_iterator_is_dropped_with_it() {
    let value = Arc::new(());
    let queue: MichaelScottQueue<_> = (0..5).map(|_| value.clone()).collect();
    let mut values = queue.into_iter();
    drop((values.next(), values.next()));
    drop(values);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// Those that allocate nothing before they are used.
#[test]
fn objects_may_be_statics() {
    static STACK: TreiberStack<u8> = TreiberStack::new();
    static BATCHED: TreiberStack<u8> = TreiberStack::with_batch(0);
    static SET: ListSet<u8> = ListSet::new();
    static BAG: Multiset<u8> = Multiset::with_batch(3);
    static QUEUE: HerlihyWingQueue<u8> = HerlihyWingQueue::new();
    static COUNTER: Counter = Counter::new();
    static LOCK: TicketLock<u8> = TicketLock::new(5);
    static JOBS: Blocking<TreiberStack<u8>> = Blocking::new(TreiberStack::new());
    std::thread::scope(|s| {
        for _ in 0..20 {
            s.spawn(|| {
                STACK.push(1);
                BATCHED.push(1);
                SET.insert(1);
                BAG.add(1);
                QUEUE.push(1);
                COUNTER.inc();
                *LOCK.lock() += 1;
                assert_eq!(JOBS.push(1), Ok(()));
            });
        }
    });
    assert_eq!((STACK.drain().count(), BATCHED.drain().count(), SET.len()), (20, 20, 1));
    assert_eq!((BAG.len(), QUEUE.len(), COUNTER.read(), *LOCK.lock()), (20, 20, 20, 25));
    assert_eq!(JOBS.inner().len(), 20);
}

#[test]
fn objects_may_be_used_after_a_caught_panic() {
    type Any = std::cell::Cell<u8>;
    fn is_safe<T: UnwindSafe + RefUnwindSafe>() {}
    is_safe::<TreiberStack<Any>>();
    is_safe::<MichaelScottQueue<Any>>();
    is_safe::<FetchAddQueue<Any>>();
    is_safe::<HerlihyWingQueue<Any>>();
    is_safe::<Semiqueue<Any>>();
    is_safe::<StutteringQueue<Any>>();
    is_safe::<ArrayQueue<Any>>();
    is_safe::<VyukovQueue<Any>>();
    is_safe::<PriorityQueue<Any, Any>>();
    is_safe::<BoundedPriorityQueue<Any>>();
    is_safe::<ListSet<Any>>();
    is_safe::<Multiset<Any>>();
    is_safe::<BLinkTree<Any, Any>>();
    is_safe::<WideRegister<Any>>();
    is_safe::<Snapshot<Any>>();
    is_safe::<(Counter, Snzi)>();
}
