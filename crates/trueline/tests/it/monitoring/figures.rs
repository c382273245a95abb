//! The histories of the paper's figures, as the text describes them.

use trueline::papers::{Enumerate, Options, Symbolic};
use trueline::saturate::{Online, Saturate, Stop};
use trueline::theory::{Method, Object};
use trueline::{Budget, Value};

/// A call with its argument, or a return with its result, of an operation.
#[derive(Clone, Copy)]
enum Step {
    Call(u64, Method, Option<i64>),
    Return(u64, Option<i64>),
}

use Method::{Add, Read, Remove, Write};
use Step::{Call, Return};

fn value(number: Option<i64>) -> Value {
    number.map_or(Value::Nil, Value::Int)
}

/// The step at which a violation is seen, counted from 1.
fn seen_at(monitor: &mut dyn Online, steps: &[Step]) -> Option<u64> {
    for step in steps {
        let told = match *step {
            Call(operation, method, argument) => monitor.call(operation, method, &value(argument)),
            Return(operation, result) => monitor.returned(operation, &value(result)),
        };
        match told {
            Ok(()) => {}
            Err(Stop::Violation(why)) => return Some(why.step),
            Err(stop) => panic!("{stop}"),
        }
    }
    None
}

/// Every algorithm with every option sees a violation at this step, or none.
#[track_caller]
fn all_see(object: Object, steps: &[Step], expected: Option<u64>) {
    let monitor = Saturate::new(object);
    assert_eq!(seen_at(&mut monitor.clone(), steps), expected, "saturate");
    assert_eq!(seen_at(&mut monitor.forgetting(), steps), expected, "saturate r");
    let budget = Budget::unlimited();
    let saw = |mut monitor: Box<dyn Online + '_>, name: &str| {
        assert_eq!(seen_at(&mut *monitor, steps), expected, "{name}");
    };
    for letters in ["", "c", "i", "c,i", "r", "i,r", "c,i,r"] {
        let options: Options = letters.parse().unwrap();
        saw(Box::new(Symbolic::new(object, options, &budget)), letters);
    }
    for letters in ["", "c"] {
        let options: Options = letters.parse().unwrap();
        saw(Box::new(Enumerate::new(object, options, &budget)), letters);
    }
}

/// Without the operations of a match.
fn without(steps: &[Step], gone: &[u64]) -> Vec<Step> {
    let stays = |step: &&Step| match step {
        Call(operation, ..) | Return(operation, _) => !gone.contains(operation),
    };
    steps.iter().filter(stays).copied().collect()
}

/// 3 is pushed after 2, and popped after it: not a stack. Removing the match of 2 hides that.
#[test]
fn figure_9_removing_a_match_may_hide_a_violation() {
    let steps = [
        Call(2, Add, Some(2)),
        Call(1, Add, Some(1)),
        Return(2, None),
        Call(3, Add, Some(3)),
        Return(3, None),
        Return(1, None),
        Call(11, Remove, None),
        Call(12, Remove, None),
        Return(12, Some(2)),
        Call(13, Remove, None),
        Return(11, Some(1)),
        Return(13, Some(3)),
    ];
    let mut monitor = Saturate::new(Object::Stack);
    assert!(seen_at(&mut monitor, &steps).is_some());
    assert!(seen_at(&mut Saturate::new(Object::Stack).forgetting(), &steps).is_some());
    let budget = Budget::unlimited();
    for letters in ["", "i", "c", "r", "i,r"] {
        let mut checker = Symbolic::new(Object::Stack, letters.parse().unwrap(), &budget);
        assert!(seen_at(&mut checker, &steps).is_some(), "{letters}");
    }
    all_see(Object::Stack, &without(&steps, &[2, 12]), None);
}

/// A second read of 1 comes after the match of write(1) and its first read is complete: forgetting
/// that match then would invent a violation.
#[test]
fn figure_10_a_match_that_may_grow_is_not_forgotten() {
    let steps = [
        Call(1, Write, Some(0)),
        Return(1, None),
        Call(2, Read, None),
        Return(2, Some(0)),
        Call(3, Read, None),
        Call(4, Write, Some(1)),
        Return(4, None),
        Call(5, Read, None),
        Return(5, Some(1)),
        Return(3, Some(0)),
        Call(6, Read, None),
        Return(6, Some(1)),
    ];
    all_see(Object::Register, &steps[..9], None);
    all_see(Object::Register, &steps, None);
    // The overwritten match of 0 is forgotten by then, and must not come back.
    let mut late = steps.to_vec();
    late.extend([Call(7, Read, None), Return(7, Some(0))]);
    all_see(Object::Register, &late, Some(14));
}

/// Both 2 and 3 must be gone when the stack is found empty, and one removal is pending: that 2 was
/// there before, only the match of 1 shows, so what it forces must outlive it. The paper's
/// saturation sees this when the pending removal tells what it took; ours sees it at once, by the
/// virtual removals of 2 and 3.
#[test]
fn figure_11_what_a_match_forces_outlives_it() {
    let mut steps = vec![
        Call(3, Add, Some(3)),
        Return(3, None),
        Call(1, Add, Some(1)),
        Return(1, None),
        Call(20, Remove, None),
        Call(2, Add, Some(2)),
        Call(12, Remove, None),
        Return(2, None),
        Call(11, Remove, None),
        Return(11, Some(1)),
        Return(20, None),
    ];
    all_see(Object::Stack, &steps, Some(11));
    all_see(Object::Stack, &without(&steps, &[1, 11]), None);
    steps.push(Return(12, Some(2)));
    // With a removal more to be pending, both can be gone.
    steps.insert(10, Call(13, Remove, None));
    all_see(Object::Stack, &steps, None);
    steps.push(Return(13, Some(3)));
    all_see(Object::Stack, &steps, None);
}
