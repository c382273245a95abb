//! The harness from outside: what a test of a user's says, and what comes of it.

use std::collections::VecDeque;

use trueline::Value;
use trueline::spec::Invocation;
use trueline_explore::harness::{Kind, Operate, Thread, Verdict};
use trueline_explore::std::sync::Mutex;
use trueline_explore::std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use trueline_explore::{explore, operations};

struct Counter(AtomicU32);

impl Counter {
    fn add(&self, n: u32) -> u32 {
        let seen = self.0.load(SeqCst);
        self.0.store(seen + n, SeqCst);
        seen
    }
    fn get(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Tally(u32);

impl Tally {
    fn add(&mut self, n: u32) -> u32 {
        self.0 += n;
        self.0 - n
    }
    fn get(&mut self) -> u32 {
        self.0
    }
}

operations! {
    enum Op -> Ret for Counter, Tally {
        add(n: u32) -> u32;
        get() -> u32;
    }
}

#[test]
fn a_lost_update_is_found() {
    let outcome = explore(|| Counter(AtomicU32::new(0)))
        .spec(Tally::default())
        .operations([Op::add(1), Op::get()])
        .threads(2)
        .length(2)
        .run();
    let failure = outcome.failure().expect("an update is lost");
    assert_eq!(failure.kind, Kind::NotLinearizable);
    println!("{outcome}");
    println!("{failure:?}");
}

struct Shared(Mutex<VecDeque<u8>>);

impl Shared {
    fn push(&self, v: u8) {
        self.0.lock().unwrap().push_back(v);
    }
    fn pop(&self) -> Option<u8> {
        self.0.lock().unwrap().pop_front()
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Fifo(VecDeque<u8>);

impl Fifo {
    fn push(&mut self, v: u8) {
        self.0.push_back(v);
    }
    fn pop(&mut self) -> Option<u8> {
        self.0.pop_front()
    }
}

operations! {
    enum QueueOp -> QueueRet for Shared, Fifo {
        push(v: u8);
        pop() -> Option<u8>;
    }
}

#[test]
fn a_queue_behind_a_lock_holds() {
    let outcome = explore(|| Shared(Mutex::new(VecDeque::with_capacity(8))))
        .spec(Fifo::default())
        .operations([QueueOp::push(1), QueueOp::push(2), QueueOp::pop()])
        .threads(2)
        .length(3)
        .run();
    println!("{outcome}");
    assert!(outcome.holds());
}

/// Calls by name, against a built-in specification: neither macro nor types of the object's own.
impl Operate<Shared> for Invocation {
    type Ret = Value;
    type Handle<'a> = &'a Shared;
    fn handle(object: &Shared, _: Thread) -> &Shared {
        object
    }
    fn operate(&self, object: &mut &Shared) -> Value {
        match (&*self.method, self.args.as_slice()) {
            ("enq", [Value::Int(v)]) => {
                object.push(*v as u8);
                Value::Nil
            }
            _ => object.pop().map_or(Value::Nil, |v| Value::Int(v.into())),
        }
    }
}

#[test]
fn operations_may_be_made_at_run_time() {
    let enq = |v: i64| Invocation::new("enq", vec![Value::Int(v)]);
    let deq = || Invocation::new("deq", vec![]);
    let queue = |name: &str| {
        explore(|| Shared(Mutex::new(VecDeque::with_capacity(8))))
            .spec(trueline::spec::named(name).unwrap().dynamic())
            .before([enq(9)])
            .program([vec![enq(1), deq()], vec![enq(2)]])
            .after([deq(), deq(), deq()])
            .run()
    };
    assert!(queue("queue").holds());
    let outcome = queue("stack");
    assert!(matches!(outcome.verdict, Verdict::Violation(_)), "{outcome}");
}
