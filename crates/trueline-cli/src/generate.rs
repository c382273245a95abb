//! `trueline generate`: a random history of a specification.

use std::io::Write;

use anyhow::Context;
use trueline::formats;
use trueline::generate::Plan;

use crate::args::GenerateArgs;
use crate::exit::Exit;
use crate::output::Output;

/// Share of the operations that `--pending` leaves without a return.
const PENDING: f64 = 0.05;

pub(crate) fn run(args: &GenerateArgs) -> anyhow::Result<Exit> {
    let plan = Plan {
        operations: args.operations,
        processes: args.processes,
        seed: args.seed,
        violation: args.violation,
        pending: if args.pending { PENDING } else { 0.0 },
        unique: !args.repeat,
        overlap: args.overlap,
        ..Plan::default()
    };
    let history = args.spec.generate(&plan).map_err(anyhow::Error::msg)?;
    let mut out = Output::new();
    formats::write(&history, args.format, out.writer()).context("generate")?;
    out.writer().flush().context("standard output")?;
    Ok(Exit::Holds)
}
