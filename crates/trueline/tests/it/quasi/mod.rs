//! Quasi linearizability against brute force over Definition 4, and the paper's figures.

mod long;
mod oracle;

use oracle::{Does, Kind, Op};
use trueline::history::{Builder, Call, Position};
use trueline::papers::Permutations;
use trueline::quasi::{Algorithm, End, Factor, Factors, Finding, Quasi, Reading};
use trueline::rng::{Rng, seeds};
use trueline::{Budget, History, Value, Verdict, spec};

const READINGS: [Reading; 3] = [Reading::Slots, Reading::Uniform, Reading::Literal];

fn spec_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Queue => "queue",
        Kind::Stack => "stack",
        Kind::Priority => "priority-queue",
    }
}

/// The history of these operations, each by a process of its own, and the index that each has in
/// it.
fn history(ops: &[Op]) -> (History, Vec<u32>) {
    let mut events: Vec<(f64, usize, bool)> = Vec::new();
    for (i, op) in ops.iter().enumerate() {
        events.push((op.start, i, true));
        events.extend(op.end.map(|end| (end, i, false)));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut builder = Builder::new();
    let part = builder.part(Default::default());
    let at = Position::default();
    let mut index = vec![0; ops.len()];
    let mut calls = 0;
    for (_, i, is_call) in events {
        let process = builder.process(&Value::Int(i as i64));
        let (method, args, result) = match ops[i].does {
            Does::Add(v) => ("add", vec![Value::Int(v)], Value::Nil),
            Does::Remove(v) => ("remove", vec![], v.map_or(Value::Nil, Value::Int)),
        };
        if is_call {
            let call = Call { method: builder.method(method), args: args.into() };
            builder.call(process, part, call, at).unwrap();
            index[i] = calls;
            calls += 1;
        } else {
            builder.returns(process, result, at).unwrap();
        }
    }
    (builder.finish(), index)
}

fn ask(
    kind: Kind,
    history: &History,
    factor: Factor,
    reading: Reading,
    end: End,
    algorithm: Algorithm,
) -> Finding {
    let factors = Factors::of("remove", factor);
    let quasi = Quasi { factors, reading, end, algorithm };
    let named = spec::named(spec_of(kind)).unwrap();
    named.quasi(history, &quasi, &Budget::unlimited()).unwrap()
}

/// A history of a few operations that is not far from being right.
fn random(rng: &mut Rng, kind: Kind) -> Vec<Op> {
    let adds = 2 + rng.below(3) as i64;
    let most = if rng.chance(0.4) { 1 + rng.below(adds as u64) as i64 } else { adds };
    let removals = most.min(3).min(7 - adds) as usize;
    let repeats = rng.chance(0.15);
    let value = |i: i64, rng: &mut Rng| if repeats { rng.below(2) as i64 + 1 } else { i };
    let mut added: Vec<i64> = (1..=adds).map(|i| value(i, rng)).collect();
    let mut removed = added.clone();
    if rng.chance(0.4) {
        shuffle(rng, &mut removed);
    }
    if kind == Kind::Priority {
        shuffle(rng, &mut added);
    }
    if kind != Kind::Queue && rng.chance(0.7) {
        removed.sort_unstable_by(|a, b| b.cmp(a));
    }
    removed.truncate(removals);
    for _ in 0..rng.below(3) {
        if removed.len() > 1 {
            let i = rng.below(removed.len() as u64 - 1) as usize;
            removed.swap(i, i + 1);
        }
    }
    let (mut added, mut removed) = (added.into_iter(), removed.into_iter());
    let mut next = (added.next(), removed.next());
    let mut ops = Vec::new();
    while next != (None, None) {
        let t = ops.len() as f64;
        let does = if next.1.is_none() || (next.0.is_some() && rng.chance(0.6)) {
            let value = std::mem::replace(&mut next.0, added.next());
            Does::Add(value.unwrap())
        } else {
            let value = std::mem::replace(&mut next.1, removed.next());
            Does::Remove(value.filter(|_| !rng.chance(0.1)))
        };
        let far = |rng: &mut Rng| {
            rng.number() as f64 / u64::MAX as f64 * [0.01, 0.01, 1.0, 3.0][rng.below(4) as usize]
        };
        let (before, after) = (far(rng), far(rng));
        let end = Some(t + 0.001 + after).filter(|_| !rng.chance(0.03));
        let does = match (does, end) {
            (Does::Remove(_), None) => Does::Remove(None),
            (does, _) => does,
        };
        ops.push(Op { does, start: t - before, end });
    }
    ops
}

fn shuffle(rng: &mut Rng, values: &mut [i64]) {
    for i in (1..values.len()).rev() {
        values.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

/// The operations up to an event: what returns later is pending, and what a removal took is not
/// known then.
fn prefix(history: &History, ops: &[Op], index: &[u32], end: u32) -> Vec<Op> {
    let all = history.operations();
    let called = |i: &usize| all[index[*i] as usize].call < end;
    let cut = |i: usize| match (all[index[i] as usize].returned < end, ops[i].does) {
        (true, _) => ops[i],
        (false, Does::Remove(_)) => Op { does: Does::Remove(None), end: None, ..ops[i] },
        (false, Does::Add(_)) => Op { end: None, ..ops[i] },
    };
    (0..ops.len()).filter(called).map(cut).collect()
}

#[test]
fn random_histories_agree_with_the_definition() {
    let mut accepted = [[0; 2]; 3];
    let (mut explained, mut unconfirmed, mut cut_off) = (0, 0, 0);
    let seeds = seeds(250);
    let total = seeds.cases();
    for case in seeds {
        let mut rng = Rng::new(case);
        let kind = *rng.choose(&[Kind::Queue, Kind::Stack, Kind::Priority]);
        let ops = random(&mut rng, kind);
        let (history, index) = history(&ops);
        for end in [End::Closed, End::Open] {
            let least_of = |kind, ops: &[Op]| match end {
                End::Closed => oracle::closed(kind, ops),
                End::Open => oracle::open(kind, ops),
            };
            let least = least_of(kind, &ops);
            for (r, reading) in READINGS.into_iter().enumerate() {
                let context = || {
                    format!("case {case}: {kind:?} {reading} {end} {ops:?}, least {:?}", least[r])
                };
                for factor in 0..=3 {
                    let expected = least[r].is_some_and(|least| least <= factor);
                    let mut algorithms = vec![Algorithm::Auto];
                    if case % 8 == 0 && ops.len() <= 5 {
                        algorithms.push(Algorithm::RoundUp);
                    }
                    for algorithm in algorithms {
                        let bound = Factor::AtMost(factor as u32);
                        let found = ask(kind, &history, bound, reading, end, algorithm);
                        let verdict = &found.outcome.verdict;
                        assert_eq!(
                            verdict.name(),
                            if expected { "linearizable" } else { "violation" },
                            "factor {factor}, {algorithm:?}, {found:?}, {}",
                            context()
                        );
                        if let Verdict::Violation(explanation) = verdict {
                            let kept = |i: &usize| explanation.operations.contains(&index[*i]);
                            let core: Vec<Op> =
                                (0..ops.len()).filter(kept).map(|i| ops[i]).collect();
                            let core = least_of(kind, &core);
                            assert!(
                                core[r].is_none_or(|least| least > factor),
                                "the explanation is none: {explanation:?}, {}",
                                context()
                            );
                            assert!(explanation.minimal, "{explanation:?}");
                            if let Some(rank) = explanation.fine_until {
                                let holds = |end| {
                                    let cut = prefix(&history, &ops, &index, end);
                                    least_of(kind, &cut)[r].is_some_and(|least| least <= factor)
                                };
                                assert!(
                                    holds(rank) && !holds(rank + 1),
                                    "an order does not end there: {explanation:?}, {}",
                                    context()
                                );
                                cut_off += 1;
                            }
                            explained += 1;
                            unconfirmed += usize::from(!explanation.rechecked);
                        }
                    }
                    accepted[r][usize::from(end == End::Open)] += u64::from(expected);
                }
                // The specification cannot see what a stack will be given again.
                let added = ops.iter().filter_map(|op| match op.does {
                    Does::Add(value) => Some(value),
                    Does::Remove(_) => None,
                });
                let mut added: Vec<i64> = added.collect();
                added.sort_unstable();
                let repeats = added.windows(2).any(|two| two[0] == two[1]);
                let foreseen = kind != Kind::Stack || !repeats;
                if reading == Reading::Slots && end == End::Open && foreseen {
                    by_name(kind, &history, least[r], &context);
                }
                let found = ask(kind, &history, Factor::Least, reading, end, Algorithm::Auto);
                assert_eq!(found.factor, least[r].map(|k| k as u32), "{found:?}, {}", context());
                if let Some(least) = found.factor {
                    assert_eq!(found.needs.is_some(), least > 0);
                    let furthest = found.displaced.iter().map(|d| d.1).max().unwrap_or(0);
                    assert!(furthest <= least);
                }
            }
        }
    }
    // The enumeration that confirms an explanation has a limit, which a few stories of seven
    // operations exceed.
    println!("{explained} explanations, {unconfirmed} of them not confirmed");
    // Only for queues the report says how far an order goes.
    assert!(cut_off * 20 > explained, "{cut_off} of {explained}");
    // One more than the rate in a small sample.
    assert!(unconfirmed * 1000 <= explained + 1000, "{unconfirmed} of {explained}");
    println!("accepted of {}, closed and open: slots, uniform, literal: {accepted:?}", 4 * total);
    assert!(accepted.iter().flatten().all(|&n| n > total / 2 && n < 4 * total));
}

/// The specification `relaxed-...:displacement=K` is the reading slots with an open end.
fn by_name(kind: Kind, history: &History, least: Option<usize>, context: &dyn Fn() -> String) {
    for factor in 0..=3 {
        let named = spec::named(&format!("relaxed-{}:displacement={factor}", spec_of(kind)));
        let budget = Budget::unlimited();
        let outcome = named.unwrap().check(history, trueline::Algorithm::Auto, &budget).unwrap();
        let expected = least.is_some_and(|least| least <= factor);
        assert_eq!(outcome.verdict.is_linearizable(), expected, "factor {factor}, {}", context());
    }
}

/// With an open end the search for stacks gave up a value that had left early as soon as its turn
/// was too far away, though the same value was pushed again later and its turn came then.
#[test]
fn a_stack_that_is_given_an_early_value_again() {
    let does = [
        Does::Add(1),
        Does::Add(2),
        Does::Add(2),
        Does::Remove(Some(1)),
        Does::Add(1),
        Does::Remove(Some(2)),
        Does::Remove(Some(1)),
    ];
    let op = |(i, does): (usize, Does)| Op { does, start: i as f64, end: Some(i as f64 + 0.5) };
    let ops: Vec<Op> = does.into_iter().enumerate().map(op).collect();
    assert_eq!(oracle::open(Kind::Stack, &ops)[0], Some(1));
    let (history, _) = history(&ops);
    let (reading, end) = (Reading::Slots, End::Open);
    let found = ask(Kind::Stack, &history, Factor::Least, reading, end, Algorithm::Auto);
    assert_eq!(found.factor, Some(1), "{found:?}");
}

#[test]
fn figure_7_of_the_paper() {
    let orders = [[1, 2, 3], [2, 1, 3], [1, 3, 2], [3, 1, 2], [2, 3, 1], [3, 2, 1]];
    let accepted = orders.map(|order| {
        let does = [1, 2, 3].map(Does::Add).into_iter();
        let all = does.chain(order.map(|v| Does::Remove(Some(v))));
        let ops: Vec<Op> = all
            .enumerate()
            .map(|(i, does)| Op { does, start: i as f64, end: Some(i as f64 + 0.5) })
            .collect();
        let (history, _) = history(&ops);
        let both = [Algorithm::Auto, Algorithm::RoundUp].map(|algorithm| {
            let found = ask(
                Kind::Queue,
                &history,
                Factor::AtMost(1),
                Reading::Slots,
                End::Closed,
                algorithm,
            );
            found.outcome.verdict.is_linearizable()
        });
        assert_eq!(both[0], both[1]);
        both[0]
    });
    assert_eq!(accepted, [true, true, true, false, false, false]);
}

#[test]
fn algorithm_2_repaired_enumerates_exactly_the_bounded_permutations() {
    for n in 0..8usize {
        for factor in 0..4 {
            let all: Vec<i64> = (0..n as i64).collect();
            let mut expected: Vec<Vec<u32>> = oracle::orders_of(&all)
                .into_iter()
                .filter(|p| p.iter().enumerate().all(|(i, &e)| (e as usize).abs_diff(i) <= factor))
                .map(|p| p.into_iter().map(|e| e as u32).collect())
                .collect();
            let mut found: Vec<Vec<u32>> = Permutations::new(n, factor as u32).collect();
            let runs = found.len();
            expected.sort();
            found.sort();
            found.dedup();
            assert_eq!(found.len(), runs, "none twice");
            assert_eq!(found, expected, "n {n}, factor {factor}");
        }
    }
}
