//! Differential tests: every monitor against an oracle that enumerates all orders, on random small
//! histories.
//!
//! `TRUELINE_CASES` sets the number of histories a type.

mod containers;
mod keys;
mod large;
mod oracle;

use std::fmt::Debug;

use super::{Answer, NEVER, Op, Span};
use crate::rng::{Rng, Seeds};
use oracle::Object;

/// A seed for each random history of a type.
fn seeds() -> Seeds {
    crate::rng::seeds(3_000)
}

/// Random numbers as the tests count: in `u32`.
struct Random(Rng);

impl Random {
    /// Each test has its own numbers.
    fn new(test: u64, seed: u64) -> Random {
        Random(Rng::new(seed ^ test << 56))
    }

    /// A number below `end`.
    fn below(&mut self, end: u32) -> u32 {
        self.0.below(u64::from(end)) as u32
    }

    /// True in `percent` of 100 cases.
    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

/// How often verdicts and explanations came out, for the tests to insist that they exercised both.
#[derive(Default, Debug)]
struct Tally {
    linearizable: u64,
    violations: u64,
    largest: usize,
}

impl Tally {
    /// Compares an answer with the oracle; the order must replay, the explanation must be a
    /// violation.
    fn compare<O: Object>(&mut self, object: &O, ops: &[Op<O::Action>], answer: &Answer)
    where
        O::Action: Copy + Debug,
    {
        let expected = oracle::linearizable(object, ops);
        match answer {
            Answer::Order(order) => {
                assert!(expected, "a violation was accepted:\n{}", show(ops));
                if let Err(problem) = oracle::replay(object, ops, order) {
                    panic!("{problem} in {order:?} of\n{}", show(ops));
                }
                self.linearizable += 1;
            }
            Answer::Violation { operations, initial, why } => {
                assert!(!expected, "a false alarm, {why:?} {operations:?}:\n{}", show(ops));
                assert!(operations.is_sorted());
                let part: Vec<_> = operations.iter().map(|&i| ops[i as usize]).collect();
                assert!(
                    !oracle::linearizable(&object.only(initial), &part),
                    "not an explanation, {why:?} {operations:?} {initial:?}:\n{}",
                    show(ops)
                );
                self.violations += 1;
                self.largest = self.largest.max(operations.len());
            }
        }
    }

    /// Both verdicts came out often.
    fn is_balanced(&self) {
        let total = self.linearizable + self.violations;
        assert!(self.linearizable * 5 > total && self.violations * 5 > total, "{self:?}");
    }
}

fn show<A: Debug>(ops: &[Op<A>]) -> String {
    let line = |(i, o): (usize, &Op<A>)| {
        let end = match o.span.returned {
            NEVER => "∞".to_string(),
            r => r.to_string(),
        };
        format!("  {i}: [{}, {end}] {:?}\n", o.span.call, o.action)
    };
    ops.iter().enumerate().map(line).collect()
}

/// A random run: up to `processes` operations open at a time, `length` in all; each takes effect
/// once between its call and its return. `start` decides what the next operation will try, `effect`
/// what it does. Operations come out sorted by call.
fn run<A: Copy>(
    random: &mut Random,
    processes: u32,
    length: u32,
    mut effect: impl FnMut(&mut Random) -> A,
) -> Vec<Op<A>> {
    let mut ops: Vec<(Span, Option<A>)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let (mut rank, mut returned) = (0, 0);
    while returned < length {
        let at = random.below(processes) as usize;
        if at >= open.len() {
            if (ops.len() as u32) < length {
                open.push(ops.len());
                ops.push((Span { call: rank, returned: NEVER }, None));
                rank += 1;
            }
        } else if ops[open[at]].1.is_none() {
            ops[open[at]].1 = Some(effect(random));
        } else {
            ops[open[at]].0.returned = rank;
            open.swap_remove(at);
            rank += 1;
            returned += 1;
        }
    }
    ops.into_iter()
        .map(|(span, action)| Op { span, action: action.expect("every operation took effect") })
        .collect()
}

/// Exchanges a few neighbouring events of different operations.
fn jitter<A>(random: &mut Random, ops: &mut [Op<A>], times: u32) {
    for _ in 0..times {
        let (a, b) =
            (random.below(ops.len() as u32) as usize, random.below(ops.len() as u32) as usize);
        if a == b {
            continue;
        }
        let mut spans = [ops[a].span, ops[b].span];
        let [x, y] = &mut spans;
        let pick = |s: &mut Span, end: bool| if end { s.returned } else { s.call };
        let (i, j) = (random.chance(50), random.chance(50));
        let (p, q) = (pick(x, i), pick(y, j));
        if p == NEVER || q == NEVER || p.abs_diff(q) > 3 {
            continue;
        }
        *(if i { &mut x.returned } else { &mut x.call }) = q;
        *(if j { &mut y.returned } else { &mut y.call }) = p;
        if spans.iter().all(|s| s.call < s.returned) {
            [ops[a].span, ops[b].span] = spans;
        }
    }
    ops.sort_by_key(|o| o.span.call);
}

/// Some histories are one key of many: their ranks have holes.
fn sometimes_sparse<A>(random: &mut Random, ops: &mut [Op<A>]) {
    if random.chance(10) {
        let sparse = |rank: u32| if rank == NEVER { NEVER } else { rank * 1000 + 7 };
        for o in ops {
            o.span = Span { call: sparse(o.span.call), returned: sparse(o.span.returned) };
        }
    }
}
