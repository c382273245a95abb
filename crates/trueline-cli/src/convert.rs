//! `trueline convert`: a history in one format in, in another one out.

use std::io::Write;

use anyhow::Context;
use trueline::{Budget, formats};

use crate::args::{ConvertArgs, ensure_distinct};
use crate::check;
use crate::exit::Exit;
use crate::input::Reading;
use crate::output::{Output, complain};

pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<Exit> {
    ensure_distinct(&args.reading.rename)?;
    let name = args.file.display().to_string();
    let reading = Reading::new(&args.reading, args.spec.as_deref());
    let history = check::read(&args.file, &name, &reading, &Budget::unlimited())
        .map_err(|failure| anyhow::Error::msg(failure.message(&name)))?;
    let mut out = Output::new();
    formats::write(&history, args.to, out.writer()).with_context(|| name.clone())?;
    out.writer().flush().context("standard output")?;
    // The output carries the keys as if the user had declared them.
    if let Some(has_keys) = history.guessed_keys() {
        complain(format_args!("{name}: {}", check::describe_guess(has_keys)));
    }
    Ok(Exit::Holds)
}
