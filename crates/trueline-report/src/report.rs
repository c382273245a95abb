//! The report: what every command and every test of trueline returns, as data.
//!
//! Checking a history, monitoring a stream, running a simulation or a test, and verifying a model
//! all end with a [`Report`]: a verdict on a subject, sections in reading order, and the commands
//! that reproduce it. Renderers turn it into text ([`Report::text`]), JSON ([`Report::json`]) and a
//! page ([`Report::page`]). They are the only code that knows what a report looks like, and nothing
//! edits their output.
//!
//! **Invariant: sections carry data, not layout.** Labels are whole, lanes are not drawn, nothing
//! is cut or wrapped: the renderer decides on the width and the character set.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};
use trueline::budget::Exhausted;
use trueline::verdict::Reason;

use crate::document::Role;
use crate::graph::StateGraph;
use crate::lanes::Bar;
use crate::steps::Steps;
use crate::timeline::Timeline;

/// An answer about one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What was checked, as the user named it: a file, an object, a model, a program. Empty if the
    /// verdict needs no subject.
    pub subject: String,
    /// The answer.
    pub verdict: Answer,
    /// The headline after the subject: the reason, or the coverage of the answer.
    pub summary: String,
    /// What follows the headline, in reading order.
    pub sections: Vec<Section>,
    /// A doubt that even the headline alone must mention; a section repeats it.
    pub caveat: Option<String>,
    /// The command that makes this report again; the JSON field `again`. Text shows it unless the
    /// verdict is that the subject holds.
    pub reproduce: Option<String>,
    /// The command that runs only the failing schedule; the JSON field `replay`.
    pub replay: Option<String>,
    /// The operations for a page, if one was asked for.
    pub timeline: Option<Timeline>,
    /// The state graph for a page, where one was asked for.
    pub graph: Option<StateGraph>,
    /// Where the page of this report was written; text and JSON name it.
    pub page: Option<String>,
    /// JSON fields beside those of every report, in this order.
    pub fields: Map<String, Json>,
    /// JSON fields that describe a violation.
    pub explanation: Map<String, Json>,
}

/// The answer, as the headline and the JSON field `verdict` name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The subject holds.
    Holds {
        /// The JSON field `verdict`: `linearizable`, `verified`.
        name: &'static str,
        /// The answer in the headline, which may say more: `quasi linearizable (deq 2)`.
        words: Cow<'static, str>,
    },
    /// The subject does not hold. The text is the answer in the headline: `violation`, `not
    /// linearizable`.
    Violation(Cow<'static, str>),
    /// Undecided.
    Unknown(Undecided),
}

/// The result of running code, with a failure as data: the verdict of a test and of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<V> {
    /// Everything that was asked for was covered, and nothing was wrong.
    Holds,
    /// Something is wrong.
    Violation(V),
    /// Undecided: a limit was reached, only a sample was run, or the question is wrong.
    Undecided(Undecided),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The answer in the headline: `unknown`, `nothing found`.
    pub words: &'static str,
    /// The JSON field `reason`: a code that programs can rely on.
    pub code: &'static str,
    /// The JSON field `message`: the reason for people.
    pub message: String,
}

impl Undecided {
    /// The code for a sample without a failure, which proves nothing about the rest.
    pub const SAMPLE: &str = "sample";
    /// The code for a question that is wrong: a specification that panics, a scenario that cannot
    /// be run.
    pub const ERROR: &str = "error";

    /// Undecided for this reason.
    pub fn new(code: &'static str, message: impl Into<String>) -> Undecided {
        Undecided { words: "unknown", code, message: message.into() }
    }

    /// Undecided because a limit was reached.
    pub fn limit(why: &Exhausted) -> Undecided {
        Undecided::new(limit_code(why), why.to_string())
    }

    /// Undecided for the reason that a checker gave.
    pub fn because(reason: &Reason) -> Undecided {
        match reason {
            Reason::Exhausted(why) => Undecided::limit(why),
            Reason::NotApplicable(why) => Undecided::new("not-applicable", why),
            Reason::Disagreement(what) => Undecided::new("disagreement", what),
        }
    }
}

/// The code of a limit that was reached.
pub fn limit_code(why: &Exhausted) -> &'static str {
    match why {
        Exhausted::Cancelled => "cancelled",
        Exhausted::Steps(_) => "steps",
        Exhausted::Time(_) => "time",
        Exhausted::Memory(_) => "memory",
    }
}

impl Answer {
    /// The subject holds; the headline uses the same name as the JSON field `verdict`.
    pub fn holds(name: &'static str) -> Answer {
        Answer::Holds { name, words: name.into() }
    }

    /// A violation.
    pub fn violation() -> Answer {
        Answer::Violation("violation".into())
    }

    /// The answer in the headline.
    pub fn words(&self) -> &str {
        match self {
            Answer::Holds { words, .. } | Answer::Violation(words) => words,
            Answer::Unknown(undecided) => undecided.words,
        }
    }

    /// The JSON field `verdict`: `linearizable` or `verified`, `violation`, `unknown`.
    pub fn name(&self) -> &'static str {
        match self {
            Answer::Holds { name, .. } => name,
            Answer::Violation(_) => "violation",
            Answer::Unknown(_) => "unknown",
        }
    }

    /// How the answer in the headline looks.
    pub(crate) fn role(&self) -> Role {
        match self {
            Answer::Holds { .. } => Role::Good,
            Answer::Violation(_) => Role::Bad,
            Answer::Unknown(_) => Role::Doubt,
        }
    }
}

/// A part of a report. [Blocks](Section::is_block) are set apart by empty lines; lines follow each
/// other.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// The reason in one sentence, with anything that must follow it directly.
    Sentence {
        /// A line above it.
        title: Option<String>,
        /// The sentence.
        text: String,
        /// Lines below it.
        more: Vec<String>,
    },
    /// Running text that is set apart.
    Note(String),
    /// Running text that belongs to the lines around it.
    Paragraph(String),
    /// One line, which is never broken.
    Line(Role, String),
    /// Operations, drawn in lanes.
    Operations(Operations),
    /// The order that explains a history.
    Order(Vec<Placed>),
    /// The steps of an execution or of a model.
    Steps(Steps),
    /// Quoted text, with a line above it.
    Quote {
        /// The line above it.
        title: String,
        /// The text.
        text: String,
    },
}

impl Section {
    /// A sentence that stands alone.
    pub fn sentence(text: impl Into<String>) -> Section {
        Section::Sentence { title: None, text: text.into(), more: Vec::new() }
    }

    /// A line that can be skipped.
    pub fn dim(text: impl Into<String>) -> Section {
        Section::Line(Role::Dim, text.into())
    }

    /// Whether empty lines set it apart.
    pub fn is_block(&self) -> bool {
        !matches!(self, Section::Paragraph(_) | Section::Line(..))
    }
}

/// Operations in lanes, time from left to right.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Operations {
    /// What the lanes stand for, as in `process`. Empty if their names need no such word.
    pub lane_kind: &'static str,
    /// The names of the lanes.
    pub lanes: Vec<String>,
    /// The operations, sorted by call.
    pub bars: Vec<Bar>,
    /// Where each of them is in the input; empty if there is no input.
    pub places: Vec<Placed>,
    /// The number of earlier operations that are left out.
    pub left_out: usize,
}

/// An operation and its place in the input.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Placed {
    /// The operation: `deq() -> 7`.
    pub label: String,
    /// Its process.
    pub process: String,
    /// The line of its call; 0 if there is none.
    pub line: u32,
    /// The column of its call.
    pub column: u32,
    /// An additional note: `no return`.
    pub note: &'static str,
}

impl Report {
    /// A report that has only a headline.
    pub fn new(subject: impl Into<String>, verdict: Answer, summary: impl Into<String>) -> Report {
        Report {
            subject: subject.into(),
            verdict,
            summary: summary.into(),
            sections: Vec::new(),
            caveat: None,
            reproduce: None,
            replay: None,
            timeline: None,
            graph: None,
            page: None,
            fields: Map::new(),
            explanation: Map::new(),
        }
    }

    /// Adds a JSON field.
    pub fn field(&mut self, name: &str, value: impl Into<Json>) {
        self.fields.insert(name.to_string(), value.into());
    }
}
