//! Operations that wait: blocked while the specification says so is fine, blocked while it could go
//! on is a lost wakeup.

use std::collections::VecDeque;

use trueline_explore::harness::Kind;
use trueline_explore::std::sync::atomic::Ordering::SeqCst;
use trueline_explore::std::sync::atomic::{AtomicBool, AtomicU32};
use trueline_explore::std::sync::{Arc, Condvar, Mutex};
use trueline_explore::std::thread::{self, JoinHandle};
use trueline_explore::{explore, operations};

/// A channel whose `take` waits for a value. The mutant notifies only when the queue was empty
/// before.
struct Channel {
    queue: Mutex<VecDeque<u8>>,
    filled: Condvar,
    only_when_empty: bool,
}

impl Channel {
    fn new(only_when_empty: bool) -> Channel {
        let queue = Mutex::new(VecDeque::with_capacity(8));
        Channel { queue, filled: Condvar::new(), only_when_empty }
    }

    fn put(&self, v: u8) {
        let mut queue = self.queue.lock().unwrap();
        queue.push_back(v);
        if !self.only_when_empty || queue.len() == 1 {
            self.filled.notify_one();
        }
    }

    fn take(&self) -> u8 {
        let mut queue = self.queue.lock().unwrap();
        loop {
            if let Some(v) = queue.pop_front() {
                return v;
            }
            queue = self.filled.wait(queue).unwrap();
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Fifo(VecDeque<u8>);

impl Fifo {
    fn put(&mut self, v: u8) {
        self.0.push_back(v);
    }
    fn take(&mut self) -> u8 {
        self.0.pop_front().expect("it is asked only if there is one")
    }
}

operations! {
    enum Op -> Ret for Channel, Fifo {
        put(v: u8);
        take() -> u8, if |fifo| !fifo.0.is_empty();
    }
}

#[test]
fn an_operation_may_wait_where_its_specification_does() {
    let outcome = explore(|| Channel::new(false))
        .spec(Fifo::default())
        .operations([Op::put(1), Op::take()])
        .threads(3)
        .length(1)
        .run();
    assert!(outcome.holds(), "{outcome}");
    let outcome = explore(|| Channel::new(false))
        .spec(Fifo::default())
        .program([vec![Op::take(), Op::take()], vec![Op::put(1)]])
        .run();
    assert!(outcome.holds(), "{outcome}");
}

#[test]
fn a_lost_wakeup_is_found_and_explained() {
    // Two takers wait; two values come before either wakes; the second notification is left out.
    let outcome = explore(|| Channel::new(true))
        .spec(Fifo::default())
        .program([vec![Op::take()], vec![Op::take()], vec![Op::put(1), Op::put(2)]])
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::Stuck);
    assert!(failure.sentence.contains("`take()` of thread"), "{outcome}");
    assert!(failure.sentence.contains("waits for ever, though it could go on"), "{outcome}");
    let text = outcome.to_string();
    assert!(text.contains("Condvar::wait") && text.contains("blocking.rs"), "{text}");
}

#[test]
fn an_operation_that_waits_though_it_is_total_is_stuck() {
    struct Gate(Mutex<()>, Mutex<()>);
    impl Gate {
        fn left_first(&self) {
            let _left = self.0.lock().unwrap();
            let _right = self.1.lock().unwrap();
        }
        fn right_first(&self) {
            let _right = self.1.lock().unwrap();
            let _left = self.0.lock().unwrap();
        }
    }
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Nothing;
    impl Nothing {
        fn left_first(&mut self) {}
        fn right_first(&mut self) {}
    }
    operations! {
        enum Op -> Ret for Gate, Nothing {
            left_first();
            right_first();
        }
    }
    let outcome = explore(|| Gate(Mutex::new(()), Mutex::new(())))
        .spec(Nothing)
        .operations([Op::left_first(), Op::right_first()])
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::Stuck);
    assert_eq!(failure.scenario, "left_first() | right_first()");
}

/// A counter whose `add` waits for ever once somebody has seen its effect.
#[derive(Default)]
struct Reluctant {
    count: AtomicU32,
    seen: AtomicBool,
    never: AtomicBool,
}

impl Reluctant {
    fn add(&self) {
        self.count.fetch_add(1, SeqCst);
        if self.seen.load(SeqCst) {
            while !self.never.load(SeqCst) {}
        }
    }

    fn get(&self) -> u32 {
        let count = self.count.load(SeqCst);
        if count > 0 {
            self.seen.store(true, SeqCst);
        }
        count
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Count(u32);

impl Count {
    fn add(&mut self) {
        self.0 += 1;
    }
    fn get(&mut self) -> u32 {
        self.0
    }
}

operations! {
    enum CountOp -> CountRet for Reluctant, Count {
        add();
        get() -> u32;
    }
}

/// It is no order of the operations that returned that shows that the wait is wrong: without `add`,
/// `get() -> 1` has none. The checker then found an order with `add`, and the wait was forgotten.
#[test]
fn an_operation_that_takes_effect_and_then_waits_for_ever_is_stuck() {
    let outcome = explore(Reluctant::default)
        .spec(Count::default())
        .program([[CountOp::add()], [CountOp::get()]])
        .run();
    let text = outcome.to_string();
    assert_eq!(outcome.failure().map(|failure| failure.kind), Some(Kind::Stuck), "{text}");
    assert!(
        text.contains("`add()` of thread 1 waits for ever, though it has taken effect"),
        "{text}"
    );
}

/// An object with a thread of its own, which its destructor ends. The mutant may end it between its
/// look at the flag and its wait.
struct Pool {
    shared: Arc<(AtomicU32, AtomicBool, Mutex<()>, Condvar)>,
    worker: Option<JoinHandle<()>>,
    under_the_lock: bool,
}

impl Pool {
    fn new(under_the_lock: bool) -> Pool {
        let shared =
            Arc::new((AtomicU32::new(0), AtomicBool::new(false), Mutex::new(()), Condvar::new()));
        let own = shared.clone();
        let worker = thread::spawn(move || {
            let (_, stop, lock, wakeup) = &*own;
            let mut guard = lock.lock().unwrap();
            while !stop.load(SeqCst) {
                guard = wakeup.wait(guard).unwrap();
            }
        });
        Pool { shared, worker: Some(worker), under_the_lock }
    }

    fn inc(&self) -> u32 {
        self.shared.0.fetch_add(1, SeqCst)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let (_, stop, lock, wakeup) = &*self.shared;
        let guard = self.under_the_lock.then(|| lock.lock().unwrap());
        stop.store(true, SeqCst);
        wakeup.notify_all();
        drop(guard);
        self.worker.take().map(JoinHandle::join);
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Incremented(u32);

impl Incremented {
    fn inc(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
}

operations! {
    enum PoolOp -> PoolRet for Pool, Incremented {
        inc() -> u32;
    }
}

/// All operations have returned, as in executions in which nobody waits: who waits was asked for
/// the first of these histories alone.
#[test]
fn a_thread_that_waits_outside_of_its_operations_is_found_where_others_leave_the_same_history() {
    let test = |under_the_lock| {
        explore(move || Pool::new(under_the_lock))
            .spec(Incremented::default())
            .program([[PoolOp::inc()]])
            .run()
    };
    let outcome = test(false);
    let text = outcome.to_string();
    assert_eq!(outcome.failure().map(|failure| failure.kind), Some(Kind::Stuck), "{text}");
    assert!(text.contains("A thread waits for ever outside of its operations"), "{text}");
    assert!(text.contains("Condvar::wait"), "{text}");
    let outcome = test(true);
    assert!(outcome.passes(), "{outcome}");
}
