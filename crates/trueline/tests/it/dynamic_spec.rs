//! A built-in specification over calls by name says what the one over its own operations says.

use trueline::history::{Builder, Call, Part, Position};
use trueline::spec::{self, Invocation};
use trueline::{Check, History, Spec, Value, Verdict};

/// `(process, method, args, result)`, all in turn.
fn sequential(calls: &[(i64, &str, Vec<Value>, Value)]) -> History {
    let mut b = Builder::new();
    let part = b.part(Part::default());
    for (process, method, args, result) in calls {
        let (process, method) = (b.process(&Value::Int(*process)), b.method(method));
        let call = Call { method, args: args.clone().into() };
        b.call(process, part, call, Position::default()).unwrap();
        b.returns(process, result.clone(), Position::default()).unwrap();
    }
    b.finish()
}

#[track_caller]
fn check(name: &str, calls: &[(i64, &str, Vec<Value>, Value)], linearizable: bool) {
    let named = spec::named(name).unwrap();
    let history = sequential(calls);
    let direct = named.check(&history, trueline::Algorithm::Auto, &trueline::Budget::unlimited());
    assert_eq!(direct.unwrap().verdict.is_linearizable(), linearizable);
    let by_name = history
        .decode(|method, args, result| {
            Ok((Invocation::new(method, args.to_vec()), result.cloned()))
        })
        .unwrap();
    let verdict = Check::new(named.dynamic()).run(&by_name).verdict;
    assert_eq!(verdict.is_linearizable(), linearizable, "{verdict:?}");
    if let Verdict::Violation(explanation) = verdict {
        assert!(explanation.rechecked && !explanation.operations.is_empty());
    }
}

#[test]
fn a_dynamic_specification_decides_as_the_named_one_does() {
    let nil = || Value::Nil;
    let one = || vec![Value::Int(1)];
    let two = || vec![Value::Int(2)];
    let queue = |first: i64| {
        vec![(0, "enq", one(), nil()), (1, "enq", two(), nil()), (0, "deq", vec![], first.into())]
    };
    check("queue", &queue(1), true);
    check("queue", &queue(2), false);
    check("stack", &[(0, "push", one(), nil()), (0, "pop", vec![], 1.into())], true);
    check("register:init=7", &[(0, "read", vec![], 7.into())], true);
    check("register:init=7", &[(0, "read", vec![], 8.into())], false);
    check("set", &[(0, "add", one(), true.into()), (1, "contains", one(), false.into())], false);
}

#[test]
fn calls_that_are_none_of_the_specification_are_told_apart() {
    let queue = spec::named("queue").unwrap().dynamic();
    assert_eq!(queue.accepts(&Invocation::new("enq", vec![Value::Int(1)])), Ok(()));
    assert!(queue.accepts(&Invocation::new("fly", vec![])).is_err());
    let enq = Invocation::new("enq", vec![Value::Int(1)]);
    assert_eq!(format!("{enq:?}"), "enq(1)");
    let mut next = Vec::new();
    queue.step(&queue.initial(), &enq, None, &mut next);
    assert_eq!(next.len(), 1);
    assert_ne!(next[0], queue.initial());
    assert_eq!(queue.show_state(&next[0]), "[1]");
}
