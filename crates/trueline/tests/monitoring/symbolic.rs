//! The symbolic checkers decide as the oracle does, with every option.

use trueline::Budget;
use trueline::symbolic::{Enumerate, Options, Symbolic};

use crate::cases;
use crate::objects::{OBJECTS, Paper, random_history};
use crate::oracle::is_linearizable;
use crate::oracle::random::Random;
use crate::saturation::violation_at;

/// The first step at which the oracle sees a violation: that of a return.
fn first_bad_step(
    object: trueline::theory::Object,
    history: &trueline::History<crate::objects::Op, trueline::Value>,
) -> Option<u64> {
    let events = crate::saturation::events(history);
    (1..=events.len() as u64).find(|&step| {
        !events[step as usize - 1].1
            && !is_linearizable(&Paper(object), &history.prefix(step as u32))
    })
}

#[test]
fn symbolic_decides_as_the_oracle_does_and_at_the_same_step() {
    let budget = Budget::unlimited();
    for object in OBJECTS {
        let mut violations = 0;
        for seed in 1..=cases() / 4 + 1 {
            let mut random = Random::new(seed);
            let history = random_history(object, 8, &mut random);
            let expected = first_bad_step(object, &history);
            violations += u64::from(expected.is_some());
            for letters in ["", "i", "c", "c,i", "r", "i,r"] {
                let options: Options = letters.parse().unwrap();
                let found = violation_at(Symbolic::new(object, options, &budget), &history);
                assert_eq!(
                    found, expected,
                    "{object}, seed {seed}, options {letters}: {history:?}"
                );
            }
        }
        assert!(violations > 0, "{object}");
    }
}

#[test]
fn enumerate_decides_as_the_oracle_does_and_at_the_same_step() {
    let budget = Budget::unlimited();
    for object in OBJECTS {
        for seed in 1..=cases() / 40 + 1 {
            let mut random = Random::new(seed);
            let history = random_history(object, 5, &mut random);
            let expected = first_bad_step(object, &history);
            for letters in ["", "c"] {
                let options: Options = letters.parse().unwrap();
                let found = violation_at(Enumerate::new(object, options, &budget), &history);
                assert_eq!(
                    found, expected,
                    "{object}, seed {seed}, options {letters}: {history:?}"
                );
            }
        }
    }
}
