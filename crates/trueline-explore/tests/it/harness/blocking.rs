//! Operations that wait: blocked while the specification says so is fine, blocked while it could go on is a lost wakeup.

use std::collections::VecDeque;

use trueline_explore::harness::Kind;
use trueline_explore::std::sync::{Condvar, Mutex};
use trueline_explore::{explore, operations};

/// A channel whose `take` waits for a value. The mutant notifies only when the queue was empty before.
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
