//! `verify --graph`: the state graph of a small model, in a file for graphviz or on the page.

use std::fs;
use std::path::PathBuf;

use trueline_model::engine::NoGraph;
use trueline_report::{Report, Section, StateGraph, count, grouped};

use crate::args::{Histories, VerifyArgs};

/// The value of `--graph` that is no file.
pub(crate) const PAGE: &str = "page";

/// More states than this are not written to a file.
const IN_A_FILE: usize = 10_000;
/// More states than this are not drawn on a page.
const ON_A_PAGE: usize = 1_000;

/// Where the graph goes.
pub(crate) enum GraphTarget {
    File(PathBuf),
    Page,
}

impl GraphTarget {
    /// What the arguments ask for. The error says what they lack.
    pub(crate) fn new(args: &VerifyArgs) -> Result<Option<GraphTarget>, String> {
        let Some(file) = &args.graph else { return Ok(None) };
        if args.histories == Histories::Simple {
            return Err("--graph draws all histories: leave out --histories simple".into());
        }
        if file != PAGE {
            return Ok(Some(GraphTarget::File(file.clone())));
        }
        match args.output.html {
            Some(_) => Ok(Some(GraphTarget::Page)),
            None => {
                Err("--graph page draws on the page of the report: expected --html FILE".into())
            }
        }
    }

    /// The largest graph that it takes.
    pub(crate) fn most(&self) -> usize {
        match self {
            GraphTarget::File(_) => IN_A_FILE,
            GraphTarget::Page => ON_A_PAGE,
        }
    }

    /// Why there is no graph, and what helps.
    pub(crate) fn refusal(&self, why: &NoGraph) -> String {
        match (why, self) {
            (NoGraph::TooLarge(most), GraphTarget::File(_)) => {
                let most = grouped(*most as u64);
                format!("the model has more than {most} states; make it smaller with --set")
            }
            (NoGraph::TooLarge(most), GraphTarget::Page) => {
                let (most, file) = (grouped(*most as u64), grouped(IN_A_FILE as u64));
                format!(
                    "the model has more than {most} states, too many to draw on a page; make it \
                     smaller with --set, or write up to {file} states with --graph FILE.dot"
                )
            }
            (NoGraph::Setup(why), _) => format!("the setup fails: {why}"),
            (NoGraph::Spent(why), _) => format!("no graph: {why}"),
        }
    }

    /// Writes the graph, or hands it to the report for its page.
    pub(crate) fn put(
        self,
        name: &str,
        graph: StateGraph,
        report: &mut Report,
    ) -> Result<(), String> {
        let states = count(graph.states.len() as u64, "state");
        let moves = count(graph.moves.len() as u64, "transition");
        let mut field = serde_json::Map::new();
        field.insert("states".into(), graph.states.len().into());
        field.insert("transitions".into(), graph.moves.len().into());
        match self {
            GraphTarget::Page => report.graph = Some(graph),
            GraphTarget::File(file) => {
                fs::write(&file, graph.dot(name))
                    .map_err(|error| format!("--graph: {}: {error}", file.display()))?;
                let line = format!("graph: {} ({states}, {moves})", file.display());
                report.sections.push(Section::dim(line));
                field.insert("file".into(), file.display().to_string().into());
            }
        }
        report.field("graph", field);
        Ok(())
    }
}
