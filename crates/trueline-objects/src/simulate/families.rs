//! Calls the objects of a family by the methods of one specification.
//!
//! Values are whole numbers. Programs are checked before they run, so that they call only methods
//! that an object has.

use std::mem;

use trueline::Value;
use trueline_explore::memory::untracked;

use super::subject::Concurrent;
use crate::shadowed::sync::with_thread_index;
use crate::thread_index::with_thread_index as with_own_index;
use crate::{mutants, relaxed, shadowed};

fn value(number: Option<i64>) -> Value {
    number.map_or(Value::Nil, Value::Int)
}

/// The program calls a method that the object does not have.
fn absent(method: &str, args: &[Value]) -> Value {
    unreachable!("the object has no {method} of {args:?}, and programs were checked")
}

macro_rules! stacks {
    ($($stack:ty),* $(,)?) => { $(
        impl Concurrent for $stack {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("push", [Value::Int(item)]) => {
                        self.push(*item);
                        Value::Nil
                    }
                    ("pop", []) => value(self.pop()),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

stacks! {
    crate::TreiberStack<i64>,
    shadowed::TreiberStack<i64>,
    mutants::treiber_stack::Stack,
    mutants::treiber_stack::RelaxedStack,
    relaxed::k_stack::KStack,
    relaxed::quasi_stack::Stack,
}

macro_rules! queues {
    ($($queue:ty),* $(,)?) => { $(
        impl Concurrent for $queue {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("enq", [Value::Int(item)]) => {
                        self.enq(*item);
                        Value::Nil
                    }
                    ("deq", []) => value(self.deq()),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

queues! {
    crate::MichaelScottQueue<i64>,
    shadowed::MichaelScottQueue<i64>,
    mutants::michael_scott_queue::Queue,
    mutants::michael_scott_queue::HastyQueue,
    relaxed::bounded_k_fifo_queue::Patient,
    crate::FetchAddQueue<i64>,
    shadowed::FetchAddQueue<i64>,
    mutants::fetch_add_queue::Queue,
    mutants::fetch_add_queue::RelaxedQueue,
    crate::Semiqueue<i64>,
    shadowed::Semiqueue<i64>,
    mutants::semiqueue::Queue,
    crate::StutteringQueue<i64>,
    shadowed::StutteringQueue<i64>,
    mutants::stuttering_queue::Queue,
    relaxed::incorrect_queue::Queue,
    relaxed::k_fifo_queue::Queue,
    relaxed::random_dequeue_queue::Queue,
    relaxed::segmented_queue::Queue,
    relaxed::single_list_queue::Queue,
}

impl Concurrent for relaxed::quasi_priority_queue::Queue {
    fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
        match (method, args) {
            ("insert", [Value::Int(item)]) => {
                self.insert(*item);
                Value::Nil
            }
            ("poll", []) => value(self.poll()),
            _ => absent(method, args),
        }
    }
}

macro_rules! queues_that_wait {
    ($($queue:ty),* $(,)?) => { $(
        impl Concurrent for $queue {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("enq", [Value::Int(item)]) => {
                        self.enq(*item);
                        Value::Nil
                    }
                    ("deq", []) => Value::Int(self.deq()),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

queues_that_wait! {
    crate::HerlihyWingQueue<i64>,
    shadowed::HerlihyWingQueue<i64>,
    mutants::herlihy_wing_queue::Queue,
}

macro_rules! blocking_queues {
    ($($queue:ty),* $(,)?) => { $(
        impl Concurrent for $queue {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("enq", [Value::Int(item)]) => {
                        assert_eq!(self.push(*item), Ok(()), "nobody closes the queue");
                        Value::Nil
                    }
                    ("deq", []) => value(self.pop()),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

blocking_queues! {
    crate::Blocking<crate::MichaelScottQueue<i64>>,
    shadowed::Blocking<super::Locked<i64>>,
}

impl Concurrent for mutants::blocking::Queue {
    fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
        match (method, args) {
            ("enq", [Value::Int(item)]) => {
                self.enq(*item);
                Value::Nil
            }
            ("deq", []) => value(self.deq()),
            _ => absent(method, args),
        }
    }
}

/// Whether an `enq` of a bounded queue found room.
trait Room {
    fn found(self) -> bool;
}

impl Room for bool {
    fn found(self) -> bool {
        self
    }
}

impl Room for Result<(), i64> {
    fn found(self) -> bool {
        self.is_ok()
    }
}

macro_rules! bounded_queues {
    ($($queue:ty),* $(,)?) => { $(
        impl Concurrent for $queue {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("enq", [Value::Int(item)]) => Value::Bool(self.enq(*item).found()),
                    ("deq", []) => value(self.deq()),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

bounded_queues! {
    crate::ArrayQueue<i64>,
    shadowed::ArrayQueue<i64>,
    crate::VyukovQueue<i64>,
    shadowed::VyukovQueue<i64>,
    mutants::array_queue::Queue,
    mutants::array_queue::RelaxedQueue,
    relaxed::bounded_k_fifo_queue::Queue,
}

macro_rules! sets {
    ($($set:ty),* $(,)?) => { $(
        impl Concurrent for $set {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("add", [Value::Int(item)]) => Value::Bool(self.insert(*item)),
                    ("remove", [Value::Int(item)]) => Value::Bool(self.remove(item)),
                    ("contains", [Value::Int(item)]) => Value::Bool(self.contains(item)),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

sets! {
    crate::ListSet<i64>,
    shadowed::ListSet<i64>,
    mutants::list_set::HastySet,
    mutants::list_set::Set,
}

macro_rules! multisets {
    ($($multiset:ty),* $(,)?) => { $(
        impl Concurrent for $multiset {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("add", [Value::Int(item)]) => {
                        self.add(*item);
                        Value::Nil
                    }
                    ("remove", [Value::Int(item)]) => Value::Bool(self.remove(item)),
                    ("contains", [Value::Int(item)]) => Value::Bool(self.contains(item)),
                    ("count", [Value::Int(item)]) => Value::Int(self.count(item) as i64),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

multisets! {
    crate::Multiset<i64>,
    shadowed::Multiset<i64>,
    mutants::multiset::Multiset,
}

macro_rules! priority_queues {
    ($($queue:ty),* $(,)?) => { $(
        impl Concurrent for $queue {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("insert", [Value::Int(item)]) => {
                        self.push(*item, *item);
                        Value::Nil
                    }
                    ("poll", []) => value(self.pop().map(|(priority, item)| {
                        assert_eq!(priority, item, "a value with the priority of another one");
                        item
                    })),
                    ("peek", []) => value(self.peek()),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

priority_queues! {
    crate::PriorityQueue<i64, i64>,
    shadowed::PriorityQueue<i64, i64>,
}

impl Concurrent for mutants::priority_queue::Queue {
    fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
        match (method, args) {
            ("insert", [Value::Int(item)]) => {
                self.insert(*item);
                Value::Nil
            }
            ("poll", []) => value(self.poll()),
            ("peek", []) => value(self.peek()),
            _ => absent(method, args),
        }
    }
}

macro_rules! bounded_priority_queues {
    ($($queue:ty),* $(,)?) => { $(
        impl Concurrent for $queue {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("insert", [Value::Int(item)]) => {
                        Value::Bool(self.push(*item as usize, *item).is_ok())
                    }
                    ("poll", []) => value(self.pop().map(|(priority, item)| {
                        assert_eq!(priority as i64, item, "a value from another bin");
                        item
                    })),
                    ("peek", []) => value(self.peek().map(|priority| priority as i64)),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

bounded_priority_queues! {
    crate::BoundedPriorityQueue<i64>,
    shadowed::BoundedPriorityQueue<i64>,
}

impl Concurrent for mutants::bounded_priority_queue::Queue {
    fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
        match (method, args) {
            ("insert", [Value::Int(item)]) => Value::Bool(self.insert(*item)),
            ("poll", []) => value(self.poll()),
            ("peek", []) => value(self.peek()),
            _ => absent(method, args),
        }
    }
}

macro_rules! maps {
    ($($map:ty),* $(,)?) => { $(
        impl Concurrent for $map {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("put", [Value::Int(key), Value::Int(item)]) => {
                        self.insert(*key, *item);
                        Value::Nil
                    }
                    ("swap", [Value::Int(key), Value::Int(item)]) => value(self.insert(*key, *item)),
                    ("get", [Value::Int(key)]) => value(self.get(key)),
                    ("remove", [Value::Int(key)]) => Value::Bool(self.remove(key).is_some()),
                    ("contains", [Value::Int(key)]) => Value::Bool(self.contains(key)),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

maps! {
    crate::BLinkTree<i64, i64, 2>,
    shadowed::BLinkTree<i64, i64, 2>,
    mutants::b_link_tree::Tree,
}

macro_rules! snapshots {
    ($($snapshot:ty),* $(,)?) => { $(
        impl Concurrent for $snapshot {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("update", [Value::Int(segment @ 0..2), Value::Int(value)]) => {
                        self.update(*segment as usize, *value);
                        Value::Nil
                    }
                    ("scan", []) => {
                        let values = self.scan();
                        // Copies of a list share it, so that it must outlive the execution and its
                        // arena.
                        untracked(|| Value::list(values.iter().copied().map(Value::Int)))
                    }
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

snapshots! {
    crate::Snapshot<i64>,
    shadowed::Snapshot<i64>,
    mutants::snapshot::Snapshot,
}

macro_rules! registers {
    ($($register:ty),* $(,)?) => { $(
        impl Concurrent for $register {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("write", [Value::Int(value)]) => {
                        self.write([*value; 2]);
                        Value::Nil
                    }
                    ("read", []) => match self.read() {
                        [one, other] if one == other => Value::Int(one),
                        // Words of two writes: a value that was never written.
                        torn => untracked(|| Value::list(torn.map(Value::Int))),
                    },
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

registers! {
    crate::WideRegister<[i64; 2]>,
    shadowed::WideRegister<[i64; 2]>,
    mutants::wide_register::Register,
    mutants::wide_register::HastyRegister,
}

macro_rules! counters {
    ($($counter:ty),* $(,)?) => { $(
        impl Concurrent for $counter {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("inc", []) => {
                        self.inc();
                        Value::Nil
                    }
                    ("read", []) => Value::Int(self.read() as i64),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

counters! {
    crate::Counter,
    shadowed::Counter,
    mutants::counter::Counter,
}

macro_rules! indicators {
    ($($indicator:ty: $arrive:expr, $depart:expr);* $(;)?) => { $(
        impl Concurrent for $indicator {
            fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
                match (method, args) {
                    ("arrive", []) => {
                        $arrive(self);
                        Value::Nil
                    }
                    ("depart", []) => {
                        $depart(self);
                        Value::Nil
                    }
                    ("query", []) => Value::Bool(self.query()),
                    _ => absent(method, args),
                }
            }
        }
    )* };
}

// A thread departs where it arrived.
indicators! {
    crate::Snzi: |it: &Self| with_own_index(|i| it.arrive_at(i)), |it: &Self| with_own_index(|i| it.depart_from(i));
    shadowed::Snzi: |it: &Self| with_thread_index(|i| it.arrive_at(i)), |it: &Self| with_thread_index(|i| it.depart_from(i));
    mutants::snzi::Snzi: Self::arrive, Self::depart;
}

/// A lock used by threads that know whether they hold it.
trait Lock: Send + Sync {
    fn acquire(&self);
    fn try_acquire(&self) -> bool;
    /// # Safety
    /// The thread that calls has acquired the lock and not released it.
    unsafe fn release(&self);
}

/// A lock as an object.
pub(super) struct Locked<L>(pub(super) L);

impl<L: Lock> Concurrent for Locked<L> {
    fn call(&self, method: &str, args: &[Value], holds: &mut bool) -> Value {
        match (method, args) {
            ("acquire", []) => {
                self.0.acquire();
                *holds = true;
                Value::Nil
            }
            ("try_acquire", []) => {
                let taken = self.0.try_acquire();
                *holds |= taken;
                Value::Bool(taken)
            }
            ("release", []) => {
                assert!(*holds, "a thread must not release a lock that it does not hold");
                *holds = false;
                // SAFETY: it holds the lock.
                unsafe { self.0.release() };
                Value::Nil
            }
            _ => absent(method, args),
        }
    }
}

macro_rules! locks {
    ($($lock:ty),* $(,)?) => { $(
        impl Lock for $lock {
            fn acquire(&self) {
                let mut held = self.lock();
                // The protected value: if the lock were broken, the explorer would find a race.
                *held += 1;
                mem::forget(held);
            }

            fn try_acquire(&self) -> bool {
                let Some(mut held) = self.try_lock() else { return false };
                *held += 1;
                mem::forget(held);
                true
            }

            unsafe fn release(&self) {
                // SAFETY: the thread holds the lock, by a guard that it has forgotten.
                unsafe { self.force_unlock() };
            }
        }
    )* };
}

locks! {
    crate::TicketLock<u64>,
    shadowed::TicketLock<u64>,
}

impl Lock for mutants::ticket_lock::Lock {
    fn acquire(&self) {
        self.acquire();
    }

    fn try_acquire(&self) -> bool {
        self.try_acquire()
    }

    unsafe fn release(&self) {
        self.release();
    }
}
