//! Every algorithm against the brute-force oracle, on specifications as users write them: a plain struct, and
//! the full trait where it is nondeterministic. Built-in specifications are compared in the same way by
//! `builtin_specifications.rs`.

mod oracle;

use std::collections::VecDeque;

use trueline::history::{Builder, Call, Position};
use trueline::{Algorithm, Check, History, Sequential, Spec, Value, Verdict};

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

/// A small generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// A random history of pushes and pops: results are arbitrary, so about half are violations.
fn random_history(random: &mut Random) -> History<Op, Option<i64>> {
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

fn cases() -> u64 {
    std::env::var("TRUELINE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000)
}

#[track_caller]
fn agrees_with_oracle<S: Spec + Clone>(spec: &S, history: &History<S::Op, S::Ret>) -> bool {
    let expected = oracle::is_linearizable(spec, history);
    for &(algorithm, name, _) in Algorithm::ALL {
        let outcome = Check::new(spec.clone()).algorithm(algorithm).run(history);
        match &outcome.verdict {
            Verdict::Linearizable(_) => assert!(expected, "{name} accepts {history:?}"),
            Verdict::Violation(explanation) => {
                assert!(!expected, "{name} rejects {history:?}");
                assert!(explanation.rechecked && explanation.minimal, "{explanation:?}");
                let fine_until = explanation.fine_until.expect("small histories fit the budget");
                let fine = history.prefix(fine_until);
                assert!(oracle::is_linearizable(spec, &fine), "{name} prefix of {history:?}");
                let bad = history.prefix(fine_until + 1);
                assert!(!oracle::is_linearizable(spec, &bad), "{name} prefix of {history:?}");
            }
            Verdict::Unknown(unknown) => panic!("{name}: {unknown:?} on {history:?}"),
        }
    }
    expected
}

#[test]
fn a_plain_struct_is_decided_as_the_oracle_does() {
    let mut random = Random(7);
    let good = (0..cases())
        .filter(|_| agrees_with_oracle(&Fifo::default(), &random_history(&mut random)))
        .count() as u64;
    assert!(good > cases() / 10 && good < cases() * 9 / 10, "one-sided: {good}");
}

#[test]
fn a_nondeterministic_specification_is_decided_as_the_oracle_does() {
    let mut random = Random(11);
    let good = (0..cases())
        .filter(|_| agrees_with_oracle(&Bag, &random_history(&mut random)))
        .count() as u64;
    assert!(good > cases() / 10 && good < cases() * 9 / 10, "one-sided: {good}");
}
