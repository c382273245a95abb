//! Random small models: every combination of reductions agrees with a naive search by the
//! interpreter, which shares no code with the engine, and every counterexample is replayed.

use std::sync::Arc;

use trueline::{Budget, rng};
use trueline_model::engine::{Options, Verdict, verify};
use trueline_model::interpret::{Naive, replay, search_naively};
use trueline_model::{Model, Semantics, generate};

#[test]
fn all_reductions_agree_with_a_naive_search() {
    let (mut verified, mut violations, mut skipped) = (0, 0, 0);
    for seed in rng::seeds(60) {
        // One in three is as plain as can be, so that what is found there is small.
        let source = match seed % 3 {
            0 => generate::model(seed),
            _ => generate::varied(seed),
        };
        let model = Model::parse(&source)
            .unwrap_or_else(|error| panic!("seed {seed}: {}", error.render("random.tl", &source)));
        let both = [Semantics::Default, Semantics::Pat];
        for semantics in &both[..if seed % 4 == 0 { 2 } else { 1 }] {
            let semantics = *semantics;
            let program = Arc::new(model.compile(semantics, false).unwrap());
            // The naive search would give up on what has many states, after a long time.
            let plain = verify(&program, &Options::plain(), &Budget::unlimited());
            let naive = match plain.counts.states > 1_000 {
                true => Naive::TooLarge,
                false => search_naively(&model, semantics, &program, 4_000).unwrap(),
            };
            match naive {
                Naive::Verified => verified += 1,
                Naive::Violation => violations += 1,
                Naive::TooLarge => skipped += 1,
            }
            let mut first: Option<bool> = None;
            for switches in 0..8 {
                let options = Options {
                    symmetry: switches & 1 != 0,
                    partial_order: switches & 2 != 0,
                    antichain: switches & 4 != 0,
                    ..Options::plain()
                };
                let report = verify(&program, &options, &Budget::unlimited());
                let holds = match &report.verdict {
                    Verdict::Holds => true,
                    Verdict::Violation(counterexample) => {
                        replay(&model, semantics, &program, counterexample).unwrap_or_else(|why| {
                            panic!("seed {seed} {semantics:?} switches {switches}: {why}\n{source}")
                        });
                        false
                    }
                    // A path of a process that allocates again and again may use up the heap before
                    // the others move.
                    Verdict::Undecided(why) if why.message.contains("is full") => continue,
                    other => panic!("seed {seed}: {other:?}"),
                };
                let told = match naive {
                    Naive::Verified => Some(true),
                    Naive::Violation => Some(false),
                    Naive::TooLarge => first,
                };
                assert!(
                    told.is_none_or(|told| told == holds),
                    "seed {seed} {semantics:?} switches {switches}: {holds}, but {naive:?}\n{source}"
                );
                first = Some(holds);
            }
        }
    }
    println!(
        "{verified} verified, {violations} violations, {skipped} too large for the naive search"
    );
    assert!(verified > 10 && violations > 10, "{verified} verified, {violations} violations");
}

/// A replay that accepts everything would be no check: traces that are not runs, or not violations,
/// are refused.
#[test]
fn what_is_not_a_counterexample_is_refused() {
    let (mut tried, mut seed) = (0, 0);
    while tried < 10 {
        seed += 1;
        let model = Model::parse(&generate::model(seed)).unwrap();
        let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
        let report = verify(&program, &Options::default(), &Budget::unlimited());
        let Verdict::Violation(counterexample) = report.verdict else { continue };
        tried += 1;
        let refused = |change: &dyn Fn(&mut trueline_model::engine::Counterexample)| {
            let mut changed = counterexample.clone();
            change(&mut changed);
            replay(&model, Semantics::Default, &program, &changed).is_err()
        };
        assert!(!refused(&|_| {}));
        assert!(refused(&|c| drop(c.trace.steps.pop())), "a prefix is explained");
        assert!(refused(&|c| drop(c.trace.steps.remove(0))), "seed {seed}: a call is missing");
        assert!(refused(&|c| {
            let last = c.trace.steps.last_mut().unwrap();
            last.shared.iter_mut().for_each(|cell| *cell = (*cell + 1) % 3);
        }));
    }
}
