//! Reductions never change a verdict: every built-in model, under every setting that its header
//! speaks of, in all combinations of switches.

use std::sync::Arc;

use trueline::Budget;
use trueline_model::engine::{Options, Reason, Simple, Verdict, verify};
use trueline_model::{Model, Semantics, library};

/// States that a run may expand. `TRUELINE_CASES` times a thousand, where it is set.
fn most_states() -> u64 {
    let cases = std::env::var("TRUELINE_CASES").ok().and_then(|c| c.parse::<u64>().ok());
    cases.map_or(20_000, |c| c * 1000)
}

#[test]
fn every_model_and_mutant_agrees_in_all_combinations() {
    let (mut decided, mut cut) = (0, 0);
    for built_in in library::ALL {
        let model = Model::parse(built_in.source).unwrap();
        for expectation in model.expectations() {
            if !matches!(expectation.verdict.as_str(), "verified" | "violation") {
                continue;
            }
            let mut model = model.clone();
            for (name, value) in &expectation.settings {
                model.set(name, *value).unwrap();
            }
            let program = Arc::new(model.compile(Semantics::Default, expectation.points).unwrap());
            let mut lengths = Vec::new();
            for bits in 0..8 {
                let options = Options {
                    symmetry: bits & 1 != 0,
                    partial_order: bits & 2 != 0,
                    antichain: bits & 4 != 0,
                    points: expectation.points,
                    threads: 1 + (bits & 1),
                    simple: expectation
                        .simple
                        .then(|| Simple { automata: bits & 1 != 0, ..Simple::default() }),
                    ..Options::default()
                };
                let report = verify(&program, &options, &Budget::unlimited().steps(most_states()));
                let about = format!("{} {:?} {bits:03b}", built_in.name, expectation);
                match &report.verdict {
                    Verdict::Holds => assert_eq!(expectation.verdict, "verified", "{about}"),
                    Verdict::Violation(found) => {
                        assert_ne!(found.reason, Reason::WrongPoints, "{about}");
                        assert_eq!(expectation.verdict, "violation", "{about}");
                        if found.shortest {
                            lengths.push(found.trace.steps.len());
                        }
                    }
                    Verdict::Undecided(why) => {
                        assert!(why.message.contains("steps is spent"), "{about}: {why}");
                        cut += 1;
                        continue;
                    }
                }
                decided += 1;
            }
            lengths.dedup();
            assert!(lengths.len() <= 1, "{} {:?}: {lengths:?}", built_in.name, expectation);
        }
    }
    println!("{decided} runs decided, {cut} cut short");
    assert!(decided > 3 * cut, "{decided} decided, {cut} cut short");
}
