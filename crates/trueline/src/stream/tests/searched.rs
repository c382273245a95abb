//! Compares the general search on streams with whole histories: the same verdict, at the first
//! return that makes a violation.

use super::{Case, What};
use crate::check::{Algorithm, Check};
use crate::history::{Args, Call, Event, Part, Position};
use crate::rng::{Rng, seeds};
use crate::spec::{self, Builtin, Opaque};
use crate::stream::{Ended, Stopped, Watch};
use crate::value::Value;
use crate::verdict::Verdict;

fn call(watch: &mut Watch, process: u32, method: &str, args: Vec<Value>) -> Result<(), Ended> {
    let call = Call { method: watch.method(method), args: Args::from(args) };
    watch.event(process, Event::Call(0, call), Position::default())
}

fn returns(watch: &mut Watch, process: u32, result: Value) -> Result<(), Ended> {
    watch.event(process, Event::Return(result), Position::default())
}

/// Watches one object with this many processes.
fn searched(spec: impl Builtin, processes: usize) -> Watch {
    let mut watch = Watch::searched(Opaque::new(spec));
    watch.object(Part::default()).unwrap();
    (0..processes).for_each(|i| _ = watch.process(Value::Int(i as i64)));
    watch
}

/// The search's verdict on the case, and the number of events after which it is reported.
fn watched<B: Builtin>(case: &Case<B::Op>, spec: &B) -> (usize, Option<Ended>) {
    let mut watch = searched(spec.clone(), case.done.len());
    for (n, &(i, what)) in case.events.iter().enumerate() {
        let process = i as u32;
        let (_, op, result) = &case.done[i];
        let told = match what {
            What::Call => {
                let (method, args) = spec.encode(op);
                call(&mut watch, process, method, args)
            }
            What::Return => returns(&mut watch, process, result.clone().unwrap()),
            What::Unknown => watch.event(process, Event::Unknown, Position::default()),
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

/// Two processes that overlap all the time, so that the object is never at rest: memory stays
/// small, and a violation at the end is found although earlier operations are forgotten.
#[test]
fn a_stream_that_never_rests_is_watched_in_bounded_memory() {
    let mut watch = searched(spec::register(Value::Int(0)), 2);
    let write = |watch: &mut Watch, process: u32, value: i64| {
        call(watch, process, "write", vec![Value::Int(value)])
    };
    write(&mut watch, 0, 0).unwrap();
    for i in 1..2_000i64 {
        write(&mut watch, (i % 2) as u32, i).unwrap();
        returns(&mut watch, ((i + 1) % 2) as u32, Value::Nil).unwrap();
    }
    assert!(watch.tally().most_held < 64, "{:?}", watch.tally());
    call(&mut watch, 0, "read", Vec::new()).unwrap();
    let ended = returns(&mut watch, 0, Value::Int(3)).unwrap_err();
    let Stopped::Violation(found) = ended else { panic!("{ended:?}") };
    let Verdict::Violation(explanation) = &found.outcome.verdict else { panic!() };
    assert_eq!(explanation.sentence, "no order of the operations explains `read() -> 3`");
    assert!(explanation.start.is_some() && !explanation.rechecked);
}

/// A call that is known not to have happened explains nothing, and its result is not requested.
#[test]
fn a_failed_call_explains_nothing() {
    let mut watch = searched(spec::register(Value::Int(0)), 2);
    call(&mut watch, 0, "write", vec![Value::Int(1)]).unwrap();
    call(&mut watch, 1, "read", Vec::new()).unwrap();
    returns(&mut watch, 1, Value::Int(1)).unwrap();
    let ended = watch.event(0, Event::Fail, Position::default()).unwrap_err();
    assert!(matches!(ended, Stopped::Violation(_)), "{ended:?}");
}

/// Many pending operations have many orders: the stream is reported as undecided.
#[test]
fn too_many_configurations_are_undecided() {
    let mut watch = searched(spec::queue(), 12);
    for i in 0..11 {
        call(&mut watch, i, "enq", vec![Value::Int(i.into())]).unwrap();
    }
    call(&mut watch, 11, "deq", Vec::new()).unwrap();
    let ended = returns(&mut watch, 11, Value::Int(10)).unwrap_err();
    assert!(matches!(&ended, Stopped::Unknown(why) if why.contains("configurations")), "{ended:?}");
}
