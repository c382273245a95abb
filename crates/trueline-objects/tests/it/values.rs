//! Values of all sizes and alignments, and threads that come in waves. `cargo xtask sanitize` runs
//! these under the address sanitizer.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;

use trueline_objects::priority_queue::Tuning;
use trueline_objects::{
    ArrayQueue, BLinkTree, BoundedPriorityQueue, FetchAddQueue, HerlihyWingQueue, ListSet,
    MichaelScottQueue, Multiset, PriorityQueue, Semiqueue, Snapshot, StutteringQueue, TicketLock,
    TreiberStack, VyukovQueue, WideRegister,
};

/// A value that knows which one it is, and that it is where it may be.
trait Marked: Send + 'static {
    fn make(number: usize) -> Self;
    /// Its number, if it is whole and where it may be; 0 where it has no room for one.
    fn number(&self) -> usize;
}

impl Marked for () {
    fn make(_: usize) {}

    fn number(&self) -> usize {
        0
    }
}

#[derive(Clone, Copy)]
#[repr(align(512))]
struct Aligned(usize);

impl Marked for Aligned {
    fn make(number: usize) -> Aligned {
        Aligned(number)
    }

    fn number(&self) -> usize {
        assert_eq!(self.ends(), 0);
        self.0
    }
}

impl Aligned {
    fn ends(&self) -> usize {
        (&raw const *self).addr() % align_of::<Aligned>()
    }
}

const HUGE: usize = 1 << 13;

impl Marked for Box<[usize; HUGE]> {
    fn make(number: usize) -> Self {
        Box::new([number; HUGE])
    }

    fn number(&self) -> usize {
        assert!(self.iter().all(|word| *word == self[0]));
        self[0]
    }
}

#[derive(Clone, Copy)]
struct Huge([usize; HUGE / 16]);

impl Marked for Huge {
    fn make(number: usize) -> Huge {
        Huge([number; HUGE / 16])
    }

    fn number(&self) -> usize {
        assert!(self.0.iter().all(|word| *word == self.0[0]));
        self.0[0]
    }
}

/// Waves of threads put values in and take some out; what is taken, and what is left, is what was
/// put in. Half of what is left is dropped with the object.
fn in_waves<T: Marked, O: Sync>(
    what: &str,
    object: O,
    put: impl Fn(&O, T) -> bool + Sync,
    take: impl Fn(&O) -> Option<T> + Sync,
) {
    const THREADS: usize = 4;
    const EACH: usize = 60;
    let seen = Mutex::new(BTreeSet::new());
    let taken = Mutex::new(0);
    let see = |value: T| {
        let number = value.number();
        let is_new = seen.lock().unwrap().insert(number);
        assert!(size_of::<T>() == 0 || is_new, "{what}: {number} came out twice");
        *taken.lock().unwrap() += 1;
    };
    let mut put_in = 0;
    for wave in 0..4 {
        let run = |thread: usize| {
            let mut done = 0;
            for i in 0..EACH {
                let number = 1 + (wave * THREADS + thread) * EACH + i;
                done += usize::from(put(&object, T::make(number)));
                if i % 3 != 0 {
                    take(&object).into_iter().for_each(see);
                }
            }
            done
        };
        put_in += thread::scope(|s| {
            let threads: Vec<_> = (0..THREADS).map(|t| s.spawn(move || run(t))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
    }
    let left = put_in - *taken.lock().unwrap();
    for _ in 0..left / 2 {
        take(&object).into_iter().for_each(see);
    }
    assert_eq!(*taken.lock().unwrap(), put_in - left + left / 2, "{what}");
}

fn containers<T: Marked>() {
    in_waves("stack", TreiberStack::with_batch(3), |o, v: T| (o.push(v), true).1, |o| o.pop());
    let queue = MichaelScottQueue::with_batch(3);
    in_waves("queue", queue, |o, v: T| (o.enq(v), true).1, |o| o.deq());
    let queue = FetchAddQueue::with_segments_of(5);
    in_waves("fetch-add queue", queue, |o, v: T| (o.enq(v), true).1, |o| o.deq());
    in_waves("semiqueue", Semiqueue::new(3), |o, v: T| (o.enq(v), true).1, |o| o.deq());
    in_waves("array queue", ArrayQueue::new(64), |o, v: T| o.enq(v).is_ok(), |o| o.deq());
    in_waves("Vyukov queue", VyukovQueue::new(64), |o, v: T| o.enq(v).is_ok(), |o| o.deq());
    let queue = PriorityQueue::with_tuning(Tuning { prefix: 2, batch: 3, ..Tuning::default() });
    let push = |o: &PriorityQueue<usize, T>, v: T| (o.push(v.number() % 7, v), true).1;
    in_waves("priority queue", queue, push, |o| o.pop().map(|(_, value)| value));
    let bins = BoundedPriorityQueue::new(3, 200);
    let push = |o: &BoundedPriorityQueue<T>, v: T| o.push(v.number() % 3, v).is_ok();
    in_waves("bins", bins, push, |o| o.pop().map(|(_, value)| value));
    let queue = HerlihyWingQueue::new();
    (1..50).for_each(|i| queue.enq(T::make(i)));
    (1..20).for_each(|i| assert!([0, i].contains(&queue.deq().number())));
    let lock = TicketLock::new(T::make(3));
    assert!([0, 3].contains(&lock.lock().number()));
}

#[test]
fn values_without_a_size() {
    containers::<()>();
    let set = ListSet::new();
    assert!(set.insert(()) && !set.insert(()) && set.contains(&()) && set.remove(&()));
    let bag = Multiset::new();
    bag.add(());
    assert_eq!(bag.count(&()), 1);
    let map = BLinkTree::<(), ()>::new();
    assert_eq!((map.insert((), ()), map.get(&()), map.remove(&())), (None, Some(()), Some(())));
    let queue = StutteringQueue::new(2);
    queue.enq(());
    assert_eq!((queue.deq(), queue.deq()), (Some(()), None));
    WideRegister::new(()).write(());
    assert_eq!(Snapshot::new(3, ()).scan(), [(); 3]);
}

#[test]
fn values_that_are_over_aligned() {
    containers::<Aligned>();
    copies(Aligned);
}

#[test]
fn values_that_are_huge() {
    containers::<Box<[usize; HUGE]>>();
    containers::<Huge>();
    copies(|number| Huge([number; HUGE / 16]));
}

/// Objects whose values are copied out, in waves of threads.
fn copies<T: Marked + Copy + Sync>(make: impl Fn(usize) -> T + Sync) {
    let check = |value: &T| assert!(value.number() < 10_000);
    let register = WideRegister::with_batch(make(0), 2);
    let snapshot = Snapshot::new(2, make(0));
    let queue = StutteringQueue::with_batch(2, 2);
    for wave in 0..3 {
        thread::scope(|s| {
            for t in 0..4 {
                let (register, snapshot, queue, make) = (&register, &snapshot, &queue, &make);
                s.spawn(move || {
                    for i in 0..40 {
                        let value = make(1000 * wave + 100 * t + i);
                        register.write(value);
                        snapshot.update(i % 2, value);
                        queue.enq(value);
                        check(&register.read());
                        snapshot.scan().iter().for_each(check);
                        queue.deq().iter().for_each(check);
                    }
                });
            }
        });
    }
}

/// More threads than an object has records for from the start, in waves, on objects that are
/// dropped in between.
#[test]
fn waves_of_many_threads() {
    for wave in 0..3 {
        let (set, map) = (ListSet::with_batch(2), BLinkTree::<u32, String, 2>::with_batch(2));
        thread::scope(|s| {
            for t in 0..40 {
                let (set, map) = (&set, &map);
                s.spawn(move || {
                    for i in 0..20 {
                        let key = (t * 7 + i) % 30;
                        set.insert(key.to_string());
                        map.insert(key, i.to_string());
                        set.remove(&(key / 2).to_string());
                        map.remove(&(key / 2));
                    }
                });
            }
        });
        if wave == 1 {
            set.flush();
            map.flush();
        }
    }
}
