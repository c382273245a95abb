//! `crowds`: many operations at once that commute, are equal, or that nobody looks at.
//!
//! Jepsen's set workload (additions by ten workers, some of unknown outcome, then one read of
//! everything), and up to 200 additions at once followed by one read: right ones and ones with one
//! mistake. All used to be undecided.

use std::time::Duration;

use anyhow::anyhow;
use trueline::history::{Builder, Call, Position};
use trueline::rng::Rng;
use trueline::spec;
use trueline::{Algorithm, History, Value};

use crate::measure::{self, seconds};

/// What Jepsen's workload may take, and what a crowd may take.
const WORKLOAD: f64 = 1.0;
const CROWD: f64 = 0.1;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Additions of the set workload.
    #[arg(long, default_value_t = 10_000)]
    additions: usize,
    /// How long one decision may take.
    #[arg(long, default_value = "20s", value_parser = measure::parse_time)]
    timeout: Duration,
}

/// A history, what it is called and what it is.
struct Row {
    name: String,
    spec: &'static str,
    history: History,
    linearizable: bool,
    target: f64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!(
        "Histories with many operations at once. Seconds to decide and explain, reading not included: median of up to\n\
         5 runs. Targets: {WORKLOAD} s for the set workload, {CROWD} s for the others.\n"
    );
    println!(
        "{:<34} {:>10} {:>13} {:>16} {:>8} {:>10}",
        "history", "operations", "verdict", "decided by", "seconds", "explained"
    );
    let mut missed = 0;
    for row in rows(arguments.additions)? {
        let spec = spec::named(row.spec).map_err(|e| anyhow!(e))?;
        let runs = (5, arguments.timeout);
        let decision =
            measure::decide(&spec, &row.history, Algorithm::Auto, arguments.timeout, runs)?;
        let expected = if row.linearizable { "linearizable" } else { "violation" };
        anyhow::ensure!(
            !decision.is_decided() || decision.verdict == expected,
            "{}: found to be {}, made to be {expected}",
            row.name,
            decision.verdict
        );
        missed += u32::from(!decision.is_decided() || decision.seconds > row.target);
        println!(
            "{:<34} {:>10} {:>13} {:>16} {:>8} {:>10}",
            row.name,
            row.history.len(),
            decision.verdict,
            decision.algorithm,
            seconds(decision.seconds),
            decision.explained
        );
    }
    println!("\ncrowds: {missed} rows miss their target");
    Ok(())
}

fn rows(additions: usize) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for lost in [false, true] {
        let name = if lost { "set workload, one lost" } else { "set workload" };
        let history = set_workload(additions, 10, lost)?;
        let (name, target) = (name.to_string(), WORKLOAD);
        rows.push(Row { name, spec: "set", history, linearizable: !lost, target });
    }
    type Kind = (&'static str, &'static str, fn(usize) -> Value, fn(usize) -> Value);
    let int = |n: usize| Value::Int(n as i64);
    let kinds: [Kind; 6] = [
        ("counter, equal amounts", "counter", |_| Value::Int(1), |n| Value::Int(n as i64)),
        (
            "counter, different amounts",
            "counter",
            |i| Value::Int(i as i64 + 1),
            |n| Value::Int((n * (n + 1) / 2) as i64),
        ),
        ("set", "set", |i| Value::Int(i as i64), |n| Value::list((0..n as i64).map(Value::Int))),
        ("multiset", "multiset", |_| Value::Int(7), |n| Value::Int(n as i64)),
        ("log", "log", |i| Value::Int(i as i64), |n| Value::list((0..n as i64).map(Value::Int))),
        (
            "kv",
            "kv",
            |i| Value::text(format!("{i};")),
            |n| Value::text((0..n).map(|i| format!("{i};")).collect::<String>()),
        ),
    ];
    for (name, spec, amount, result) in kinds {
        for crowd in [20, 50, 200] {
            for wrong in [false, true] {
                // One too many was added, or one is missing from what is shown.
                let told = match (wrong, result(crowd)) {
                    (false, told) => told,
                    (true, Value::Int(total)) => Value::Int(total + 1),
                    (true, Value::List(list)) => {
                        Value::list(list.iter().filter(|v| **v != int(crowd / 2)).cloned())
                    }
                    (true, Value::Text(text)) => Value::text(text.replacen("7;", "", 1)),
                    (true, other) => other,
                };
                for beside in [false, true] {
                    let history = crowd_of(spec, crowd, amount, told.clone(), beside)?;
                    let what = if wrong { "wrong" } else { "right" };
                    let place = if beside { "beside" } else { "behind" };
                    let name = format!("{crowd} {name}, {what} read {place}");
                    // A read beside the additions may show fewer of them.
                    let adds_up = matches!(told, Value::Int(_));
                    let linearizable = !wrong || (beside && !adds_up);
                    rows.push(Row { name, spec, history, linearizable, target: CROWD });
                }
            }
        }
    }
    let mut builder = Crowd::new();
    for i in 0..60 {
        builder.call(i, "push_back", vec![int(i)])?;
    }
    builder.call(60, "pop_front", vec![])?;
    builder.returns(60, int(77))?;
    let history = builder.builder.finish();
    let name = "60 deque, pop of what nobody pushed".to_string();
    rows.push(Row { name, spec: "deque", history, linearizable: false, target: CROWD });
    Ok(rows)
}

struct Crowd {
    builder: Builder,
    part: u32,
}

impl Crowd {
    fn new() -> Crowd {
        let mut builder = Builder::new();
        let part = builder.part(Default::default());
        Crowd { builder, part }
    }

    fn call(&mut self, process: usize, method: &str, args: Vec<Value>) -> anyhow::Result<()> {
        let process = self.builder.process(&Value::Int(process as i64));
        let call = Call { method: self.builder.method(method), args: args.into() };
        self.builder.call(process, self.part, call, Position::default())?;
        Ok(())
    }

    fn returns(&mut self, process: usize, result: Value) -> anyhow::Result<()> {
        let process = self.builder.process(&Value::Int(process as i64));
        self.builder.returns(process, result, Position::default())?;
        Ok(())
    }
}

/// So many additions at once, and a read that is called when all have returned, or before any has.
fn crowd_of(
    spec: &str,
    crowd: usize,
    amount: fn(usize) -> Value,
    told: Value,
    beside: bool,
) -> anyhow::Result<History> {
    let (add, read) = match spec {
        "kv" => ("append", "get"),
        "log" => ("append", "read"),
        "multiset" => ("add", "count"),
        _ => ("add", "read"),
    };
    let key = |rest: Option<Value>| match (spec, rest) {
        ("kv", Some(text)) => vec![Value::Int(0), text],
        ("kv", None) => vec![Value::Int(0)],
        ("multiset", None) => vec![Value::Int(7)],
        (_, Some(value)) => vec![value],
        (_, None) => vec![],
    };
    let mut builder = Crowd::new();
    if beside {
        builder.call(crowd, read, key(None))?;
    }
    for i in 0..crowd {
        builder.call(i, add, key(Some(amount(i))))?;
    }
    for i in 0..crowd {
        builder.returns(i, Value::Nil)?;
    }
    if !beside {
        builder.call(crowd, read, key(None))?;
    }
    builder.returns(crowd, told)?;
    Ok(builder.builder.finish())
}

/// Jepsen's set workload: workers add numbers, one in twenty has an unknown outcome (of which half
/// took effect), and at last one reads everything.
fn set_workload(additions: usize, workers: usize, lost: bool) -> anyhow::Result<History> {
    let mut random = Rng::new(1);
    let mut crowd = Crowd::new();
    let mut free: Vec<usize> = (0..workers).collect();
    let mut open: Vec<(usize, usize)> = Vec::new();
    let (mut next_process, mut called) = (workers, 0);
    let (mut shown, mut returned) = (Vec::new(), Vec::new());
    while called < additions || !open.is_empty() {
        if called < additions && !free.is_empty() && (open.is_empty() || random.percent(50)) {
            let process = free.swap_remove(random.index(free.len()));
            crowd.call(process, "add", vec![Value::Int(called as i64)])?;
            open.push((process, called));
            called += 1;
            continue;
        }
        let (process, value) = open.swap_remove(random.index(open.len()));
        if random.percent(5) {
            if random.percent(50) {
                shown.push(value);
            }
            // A process whose operation has an unknown outcome never calls again.
            free.push(next_process);
            next_process += 1;
        } else {
            crowd.returns(process, Value::Nil)?;
            shown.push(value);
            returned.push(value);
            free.push(process);
        }
    }
    if lost && let Some(&value) = returned.get(returned.len() / 2) {
        shown.retain(|&v| v != value);
    }
    shown.sort_unstable();
    crowd.call(next_process, "read", vec![])?;
    crowd.returns(next_process, Value::list(shown.into_iter().map(|v| Value::Int(v as i64))))?;
    Ok(crowd.builder.finish())
}
