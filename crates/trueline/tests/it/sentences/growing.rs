//! Collections that are read as a whole and hold something at first: what is claimed of their
//! violations.
//!
//! Generated histories of a set call no read, and most start empty. Here half of the operations are
//! reads of everything, and every object holds something initially, so that a read can be wrong by
//! what it lacks of that.

use trueline::Value;
use trueline::rng::{self, Rng};
use trueline::spec::{self, Builtin, KvOp, LogOp, RegisterOp, SetOp};
use trueline::verdict::Explanation;
use trueline::{Check, Verdict};

use super::Truth;
use crate::oracle::random::{Shape, random_history_of};

#[derive(Default)]
struct Grown {
    wrong: Vec<String>,
    violations: u64,
    minimal: u64,
    /// Violations that one read makes alone, by what it lacks.
    alone: u64,
}

impl Grown {
    fn try_all<B: Builtin>(
        &mut self,
        name: &str,
        spec: &B,
        choose: impl Fn(&B::State, i64, &mut Rng) -> B::Op,
    ) {
        for seed in rng::seeds(400) {
            let mut random = Rng::new(seed ^ 0x9067);
            let shape = Shape {
                operations: 2 + random.below(6),
                processes: 1 + random.below(3),
                wrong: [30, 80][random.index(2)],
                unknown: [0, 0, 20][random.index(3)],
                values: [3, 5][random.index(2)],
            };
            let raw = random_history_of(spec, shape, &mut random, &choose);
            let history = raw.decode(|m, args, result| spec.decode(m, args, result)).unwrap();
            let Verdict::Violation(found) = Check::new(spec.clone()).run(&history).verdict else {
                continue;
            };
            self.violations += 1;
            self.minimal += u64::from(found.minimal);
            let Explanation { operations, sentence, .. } = &found;
            let looks = |&i: &u32| {
                let o = &history.operations()[i as usize];
                spec.observes(&o.op, o.result.as_ref())
            };
            self.alone += u64::from(operations.len() == 1 && operations.iter().all(looks));
            if let Err(what) = Truth::default().check(name, spec, &history, &found) {
                let all: Vec<String> = history
                    .operations()
                    .iter()
                    .map(|o| spec.show(&o.op, o.result.as_ref()))
                    .collect();
                self.wrong.push(format!(
                    "{name}, seed {seed}: {what}\n  {sentence}\n  {operations:?} of {all:?}"
                ));
            }
        }
    }
}

#[test]
fn what_is_claimed_of_a_collection_that_holds_something_initially_is_true() {
    let items = |values: &[i64]| values.iter().map(|&v| Value::Int(v)).collect::<Vec<_>>();
    let mut grown = Grown::default();
    for (name, init) in [("set", &[][..]), ("set:init=[1]", &[1]), ("set:init=[0 1]", &[0, 1])] {
        for removes in [false, true] {
            let set = spec::set().with_init(items(init));
            grown.try_all(name, &set, |_, value, random| match random.below(8) {
                0..=3 => SetOp::Read,
                4 if removes => SetOp::Remove(Value::Int(value)),
                5 => SetOp::Contains(Value::Int(value)),
                _ => SetOp::Add(Value::Int(value)),
            });
        }
    }
    for (name, init) in [("log", &[][..]), ("log:init=[1]", &[1]), ("log:init=[1 0]", &[1, 0])] {
        let log = spec::log().with_init(items(init));
        grown.try_all(name, &log, |_, value, random| match random.below(2) {
            0 => LogOp::Read,
            _ => LogOp::Append(Value::Int(value)),
        });
    }
    let key = || Value::text("k");
    grown.try_all("kv", &spec::kv(), |_, value, random| match random.below(4) {
        0 | 1 => KvOp::Get(key()),
        _ => KvOp::Append(key(), format!("{value};").into()),
    });
    let Grown { wrong, violations, minimal, alone } = &grown;
    println!("{violations} violations, {minimal} minimal, {alone} by one read");
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
    let cases = rng::seeds(400).cases();
    assert!(
        *violations > cases && minimal * 2 > *violations && alone * 20 > cases,
        "{violations} {minimal} {alone}"
    );
}

/// Registers of few values, on which most operations are cas: some find a value and leave it.
#[test]
fn what_is_claimed_of_a_cas_that_keeps_the_value_is_true() {
    let mut kept = Grown::default();
    let register = spec::cas_register(Some(Value::Int(0)));
    kept.try_all("cas-register:init=0", &register, |_, value, random| {
        let other = Value::Int(random.below(3) as i64);
        match random.below(6) {
            0 => RegisterOp::Write(other),
            1 => RegisterOp::Read,
            2 => RegisterOp::Cas(other.clone(), other),
            _ => RegisterOp::Cas(Value::Int(value), other),
        }
    });
    let Grown { wrong, violations, minimal, .. } = &kept;
    println!("{violations} violations, {minimal} minimal");
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
    assert!(violations * 16 > rng::seeds(400).cases(), "{violations}");
}
