//! Turns answers into reports for people and programs.
//!
//! Every command of trueline ends with a [`Report`]: a verdict on a subject, sections as data, and
//! the commands that reproduce it. [`Report::text`] makes a [`Document`] of it: lines of spans with
//! roles, without escape codes. [`Document::render`] turns that into terminal text with or without
//! colour. [`Report::json`] makes one JSON object, and [`Report::page`] one HTML file. [`Case`]
//! holds everything that is known about one checked history; [`Case::report`] is the report on it.
//!
//! **Invariant: only this crate renders.** Other crates make reports; none of them edits rendered
//! output.
//!
//! **Invariant: no I/O.** The width of the terminal, its colours and the names of files are
//! parameters. The same report and [`Look`] give the same text.
#![forbid(unsafe_code)]

mod document;
mod graph;
mod history;
mod json;
mod lanes;
mod orders;
mod page;
mod quasi;
mod report;
mod steps;
mod text;
mod timeline;
mod views;
mod words;

use trueline::{History, Outcome};

pub use document::{Document, Line, Role, Span};
pub use graph::{GraphMove, GraphState, StateGraph};
pub use json::{SCHEMA, error_json, value};
pub use lanes::Bar;
pub use orders::Orders;
pub use page::{IndexRow, index_page};
pub use report::{Answer, Operations, Placed, Report, Section, Undecided, Verdict, limit_code};
pub use steps::{Layout, Step, Steps};
pub use timeline::{Overview, Timeline};
pub use views::{Cells, Moved};
pub use words::{bytes, clean, count, cut, grouped, seconds, unbroken, wrap};

/// A checked file and its result.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The file name as given.
    pub file: &'a str,
    /// The history that was read from it.
    pub history: &'a History,
    /// The specification as given: `queue:init=[1 2]`.
    pub spec: &'a str,
    /// Shows an operation, by its index, in the terms of the specification; without its result if
    /// the flag is false: `deq() -> 7`, `deq()`.
    pub show: &'a dyn Fn(u32, bool) -> String,
    /// The verdict and the statistics of the check.
    pub outcome: &'a Outcome,
    /// How long it took, reading included.
    pub seconds: f64,
    /// The command that reproduces it.
    pub again: &'a str,
    /// Whether to show the order that explains a linearizable history.
    pub witness: bool,
}

/// How a text report should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Width of the terminal in columns.
    pub width: usize,
    /// Draw with ASCII characters only.
    pub ascii: bool,
    /// Print the verdict line only.
    pub quiet: bool,
}

impl Default for Look {
    fn default() -> Look {
        Look { width: 80, ascii: false, quiet: false }
    }
}

/// The text of the report on a case: [`Case::report`] and [`Report::text`].
pub fn text(case: &Case, look: &Look) -> Document {
    case.report().text(look)
}

/// The object for a case: [`Case::report`] and [`Report::json`].
pub fn json(case: &Case) -> serde_json::Value {
    case.report().json()
}
