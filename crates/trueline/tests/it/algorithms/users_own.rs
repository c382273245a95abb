//! Every algorithm against the brute-force oracle, on specifications as users write them: a plain
//! struct, and the full trait where it is nondeterministic. Built-in specifications are compared in
//! the same way by `builtin.rs`.

use std::collections::VecDeque;

use crate::oracle::compare::compare;
use trueline::history::{Builder, Call, Position};
use trueline::rng::Rng;
use trueline::{History, Sequential, Spec, Value};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Fifo(VecDeque<i64>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Op {
    Push(i64),
    Pop,
}

impl Sequential for Fifo {
    type Op = Op;
    type Ret = Option<i64>;

    fn apply(&mut self, op: &Op) -> Option<i64> {
        match op {
            Op::Push(v) => {
                self.0.push_back(*v);
                None
            }
            Op::Pop => self.0.pop_front(),
        }
    }
}

/// A bag: pops any element.
#[derive(Clone, Debug)]
struct Bag;

impl Spec for Bag {
    type State = Vec<i64>;
    type Op = Op;
    type Ret = Option<i64>;

    fn initial(&self) -> Vec<i64> {
        Vec::new()
    }

    fn step(&self, bag: &Vec<i64>, op: &Op, ret: Option<&Option<i64>>, next: &mut Vec<Vec<i64>>) {
        match op {
            Op::Push(v) => {
                let mut bag = bag.clone();
                bag.push(*v);
                bag.sort_unstable();
                next.push(bag);
            }
            Op::Pop if bag.is_empty() => {
                if ret.is_none_or(|r| r.is_none()) {
                    next.push(bag.clone());
                }
            }
            Op::Pop => {
                for i in 0..bag.len() {
                    if ret.is_none_or(|r| *r == Some(bag[i])) {
                        let mut bag = bag.clone();
                        bag.remove(i);
                        next.push(bag);
                    }
                }
            }
        }
    }
}

/// A random history of pushes and pops: results are arbitrary, so about half are violations.
fn random_history(random: &mut Rng) -> History<Op, Option<i64>> {
    let mut builder = Builder::new();
    let processes = 2 + random.below(3);
    let operations = 2 + random.below(6);
    let (push, pop) = (builder.method("push"), builder.method("pop"));
    let part = builder.part(Default::default());
    let at = Position::default();
    let mut called = 0;
    let mut pushed: Vec<i64> = Vec::new();
    for _ in 0..60 {
        let process = builder.process(&Value::Int(random.below(processes) as i64));
        if builder.open_operation(process).is_some() {
            // A result that fits a pop; decoding ignores that of a push.
            let result = if pushed.is_empty() || random.below(4) == 0 {
                Value::Nil
            } else {
                Value::Int(pushed[random.below(pushed.len() as u64) as usize])
            };
            match random.below(12) {
                0 => builder.unknown(process, at).unwrap(),
                _ => builder.returns(process, result, at).unwrap(),
            };
        } else if called < operations {
            called += 1;
            let (method, args) = if random.below(2) == 0 {
                let value = random.below(4) as i64;
                pushed.push(value);
                (push, vec![Value::Int(value)])
            } else {
                (pop, vec![])
            };
            builder.call(process, part, Call { method, args: args.into() }, at).unwrap();
        }
    }
    let decoded = builder.finish().decode(|method, args, result| {
        Ok(match method {
            "push" => (Op::Push(args[0].as_int().unwrap()), result.map(|_| None)),
            _ => (Op::Pop, result.map(Value::as_int)),
        })
    });
    decoded.unwrap()
}

use super::seeds;

#[test]
fn a_plain_struct_is_decided_as_the_oracle_does() {
    let cases = seeds().cases();
    let good = seeds()
        .filter(|&seed| {
            let history = random_history(&mut Rng::new(seed ^ 7 << 56));
            compare(&Fifo::default(), &history).unwrap_or_else(|e| panic!("{e}: {history:?}"))
        })
        .count() as u64;
    assert!(good > cases / 10 && good < cases * 9 / 10, "one-sided: {good}");
}

#[test]
fn a_nondeterministic_specification_is_decided_as_the_oracle_does() {
    let cases = seeds().cases();
    let good = seeds()
        .filter(|&seed| {
            let history = random_history(&mut Rng::new(seed ^ 11 << 56));
            compare(&Bag, &history).unwrap_or_else(|e| panic!("{e}: {history:?}"))
        })
        .count() as u64;
    assert!(good > cases / 10 && good < cases * 9 / 10, "one-sided: {good}");
}

/// Pushes and pops of which some are wrongly said to commute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Wishful<const WHICH: u8>(Fifo);

impl<const WHICH: u8> Sequential for Wishful<WHICH> {
    type Op = Op;
    type Ret = Option<i64>;

    fn apply(&mut self, op: &Op) -> Option<i64> {
        self.0.apply(op)
    }

    fn commutes(a: &Op, b: &Op) -> bool {
        match (a, b) {
            (Op::Push(_), Op::Push(_)) => WHICH == 0,
            (Op::Pop, Op::Pop) => WHICH == 1,
            // True where something is inside, which is not always.
            _ => WHICH == 2,
        }
    }
}

fn wrong_claims_do_no_harm<const WHICH: u8>() {
    let mut good = 0;
    for seed in seeds().one_in(3) {
        let history = random_history(&mut Rng::new(seed ^ 13 << 56));
        let wishful = Wishful::<WHICH>(Fifo::default());
        let found = compare(&wishful, &history);
        good += u64::from(found.unwrap_or_else(|e| panic!("{WHICH}, seed {seed}: {e}")));
    }
    assert!(good > 0);
}

/// Each was reported as a false violation, or ended in a disagreement of two searches.
#[test]
fn a_wrong_claim_of_what_commutes_changes_no_verdict() {
    wrong_claims_do_no_harm::<0>();
    wrong_claims_do_no_harm::<1>();
    wrong_claims_do_no_harm::<2>();
}
