//! A report as text: the headline, then its sections, then how to reproduce it.

use unicode_width::UnicodeWidthStr;

use crate::Look;
use crate::document::{Document, Line, Role};
use crate::lanes::{self, Bar, Drawing, Glyphs};
use crate::report::{Answer, Operations, Placed, Report, Section};
use crate::steps;
use crate::words::{clean, count, cut, readable, unbroken, wrap};

/// Longer lists show only the places of the clashing operations, unless they explain the numbers of
/// a drawing.
pub(crate) const LISTED: usize = 12;
/// Narrower terminals get shorter lane names.
const NARROW: usize = 60;

impl Report {
    /// The report as a document. The width and the character set of the terminal are parameters.
    pub fn text(&self, look: &Look) -> Document {
        let mut document = Document::default();
        document.push(self.headline());
        if look.quiet {
            if let Some(caveat) = &self.caveat {
                document.extend(paragraph(caveat, look));
            }
            return document;
        }
        let mut after_block = false;
        for section in &self.sections {
            if after_block || section.is_block() {
                document.gap();
            }
            after_block = section.is_block();
            document.extend(render(section, look));
        }
        if !matches!(self.verdict, Answer::Holds { .. }) {
            let commands = [("reproduce", &self.reproduce), ("replay", &self.replay)];
            for (name, command) in commands {
                let Some(command) = command else { continue };
                if std::mem::take(&mut after_block) {
                    document.gap();
                }
                document.push(Line::of(Role::Dim, format!("  {name}: {}", clean(command))));
            }
        }
        if let Some(page) = &self.page {
            document.push(Line::of(Role::Dim, format!("  page: {}", clean(page))));
        }
        document
    }

    /// `violation: queue.jsonl: 3 of 12,345 operations fit no order that queue allows (key 7)`.
    fn headline(&self) -> Line {
        let mut line = Line::of(self.verdict.role(), self.verdict.words());
        let rest: Vec<&str> = [&self.subject, &self.summary]
            .into_iter()
            .map(String::as_str)
            .filter(|t| !t.is_empty())
            .collect();
        if !rest.is_empty() {
            line.push(Role::Plain, clean(&format!(": {}", rest.join(": "))));
        }
        line
    }
}

fn render(section: &Section, look: &Look) -> Document {
    let glyphs = Glyphs::new(look.ascii);
    let mut document = Document::default();
    match section {
        Section::Sentence { title, text, more } => {
            if let Some(title) = title {
                document.push(Line::of(Role::Strong, format!("  {}", clean(title))));
            }
            let sentence = readable(&clean(text), glyphs.cut);
            for line in wrap(&unbroken(&sentence), look.width.saturating_sub(2)) {
                document.push(Line::of(Role::Strong, format!("  {line}")));
            }
            for line in more {
                document.extend(paragraph(&unbroken(&clean(line.trim())), look));
            }
        }
        Section::Note(text) | Section::Paragraph(text) => {
            document.extend(paragraph(&clean(text), look));
        }
        Section::Line(role, text) => document.push(Line::of(*role, format!("  {}", clean(text)))),
        Section::Operations(operations) => document.extend(draw(operations, look)),
        Section::Order(order) => document.extend(in_order(order)),
        Section::Steps(steps) => document.extend(steps::draw(steps, look)),
        Section::Quote { title, text } => {
            document.push(Line::plain(format!("  {}", clean(title))));
            document.gap();
            for line in text.lines() {
                document.push(Line::plain(format!("  {}", clean(line))));
            }
        }
    }
    document
}

/// Running text, indented, broken at the width.
fn paragraph(text: &str, look: &Look) -> Document {
    let mut document = Document::default();
    let text = if look.ascii { text.replace('…', "...") } else { text.to_string() };
    for line in wrap(&text, look.width.saturating_sub(2)) {
        document.push(Line::plain(format!("  {line}")));
    }
    document
}

/// The operations in lanes, and their places below.
fn draw(operations: &Operations, look: &Look) -> Document {
    let glyphs = Glyphs::new(look.ascii);
    let mut document = Document::default();
    if operations.left_out > 0 {
        let what = count(operations.left_out as u64, "earlier operation");
        document.push(Line::of(Role::Dim, format!("  {what} left out")));
        document.gap();
    }
    let names: Vec<String> = operations
        .lanes
        .iter()
        .map(|name| match operations.lane_kind {
            "" => clean(name),
            _ if look.width < NARROW => cut(&clean(name), 8, glyphs.cut),
            kind => cut(&format!("{kind} {}", clean(name)), 24, glyphs.cut),
        })
        .collect();
    let bars: Vec<Bar> =
        operations.bars.iter().map(|bar| Bar { label: clean(&bar.label), ..bar.clone() }).collect();
    let Drawing { document: drawn, numbered } = lanes::draw(&bars, &names, look.width, glyphs);
    document.extend(drawn);
    if !operations.places.is_empty() {
        document.gap();
        document.extend(places(operations, look, numbered));
    } else if numbered {
        document.gap();
        document.extend(lanes::legend(&bars, look));
    }
    document
}

/// One line per operation: what, who, and where in the input.
fn places(operations: &Operations, look: &Look, numbered: bool) -> Document {
    let glyphs = Glyphs::new(look.ascii);
    let Operations { bars, places, lane_kind, .. } = operations;
    let in_full = numbered || bars.len() <= LISTED;
    let listed: Vec<usize> = (0..bars.len()).filter(|&n| in_full || bars[n].clash).collect();
    // Some formats put everything on one line. Then only columns distinguish the operations.
    let one_line = places.len() > 1 && places.iter().all(|p| p.line == places[0].line);
    let rows: Vec<[String; 4]> = listed
        .iter()
        .map(|&n| {
            let Placed { process, line, column, note, .. } = &places[n];
            let number = if numbered { format!("{} ", n + 1) } else { String::new() };
            let mut place = match line {
                0 => String::new(),
                line if one_line => format!("line {line}, column {column}"),
                line => format!("line {line}"),
            };
            if !note.is_empty() {
                place += &format!(", {note}");
            }
            let label = clean(&bars[n].label);
            let label = cut(&label, look.width.saturating_sub(40).max(24), glyphs.cut);
            let process = cut(&format!("{lane_kind} {}", clean(process)), 24, glyphs.cut);
            [number, label, process, place]
        })
        .collect();
    let widths: [usize; 4] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0));
    let mut document = Document::default();
    for (row, &n) in rows.into_iter().zip(&listed) {
        let [number, text, process, place] = row;
        let clash = bars[n].clash;
        let role = if clash { Role::Clash } else { Role::Plain };
        let mut line = Line::plain(format!("  {number:>0$}", widths[0]));
        line.push(role, format!("{} {text}", if clash { glyphs.fill(true) } else { " " }));
        line.pad_to(2 + widths[0] + 2 + widths[1] + 2);
        line.push(Role::Plain, process);
        line.pad_to(2 + widths[0] + 2 + widths[1] + 2 + widths[2] + 2);
        line.push(Role::Plain, place);
        document.push(line);
    }
    let others = (0..bars.len()).filter(|n| !listed.contains(n));
    let lines = others.map(|n| places[n].line).filter(|&line| line > 0);
    if let (Some(first), Some(last)) = (lines.clone().min(), lines.max()) {
        document.push(Line::plain(format!("    the others are in lines {first} to {last}")));
    }
    document
}

/// The operations in the order that explains the history, one per line.
fn in_order(order: &[Placed]) -> Document {
    let labels: Vec<String> = order.iter().map(|placed| clean(&placed.label)).collect();
    let digits = labels.len().to_string().len();
    // One long label must not push the other columns off the screen.
    let widest = labels.iter().map(|l| l.width()).filter(|&w| w <= 40).max().unwrap_or(0);
    let mut document = Document::default();
    for (n, (placed, label)) in order.iter().zip(labels).enumerate() {
        let mut line = Line::of(Role::Dim, format!("  {:>digits$}  ", n + 1));
        line.push(Role::Plain, label);
        line.pad_to(2 + digits + 2 + widest);
        let process = clean(&placed.process);
        let place = if placed.line > 0 { format!(", line {}", placed.line) } else { String::new() };
        line.push(Role::Dim, format!("  process {process}{place}"));
        document.push(line);
    }
    document
}
