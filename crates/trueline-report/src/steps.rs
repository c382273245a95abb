//! Draws steps one below the other, one lane per thread or process.
//!
//! There are two layouts, for two kinds of readers. **Code**: short lines, each with its place in
//! the source on the right; repeated rounds of a loop are counted instead of shown; long lines are
//! cut. **Model**: numbered steps between rules, with the changed shared variables on the right and
//! the remaining states of the specification below; nothing is cut, and long texts continue in the
//! next row.

use serde_json::{Map, Value as Json};

use crate::Look;
use crate::document::{Document, Line, Role};
use crate::words::{clean, cut};

/// Steps of an execution or of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// A line above them that names a property that fails: `lock-free: fails: ..`.
    pub title: Option<String>,
    /// How they are laid out.
    pub layout: Layout,
    /// The names of the lanes; a lane without steps is not drawn.
    pub lanes: Vec<String>,
    /// The steps, in the order in which they happened.
    pub steps: Vec<Step>,
    /// The index of the first step of the part that repeats for ever.
    pub cycle: Option<usize>,
    /// The states of the specification before the first step, if they are known.
    pub initially: Vec<String>,
    /// The two steps of a data race.
    pub race: Option<(usize, usize)>,
}

/// What the reader wants to see beside each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Lines of source code.
    Code,
    /// Shared variables and the states of the specification.
    Model,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Step {
    /// Index of its lane.
    pub lane: usize,
    /// The operation that begins with this step: `pop()`.
    pub call: Option<String>,
    /// What it did, a line each.
    pub did: Vec<String>,
    /// The operation that ends with this step: `pop() -> 1`.
    pub returned: Option<String>,
    /// Its source file.
    pub file: Option<String>,
    /// Its line in the source; 0 if it has none.
    pub line: u32,
    /// The shared variables that it changed: `H=1 B[2]=0`.
    pub changed: String,
    /// The cells that it changed, by name, with their new values.
    pub memory: Vec<(String, String)>,
    /// The remaining states of the specification, if they changed; or what no state explains.
    pub states: Option<String>,
    /// The steps of other lanes that wrote the values it read.
    pub reads_from: Vec<usize>,
    /// Its JSON fields.
    pub fields: Map<String, Json>,
}

impl Steps {
    pub(crate) fn json(&self) -> Json {
        self.steps.iter().map(|step| Json::Object(step.fields.clone())).collect()
    }
}

/// The steps as text.
pub(crate) fn draw(steps: &Steps, look: &Look) -> Document {
    let mut document = Document::default();
    if let Some(title) = &steps.title {
        document.push(Line::of(Role::Bad, format!("  {}", clean(title))));
    }
    match steps.layout {
        Layout::Code => code(steps, look, &mut document),
        Layout::Model => model(steps, look, &mut document),
    }
    document
}

/// The least width for steps of code: a narrower layout would cut the steps and their places.
const LEAST: usize = 100;
/// Columns for the place in the source.
const PLACE: usize = 30;
/// If the code has more rows, some in the middle are left out.
const SHOWN: usize = 120;

/// A row of code.
#[derive(Clone, PartialEq, Eq)]
struct Row {
    lane: usize,
    role: Role,
    text: String,
    place: String,
}

fn code(steps: &Steps, look: &Look, document: &mut Document) {
    let rows = fold(rows(&steps.steps));
    let mut lanes: Vec<usize> = rows.iter().map(|row| row.lane).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let room = look.width.max(LEAST) - PLACE - 2;
    let widest = rows.iter().map(|row| row.text.chars().count()).max().unwrap_or(0);
    // Lanes stand side by side if there is room for it; otherwise they overlap.
    let most = lanes.len().saturating_sub(1).max(1);
    // Three and more threads keep distinguishable margins, and long lines are cut.
    let least = (room / 2 / most).clamp(4, 12);
    let step = (room.saturating_sub(widest + 2) / most).clamp(least, 34);
    let margin =
        |lane: usize| 2 + step * lanes.iter().position(|&other| other == lane).unwrap_or(0);
    let mut header = Line::default();
    for &lane in &lanes {
        header.pad_to(margin(lane));
        let name = &steps.lanes[lane];
        header.push(Role::Dim, if step < 10 { name.replace("thread ", "t") } else { name.clone() });
    }
    document.push(header);
    let mark = if look.ascii { "..." } else { "…" };
    let left_out = rows.len().saturating_sub(SHOWN);
    for (i, row) in rows.iter().enumerate() {
        if left_out > 0 && (SHOWN / 2..SHOWN / 2 + left_out).contains(&i) {
            if i == SHOWN / 2 {
                document.push(Line::of(Role::Dim, format!("  ... {left_out} lines left out ...")));
            }
            continue;
        }
        let margin = margin(row.lane);
        let mut line = Line::plain(" ".repeat(margin));
        line.push(row.role, cut(&clean(&row.text), room.saturating_sub(margin), mark));
        line.pad_to(room + 2);
        line.push(Role::Dim, shortened(&row.place, mark));
        document.push(line);
    }
}

fn rows(steps: &[Step]) -> Vec<Row> {
    let mut rows = Vec::new();
    for step in steps {
        let row = |role, text: &str, place: &str| {
            let (text, place) = (text.to_string(), place.to_string());
            Row { lane: step.lane, role, text, place }
        };
        rows.extend(step.call.iter().map(|call| row(Role::Strong, call, "")));
        let file = step.file.as_deref().unwrap_or_default();
        let place = format!("{file}:{}", step.line);
        rows.extend(step.did.iter().map(|did| row(Role::Plain, &format!("  {did}"), &place)));
        rows.extend(step.returned.iter().map(|returned| row(Role::Strong, returned, "")));
    }
    rows
}

/// Only rounds of at most this many rows are recognised.
const LONGEST_ROUND: usize = 12;

/// Replaces immediate repetitions by a count.
fn fold(rows: Vec<Row>) -> Vec<Row> {
    let mut folded = Vec::new();
    let mut i = 0;
    while i < rows.len() {
        let times = |round: usize| {
            let first = &rows[i..i + round];
            let again = |k: &usize| rows.get(i + k * round..i + (k + 1) * round) == Some(first);
            1 + (1..).take_while(again).count()
        };
        let longest = LONGEST_ROUND.min((rows.len() - i) / 2);
        let best = (1..=longest).map(|round| (round, times(round))).find(|&(_, times)| times > 1);
        match best {
            Some((round, times)) => {
                folded.extend_from_slice(&rows[i..i + round]);
                let text = match round {
                    1 => format!("  that, {times} times"),
                    lines => format!("  these {lines} lines, {times} times"),
                };
                let place = String::new();
                folded.push(Row { lane: rows[i].lane, role: Role::Dim, text, place });
                i += round * times;
            }
            None => {
                folded.push(rows[i].clone());
                i += 1;
            }
        }
    }
    folded
}

/// `src/queue.rs:40`; a long path keeps only its last directories.
fn shortened(place: &str, mark: &str) -> String {
    let text = clean(place);
    let long = text.chars().count().saturating_sub(PLACE - 1);
    if long == 0 {
        return text;
    }
    let tail: String = text.chars().skip(long + mark.chars().count()).collect();
    // Whole directory names are easier to read.
    let start = tail.find('/').filter(|start| !tail[start + 1..].is_empty());
    format!("{mark}{}", &tail[start.unwrap_or(0)..])
}

fn model(steps: &Steps, look: &Look, document: &mut Document) {
    let end = steps.cycle.unwrap_or(steps.steps.len());
    ruled(steps, 0..end, look, document);
    if let Some(start) = steps.cycle {
        document.push(Line::of(Role::Strong, "  then for ever"));
        ruled(steps, start..steps.steps.len(), look, document);
    }
}

/// One lane per process, one line per step.
fn ruled(steps: &Steps, range: std::ops::Range<usize>, look: &Look, document: &mut Document) {
    let bar = if look.ascii { "|" } else { "│" };
    let shown = &steps.steps[range];
    let cells: Vec<Vec<&str>> = shown.iter().map(cell).collect();
    let lanes = steps.lanes.len();
    let most = (look.width.max(40) / (lanes + 2)).max(12);
    let widths: Vec<usize> = (0..lanes)
        .map(|lane| {
            let own = cells.iter().zip(shown).filter(|(_, step)| step.lane == lane);
            let widest = own.flat_map(|(cell, _)| cell.iter().map(|t| t.chars().count())).max();
            widest.unwrap_or(2).clamp(4, most)
        })
        .collect();
    let numbers = shown.len().to_string().len().max(2) + 3;
    let mut head = Line::default();
    head.pad_to(numbers);
    for (name, width) in steps.lanes.iter().zip(&widths) {
        let column = head.width() + width + 3;
        head.push(Role::Dim, name.clone());
        head.pad_to(column);
    }
    head.push(Role::Dim, "shared");
    document.push(head);
    let specification = |document: &mut Document, text: &str| {
        for row in rows_of(&format!("specification: {text}"), look.width.max(40)) {
            let mut line = Line::default();
            line.pad_to(numbers);
            line.push(Role::Dim, clean(&row));
            document.push(line);
        }
    };
    if !steps.initially.is_empty() {
        specification(document, &steps.initially.join(" or "));
    }
    for (number, (step, texts)) in shown.iter().zip(&cells).enumerate() {
        let rows: Vec<String> =
            texts.iter().flat_map(|text| rows_of(text, widths[step.lane])).collect();
        for (row, text) in rows.iter().enumerate() {
            let mut line = Line::default();
            line.pad_to(2);
            if row == 0 {
                line.push(Role::Dim, format!("{}", number + 1));
            }
            line.pad_to(numbers);
            for (lane, width) in widths.iter().enumerate() {
                let column = line.width() + width + 1;
                if lane == step.lane {
                    let last = number + 1 == shown.len() && row + 1 == rows.len();
                    let role = if last { Role::Clash } else { Role::Plain };
                    line.push(role, clean(text));
                }
                line.pad_to(column);
                line.push(Role::Dim, format!("{bar} "));
            }
            if row + 1 == rows.len() {
                line.push(Role::Plain, clean(&step.changed));
            }
            document.push(line);
        }
        if let Some(states) = &step.states {
            specification(document, states);
        }
    }
}

/// The lines that a step shows in its lane.
fn cell(step: &Step) -> Vec<&str> {
    let did = step.did.iter().map(String::as_str);
    let rows: Vec<&str> =
        step.call.as_deref().into_iter().chain(did).chain(step.returned.as_deref()).collect();
    if rows.is_empty() { vec![""] } else { rows }
}

/// The text in rows of this width, broken at spaces where possible; a longer word is broken within.
fn rows_of(text: &str, width: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    let mut row = String::new();
    for word in text.split(' ') {
        let mut word = word;
        let together = row.chars().count() + 1 + word.chars().count();
        if !row.is_empty() && together > width {
            rows.push(std::mem::take(&mut row));
        } else if !row.is_empty() {
            row.push(' ');
        }
        while word.chars().count() > width {
            let end = word.char_indices().nth(width).map_or(word.len(), |(at, _)| at);
            rows.push(word[..end].to_string());
            word = &word[end..];
        }
        row.push_str(word);
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_that_repeat_are_counted() {
        let row = |text: &str| Row {
            lane: 1,
            role: Role::Plain,
            text: text.to_string(),
            place: String::new(),
        };
        let fold = |text: &str| {
            let rows = text.split(' ').map(row).collect();
            fold(rows).iter().map(|row| row.text.trim().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(fold("a b c"), "a b c");
        assert_eq!(fold("a b b b c"), "a b that, 3 times c");
        assert_eq!(fold("x a b a b a b y"), "x a b these 2 lines, 3 times y");
    }
}
