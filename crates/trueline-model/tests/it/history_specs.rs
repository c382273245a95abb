//! Specifications for histories that are written in the modelling language: random histories,
//! damaged at random, are decided as the built-in specifications decide them, as whole files and as
//! streams.

use std::collections::HashMap;
use std::fmt::Write;

use trueline::formats;
use trueline::generate::{Generated, Plan};
use trueline::history::{Args, Call, Event, Part, Position};
use trueline::rng::{self, Rng};
use trueline::spec::{self, Named};
use trueline::stream::{self, Stopped};
use trueline::{Algorithm, Budget, Value};
use trueline_model::{Model, Specification, library};

/// A built-in specification, and the same in the modelling language.
const PAIRS: [(&str, &str); 11] = [
    (
        "queue",
        "spec { state q: seq<any>  enq(v: any) { q.push_back(v) }
         deq() -> any { if q.is_empty() { return none } return q.pop_front() } }",
    ),
    (
        "stack",
        "spec { state s: seq<any>  push(v: any) { s.push_back(v) }
         pop() -> any { if s.is_empty() { return none } return s.pop_back() } }",
    ),
    ("register", "spec { state x: any  write(v: any) { x = v }  read() -> any { return x } }"),
    // Where numbers are looked at before they are kept, and `none` is none of them.
    (
        "register",
        "spec { state x: 0..1000000000?  write(v: -5..1000000000) { x = v }
         read() -> 0..1000000000? { return x } }",
    ),
    (
        "queue",
        "spec { state q: seq<0..1000000000>  enq(v: -5..1000000000) { q = q ++ [v] }
         deq() -> 0..1000000000? { return q.is_empty() ? none : q.pop_front() } }",
    ),
    (
        "register",
        "record R { f: [0..1000000000?; 2] }
         spec { state m: map<0..1, R> write(v: -5..1000000000) { m[1] = R { f: [none, v] } }
         read() -> 0..1000000000? { if 1 in m { return m[1].f[1] } return none } }",
    ),
    // One of the ways through the operation has no end, and one leaves a range: what has no order
    // may be due to that.
    (
        "register",
        "spec { state x: any, n: 0..1
         write(v: any) {
           either { x = v } or { while true { either { n = 0 } or { n = 1 } } }
           or { n = 1; n = n + 1 }
           n = 0
         }
         read() -> any { either { return x } or { n = n - 1; return 77 } } }",
    ),
    (
        "cas-register:init=0",
        "spec { state x: 0..1000000000 = 0  write(v: 0..1000000000) { x = v }  read() -> 0..1000000000 { return x }
         cas(old: 0..1000000000, next: 0..1000000000) -> bool {
           if x == old { x = next; return true } return false } }",
    ),
    (
        "counter",
        "type N = -1000000000..1000000000
         spec { state n: N = 0  add(k: N) { n = n + k }  read() -> N { return n } }",
    ),
    (
        "set",
        "spec { state s: set<any>
         add(k: any) -> bool { return s.insert(k) }
         remove(k: any) -> bool { return s.remove(k) }
         contains(k: any) -> bool { return k in s } }",
    ),
    (
        "semiqueue:k=2",
        "spec { state q: seq<any>  enq(v: any) { q.push_back(v) }
         deq() -> any {
           if q.is_empty() { return none }
           local out: any = q.pop_front()
           either { skip } or {
             await !q.is_empty()
             local second: any = q.pop_front()
             q.push_front(out)
             out = second
           }
           return out } }",
    ),
];

/// What a process does.
#[derive(Clone)]
enum Happens {
    Call(String, Vec<Value>),
    Return(Value),
    Unknown,
}

/// Events of a random history, some of whose results may be wrong.
fn random(spec: &Named, rng: &mut Rng) -> Vec<(u32, Happens)> {
    let plan = Plan {
        operations: 1 + rng.below(9) as usize,
        processes: 1 + rng.below(4) as usize,
        seed: rng.number(),
        pending: [0.0, 0.0, 0.2][rng.below(3) as usize],
        unique: rng.below(2) == 0,
        overlap: [0.3, 0.7, 1.0][rng.below(3) as usize],
        ..Plan::default()
    };
    let mut events = Vec::new();
    let told = spec.generate_stream(&plan, &mut |process, told| {
        match told {
            Generated::Call(_, (method, args)) => {
                events.push((process, Happens::Call(method.to_string(), args)));
            }
            Generated::Return(result) => events.push((process, Happens::Return(result.clone()))),
            Generated::Unknown => events.push((process, Happens::Unknown)),
            Generated::Fail => unreachable!("no generated call is known not to have happened"),
        }
        true
    });
    told.unwrap();
    for _ in 0..rng.below(4) {
        let returns = returns(&events);
        if returns.is_empty() {
            break;
        }
        let (at, method) = &returns[rng.index(returns.len())];
        let alike: Vec<usize> =
            returns.iter().filter(|(_, other)| other == method).map(|(at, _)| *at).collect();
        let (at, other) = (*at, alike[rng.index(alike.len())]);
        let told = events[other].1.clone();
        events[other].1 = std::mem::replace(&mut events[at].1, told);
    }
    events
}

/// Where calls return, and of which methods they are.
fn returns(events: &[(u32, Happens)]) -> Vec<(usize, String)> {
    let mut called = HashMap::new();
    let mut returns = Vec::new();
    for (at, (process, event)) in events.iter().enumerate() {
        match event {
            Happens::Call(method, _) => drop(called.insert(process, method.clone())),
            Happens::Return(_) => returns.push((at, called[process].clone())),
            Happens::Unknown => {}
        }
    }
    returns
}

fn json(value: &Value) -> String {
    if value.is_nil() { "null".into() } else { value.to_string() }
}

fn text(events: &[(u32, Happens)]) -> String {
    let mut text = String::new();
    for (process, event) in events {
        let _ = match event {
            Happens::Call(method, args) => {
                let args: Vec<String> = args.iter().map(json).collect();
                let args = args.join(",");
                writeln!(text, r#"{{"process":{process},"call":"{method}","args":[{args}]}}"#)
            }
            Happens::Return(result) => {
                writeln!(text, r#"{{"process":{process},"return":{}}}"#, json(result))
            }
            Happens::Unknown => writeln!(text, r#"{{"process":{process},"unknown":true}}"#),
        };
    }
    text
}

/// The verdict on the events as a whole history.
fn checked(spec: &Named, text: &str) -> &'static str {
    let history = formats::read(text.as_bytes(), &formats::ReadOptions::default()).unwrap().0;
    let outcome = spec.check(&history, Algorithm::Auto, &Budget::unlimited());
    match outcome {
        Ok(outcome) => outcome.verdict.name(),
        Err(error) if is_doubt(error.message()) => "doubted",
        Err(error) => panic!("{error}: {}\n{text}", spec.text()),
    }
}

fn is_doubt(message: &str) -> bool {
    message.contains("leaves its range") || message.contains("does not end")
}

/// The verdict on them as a stream.
fn watched(spec: &Named, events: &[(u32, Happens)]) -> &'static str {
    let mut watch = spec.watch(stream::Algorithm::Exact).unwrap();
    let object = watch.object(Part::default()).unwrap();
    (0..8).for_each(|process| _ = watch.process(Value::Int(process)));
    for (process, event) in events {
        let event = match event {
            Happens::Call(method, args) => {
                let (method, args) = (watch.method(method), Args::from(args.clone()));
                Event::Call(object, Call { method, args })
            }
            Happens::Return(result) => Event::Return(result.clone()),
            Happens::Unknown => Event::Unknown,
        };
        match watch.event(*process, event, Position::default()) {
            Ok(()) => {}
            Err(Stopped::Violation(_)) => return "violation",
            Err(Stopped::Input(error)) if is_doubt(error.message()) => return "doubted",
            Err(other) => panic!("{other:?}"),
        }
    }
    "linearizable"
}

#[test]
fn histories_are_decided_as_by_the_built_in_specifications() {
    for (number, (name, source)) in PAIRS.iter().enumerate() {
        let built_in = spec::named(name).unwrap();
        let read =
            Specification::parse(source).unwrap_or_else(|e| panic!("{}", e.render(name, source)));
        let written = read.named(format!("{name}.tl")).unwrap();
        let raises = source.contains("while true");
        let (mut fine, mut violations) = (0, 0);
        let seeds = rng::seeds(300);
        let cases = seeds.cases();
        for seed in seeds {
            let events = random(&built_in, &mut Rng::new(seed ^ (number as u64) << 56));
            let text = text(&events);
            let wanted = checked(&built_in, &text);
            let own = if raises && wanted == "violation" { "doubted" } else { wanted };
            assert_eq!(checked(&written, &text), own, "{name}, seed {seed}:\n{text}");
            assert_eq!(watched(&written, &events), own, "{name}, seed {seed}:\n{text}");
            fine += u64::from(wanted == "linearizable");
            violations += u64::from(wanted == "violation");
        }
        assert!(fine > cases / 4 && violations > cases / 20, "{name}: {fine} {violations}");
    }
}

/// A number that leaves its range keeps an operation from being executed. What that leaves without
/// an order is an error of the specification, not a violation; what has an order is fine.
#[test]
fn a_range_that_is_too_small_is_no_violation() {
    let source = "spec { state n: 0..2 = 0  inc() { n = n + 1 }  dec() { n = n - 1 }  read() -> 0..9 { return n } }";
    let counter = Specification::parse(source).unwrap().named("counter.tl").unwrap();
    let history = |calls: &[(&str, &str)]| {
        let mut text = String::new();
        for (call, result) in calls {
            let _ = writeln!(text, r#"{{"process":0,"call":"{call}","args":[]}}"#);
            let _ = writeln!(text, r#"{{"process":0,"return":{result}}}"#);
        }
        formats::read(text.as_bytes(), &formats::ReadOptions::default()).unwrap().0
    };
    let inc = ("inc", "null");
    let check = |calls: &[(&str, &str)]| {
        counter.check(&history(calls), Algorithm::Auto, &Budget::unlimited())
    };
    let error = check(&[inc, inc, inc, ("read", "3")]).unwrap_err();
    assert_eq!(
        error.message(),
        "the specification of `inc` leaves its range: `n` would be 3, which is not one of 0..2"
    );
    assert_eq!(check(&[inc, inc, ("read", "2")]).unwrap().verdict.name(), "linearizable");
    // What was raised before counts no more.
    assert_eq!(check(&[inc, ("read", "2")]).unwrap().verdict.name(), "violation");
}

/// A loop without end keeps its own run from being executed, and nothing else: another order, another
/// choice, another history.
#[test]
fn a_loop_without_end_keeps_one_run_from_being_executed() {
    let source = "spec { state n: 0..10 = 0
        b() { while n == 0 { n = 0 } }
        a() { n = 1 }
        maybe() { either { while true { n = 0 } } or { n = 2 } }
        spin() { while true { n = 0 } }
        turns() { while true { either { n = 1 } or { n = 2 } } }
        get() -> 0..3 { return n } }";
    let spec = Specification::parse(source).unwrap().named("loops.tl").unwrap();
    let call = |process: i64, method: &str| {
        (process as u32, Happens::Call(method.to_string(), Vec::new()))
    };
    let back = |process: i64, result: Value| (process as u32, Happens::Return(result));
    let decided = |events: &[(u32, Happens)]| {
        let text = text(events);
        let history = formats::read(text.as_bytes(), &formats::ReadOptions::default()).unwrap().0;
        let whole = spec.check(&history, Algorithm::Auto, &Budget::unlimited());
        whole.map(|outcome| outcome.verdict.name()).map_err(|e| e.message().to_string())
    };
    // `b` overlaps `a`, and only after it does it end.
    let overlapping = [call(0, "b"), call(1, "a"), back(0, Value::Nil), back(1, Value::Nil)];
    assert_eq!(decided(&overlapping), Ok("linearizable"));
    assert_eq!(watched(&spec, &overlapping), "linearizable");
    let choosing = [call(0, "maybe"), back(0, Value::Nil), call(0, "get"), back(0, Value::Int(2))];
    assert_eq!(decided(&choosing), Ok("linearizable"));
    assert_eq!(watched(&spec, &choosing), "linearizable");
    let alone = [call(0, "spin"), back(0, Value::Nil)];
    let choosing = [call(0, "turns"), back(0, Value::Nil)];
    assert_eq!(
        decided(&choosing).unwrap_err(),
        "the specification of `turns` does not end: no choice ends its loop in line 6"
    );
    let told = decided(&alone).unwrap_err();
    assert!(told.starts_with("the specification of `spin` does not end: its loop"), "{told}");
    // What another history raised counts no more.
    let fine = [call(0, "get"), back(0, Value::Int(0))];
    assert_eq!(decided(&fine), Ok("linearizable"));
    let wrong = [call(0, "get"), back(0, Value::Int(3))];
    assert_eq!(decided(&wrong), Ok("violation"));
    // An operation that nobody needs to have been executed.
    let spinning = [call(1, "spin"), call(0, "get"), back(0, Value::Int(0))];
    assert_eq!(decided(&spinning), Ok("linearizable"));
    assert_eq!(watched(&spec, &spinning), "linearizable");
}

/// `await` says that an operation waits, so that nothing leaves a range.
#[test]
fn an_operation_that_awaits_in_vain_is_a_violation() {
    let source = "spec { state n: 0..1 = 1  acquire() { await n > 0; n = n - 1 } }";
    let lock = Specification::parse(source).unwrap().named("lock.tl").unwrap();
    let twice =
        "{\"process\":0,\"call\":\"acquire\",\"args\":[]}\n{\"process\":0,\"return\":null}\n"
            .repeat(2);
    assert_eq!(checked(&lock, &twice), "violation");
}

/// The specifications of models are specifications of histories, where they speak neither of
/// processes nor of nodes.
#[test]
fn models_give_their_specifications() {
    let (mut taken, mut refused) = (0, 0);
    for model in library::ALL {
        let compiled = Model::parse(model.source).is_ok();
        match Specification::parse(model.source) {
            Ok(read) => {
                assert!(compiled && read.named(model.name).is_ok(), "{}", model.name);
                taken += 1;
            }
            Err(error) => {
                let message = error.message();
                assert!(
                    message.contains("no specification of its own but the built-in")
                        || message.contains("cannot speak of processes"),
                    "{}: {message}",
                    model.name
                );
                refused += 1;
            }
        }
    }
    assert!(taken > 2 && refused > 2, "{taken} {refused}");
}

#[track_caller]
fn wrong(source: &str, expect: &str) {
    let error = Specification::parse(source).map(drop).expect_err(source);
    let (line, column) = error.span().line_column(source);
    assert_eq!(format!("{line}:{column}: {}", error.message()), expect);
}

#[test]
fn what_cannot_be_used_is_told_with_its_place() {
    wrong("spec Queue", "1:11: expected `{` and the specification, found the end of the file");
    wrong("spec { state x: any }", "1:1: the specification has no operation");
    wrong("spec { read() -> Value { return 1 } }", "1:18: no type is called `Value`");
    wrong(
        "spec {\n  state owner: pid\n  read() -> bool { return true }\n}",
        "2:16: a specification for histories cannot speak of processes or nodes",
    );
    wrong(
        "spec { state n: 0..3  f() -> bool { return me == null } }",
        "1:44: a specification for histories cannot speak of processes or nodes",
    );
    wrong("spec { a() { skip }  A() { skip } }", "1:22: a second operation is called `A`");
    wrong("spec { a(x: any) -> bool { return x < 3 } }", "1:35: expected a number, found any");
    wrong("spec { a() { skip } } spec", "1:23: expected the end of the file, found `spec`");
    wrong(
        "object Box() shared X: any  op read() -> 0..1 { return 0 } spec { read() { return 0 } } client { procs 1 }",
        "1:24: no type is called `any`",
    );
}
