//! Limits hold for all that a check does: also for what prepares a search, and for explaining what
//! it found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use trueline::budget::Meter;
use trueline::history::{Builder, Call, Position};
use trueline::papers::{Algorithm as Paper, Options};
use trueline::spec::{self, Spec, Touches};
use trueline::{Algorithm, Budget, Check, History, Value, Verdict};

/// This many dequeues that never return, then an enqueue.
fn pending_dequeues(pending: i64) -> History {
    let mut builder = Builder::new();
    let at = Position::default();
    let (enq, deq) = (builder.method("enq"), builder.method("deq"));
    let part = builder.part(Default::default());
    for process in 1..=pending {
        let process = builder.process(&Value::Int(process));
        builder.call(process, part, Call { method: deq, args: Default::default() }, at).unwrap();
    }
    let process = builder.process(&Value::Int(0));
    let args = vec![Value::Int(7)].into();
    builder.call(process, part, Call { method: enq, args }, at).unwrap();
    builder.returns(process, Value::Nil, at).unwrap();
    builder.finish()
}

/// The solvers try every tuple of operations in the places of an axiom. Most tuples vanish at once,
/// and those used to be free: with 1,000 pending dequeues a limit of a second was overrun by
/// minutes.
#[test]
fn tuples_that_vanish_are_drawn_from_the_budget() {
    let pending = 60;
    let history = pending_dequeues(pending);
    let plain = Options::default();
    let incremental = Options { incremental: true, ..plain };
    for algorithm in [
        Algorithm::Paper(Paper::Symbolic(plain)),
        Algorithm::Paper(Paper::Symbolic(incremental)),
        Algorithm::Paper(Paper::Enumerate(Options { completions: true, ..plain })),
    ] {
        let budget = Budget::unlimited();
        let outcome = spec::named("queue").unwrap().check(&history, algorithm, &budget).unwrap();
        assert!(outcome.verdict.is_linearizable(), "{algorithm}: {:?}", outcome.verdict);
        let pairs = (pending * pending) as u64;
        // `enumerate` with completions looks at those first in which the dequeues have no effect.
        let at_least =
            if matches!(algorithm, Algorithm::Paper(Paper::Enumerate(_))) { 1 } else { pairs };
        assert!(budget.steps_spent() >= at_least, "{algorithm}: {}", budget.steps_spent());
    }
}

/// A register whose clock jumps to the end when the checker asks what can be left out of an
/// explanation.
struct Ticking {
    clock: Clock,
}

#[derive(Clone, Default)]
struct Clock {
    over: Arc<AtomicBool>,
    /// Questions that were asked since.
    asked: Arc<AtomicU64>,
}

impl Meter for Clock {
    fn elapsed(&self) -> Duration {
        Duration::from_secs(if self.over.load(Ordering::Relaxed) { 3600 } else { 0 })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Op {
    Write(i64),
    Read,
}

impl Spec for Ticking {
    type State = i64;
    type Op = Op;
    type Ret = i64;

    fn initial(&self) -> i64 {
        0
    }

    fn step(&self, state: &i64, op: &Op, ret: Option<&i64>, next: &mut Vec<i64>) {
        match op {
            Op::Write(value) => next.push(*value),
            Op::Read if ret.is_none_or(|seen| seen == state) => next.push(*state),
            Op::Read => {}
        }
    }

    fn observes(&self, op: &Op, _: Option<&i64>) -> bool {
        *op == Op::Read
    }

    fn touches(&self, op: &Op, ret: Option<&i64>) -> Touches {
        self.clock.over.store(true, Ordering::Relaxed);
        self.clock.asked.fetch_add(1, Ordering::Relaxed);
        match op {
            Op::Write(value) => Touches::Flow { reads: None, writes: Some(*value as u64) },
            Op::Read => Touches::Flow { reads: ret.map(|seen| *seen as u64), writes: None },
        }
    }
}

/// Minimising a violation of thousands of operations used to go on for seconds after the time was
/// over: it asked for each operation which others could leave with it, though nothing could be
/// tried any more.
#[test]
fn minimising_ends_when_the_time_is_over() {
    let rounds = 200;
    let mut builder = Builder::new();
    let at = Position::default();
    let (write, read) = (builder.method("write"), builder.method("read"));
    let part = builder.part(Default::default());
    let processes: Vec<_> = (0..2).map(|p| builder.process(&Value::Int(p))).collect();
    for round in 0..rounds {
        let value = Value::Int(round % 3);
        let args = vec![value.clone()].into();
        builder.call(processes[0], part, Call { method: write, args }, at).unwrap();
        builder.returns(processes[0], Value::Nil, at).unwrap();
        let args = Default::default();
        builder.call(processes[1], part, Call { method: read, args }, at).unwrap();
        // The last read sees a value that was never written.
        let seen = if round + 1 == rounds { Value::Int(99) } else { value };
        builder.returns(processes[1], seen, at).unwrap();
    }
    let history = builder.finish();
    let decode = |method: &str, args: &[Value], result: Option<&Value>| {
        let seen = result.map(|value| value.as_int().unwrap_or(0));
        Ok(match method {
            "write" => (Op::Write(args[0].as_int().unwrap()), seen),
            _ => (Op::Read, seen),
        })
    };
    let history = history.decode(decode).unwrap();
    let clock = Clock::default();
    let budget = Budget::unlimited().time(Duration::from_secs(1)).meter(clock.clone());
    let check = Check::new(Ticking { clock: clock.clone() }).algorithm(Algorithm::Search);
    let outcome = check.budget(&budget).run(&history);
    let Verdict::Violation(explanation) = outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert!(!explanation.minimal, "it had no time to see that");
    let (asked, operations) = (clock.asked.load(Ordering::Relaxed), history.len() as u64);
    assert!(asked < 20 * operations, "{asked} questions about {operations} operations");
}
