//! Every model under `models/` is read, and compiles under all settings that its header speaks of.

use std::fs;
use std::path::{Path, PathBuf};

use trueline_model::{Model, Semantics};

fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "tl"))
        .collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Model {
    let source = fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    Model::parse(&source).unwrap_or_else(|error| panic!("{}", error.render(&name, &source)))
}

#[test]
fn every_model_says_its_verdicts_and_compiles() {
    let paths = models();
    assert!(paths.len() >= 2);
    for path in paths {
        let model = read(&path);
        let expectations = model.expectations();
        assert!(!expectations.is_empty(), "{} expects nothing", path.display());
        for expectation in expectations {
            let mut model = model.clone();
            for (name, value) in &expectation.settings {
                model.set(name, *value).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            }
            for semantics in [Semantics::Default, Semantics::Pat] {
                let program = model.compile(semantics, expectation.points);
                if semantics == Semantics::Pat && model.source().contains("\nprocedure ") {
                    let message = "procedures have no cost in the semantics of PAT";
                    assert_eq!(program.unwrap_err().message(), message, "{}", path.display());
                    continue;
                }
                if let Err(error) = &program {
                    panic!("{}", error.render(&path.display().to_string(), model.source()));
                }
                if std::env::var_os("TRUELINE_DUMP").is_some() {
                    println!("{expectation:?} {semantics:?} {program:#?}");
                }
            }
        }
    }
}

use std::sync::Arc;
use trueline::Budget;
use trueline_model::engine::{self, Options, Reason, Simple, Verdict};
use trueline_model::interpret;

fn model(name: &str) -> Model {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name))
}

#[track_caller]
fn count(name: &str, settings: &[(&str, i32)], semantics: Semantics, points: bool, expected: u64) {
    let mut model = model(name);
    for (parameter, value) in settings {
        model.set(parameter, *value).unwrap();
    }
    let program = Arc::new(model.compile(semantics, points).unwrap());
    let options = Options { points, ..Options::plain() };
    let report = engine::verify(&program, &options, &Budget::unlimited());
    assert!(matches!(report.verdict, Verdict::Holds), "{:?}", report.verdict);
    assert_eq!(report.counts.states, expected, "{name} {settings:?} {semantics:?} points {points}");
}

#[test]
fn the_papers_counts_come_out_of_the_text() {
    let pat = Semantics::Pat;
    count("counter.tl", &[("procs", 3), ("size", 4)], pat, false, 3674);
    count("counter.tl", &[("procs", 4), ("size", 4)], pat, false, 124_558);
    count("counter.tl", &[("procs", 3), ("size", 4)], pat, true, 535);
    count("counter.tl", &[("procs", 4), ("size", 4)], pat, true, 9165);
    count("counter.tl", &[("procs", 5), ("size", 2)], pat, true, 175_747);
    count("register.tl", &[("procs", 3), ("values", 4)], pat, false, 9338);
    count("register.tl", &[("procs", 4), ("values", 3)], pat, false, 52_381);
}

/// PAT's encoding with nothing but stale locals cleared has 403; here the local of a retry is
/// cleared too.
#[test]
fn the_default_semantics_needs_fewer_states() {
    count("counter.tl", &[("procs", 3), ("size", 4)], Semantics::Default, true, 391);
}

#[test]
fn every_model_has_the_verdicts_that_its_header_expects() {
    let only = std::env::var("TRUELINE_MODEL").ok();
    let mut wrong = Vec::new();
    for path in models() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let model = read(&path);
        for expectation in model.expectations() {
            let mut model = model.clone();
            for (name, value) in &expectation.settings {
                model.set(name, *value).unwrap();
            }
            let points = expectation.points;
            let program = Arc::new(model.compile(Semantics::Default, points).unwrap());
            let walks = 100_000;
            let simple =
                expectation.simple.then(|| Simple { automata: true, walks, ..Simple::default() });
            let options = Options { points, simple, ..Options::default() };
            let started = std::time::Instant::now();
            let report = engine::verify(&program, &options, &Budget::unlimited());
            let verdict = match &report.verdict {
                Verdict::Holds => "verified".to_string(),
                Verdict::Violation(found) if found.reason == Reason::WrongPoints => {
                    "wrong points".to_string()
                }
                Verdict::Violation(_) => "violation".to_string(),
                Verdict::Undecided(why) => format!("unknown: {why}"),
            };
            println!(
                "{name} {:?} points {points}: {verdict}, {} states, {:.2} s",
                expectation.settings,
                report.counts.states,
                started.elapsed().as_secs_f64()
            );
            if let Verdict::Violation(counterexample) = &report.verdict
                && counterexample.reason != Reason::WrongPoints
            {
                let replayed =
                    interpret::replay(&model, Semantics::Default, &program, counterexample);
                if let Err(why) = replayed {
                    wrong.push(format!("{name} {expectation:?} is not replayed: {why}"));
                }
            }
            if verdict != expectation.verdict {
                let detail = match &report.verdict {
                    Verdict::Violation(c) => {
                        let mut out = format!("{:?}\n", c.reason);
                        for step in &c.trace.steps {
                            let at = step.location.map(|l| &program.locations[l]);
                            let at =
                                at.map_or(String::new(), |l| format!("{}: {}", l.line, l.text));
                            out += &format!(
                                "  P{} {:?} {at} -> {:?} {:?}\n",
                                step.process, step.events, step.shared, step.private
                            );
                        }
                        out
                    }
                    _ => String::new(),
                };
                wrong.push(format!("{name} {expectation:?}: {verdict}\n{detail}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
