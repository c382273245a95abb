//! `trueline generate`: a random history of a specification.

use crate::args::GenerateArgs;
use crate::exit::Exit;

pub(crate) fn run(args: &GenerateArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("{}: generation is not built yet", args.spec.text())
}
