//! A queue whose users wait, and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, Wait, mutant};
use crate::mutants::blocking::{Fault, Queue as Mutant};
use crate::shadowed::blocking::{Blocking, Queue};
use crate::shadowed::sync::Mutex;
use std::collections::VecDeque;
use std::sync::PoisonError;

pub(super) const ENTRIES: &[Entry] = &[
    BLOCKING_QUEUE,
    mutant(
        BLOCKING_QUEUE,
        "blocking-queue-looks-once",
        "deq waits without trying again once it can be woken",
        "enq(1) | deq()",
        || Box::new(Mutant::new(Fault::LooksOnce)),
    ),
    mutant(
        BLOCKING_QUEUE,
        "blocking-queue-wakes-first",
        "enq wakes a waiting deq before the value is there",
        "enq(1) | deq()",
        || Box::new(Mutant::new(Fault::WakesFirst)),
    ),
    mutant(
        BLOCKING_QUEUE,
        "blocking-queue-wakes-nobody",
        "enq does not wake a waiting deq",
        "enq(1) | deq()",
        || Box::new(Mutant::new(Fault::WakesNobody)),
    ),
];

const BLOCKING_QUEUE: Entry = Entry {
    name: "blocking-queue",
    summary: "a queue whose deq waits until enq wakes it; wraps any queue",
    standing: Standing::Correct,
    spec: "queue",
    note: "deq waits while there is nothing; explored with a queue under a lock, since what is explored is the waiting",
    alphabet: "enq(*) deq()",
    domain: ANY_NUMBERS,
    source: "folklore (event counts); Reed, Kanodia, Synchronization with eventcounts and sequencers, 1979",
    progress: "enq as the queue's; deq waits on an empty queue",
    letter: "Q",
    waiting: &[Wait::ForResult("deq")],
    rule: None,
    stress_rule: Some(super::herlihy_wing_queue::takes_what_it_brought),
    shadowed: || Box::new(Blocking::new(Locked::default())),
    production: Some(|| Box::new(crate::Blocking::new(crate::MichaelScottQueue::new()))),
};

/// A queue under a lock, for explorations of waiting: each of its operations is one step.
pub(crate) struct Locked<T>(Mutex<VecDeque<T>>);

impl<T> Default for Locked<T> {
    fn default() -> Locked<T> {
        Locked(Mutex::new(VecDeque::new()))
    }
}

impl<T> Queue for Locked<T> {
    type Item = T;
    const IS_BOUNDED: bool = false;

    fn offer(&self, item: T) -> Result<(), T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(item);
        Ok(())
    }

    fn poll(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
