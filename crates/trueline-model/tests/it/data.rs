//! `data` types: values that can only be copied and compared. A model with one has the verdict of
//! the same model with plain values, and fewer states, because values are exchanged.

use std::sync::Arc;

use trueline::{Budget, rng};
use trueline_model::engine::{Options, Report, Verdict, verify};
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
fn decide(model: &Model, options: &Options, about: &str) -> (Option<bool>, Report) {
    let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
    let report = verify(&program, options, &Budget::unlimited());
    let holds = match &report.verdict {
        Verdict::Verified => Some(true),
        Verdict::Violation(found) => {
            interpret::replay(model, Semantics::Default, &program, found)
                .unwrap_or_else(|why| panic!("{about}: {why}\n{}", model.source()));
            Some(false)
        }
        // The heap is full.
        Verdict::Unknown(_) => None,
        other => panic!("{about}: {other:?}"),
    };
    (holds, report)
}

fn length(report: &Report) -> Option<usize> {
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
                assert_eq!(report.states, bare.states, "{about}: nothing is exchanged\n{source}");
            }
            if switches == 1 && holds == Some(true) {
                assert!(report.states <= bare.states, "{about}\n{source}");
                fewer += u64::from(report.states < bare.states);
                with += report.states;
                without += bare.states;
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
            println!("{about}: {} of {} states", report.states, bare.states);
            if holds == Some(true) {
                assert!(report.states < bare.states, "{about}");
            }
        }
    }
}
