//! `differential`: every algorithm against the brute-force oracle, on random small histories of
//! every specification; with `--long`, the exact monitors against the general search on longer
//! ones. Stops at the first mismatch and names the seed.

mod long;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::bail;
use rayon::prelude::*;
use trueline::Algorithm;
use trueline::spec::Builtin;

use crate::oracle::compare::compare;
use crate::oracle::every_spec::{Visit, every_spec};
use crate::oracle::random::{Shape, random_history};
use trueline::rng::Rng;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many histories, over all specifications; with --long, of each.
    #[arg(long, default_value_t = 100_000)]
    histories: u64,
    /// The most operations of a small history, from 2 on.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(2..=16))]
    operations: u64,
    /// Histories of 200 to 2,000 operations: the exact monitors against the general search, where
    /// that finishes.
    #[arg(long)]
    long: bool,
    /// The first seed; a history is named by specification and seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this specification, as the table names it.
    #[arg(long)]
    spec: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.long {
        return long::run(arguments);
    }
    let mut names = Names(Vec::new());
    every_spec(&mut names);
    let wanted = |name: &str| arguments.spec.as_deref().is_none_or(|only| only == name);
    let count = names.0.iter().filter(|n| wanted(n)).count() as u64;
    if count == 0 {
        bail!("no such specification: expected one of {}", names.0.join(", "));
    }
    let started = Instant::now();
    println!(
        "{:<34} {:>10} {:>13} {:>11} {:>9}",
        "specification", "histories", "linearizable", "violations", "pending"
    );
    let each = arguments.histories.div_ceil(count);
    let mut table = Table { arguments, each, total: 0, mismatch: None };
    every_spec(&mut table);
    if let Some(mismatch) = table.mismatch {
        bail!(mismatch);
    }
    println!(
        "{} histories, {} algorithms each, 0 mismatches, {:.1} s",
        table.total,
        Algorithm::ALL.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

struct Names(Vec<String>);

impl Visit for Names {
    fn visit<B: Builtin>(&mut self, name: &str, _: B) {
        self.0.push(name.to_string());
    }
}

/// Compares the histories of one specification after the other and prints a row each.
struct Table<'a> {
    arguments: &'a Arguments,
    each: u64,
    total: u64,
    mismatch: Option<String>,
}

impl Visit for Table<'_> {
    fn visit<B: Builtin>(&mut self, name: &str, spec: B) {
        let other = self.arguments.spec.as_deref().is_some_and(|only| only != name);
        if other || self.mismatch.is_some() {
            return;
        }
        let (good, pending) = (AtomicU64::new(0), AtomicU64::new(0));
        let first = self.arguments.seed;
        let compared: Result<(), String> = (first..first + self.each).into_par_iter().try_for_each(|seed| {
            let mut random = Rng::new(seed);
            let shape = Shape::up_to(self.arguments.operations, &mut random);
            let raw = random_history(&spec, shape, &mut random);
            let history = raw
                .decode(|method, args, result| spec.decode(method, args, result))
                .map_err(|e| format!("{name}, seed {seed}: what the type encodes does not decode:{e}"))?;
            if history.pending() > 0 {
                pending.fetch_add(1, Ordering::Relaxed);
            }
            match compare(&spec, &history) {
                Ok(linearizable) => good.fetch_add(u64::from(linearizable), Ordering::Relaxed),
                Err(e) => {
                    let shown: Vec<String> = raw
                        .operations()
                        .iter()
                        .enumerate()
                        .map(|(i, o)| format!("  {} [{}, {}]", raw.show(i as u32), o.call, o.returned))
                        .collect();
                    return Err(format!(
                        "{name}, seed {seed}: {e}\n{}\nreproduce: trueline-bench differential --spec {name} --seed {seed} --histories 1 --operations {}",
                        shown.join("\n"), self.arguments.operations
                    ));
                }
            };
            Ok(())
        });
        self.mismatch = compared.err();
        self.total += self.each;
        let (good, pending) = (good.into_inner(), pending.into_inner());
        let bad = self.each - good;
        println!("{name:<34} {:>10} {good:>13} {bad:>11} {pending:>9}", self.each);
    }
}
