//! Views for some objects only: what moved in a quasi linearizable history, and the cells of a
//! snapshot object.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use trueline::quasi::Finding;
use trueline::{Value, Verdict};

use crate::Case;
use crate::words::{count, cut, grouped};

/// At most this many operations of an order, or rows of cells, are shown.
const MOST: usize = 300;
/// Snapshot objects with more cells get no table.
const CELLS: usize = 64;
/// Values of cells are cut to this many columns.
const VALUE: usize = 40;

/// Two orders of the same operations: the one in which they took effect, and the legal one.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Moved {
    /// Operations by the number under which they are shown, in the order in which they took effect;
    /// each with its distance from its place in the legal order.
    pub taken: Vec<(u32, u32)>,
    /// The legal order.
    pub legal: Vec<u32>,
    /// A caption that says which operations these are.
    pub note: String,
}

impl Moved {
    pub(crate) fn json(&self) -> Json {
        json!({"taken": self.taken, "legal": self.legal, "note": self.note})
    }
}

/// The cells of a snapshot object.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Cells {
    /// How many there are.
    pub cells: usize,
    /// Operations by the number under which they are shown, with the value that each returns or
    /// writes, cell by cell.
    pub rows: Vec<(u32, Vec<Option<String>>)>,
    /// A caption that says which operations these are.
    pub note: String,
}

impl Cells {
    pub(crate) fn json(&self) -> Json {
        json!({"cells": self.cells, "rows": self.rows, "note": self.note})
    }
}

impl Case<'_> {
    /// Both orders of a quasi linearizable history; `shown` are the operations on the page,
    /// ascending.
    pub fn moved_view(&self, found: &Finding, shown: &[u32]) -> Option<Moved> {
        let Verdict::Linearizable(witness) = &found.outcome.verdict else { return None };
        let places: HashMap<u32, u32> = found.displaced.iter().copied().collect();
        let furthest = found.displaced.iter().max_by_key(|moved| moved.1).map(|moved| moved.0);
        let total = witness.order.len();
        let (mut taken, mut legal) = (witness.order.as_slice(), found.legal.as_slice());
        let mut note = "Left: an order in which the operations may have taken effect. Right: an order that the \
                        strict object allows. There may be others."
            .to_string();
        if total > MOST {
            let middle = furthest.and_then(|i| taken.iter().position(|&k| k == i)).unwrap_or(0);
            let first = middle.saturating_sub(MOST / 2).min(total - MOST);
            taken = &taken[first..first + MOST];
            let last = (first + MOST).min(legal.len());
            legal = &legal[first.min(last)..last];
            note += &format!(
                " Shown: {} of {}, around the one that moved furthest.",
                grouped(MOST as u64),
                count(total as u64, "operation")
            );
        }
        let place = |i: &u32| shown.binary_search(i).ok().map(|k| k as u32);
        let taken: Option<Vec<(u32, u32)>> =
            taken.iter().map(|i| Some((place(i)?, places.get(i).copied().unwrap_or(0)))).collect();
        let legal: Option<Vec<u32>> = legal.iter().map(place).collect();
        Some(Moved { taken: taken?, legal: legal?, note })
    }

    /// What updates write and scans return, for a snapshot object.
    pub(crate) fn cells(&self, shown: &[u32]) -> Option<Cells> {
        if self.spec.split(':').next() != Some("snapshot") {
            return None;
        }
        let operations = self.history.operations();
        let is_part = |i: &u32| match &self.outcome.verdict {
            Verdict::Violation(explanation) => explanation.operations.contains(i),
            _ => true,
        };
        let scanned = |i: u32| operations[i as usize].result.as_ref().and_then(Value::as_list);
        let updated = |i: u32| match operations[i as usize].op.args.as_slice() {
            [cell, value] => Some((usize::try_from(cell.as_int()?).ok()?, value)),
            _ => None,
        };
        let own: Vec<usize> = (0..shown.len()).filter(|&k| is_part(&shown[k])).collect();
        let size = |&k: &usize| {
            let scan = scanned(shown[k]).map_or(0, <[Value]>::len);
            scan.max(updated(shown[k]).map_or(0, |(cell, _)| cell + 1))
        };
        let cells = own.iter().map(size).max().filter(|cells| (1..=CELLS).contains(cells))?;
        let text = |value: &Value| Some(cut(&value.to_string(), VALUE, "…"));
        let row = |&k: &usize| {
            let mut row = vec![None; cells];
            match (scanned(shown[k]), updated(shown[k])) {
                (Some(values), _) => {
                    for (cell, value) in row.iter_mut().zip(values) {
                        *cell = text(value);
                    }
                }
                (None, Some((cell, value))) => row[cell] = text(value),
                (None, None) => {}
            }
            (k as u32, row)
        };
        let which = match &self.outcome.verdict {
            Verdict::Violation(_) => "operations of the explanation",
            _ => "operations",
        };
        let most = own.len().min(MOST);
        let shown = match most < own.len() {
            true => format!("The first {} {which}", grouped(most as u64)),
            false => format!("The {which}"),
        };
        Some(Cells {
            cells,
            rows: own.iter().take(MOST).map(row).collect(),
            note: format!(
                "{shown} by their calls: what updates write and what scans show, cell by cell."
            ),
        })
    }
}
