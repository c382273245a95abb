//! The monitor's answers in situations that random histories rarely contain.

use super::{Online, Saturate, Stop};
use crate::theory::{Method, Object};
use crate::value::Value;

const NIL: Value = Value::Nil;

/// Calls and returns of pushes and pops by time; the step of the violation.
#[track_caller]
fn stack(operations: &[(Method, i64, u32, u32)], expected: Option<u64>) {
    let mut events: Vec<(u32, usize, bool)> = Vec::new();
    for (i, o) in operations.iter().enumerate() {
        events.extend([(o.2, i, true), (o.3, i, false)]);
    }
    events.sort_unstable();
    for forgets in [false, true] {
        let mut monitor = Saturate::new(Object::Stack);
        if forgets {
            monitor = monitor.forgetting();
        }
        let mut seen = None;
        for &(_, i, is_call) in &events {
            let (method, value, ..) = operations[i];
            let (argument, result) = match method {
                Method::Add => (Value::Int(value), NIL),
                _ => (NIL, Value::Int(value)),
            };
            let told = match is_call {
                true => monitor.call(i as u64, method, &argument),
                false => monitor.returned(i as u64, &result),
            };
            if let Err(Stop::Violation(why)) = told {
                seen = Some(why.step);
                break;
            }
        }
        assert_eq!(seen, expected, "forgets: {forgets}");
    }
}

/// Without the match of 9, this would be a stack: the match may be forgotten only if its
/// consequences stay.
#[test]
fn a_finished_pair_loses_no_order_when_it_is_forgotten() {
    use Method::{Add, Remove};
    let all = [
        (Add, 1, 0, 80),
        (Add, 9, 5, 10),
        (Add, 2, 20, 100),
        (Remove, 9, 90, 95),
        (Remove, 1, 200, 210),
        (Remove, 2, 220, 230),
    ];
    // Found as soon as 1 is popped: 2 must be above it.
    stack(&all, Some(10));
    let rest: Vec<_> = all.iter().copied().filter(|o| o.1 != 9).collect();
    stack(&rest, None);
}

/// One process after the other, never more than three values inside: the memory does not grow.
#[test]
fn memory_is_bounded_by_what_overlaps_or_is_unmatched() {
    let objects = [
        Object::Queue,
        Object::Stack,
        Object::PriorityQueue { smallest_first: false },
        Object::Lock,
        Object::Semaphore(3),
    ];
    for object in objects {
        let is_lock = matches!(object, Object::Lock | Object::Semaphore(_));
        let depth = if object == Object::Lock { 1 } else { 3 };
        let mut monitor = Saturate::new(object).forgetting();
        let mut inside: Vec<i64> = Vec::new();
        let mut most = 0;
        for i in 0..3_000 {
            let grows = inside.len() < depth && (inside.is_empty() || i % 3 != 0);
            let (method, argument, result) = if grows {
                inside.push(i);
                let method = if is_lock { Method::Acquire } else { Method::Add };
                (method, Value::Int(i), NIL)
            } else {
                let place = if object == Object::Queue { 0 } else { inside.len() - 1 };
                let method = if is_lock { Method::Release } else { Method::Remove };
                (method, NIL, Value::Int(inside.remove(place)))
            };
            monitor.call(i as u64, method, &argument).unwrap();
            monitor.returned(i as u64, &result).unwrap();
            most = most.max(monitor.held());
        }
        assert!(most <= 4 * depth + 2, "{object}: {most}");
    }
}

#[test]
fn a_register_that_is_only_read_holds_one_read() {
    let mut monitor = Saturate::new(Object::Register).forgetting();
    for i in 0..1_000 {
        let (method, argument, result) = match i % 100 {
            0 => (Method::Write, Value::Int(i / 100), NIL),
            _ => (Method::Read, NIL, Value::Int(i / 100)),
        };
        monitor.call(i as u64, method, &argument).unwrap();
        monitor.returned(i as u64, &result).unwrap();
        assert!(monitor.held() <= 4, "{}", monitor.held());
    }
}

#[test]
fn a_value_may_come_again_once_it_is_removed() {
    for forgets in [false, true] {
        let mut monitor = Saturate::new(Object::Queue);
        if forgets {
            monitor = monitor.forgetting();
        }
        for i in 0..10 {
            monitor.call(2 * i, Method::Add, &Value::Int(7)).unwrap();
            monitor.returned(2 * i, &NIL).unwrap();
            monitor.call(2 * i + 1, Method::Remove, &NIL).unwrap();
            monitor.returned(2 * i + 1, &Value::Int(7)).unwrap();
        }
        // Two equal values at once cannot be distinguished.
        monitor.call(90, Method::Add, &Value::Int(7)).unwrap();
        let twice = monitor.call(91, Method::Add, &Value::Int(7));
        assert!(matches!(twice, Err(Stop::Unfit(why)) if why.contains("7 is added twice")));
    }
}

#[test]
fn what_failed_explains_nothing() {
    // The pending removal might have taken 1; it did not.
    let mut monitor = Saturate::new(Object::Queue);
    monitor.call(1, Method::Add, &Value::Int(1)).unwrap();
    monitor.returned(1, &NIL).unwrap();
    monitor.call(2, Method::Remove, &NIL).unwrap();
    monitor.failed(2).unwrap();
    monitor.call(3, Method::Remove, &NIL).unwrap();
    assert!(matches!(monitor.returned(3, &NIL), Err(Stop::Violation(_))));
    // The effect of the failed addition was seen.
    let mut monitor = Saturate::new(Object::Queue);
    monitor.call(1, Method::Add, &Value::Int(1)).unwrap();
    monitor.call(2, Method::Remove, &NIL).unwrap();
    monitor.returned(2, &Value::Int(1)).unwrap();
    assert!(matches!(monitor.failed(1), Err(Stop::Violation(_))));
    // So was the key.
    let mut monitor = Saturate::new(Object::Set);
    monitor.call(1, Method::Add, &Value::Int(1)).unwrap();
    monitor.call(2, Method::Contains, &Value::Int(1)).unwrap();
    monitor.returned(2, &Value::Bool(true)).unwrap();
    assert!(matches!(monitor.failed(1), Err(Stop::Violation(_))));
}

#[test]
fn what_is_there_at_first_counts() {
    let with = |values: &[i64]| {
        let values: Vec<Value> = values.iter().map(|&v| Value::Int(v)).collect();
        Saturate::new(Object::Queue).holding(&values)
    };
    let remove = |monitor: &mut Saturate, number, result: Value| {
        monitor.call(number, Method::Remove, &NIL)?;
        monitor.returned(number, &result)
    };
    let mut monitor = with(&[1, 2]);
    remove(&mut monitor, 1, Value::Int(1)).unwrap();
    remove(&mut monitor, 2, Value::Int(2)).unwrap();
    remove(&mut monitor, 3, NIL).unwrap();
    let mut monitor = with(&[1, 2]);
    remove(&mut monitor, 1, Value::Int(2)).unwrap_err();
}

#[test]
fn a_monitor_that_stopped_says_so_for_ever() {
    let mut monitor = Saturate::new(Object::Queue);
    monitor.call(1, Method::Remove, &NIL).unwrap();
    let stop = monitor.returned(1, &Value::Int(3)).unwrap_err();
    assert_eq!(monitor.call(2, Method::Add, &Value::Int(3)), Err(stop.clone()));
    let Stop::Violation(why) = stop else { panic!() };
    assert_eq!((why.operation, why.step, why.operations), (1, 2, vec![1]));
}
