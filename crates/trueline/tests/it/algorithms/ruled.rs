//! What is decided without a search, against the oracle, on histories with many wrong results:
//! values without origin, totals that are out of bounds, collections that only grow. The
//! searches are left out, so that many histories can be tried: `TRUELINE_CASES=20000`.

use std::collections::BTreeMap;

use trueline::rng::{self, Rng};
use trueline::spec::Builtin;
use trueline::{Algorithm, Check, Verdict};

use crate::oracle::every_spec::{Visit, every_spec};
use crate::oracle::is_linearizable;
use crate::oracle::random::{Shape, random_history};

#[derive(Default)]
struct Ruled {
    /// How many violations each rule or monitor found.
    found: BTreeMap<&'static str, u64>,
    wrong: Vec<String>,
}

impl Visit for Ruled {
    fn visit<B: Builtin>(&mut self, name: &str, spec: B) {
        for seed in rng::seeds(200) {
            let mut random = Rng::new(seed ^ 0x0415);
            let shape = Shape {
                operations: 2 + random.below(6),
                processes: 2 + random.below(4),
                wrong: [10, 40, 80][random.index(3)],
                unknown: [0, 0, 25][random.index(3)],
                values: [0, 2, 4][random.index(3)],
            };
            let raw = random_history(&spec, shape, &mut random);
            let history = raw.decode(|m, args, result| spec.decode(m, args, result)).unwrap();
            let check = Check::new(spec.clone()).algorithm(Algorithm::Monitor);
            let outcome = check.run(&history);
            let is_fine = match &outcome.verdict {
                Verdict::Unknown(_) => continue,
                verdict => verdict.is_linearizable(),
            };
            if !is_fine {
                *self.found.entry(outcome.algorithm).or_default() += 1;
            }
            if is_fine != is_linearizable(&spec, &history) {
                let verdict = &outcome.verdict;
                self.wrong.push(format!("{name}, seed {seed}: {} {verdict:?}", outcome.algorithm));
            }
        }
    }
}

#[test]
fn what_rules_decide_is_true() {
    let mut ruled = Ruled::default();
    every_spec(&mut ruled);
    println!("{:?}", ruled.found);
    assert!(ruled.wrong.is_empty(), "{} wrong: {}", ruled.wrong.len(), ruled.wrong[0]);
    for rule in ["origins", "bounds", "growth-monitor"] {
        let found = ruled.found.get(rule).copied().unwrap_or(0);
        assert!(found * 40 > rng::seeds(200).cases(), "{rule}: {:?}", ruled.found);
    }
}
