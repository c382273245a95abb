//! Snapshot algorithms: the counts of the published models, the three modes against each other, and
//! what their language needs.

use std::sync::Arc;

use trueline::Budget;
use trueline_model::engine::{Counterexample, Counts, Options, Outcome, Simple, Verdict, verify};
use trueline_model::{Model, Semantics, interpret, library};

fn model(name: &str, settings: &[(&str, i32)]) -> Model {
    let built_in = library::find(&format!("{name}-snapshot")).unwrap();
    let mut model = Model::parse(built_in.source).unwrap();
    for (name, value) in settings {
        model.set(name, *value).unwrap();
    }
    model
}

/// A violation is replayed by the interpreter.
fn run(model: &Model, semantics: Semantics, options: &Options) -> Outcome<Counterexample, Counts> {
    let program = Arc::new(model.compile(semantics, false).unwrap());
    let report = verify(&program, options, &Budget::unlimited());
    if let Verdict::Violation(found) = &report.verdict {
        interpret::replay(model, semantics, &program, found).unwrap();
    }
    report
}

fn simple(automata: bool, pairs: &[(usize, usize)]) -> Option<Simple> {
    Some(Simple { automata, pairs: pairs.to_vec(), ..Simple::default() })
}

#[test]
fn bowmans_counts_are_those_of_the_published_models() {
    let unreduced = Options { antichain: true, ..Options::plain() };
    let full = model("bowman", &[("procs", 3), ("ops", 1), ("pat", 1)]);
    let report = run(&full, Semantics::Pat, &unreduced);
    assert!(matches!(report.verdict, Verdict::Holds));
    assert_eq!(report.counts.states, 22_092);

    let few = model("bowman", &[("procs", 3), ("ops", 0), ("pat", 2)]);
    let settles_at_scans = true;
    let pairs = vec![(0, 1)];
    let simple = Some(Simple { pairs, settles_at_scans, ..Simple::default() });
    let report = run(&few, Semantics::Pat, &Options { simple, ..unreduced });
    assert!(matches!(report.verdict, Verdict::Holds));
    assert_eq!(report.counts.states, 109_152);
}

#[test]
fn the_three_modes_agree_on_two_processes() {
    for name in ["bowman", "jayanti", "afek-bounded", "afek-unbounded", "attiya-welch", "riany"] {
        for bug in [0, 1] {
            let model = model(name, &[("procs", 2), ("ops", 1), ("bug", bug)]);
            let modes = [None, simple(false, &[]), simple(true, &[])];
            let verdicts: Vec<bool> = modes
                .into_iter()
                .map(|simple| {
                    let options = Options { simple, ..Options::default() };
                    match run(&model, Semantics::Default, &options).verdict {
                        Verdict::Holds => true,
                        Verdict::Violation(_) => false,
                        other => panic!("{name} {bug}: {other:?}"),
                    }
                })
                .collect();
            assert!(verdicts.iter().all(|v| *v == verdicts[0]), "{name} {bug}: {verdicts:?}");
            assert!(bug == 1 || verdicts[0], "{name} is correct");
        }
    }
}

#[test]
fn every_pair_is_looked_at() {
    // Scans read the segments in order: a violation needs that the segment that is read first
    // changes last.
    let text = "object Collect(procs: 2..4 = 3)\n\
        type Value = 0..1\n\
        shared A: [Value; procs]\n\
        op update(v: Value) { A[number(me)] = v }\n\
        op scan() -> [Value; procs] {\n\
          local i: 0..procs, a: [Value; procs]\n\
          while i < procs { atomic { a[i] = A[i]; i = i + 1 } }\n\
          return a\n\
        }\n\
        spec snapshot\n\
        client { procs procs asymmetric; ops 1 }\n";
    let model = Model::parse(text).unwrap();
    for pair in [(0, 1), (0, 2), (1, 2)] {
        for automata in [false, true] {
            for partial_order in [false, true] {
                let simple = simple(automata, &[pair]);
                let options = Options { simple, partial_order, ..Options::default() };
                let report = run(&model, Semantics::Default, &options);
                assert!(matches!(report.verdict, Verdict::Violation(_)), "{pair:?} {report:?}");
            }
        }
    }
    let options = Options { simple: simple(true, &[(1, 3)]), ..Options::default() };
    let report = run(&model, Semantics::Default, &options);
    assert!(report.error().is_some());
}

#[test]
fn random_runs_find_what_is_deep() {
    // One scanner rests before it publishes, while two others perform whole operations.
    let model = model("jayanti", &[("procs", 3), ("ops", 1), ("bug", 1)]);
    let pairs = vec![(0, 1)];
    let simple = Some(Simple { automata: true, pairs, walks: 100_000, ..Simple::default() });
    let report = run(&model, Semantics::Default, &Options { simple, ..Options::default() });
    assert!(matches!(report.verdict, Verdict::Violation(_)), "{report:?}");
    assert_eq!(report.counts.states, 0, "the search was needed");
}

#[test]
fn bugs_among_ten_processes_are_found() {
    for name in ["bowman", "afek-unbounded"] {
        let model = model(name, &[("procs", 10), ("ops", 2), ("bug", 1)]);
        let pairs = vec![(0, 1)];
        let simple = Some(Simple { automata: true, pairs, walks: 100_000, ..Simple::default() });
        let report = run(&model, Semantics::Default, &Options { simple, ..Options::default() });
        assert!(matches!(report.verdict, Verdict::Violation(_)), "{name}: {report:?}");
    }
}

#[track_caller]
fn refused(change: (&str, &str), expect: &str) {
    let text = "object S(procs: 1..4 = 2)\n\
        shared A: [0..1; procs]\n\
        local a: [0..1; procs]\n\
        op update(v: 0..1) { A[number(me)] = v }\n\
        op scan() -> [0..1; procs] { a[0] = A[0]; return a }\n\
        spec snapshot\n\
        client { procs procs asymmetric; ops 1 }\n";
    assert!(text.contains(change.0));
    Model::parse(text).unwrap();
    let error = Model::parse(&text.replace(change.0, change.1)).unwrap_err();
    assert!(error.message().contains(expect), "{}", error.message());
}

#[test]
fn what_is_no_snapshot_is_refused() {
    refused(("return a", "return A"), "an array is read cell by cell");
    refused(("return a", "return 1"), "an array that is returned must be a variable");
    refused(("-> [0..1; procs]", "-> [0..1; 3]"), "found");
    refused(("spec snapshot", "spec snapshot(init: 7)"), "7 is not one of 0..1");
    refused(("spec snapshot", "spec snapshot(size: 7)"), "no parameter `size`");
    refused(("op update(v: 0..1)", "op store(v: 0..1)"), "has an operation `update`");
    refused((" asymmetric", ""), "");
}
