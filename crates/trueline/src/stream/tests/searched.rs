//! The general search on streams against whole histories: the same verdict, at the first return that makes a violation.

use super::{Case, What};
use crate::check::{Algorithm, Check};
use crate::history::{Args, Part, Position};
use crate::rng::{Rng, seeds};
use crate::spec::{self, Builtin, Opaque};
use crate::stream::{Ended, Searched, Stopped, Watch};
use crate::value::Value;
use crate::verdict::Verdict;

/// What the search says of the case, and after how many events.
fn watched<B: Builtin>(case: &Case<B::Op>, spec: &B) -> (usize, Option<Ended>) {
    let mut watch = Searched::new(Opaque::new(spec.clone()));
    let object = watch.object(Part::default()).unwrap();
    for i in 0..case.done.len() {
        watch.process(Value::Int(i as i64));
    }
    for (n, &(i, what)) in case.events.iter().enumerate() {
        let (process, at) = (i as u32, Position::default());
        let (_, op, result) = &case.done[i];
        let told = match what {
            What::Call => {
                let (method, args) = spec.encode(op);
                watch.call(process, object, method, Args::from(args), at)
            }
            What::Return => watch.returns(process, result.as_ref().unwrap(), at),
            What::Unknown => watch.unknown(process, at),
        };
        if let Err(ended) = told {
            return (n + 1, Some(ended));
        }
    }
    (case.events.len(), watch.finish().err())
}

fn compare<B: Builtin>(name: &str, spec: &B, seed: u64) {
    let (mut fine, mut violations, mut told, mut unknown) = (0, 0, 0, 0);
    let seeds = seeds(600);
    let total = seeds.cases();
    for number in seeds {
        let mut rng = Rng::new(number ^ seed << 56);
        let Some(case) = Case::random(spec, &mut rng, true) else { continue };
        let offline = |events| {
            let check = Check::new(spec.clone()).algorithm(Algorithm::DepthFirst);
            check.run(&case.history(events)).verdict
        };
        let shown = || format!("{name}, case {number}:\n{}", case.show(spec));
        match watched(&case, spec) {
            (events, None) => {
                assert!(offline(events).is_linearizable(), "missed: {}", shown());
                fine += 1;
            }
            (events, Some(Stopped::Violation(found))) => {
                assert!(offline(events).is_violation(), "too early, after {events}: {}", shown());
                assert!(offline(events - 1).is_linearizable(), "too late: {}", shown());
                violations += 1;
                let Verdict::Violation(explanation) = &found.outcome.verdict else {
                    panic!("{:?} explains {}", found.outcome.verdict, shown())
                };
                assert!(!explanation.operations.is_empty(), "{}", shown());
                told += u64::from(explanation.rechecked);
            }
            // So few configurations are allowed in tests that this happens.
            (_, Some(Stopped::Unknown(why))) => {
                assert!(why.contains("configurations"), "{why}: {}", shown());
                unknown += 1;
            }
            (_, Some(Stopped::Input(error))) => panic!("{error:?}: {}", shown()),
        }
    }
    println!(
        "{name}: {fine} fine, {violations} violations ({told} found again), {unknown} unknown"
    );
    assert!(fine > total / 10 && violations > total / 20, "{name}: {fine} {violations}");
    assert!(told > violations / 2 && unknown < total / 4, "{name}: {told} {unknown}");
}

#[test]
fn every_type_as_whole_histories_are_decided() {
    compare("queue", &spec::queue(), 41);
    compare("stack", &spec::stack(), 42);
    compare("register", &spec::register(Value::Nil), 43);
    compare("set", &spec::set(), 44);
    compare("priority queue", &spec::priority_queue(), 45);
}

/// Two processes that overlap all the time, so that there is never a moment of rest: what is held stays small, and a
/// violation at the end is found though operations before it are forgotten.
#[test]
fn a_stream_that_never_rests_is_watched_in_bounded_memory() {
    let mut watch = Searched::new(Opaque::new(spec::register(Value::Int(0))));
    let object = watch.object(Part::default()).unwrap();
    (0..2).for_each(|i| _ = watch.process(Value::Int(i)));
    let at = Position::default();
    let write = |watch: &mut Searched, process: u32, value: i64| {
        watch.call(process, object, "write", Args::from(vec![Value::Int(value)]), at)
    };
    write(&mut watch, 0, 0).unwrap();
    for i in 1..2_000i64 {
        write(&mut watch, (i % 2) as u32, i).unwrap();
        watch.returns(((i + 1) % 2) as u32, &Value::Nil, at).unwrap();
    }
    assert!(watch.tally().most_held < 64, "{:?}", watch.tally());
    watch.call(0, object, "read", Args::None, at).unwrap();
    let ended = watch.returns(0, &Value::Int(3), at).unwrap_err();
    let Stopped::Violation(found) = ended else { panic!("{ended:?}") };
    let Verdict::Violation(explanation) = &found.outcome.verdict else { panic!() };
    assert_eq!(explanation.sentence, "no order of the operations explains `read() -> 3`");
    assert!(explanation.start.is_some() && !explanation.rechecked);
}

/// A call that is known not to have happened explains nothing, and its result is not asked for.
#[test]
fn a_failed_call_explains_nothing() {
    let mut watch = Searched::new(Opaque::new(spec::register(Value::Int(0))));
    let object = watch.object(Part::default()).unwrap();
    (0..2).for_each(|i| _ = watch.process(Value::Int(i)));
    let at = Position::default();
    watch.call(0, object, "write", Args::from(vec![Value::Int(1)]), at).unwrap();
    watch.call(1, object, "read", Args::None, at).unwrap();
    watch.returns(1, &Value::Int(1), at).unwrap();
    let ended = watch.fails(0, at).unwrap_err();
    assert!(matches!(ended, Stopped::Violation(_)), "{ended:?}");
}

/// Many pending operations have many orders: the stream is undecided, and says so.
#[test]
fn too_many_configurations_are_undecided() {
    let mut watch = Searched::new(Opaque::new(spec::queue()));
    let object = watch.object(Part::default()).unwrap();
    (0..12).for_each(|i| _ = watch.process(Value::Int(i)));
    let at = Position::default();
    for i in 0..11 {
        watch.call(i, object, "enq", Args::from(vec![Value::Int(i.into())]), at).unwrap();
    }
    watch.call(11, object, "deq", Args::None, at).unwrap();
    let ended = watch.returns(11, &Value::Int(10), at).unwrap_err();
    assert!(matches!(&ended, Stopped::Unknown(why) if why.contains("configurations")), "{ended:?}");
}
