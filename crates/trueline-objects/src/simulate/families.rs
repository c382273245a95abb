//! How the objects of a family are called: by the operations of one specification.
//!
//! Values are whole numbers. What an object cannot do is not in its list of methods, so that nobody calls it.

use std::mem;

use trueline::Value;
use trueline::spec::{MutexOp, QueueOp, StackOp};

use super::subject::Concurrent;
use crate::{mutants, shadowed};

/// The number that a call brings.
fn number(value: &Value) -> i64 {
    value.as_int().expect("programs bring whole numbers")
}

fn value(number: Option<i64>) -> Value {
    number.map_or(Value::Nil, Value::Int)
}

/// The program asks for what is not in the object's list of methods.
fn absent(op: &dyn std::fmt::Debug) -> Value {
    unreachable!("the object has no {op:?}, and programs were checked")
}

macro_rules! stacks {
    ($($stack:ty),* $(,)?) => { $(
        impl Concurrent<StackOp> for $stack {
            fn call(&self, op: &StackOp) -> Value {
                match op {
                    StackOp::Push(item) => {
                        self.push(number(item));
                        Value::Nil
                    }
                    StackOp::Pop => value(self.pop()),
                    StackOp::Peek => absent(op),
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
}

macro_rules! queues {
    ($($queue:ty),* $(,)?) => { $(
        impl Concurrent<QueueOp> for $queue {
            fn call(&self, op: &QueueOp) -> Value {
                match op {
                    QueueOp::Enq(item) => {
                        self.enq(number(item));
                        Value::Nil
                    }
                    QueueOp::Deq => value(self.deq()),
                    QueueOp::Peek => absent(op),
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
}

macro_rules! queues_that_wait {
    ($($queue:ty),* $(,)?) => { $(
        impl Concurrent<QueueOp> for $queue {
            fn call(&self, op: &QueueOp) -> Value {
                match op {
                    QueueOp::Enq(item) => {
                        self.enq(number(item));
                        Value::Nil
                    }
                    QueueOp::Deq => Value::Int(self.deq()),
                    QueueOp::Peek => absent(op),
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
        impl Concurrent<QueueOp> for $queue {
            fn call(&self, op: &QueueOp) -> Value {
                match op {
                    QueueOp::Enq(item) => Value::Bool(self.enq(number(item)).found()),
                    QueueOp::Deq => value(self.deq()),
                    QueueOp::Peek => absent(op),
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
}

/// What a lock does in a history. Programs release only what their thread has acquired.
macro_rules! locks {
    ($($lock:ty),* $(,)?) => { $(
        impl Concurrent<MutexOp> for $lock {
            fn call(&self, op: &MutexOp) -> Value {
                match op {
                    MutexOp::Acquire => {
                        let mut held = self.lock();
                        *held += 1;
                        mem::forget(held);
                        Value::Nil
                    }
                    MutexOp::TryAcquire => {
                        let held = self.try_lock();
                        let taken = held.is_some();
                        if let Some(mut held) = held {
                            *held += 1;
                            mem::forget(held);
                        }
                        Value::Bool(taken)
                    }
                    MutexOp::Release => {
                        // SAFETY: the thread has acquired the lock and forgotten the guard: see `entries/ticket_lock.rs`.
                        unsafe { self.force_unlock() };
                        Value::Nil
                    }
                }
            }
        }
    )* };
}

locks! {
    crate::TicketLock<u64>,
    shadowed::TicketLock<u64>,
}

impl Concurrent<MutexOp> for mutants::ticket_lock::Lock {
    fn call(&self, op: &MutexOp) -> Value {
        match op {
            MutexOp::Acquire => self.acquire(),
            MutexOp::TryAcquire => return Value::Bool(self.try_acquire()),
            MutexOp::Release => self.release(),
        }
        Value::Nil
    }
}
