//! The one report: what every way into trueline returns, as data.
//!
//! A check of a history, a monitored stream, a simulation, a failing test and a verified model all
//! end in a
//! [`Report`]: a verdict on a subject, sections in reading order, and the commands that reproduce it. Renderers
//! turn it into text ([`Report::text`]) and JSON ([`Report::json`]). They are the only code that
//! knows what a report looks like, and nothing edits what they made.
//!
//! **Invariant: sections carry data, not layout.** Labels are whole, lanes are not drawn, nothing
//! is cut or wrapped: width and character set are decided by the renderer.

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
    /// What was looked at, as it was given: a file, an object, a model, a program. Empty where the
    /// verdict needs none.
    pub subject: String,
    /// The answer.
    pub verdict: Answer,
    /// The headline after the subject: why, or how far the answer goes.
    pub summary: String,
    /// What follows the headline, in reading order.
    pub sections: Vec<Section>,
    /// A doubt that even the headline alone must not hide; a section says the same.
    pub caveat: Option<String>,
    /// The command that makes this report again; the field `again`. Text shows it unless the
    /// subject holds.
    pub reproduce: Option<String>,
    /// The command that runs the failing schedule alone; the field `replay`.
    pub replay: Option<String>,
    /// The operations for a page, where one was asked for.
    pub timeline: Option<Timeline>,
    /// The state graph for a page, where one was asked for.
    pub graph: Option<StateGraph>,
    /// Where the page of this report was written; text and JSON name it.
    pub page: Option<String>,
    /// What programs read beside the fields of every report, in this order.
    pub fields: Map<String, Json>,
    /// What programs read about a violation.
    pub explanation: Map<String, Json>,
}

/// The answer, as the headline and the field `verdict` name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It holds.
    Holds {
        /// The field `verdict`: `linearizable`, `verified`.
        name: &'static str,
        /// The words of the headline, which may say more: `quasi linearizable (deq 2)`.
        words: Cow<'static, str>,
    },
    /// It does not; the words of the headline: `violation`, `not linearizable`.
    Violation(Cow<'static, str>),
    /// It is not decided.
    Unknown(Undecided),
}

/// What came of running code, with what was found as data: the verdict of a test and of a
/// simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<V> {
    /// All that was asked for was seen, and nothing was wrong.
    Holds,
    /// Something is wrong.
    Violation(V),
    /// Not decided: a limit was reached, only a sample was seen, or the question is wrong.
    Undecided(Undecided),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The words of the headline: `unknown`, `nothing found`.
    pub words: &'static str,
    /// The field `reason`: a code that programs can rely on.
    pub code: &'static str,
    /// The field `message`: the same for people.
    pub message: String,
}

impl Undecided {
    /// The code where nothing was wrong in a sample, which says nothing about the rest.
    pub const SAMPLE: &str = "sample";
    /// The code where the question is wrong: a specification that panics, a scenario that cannot be
    /// run.
    pub const ERROR: &str = "error";

    /// A limit was reached, or something else stood in the way.
    pub fn new(code: &'static str, message: impl Into<String>) -> Undecided {
        Undecided { words: "unknown", code, message: message.into() }
    }

    /// A limit was reached.
    pub fn limit(why: &Exhausted) -> Undecided {
        Undecided::new(limit_code(why), why.to_string())
    }

    /// A checker gave this reason.
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
    /// It holds, and the headline says so in the word that the field `verdict` has.
    pub fn holds(name: &'static str) -> Answer {
        Answer::Holds { name, words: name.into() }
    }

    /// It does not.
    pub fn violation() -> Answer {
        Answer::Violation("violation".into())
    }

    /// The words of the headline.
    pub fn words(&self) -> &str {
        match self {
            Answer::Holds { words, .. } | Answer::Violation(words) => words,
            Answer::Unknown(undecided) => undecided.words,
        }
    }

    /// The field `verdict`: `linearizable` or `verified`, `violation`, `unknown`.
    pub fn name(&self) -> &'static str {
        match self {
            Answer::Holds { name, .. } => name,
            Answer::Violation(_) => "violation",
            Answer::Unknown(_) => "unknown",
        }
    }

    /// How the word of the headline looks.
    pub(crate) fn role(&self) -> Role {
        match self {
            Answer::Holds { .. } => Role::Good,
            Answer::Violation(_) => Role::Bad,
            Answer::Unknown(_) => Role::Doubt,
        }
    }
}

/// A part of a report. [Blocks](Section::is_block) stand apart from what is around them; lines
/// follow each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// Why, in one sentence, and what else there is to say at once.
    Sentence {
        /// A line above it.
        title: Option<String>,
        /// The sentence.
        text: String,
        /// Lines below it.
        more: Vec<String>,
    },
    /// Running text that stands apart.
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
    /// A text that is quoted as it is, with a line above it.
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

    /// Whether it stands apart from what is above and below it.
    pub fn is_block(&self) -> bool {
        !matches!(self, Section::Paragraph(_) | Section::Line(..))
    }
}

/// Operations in lanes, time from left to right.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Operations {
    /// What the names of the lanes are of: `process`. Empty where the names speak for themselves.
    pub lane_kind: &'static str,
    /// The names of the lanes.
    pub lanes: Vec<String>,
    /// The operations, sorted by call.
    pub bars: Vec<Bar>,
    /// Where each of them stands in the input; empty where there is no input.
    pub places: Vec<Placed>,
    /// Earlier operations that are not among them.
    pub left_out: usize,
}

/// An operation and where it stands in the input.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Placed {
    /// The operation: `deq() -> 7`.
    pub label: String,
    /// Its process.
    pub process: String,
    /// The line of its call; 0 where there is none.
    pub line: u32,
    /// The column of its call.
    pub column: u32,
    /// What else is to be said of it: `no return`.
    pub note: &'static str,
}

impl Report {
    /// A report with a headline alone.
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

    /// Adds a field for programs.
    pub fn field(&mut self, name: &str, value: impl Into<Json>) {
        self.fields.insert(name.to_string(), value.into());
    }
}
