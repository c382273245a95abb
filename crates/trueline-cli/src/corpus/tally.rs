//! Counts over the rows of a corpus, by group.

use std::fmt::Write;

use serde_json::{Value as Json, json};
use trueline_report::{SCHEMA, clean, count, seconds};

use super::Ending;
use super::manifest::Row;

/// Counts, by group in order of first appearance.
#[derive(Default)]
pub(super) struct Tally {
    total: Counts,
    groups: Vec<(String, Counts)>,
    /// The number of rows with guessed keys, and the first of them.
    guessed: (u64, String),
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
    seconds: f64,
    slowest: (f64, String),
}

impl Counts {
    fn add(&mut self, row: &Row, ending: Ending, seconds: f64) {
        match ending {
            Ending::Passed => self.passed += 1,
            Ending::Failed | Ending::Unreadable => self.failed += 1,
            Ending::Skipped => self.skipped += 1,
        }
        self.seconds += seconds;
        if seconds > self.slowest.0 {
            self.slowest = (seconds, row.path.clone());
        }
    }
}

impl Tally {
    pub(super) fn add(&mut self, row: &Row, ending: Ending, seconds: f64) {
        let group = row.group();
        let place = self.groups.iter().position(|g| g.0 == group).unwrap_or_else(|| {
            self.groups.push((group, Counts::default()));
            self.groups.len() - 1
        });
        self.groups[place].1.add(row, ending, seconds);
        self.total.add(row, ending, seconds);
    }

    /// Counts a row whose keys were guessed.
    pub(super) fn add_guess(&mut self, row: &Row) {
        if self.guessed.0 == 0 {
            self.guessed.1.clone_from(&row.path);
        }
        self.guessed.0 += 1;
    }

    /// A table of the groups, and the line that scripts look for: `N passed, M failed, K skipped`.
    pub(super) fn text(&self) -> String {
        let widest = self.groups.iter().map(|g| g.0.chars().count()).max().unwrap_or(0).max(5);
        let mut text = format!(
            "{:widest$}  {:>6}  {:>6}  {:>7}  {:>8}  slowest\n",
            "group", "passed", "failed", "skipped", "time"
        );
        for (group, counts) in &self.groups {
            let Counts { passed, failed, skipped, seconds: time, slowest } = counts;
            let name = slowest.1.rsplit('/').next().unwrap_or_default();
            let _ = writeln!(
                text,
                "{group:widest$}  {passed:>6}  {failed:>6}  {skipped:>7}  {:>8}  {} {name}",
                seconds(*time),
                seconds(slowest.0),
            );
        }
        if self.guessed.0 > 0 {
            let (rows, first) = (count(self.guessed.0, "row"), clean(&self.guessed.1));
            let _ = writeln!(
                text,
                "keys: guessed in {rows}, first in {first}: the column independent_keys says yes or no"
            );
        }
        let Counts { passed, failed, skipped, .. } = self.total;
        let _ = writeln!(text, "{passed} passed, {failed} failed, {skipped} skipped");
        text
    }

    pub(super) fn json(&self, seconds: f64) -> Json {
        let counts = |c: &Counts| {
            json!({
                "passed": c.passed, "failed": c.failed, "skipped": c.skipped,
                "seconds": c.seconds, "slowest": c.slowest.1,
            })
        };
        let groups = self.groups.iter().map(|(name, c)| {
            let mut object = counts(c);
            object["group"] = name.as_str().into();
            object
        });
        json!({
            "schema": SCHEMA,
            "passed": self.total.passed, "failed": self.total.failed, "skipped": self.total.skipped,
            "seconds": seconds, "groups": groups.collect::<Vec<_>>(),
        })
    }
}
