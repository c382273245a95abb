//! The arguments of `trueline verify`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{LimitArgs, OutputArgs};

pub(super) const HELP: &str = "\
A model is a file in the language of docs/model-language.md, or the name of a built-in one ('trueline models').

Examples:
  trueline verify treiber
  trueline verify my-queue.tl --set procs=3 --timeout 10m --memory 8G
  trueline verify counter --set bug=1 --html report.html --graph page
  trueline verify counter --set procs=5 --set size=4 --semantics pat --reduction none --antichain off

Exit code: 0 verified, 1 a violation, 2 an error, 3 undecided.";

/// Random runs before the search of simple histories, unless `--walks` gives another number.
const DEFAULT_WALKS: u64 = 1000;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Models: files, or names of built-in ones
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<String>,

    /// Set a parameter of the model
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub(crate) set: Vec<(String, i32)>,

    /// Which reductions to use: symmetry, partial order, or both
    #[arg(long, default_value = "both", value_name = "WHICH")]
    pub(crate) reduction: Reduction,

    /// Whether to prune states subsumed by another (antichain): those with a superset of its
    /// explanations
    #[arg(long, default_value = "on", value_name = "WHETHER")]
    pub(crate) antichain: Switch,

    /// Trust the marked linearization points; if that fails, check again without them
    #[arg(long)]
    pub(crate) points: bool,

    /// What counts as a step; pat: the cost of steps of the model checker PAT
    #[arg(long, default_value = "default", value_name = "WHICH")]
    pub(crate) semantics: SemanticsArg,

    /// Check that no process waits for ever, even if the specification does, and the progress
    /// properties that the model declares. This needs the full graph of the implementation.
    /// Deadlocks that the specification does not explain are found without it
    #[arg(long)]
    pub(crate) progress: bool,

    /// Which histories of a snapshot algorithm to check. simple: two processes change their
    /// segment once, the others never, for every pair; enough for an algorithm that does not
    /// depend on its values
    #[arg(long, default_value = "all", value_name = "WHICH", conflicts_with_all = ["points", "progress", "checkpoint", "resume"])]
    pub(crate) histories: Histories,

    /// Check simple histories with automata instead of specification states: the number of states
    /// is polynomial in that of the algorithm
    #[arg(long)]
    pub(crate) automata: bool,

    /// Pair of processes that change their segments in simple histories; repeatable [default: all
    /// pairs]
    #[arg(long, value_name = "I,J", value_parser = parse_pair)]
    pub(crate) pair: Vec<(usize, usize)>,

    /// Random runs before the search of simple histories; they find most violations
    #[arg(long, value_name = "N", default_value_t = DEFAULT_WALKS)]
    pub(crate) walks: u64,

    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Save the search to this file every half minute, when a limit is reached, and on Ctrl-C and
    /// SIGTERM
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Resume from a checkpoint
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,

    /// Write the state graph of a small model, without reductions, to this file in the language of
    /// graphviz, up to 10,000 states; `page` draws it on the page of --html, up to 1,000 states
    #[arg(long, value_name = "FILE|page")]
    pub(crate) graph: Option<PathBuf>,

    /// Print one JSON object per model
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl VerifyArgs {
    /// The number of random runs, if it is not the default.
    pub(crate) fn other_walks(&self) -> Option<u64> {
        (self.walks != DEFAULT_WALKS).then_some(self.walks)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Histories {
    All,
    Simple,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reduction {
    None,
    Symmetry,
    Por,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SemanticsArg {
    Default,
    Pat,
}

fn parse_setting(text: &str) -> Result<(String, i32), String> {
    let expected = || "expected a name, = and a number: procs=3".to_string();
    let (name, value) = text.split_once('=').ok_or_else(expected)?;
    Ok((name.trim().to_string(), value.trim().parse().map_err(|_| expected())?))
}

fn parse_pair(text: &str) -> Result<(usize, usize), String> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let pair = text.split_once(',').and_then(|(i, j)| Some((number(i)?, number(j)?)));
    match pair {
        Some((i, j)) if i < j => Ok((i, j)),
        _ => Err(format!("expected two processes, the lower first, as in 0,1; found {text}")),
    }
}
