//! Queues whose users wait, on real threads and as tasks.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use trueline_objects::blocking::{PopError, PushError, Queue};
use trueline_objects::{
    ArrayQueue, Blocking, BoundedPriorityQueue, FetchAddQueue, MichaelScottQueue, PriorityQueue,
    Semiqueue, TreiberStack,
};

/// Counts how often it is woken, and wakes a thread.
struct Counts(AtomicUsize, thread::Thread);

impl Wake for Counts {
    fn wake(self: Arc<Counts>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        self.1.unpark();
    }
}

fn waker() -> (Arc<Counts>, Waker) {
    let counts = Arc::new(Counts(AtomicUsize::new(0), thread::current()));
    (counts.clone(), Waker::from(counts))
}

fn block_on<F: Future>(future: F) -> F::Output {
    let ((_, waker), mut future) = (waker(), pin!(future));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Threads and tasks push and pop, some give up now and then, and at the end the queue is closed:
/// everything comes out once.
fn hand_over<Q: Queue<Item: Send> + Sync>(queue: Q, item: impl Fn(usize) -> Q::Item + Sync) {
    const EACH: usize = 3000;
    let (queue, popped, barrier) = (Blocking::new(queue), AtomicUsize::new(0), Barrier::new(3));
    thread::scope(|s| {
        for popper in 0..3 {
            let (queue, popped) = (&queue, &popped);
            s.spawn(move || {
                for step in 0.. {
                    let soon = Duration::from_micros(20);
                    let item = match (popper + step) % 4 {
                        0 => match queue.pop_timeout(soon) {
                            Err(PopError::Empty) => continue,
                            item => item.ok(),
                        },
                        1 => block_on(queue.pop_async()),
                        2 => {
                            // A task that is dropped after it was polled has taken nothing.
                            let (_, waker) = waker();
                            let poll =
                                pin!(queue.pop_async()).poll(&mut Context::from_waker(&waker));
                            match poll {
                                Poll::Ready(item) => item,
                                Poll::Pending => continue,
                            }
                        }
                        _ => queue.pop(),
                    };
                    if item.is_none() {
                        return;
                    }
                    popped.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for pusher in 0..3 {
            let (queue, item, barrier) = (&queue, &item, &barrier);
            s.spawn(move || {
                for step in 0..EACH {
                    let mut next = Some(item(pusher * EACH + step));
                    while let Some(item) = next.take() {
                        let pushed = match (pusher + step) % 3 {
                            0 => queue.push_timeout(item, Duration::from_micros(20)),
                            1 => block_on(queue.push_async(item)).map_err(PushError::Closed),
                            _ => queue.push(item).map_err(PushError::Closed),
                        };
                        match pushed {
                            Ok(()) => {}
                            Err(PushError::Full(item)) => next = Some(item),
                            Err(PushError::Closed(_)) => panic!("it is open"),
                        }
                    }
                }
                if barrier.wait().is_leader() {
                    assert!(queue.close());
                }
            });
        }
    });
    assert_eq!(popped.load(Ordering::SeqCst), 3 * EACH);
    assert_eq!(queue.try_pop().err(), Some(PopError::Closed));
}

#[test]
fn queues_hand_everything_over_to_who_waits() {
    hand_over(MichaelScottQueue::new(), |number| number);
    hand_over(FetchAddQueue::new(), |number| number);
    hand_over(Semiqueue::new(3), |number| number);
    hand_over(TreiberStack::new(), |number| number);
    hand_over(ArrayQueue::new(1), |number| number);
    hand_over(ArrayQueue::new(5), |number| number);
    hand_over(PriorityQueue::new(), |number| (number % 7, number));
    hand_over(BoundedPriorityQueue::new(4, 3), |number| (number % 4, number));
}

#[test]
fn a_full_queue_and_an_empty_one_say_so_when_the_time_is_up() {
    let (queue, soon) = (Blocking::new(ArrayQueue::new(1)), Duration::from_micros(50));
    assert_eq!(queue.pop_timeout(soon), Err(PopError::Empty));
    assert_eq!(queue.push_timeout(1, soon), Ok(()));
    assert_eq!(queue.push_timeout(2, soon), Err(PushError::Full(2)));
    assert_eq!((queue.try_push(3), queue.try_pop()), (Err(PushError::Full(3)), Ok(1)));
    // A time that no clock can tell is none.
    assert_eq!(queue.push_timeout(4, Duration::MAX), Ok(()));
    assert!(queue.close() && !queue.close());
    assert_eq!((queue.push_timeout(5, soon), queue.push(6)), (Err(PushError::Closed(5)), Err(6)));
    assert_eq!((queue.pop(), queue.pop()), (Some(4), None));
    assert_eq!(PushError::Full(7).into_inner(), 7);
}

/// Tasks wait in line: one value wakes one of them, and one that is dropped hands its turn on.
#[test]
fn a_task_that_is_dropped_hands_its_turn_on() {
    let queue = Blocking::new(MichaelScottQueue::new());
    let [(first, one), (second, two), (third, three)] = [waker(), waker(), waker()];
    let count = |counts: &Counts| counts.0.load(Ordering::SeqCst);
    let (mut a, mut b, mut c) = (queue.pop_async(), queue.pop_async(), queue.pop_async());
    for (pop, waker) in [(&mut a, &one), (&mut b, &two), (&mut c, &three)] {
        assert!(pin!(pop).poll(&mut Context::from_waker(waker)).is_pending());
    }
    queue.push(1).unwrap();
    assert_eq!((count(&first), count(&second), count(&third)), (1, 0, 0));
    drop(a);
    assert_eq!((count(&first), count(&second), count(&third)), (1, 1, 0));
    // It has moved to another task meanwhile.
    let (fourth, four) = waker();
    assert!(pin!(&mut c).poll(&mut Context::from_waker(&four)).is_ready());
    assert!(pin!(&mut b).poll(&mut Context::from_waker(&two)).is_pending());
    queue.push(2).unwrap();
    assert_eq!((count(&second), count(&third), count(&fourth)), (2, 0, 0));
    assert_eq!(pin!(&mut b).poll(&mut Context::from_waker(&two)), Poll::Ready(Some(2)));
}

thread_local! {
    /// What comparisons and clones of this thread do.
    static DOES: Cell<fn()> = const { Cell::new(|| {}) };
}

fn panics() {
    std::panic::resume_unwind(Box::new("the user's code panics"))
}

/// Runs something while comparisons and clones do this.
fn while_code<R>(does: fn(), run: impl FnOnce() -> R) -> thread::Result<R> {
    DOES.set(does);
    let result = catch_unwind(AssertUnwindSafe(run));
    DOES.set(|| {});
    result
}

/// A priority whose comparisons and clones do what [`DOES`] says.
#[derive(Debug, PartialEq, Eq)]
struct Priority(u8);

impl Clone for Priority {
    fn clone(&self) -> Priority {
        DOES.get()();
        Priority(self.0)
    }
}

impl PartialOrd for Priority {
    fn partial_cmp(&self, other: &Priority) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Priority {
    fn cmp(&self, other: &Priority) -> std::cmp::Ordering {
        DOES.get()();
        self.0.cmp(&other.0)
    }
}

/// A comparison that panics while it pushes leaves no push under way: else `close` would wait for
/// ever.
#[test]
fn a_push_that_panics_is_over() {
    let queue = Blocking::new(PriorityQueue::new());
    assert!(queue.push((Priority(1), ())).is_ok());
    assert!(while_code(panics, || queue.push((Priority(2), ()))).is_err());
    assert!(queue.close() && queue.pop().is_some());
}

/// One that was woken and whose pop panicked kept the wakeup: the value lay there while others
/// waited for it.
#[test]
fn a_pop_that_panics_hands_its_turn_on() {
    let queue = Blocking::new(PriorityQueue::new());
    let [(first, one), (second, two)] = [waker(), waker()];
    let count = |counts: &Counts| counts.0.load(Ordering::SeqCst);
    let (mut a, mut b) = (queue.pop_async(), queue.pop_async());
    for (pop, waker) in [(&mut a, &one), (&mut b, &two)] {
        assert!(pin!(pop).poll(&mut Context::from_waker(waker)).is_pending());
    }
    queue.push((Priority(1), 7)).unwrap();
    assert_eq!((count(&first), count(&second)), (1, 0));
    let polled = while_code(panics, || pin!(&mut a).poll(&mut Context::from_waker(&one)));
    assert!(polled.is_err());
    drop(a);
    assert_eq!((count(&first), count(&second)), (1, 1));
    let polled = pin!(&mut b).poll(&mut Context::from_waker(&two));
    assert_eq!(polled, Poll::Ready(Some((Priority(1), 7))));
}

/// A queue that panics when it has done what it was asked for.
#[derive(Default)]
struct PanicsAfter(ArrayQueueOfOne);
type ArrayQueueOfOne = std::sync::Mutex<Option<u8>>;

impl Queue for PanicsAfter {
    type Item = u8;
    const IS_BOUNDED: bool = true;

    fn offer(&self, item: u8) -> Result<(), u8> {
        let mut place = self.0.lock().unwrap();
        if place.is_some() {
            return Err(item);
        }
        *place = Some(item);
        drop(place);
        DOES.get()();
        Ok(())
    }

    fn poll(&self) -> Option<u8> {
        let item = self.0.lock().unwrap().take()?;
        DOES.get()();
        Some(item)
    }
}

/// What a queue has done before it panicked is there for who waits for it.
#[test]
fn an_operation_that_panics_after_its_effect_wakes_who_waits() {
    let queue = Blocking::new(PanicsAfter::default());
    let ((popper, one), (pusher, two)) = (waker(), waker());
    let count = |counts: &Counts| counts.0.load(Ordering::SeqCst);
    let mut pop = queue.pop_async();
    assert!(pin!(&mut pop).poll(&mut Context::from_waker(&one)).is_pending());
    assert!(while_code(panics, || queue.push(1)).is_err());
    assert_eq!(count(&popper), 1);
    let mut push = queue.push_async(2);
    assert!(pin!(&mut push).poll(&mut Context::from_waker(&two)).is_pending());
    assert!(while_code(panics, || queue.try_pop()).is_err());
    assert_eq!(count(&pusher), 1);
    assert_eq!(pin!(&mut push).poll(&mut Context::from_waker(&two)), Poll::Ready(Ok(())));
    assert_eq!(pin!(&mut pop).poll(&mut Context::from_waker(&one)), Poll::Ready(Some(2)));
}

/// Panics when it is woken.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Panics>) {
        panics();
    }
}

/// `close` forgot those behind a waker that panicked.
#[test]
fn a_waker_that_panics_keeps_nobody_else_asleep() {
    let queue = Blocking::new(ArrayQueue::new(1));
    let [(first, one), (second, two)] = [waker(), waker()];
    let bad = Waker::from(Arc::new(Panics));
    let count = |counts: &Counts| counts.0.load(Ordering::SeqCst);
    queue.push(1).unwrap();
    let mut pushes = [queue.push_async(2), queue.push_async(3)];
    for (push, waker) in pushes.iter_mut().zip([&bad, &one]) {
        assert!(pin!(push).poll(&mut Context::from_waker(waker)).is_pending());
    }
    // They hold the pop's place, too: the first of the list is the one that panics.
    assert!(while_code(|| {}, || queue.try_pop()).is_err());
    assert!(queue.inner().pop().is_none());
    let mut pops = [queue.pop_async(), queue.pop_async()];
    for (pop, waker) in pops.iter_mut().zip([&bad, &two]) {
        assert!(pin!(pop).poll(&mut Context::from_waker(waker)).is_pending());
    }
    assert!(while_code(|| {}, || queue.close()).is_err());
    assert_eq!((count(&first), count(&second)), (1, 1));
    assert!(queue.is_closed());
}

static RE_ENTERED: std::sync::OnceLock<Blocking<PriorityQueue<Priority, u8>>> =
    std::sync::OnceLock::new();

/// A comparison that closed the queue, or asked it while another thread did, waited for the push
/// that ran it.
#[test]
fn code_that_a_push_runs_may_use_and_close_the_queue() {
    let queue = RE_ENTERED.get_or_init(Blocking::default);
    queue.push((Priority(1), 1)).unwrap();
    let closes = || {
        let queue = RE_ENTERED.get().unwrap();
        DOES.set(|| {});
        assert_eq!(queue.try_pop(), Ok((Priority(1), 1)));
        assert_eq!(queue.try_pop(), Err(PopError::Empty));
        assert!(queue.try_push((Priority(3), 3)).is_ok());
        assert!(!queue.is_closed() && queue.close() && queue.is_closed());
        // Nothing can be pushed any more, but for what is under way.
        assert_eq!(queue.push((Priority(4), 4)), Err((Priority(4), 4)));
        assert_eq!((queue.pop(), queue.pop()), (Some((Priority(3), 3)), None));
    };
    assert_eq!(while_code(closes, || queue.push((Priority(2), 2))).unwrap(), Ok(()));
    assert_eq!((queue.pop(), queue.pop()), (Some((Priority(2), 2)), None));
}
