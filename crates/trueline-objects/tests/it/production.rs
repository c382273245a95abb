//! The objects as they ship, over std: in sequence, on real threads, and that they free what they
//! hold.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use trueline_objects::priority_queue::Tuning;
use trueline_objects::{
    ArrayQueue, BLinkTree, Counter, FetchAddQueue, HerlihyWingQueue, ListSet, MichaelScottQueue,
    PriorityQueue, Semiqueue, Snapshot, Snzi, StutteringQueue, TicketLock, TreiberStack,
    VyukovQueue, WideRegister,
};

/// Counts how many of it there are.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Counted {
        alive.fetch_add(1, Ordering::SeqCst);
        Counted(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A program of pseudo-random insertions and removals, beside what it should do.
fn in_sequence<O, M>(
    object: &O,
    mut model: M,
    insert: impl Fn(&O, &mut M, u64),
    remove: impl Fn(&O, &mut M),
) {
    let mut state = 7u64;
    for value in 0..2000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 63 == 0 {
            insert(object, &mut model, value)
        } else {
            remove(object, &mut model)
        }
    }
}

#[test]
fn a_stack_in_sequence() {
    let insert = |stack: &TreiberStack<u64>, model: &mut Vec<u64>, value| {
        stack.push(value);
        model.push(value);
    };
    let remove =
        |stack: &TreiberStack<u64>, model: &mut Vec<u64>| assert_eq!(stack.pop(), model.pop());
    for batch in [1, 2, 64] {
        in_sequence(&TreiberStack::with_batch(batch), Vec::new(), insert, remove);
    }
}

#[test]
fn queues_in_sequence() {
    type Model = VecDeque<u64>;
    for batch in [1, 2, 64] {
        in_sequence(
            &MichaelScottQueue::with_batch(batch),
            Model::new(),
            |queue, model, value| {
                queue.enq(value);
                model.push_back(value);
            },
            |queue, model| assert_eq!(queue.deq(), model.pop_front()),
        );
    }
    for cells in [1, 3, 128] {
        in_sequence(
            &FetchAddQueue::with_segments_of(cells),
            Model::new(),
            |queue, model, value| {
                queue.enq(value);
                model.push_back(value);
            },
            |queue, model| assert_eq!(queue.deq(), model.pop_front()),
        );
    }
    in_sequence(
        &HerlihyWingQueue::new(),
        Model::new(),
        |queue, model, value| {
            queue.enq(value);
            model.push_back(value);
        },
        |queue, model| {
            if let Some(value) = model.pop_front() {
                assert_eq!(queue.deq(), value);
            }
        },
    );
}

#[test]
fn bounded_queues_in_sequence() {
    fn expected(model: &mut VecDeque<u64>, value: u64) -> Result<(), u64> {
        if model.len() == 4 {
            return Err(value);
        }
        model.push_back(value);
        Ok(())
    }
    in_sequence(
        &ArrayQueue::new(4),
        VecDeque::new(),
        |queue, model, value| assert_eq!(queue.enq(value), expected(model, value)),
        |queue, model| assert_eq!(queue.deq(), model.pop_front()),
    );
    in_sequence(
        &VyukovQueue::new(4),
        VecDeque::new(),
        |queue, model, value| assert_eq!(queue.enq(value), expected(model, value)),
        |queue, model| assert_eq!(queue.deq(), model.pop_front()),
    );
}

/// Each of several threads inserts values of its own and removes as many; nothing is lost, doubled
/// or left.
fn on_threads<O: Sync>(
    object: &O,
    insert: impl Fn(&O, (usize, Counted)) + Sync,
    remove: impl Fn(&O) -> Option<(usize, Counted)> + Sync,
    alive: &Arc<AtomicUsize>,
) {
    const THREADS: usize = 4;
    const EACH: usize = 2000;
    let run = |thread: usize| {
        let mut taken = Vec::new();
        for i in 0..EACH {
            insert(object, (thread * EACH + i, Counted::new(alive)));
            taken.extend(remove(object).map(|(value, _)| value));
        }
        taken
    };
    let mut all: Vec<usize> = thread::scope(|s| {
        let threads: Vec<_> = (0..THREADS).map(|t| s.spawn(move || run(t))).collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    all.extend(std::iter::from_fn(|| remove(object).map(|(value, _)| value)));
    assert_eq!(all.len(), THREADS * EACH);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), THREADS * EACH);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[test]
fn nothing_is_lost_on_threads() {
    let alive = Arc::default();
    for batch in [1, 64] {
        on_threads(&TreiberStack::with_batch(batch), |s, v| s.push(v), |s| s.pop(), &alive);
        on_threads(&MichaelScottQueue::with_batch(batch), |q, v| q.enq(v), |q| q.deq(), &alive);
    }
    fn until_there_is_room<T>(mut value: T, enq: impl Fn(T) -> Result<(), T>) {
        while let Err(back) = enq(value) {
            value = back;
            thread::yield_now();
        }
    }
    for cells in [1, 2, 128] {
        let queue = FetchAddQueue::with_segments_of(cells);
        on_threads(&queue, |q, v| q.enq(v), |q| q.deq(), &alive);
    }
    for k in [1, 3, 16] {
        on_threads(&Semiqueue::with_batch(k, 1), |q, v| q.enq(v), |q| q.deq(), &alive);
    }
    let insert = |q: &ArrayQueue<_>, v| until_there_is_room(v, |v| q.enq(v));
    on_threads(&ArrayQueue::new(8), insert, |q| q.deq(), &alive);
    let insert = |q: &VyukovQueue<_>, v| until_there_is_room(v, |v| q.enq(v));
    on_threads(&VyukovQueue::new(8), insert, |q| q.deq(), &alive);
}

#[test]
fn a_waiting_queue_hands_everything_over() {
    let queue = HerlihyWingQueue::new();
    let (threads, each) = (2, 500u64);
    let sum: u64 = thread::scope(|s| {
        for t in 0..threads {
            let queue = &queue;
            s.spawn(move || (0..each).for_each(|i| queue.enq(t * each + i)));
        }
        let takes = || (0..each).map(|_| queue.deq()).sum::<u64>();
        let takers: Vec<_> = (0..threads).map(|_| s.spawn(takes)).collect();
        takers.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(sum, (0..threads * each).sum::<u64>());
}

#[test]
fn what_is_left_is_dropped_with_the_object() {
    let alive: Arc<AtomicUsize> = Arc::default();
    let stack = TreiberStack::new();
    let (ms, hw) = (MichaelScottQueue::new(), HerlihyWingQueue::new());
    let (array, vyukov) = (ArrayQueue::new(4), VyukovQueue::new(4));
    let (semiqueue, fetch_add) = (Semiqueue::new(2), FetchAddQueue::with_segments_of(2));
    for _ in 0..3 {
        semiqueue.enq(Counted::new(&alive));
        fetch_add.enq(Counted::new(&alive));
        stack.push(Counted::new(&alive));
        ms.enq(Counted::new(&alive));
        hw.enq(Counted::new(&alive));
        assert!(array.enq(Counted::new(&alive)).is_ok());
        assert!(vyukov.enq(Counted::new(&alive)).is_ok());
    }
    drop((stack.pop(), ms.deq(), hw.deq(), array.deq(), vyukov.deq()));
    drop((semiqueue.deq(), fetch_add.deq()));
    assert_eq!(alive.load(Ordering::SeqCst), 14);
    drop((stack, ms, hw, array, vyukov, semiqueue, fetch_add));
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[test]
fn a_lock_keeps_others_out() {
    let lock = TicketLock::new(0u64);
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for i in 0..2000 {
                    match lock.try_lock().filter(|_| i % 3 == 0) {
                        Some(mut held) => *held += 3,
                        None => *lock.lock() += 3,
                    }
                }
            });
        }
    });
    assert_eq!(lock.into_inner(), 4 * 2000 * 3);
}

#[test]
fn objects_go_where_their_values_may() {
    fn crosses<T: Send + Sync>() {}
    // A `Cell` may move to another thread, and not be shared: containers that give no `&T` out are
    // fine with that.
    type Moves = std::cell::Cell<u8>;
    crosses::<TreiberStack<Moves>>();
    crosses::<MichaelScottQueue<Moves>>();
    crosses::<HerlihyWingQueue<Moves>>();
    crosses::<ArrayQueue<Moves>>();
    crosses::<VyukovQueue<Moves>>();
    crosses::<FetchAddQueue<Moves>>();
    crosses::<Semiqueue<Moves>>();
    crosses::<StutteringQueue<u64>>();
    crosses::<WideRegister<[u64; 4]>>();
    crosses::<Counter>();
    crosses::<Snzi>();
    crosses::<TicketLock<Moves>>();
}

/// Writers count up, each in a segment of its own; one scan never shows less than another in one
/// segment and more in the next, and a thread's scans never go back.
#[test]
fn scans_of_a_snapshot_are_in_a_row() {
    let snapshot = Snapshot::new(3, 0u64);
    let scans: Vec<Vec<Vec<u64>>> = thread::scope(|s| {
        for segment in 0..2 {
            let snapshot = &snapshot;
            s.spawn(move || (1..=2000).for_each(|n| snapshot.update(segment, n)));
        }
        let scan = || (0..2000).map(|_| snapshot.scan()).collect();
        let scanners = [s.spawn(scan), s.spawn(scan)];
        scanners.map(|scanner| scanner.join().unwrap()).into()
    });
    for own in &scans {
        assert!(own.is_sorted_by(|a, b| a.iter().zip(b).all(|(a, b)| a <= b)));
    }
    let mut all = scans.concat();
    all.sort();
    assert!(
        all.is_sorted_by(|a, b| a.iter().zip(b).all(|(a, b)| a <= b)),
        "two scans that no order explains"
    );
    assert_eq!(snapshot.scan(), [2000, 2000, 0]);
}

/// What is taken is one of the first k that are there.
#[test]
fn a_semiqueue_in_sequence() {
    for k in [1, 2, 5] {
        in_sequence(
            &Semiqueue::with_batch(k, 2),
            VecDeque::new(),
            |queue, model, value| {
                queue.enq(value);
                model.push_back(value);
            },
            |queue, model: &mut VecDeque<u64>| match queue.deq() {
                None => assert!(model.is_empty()),
                Some(value) => {
                    let place = model.iter().position(|other| *other == value);
                    assert!(place.is_some_and(|place| place < k), "{value} of {model:?}");
                    model.retain(|other| *other != value);
                }
            },
        );
    }
}

/// A box without a size has no address of its own.
#[test]
fn a_semiqueue_of_nothing() {
    let queue = Semiqueue::new(2);
    (0..3).for_each(|_| queue.enq(()));
    assert_eq!([(); 4].map(|()| queue.deq()), [Some(()), Some(()), Some(()), None]);
}

/// Each value is told, in order, at most as often as it may be, and no thread is told an older one
/// after a newer one.
#[test]
fn a_stuttering_queue_tells_each_value_up_to_j_times() {
    const VALUES: usize = 4000;
    for j in [1, 2, 4] {
        let queue = StutteringQueue::with_batch(j, 2);
        let all_there = AtomicBool::new(false);
        let told: Vec<Vec<usize>> = thread::scope(|s| {
            s.spawn(|| {
                (0..VALUES).for_each(|value| queue.enq(value));
                all_there.store(true, Ordering::SeqCst);
            });
            let take = || {
                let mut told = Vec::new();
                loop {
                    let last = all_there.load(Ordering::SeqCst);
                    match queue.deq() {
                        Some(value) => told.push(value),
                        None if last => return told,
                        None => thread::yield_now(),
                    }
                }
            };
            let takers = [s.spawn(take), s.spawn(take), s.spawn(take)];
            takers.map(|taker| taker.join().unwrap()).into()
        });
        assert!(told.iter().all(|own| own.is_sorted()));
        let mut times = vec![0; VALUES];
        told.iter().flatten().for_each(|value| times[*value] += 1);
        assert!(times.iter().all(|times| (1..=j).contains(times)), "{j}");
    }
}

/// All words of what is read were written by one write, and reads of a thread do not go back.
#[test]
fn a_wide_register_is_never_torn() {
    let register = WideRegister::with_batch([0u64; 8], 2);
    thread::scope(|s| {
        s.spawn(|| (1..=4000).for_each(|n| register.write([n; 8])));
        for _ in 0..2 {
            s.spawn(|| {
                let reads: Vec<[u64; 8]> = (0..4000).map(|_| register.read()).collect();
                assert!(reads.iter().all(|read| read.iter().all(|word| *word == read[0])));
                assert!(reads.is_sorted());
            });
        }
    });
    assert_eq!(register.read(), [4000; 8]);
}

#[test]
fn a_counter_counts_all_and_never_goes_back() {
    let counter = Counter::new();
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| (0..4000).for_each(|_| counter.inc()));
        }
        s.spawn(|| {
            let reads: Vec<u64> = (0..4000).map(|_| counter.read()).collect();
            assert!(reads.is_sorted());
        });
    });
    assert_eq!(counter.read(), 12_000);
}

/// While a thread is there, it sees that somebody is; when all have gone, nobody is.
#[test]
fn an_indicator_tells_whether_anybody_is_there() {
    for depth in [0, 1, 3] {
        let indicator = Snzi::new(depth);
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for i in 0..2000 {
                        let arrival = indicator.arrive();
                        let again = (i % 3 == 0).then(|| indicator.arrive());
                        assert!(indicator.query());
                        drop(arrival);
                        assert!(again.is_none() || indicator.query());
                    }
                });
            }
        });
        assert!(!indicator.query());
    }
}

#[test]
#[should_panic(expected = "has arrived at it")]
fn nobody_departs_who_has_not_arrived() {
    Snzi::new(2).depart_from(1);
}

/// Values that threads had removed and not freed when they ended stayed until a thread with the
/// same number came.
#[test]
fn what_ended_threads_have_removed_is_freed_by_others() {
    let alive: Arc<AtomicUsize> = Arc::default();
    let set = ListSet::new();
    struct Keyed(usize, #[allow(dead_code, reason = "dropped with it")] Counted);
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
        fn partial_cmp(&self, other: &Keyed) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Keyed {
        fn cmp(&self, other: &Keyed) -> std::cmp::Ordering {
            self.0.cmp(&other.0)
        }
    }
    let come_and_go = &|key: usize| {
        assert!(set.insert(Keyed(key, Counted::new(&alive))));
        assert!(set.remove(&key));
    };
    // At once, so that they have different numbers.
    let barrier = Barrier::new(40);
    thread::scope(|s| {
        let run = |t: usize| {
            (0..50).for_each(|i| come_and_go(50 * t + i));
            barrier.wait();
        };
        let threads: Vec<_> = (0..40).map(|t| s.spawn(move || run(t))).collect();
        // Joined one by one: a scope does not wait until they have given their numbers back.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    (0..1000).for_each(come_and_go);
    assert!(alive.load(Ordering::SeqCst) < 200, "{alive:?}");
    set.flush();
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

/// What a thread holds back is freed at once where it is asked for.
#[test]
fn a_flush_frees_what_was_removed() {
    let alive: Arc<AtomicUsize> = Arc::default();
    let queue = PriorityQueue::with_tuning(Tuning { prefix: 1, ..Tuning::default() });
    for i in 0..10 {
        queue.push(i, Counted::new(&alive));
    }
    while queue.pop().is_some() {}
    queue.flush();
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    let tree = BLinkTree::<u8, Arc<Counted>>::new();
    (0..10).for_each(|i| drop(tree.insert(i, Arc::new(Counted::new(&alive)))));
    (0..10).for_each(|i| drop(tree.remove(&i)));
    assert!(alive.load(Ordering::SeqCst) > 0);
    tree.flush();
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}
