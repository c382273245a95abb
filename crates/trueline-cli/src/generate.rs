//! `trueline generate`: a random history of a specification.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Context;
use trueline::formats::{self, EventWriter, Format};
use trueline::generate::{Generated, Plan};

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
        occupancy: args.occupancy,
        simple: args.simple,
        ..Plan::default()
    };
    if args.format == Format::JsonLines && plan.violation.is_none() {
        return stream(args, &plan);
    }
    let history = args.spec.generate(&plan).map_err(anyhow::Error::msg)?;
    let mut out = Output::new();
    formats::write(&history, args.format, out.writer()).context("generate")?;
    out.writer().flush().context("standard output")?;
    Ok(Exit::Holds)
}

/// Writes events as they are generated, and keeps only pending operations in memory.
fn stream(args: &GenerateArgs, plan: &Plan) -> anyhow::Result<Exit> {
    let mut writer = EventWriter::new(std::io::stdout().lock(), args.spec.text());
    // Processes that gave up waiting; their next call records that.
    let mut gave_up = BTreeSet::new();
    let mut failed = None;
    let mut tell = |process: u32, event: Generated<'_>| {
        let written = match event {
            Generated::Unknown => {
                gave_up.insert(process);
                Ok(())
            }
            event => {
                let calls_again = matches!(event, Generated::Call(..)) && gave_up.remove(&process);
                let unknown = match calls_again {
                    true => writer.event(process, &Generated::Unknown),
                    false => Ok(()),
                };
                unknown.and_then(|()| writer.event(process, &event))
            }
        };
        failed = written.err();
        failed.is_none()
    };
    args.spec.generate_stream(plan, &mut tell).map_err(anyhow::Error::msg)?;
    if let Some(error) = failed {
        return Err(anyhow::Error::new(error).context("standard output"));
    }
    writer.finish().context("standard output")?;
    Ok(Exit::Holds)
}
