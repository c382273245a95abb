//! Long histories: the stack against a plain quadratic method, deep and wide inputs, many pending
//! removals. How long they take is measured by `trueline-bench monitors`.

use std::collections::{BTreeSet, VecDeque};

use super::containers::{Kind, Shape, random_history};
use super::{Random, oracle, run, seeds};
use crate::monitor::container::Action::{self, Empty, Insert, Remove};
use crate::monitor::{Answer, NEVER, Op, Span, priority_queue, queue, stack};

/// Step 1 to 3 of the method of the stack, by the book, with a scan each.
fn quadratic_stack(ops: &[Op<Action>]) -> bool {
    let end = ops.iter().map(|o| o.span.returned).max().unwrap_or(0) + 1;
    let mut values: Vec<[Span; 2]> = Vec::new();
    let never = Span { call: end, returned: end };
    for o in ops {
        if let Insert(v) = o.action {
            let remove = ops.iter().find(|p| p.action == Remove(v)).map_or(never, |p| p.span);
            if remove.returned < o.span.call {
                return false;
            }
            values.push([o.span, remove]);
        }
    }
    let removals = ops.iter().filter(|o| matches!(o.action, Remove(_))).count();
    if removals != values.iter().filter(|v| v[1] != never).count() {
        return false;
    }
    let covered = |values: &[[Span; 2]], slot: u32| {
        values.iter().any(|[i, r]| i.returned <= slot && slot < r.call)
    };
    for o in ops.iter().filter(|o| o.action == Empty) {
        if (o.span.call..o.span.returned).all(|slot| covered(&values, slot)) {
            return false;
        }
    }
    values.retain(|[i, r]| i.returned < r.call);
    values.sort_by_key(|v| v[0].returned);
    let mut todo = vec![values];
    while let Some(mut s) = todo.pop() {
        let Some(a) = s.iter().map(|v| v[0].returned).min() else { continue };
        let b = s.iter().map(|v| v[1].call).max().expect("not empty");
        let mut reached = s[0][1].call;
        let gap = s.iter().position(|v| {
            let gap = v[0].returned > reached;
            reached = reached.max(v[1].call);
            gap
        });
        if let Some(gap) = gap {
            todo.push(s.split_off(gap));
            todo.push(s);
        } else if let Some(bottom) = s.iter().position(|v| v[0].call < a && v[1].returned >= b) {
            s.remove(bottom);
            todo.push(s);
        } else {
            return false;
        }
    }
    true
}

/// Runs an order on a plain container.
fn replay(kind: Kind, ops: &[Op<Action>], priorities: &[u32], order: &[u32]) {
    assert_eq!(order.len(), ops.len());
    let (mut latest, mut line, mut sorted) = (0, VecDeque::new(), BTreeSet::new());
    for &i in order {
        let o = &ops[i as usize];
        latest = latest.max(o.span.call);
        assert!(o.span.returned > latest);
        match o.action {
            Insert(v) if kind == Kind::Priority => _ = sorted.insert((priorities[v as usize], v)),
            Insert(v) => line.push_back(v),
            Remove(v) => match kind {
                Kind::Queue => assert_eq!(line.pop_front(), Some(v)),
                Kind::Stack => assert_eq!(line.pop_back(), Some(v)),
                Kind::Priority => {
                    assert_eq!(sorted.last().map(|l| l.0), Some(priorities[v as usize]));
                    assert!(sorted.remove(&(priorities[v as usize], v)));
                }
            },
            _ => assert!(line.is_empty() && sorted.is_empty()),
        }
    }
}

#[test]
fn the_stack_agrees_with_the_quadratic_method() {
    let mut verdicts = [0, 0];
    for seed in seeds().one_in(15) {
        let mut random = Random::new(11, seed);
        let shape = Shape {
            length: 200 + random.below(1800),
            processes: 2 + random.below(30),
            inserts: 40 + random.below(20),
            noise: [0, 0, 1, 4][random.below(4) as usize],
            pending: 0,
            initial: 0,
            priorities: 4,
        };
        let (object, ops) = random_history(&mut random, Kind::Stack, shape);
        let expected = quadratic_stack(&ops);
        verdicts[usize::from(expected)] += 1;
        match object.check(&ops) {
            Answer::Order(order) => {
                assert!(expected);
                replay(Kind::Stack, &ops, &[], &order);
            }
            Answer::Violation { operations, .. } => {
                assert!(!expected);
                let part: Vec<_> = operations.iter().map(|&i| ops[i as usize]).collect();
                assert!(part.len() < 40 && !quadratic_stack(&part), "{}", part.len());
            }
        }
    }
    assert!(verdicts[0] * 10 > verdicts[1] && verdicts[1] * 10 > verdicts[0], "{verdicts:?}");
}

#[test]
fn long_runs_are_accepted_and_replay() {
    for kind in [Kind::Queue, Kind::Stack, Kind::Priority] {
        for inserts in [50, 52, 60] {
            let (ops, priorities) = long(kind, 20_000, 16, inserts);
            let Answer::Order(order) = decide(kind, &ops, &priorities) else {
                panic!("{kind:?} {inserts}: a run was rejected");
            };
            replay(kind, &ops, &priorities, &order);
        }
    }
}

/// Spans from an order of events: operation i is called at its first place and returns at its
/// second.
fn spans(count: usize, events: impl Iterator<Item = usize>) -> Vec<Span> {
    let mut spans = vec![Span { call: NEVER, returned: NEVER }; count];
    for (rank, i) in events.enumerate() {
        let rank = rank as u32;
        let span = &mut spans[i];
        *(if span.call == NEVER { &mut span.call } else { &mut span.returned }) = rank;
    }
    spans
}

/// Values pushed 0, ..., n - 1 and then popped in this order.
fn pushes_then(spans: Vec<Span>, pops: impl Iterator<Item = usize>) -> Vec<Op<Action>> {
    let n = spans.len() / 2;
    let actions = (0..n).map(|v| Insert(v as u32)).chain(pops.map(|v| Remove(v as u32)));
    spans.into_iter().zip(actions).map(|(span, action)| Op { span, action }).collect()
}

#[test]
fn deep_and_wide_inputs() {
    let n = 250_000;
    let twice = |i: usize| [i, i];
    let sequential = || spans(2 * n, (0..2 * n).flat_map(twice));
    let wide = || spans(2 * n, (0..2 * n).chain(0..2 * n));
    // Each overlaps its neighbours only.
    let staircase =
        || spans(2 * n, (0..=2 * n).flat_map(|i| [i, i.wrapping_sub(1)]).filter(|&i| i < 2 * n));
    for shape in [&sequential as &dyn Fn() -> Vec<Span>, &wide, &staircase] {
        for backwards in [false, true] {
            let pops: Vec<usize> =
                if backwards { (0..n).rev().collect() } else { (0..n).collect() };
            let ops = pushes_then(shape(), pops.iter().copied());
            let overlapping = ops[0].span.returned > ops[2 * n - 1].span.call;
            for kind in [Kind::Queue, Kind::Stack, Kind::Priority] {
                let priorities: Vec<u32> = (0..n as u32).collect();
                let right = overlapping || backwards == (kind != Kind::Queue);
                match decide(kind, &ops, &priorities) {
                    Answer::Order(order) => {
                        assert!(right);
                        replay(kind, &ops, &priorities, &order);
                    }
                    Answer::Violation { operations, .. } => {
                        assert!(!right);
                        assert!(operations.len() <= 4, "{kind:?}: {}", operations.len());
                    }
                }
            }
        }
    }
}

fn decide(kind: Kind, ops: &[Op<Action>], priorities: &[u32]) -> Answer {
    match kind {
        Kind::Queue => queue::check(ops, &[]),
        Kind::Stack => stack::check(ops, &[]),
        Kind::Priority => priority_queue::check(ops, &[], priorities),
    }
}

/// A long run of a container.
fn long(kind: Kind, length: u32, processes: u32, inserts: u32) -> (Vec<Op<Action>>, Vec<u32>) {
    let mut random = Random::new(0, u64::from(length + inserts));
    let priorities: Vec<u32> = (0..length).map(|_| random.below(length)).collect();
    let (mut line, mut sorted, mut fresh) = (VecDeque::new(), BTreeSet::new(), 0..length);
    let ops = run(&mut random, processes, length, |random| {
        if random.chance(inserts) {
            let v = fresh.next().expect("as many as operations");
            match kind {
                Kind::Priority => _ = sorted.insert((priorities[v as usize], v)),
                _ => line.push_back(v),
            }
            return Insert(v);
        }
        let next = match kind {
            Kind::Queue => line.pop_front(),
            Kind::Stack => line.pop_back(),
            Kind::Priority => sorted.pop_last().map(|l| l.1),
        };
        next.map_or(Empty, Remove)
    });
    (ops, priorities)
}

#[test]
fn many_pending_removals_are_decided() {
    for kind in [Kind::Queue, Kind::Stack, Kind::Priority] {
        for removals in [4, 16, 40] {
            for seed in 0..8 {
                let mut random = Random::new(0, seed);
                let shape = Shape {
                    length: 1000,
                    processes: 8,
                    inserts: 50,
                    noise: [0, 0, 1][seed as usize % 3],
                    pending: 0,
                    initial: 3,
                    priorities: 1000,
                };
                let (object, mut ops) = random_history(&mut random, kind, shape);
                for _ in 0..removals {
                    let i = random.below(1000) as usize;
                    if let Remove(_) = ops[i].action {
                        ops[i].action = Action::RemoveUnknown;
                        ops[i].span.returned = NEVER;
                    }
                }
                match object.search(&ops, 1000 * 2000).expect("decided in 2,000 steps") {
                    Answer::Order(order) => oracle::replay(&object, &ops, &order).expect("legal"),
                    Answer::Violation { operations, .. } => {
                        assert!(shape.noise > 0 && operations.len() < 100, "{}", operations.len());
                    }
                }
            }
        }
    }
}
