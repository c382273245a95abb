//! `differential`: every algorithm against the brute-force oracle, on random small histories of every
//! specification.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use rayon::prelude::*;
use trueline::spec::{self, Builtin};
use trueline::{Algorithm, Check, Verdict};

use crate::oracle;
use crate::oracle::random::{Random, Shape, random_history};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many histories, over all specifications.
    #[arg(long, default_value_t = 100_000)]
    histories: u64,
    /// The first seed; a history is named by specification and seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this specification, with parameters.
    #[arg(long)]
    spec: Option<String>,
}

#[derive(Default)]
struct Tally {
    linearizable: AtomicU64,
    violations: AtomicU64,
    pending: AtomicU64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let names: Vec<String> = match &arguments.spec {
        Some(name) => vec![name.clone()],
        None => spec::samples().iter().map(|s| s.to_string()).collect(),
    };
    let each = arguments.histories.div_ceil(names.len() as u64);
    let started = Instant::now();
    println!(
        "{:<34} {:>10} {:>13} {:>11} {:>9}",
        "specification", "histories", "linearizable", "violations", "pending"
    );
    let mut total = 0;
    for name in &names {
        let tally = Tally::default();
        let one = |seed: u64| {
            spec::visit(name, Compare { seed, tally: &tally }).map_err(anyhow::Error::msg)?
        };
        (0..each)
            .into_par_iter()
            .map(|i| one(arguments.seed + i))
            .collect::<anyhow::Result<()>>()
            .with_context(|| format!("specification {name}"))?;
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        println!(
            "{name:<34} {each:>10} {:>13} {:>11} {:>9}",
            count(&tally.linearizable),
            count(&tally.violations),
            count(&tally.pending)
        );
        total += each;
    }
    println!(
        "{total} histories, {} algorithms each, 0 mismatches, {:.1} s",
        Algorithm::ALL.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Compares all algorithms on the history of one seed.
struct Compare<'a> {
    seed: u64,
    tally: &'a Tally,
}

impl spec::Visitor for Compare<'_> {
    type Output = anyhow::Result<()>;

    fn visit<B: Builtin>(self, spec: B) -> anyhow::Result<()> {
        let mut random = Random::new(self.seed);
        let shape = Shape::small(&mut random);
        let raw = random_history(&spec, shape, &mut random);
        let history =
            raw.decode(|method, args, result| spec.decode(method, args, result)).with_context(
                || format!("seed {}: what the type encodes does not decode", self.seed),
            )?;
        let expected = oracle::is_linearizable(&spec, &history);
        let counter = if expected { &self.tally.linearizable } else { &self.tally.violations };
        counter.fetch_add(1, Ordering::Relaxed);
        if history.pending() > 0 {
            self.tally.pending.fetch_add(1, Ordering::Relaxed);
        }
        for &(algorithm, name, _) in Algorithm::ALL {
            let verdict = Check::new(spec.clone()).algorithm(algorithm).run(&history).verdict;
            let agrees = match &verdict {
                Verdict::Linearizable(_) => expected,
                Verdict::Violation(e) => {
                    let of_part = history.select(&e.operations);
                    let alone = if e.start.is_none() && e.until == u32::MAX {
                        !oracle::is_linearizable(&spec, &of_part)
                    } else {
                        true
                    };
                    !expected && alone && e.rechecked
                }
                Verdict::Unknown(_) => false,
            };
            if !agrees {
                let operations: Vec<String> = (0..raw.len() as u32)
                    .map(|i| {
                        let o = &raw.operations()[i as usize];
                        format!("{} [{}, {}]", raw.show(i), o.call, o.returned)
                    })
                    .collect();
                bail!(
                    "seed {}: {name} says {verdict:?}, the oracle says linearizable = {expected}:\n{}",
                    self.seed,
                    operations.join("\n")
                );
            }
        }
        Ok(())
    }
}
