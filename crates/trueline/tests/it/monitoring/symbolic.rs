//! The symbolic checkers decide as the oracle does, with every option.

use trueline::Budget;
use trueline::papers::{Enumerate, Options, Symbolic};

use super::objects::{OBJECTS, Paper, random_history};
use super::saturation::violation_at;
use super::seeds;
use crate::oracle::is_linearizable;
use trueline::rng::Rng;

/// The first step at which the oracle sees a violation: that of a return.
fn first_bad_step(
    object: trueline::theory::Object,
    history: &trueline::History<super::objects::Op, trueline::Value>,
) -> Option<u64> {
    let events = super::saturation::events(history);
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
        for seed in seeds() {
            let mut random = Rng::new(seed);
            let history = random_history(object, 8, &mut random);
            let expected = first_bad_step(object, &history);
            violations += u64::from(expected.is_some());
            // Without options, and with some in turn.
            let some = ["i", "c", "c,i", "r", "i,r", "c,i,r"][seed as usize % 6];
            for letters in ["", some] {
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
        for seed in seeds().one_in(40) {
            let mut random = Rng::new(seed);
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

/// More completions than a machine can count are tried until the budget is spent.
#[test]
fn sixty_pending_operations_have_too_many_completions_to_list() {
    use trueline::Value;
    use trueline::saturate::{Online, Stop};
    use trueline::theory::{Method, Object};
    for letters in ["c", "c,i"] {
        let budget = Budget::unlimited().steps(20_000);
        let mut checker = Symbolic::new(Object::Queue, letters.parse().unwrap(), &budget);
        for i in 0..60 {
            let (method, argument) = if i % 2 == 0 {
                (Method::Add, Value::Int(i))
            } else {
                (Method::Remove, Value::Nil)
            };
            checker.call(i as u64, method, &argument).unwrap();
        }
        // 99 was never added: every completion fails.
        checker.call(60, Method::Remove, &Value::Nil).unwrap();
        let answer = checker.returned(60, &Value::Int(99));
        assert!(matches!(answer, Err(Stop::Exhausted(_))), "{letters}: {answer:?}");
    }
}
