//! Queues whose users wait, on real threads and as tasks.

use std::future::Future;
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

/// Threads and tasks push and pop, some give up now and then, and at the end the queue is closed: everything comes out once.
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

/// A comparison that panics while it pushes leaves no push under way: else `close` would wait for ever.
#[test]
fn a_push_that_panics_is_over() {
    #[derive(Clone, PartialEq, Eq)]
    struct Panics(u8);
    impl PartialOrd for Panics {
        fn partial_cmp(&self, other: &Panics) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Panics {
        fn cmp(&self, _: &Panics) -> std::cmp::Ordering {
            std::panic::panic_any("the user's code panics")
        }
    }
    let queue = Blocking::new(PriorityQueue::new());
    assert!(queue.push((Panics(1), ())).is_ok());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let pushed = std::panic::catch_unwind(|| queue.push((Panics(2), ())).is_ok());
    std::panic::set_hook(hook);
    assert!(pushed.is_err());
    assert!(queue.close() && queue.pop().is_some());
}
