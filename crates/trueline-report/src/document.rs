//! A report before it is written anywhere: lines of spans, each with a role.
//!
//! A role does not depend on terminals, so that a page can be made of the same document.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

/// The role of a span, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Role {
    /// Running text.
    #[default]
    Plain,
    /// A verdict that holds.
    Good,
    /// A verdict that does not.
    Bad,
    /// An undecided verdict.
    Doubt,
    /// An operation that cannot be ordered.
    Clash,
    /// The sentence that says why.
    Strong,
    /// Detail that a reader can skip.
    Dim,
}

impl Role {
    fn style(self) -> Style {
        let coloured = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Role::Plain => Style::new(),
            Role::Good => coloured(AnsiColor::Green).bold(),
            Role::Bad => coloured(AnsiColor::Red).bold(),
            Role::Doubt => coloured(AnsiColor::Yellow).bold(),
            Role::Clash => coloured(AnsiColor::Red),
            Role::Strong => Style::new().bold(),
            Role::Dim => Style::new().dimmed(),
        }
    }
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its role.
    pub role: Role,
    /// Its text, without line ends or escape codes.
    pub text: String,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Line(Vec<Span>);

impl Line {
    /// A line of running text.
    pub fn plain(text: impl Into<String>) -> Line {
        Line::of(Role::Plain, text)
    }

    /// A line of one role.
    pub fn of(role: Role, text: impl Into<String>) -> Line {
        let mut line = Line::default();
        line.push(role, text);
        line
    }

    /// Adds a span.
    pub fn push(&mut self, role: Role, text: impl Into<String>) {
        self.0.push(Span { role, text: text.into() });
    }

    /// Adds spaces up to a column; adds none if the line is already longer.
    pub fn pad_to(&mut self, column: usize) {
        let width = self.width();
        if width < column {
            self.push(Role::Plain, " ".repeat(column - width));
        }
    }

    /// The columns that it takes on a terminal.
    pub fn width(&self) -> usize {
        self.0.iter().map(|span| span.text.width()).sum()
    }

    /// The spans, left to right.
    pub fn spans(&self) -> &[Span] {
        &self.0
    }
}

/// Lines of text.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Document(Vec<Line>);

impl Document {
    /// Adds a line.
    pub fn push(&mut self, line: Line) {
        self.0.push(line);
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.0.push(Line::default());
    }

    /// Adds the lines of another document.
    pub fn extend(&mut self, other: Document) {
        self.0.extend(other.0);
    }

    /// The lines, top to bottom.
    pub fn lines(&self) -> &[Line] {
        &self.0
    }

    /// The document as terminal text, with or without escape codes for colour. Lines have no
    /// trailing spaces.
    pub fn render(&self, color: bool) -> String {
        let mut text = String::new();
        for line in &self.0 {
            for span in &line.0 {
                let style = span.role.style();
                if color && style != Style::new() {
                    let _ = write!(text, "{style}{}{style:#}", span.text);
                } else {
                    text.push_str(&span.text);
                }
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }
}
