//! Benchmarks of trueline and its large differential runs. Speed is measured here and never in tests, as a ratio
//! against a reference or a peer in the same run, because machines are noisy.

mod differential;
#[allow(unreachable_pub)]
#[path = "../../trueline/tests/oracle/mod.rs"]
mod oracle;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Random small histories of every specification: each algorithm against the brute-force oracle.
    Differential(differential::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Differential(arguments) => differential::run(&arguments),
    }
}
