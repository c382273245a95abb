//! A queue as a user would write it: a plain struct that says what it is.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use trueline::generate::Plan;
use trueline::spec::{self, Action, Canonical, Kind, Sequential};
use trueline::{Check, History, Value};

use crate::measure::seconds;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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
        match *op {
            Op::Push(v) => {
                self.0.push_back(v);
                None
            }
            Op::Pop => self.0.pop_front(),
        }
    }

    fn canonical(&self) -> Option<Canonical<Op, Option<i64>>> {
        Some(Canonical::new(Kind::Queue, |op, ret| {
            Some(match (op, ret) {
                (Op::Push(v), _) => Action::Insert(Value::Int(*v)),
                (Op::Pop, Some(Some(v))) => Action::Remove(Value::Int(*v)),
                (Op::Pop, Some(None)) => Action::FoundEmpty,
                (Op::Pop, None) => Action::RemoveUnknown,
            })
        }))
    }
}

/// Decides a generated history, fine and with a planted violation, through the user's struct and
/// prints a line each.
pub(super) fn run(operations: usize, processes: usize) -> anyhow::Result<()> {
    for violation in [None, Some(0.999)] {
        let plan = Plan { operations, processes, violation, seed: 1, ..Plan::default() };
        let queue = spec::named("queue").map_err(|e| anyhow!(e))?;
        let history: History<Op, Option<i64>> =
            queue.generate(&plan).map_err(|e| anyhow!(e))?.decode(|method, args, result| {
                Ok(match method {
                    "enq" => (Op::Push(args[0].as_int().unwrap_or_default()), Some(None)),
                    _ => (Op::Pop, result.map(Value::as_int)),
                })
            })?;
        let start = Instant::now();
        let outcome = Check::new(Fifo::default()).run(&history);
        let elapsed: Duration = start.elapsed();
        ensure!(outcome.verdict.is_violation() == violation.is_some(), "{:?}", outcome.verdict);
        println!(
            "a user's own queue, a plain struct: {operations} operations, {} s, {}: {}",
            seconds(elapsed.as_secs_f64()),
            outcome.algorithm,
            outcome.verdict.name()
        );
    }
    Ok(())
}
