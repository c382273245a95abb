//! The reports on quasi linearizability: those of [`crate::text()`] and [`crate::json()`], and how far what moved.

use serde_json::{Value as Json, json as object};
use trueline::Verdict;
use trueline::quasi::{Finding, Quasi, Reading};
use trueline::verdict::Explanation;

use crate::document::{Document, Line, Role};
use crate::words::{clean, count};
use crate::{Case, Look, json, text};

/// So many of the operations that moved furthest are named.
const NAMED: usize = 3;

/// The report that people read.
pub fn quasi_text(case: &Case, asked: &Quasi, found: &Finding, look: &Look) -> Document {
    let spec = format!("{} with {}", case.spec, bounds(asked, found));
    let mut document = text(&Case { spec: &spec, ..*case }, look);
    if look.quiet || !found.outcome.verdict.is_linearizable() {
        return document;
    }
    document.gap();
    document.extend(text::paragraph(&moved(case, asked, found), look));
    if let (Some(needs), Some(least)) = (&found.needs, found.factor) {
        document.gap();
        let why = format!("A factor of {} does not do:", least - 1);
        document.push(Line::of(Role::Strong, format!("  {why}")));
        document.extend(text::violation(case, needs, look));
    }
    document
}

/// The object for a case; see [`crate::json()`].
pub fn quasi_json(case: &Case, asked: &Quasi, found: &Finding) -> Json {
    let mut object = json(case);
    object["factor"] = found.factor.into();
    object["reading"] = asked.reading.name().into();
    object["end"] = asked.end.name().into();
    object["quasi"] = asked.factors.to_string().into();
    let all = Explanation { until: u32::MAX, ..Explanation::default() };
    let operation = |i: u32| json::operation(case, i, &all);
    if found.outcome.verdict.is_linearizable() {
        let moved = found.displaced.iter().map(|&(i, places)| {
            let mut displaced = operation(i);
            displaced["places"] = places.into();
            displaced
        });
        object["displaced"] = moved.collect();
        if case.witness {
            object["legal"] = found.legal.iter().map(|&i| operation(i)).collect();
        }
    }
    if let Some(needs) = &found.needs {
        object["needs"] = json::explain(case, needs);
    }
    if found.effort != Default::default() {
        object["effort"] = object!({
            "sequentializations": found.effort.sequentializations,
            "permutations": found.effort.permutations,
            "skipped": found.effort.skipped,
        });
    }
    object
}

/// `deq=2 (slots, open end)`; where the least factor was asked for and found, that.
fn bounds(asked: &Quasi, found: &Finding) -> String {
    let mut text = asked.factors.to_string();
    if let (Some(least), true) = (found.factor, text.contains("=?")) {
        text = text.replace("=?", &format!("={least}"));
    }
    let mut notes = Vec::new();
    if asked.reading != Reading::Slots {
        notes.push(asked.reading.name().to_string());
    }
    if asked.end == trueline::quasi::End::Open {
        notes.push("open end".to_string());
    }
    match notes.is_empty() {
        true => text,
        false => format!("{text} ({})", notes.join(", ")),
    }
}

/// What is out of order, and by how much.
fn moved(case: &Case, asked: &Quasi, found: &Finding) -> String {
    let Verdict::Linearizable(_) = found.outcome.verdict else { return String::new() };
    if found.displaced.is_empty() {
        return "Nothing is out of order: the history is linearizable.".into();
    }
    let places = |n: u32| count(u64::from(n), "place");
    let furthest: Vec<String> = found
        .displaced
        .iter()
        .take(NAMED)
        .map(|&(i, far)| {
            let line = case.history.operations()[i as usize].line;
            let place = if line > 0 { format!(" in line {line}") } else { String::new() };
            format!(
                "{}{place} by {}",
                clean(&(case.show)(i, true)).replace(' ', "\u{a0}"),
                places(far)
            )
        })
        .collect();
    let many = count(found.displaced.len() as u64, "operation");
    let are = if found.displaced.len() == 1 { "is" } else { "are" };
    let named = match found.displaced.len() > NAMED {
        true => "furthest ",
        false => "",
    };
    let text = format!("{many} {are} out of order: {named}{}.", furthest.join(", "));
    // The least factor is needed by some removal; if by none of these, by one that the open end allows for.
    let most = found.displaced.iter().map(|d| d.1).max();
    let is_least = asked.factors.to_string().contains("=?")
        && (asked.reading, asked.end) == (Reading::Slots, trueline::quasi::End::Open);
    match found.factor.filter(|&least| is_least && most.is_some_and(|most| most < least)) {
        Some(least) => {
            format!("{text} One that is still to come is out of order by {}.", places(least))
        }
        None => text,
    }
}
