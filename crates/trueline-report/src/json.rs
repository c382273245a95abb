//! A report for programs: one JSON object.

use serde_json::{Map, Value as Json};
use trueline::Value;

use crate::report::{Answer, Report, Section};

/// The value of `schema` in every object.
pub const SCHEMA: &str = "trueline/1";

impl Report {
    /// The object for this report. Under one [`SCHEMA`], fields are only added.
    pub fn json(&self) -> Json {
        let mut object = Map::new();
        let mut set = |name: &str, value: Json| object.insert(name.to_string(), value);
        set("schema", SCHEMA.into());
        set("file", self.subject.as_str().into());
        set("verdict", self.verdict.name().into());
        for (name, value) in &self.fields {
            set(name, value.clone());
        }
        if let Answer::Unknown(undecided) = &self.verdict {
            set("reason", undecided.code.into());
            set("message", undecided.message.as_str().into());
        }
        let mut explanation = self.explanation.clone();
        // The steps of a violation belong to its explanation; those of a property have an object of
        // their own.
        let steps = self.sections.iter().find_map(|section| match section {
            Section::Steps(steps) if steps.title.is_none() => Some(steps.json()),
            _ => None,
        });
        if let Some(steps) = steps {
            explanation.insert("steps".into(), steps);
        }
        if !explanation.is_empty() {
            set("explanation", explanation.into());
        }
        for (name, command) in
            [("again", &self.reproduce), ("replay", &self.replay), ("page", &self.page)]
        {
            if let Some(command) = command {
                set(name, command.as_str().into());
            }
        }
        Json::Object(object)
    }
}

/// The object for an unusable input.
pub fn error_json(file: &str, message: &str) -> Json {
    serde_json::json!({ "schema": SCHEMA, "file": file, "error": message })
}

/// A number as JSON. A number with too many digits for a double becomes a string, so that no digit
/// is lost.
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
        // Readers limit the nesting of lists, so the recursion is bounded.
        Value::List(items) => items.iter().map(self::value).collect(),
    }
}
