//! Benchmarks of trueline and its large differential runs. Speed is measured here and never in
//! tests, as a ratio against a reference or a peer in the same run, because machines are noisy.
#![deny(unsafe_code)]

mod check;
mod crowds;
mod differential;
#[cfg(feature = "peers")]
mod explore;
mod growth;
mod measure;
mod memory;
mod monitoring;
mod monitors;
mod objects;
#[allow(unreachable_pub)]
#[path = "../../trueline/tests/it/oracle/mod.rs"]
mod oracle;
mod plot;
mod quasi;
mod read;
mod roundup;
mod simulate;
mod snapshot;
mod table1;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The corpus by group and generated histories: time, memory, and our general search against
    /// wgl.
    Check(check::Arguments),
    /// Many operations at once that commute or are equal, right and with one mistake.
    Crowds(crowds::Arguments),
    /// Random small histories of every specification: each algorithm against the brute-force
    /// oracle.
    Differential(differential::Arguments),
    /// Small programs under trueline, loom and shuttle: executions, their rate, and the outcomes
    /// seen.
    #[cfg(feature = "peers")]
    Explore(explore::Arguments),
    /// How the time of the general search grows with the length of register histories, wgl beside
    /// it.
    Growth(growth::Arguments),
    /// The experiments of the paper on symbolic monitoring: Figure 12, Tables 1 and 2.
    Monitoring(monitoring::Arguments),
    /// Long histories of the types that have exact monitors: deciding against reading.
    Monitors(monitors::Arguments),
    /// Long recorded histories of relaxed queues: a factor decided, the least factor found.
    Quasi(quasi::Arguments),
    /// Throughput of our objects beside those of other crates.
    Objects(objects::Arguments),
    /// How fast a long history is read, and with how much memory.
    Read(read::Arguments),
    /// The experiments of the paper on quasi linearizability: Tables II, III and V beside ours, and
    /// its Figures 8 and 9.
    Roundup(roundup::Arguments),
    /// Wing and Gong's simulator: their figures beside ours.
    Simulate(simulate::Arguments),
    /// The tables of the paper on snapshots beside ours, and a long simple history.
    Snapshot(snapshot::Arguments),
    /// The paper's Table 1 beside ours, and its Figures 4 to 6.
    Table1(table1::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Crowds(arguments) => crowds::run(&arguments),
        Command::Differential(arguments) => differential::run(&arguments),
        #[cfg(feature = "peers")]
        Command::Explore(arguments) => explore::run(&arguments),
        Command::Growth(arguments) => growth::run(&arguments),
        Command::Monitoring(arguments) => monitoring::run(&arguments),
        Command::Monitors(arguments) => monitors::run(&arguments),
        Command::Quasi(arguments) => quasi::run(&arguments),
        Command::Objects(arguments) => {
            memory::stop_counting();
            objects::run(&arguments)
        }
        Command::Read(arguments) => read::run(&arguments),
        Command::Roundup(arguments) => roundup::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Snapshot(arguments) => snapshot::run(&arguments),
        Command::Table1(arguments) => table1::run(&arguments),
    }
}
