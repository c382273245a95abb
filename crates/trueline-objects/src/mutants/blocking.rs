//! A queue whose users wait, as in `blocking.rs`, with a fault in the waiting, not in the queue.
//!
//! Simulations call `enq` and `deq`; the tests below also close it and give up waiting.
#![cfg_attr(not(test), allow(dead_code, reason = "what simulations do not call"))]

use crate::shadowed::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::shadowed::sync::{Mutex, hint, thread};
use std::collections::VecDeque;
use std::ops::DerefMut;
use std::sync::PoisonError;
use std::time::Duration;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A waiting operation does not try again after it has entered the list.
    LooksOnce,
    /// Wakes a waiting operation before the value is there.
    WakesFirst,
    /// Does not wake anyone when a value is there.
    WakesNobody,
    /// An operation that is woken when its time is up, or after it has helped itself, does not wake
    /// the next one.
    KeepsWakeups,
    /// Closes without waiting for pushes that are under way.
    ClosesAtOnce,
    /// Closes without waking the waiting operations.
    ClosesInSilence,
}

/// A queue with a fault.
pub(crate) struct Queue {
    fault: Fault,
    queue: Mutex<VecDeque<i64>>,
    pushes: AtomicUsize,
    is_closed: AtomicBool,
    waiting: Mutex<VecDeque<thread::Thread>>,
}

impl Queue {
    pub(crate) fn new(fault: Fault) -> Queue {
        let (pushes, is_closed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (queue, waiting) = (Mutex::new(VecDeque::new()), Mutex::new(VecDeque::new()));
        Queue { fault, queue, pushes, is_closed, waiting }
    }

    pub(crate) fn enq(&self, value: i64) -> bool {
        self.pushes.fetch_add(1, Ordering::SeqCst);
        if self.is_closed.load(Ordering::SeqCst) {
            self.pushes.fetch_sub(1, Ordering::SeqCst);
            return false;
        }
        if self.fault == Fault::WakesFirst {
            self.wake();
        }
        lock(&self.queue).push_back(value);
        self.pushes.fetch_sub(1, Ordering::SeqCst);
        if !matches!(self.fault, Fault::WakesFirst | Fault::WakesNobody) {
            self.wake();
        }
        true
    }

    /// Nothing: it is closed and empty.
    pub(crate) fn deq(&self) -> Option<i64> {
        self.wait(thread::park, || false)
    }

    /// Gives up after one wait.
    pub(crate) fn deq_timeout(&self) -> Option<i64> {
        let waited = std::cell::Cell::new(false);
        let wait = || {
            waited.set(true);
            thread::park_timeout(Duration::from_millis(1));
        };
        self.wait(wait, || waited.get())
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        if self.fault != Fault::ClosesAtOnce {
            while self.pushes.load(Ordering::SeqCst) > 0 {
                hint::spin_loop();
            }
        }
        if self.fault != Fault::ClosesInSilence {
            let all = std::mem::take(&mut *self.list());
            all.iter().for_each(thread::Thread::unpark);
        }
    }

    fn wait(&self, wait: impl Fn(), is_time_up: impl Fn() -> bool) -> Option<i64> {
        if let Some(value) = self.try_deq() {
            return value;
        }
        loop {
            self.list().push_back(thread::current());
            let found = if self.fault == Fault::LooksOnce { None } else { self.try_deq() };
            if let Some(value) = found {
                self.leave();
                return value;
            }
            wait();
            let was_woken = !self.is_listed();
            let found = self.try_deq();
            if found.is_some() || is_time_up() {
                if !was_woken || found.is_none() {
                    self.leave();
                }
                return found.flatten();
            }
            self.leave();
        }
    }

    /// An operation that leaves is either in the list or was woken.
    fn leave(&self) {
        let (own, mut list) = (thread::current().id(), self.list());
        let place = list.iter().position(|thread| thread.id() == own);
        place.and_then(|place| list.remove(place));
        drop(list);
        if place.is_none() && self.fault != Fault::KeepsWakeups {
            self.wake();
        }
    }

    fn is_listed(&self) -> bool {
        let own = thread::current().id();
        self.list().iter().any(|thread| thread.id() == own)
    }

    fn try_deq(&self) -> Option<Option<i64>> {
        let first = lock(&self.queue).pop_front();
        match first {
            Some(value) => Some(Some(value)),
            None if self.is_closed.load(Ordering::SeqCst) => {
                if self.fault != Fault::ClosesAtOnce {
                    while self.pushes.load(Ordering::SeqCst) > 0 {
                        hint::spin_loop();
                    }
                }
                Some(lock(&self.queue).pop_front())
            }
            None => None,
        }
    }

    fn wake(&self) {
        let first = self.list().pop_front();
        if let Some(thread) = first {
            thread.unpark();
        }
    }

    fn list(&self) -> impl DerefMut<Target = VecDeque<thread::Thread>> {
        lock(&self.waiting)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> impl DerefMut<Target = T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Fault, Queue};
    use crate::shadowed::ArrayQueue;
    use crate::shadowed::blocking::{Blocking, PopError};
    use crate::simulate::Locked;
    use std::collections::VecDeque;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;
    use trueline_explore::harness::{Kind, Outcome};
    use trueline_explore::std::future::block_on;
    use trueline_explore::{explore, operations};

    /// The interface of a queue whose users wait.
    trait Waits: Send + Sync {
        fn push(&self, value: u8) -> bool;
        fn pop(&self) -> Option<u8>;
        /// Gives up at any time; then it is the same as if it had not been called.
        fn pop_or_give_up(&self) -> Option<u8>;
        fn close(&self);
    }

    impl Waits for Queue {
        fn push(&self, value: u8) -> bool {
            self.enq(i64::from(value))
        }
        fn pop(&self) -> Option<u8> {
            self.deq().map(|value| value as u8)
        }
        fn pop_or_give_up(&self) -> Option<u8> {
            self.deq_timeout().map(|value| value as u8)
        }
        fn close(&self) {
            Queue::close(self);
        }
    }

    /// As threads.
    struct Threads(Blocking<Locked<u8>>);
    /// As tasks, and with room for one.
    struct Tasks(Blocking<ArrayQueue<u8>>);

    impl Waits for Threads {
        fn push(&self, value: u8) -> bool {
            self.0.push(value).is_ok()
        }
        fn pop(&self) -> Option<u8> {
            self.0.pop()
        }
        fn pop_or_give_up(&self) -> Option<u8> {
            self.0.pop_timeout(Duration::from_micros(3)).ok()
        }
        fn close(&self) {
            self.0.close();
        }
    }

    impl Waits for Tasks {
        fn push(&self, value: u8) -> bool {
            block_on(self.0.push_async(value)).is_ok()
        }
        fn pop(&self) -> Option<u8> {
            block_on(self.0.pop_async())
        }
        fn pop_or_give_up(&self) -> Option<u8> {
            let mut pop = pin!(self.0.pop_async());
            match pop.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(value) => value,
                Poll::Pending => None,
            }
        }
        fn close(&self) {
            self.0.close();
        }
    }

    /// A queue that can be closed, in sequence.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Model {
        values: VecDeque<u8>,
        is_closed: bool,
        room: usize,
    }

    impl Model {
        fn push(&mut self, value: u8) -> bool {
            if !self.is_closed {
                self.values.push_back(value);
            }
            !self.is_closed
        }
        fn pop(&mut self) -> Option<u8> {
            self.values.pop_front()
        }
        fn pop_or_give_up(&mut self) -> Option<u8> {
            self.values.pop_front()
        }
        fn close(&mut self) {
            self.is_closed = true;
        }
    }

    operations! {
        enum Op -> Ret for Box<dyn Waits>, Model {
            push(value: u8) -> bool, if |model| model.is_closed || model.values.len() < model.room;
            pop() -> Option<u8>, if |model| model.is_closed || !model.values.is_empty();
            pop_or_give_up() -> Option<u8>;
            close();
        }
    }

    fn threads() -> Box<dyn Waits> {
        Box::new(Threads(Blocking::new(Locked::default())))
    }

    fn tasks() -> Box<dyn Waits> {
        Box::new(Tasks(Blocking::new(ArrayQueue::new(1))))
    }

    /// Explores a program.
    fn run(
        make: impl Fn() -> Box<dyn Waits> + Send + Sync + 'static,
        room: usize,
        text: &str,
        preemptions: u32,
    ) -> Outcome<Op, Ret> {
        explore(make)
            .spec(Model { values: VecDeque::new(), is_closed: false, room })
            .program(program(text))
            .preemptions(preemptions)
            .run()
    }

    /// A program, for instance `pop | push again`.
    fn program(text: &str) -> Vec<Vec<Op>> {
        let call = |call| match call {
            "push" => Op::push(1),
            "again" => Op::push(2),
            "pop" => Op::pop(),
            "give-up" => Op::pop_or_give_up(),
            "close" => Op::close(),
            other => unreachable!("{other}"),
        };
        text.split(" | ").map(|calls| calls.split(' ').map(call).collect()).collect()
    }

    /// Programs in which threads wait, are woken, give up, and close the queue. Three threads have
    /// very many schedules.
    #[test]
    fn who_waits_is_woken_and_closed_means_closed() {
        for (text, preemptions) in [
            ("pop | push", 4),
            ("pop | close", 4),
            ("pop | push close", 3),
            ("push again | pop close", 3),
            ("pop | pop | push again", 1),
            ("pop | push | close", 1),
            ("pop | give-up | push", 1),
        ] {
            let threads = run(threads, usize::MAX, text, preemptions);
            assert!(threads.passes(), "{text}: {threads}");
            let tasks = run(tasks, 1, text, preemptions);
            assert!(tasks.passes(), "{text}: {tasks}");
        }
    }

    #[test]
    fn each_way_of_waiting_wrongly_is_found() {
        for (fault, text, kind) in [
            (Fault::LooksOnce, "pop | push", Kind::Stuck),
            (Fault::WakesFirst, "pop | push", Kind::Stuck),
            (Fault::KeepsWakeups, "give-up | pop | push", Kind::Stuck),
            (Fault::ClosesAtOnce, "pop | push | close", Kind::NotLinearizable),
            (Fault::ClosesInSilence, "pop | close", Kind::Stuck),
        ] {
            let make = move || -> Box<dyn Waits> { Box::new(Queue::new(fault)) };
            let outcome = run(make, usize::MAX, text, 2);
            assert_eq!(outcome.failure().map(|failure| failure.kind), Some(kind), "{fault:?}");
        }
    }

    #[test]
    fn a_queue_that_is_closed_says_so() {
        let outcome = trueline_explore::engine::Exploration::new().run(|| {
            let queue = Blocking::new(Locked::default());
            assert_eq!(queue.push(1), Ok(()));
            assert!(queue.close() && !queue.close() && queue.is_closed());
            assert_eq!((queue.push(2), queue.pop(), queue.pop()), (Err(2), Some(1), None));
            assert_eq!(queue.try_pop(), Err(PopError::Closed));
        });
        assert!(outcome.holds(), "{outcome}");
    }
}
