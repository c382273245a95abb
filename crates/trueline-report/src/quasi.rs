//! The report on quasi linearizability: that of [`Case::report`], plus how far operations moved.

use serde_json::{Value as Json, json as object};
use trueline::quasi::{End, Factor, Finding, Quasi, Reading};

use crate::Case;
use crate::history::whole;
use crate::report::{Answer, Report, Section};
use crate::words::{UNBROKEN, clean, count};

/// The report names this many of the operations that moved furthest.
const NAMED: usize = 3;

impl Case<'_> {
    /// The report on a case that was checked for quasi linearizability.
    pub fn quasi_report(&self, asked: &Quasi, found: &Finding) -> Report {
        let spec = format!("{} with {}", self.spec, bounds(asked, found));
        let mut report = Case { spec: &spec, ..*self }.report();
        let factors = factors(asked, found).join(", ").replace('=', " ");
        match &mut report.verdict {
            Answer::Holds { words, .. } => {
                *words = format!("quasi linearizable ({factors})").into()
            }
            Answer::Violation(words) => *words = "not quasi linearizable".into(),
            Answer::Unknown(_) => {}
        }
        report.field("spec", self.spec);
        report.field("factor", found.factor);
        report.field("reading", asked.reading.name());
        report.field("end", asked.end.name());
        report.field("quasi", asked.factors.to_string());
        if found.outcome.verdict.is_linearizable() {
            let moved = found.displaced.iter().map(|&(i, places)| {
                let mut displaced = self.operation_json(i, &whole());
                displaced["places"] = places.into();
                displaced
            });
            report.field("displaced", moved.collect::<Json>());
            if self.witness {
                let legal = found.legal.iter().map(|&i| self.operation_json(i, &whole()));
                report.field("legal", legal.collect::<Json>());
            }
            report.sections.push(Section::Note(self.moved(asked, found)));
        }
        if let Some(needs) = &found.needs {
            report.field("needs", self.explanation_json(needs));
            if let (Some(least), true) = (found.factor, found.outcome.verdict.is_linearizable()) {
                let title = format!("A factor of {} is not enough:", least - 1);
                report.sections.extend(self.violation(needs, Some(title)));
            }
        }
        if found.effort != Default::default() {
            report.field(
                "effort",
                object!({
                    "sequentializations": found.effort.sequentializations,
                    "permutations": found.effort.permutations,
                    "skipped": found.effort.skipped,
                }),
            );
        }
        report
    }

    /// Which operations are out of order, and by how much.
    fn moved(&self, asked: &Quasi, found: &Finding) -> String {
        if found.displaced.is_empty() {
            return "Nothing is out of order: the history is linearizable.".into();
        }
        let places = |n: u32| count(u64::from(n), "place");
        let furthest: Vec<String> = found
            .displaced
            .iter()
            .take(NAMED)
            .map(|&(i, far)| {
                let line = self.history.operations()[i as usize].line;
                let place = if line > 0 { format!(" in line {line}") } else { String::new() };
                let shown = clean(&(self.show)(i, true)).replace(' ', UNBROKEN);
                format!("{shown}{place} by {}", places(far))
            })
            .collect();
        let many = count(found.displaced.len() as u64, "operation");
        let are = if found.displaced.len() == 1 { "is" } else { "are" };
        let named = if found.displaced.len() > NAMED { "furthest " } else { "" };
        let text = format!("{many} {are} out of order: {named}{}.", furthest.join(", "));
        // Some removal needs the least factor. If it is none of these, it is one that the open end
        // allows.
        let most = found.displaced.iter().map(|d| d.1).max();
        let is_least =
            asks_least(asked) && (asked.reading, asked.end) == (Reading::Slots, End::Open);
        match found.factor.filter(|&least| is_least && most.is_some_and(|most| most < least)) {
            Some(least) => {
                format!(
                    "{text} A removal that has not been called yet is out of order by {}.",
                    places(least)
                )
            }
            None => text,
        }
    }
}

fn asks_least(asked: &Quasi) -> bool {
    asked.factors.given().iter().any(|(_, factor)| *factor == Factor::Least)
}

/// `deq=2`, one per method. If the least factor was asked for and found, it is shown.
fn factors(asked: &Quasi, found: &Finding) -> Vec<String> {
    (asked.factors.given().iter())
        .map(|(method, factor)| match (factor, found.factor) {
            (Factor::Least, Some(least)) => format!("{method}={least}"),
            _ => format!("{method}={factor}"),
        })
        .collect()
}

/// `deq=2 (slots, open end)`. If the least factor was asked for and found, it is shown.
fn bounds(asked: &Quasi, found: &Finding) -> String {
    let text = factors(asked, found).join(",");
    let mut notes = Vec::new();
    if asked.reading != Reading::Slots {
        notes.push(asked.reading.name().to_string());
    }
    if asked.end == End::Open {
        notes.push("open end".to_string());
    }
    match notes.is_empty() {
        true => text,
        false => format!("{text} ({})", notes.join(", ")),
    }
}
