//! `data` types: values that can only be copied and compared. A model with one has the verdict of
//! the same model with plain values, and fewer states, because values are exchanged.

use std::sync::Arc;

use trueline::{Budget, rng};
use trueline_model::engine::{Counterexample, Counts, Options, Outcome, Reason, Verdict, verify};
use trueline_model::interpret::{self, Naive, search_naively};
use trueline_model::{Model, Semantics, generate, library};

/// The same model with numbers in the place of opaque values.
fn plain(source: &str) -> String {
    let mut lines = Vec::new();
    for line in source.lines() {
        lines.push(match line.strip_prefix("data ").and_then(|rest| rest.split_once('(')) {
            Some((name, count)) => format!("type {name} = 1..{}", count.trim_end_matches(')')),
            None => line.to_string(),
        });
    }
    lines.join("\n")
}

fn read(source: &str) -> Model {
    Model::parse(source).unwrap_or_else(|e| panic!("{}", e.render("model.tl", source)))
}

/// What came of the search; a counterexample is one for the interpreter, too.
fn decide(
    model: &Model,
    options: &Options,
    about: &str,
) -> (Option<bool>, Outcome<Counterexample, Counts>) {
    let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
    let report = verify(&program, options, &Budget::unlimited());
    let holds = match &report.verdict {
        Verdict::Holds => Some(true),
        Verdict::Violation(found) => {
            interpret::replay(model, Semantics::Default, &program, found)
                .unwrap_or_else(|why| panic!("{about}: {why}\n{}", model.source()));
            Some(false)
        }
        // The heap is full.
        Verdict::Undecided(why) if why.message.contains("is full") => None,
        Verdict::Undecided(why) => panic!("{about}: {why:?}"),
    };
    (holds, report)
}

fn length(report: &Outcome<Counterexample, Counts>) -> Option<usize> {
    match &report.verdict {
        Verdict::Violation(found) => Some(found.trace.steps.len()),
        _ => None,
    }
}

#[test]
fn opaque_values_decide_as_plain_ones_with_fewer_states() {
    let (mut verified, mut violations, mut cases, mut fewer) = (0, 0, 0, 0);
    let (mut with, mut without) = (0, 0);
    for seed in rng::seeds(150) {
        cases += 1;
        let source = generate::opaque(seed);
        let (opaque, plain) = (read(&source), read(&plain(&source)));
        for switches in [0, 1, 3, 5, 7] {
            let options = Options {
                symmetry: switches & 1 != 0,
                partial_order: switches & 2 != 0,
                antichain: switches & 4 != 0,
                ..Options::plain()
            };
            let about = format!("seed {seed}, switches {switches}");
            let (holds, report) = decide(&opaque, &options, &about);
            let (expected, bare) = decide(&plain, &options, &about);
            assert_eq!(holds, expected, "{about}\n{source}");
            if holds.is_none() {
                continue;
            }
            if !options.partial_order {
                assert_eq!(length(&report), length(&bare), "{about}\n{source}");
            }
            if !options.symmetry && holds == Some(true) {
                assert_eq!(
                    report.counts.states, bare.counts.states,
                    "{about}: nothing is exchanged\n{source}"
                );
            }
            if switches == 1 && holds == Some(true) {
                assert!(report.counts.states <= bare.counts.states, "{about}\n{source}");
                fewer += u64::from(report.counts.states < bare.counts.states);
                with += report.counts.states;
                without += bare.counts.states;
                verified += 1;
            }
            violations += u64::from(switches == 1 && holds == Some(false));
        }
    }
    println!("{cases} models: {verified} verified, {violations} violations");
    println!("verified ones: {with} states with data, {without} without; fewer in {fewer}");
    assert!(verified * 10 > cases && violations * 10 > cases, "{verified}, {violations}");
    assert!(fewer * 10 > verified * 9 && with * 3 < without * 2, "{fewer}: {with} of {without}");
}

#[test]
fn opaque_values_agree_with_the_naive_search() {
    let (mut verified, mut violations) = (0, 0);
    for seed in rng::seeds(25) {
        let source = generate::opaque(seed);
        let model = read(&source);
        let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
        let naive = search_naively(&model, Semantics::Default, &program, 20_000).unwrap();
        let (holds, _) = decide(&model, &Options::default(), &format!("seed {seed}"));
        match (naive, holds) {
            (_, None) | (Naive::TooLarge, _) => {}
            (naive, holds) => {
                assert_eq!(Some(naive == Naive::Verified), holds, "seed {seed}\n{source}");
                verified += u64::from(holds == Some(true));
                violations += u64::from(holds == Some(false));
            }
        }
    }
    assert!(verified > 3 && violations > 3, "{verified}, {violations}");
}

/// Built-in specifications know no `data` type: their states are renamed by going the same way with
/// other values.
#[test]
fn models_of_the_library_decide_the_same_with_opaque_values() {
    let cases: [(&str, &[(&str, i32)]); 7] = [
        ("treiber", &[("procs", 2), ("ops", 2)]),
        ("treiber", &[("procs", 2), ("ops", 2), ("bug", 1)]),
        ("treiber", &[("procs", 2), ("ops", 2), ("values", 3)]),
        ("ms-queue", &[("procs", 2), ("ops", 2)]),
        ("two-lock-queue", &[("procs", 2), ("ops", 2)]),
        ("herlihy-wing", &[("procs", 2), ("ops", 2)]),
        ("elimination-stack", &[("procs", 2), ("ops", 2)]),
    ];
    for (name, settings) in cases {
        let source = library::find(name).unwrap().source;
        let opaque = source.replacen("type Value = 1..values", "data Value(values)", 1).replacen(
            "type Value = 1..2",
            "data Value(2)",
            1,
        );
        assert!(opaque.contains("data Value"), "{name}");
        let [mut plain, mut opaque] = [source, &opaque].map(read);
        for (key, value) in settings {
            plain.set(key, *value).unwrap();
            opaque.set(key, *value).unwrap();
        }
        for options in [
            Options::default(),
            Options { partial_order: false, antichain: false, ..Options::default() },
        ] {
            let about = format!("{name} {settings:?}");
            let (holds, report) = decide(&opaque, &options, &about);
            let (expected, bare) = decide(&plain, &options, &about);
            assert_eq!(holds, expected, "{about}");
            println!("{about}: {} of {} states", report.counts.states, bare.counts.states);
            if holds == Some(true) {
                assert!(report.counts.states < bare.counts.states, "{about}");
            }
        }
    }
}

const MODEL: &str = "object Cell
data Value(2)
data Other(2)
shared X: Value?, A: [Value?; 2]
op write(v: Value) { X = v }
op read() -> Value? { return X }
spec { state x: Value? write(v) { x = v } read() { return x } }
client { procs 2; ops 2 }
";

#[track_caller]
fn refused(from: &str, to: &str, message: &str, help: &str) {
    assert!(MODEL.contains(from), "{from}");
    let source = MODEL.replacen(from, to, 1);
    let error = Model::parse(&source).expect_err("this should be refused");
    assert_eq!(error.message(), message, "{}", error.render("m.tl", &source));
    assert_eq!(error.suggestion().unwrap_or(""), help, "{}", error.render("m.tl", &source));
}

/// What would tell one value from another is no program: data independence is a matter of types.
#[test]
fn what_tells_values_apart_is_refused() {
    read(MODEL);
    let alike = "they can be copied, and compared with `==` and `!=`: they are alike";
    let numbers = "values of Value are not numbers";
    refused("X = v", "if v < v { X = v }", numbers, alike);
    refused("X = v", "if X < v { X = v }", numbers, alike);
    refused("X = v", "if v + 1 == 2 { X = v }", numbers, alike);
    refused("X = v", "fetch_add(X, 1)", numbers, alike);
    refused("{ x = v }", "{ if x > v { x = v } }", numbers, alike);
    refused("{ x = v }", "{ x = max(x, v) }", "values of Value? are not numbers", alike);
    let needed = "a value of type 0..1 is needed here";
    refused("X = v", "A[v] = v", "expected 0..1, found Value", needed);
    let named = "the values of a `data` type have no names: they come as arguments";
    let needed = "a value of type Value? is needed here";
    refused("X = v", "X = 1", "expected Value?, found the number 1", needed);
    let found = "expected Value, found the number 1";
    refused("X = v", "local w: Value = 1; X = w", found, named);
    let both = "both sides must be of one type";
    let compared = "Value and the number 1 cannot be compared";
    refused("X = v", "if v == 1 { X = v }", compared, both);
    let compared = "Value and Other cannot be compared";
    refused("X = v", "local o: Other; if v == o { X = v }", compared, both);
    let names = "values of Value have no names";
    refused("procs 2", "role writer 1 { write(1) }", names, "write `_`: any of them");
    let (none, first) =
        ("values of Value? have no names", "a variable of a `data` type begins as `none`");
    refused("X: Value?", "X: Value? = 1", none, first);
    refused("op write", "local kept: Value? = 1 op write", none, first);
    refused("[Value?; 2]", "[Value?; 2] = [none, 1]", none, first);
    let found = "expected Value?, found the number 1";
    refused("state x: Value?", "state x: Value? = 1", found, needed);
    let spec = "{ state x: Value? write(v) { x = v } read() { return x } }";
    let plain = "give the operations a range of numbers: `type Value = 1..2`";
    let init = "`init` is one of the numbers, not of a `data` type";
    refused(spec, "register(init: 1)", init, plain);
    refused(spec, "priority-queue", "`priority-queue` does not treat all values alike", plain);
    read(&MODEL.replacen(spec, "register(init: none)", 1));
    let many = "at most 16 processes and values of `data` types can be checked";
    let message = "`Value` has too many or too few values";
    refused("data Value(2)", "data Value(20)", message, many);
    let message = "expected `(` and the number of values, found `data`";
    let help = "say how many values there are: `data Value(2)`";
    refused("data Value(2)", "data Value", message, help);
}

/// A value that was never given is none: it cannot be returned where a value is promised.
#[test]
fn what_was_never_given_is_no_value() {
    let source = MODEL
        .replacen("read() -> Value?", "read() -> Value", 1)
        .replacen("X: Value?", "X: Value", 1)
        .replacen("state x: Value?", "state x: Value", 1);
    let model = read(&source);
    let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
    let report = verify(&program, &Options::default(), &Budget::unlimited());
    let Verdict::Violation(found) = &report.verdict else { panic!("{:?}", report.verdict) };
    let Reason::Fault(fault) = &found.reason else { panic!("{:?}", found.reason) };
    assert!(fault.leaves_range, "{fault}");
    interpret::replay(&model, Semantics::Default, &program, found).unwrap();
    // A specification that has no value waits, and so may who asks for one.
    let waits = source.replacen("{ return X }", "{ await X != none; return X }", 1);
    assert_eq!(decide(&read(&waits), &Options::default(), "waits").0, Some(true));
}

/// A data type in a file that `--spec` reads is any value of a history.
#[test]
fn a_specification_with_data_types_reads_any_value() {
    let queue = "data Value(2)
        spec { state q: seq<Value>
          enq(v: Value) { q.push_back(v) }
          deq() -> Value { return q.pop_front() } }";
    for source in [queue.to_string(), MODEL.to_string()] {
        trueline_model::Specification::parse(&source)
            .unwrap_or_else(|e| panic!("{}", e.render("m.tl", &source)));
    }
}
