//! Exact monitors against the general search, on histories that are too long for the oracle.
//!
//! Half of the histories are generated, with or without a planted violation; the others are
//! simulated with a few spoiled results. The search may spend a number of steps; where it does not
//! finish, nothing is compared, and the table says how often.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{anyhow, bail};
use rayon::prelude::*;
use trueline::generate::Plan;
use trueline::spec::{self, Builtin};
use trueline::{Algorithm, Budget, Check, History, Value, Verdict};

use super::Arguments;
use crate::oracle::random::{Shape, random_history};
use trueline::rng::Rng;

/// Steps that the search may spend on a history.
const STEPS: u64 = 300_000;

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let started = Instant::now();
    println!(
        "{:<26} {:>9} {:>13} {:>11} {:>9} {:>11} {:>14}",
        "specification",
        "compared",
        "linearizable",
        "violations",
        "pending",
        "unfinished",
        "no monitor fits"
    );
    let items = [Value::Int(1), Value::Int(0)];
    let mut compared = 0;
    compared += compare_all(arguments, "register", &spec::register(Value::Nil))?;
    compared += compare_all(arguments, "queue", &spec::queue())?;
    compared +=
        compare_all(arguments, "queue:init=[1 0]", &spec::queue().with_init(items.clone()))?;
    compared += compare_all(arguments, "stack", &spec::stack())?;
    compared += compare_all(arguments, "stack:init=[1 0]", &spec::stack().with_init(items))?;
    compared += compare_all(arguments, "priority-queue", &spec::priority_queue())?;
    let smallest_first = spec::priority_queue().smallest_first();
    compared += compare_all(arguments, "priority-queue:order=min", &smallest_first)?;
    compared += compare_all(arguments, "set", &spec::set())?;
    compared += compare_all(arguments, "mutex", &spec::mutex())?;
    let seconds = started.elapsed().as_secs_f64();
    println!("{compared} histories compared, 0 mismatches, {seconds:.1} s");
    Ok(())
}

#[derive(Default)]
struct Counts {
    fine: AtomicU64,
    violations: AtomicU64,
    pending: AtomicU64,
    unfinished: AtomicU64,
    no_monitor: AtomicU64,
}

fn compare_all<B: Builtin>(arguments: &Arguments, name: &str, spec: &B) -> anyhow::Result<u64> {
    if arguments.spec.as_deref().is_some_and(|only| only != name) {
        return Ok(0);
    }
    let counts = Counts::default();
    let seeds = arguments.seed..arguments.seed + arguments.histories;
    let each = |seed| {
        compare(name, spec, seed, &counts).map_err(|e| {
            let again = format!("trueline-bench differential --long --spec '{name}'");
            anyhow!("{name}, seed {seed}: {e}\nagain: {again} --seed {seed} --histories 1")
        })
    };
    seeds.into_par_iter().try_for_each(each)?;
    let Counts { fine, violations, pending, unfinished, no_monitor } = counts;
    let (fine, violations) = (fine.into_inner(), violations.into_inner());
    println!(
        "{name:<26} {:>9} {fine:>13} {violations:>11} {:>9} {:>11} {:>14}",
        fine + violations,
        pending.into_inner(),
        unfinished.into_inner(),
        no_monitor.into_inner(),
    );
    Ok(fine + violations)
}

fn compare<B: Builtin>(name: &str, spec: &B, seed: u64, counts: &Counts) -> anyhow::Result<()> {
    let history = long_history(name, spec, seed)?;
    let history = history.decode(|m, args, result| spec.decode(m, args, result))?;
    let decide = |algorithm| {
        let budget = Budget::unlimited().steps(STEPS);
        Check::new(spec.clone()).algorithm(algorithm).budget(&budget).run(&history).verdict
    };
    let count = |counter: &AtomicU64| {
        counter.fetch_add(1, Ordering::Relaxed);
    };
    let compared = |counter: &AtomicU64| {
        count(counter);
        if history.pending() > 0 {
            count(&counts.pending);
        }
    };
    match (decide(Algorithm::Monitor), decide(Algorithm::Search)) {
        (Verdict::Unknown(_), _) => count(&counts.no_monitor),
        (_, Verdict::Unknown(_)) => count(&counts.unfinished),
        (Verdict::Linearizable(_), Verdict::Linearizable(_)) => compared(&counts.fine),
        (Verdict::Violation(_), Verdict::Violation(_)) => compared(&counts.violations),
        (monitor, search) => {
            bail!("the monitor says {}, the search {}", monitor.name(), search.name())
        }
    }
    Ok(())
}

fn long_history<B: Builtin>(name: &str, spec: &B, seed: u64) -> anyhow::Result<History> {
    let mut random = Rng::new(seed);
    let operations = 200 + random.below(1801);
    let processes = 2 + random.below(5);
    let is_pending = random.below(3) == 0;
    if random.below(2) == 0 {
        let plan = Plan {
            operations: operations as usize,
            processes: processes as usize,
            seed,
            violation: (random.below(2) == 0).then_some(0.2 + random.below(7) as f64 / 10.0),
            pending: if is_pending { 0.003 } else { 0.0 },
            empties: random.below(4) > 0,
            ..Plan::default()
        };
        return trueline::generate::generate(spec, &plan, Some(name)).map_err(|e| anyhow!(e));
    }
    let (wrong, unknown) = (random.below(2), u64::from(is_pending));
    let shape = Shape { operations, processes, wrong, unknown, values: 0 };
    Ok(random_history(spec, shape, &mut random))
}
