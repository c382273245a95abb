//! The `trueline` command. Parses flags into typed arguments, dispatches once, and sets the exit
//! code: 0 holds, 1 violation, 2 usage or input error, 3 undecided.
#![forbid(unsafe_code)]

mod again;
mod args;
mod check;
mod convert;
mod corpus;
mod exit;
mod generate;
mod graph;
mod guard;
mod input;
mod limits;
mod list;
mod monitor;
mod output;
mod pages;
mod progress;
mod shell;
mod simulate;
mod spec_file;
mod verify;

use std::process::ExitCode;

use anyhow::Context;
use args::{Cli, Command};
use clap::Parser;
use exit::Exit;

/// Simulated objects allocate from an arena, which gives the same addresses in each execution.
/// Everything else uses the system's allocator.
#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

fn main() -> ExitCode {
    // Abandoned threads may use the arguments until the process ends.
    let cli: &'static Cli = match Cli::try_parse() {
        Ok(cli) => Box::leak(Box::new(cli)),
        Err(message) => return exit::conclude(print_message(&message)),
    };
    let result = match &cli.command {
        Command::Check(args) => check::run(args),
        Command::Monitor(args) => monitor::run(args),
        Command::Corpus(args) => corpus::run(args),
        Command::Generate(args) => generate::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Simulate(args) => simulate::run(args),
        Command::Models(args) => list::models(args),
        Command::Objects(args) => list::objects(args),
        Command::Specs(args) => list::specs(args),
        Command::Formats(args) => list::formats(args),
        Command::Algorithms(args) => list::algorithms(args),
        Command::Completions { shell } => shell::completions(*shell),
        Command::Man { page } => shell::man(page.as_deref()),
    };
    exit::conclude(result)
}

/// Prints help, the version, or an error in the arguments.
fn print_message(message: &clap::Error) -> anyhow::Result<Exit> {
    let shown = message.print();
    if message.use_stderr() {
        return Ok(Exit::Error);
    }
    shown.context("standard output").map(|()| Exit::Holds)
}
