//! Random user code under many schedules of small programs: comparisons, clones and destructors
//! that lie, panic and call the object that holds them. The explorer looks for uses of freed
//! memory, for races, for threads that are stuck and for leaks; the test for values that are lost
//! or come out twice.
//!
//! What the code does depends on the values alone, so that an execution can be repeated; the
//! schedules are those with few preemptions.

use std::cell::Cell;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

use trueline::rng::{Rng, seeds};
use trueline_explore::engine::Exploration;
use trueline_explore::std::thread;
use trueline_objects::shadowed::priority_queue::Tuning;
use trueline_objects::shadowed::{
    ArrayQueue, BLinkTree, Blocking, BoundedPriorityQueue, FetchAddQueue, HerlihyWingQueue,
    ListSet, MichaelScottQueue, Multiset, PriorityQueue, Semiqueue, TreiberStack, VyukovQueue,
};

thread_local! {
    /// What decides how the code of the user's behaves; 0: it is honest. All threads of an
    /// exploration run on one thread of the system.
    static MANNERS: Cell<u64> = const { Cell::new(0) };
    /// The object that is called back.
    static OBJECT: Cell<Option<&'static dyn Object>> = const { Cell::new(None) };
}

trueline_explore::thread_local! {
    /// Whether this thread is in code that calls back: it does not do so again.
    static CALLS_BACK: Cell<bool> = const { Cell::new(false) };
    /// Whether code of this thread panics. One thread's alone does: where two unwind at once, the
    /// explorer does not know which of them still does.
    static PANICS: Cell<bool> = const { Cell::new(false) };
}

/// What is explored.
trait Object: Sync {
    fn call(&self, operation: u8, key: Key);
    /// Takes all values out, where they can be.
    fn take_all(&self) {}
}

/// A value that behaves, and that is counted.
struct Token(Arc<AtomicIsize>);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A value that misbehaves.
struct Key {
    number: u8,
    /// It was made by code that calls back, and does nothing of its own.
    is_calm: bool,
    keys: Arc<AtomicIsize>,
    tokens: Arc<AtomicIsize>,
}

impl Key {
    fn new(number: u8, is_calm: bool, keys: &Arc<AtomicIsize>, tokens: &Arc<AtomicIsize>) -> Key {
        keys.fetch_add(1, Relaxed);
        Key { number, is_calm, keys: keys.clone(), tokens: tokens.clone() }
    }

    fn calm(&self, number: u8) -> Key {
        Key::new(number, true, &self.keys, &self.tokens)
    }

    fn token(&self) -> Token {
        self.tokens.fetch_add(1, Relaxed);
        Token(self.tokens.clone())
    }
}

/// What a value does where it is asked for something, together with another one: a number below 64.
fn whim(what: u64, one: &Key, other: &Key) -> u64 {
    let manners = MANNERS.get();
    if manners == 0 || one.is_calm || other.is_calm {
        return 63;
    }
    let mixed = manners
        .wrapping_add(what)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(u64::from(one.number) << 8 | u64::from(other.number))
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 31)) >> 7 & 63
}

/// Panics or calls the object, or neither.
fn act(whim: u64, key: &Key) {
    match whim {
        0..3 if !thread::panicking() && PANICS.with(Cell::get) => {
            resume_unwind(Box::new("the user's code panics"))
        }
        3..6 if !thread::panicking() => {
            if let Some(object) = OBJECT.get()
                && !CALLS_BACK.with(|calls| calls.replace(true))
            {
                let call = || {
                    object.call(0, key.calm(key.number));
                    object.call(1, key.calm(key.number));
                };
                let called = catch_unwind(AssertUnwindSafe(call));
                CALLS_BACK.with(|calls| calls.set(false));
                called.unwrap_or_else(|panic| resume_unwind(panic));
            }
        }
        _ => {}
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        let whim = whim(1, self, other);
        act(whim, self);
        match whim {
            8..12 => Ordering::Less,
            12..16 => Ordering::Equal,
            16..20 => Ordering::Greater,
            _ => self.number.cmp(&other.number),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

impl Clone for Key {
    fn clone(&self) -> Key {
        act(whim(2, self, self), self);
        Key::new(self.number, self.is_calm, &self.keys, &self.tokens)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.keys.fetch_sub(1, Relaxed);
        act(whim(3, self, self), self);
    }
}

/// Its priorities are what misbehaves.
impl Object for PriorityQueue<Key, Token> {
    fn call(&self, operation: u8, key: Key) {
        match operation % 3 {
            0 => {
                let token = key.token();
                self.push(key, token);
            }
            1 => drop((self.pop(), key)),
            _ => drop((self.peek(), self.len(), key)),
        }
    }

    fn take_all(&self) {
        while self.pop().is_some() {}
    }
}

/// The same in a queue that can be waited for, where nobody waits for long.
impl Object for Blocking<PriorityQueue<Key, Token>> {
    fn call(&self, operation: u8, key: Key) {
        match operation % 6 {
            0 | 3 => {
                let token = key.token();
                drop(self.try_push((key, token)));
            }
            1 | 4 => drop((self.try_pop(), key)),
            2 => drop((self.is_closed(), key)),
            _ => drop((self.close(), key)),
        }
    }

    fn take_all(&self) {
        while self.try_pop().is_ok() {}
    }
}

/// A value of a queue: only its destructor misbehaves, and that is all of the user's code that a
/// queue can run.
struct Held(Key, #[allow(dead_code, reason = "dropped with it")] Token);

/// Stacks and queues: how a value is put in, and how one is taken out.
macro_rules! holders {
    ($($object:ty { $put:expr, $take:expr })*) => {$(
        impl Object for $object {
            fn call(&self, operation: u8, key: Key) {
                let (put, take): (fn(&Self, Held), fn(&Self) -> Option<Held>) = ($put, $take);
                if operation % 2 == 0 {
                    let token = key.token();
                    put(self, Held(key, token));
                } else {
                    drop((take(self), key));
                }
            }

            fn take_all(&self) {
                let take: fn(&Self) -> Option<Held> = $take;
                while take(self).is_some() {}
            }
        }
    )*};
}

holders! {
    TreiberStack<Held> { TreiberStack::push, TreiberStack::pop }
    MichaelScottQueue<Held> { MichaelScottQueue::enq, MichaelScottQueue::deq }
    FetchAddQueue<Held> { FetchAddQueue::enq, FetchAddQueue::deq }
    HerlihyWingQueue<Held> { HerlihyWingQueue::enq, HerlihyWingQueue::try_deq }
    Semiqueue<Held> { Semiqueue::enq, Semiqueue::deq }
    VyukovQueue<Held> { |queue, value| drop(queue.enq(value)), VyukovQueue::deq }
    ArrayQueue<Held> { |queue, value| drop(queue.force_push(value)), ArrayQueue::deq }
    BoundedPriorityQueue<Held> {
        |queue, value| drop(queue.push(usize::from(value.0.number), value)),
        |queue| queue.pop().map(|(_, value)| value)
    }
    Blocking<TreiberStack<Held>> {
        |queue, value| drop(queue.try_push(value)),
        |queue| queue.try_pop().ok()
    }
}

impl Object for ListSet<Key> {
    fn call(&self, operation: u8, key: Key) {
        match operation % 4 {
            0 => drop(self.insert(key)),
            1 => drop((self.remove(&key), key)),
            2 => drop((self.take(&key), key)),
            _ => drop((self.contains(&key), self.first(), self.last(), key)),
        }
    }
}

impl Object for Multiset<Key> {
    fn call(&self, operation: u8, key: Key) {
        match operation % 3 {
            0 => self.add(key),
            1 => drop((self.remove(&key), key)),
            _ => drop((self.count(&key), self.first(), key)),
        }
    }
}

impl Object for BLinkTree<Key, Key, 2> {
    fn call(&self, operation: u8, key: Key) {
        let value = key.calm(9);
        match operation % 4 {
            0 => drop(self.insert(key, value)),
            1 => drop((self.remove(&key), key, value)),
            2 => drop(self.entry(key).or_insert(value)),
            _ => drop((self.get(&key), self.last(), key, value)),
        }
    }
}

/// Runs random programs of two threads on an object, each under many schedules.
fn explore<O: Object + 'static>(make: impl Fn(u64) -> O + Sync, cases: u64) {
    for seed in seeds(cases) {
        let mut rng = Rng::new(seed);
        let mut operations = |most: u64| -> Vec<(u8, u8)> {
            let number = 1 + rng.below(most);
            (0..number).map(|_| (rng.below(12) as u8, rng.below(4) as u8)).collect()
        };
        let (before, programs) = (operations(7), [operations(2), operations(2)]);
        let manners = 1 + rng.number() / 2;
        let body = || {
            let (keys, tokens) = <(Arc<AtomicIsize>, Arc<AtomicIsize>)>::default();
            let key = |number| Key::new(number, false, &keys, &tokens);
            let object = make(seed);
            let run = |operation, number| {
                drop(catch_unwind(AssertUnwindSafe(|| object.call(operation, key(number)))));
            };
            let borrowed: &dyn Object = &object;
            // SAFETY: it is taken away below, before the object goes; an execution that is given up
            // does not come here again.
            OBJECT.set(Some(unsafe {
                std::mem::transmute::<&dyn Object, &'static dyn Object>(borrowed)
            }));
            MANNERS.set(manners);
            // What is there at first is in whatever order that is.
            before.iter().for_each(|&(_, number)| run(0, number));
            thread::scope(|s| {
                for (thread, program) in programs.iter().enumerate() {
                    let run = &run;
                    s.spawn(move || {
                        PANICS.with(|panics| panics.set(thread == 0));
                        program.iter().for_each(|&(call, number)| run(call, number));
                    });
                }
            });
            MANNERS.set(0);
            OBJECT.set(None);
            object.take_all();
            assert_eq!(tokens.load(Relaxed), 0, "values are lost, or came out twice");
            drop(object);
            assert_eq!(keys.load(Relaxed), 0, "keys are left, or were dropped twice");
        };
        let report = Exploration::new().workers(1).preemptions(2).executions(200).run(body);
        assert!(report.failure.is_none(), "seed {seed}: {report}");
    }
}

/// Heights of nodes are drawn anew for each case.
fn tuning(seed: u64) -> Tuning {
    Tuning { prefix: 1, batch: 1, levels: 3, seed }
}

#[test]
fn wild_priorities() {
    explore(|seed| PriorityQueue::with_tuning(tuning(seed)), 40);
    explore(|seed| Blocking::new(PriorityQueue::with_tuning(tuning(seed))), 30);
}

#[test]
fn wild_sets() {
    explore(|_| ListSet::with_batch(1), 30);
    explore(|_| Multiset::with_batch(1), 30);
}

/// A key that `remove` drops under the lock of the leaf is found at seed 1069
/// (`TRUELINE_FROM=1060`), where both threads wait for the lock that they have.
#[test]
fn a_wild_tree() {
    explore(|_| BLinkTree::<Key, Key, 2>::with_batch(1), 30);
}

#[test]
fn wild_values_of_queues() {
    explore(|_| TreiberStack::with_batch(1), 20);
    explore(|_| MichaelScottQueue::with_batch(1), 20);
    explore(|_| FetchAddQueue::with_segments_of(2), 20);
    explore(|_| HerlihyWingQueue::new(), 20);
    explore(|_| Semiqueue::with_batch(2, 1), 20);
    explore(|_| VyukovQueue::new(2), 20);
    explore(|_| ArrayQueue::new(2), 20);
    explore(|_| BoundedPriorityQueue::new(4, 2), 20);
    explore(|_| Blocking::new(TreiberStack::with_batch(1)), 20);
}
