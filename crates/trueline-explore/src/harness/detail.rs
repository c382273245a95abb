//! The steps of an execution, one line each: who, what, the values, and the line of the source.
//!
//! Threads stand side by side, each with a margin of its own. Locations and addresses get short names in the order in which they appear;
//! rounds of a loop that do the same again are counted instead of shown.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use trueline_report::{Document, Line, Role, clean, cut};

use crate::engine::Step;
use crate::engine::interface::Kind;

/// Columns of the report.
pub(crate) const WIDTH: usize = 100;
/// Columns for the place in the source.
const PLACE: usize = 30;
/// More lines than this leave out some in the middle.
const SHOWN: usize = 120;

/// What there is to say about an operation of the scenario.
pub(crate) struct Label {
    /// Its thread.
    pub(crate) thread: usize,
    /// `pop()`.
    pub(crate) call: String,
    /// `pop() -> 1`; None if it has not returned.
    pub(crate) returned: Option<String>,
}

/// A line of the trace.
#[derive(Clone, PartialEq, Eq)]
struct Row {
    thread: usize,
    role: Role,
    text: String,
    place: String,
}

/// The steps of operations; `labels` are the operations by their number in the scenario.
pub(crate) fn trace(steps: &[Step], labels: &[Option<Label>]) -> Document {
    let rows = fold(rows(steps, labels));
    let threads: Vec<usize> = {
        let mut threads: Vec<usize> = rows.iter().map(|row| row.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    };
    let room = WIDTH - PLACE - 2;
    let widest = rows.iter().map(|row| row.text.chars().count()).max().unwrap_or(0);
    // Side by side if there is room for it; else the margins overlap.
    let most = threads.len().saturating_sub(1).max(1);
    // Three and more threads keep margins that can be told apart, and long lines are cut.
    let least = (room / 2 / most).clamp(4, 12);
    let step = (room.saturating_sub(widest + 2) / most).clamp(least, 34);
    let margin =
        |thread: usize| 2 + step * threads.iter().position(|&other| other == thread).unwrap_or(0);
    let mut document = Document::default();
    let mut header = Line::default();
    for &thread in &threads {
        header.pad_to(margin(thread));
        let name = if step < 10 { format!("t{thread}") } else { name(thread) };
        header.push(Role::Dim, name);
    }
    document.push(header);
    let left_out = rows.len().saturating_sub(SHOWN);
    for (i, row) in rows.iter().enumerate() {
        if left_out > 0 && (SHOWN / 2..SHOWN / 2 + left_out).contains(&i) {
            if i == SHOWN / 2 {
                document.push(Line::of(Role::Dim, format!("  ... {left_out} lines left out ...")));
            }
            continue;
        }
        let margin = margin(row.thread);
        let mut line = Line::plain(" ".repeat(margin));
        line.push(row.role, cut(&row.text, room.saturating_sub(margin), "…"));
        line.pad_to(room + 2);
        line.push(Role::Dim, row.place.clone());
        document.push(line);
    }
    document
}

/// The name of a thread.
pub(crate) fn name(thread: usize) -> String {
    if thread == 0 { String::from("main") } else { format!("thread {thread}") }
}

fn rows(steps: &[Step], labels: &[Option<Label>]) -> Vec<Row> {
    let mut names = Names::default();
    let mut rows = Vec::new();
    let of = |step: &Step| step.operation.map(|number| number as usize);
    // The first and the last step of each operation.
    let mut ends: Vec<Option<(usize, usize)>> = vec![None; labels.len()];
    for (i, step) in steps.iter().enumerate() {
        if let Some(end) = of(step).and_then(|number| ends.get_mut(number)) {
            *end = Some((end.map_or(i, |(first, _)| first), i));
        }
    }
    for (i, step) in steps.iter().enumerate() {
        let Some(number) = of(step) else { continue };
        let Some(Some(label)) = labels.get(number) else { continue };
        let heading = |text: &str| Row {
            thread: label.thread,
            role: Role::Strong,
            text: text.to_string(),
            place: String::new(),
        };
        if ends[number].is_some_and(|(first, _)| first == i) {
            rows.push(heading(&label.call));
        }
        rows.push(Row {
            thread: label.thread,
            role: Role::Plain,
            text: format!("  {}", names.describe(step)),
            place: place(step),
        });
        if ends[number].is_some_and(|(_, last)| last == i)
            && let Some(returned) = &label.returned
        {
            rows.push(heading(returned));
        }
    }
    rows
}

/// Rounds of at most this many lines are recognised.
const LONGEST_ROUND: usize = 12;

/// Replaces what is repeated at once by a count.
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
                let what = if round == 1 { "that" } else { "these" };
                let text = match round {
                    1 => format!("  {what}, {times} times"),
                    lines => format!("  {what} {lines} lines, {times} times"),
                };
                let place = String::new();
                folded.push(Row { thread: rows[i].thread, role: Role::Dim, text, place });
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

/// `src/queue.rs:40`, without what comes before the last directories if that is long.
fn place(step: &Step) -> String {
    let text = clean(&format!("{}:{}", step.caller.file(), step.caller.line()));
    let long = text.chars().count().saturating_sub(PLACE - 1);
    if long == 0 {
        return text;
    }
    let tail: String = text.chars().skip(long + 1).collect();
    // Whole names are easier to read.
    let start = tail.find('/').filter(|_| !tail[tail.find('/').unwrap_or(0) + 1..].is_empty());
    format!("…{}", &tail[start.unwrap_or(0)..])
}

/// Short names of locations and addresses.
#[derive(Default)]
struct Names {
    locations: HashMap<usize, usize, FixedState>,
    addresses: HashMap<u64, usize, FixedState>,
}

impl Names {
    /// `load @1 = 0`, `compare_exchange @1: 0 -> #2`.
    fn describe(&mut self, step: &Step) -> String {
        let next = self.locations.len() + 1;
        let location = *self.locations.entry(step.location).or_insert(next);
        if step.plain {
            return format!("plain {} @{location}", if step.wrote { "write" } else { "read" });
        }
        let (of, method) = step.name.rsplit_once("::").unwrap_or(("", step.name));
        let method = match (step.name, step.kind) {
            ("", Kind::Read) => "read",
            ("", Kind::Write) => "write",
            ("", Kind::Update) => "update",
            _ if of.starts_with("Atomic") => method,
            _ => step.name,
        };
        let pointer = of.starts_with("AtomicPtr");
        let before = self.value(step.before, pointer);
        let after = self.value(step.after, pointer);
        match (step.kind, step.wrote) {
            (Kind::Read, _) => format!("{method} @{location} = {before}"),
            (Kind::Write, _) => format!("{method} @{location}: {before} -> {after}"),
            (Kind::Update, true) => format!("{method} @{location}: {before} -> {after}"),
            (Kind::Update, false) if method.starts_with("compare_exchange") => {
                format!("{method} @{location} fails: finds {before}")
            }
            (Kind::Update, false) => format!("{method} @{location} leaves {before}"),
        }
    }

    fn value(&mut self, value: u64, pointer: bool) -> String {
        match value {
            0 if pointer => String::from("null"),
            value if value >> 61 == 1 || pointer => {
                let next = self.addresses.len() + 1;
                format!("#{}", self.addresses.entry(value).or_insert(next))
            }
            value if value > u64::MAX - 1000 => (value as i64).to_string(),
            value if value > 0xffff_ffff => format!("{value:#x}"),
            value => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_that_repeat_are_counted() {
        let row = |text: &str| Row {
            thread: 1,
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
