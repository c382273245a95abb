//! The operations of a history for a page: all of them, or a window around the violation.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use trueline::spec::{Named, Spec};
use trueline::{History, Verdict};

use crate::Case;
use crate::orders::{self, Orders};
use crate::views::{Cells, Moved};
use crate::words::{count, cut, grouped};

/// Histories of up to this many operations are shown whole.
const WHOLE: usize = 20_000;
/// Of longer histories, this many operations are shown.
const WINDOW: usize = 10_000;
/// The overview of a whole history has this many parts.
const STRIP: usize = 600;
/// Labels are cut to this many columns: a value may have millions of characters.
const LABEL: usize = 400;

/// Operations, one entry each in every column.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Timeline {
    /// What the lanes are: `process`, `thread`.
    pub kind: &'static str,
    /// The names of the lanes.
    pub lanes: Vec<String>,
    /// The lane of each operation.
    pub lane: Vec<u32>,
    /// The rank of its call.
    pub call: Vec<u32>,
    /// The rank of its return.
    pub end: Vec<Option<u32>>,
    /// The label of the operation.
    pub label: Vec<String>,
    /// The line of its call; 0 if there is none.
    pub line: Vec<u32>,
    /// 2: the sentence is about it; 1: it is part of the explanation; 0: neither.
    pub mark: Vec<u8>,
    /// Its object and key, as an index into `parts`.
    pub part: Vec<u32>,
    /// Its index in the history, which links use.
    pub index: Vec<u32>,
    /// Objects and keys.
    pub parts: Vec<String>,
    /// Which operations are shown, if not all of them are.
    pub note: Option<String>,
    /// The density of operations over the whole history, if only a part is shown.
    pub overview: Option<Overview>,
    /// An order of them, or the longest orders found.
    pub orders: Option<Orders>,
    /// The operations out of order, if quasi linearizability was checked.
    pub moved: Option<Moved>,
    /// The cells of a snapshot object, and the values that scans return.
    pub cells: Option<Cells>,
}

/// An overview of a history of which only a part is shown.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Overview {
    /// The number of calls in each part; all parts have equally many events.
    pub calls: Vec<u32>,
    /// The first and the last event of the part shown, as shares of the whole.
    pub window: (f64, f64),
    /// Operations of the explanation, as shares of the whole.
    pub marks: Vec<f64>,
}

impl Timeline {
    pub(crate) fn json(&self) -> Json {
        let end: Vec<i64> = self.end.iter().map(|end| end.map_or(-1, i64::from)).collect();
        json!({
            "kind": self.kind,
            "lanes": self.lanes,
            "lane": self.lane,
            "call": self.call,
            "end": end,
            "label": self.label,
            "line": self.line,
            "mark": self.mark,
            "part": self.part,
            "index": self.index,
            "parts": self.parts,
            "note": self.note,
            "overview": self.overview.as_ref().map(|o| json!([o.calls, o.window, o.marks])),
            "order": self.orders.as_ref().map(Orders::json),
            "moved": self.moved.as_ref().map(Moved::json),
            "cells": self.cells.as_ref().map(Cells::json),
        })
    }
}

impl Case<'_> {
    /// The operations for a page. `spec` computes the states along their orders.
    pub fn timeline(&self, spec: Option<&Named>) -> Timeline {
        let history = self.history;
        let total = history.len();
        let (shown, note) = self.window();
        let explanation = match &self.outcome.verdict {
            Verdict::Violation(explanation) => Some(explanation),
            _ => None,
        };
        let mut lanes: Vec<u32> = Vec::new();
        let mut lane_of = vec![u32::MAX; history.processes().len()];
        let mut used: Vec<u32> =
            shown.iter().map(|&i| history.operations()[i as usize].process).collect();
        used.sort_by_key(|&process| &history.processes()[process as usize]);
        used.dedup();
        for process in used {
            if lane_of[process as usize] == u32::MAX {
                lane_of[process as usize] = lanes.len() as u32;
                lanes.push(process);
            }
        }
        let mut timeline = Timeline {
            kind: "process",
            lanes: lanes.iter().map(|&p| history.processes()[p as usize].to_string()).collect(),
            parts: history.parts().iter().map(ToString::to_string).collect(),
            note,
            ..Timeline::default()
        };
        for &i in &shown {
            let o = &history.operations()[i as usize];
            timeline.lane.push(lane_of[o.process as usize]);
            timeline.call.push(o.call);
            timeline.end.push((!o.is_pending()).then_some(o.returned));
            timeline.label.push(cut(&(self.show)(i, true), LABEL, "…"));
            timeline.line.push(o.line);
            timeline.part.push(o.part);
            timeline.index.push(i);
            timeline.mark.push(match explanation {
                Some(explanation) if explanation.clash.contains(&i) => 2,
                Some(explanation) if explanation.operations.contains(&i) => 1,
                _ => 0,
            });
        }
        if let Some(spec) = spec
            && timeline.parts.len() == 1
            && let Some((part, parts)) = self.keys(spec, &shown)
        {
            (timeline.part, timeline.parts) = (part, parts);
        }
        if timeline.note.is_some() {
            timeline.overview = Some(self.overview(&shown));
        }
        timeline.cells = self.cells(&shown);
        if shown.len() == total || explanation.is_some() {
            timeline.orders = spec.and_then(|spec| orders::of(self, spec, &shown));
        }
        timeline
    }

    /// The keys into which the specification splits each object: the key of each operation, and the
    /// texts of the keys. The key is the argument that decides.
    fn keys(&self, spec: &Named, shown: &[u32]) -> Option<(Vec<u32>, Vec<String>)> {
        let spec = spec.dynamic();
        let mut known: HashMap<u64, u32> = HashMap::new();
        let (mut part, mut parts) = (Vec::new(), Vec::new());
        for &i in shown {
            let (call, _) = orders::call(self, i);
            let key = spec.partition(&call)?;
            let name = call.args.as_slice().first()?.to_string();
            let number = *known.entry(key).or_insert_with(|| {
                parts.push(name.clone());
                parts.len() as u32 - 1
            });
            // Two arguments share this part, so neither can name it.
            if parts[number as usize] != name {
                return None;
            }
            part.push(number);
        }
        (parts.len() > 1).then_some((part, parts))
    }

    /// The overview of the whole history; `shown` is the part of it that the page has.
    fn overview(&self, shown: &[u32]) -> Overview {
        let operations = self.history.operations();
        let events = 1 + operations
            .iter()
            .map(|o| if o.is_pending() { o.call } else { o.returned })
            .max()
            .unwrap_or(0);
        let share = |i: u32| f64::from(operations[i as usize].call) / f64::from(events);
        let mut calls = vec![0; STRIP];
        for o in operations {
            calls[(u64::from(o.call) * STRIP as u64 / u64::from(events)) as usize] += 1;
        }
        let marks = match &self.outcome.verdict {
            Verdict::Violation(explanation) => explanation.operations.as_slice(),
            _ => &[],
        };
        // Operations that the explanation needs from elsewhere do not extend the window.
        let mut window = shown.iter().copied().filter(|i| !marks.contains(i));
        let (first, last) = (window.clone().next(), window.next_back());
        Overview {
            calls,
            window: (first.map_or(0.0, share), last.map_or(1.0, share)),
            marks: marks.iter().take(STRIP).map(|&i| share(i)).collect(),
        }
    }

    /// The operations to show, and a note if these are not all.
    fn window(&self) -> (Vec<u32>, Option<String>) {
        let total = self.history.len();
        if total <= WHOLE {
            return ((0..total as u32).collect(), None);
        }
        let around = around(self.history, &self.outcome.verdict);
        let first = around.saturating_sub(WINDOW / 2).min(total - WINDOW);
        let mut shown: Vec<u32> = (first as u32..(first + WINDOW) as u32).collect();
        // Operations of the explanation are shown wherever they are.
        if let Verdict::Violation(explanation) = &self.outcome.verdict {
            shown.extend(&explanation.operations);
            shown.sort_unstable();
            shown.dedup();
        }
        let note = format!(
            "Shown: {} of {}, from number {} to {} by call{}.",
            grouped(shown.len() as u64),
            count(total as u64, "operation"),
            grouped(first as u64 + 1),
            grouped((first + WINDOW) as u64),
            match self.outcome.verdict {
                Verdict::Violation(_) => ", and all of the explanation",
                _ => "",
            }
        );
        (shown, Some(note))
    }
}

/// The operation at the centre of the window.
fn around(history: &History, verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Violation(explanation) => {
            let clash = explanation.clash.last().or(explanation.operations.last());
            clash.map_or(0, |&i| i as usize)
        }
        Verdict::Linearizable(_) => 0,
        Verdict::Unknown(_) => history.len() / 2,
    }
}
