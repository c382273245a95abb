//! Errors in a model's text: the place, the problem, and a suggestion.
//!
//! A [`Diagnostic`] points at a span of the source. It is rendered like a compiler's error, with
//! the line, carets under the span and a suggestion. Columns count characters, so that carets align
//! under non-ASCII text too.

use std::fmt::Write;

use super::lexer::MARK;

/// A range of bytes of the model's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From the start of this span to the end of the other.
    pub(crate) fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The line and column of the start, both from 1.
    pub fn line_column(self, source: &str) -> (usize, usize) {
        let before = before(source, self.start).trim_start_matches(MARK);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }
}

/// One error of a model: the place, the problem, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    span: Span,
    message: String,
    help: Option<String>,
}

impl Diagnostic {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { span, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds the suggestion if there is one.
    pub(crate) fn maybe_help(mut self, help: Option<String>) -> Diagnostic {
        self.help = self.help.or(help);
        self
    }

    /// Its place.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The problem, in one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to write instead, if that is known.
    pub fn suggestion(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The error with the line of the source that it speaks of.
    pub fn render(&self, file: &str, source: &str) -> String {
        let (line, column) = self.span.line_column(source);
        let margin = " ".repeat(line.to_string().len());
        let mut out = String::new();
        let _ = writeln!(out, "error: {}", self.message);
        let _ = writeln!(out, "{margin}--> {file}:{line}:{column}");
        self.quote(source, &mut out);
        out
    }

    /// The message with the line of the source below it, for callers who have already named the
    /// place.
    pub fn below(&self, source: &str) -> String {
        let mut out = format!("{}\n", self.message);
        self.quote(source, &mut out);
        out.truncate(out.trim_end().len());
        out
    }

    /// The line of the source, with carets under the span.
    fn quote(&self, source: &str, out: &mut String) {
        let (line, column) = self.span.line_column(source);
        let text =
            source.trim_start_matches(MARK).lines().nth(line - 1).unwrap_or("").replace('\t', " ");
        let spanned = source
            .get(self.span.start as usize..(self.span.end as usize).min(source.len()))
            .and_then(|s| s.lines().next())
            .unwrap_or("");
        let carets = "^".repeat(spanned.chars().count().max(1));
        let margin = " ".repeat(line.to_string().len());
        let _ = writeln!(out, "{margin} |");
        let _ = writeln!(out, "{line} | {text}");
        let _ = writeln!(out, "{margin} | {}{carets}", " ".repeat(column - 1));
        if let Some(help) = &self.help {
            let _ = writeln!(out, "{margin} = help: {help}");
        }
    }
}

fn before(source: &str, end: u32) -> &str {
    let mut end = (end as usize).min(source.len());
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    &source[..end]
}

/// 'did you mean `Head`?', if one of the candidates is spelled almost like the name.
pub(crate) fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(name, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// The candidate whose spelling is nearest to the name, if it is close enough to be a typing error.
/// The first of equally near ones.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = match name.chars().count() {
        0..=2 => 1,
        3..=6 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let far = distance(name, candidate);
        // A name of one or two letters is near to every other short one, so only a change of case
        // counts.
        let slip = name.chars().count().min(candidate.chars().count()) > 2
            || name.eq_ignore_ascii_case(candidate);
        if slip && far <= allowed && best.is_none_or(|(least, _)| far < least) {
            best = Some((far, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// How many letters must be changed, added, dropped or exchanged with their neighbour; case does
/// not count.
fn distance(a: &str, b: &str) -> usize {
    let fold = |s: &str| s.chars().take(40).map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>();
    let (a, b) = (fold(a), fold(b));
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_hand_are_near_and_other_names_are_not() {
        assert_eq!(nearest("Haed", ["Tail", "Head"]), Some("Head"));
        assert_eq!(nearest("retrun", ["return", "record"]), Some("return"));
        assert_eq!(nearest("x", ["y", "X"]), Some("X"));
        assert_eq!(nearest("banana", ["Head", "Tail"]), None);
    }

    #[test]
    fn carets_stand_under_the_span() {
        let source = "shared x: 0..1\n  y = Haed\n";
        let start = source.find("Haed").unwrap() as u32;
        let d = Diagnostic::new(Span { start, end: start + 4 }, "no `Haed`").help("did you");
        let expected = "error: no `Haed`\n --> m.tl:2:7\n  |\n2 |   y = Haed\n  |       ^^^^\n  = help: did you\n";
        assert_eq!(d.render("m.tl", source), expected);
    }
}
