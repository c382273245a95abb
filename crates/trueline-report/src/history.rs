//! The report on a checked history.

use serde_json::{Map, Value as Json, json as object};
use trueline::budget::Exhausted;
use trueline::verdict::{Explanation, Reason, Unknown};
use trueline::{History, Verdict};

use crate::json::value;
use crate::lanes::Bar;
use crate::report::{Answer, Operations, Placed, Report, Section, Undecided};
use crate::text::LISTED;
use crate::words::{UNBROKEN, clean, count, cut, grouped, limit};
use crate::{Case, bytes, seconds};

/// A drawing shows at most this many operations and leaves out the first ones.
const SHOWN: usize = 40;

impl Case<'_> {
    /// The report on this case.
    pub fn report(&self) -> Report {
        let outcome = self.outcome;
        let answer = match &outcome.verdict {
            Verdict::Linearizable(_) => Answer::holds("linearizable"),
            Verdict::Violation(_) => Answer::violation(),
            Verdict::Unknown(unknown) => Answer::Unknown(Undecided::because(&unknown.reason)),
        };
        let mut report = Report::new(self.file, answer, self.summary());
        for (name, it) in [
            ("spec", Json::from(self.spec)),
            ("algorithm", outcome.algorithm.into()),
            ("because", outcome.because.as_str().into()),
            ("seconds", ((self.seconds * 1e6).round() / 1e6).into()),
            ("operations", self.history.len().into()),
            ("pending", self.history.pending().into()),
            ("partitions", outcome.partitions.into()),
            ("states", outcome.states.into()),
        ] {
            report.field(name, it);
        }
        match &outcome.verdict {
            Verdict::Linearizable(witness) if self.witness => {
                let placed = |&i: &u32| self.placed(i, (self.show)(i, true), "");
                report.sections.push(Section::Order(witness.order.iter().map(placed).collect()));
                let order = witness.order.iter().map(|&i| self.operation_json(i, &whole()));
                report.field("witness", order.collect::<Json>());
            }
            Verdict::Linearizable(_) => {}
            Verdict::Violation(explanation) => {
                report.sections.extend(self.violation(explanation, None));
                report.sections.extend(self.prefix(explanation));
                report.explanation = self.explanation_json(explanation);
            }
            Verdict::Unknown(unknown) => {
                report.sections.extend(undecided(unknown));
                report.field("progress", unknown.progress.as_str());
            }
        }
        // A file that was read only in part has no meaningful counts.
        if outcome.partitions > 0 || outcome.verdict.is_linearizable() {
            report.sections.push(Section::dim(self.counts()));
            if !outcome.because.is_empty() {
                let chosen = format!("{}: {}", outcome.algorithm, outcome.because);
                report.sections.push(Section::Paragraph(chosen));
            }
        }
        if !outcome.verdict.is_linearizable() {
            report.reproduce = Some(self.again.to_string());
        }
        report
    }

    /// `3 of 12,345 operations fit no order that queue allows (key 7)`.
    fn summary(&self) -> String {
        let total = self.history.len() as u64;
        match &self.outcome.verdict {
            Verdict::Linearizable(_) if self.history.is_empty() => "no operations".into(),
            Verdict::Linearizable(_) => {
                let what = count(total, "operation");
                let fit = if total == 1 { "fits" } else { "fit" };
                format!("{what} {fit} an order that {} allows", self.spec)
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
                    part_of(self.history, explanation).map_or(String::new(), |p| format!(" ({p})"));
                let after = match explanation.start {
                    Some(_) if some == 1 => ", after what came before it",
                    Some(_) => ", after what came before them",
                    None => "",
                };
                format!("{which} {fit} no order that {} allows{part}{after}", self.spec)
            }
            Verdict::Unknown(unknown) => reason(&unknown.reason),
        }
    }

    /// The sentence, the operations, and how far each can be trusted.
    pub(crate) fn violation(
        &self,
        explanation: &Explanation,
        title: Option<String>,
    ) -> Vec<Section> {
        let text = explanation.sentence.clone();
        let mut sections = vec![
            Section::Sentence { title, text, more: Vec::new() },
            Section::Operations(self.operations(explanation)),
        ];
        let mut note = |note: &str| sections.push(Section::Note(note.into()));
        if !explanation.rechecked {
            note("Not confirmed by a second search.");
        }
        // In a long list it does not matter to the reader whether it is minimal.
        if explanation.operations.len() > LISTED {
            note(match explanation.minimal {
                true => {
                    "None of these operations can be left out without losing the violation or its reason."
                }
                false => "Some of these operations may not be needed.",
            });
        }
        sections
    }

    /// The operations of an explanation, one lane per process. If a process goes on after an
    /// operation with an unknown outcome, its later operations get another lane.
    fn operations(&self, explanation: &Explanation) -> Operations {
        let history = self.history;
        let shown = choose(explanation);
        let mut lanes: Vec<(u32, usize)> = Vec::new();
        let mut blocked: Vec<(u32, usize)> = Vec::new();
        let mut keys = Vec::new();
        for &i in &shown {
            let process = history.operations()[i as usize].process;
            let turn = blocked.iter().filter(|b| b.0 == process).count();
            let key = (process, turn);
            if !lanes.contains(&key) {
                lanes.push(key);
            }
            if end(history, explanation, i).is_none() {
                blocked.push(key);
            }
            keys.push(key);
        }
        lanes.sort_by(|a, b| {
            let name = |key: &(u32, usize)| &history.processes()[key.0 as usize];
            name(a).cmp(name(b)).then(a.1.cmp(&b.1))
        });
        let bar = |(&i, key): (&u32, &(u32, usize))| Bar {
            lane: lanes.iter().position(|lane| lane == key).unwrap_or(0),
            call: history.operations()[i as usize].call,
            end: end(history, explanation, i),
            label: self.label(explanation, i),
            clash: explanation.clash.contains(&i),
        };
        let bars = shown.iter().zip(&keys).map(bar).collect();
        let place = |&i: &u32| {
            let o = &history.operations()[i as usize];
            let note = match end(history, explanation, i) {
                Some(_) => "",
                None if o.is_pending() => "no return",
                None if o.returned >= explanation.until => "returns after the part shown",
                None => "called before the part shown; treated as pending",
            };
            self.placed(i, self.label(explanation, i), note)
        };
        Operations {
            lane_kind: "process",
            lanes: lanes
                .iter()
                .map(|lane| history.processes()[lane.0 as usize].to_string())
                .collect(),
            bars,
            places: shown.iter().map(place).collect(),
            left_out: explanation.operations.len() - shown.len(),
        }
    }

    fn placed(&self, index: u32, label: String, note: &'static str) -> Placed {
        let o = &self.history.operations()[index as usize];
        let process = self.history.processes()[o.process as usize].to_string();
        Placed { label, process, line: o.line, column: o.column, note }
    }

    /// `enq(5)`; with its result if the explanation contains its return: `deq() -> 7`.
    fn label(&self, explanation: &Explanation, index: u32) -> String {
        let returns = end(self.history, explanation, index).is_some();
        (self.show)(index, returns)
    }

    /// How long a prefix of the history is linearizable.
    fn prefix(&self, explanation: &Explanation) -> Option<Section> {
        let operations = self.history.operations();
        let index = operations.iter().position(|o| Some(o.returned) == explanation.fine_until)?;
        let last = &operations[index];
        let what = cut(&clean(&(self.show)(index as u32, true)), 40, "…");
        let what = what.replace(' ', UNBROKEN);
        let called =
            if last.line > 0 { format!(", called in line {}", last.line) } else { String::new() };
        let used = |part: usize| operations.iter().any(|o| o.part as usize == part);
        let parts = (0..self.history.parts().len()).filter(|&p| used(p)).count();
        // If the explanation is about operations that return later, this return would look like a
        // second culprit, so it is left out.
        let is_told = explanation.operations.contains(&(index as u32));
        // The specification splits the parts of the history further, so returns cannot be counted
        // here.
        if self.outcome.partitions != parts {
            return is_told.then(|| {
                Section::Paragraph(format!(
                    "On this key, an order explains everything before the return of {what}{called}, but not that return."
                ))
            });
        }
        let of_part = || operations.iter().filter(|o| o.part == last.part && !o.is_pending());
        let all = count(of_part().count() as u64, "return");
        let fine = of_part().filter(|o| o.returned < last.returned).count() as u64;
        let whose =
            part_of(self.history, explanation).map_or(String::new(), |p| format!(" of {p}"));
        let explained = || match fine {
            1 => format!("An order explains the first of {all}{whose}"),
            _ => format!("An order explains the first {} of {all}{whose}", grouped(fine)),
        };
        let text = match (fine, is_told) {
            (0, false) => return None,
            (0, true) => {
                format!("No order explains even the first return{whose}: that of {what}{called}.")
            }
            (_, false) => format!("{}.", explained()),
            (_, true) => format!("{}, but not the next one: that of {what}{called}.", explained()),
        };
        Some(Section::Paragraph(text))
    }

    /// `queue, search, 12,345 operations (3 pending), 12 partitions, 1,234 states, 0.1 s`.
    fn counts(&self) -> String {
        let mut operations = count(self.history.len() as u64, "operation");
        match self.history.pending() as u64 {
            0 => {}
            pending => operations += &format!(" ({} pending)", grouped(pending)),
        }
        [
            self.spec.to_string(),
            self.outcome.algorithm.to_string(),
            operations,
            count(self.outcome.partitions as u64, "partition"),
            count(self.outcome.states, "state"),
            seconds(self.seconds),
        ]
        .join(", ")
    }

    pub(crate) fn explanation_json(&self, explanation: &Explanation) -> Map<String, Json> {
        let history = self.history;
        let operation = |&i: &u32| self.operation_json(i, explanation);
        let mut object = Map::new();
        let mut set = |name: &str, value: Json| object.insert(name.to_string(), value);
        set("sentence", explanation.sentence.as_str().into());
        set("operations", explanation.operations.iter().map(operation).collect());
        set("clash", explanation.clash.clone().into());
        set("until", (explanation.until != u32::MAX).then_some(explanation.until).into());
        set("fine_until", explanation.fine_until.into());
        set("minimal", explanation.minimal.into());
        set("rechecked", explanation.rechecked.into());
        if let Some(start) = &explanation.start {
            set("start", object!({ "from": start.from, "states": start.states }));
        }
        let part = |i: &u32| history.operations()[*i as usize].part;
        if let Some(first) = explanation.operations.first().map(part)
            && explanation.operations.iter().all(|i| part(i) == first)
        {
            let part = &history.parts()[first as usize];
            for (name, it) in [("object", &part.object), ("key", &part.key)] {
                if !it.is_nil() {
                    set(name, value(it));
                }
            }
        }
        object
    }

    /// `index` counts the operations of the history by call, from 0; `called` and `returned` are
    /// ranks among all its events. A return after the end of the explanation is not part of the
    /// explanation: `returned` is null then, as it is where there was none.
    pub(crate) fn operation_json(&self, index: u32, explanation: &Explanation) -> Json {
        let history = self.history;
        let o = &history.operations()[index as usize];
        let returned = end(history, explanation, index);
        let mut object = Map::new();
        let mut set = |name: &str, value: Json| object.insert(name.to_string(), value);
        set("index", index.into());
        set("process", value(&history.processes()[o.process as usize]));
        set("call", history.methods()[o.op.method as usize].as_str().into());
        set("args", o.op.args.as_slice().iter().map(value).collect());
        if let Some(result) = &o.result
            && returned.is_some()
        {
            set("result", value(result));
        }
        set("text", clean(&self.label(explanation, index)).into());
        set("line", o.line.into());
        set("column", o.column.into());
        set("called", o.call.into());
        set("returned", returned.into());
        Json::Object(object)
    }
}

/// An explanation that includes every return.
pub(crate) fn whole() -> Explanation {
    Explanation { until: u32::MAX, ..Explanation::default() }
}

/// The object and key of the violation, if the history names one and the violation lies within it.
fn part_of(history: &History, explanation: &Explanation) -> Option<String> {
    let part = |&i: &u32| history.operations()[i as usize].part;
    let first = part(explanation.operations.first()?);
    if explanation.operations.iter().any(|i| part(i) != first) {
        return None;
    }
    let part = &history.parts()[first as usize];
    (!part.object.is_nil() || !part.key.is_nil()).then(|| part.to_string())
}

/// The operations to draw: all of them, or those that clash and the last of the rest.
fn choose(explanation: &Explanation) -> Vec<u32> {
    let mut shown = explanation.operations.clone();
    let mut surplus = shown.len().saturating_sub(SHOWN);
    shown.retain(|i| {
        let leave_out = surplus > 0 && !explanation.clash.contains(i);
        surplus -= usize::from(leave_out);
        !leave_out
    });
    // Clashing operations are usually few; if there are many, the last ones serve as well as any.
    shown.drain(..shown.len().saturating_sub(2 * SHOWN));
    shown
}

/// The rank of the return if the explanation contains it. An operation that was called before the
/// explanation starts, or returns after it ends, counts as pending.
fn end(history: &History, explanation: &Explanation, index: u32) -> Option<u32> {
    let o = &history.operations()[index as usize];
    let from = explanation.start.as_ref().map_or(0, |start| start.from);
    (!o.is_pending() && o.call >= from && o.returned < explanation.until).then_some(o.returned)
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
        Reason::NotApplicable(why) => format!("the algorithm is not applicable: {why}"),
        Reason::Disagreement(what) => {
            format!("internal error: the result failed its check: {what}")
        }
    }
}

/// How far the search got, and what to try next.
fn undecided(unknown: &Unknown) -> Vec<Section> {
    let mut sections = Vec::new();
    if !unknown.progress.is_empty() {
        sections.push(Section::Line(Default::default(), format!("progress: {}", unknown.progress)));
    }
    let advice = match &unknown.reason {
        Reason::Exhausted(Exhausted::Cancelled) => "",
        Reason::Exhausted(Exhausted::Time(_) | Exhausted::Steps(_)) => {
            "try: a longer --timeout; --keys yes if the operations are on independent keys; \
             a shorter recording"
        }
        Reason::Exhausted(Exhausted::Memory(_)) => {
            "try: a larger --memory; --keys yes if the operations are on independent keys; \
             --algorithm wing-gong, which needs little memory but may not terminate in reasonable time"
        }
        Reason::NotApplicable(_) => "try: --algorithm auto",
        Reason::Disagreement(_) => {
            "This is a bug in trueline, or a specification whose results depend on more than its state. \
             Please report it with the file."
        }
    };
    if !advice.is_empty() {
        sections.push(Section::Paragraph(advice.into()));
    }
    sections
}
