//! The report that people read: the verdict line, the reason, the drawing, where it is, how it came about.

use trueline::budget::Exhausted;
use trueline::verdict::{Explanation, Reason, Unknown, Witness};
use trueline::{History, Verdict};
use unicode_width::UnicodeWidthStr;

use crate::document::{Document, Line, Role};
use crate::lanes::{self, Bar, Drawing, Glyphs};
use crate::words::{UNBROKEN, clean, count, cut, grouped, limit, readable, unbroken, wrap};
use crate::{Case, Look};
use crate::{bytes, seconds};

/// Drawings of more operations than this leave out the first ones.
const SHOWN: usize = 40;
/// Longer lists tell only where the clashing operations are, unless they explain the numbers of a drawing.
const LISTED: usize = 12;
/// Narrower terminals get shorter lane names.
const NARROW: usize = 60;

/// The report on a case.
pub fn text(case: &Case, look: &Look) -> Document {
    let mut document = Document::default();
    document.push(verdict_line(case));
    if look.quiet {
        return document;
    }
    match &case.outcome.verdict {
        Verdict::Linearizable(witness) => {
            if case.witness {
                document.gap();
                document.extend(order(case, witness));
                document.gap();
            }
        }
        Verdict::Violation(explanation) => {
            document.gap();
            document.extend(violation(case, explanation, look));
            document.gap();
            document.extend(prefix(case, explanation, look));
        }
        Verdict::Unknown(unknown) => {
            document.extend(undecided(unknown, look));
        }
    }
    // A file that was not read to its end has nothing to count.
    if case.outcome.partitions > 0 || case.outcome.verdict.is_linearizable() {
        document.push(Line::of(Role::Dim, format!("  {}", counts(case))));
        if !case.outcome.because.is_empty() {
            let chosen = format!("{}: {}", case.outcome.algorithm, clean(&case.outcome.because));
            document.extend(paragraph(&chosen, look));
        }
    }
    if !case.outcome.verdict.is_linearizable() {
        document.push(Line::of(Role::Dim, format!("  again: {}", clean(case.again))));
    }
    document
}

/// `violation: queue.jsonl: 3 of 12,345 operations fit no order that queue allows (key 7)`.
fn verdict_line(case: &Case) -> Line {
    let verdict = &case.outcome.verdict;
    let total = case.history.len() as u64;
    let (role, rest) = match verdict {
        Verdict::Linearizable(_) if case.history.is_empty() => (Role::Good, "no operations".into()),
        Verdict::Linearizable(_) => {
            let what = count(total, "operation");
            let fit = if total == 1 { "fits" } else { "fit" };
            (Role::Good, format!("{what} {fit} an order that {} allows", case.spec))
        }
        Verdict::Violation(explanation) => {
            let some = explanation.operations.len() as u64;
            let which = if some == total {
                count(some, "operation")
            } else {
                format!("{} of {}", grouped(some), count(total, "operation"))
            };
            let fit = if some == 1 { "fits" } else { "fit" };
            let part =
                part_of(case.history, explanation).map_or(String::new(), |p| format!(" ({p})"));
            (Role::Bad, format!("{which} {fit} no order that {} allows{part}", case.spec))
        }
        Verdict::Unknown(unknown) => (Role::Doubt, reason(&unknown.reason)),
    };
    let mut line = Line::of(role, verdict.name());
    line.push(Role::Plain, clean(&format!(": {}: {rest}", case.file)));
    line
}

/// The object and key that the violation is in, where the history names one and it is in one.
fn part_of(history: &History, explanation: &Explanation) -> Option<String> {
    let part = |&i: &u32| history.operations()[i as usize].part;
    let first = part(explanation.operations.first()?);
    if explanation.operations.iter().any(|i| part(i) != first) {
        return None;
    }
    let part = &history.parts()[first as usize];
    (!part.object.is_nil() || !part.key.is_nil()).then(|| part.to_string())
}

pub(crate) fn violation(case: &Case, explanation: &Explanation, look: &Look) -> Document {
    let mut document = Document::default();
    let glyphs = Glyphs::new(look.ascii);
    let sentence = readable(&clean(&explanation.sentence), glyphs.cut);
    for line in wrap(&unbroken(&sentence), look.width.saturating_sub(2)) {
        document.push(Line::of(Role::Strong, format!("  {line}")));
    }
    document.gap();

    let shown = choose(explanation);
    let left_out = explanation.operations.len() - shown.len();
    if left_out > 0 {
        let what = count(left_out as u64, "earlier operation");
        document.push(Line::of(Role::Dim, format!("  {what} left out")));
        document.gap();
    }
    let (bars, names) = bars(case, explanation, &shown, look);
    let Drawing { document: drawn, numbered } = lanes::draw(&bars, &names, look.width, glyphs);
    document.extend(drawn);
    document.gap();
    document.extend(places(case, explanation, &shown, look, numbered));
    let mut note = |note: &str| {
        document.gap();
        document.extend(paragraph(note, look));
    };
    if !explanation.rechecked {
        note("No second search has confirmed this: it was given up after a number of steps.");
    }
    // Whether a few operations could be fewer does not matter to a reader.
    if explanation.operations.len() > LISTED {
        note(match explanation.minimal {
            true => {
                "None of these operations can be left out without losing the violation or its reason."
            }
            false => "Some of these operations may not be needed.",
        });
    }
    document
}

/// The operations to draw: all of them, or those that clash and the last of the others.
fn choose(explanation: &Explanation) -> Vec<u32> {
    let mut shown = explanation.operations.clone();
    let mut surplus = shown.len().saturating_sub(SHOWN);
    shown.retain(|i| {
        let leave_out = surplus > 0 && !explanation.clash.contains(i);
        surplus -= usize::from(leave_out);
        !leave_out
    });
    // Clashing operations are few; should they be many, the last ones are as good as any.
    shown.drain(..shown.len().saturating_sub(2 * SHOWN));
    shown
}

/// The rank of the return, where it is part of the story: an operation that was called before the story starts
/// or returns after it ends counts as pending.
pub(crate) fn end(history: &History, explanation: &Explanation, index: u32) -> Option<u32> {
    let o = &history.operations()[index as usize];
    let from = explanation.start.as_ref().map_or(0, |start| start.from);
    (!o.is_pending() && o.call >= from && o.returned < explanation.until).then_some(o.returned)
}

/// `enq(5)`; with its result, where the story holds its return: `deq() -> 7`.
pub(crate) fn label(case: &Case, explanation: &Explanation, index: u32) -> String {
    let returns = end(case.history, explanation, index).is_some();
    clean(&(case.show)(index, returns))
}

/// The bars of these operations, and the names of their lanes. A process that goes on after an operation whose
/// outcome is unknown gets a further lane.
fn bars(
    case: &Case,
    explanation: &Explanation,
    shown: &[u32],
    look: &Look,
) -> (Vec<Bar>, Vec<String>) {
    let history = case.history;
    let mut lanes: Vec<(u32, usize)> = Vec::new();
    let mut blocked: Vec<(u32, usize)> = Vec::new();
    let mut bars = Vec::new();
    let mut lane_keys = Vec::new();
    for &i in shown {
        let o = &history.operations()[i as usize];
        let turn = blocked.iter().filter(|b| b.0 == o.process).count();
        let key = (o.process, turn);
        if !lanes.contains(&key) {
            lanes.push(key);
        }
        let end = end(history, explanation, i);
        if end.is_none() {
            blocked.push(key);
        }
        lane_keys.push(key);
        bars.push(Bar {
            lane: 0,
            call: o.call,
            end,
            label: label(case, explanation, i),
            clash: explanation.clash.contains(&i),
        });
    }
    lanes.sort_by(|a, b| {
        let name = |key: &(u32, usize)| &history.processes()[key.0 as usize];
        name(a).cmp(name(b)).then(a.1.cmp(&b.1))
    });
    for (bar, key) in bars.iter_mut().zip(&lane_keys) {
        bar.lane = lanes.iter().position(|lane| lane == key).unwrap_or(0);
    }
    let cut_mark = Glyphs::new(look.ascii).cut;
    let names = lanes
        .iter()
        .map(|lane| {
            let name = clean(&history.processes()[lane.0 as usize].to_string());
            if look.width < NARROW {
                cut(&name, 8, cut_mark)
            } else {
                cut(&format!("process {name}"), 24, cut_mark)
            }
        })
        .collect();
    (bars, names)
}

/// One line an operation: what, who, where in the file.
fn places(
    case: &Case,
    explanation: &Explanation,
    shown: &[u32],
    look: &Look,
    numbered: bool,
) -> Document {
    let glyphs = Glyphs::new(look.ascii);
    let history = case.history;
    let in_full = numbered || shown.len() <= LISTED;
    let listed: Vec<(usize, u32)> = shown
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, i)| in_full || explanation.clash.contains(i))
        .collect();
    let line = |i: u32| history.operations()[i as usize].line;
    // Some formats put everything on one line; then only columns tell the operations apart.
    let one_line = shown.len() > 1 && shown.iter().all(|&i| line(i) == line(shown[0]));
    let rows: Vec<[String; 4]> = listed
        .iter()
        .map(|&(n, i)| {
            let o = &history.operations()[i as usize];
            let number = if numbered { format!("{} ", n + 1) } else { String::new() };
            let name = clean(&history.processes()[o.process as usize].to_string());
            let mut place = match o.line {
                0 => String::new(),
                line if one_line => format!("line {line}, column {}", o.column),
                line => format!("line {line}"),
            };
            if end(history, explanation, i).is_none() {
                place += match o.is_pending() {
                    true => ", no return",
                    false if o.returned >= explanation.until => ", returns later",
                    false => ", began before this and counts as open",
                };
            }
            let text = label(case, explanation, i);
            let text = cut(&text, look.width.saturating_sub(40).max(24), glyphs.cut);
            [number, text, cut(&format!("process {name}"), 24, glyphs.cut), place]
        })
        .collect();
    let widths: [usize; 4] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0));
    let mut document = Document::default();
    for (row, (_, i)) in rows.into_iter().zip(&listed) {
        let [number, text, process, place] = row;
        let clash = explanation.clash.contains(i);
        let role = if clash { Role::Clash } else { Role::Plain };
        let mut line = Line::plain(format!("  {number:>0$}", widths[0]));
        line.push(role, format!("{} {text}", if clash { glyphs.fill(true) } else { " " }));
        line.pad_to(2 + widths[0] + 2 + widths[1] + 2);
        line.push(Role::Plain, process);
        line.pad_to(2 + widths[0] + 2 + widths[1] + 2 + widths[2] + 2);
        line.push(Role::Plain, place);
        document.push(line);
    }
    let others = shown.iter().filter(|i| !listed.iter().any(|l| l.1 == **i));
    let lines = others.map(|&i| line(i)).filter(|&line| line > 0);
    if let (Some(first), Some(last)) = (lines.clone().min(), lines.max()) {
        document.push(Line::plain(format!("    the others stand in lines {first} to {last}")));
    }
    document
}

/// How much of the history is fine.
fn prefix(case: &Case, explanation: &Explanation, look: &Look) -> Document {
    let mut document = Document::default();
    let operations = case.history.operations();
    let Some(index) = operations.iter().position(|o| Some(o.returned) == explanation.fine_until)
    else {
        return document;
    };
    let last = &operations[index];
    let what = cut(&clean(&(case.show)(index as u32, true)), 40, Glyphs::new(look.ascii).cut);
    let what = what.replace(' ', UNBROKEN);
    let called =
        if last.line > 0 { format!(", called in line {}", last.line) } else { String::new() };
    let used = |part: usize| operations.iter().any(|o| o.part as usize == part);
    let parts = (0..case.history.parts().len()).filter(|&p| used(p)).count();
    // Where the specification splits the parts of the history further, returns cannot be counted here.
    let text = if case.outcome.partitions == parts {
        let of_part = || operations.iter().filter(|o| o.part == last.part && !o.is_pending());
        let all = of_part().count() as u64;
        let fine = of_part().filter(|o| o.returned < last.returned).count() as u64;
        let whose =
            part_of(case.history, explanation).map_or(String::new(), |p| format!(" of {p}"));
        // The sentence may be about operations that return later: then this is no second opinion on who is wrong.
        let is_told = explanation.operations.contains(&(index as u32));
        if fine == 0 && is_told {
            format!("Already the first return{whose} fits no order: that of {what}{called}.")
        } else if !is_told {
            match fine {
                0 => return document,
                fine => format!(
                    "An order explains the first {} of {}{whose}.",
                    grouped(fine),
                    count(all, "return")
                ),
            }
        } else {
            format!(
                "An order explains the first {} of {}{whose}, but not the next: that of {what}{called}.",
                grouped(fine),
                count(all, "return"),
            )
        }
    } else if !explanation.operations.contains(&(index as u32)) {
        return document;
    } else {
        format!(
            "Of the operations on its key, an order explains those up to the return of {what}{called}, but not that."
        )
    };
    document.extend(paragraph(&text, look));
    document
}

/// Running text, indented, broken at the width.
pub(crate) fn paragraph(text: &str, look: &Look) -> Document {
    let mut document = Document::default();
    for line in wrap(text, look.width.saturating_sub(2)) {
        document.push(Line::plain(format!("  {line}")));
    }
    document
}

/// The operations in the order that explains the history, one a line.
fn order(case: &Case, witness: &Witness) -> Document {
    let history = case.history;
    let labels: Vec<String> = witness.order.iter().map(|&i| clean(&(case.show)(i, true))).collect();
    let digits = labels.len().to_string().len();
    // One long label should not push everything else off the screen.
    let widest = labels.iter().map(|l| l.width()).filter(|&w| w <= 40).max().unwrap_or(0);
    let mut document = Document::default();
    for (n, (&i, label)) in witness.order.iter().zip(labels).enumerate() {
        let o = &history.operations()[i as usize];
        let process = clean(&history.processes()[o.process as usize].to_string());
        let mut line = Line::of(Role::Dim, format!("  {:>digits$}  ", n + 1));
        line.push(Role::Plain, label);
        line.pad_to(2 + digits + 2 + widest);
        let place = if o.line > 0 { format!(", line {}", o.line) } else { String::new() };
        line.push(Role::Dim, format!("  process {process}{place}"));
        document.push(line);
    }
    document
}

fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Exhausted(Exhausted::Cancelled) => "interrupted".into(),
        Reason::Exhausted(Exhausted::Memory(most)) => {
            format!("the memory limit of {} is reached", bytes(*most))
        }
        Reason::Exhausted(Exhausted::Time(most)) => {
            format!("the time limit of {} is reached", limit(most.as_secs_f64()))
        }
        Reason::Exhausted(Exhausted::Steps(most)) => {
            format!("the limit of {} is reached", count(*most, "step"))
        }
        Reason::NotApplicable(why) => format!("the algorithm does not fit: {why}"),
        Reason::Disagreement(what) => format!("an answer failed its second check: {what}"),
    }
}

fn undecided(unknown: &Unknown, look: &Look) -> Document {
    let mut document = Document::default();
    if !unknown.progress.is_empty() {
        document.push(Line::plain(format!("  so far: {}", clean(&unknown.progress))));
    }
    let advice = match &unknown.reason {
        Reason::Exhausted(Exhausted::Cancelled) => "",
        Reason::Exhausted(Exhausted::Time(_) | Exhausted::Steps(_)) => {
            "try: a longer --timeout; --keys yes if the operations are on independent keys; \
             a shorter recording"
        }
        Reason::Exhausted(Exhausted::Memory(_)) => {
            "try: a larger --memory; --keys yes if the operations are on independent keys; \
             --algorithm wing-gong, which needs hardly any memory but may take for ever"
        }
        Reason::NotApplicable(_) => "try: --algorithm auto",
        Reason::Disagreement(_) => {
            "This is a bug in trueline, or a specification whose results depend on more than its state. \
             Please report it with the file."
        }
    };
    if !advice.is_empty() {
        document.extend(paragraph(advice, look));
    }
    document
}

/// `queue, search, 12,345 operations (3 pending), 12 partitions, 1,234 states, 0.1 s`.
fn counts(case: &Case) -> String {
    let mut operations = count(case.history.len() as u64, "operation");
    match case.history.pending() as u64 {
        0 => {}
        pending => operations += &format!(" ({} pending)", grouped(pending)),
    }
    [
        clean(case.spec),
        case.outcome.algorithm.to_string(),
        operations,
        count(case.outcome.partitions as u64, "partition"),
        count(case.outcome.states, "state"),
        seconds(case.seconds),
    ]
    .join(", ")
}
