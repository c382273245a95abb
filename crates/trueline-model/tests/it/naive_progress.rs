//! Random small models with loops, locks and nodes: deadlock, lock-freedom and response agree with
//! a check from the definitions by the interpreter, which shares no code with the engine; and every
//! run that is shown is one of the interpreter's.

use std::sync::Arc;

use trueline::{Budget, rng};
use trueline_model::engine::{Property, Verdict, progress};
use trueline_model::interpret::{follow, progress_naively};
use trueline_model::{Model, Semantics, generate};

#[test]
fn progress_agrees_with_a_naive_check() {
    let (mut decided, mut counts) = (0, std::collections::BTreeMap::<&str, [u64; 2]>::new());
    let seeds = rng::seeds(150);
    let cases = seeds.cases();
    for seed in seeds {
        let mut source = generate::varied(seed ^ 0x9e37);
        // Some processes may wait for ever while others go on.
        if seed % 3 == 0 {
            for bound in ["ops 1", "ops 2"] {
                source = source.replace(bound, "ops unbounded");
            }
        }
        let model = Model::parse(&source)
            .unwrap_or_else(|error| panic!("seed {seed}: {}", error.render("random.tl", &source)));
        let semantics = if seed % 4 == 0 { Semantics::Pat } else { Semantics::Default };
        let program = Arc::new(model.compile(semantics, false).unwrap());
        let Some(naive) = progress_naively(&model, semantics, &program, 800).unwrap() else {
            continue;
        };
        let mut wanted = vec![
            ("deadlock-free", Property::DeadlockFree, naive.deadlock_free),
            ("lock-free", Property::LockFree, naive.lock_free),
        ];
        for operation in 0..2 {
            let response =
                |weakly_fair| Property::Response { operation, results: None, weakly_fair };
            wanted.push(("response", response(false), naive.responds[operation]));
            wanted.push(("fair response", response(true), naive.responds_fairly[operation]));
        }
        decided += 1;
        for (name, property, expected) in wanted {
            let about = format!("seed {seed} {semantics:?} {property:?}\n{source}");
            let lasso = match progress(&program, &property, &Budget::unlimited()).verdict {
                Verdict::Holds => None,
                Verdict::Violation(lasso) => Some(lasso),
                Verdict::Undecided(why) if why.message.contains("is full") => continue,
                Verdict::Undecided(why) => panic!("{why}: {about}"),
            };
            assert_eq!(lasso.is_none(), expected, "{about}");
            counts.entry(name).or_default()[usize::from(expected)] += 1;
            if let Some(lasso) = lasso {
                let run: Vec<_> = lasso.stem.iter().chain(&lasso.cycle).cloned().collect();
                follow(&model, semantics, &program, &run, &Budget::unlimited())
                    .unwrap_or_else(|why| panic!("{why}: {about}"));
            }
        }
    }
    println!("{decided} decided; {counts:?}");
    for (name, [fails, holds]) in &counts {
        assert!(fails * 50 + 50 >= cases && holds * 50 + 50 >= cases, "{name}: {fails}, {holds}");
    }
}
