//! `trueline completions` and `trueline man`, generated from the definition in [`crate::args`].

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::output::Output;

pub(crate) fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "trueline", &mut script);
    show(script)
}

pub(crate) fn man(page: Option<&str>) -> anyhow::Result<Exit> {
    let mut cli = Cli::command();
    cli.build();
    let command = match page {
        None => cli,
        Some(name) => {
            let known: Vec<_> = cli.get_subcommands().map(|c| c.get_name().to_string()).collect();
            let found = cli.find_subcommand(name).cloned().with_context(|| {
                format!("there is no page about {name}: expected one of {}", known.join(", "))
            })?;
            found.display_name(format!("trueline-{name}"))
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    show(text)
}

fn show(text: Vec<u8>) -> anyhow::Result<Exit> {
    Output::new().show(&String::from_utf8_lossy(&text), Exit::Holds)?;
    Ok(Exit::Holds)
}
