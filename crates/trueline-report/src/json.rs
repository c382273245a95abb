//! The report that programs read: one object a file.

use serde_json::{Map, Value as Json, json as object};
use trueline::verdict::Explanation;
use trueline::{Value, Verdict};

use crate::{Case, text};

/// The value of `schema` in every object.
pub const SCHEMA: &str = "trueline/1";

/// The object for a case. Fields are only ever added under one [`SCHEMA`].
pub fn json(case: &Case) -> Json {
    let outcome = case.outcome;
    let mut object = object!({
        "schema": SCHEMA,
        "file": case.file,
        "verdict": outcome.verdict.name(),
        "spec": case.spec,
        "algorithm": outcome.algorithm,
        "because": outcome.because,
        "seconds": (case.seconds * 1e6).round() / 1e6,
        "operations": case.history.len(),
        "pending": case.history.pending(),
        "partitions": outcome.partitions,
        "states": outcome.states,
    });
    match &outcome.verdict {
        Verdict::Linearizable(witness) => {
            if case.witness {
                let all = Explanation { until: u32::MAX, ..Explanation::default() };
                let order = witness.order.iter().map(|&i| operation(case, i, &all));
                object["witness"] = order.collect();
            }
        }
        Verdict::Violation(explanation) => {
            object["explanation"] = explain(case, explanation);
        }
        Verdict::Unknown(unknown) => {
            use trueline::budget::Exhausted;
            use trueline::verdict::Reason;
            let (kind, text) = match &unknown.reason {
                Reason::Exhausted(why) => {
                    let kind = match why {
                        Exhausted::Cancelled => "cancelled",
                        Exhausted::Steps(_) => "steps",
                        Exhausted::Time(_) => "time",
                        Exhausted::Memory(_) => "memory",
                    };
                    (kind, why.to_string())
                }
                Reason::NotApplicable(why) => ("not-applicable", why.clone()),
                Reason::Disagreement(what) => ("disagreement", what.clone()),
            };
            object["reason"] = kind.into();
            object["message"] = text.into();
            object["progress"] = unknown.progress.as_str().into();
        }
    }
    if !outcome.verdict.is_linearizable() {
        object["again"] = case.again.into();
    }
    object
}

pub(crate) fn explain(case: &Case, explanation: &Explanation) -> Json {
    let history = case.history;
    let mut object = object!({
        "sentence": explanation.sentence,
        "operations": explanation
            .operations
            .iter()
            .map(|&i| operation(case, i, explanation))
            .collect::<Json>(),
        "clash": explanation.clash,
        "until": (explanation.until != u32::MAX).then_some(explanation.until),
        "fine_until": explanation.fine_until,
        "minimal": explanation.minimal,
        "rechecked": explanation.rechecked,
    });
    if let Some(start) = &explanation.start {
        object["start"] = object!({ "from": start.from, "states": start.states });
    }
    if let Some(&first) = explanation.operations.first() {
        let part = &history.parts()[history.operations()[first as usize].part as usize];
        for (name, it) in [("object", &part.object), ("key", &part.key)] {
            if !it.is_nil() {
                object[name] = value(it);
            }
        }
    }
    object
}

/// `index` counts the operations of the history by call, from 0; `called` and `returned` are ranks among all
/// its events. A return after the end of the explanation is not part of the explanation: `returned` is null then, as it is where
/// there was none.
pub(crate) fn operation(case: &Case, index: u32, explanation: &Explanation) -> Json {
    let history = case.history;
    let o = &history.operations()[index as usize];
    let returned = text::end(history, explanation, index);
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
    set("text", text::label(case, explanation, index).into());
    set("line", o.line.into());
    set("column", o.column.into());
    set("called", o.call.into());
    set("returned", returned.into());
    Json::Object(object)
}

/// A number as JSON. One that has too many digits for a double is told as a text, so that none gets lost.
fn number(digits: &str) -> Json {
    if let Ok(n) = digits.parse::<u64>() {
        return n.into();
    }
    match digits.parse::<f64>() {
        Ok(n) if n.is_finite() && n.to_string() == digits => n.into(),
        _ => digits.into(),
    }
}

/// A value of a history as JSON.
pub fn value(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(b) => (*b).into(),
        Value::Int(n) => (*n).into(),
        Value::Decimal(n) => number(&n.to_string()),
        Value::Text(text) => text.as_str().into(),
        // Readers bound the nesting of lists.
        Value::List(items) => items.iter().map(self::value).collect(),
    }
}
