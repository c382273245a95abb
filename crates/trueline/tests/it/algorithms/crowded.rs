//! Histories in which many operations overlap that commute, are equal, or that nobody looks at:
//! what the cuts of the searches and the rules that need no search are made for. A few processes
//! add, some additions stay pending, and reads show everything.

use std::sync::Arc;

use trueline::history::{Builder, Call, Position};
use trueline::rng::Rng;
use trueline::spec::{
    self, Builtin, CounterOp, DequeOp, KvOp, LogOp, MultisetOp, PriorityQueueOp, RegisterOp, SetOp,
    SnapshotOp,
};
use trueline::{Algorithm, History, Value};

use super::seeds;
use crate::oracle::compare::compare_those;
use crate::oracle::random::{Shape, random_history_of};

/// The searches, and what decides without one.
fn is_compared(algorithm: Algorithm) -> bool {
    use Algorithm::{Auto, DepthFirst, JustInTime, Monitor};
    matches!(algorithm, Auto | DepthFirst | JustInTime | Monitor)
}

/// Holds the searches and what decides without one against the oracle.
fn compare_crowded<B: Builtin>(
    name: &str,
    spec: &B,
    choose: impl Fn(&B::State, i64, &mut Rng) -> B::Op,
) {
    let all = seeds();
    let cases = all.cases();
    let mut good = 0;
    for seed in all {
        let mut random = Rng::new(seed ^ 0xc0ffee);
        let shape = Shape {
            operations: 2 + random.below(6),
            processes: 2 + random.below(4),
            wrong: [0, 10, 40][random.index(3)],
            unknown: [0, 5, 30][random.index(3)],
            values: [0, 0, 2, 4][random.index(4)],
        };
        let raw = random_history_of(spec, shape, &mut random, &choose);
        let history = raw.decode(|m, args, result| spec.decode(m, args, result)).unwrap();
        let counts = |a| is_compared(a) || a == Algorithm::Wgl && seed % 8 == 0;
        match compare_those(spec, &history, counts) {
            Ok(linearizable) => good += u64::from(linearizable),
            Err(e) => panic!("{name}, seed {seed}: {e}"),
        }
    }
    assert!(good > 0 && good < cases, "{name}: {good} of {cases} are good");
}

#[test]
fn counters_with_equal_amounts() {
    compare_crowded("equal amounts", &spec::counter(), |_, _, random| match random.below(10) {
        0..4 => CounterOp::Add(1),
        4 => CounterOp::Add(-1),
        5 => CounterOp::FetchAdd(1),
        _ => CounterOp::Read,
    });
}

#[test]
fn counters_with_different_amounts() {
    let amounts = [1, 2, 4, -3, 7, i64::MAX];
    compare_crowded("amounts", &spec::counter().with_init(5), |_, _, random| {
        let few = if random.percent(5) { 6 } else { 5 };
        match random.below(10) {
            0..6 => CounterOp::Add(amounts[random.index(few)]),
            _ => CounterOp::Read,
        }
    });
}

#[test]
fn sets_that_are_read_as_a_whole() {
    for init in [vec![], vec![Value::Int(0), Value::Int(3)]] {
        let spec = spec::set().with_init(init);
        compare_crowded("growing set", &spec, |_, value, random| match random.below(10) {
            0..6 => SetOp::Add(Value::Int(value)),
            6 => SetOp::Contains(Value::Int(value)),
            _ => SetOp::Read,
        });
    }
}

#[test]
fn sets_with_removals_that_are_read_as_a_whole() {
    compare_crowded("set", &spec::set(), |_, value, random| match random.below(10) {
        0..5 => SetOp::Add(Value::Int(value)),
        5..7 => SetOp::Remove(Value::Int(value)),
        _ => SetOp::Read,
    });
}

/// Additions that tell nothing: the spelling of Jepsen.
#[test]
fn sets_whose_additions_tell_nothing() {
    let all = seeds();
    let spec = spec::set();
    for seed in all {
        let mut random = Rng::new(seed ^ 0x5e7);
        let history = silent(&mut random, seed % 4 == 0);
        let history = history.decode(|m, args, result| spec.decode(m, args, result)).unwrap();
        if let Err(e) = compare_those(&spec, &history, is_compared) {
            panic!("seed {seed}: {e}");
        }
    }
}

/// Some processes add, each of a few values or a new one; reads show what was added by then, but
/// for a mistake.
fn silent(random: &mut Rng, repeats: bool) -> History {
    let mut builder = Builder::new();
    let at = Position::default();
    let part = builder.part(Default::default());
    let (add, read) = (builder.method("add"), builder.method("read"));
    let mut open: Vec<Option<(Value, bool)>> = vec![None; 2 + random.index(4)];
    let (mut held, mut called) = (Vec::<Value>::new(), 0);
    for _ in 0..40 {
        let p = random.index(open.len());
        let process = builder.process(&Value::Int(p as i64));
        match open[p].take() {
            None if called < 7 && random.percent(70) => {
                called += 1;
                let value = match repeats {
                    true => random.below(3) as i64,
                    false => called,
                };
                let value = Value::Int(value);
                let call = Call { method: add, args: vec![value.clone()].into() };
                builder.call(process, part, call, at).unwrap();
                open[p] = Some((value, false));
            }
            None if called < 7 => {
                called += 1;
                let call = Call { method: read, args: vec![].into() };
                builder.call(process, part, call, at).unwrap();
                open[p] = Some((Value::Nil, false));
            }
            None => {}
            Some((value, false)) => {
                if value.is_nil() {
                    let mut shown = held.clone();
                    if random.percent(15) && !shown.is_empty() {
                        shown.remove(random.index(shown.len()));
                    }
                    if random.percent(5) {
                        shown.push(Value::Int(called + 1));
                    }
                    shown.sort();
                    shown.dedup();
                    open[p] = Some((Value::list(shown), true));
                } else {
                    held.push(value.clone());
                    open[p] = Some((value, true));
                }
            }
            Some((_, true)) if random.percent(10) => {
                builder.unknown(process, at).unwrap();
            }
            Some((value, true)) => {
                let told = if value.as_list().is_some() { value } else { Value::Nil };
                builder.returns(process, told, at).unwrap();
            }
        }
    }
    builder.finish()
}

#[test]
fn multisets() {
    compare_crowded("multiset", &spec::multiset(), |_, value, random| {
        let value = Value::Int(value);
        match random.below(10) {
            0..5 => MultisetOp::Add(value),
            5 => MultisetOp::Remove(value),
            6 => MultisetOp::Contains(value),
            _ => MultisetOp::Count(value),
        }
    });
}

#[test]
fn logs() {
    for init in [vec![], vec![Value::Int(0)]] {
        let spec = spec::log().with_init(init);
        compare_crowded("log", &spec, |_, value, random| match random.below(10) {
            0..6 => LogOp::Append(Value::Int(value)),
            _ => LogOp::Read,
        });
    }
}

#[test]
fn texts_that_only_grow() {
    compare_crowded("kv", &spec::kv(), |_, value, random| {
        let key = Value::Int(i64::from(random.percent(10)));
        match random.below(20) {
            0..12 => KvOp::Append(key, Arc::new(format!("{value};"))),
            12 => KvOp::Put(key, Arc::new(format!("{value};"))),
            _ => KvOp::Get(key),
        }
    });
}

#[test]
fn deques() {
    compare_crowded("deque", &spec::deque(), |_, value, random| {
        let value = Value::Int(value);
        match random.below(8) {
            0..2 => DequeOp::PushFront(value),
            2..4 => DequeOp::PushBack(value),
            4 => DequeOp::PeekFront,
            5 => DequeOp::PeekBack,
            6 => DequeOp::PopFront,
            _ => DequeOp::PopBack,
        }
    });
}

#[test]
fn priority_queues_with_peeks() {
    for spec in [spec::priority_queue(), spec::priority_queue().smallest_first()] {
        compare_crowded("priority queue", &spec, |_, value, random| match random.below(8) {
            0..4 => PriorityQueueOp::Insert(Value::Int(value % 5)),
            4 => PriorityQueueOp::Peek,
            _ => PriorityQueueOp::Poll,
        });
    }
}

#[test]
fn snapshots() {
    compare_crowded("snapshot", &spec::snapshot(None), |_, value, random| match random.below(8) {
        0..5 => SnapshotOp::Update(random.below(3) as u32, Value::Int(value)),
        _ => SnapshotOp::Scan,
    });
}

/// Nothing commutes here, but equal writes are interchangeable.
#[test]
fn registers_with_equal_writes() {
    let spec = spec::cas_register(Some(Value::Int(0)));
    compare_crowded("cas-register", &spec, |_, value, random| {
        let value = Value::Int(value % 2);
        match random.below(8) {
            0..4 => RegisterOp::Write(value),
            4 => RegisterOp::Cas(value, Value::Int(random.below(2) as i64)),
            _ => RegisterOp::Read,
        }
    });
}

/// Calls that overlap, then their returns, then one more operation with a result.
fn crowd<B: Builtin>(spec: &B, together: &[B::Op], last: (B::Op, Value)) -> trueline::Outcome {
    let mut builder = Builder::new();
    let at = Position::default();
    let part = builder.part(Default::default());
    let call = |builder: &mut Builder, p: usize, op: &B::Op| {
        let (method, args) = spec.encode(op);
        let call = Call { method: builder.method(method), args: args.into() };
        let process = builder.process(&Value::Int(p as i64));
        builder.call(process, part, call, at).unwrap();
        process
    };
    let processes: Vec<u32> =
        together.iter().enumerate().map(|(p, op)| call(&mut builder, p, op)).collect();
    for process in processes {
        builder.returns(process, Value::Nil, at).unwrap();
    }
    let process = call(&mut builder, together.len(), &last.0);
    builder.returns(process, last.1, at).unwrap();
    let history = builder.finish().decode(|m, args, r| spec.decode(m, args, r)).unwrap();
    // Trying the orders of twenty additions takes millions.
    let budget = trueline::Budget::unlimited().steps(100_000);
    trueline::Check::new(spec.clone()).budget(&budget).run(&history)
}

/// Each was undecided: the order of the additions was searched, although no read shows it.
#[test]
fn crowds_are_decided_in_a_few_steps() {
    for size in [20, 200] {
        let numbers = || (0..size).map(Value::Int);
        let ones: Vec<CounterOp> = (0..size).map(|_| CounterOp::Add(1)).collect();
        let amounts: Vec<CounterOp> = (1..=size).map(CounterOp::Add).collect();
        let adds: Vec<SetOp> = numbers().map(SetOp::Add).collect();
        let same: Vec<MultisetOp> = numbers().map(|_| MultisetOp::Add(Value::Int(7))).collect();
        let appends: Vec<LogOp> = numbers().map(LogOp::Append).collect();
        let texts: Vec<KvOp> =
            (0..size).map(|i| KvOp::Append(Value::Nil, Arc::new(format!("{i};")))).collect();
        for wrong in [0, 1] {
            let shown = || Value::list(numbers().filter(|v| wrong == 0 || *v != Value::Int(5)));
            let text: String =
                (0..size).filter(|&i| wrong == 0 || i != 5).map(|i| format!("{i};")).collect();
            let total = |n: i64| Value::Int(n + wrong);
            let count = MultisetOp::Count(Value::Int(7));
            let sum = size * (size + 1) / 2;
            let outcomes = [
                crowd(&spec::counter(), &ones, (CounterOp::Read, total(size))),
                crowd(&spec::counter(), &amounts, (CounterOp::Read, total(sum))),
                crowd(&spec::set(), &adds, (SetOp::Read, shown())),
                crowd(&spec::multiset(), &same, (count, total(size))),
                crowd(&spec::log(), &appends, (LogOp::Read, shown())),
                crowd(&spec::kv(), &texts, (KvOp::Get(Value::Nil), Value::text(text))),
            ];
            for (place, outcome) in outcomes.iter().enumerate() {
                let verdict = &outcome.verdict;
                assert_eq!(verdict.is_linearizable(), wrong == 0, "{size} {place}: {verdict:?}");
                assert_eq!(verdict.is_violation(), wrong == 1, "{size} {place}: {verdict:?}");
            }
        }
    }
}

#[test]
fn a_value_that_nobody_pushed_is_a_violation_at_once() {
    let pushes: Vec<DequeOp> = (0..60).map(|i| DequeOp::PushBack(Value::Int(i))).collect();
    let outcome = crowd(&spec::deque(), &pushes, (DequeOp::PopFront, Value::Int(77)));
    let trueline::Verdict::Violation(explanation) = &outcome.verdict else {
        panic!("{:?}", outcome.verdict);
    };
    assert_eq!(explanation.operations, [60]);
}

/// The lost element and the read that lacks it, and nothing else.
#[test]
fn a_lost_element_of_a_set_is_explained_by_two_operations() {
    let adds: Vec<SetOp> = (0..40).map(|i| SetOp::Add(Value::Int(i))).collect();
    let shown = Value::list((0..40).filter(|&i| i != 23).map(Value::Int));
    let outcome = crowd(&spec::set(), &adds, (SetOp::Read, shown));
    let trueline::Verdict::Violation(explanation) = &outcome.verdict else {
        panic!("{:?}", outcome.verdict);
    };
    assert_eq!(explanation.operations, [23, 40]);
    assert!(explanation.rechecked && explanation.minimal, "{explanation:?}");
}

/// A process that does not hold the lock cannot give it back; who calls is the owner unless an
/// argument says so.
#[test]
fn the_owner_of_a_lock_is_the_process() {
    let named = spec::named("owner-mutex").unwrap();
    let check = |releaser: i64, owner: Option<i64>| {
        let mut builder = Builder::new();
        let at = Position::default();
        let part = builder.part(Default::default());
        for (process, method) in [(1, "acquire"), (releaser, "release")] {
            let args = owner.map(Value::Int).into_iter().collect::<Vec<_>>().into();
            let call = Call { method: builder.method(method), args };
            let process = builder.process(&Value::Int(process));
            builder.call(process, part, call, at).unwrap();
            builder.returns(process, Value::Nil, at).unwrap();
        }
        let history = builder.finish();
        let outcome = named.check(&history, Algorithm::Auto, &trueline::Budget::unlimited());
        outcome.unwrap().verdict.is_linearizable()
    };
    assert!(check(1, None) && !check(2, None));
    assert!(check(2, Some(9)));
}

/// Ten workers add 10,000 numbers, one addition in twenty has an unknown outcome, and at last one
/// reads everything.
#[test]
fn jepsens_set_workload_is_decided() {
    let spec = spec::named("set").unwrap();
    for lost in [false, true] {
        let mut random = Rng::new(1);
        let mut builder = Builder::new();
        let at = Position::default();
        let part = builder.part(Default::default());
        let (add, read) = (builder.method("add"), builder.method("read"));
        let mut workers: Vec<(i64, Option<i64>)> = (0..10).map(|p| (p, None)).collect();
        let (mut next, mut called) = (10, 0);
        let (mut shown, mut returned) = (Vec::new(), Vec::new());
        while called < 10_000 || workers.iter().any(|(_, open)| open.is_some()) {
            let worker = random.index(10);
            let (name, open) = &mut workers[worker];
            let process = builder.process(&Value::Int(*name));
            match open.take() {
                None if called < 10_000 => {
                    let call = Call { method: add, args: vec![Value::Int(called)].into() };
                    builder.call(process, part, call, at).unwrap();
                    *open = Some(called);
                    called += 1;
                }
                None => {}
                Some(value) if random.percent(5) => {
                    builder.unknown(process, at).unwrap();
                    if random.percent(50) {
                        shown.push(value);
                    }
                    *name = next;
                    next += 1;
                }
                Some(value) => {
                    builder.returns(process, Value::Nil, at).unwrap();
                    shown.push(value);
                    returned.push(value);
                }
            }
        }
        if lost {
            shown.retain(|&v| v != returned[returned.len() / 2]);
        }
        shown.sort_unstable();
        let process = builder.process(&Value::Int(next));
        builder.call(process, part, Call { method: read, args: vec![].into() }, at).unwrap();
        builder.returns(process, Value::list(shown.into_iter().map(Value::Int)), at).unwrap();
        let history = builder.finish();
        let budget = trueline::Budget::unlimited();
        let outcome = spec.check(&history, Algorithm::Auto, &budget).unwrap();
        assert_eq!(outcome.algorithm, "growth-monitor");
        assert_eq!(outcome.verdict.is_violation(), lost);
        assert_eq!(outcome.verdict.is_linearizable(), !lost);
    }
}
