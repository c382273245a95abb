//! Several objects in one stream: empty objects are forgotten, and nothing else.

use super::{Case, What};
use crate::check::Check;
use crate::history::{Event, Part, Position};
use crate::rng::{Rng, seeds};
use crate::spec::{self, Builtin};
use crate::stream::monitor::{Monitor, Stopped};
use crate::value::Value;

/// Mixed histories of several objects: the stream must have the verdict of all of them.
fn compare_mixed<B: Builtin>(name: &str, spec: &B, seed: u64) {
    let (mut fine, mut violations) = (0, 0);
    for number in seeds(400) {
        let mut rng = Rng::new(number ^ seed << 56);
        let objects = 2 + rng.below(4);
        let cases: Vec<_> =
            (0..objects).filter_map(|_| Case::random(spec, &mut rng, false)).collect();
        let mut monitor = Monitor::new(spec.clone()).unwrap();
        // For each history: the number of events sent, its object and its first process.
        let mut told: Vec<(usize, u32, u32)> = Vec::new();
        for case in &cases {
            let part = Part { object: Value::Nil, key: Value::Int(told.len() as i64) };
            let object = monitor.object(part).unwrap();
            let processes = case.done.iter().map(|_| monitor.process(Value::Nil));
            told.push((0, object, processes.min().unwrap_or(0)));
        }
        let mut said = Ok(());
        while said.is_ok() && cases.iter().zip(&told).any(|(case, t)| t.0 < case.events.len()) {
            // Bursts, so that an object rests while others run.
            let which = rng.index(cases.len());
            for _ in 0..1 + rng.below(8) {
                let (case, (next, object, first)) = (&cases[which], &mut told[which]);
                let Some(&(i, what)) = case.events.get(*next) else { break };
                *next += 1;
                let event = match what {
                    What::Call => Event::Call(*object, case.done[i].1.clone()),
                    What::Return => Event::Return(case.done[i].2.clone().unwrap()),
                    What::Unknown => Event::Unknown,
                };
                said = monitor.event(*first + i as u32, event, Position::default());
                if said.is_err() {
                    break;
                }
            }
        }
        let offline = |(case, told): (&Case<B::Op>, &(usize, u32, u32))| {
            Check::new(spec.clone()).run(&case.history(told.0)).verdict
        };
        let mut all = cases.iter().zip(&told).map(offline);
        let shown = || {
            let all: Vec<String> = cases.iter().map(|case| case.show(spec)).collect();
            format!("{name}, case {number}:\n{}", all.join("\n--\n"))
        };
        match said.and_then(|()| monitor.finish()) {
            Ok(()) => {
                assert!(all.all(|verdict| verdict.is_linearizable()), "missed: {}", shown());
                fine += 1;
            }
            Err(Stopped::Violation(_)) => {
                assert!(all.any(|verdict| verdict.is_violation()), "none: {}", shown());
                violations += 1;
            }
            Err(Stopped::Unknown(_)) => {}
            Err(Stopped::Input(error)) => panic!("{error:?}: {}", shown()),
        }
    }
    assert!(fine > 10 && violations > 10, "{name}: {fine} {violations}");
}

#[test]
fn objects_that_are_forgotten_and_come_again() {
    compare_mixed("queue", &spec::queue(), 21);
    compare_mixed("stack", &spec::stack(), 22);
    compare_mixed("priority queue", &spec::priority_queue(), 23);
    compare_mixed("register", &spec::register(Value::Nil), 24);
    compare_mixed("set", &spec::set(), 25);
    compare_mixed("mutex", &spec::mutex(), 26);
    compare_mixed("map", &spec::map(), 27);
    let full = spec::queue().with_init([Value::Int(100), Value::Int(101)]);
    compare_mixed("queue that is not empty at first", &full, 28);
}

/// 300,000 keys with one insertion and one removal each took 408 MB.
#[test]
fn an_empty_container_per_key_is_forgotten() {
    fn engines<B: Builtin>(spec: B, calls: [(B::Op, Value); 2]) -> usize {
        let mut monitor = Monitor::new(spec).unwrap();
        let process = monitor.process(Value::Int(0));
        for key in 0..3000 {
            let part = Part { object: Value::Nil, key: Value::Int(key) };
            let object = monitor.object(part).unwrap();
            for (op, result) in calls.clone() {
                monitor.event(process, Event::Call(object, op), Position::default()).unwrap();
                monitor.event(process, Event::Return(result), Position::default()).unwrap();
            }
        }
        monitor.finish().unwrap();
        monitor.engines()
    }
    use spec::{MutexOp, PriorityQueueOp, QueueOp, SetOp, StackOp};
    let (v, nil, yes) = (Value::Int(7), Value::Nil, Value::Bool(true));
    let few = 20;
    let calls = [(QueueOp::Enq(v.clone()), nil.clone()), (QueueOp::Deq, v.clone())];
    assert!(engines(spec::queue(), calls) < few);
    let calls = [(StackOp::Push(v.clone()), nil.clone()), (StackOp::Pop, v.clone())];
    assert!(engines(spec::stack(), calls) < few);
    let calls =
        [(PriorityQueueOp::Insert(v.clone()), nil.clone()), (PriorityQueueOp::Poll, v.clone())];
    assert!(engines(spec::priority_queue(), calls) < few);
    let calls = [(SetOp::Add(v.clone()), yes.clone()), (SetOp::Remove(v.clone()), yes)];
    assert!(engines(spec::set(), calls) < few);
    let calls = [(MutexOp::Acquire, nil.clone()), (MutexOp::Release, nil.clone())];
    assert!(engines(spec::mutex(), calls) < few);
    // A container with a value is not forgotten.
    let calls = [(QueueOp::Enq(v.clone()), nil.clone()), (QueueOp::Enq(Value::Int(8)), nil)];
    assert_eq!(engines(spec::queue(), calls), 3000);
}
