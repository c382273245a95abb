//! The parameters of a named specification: `capacity=4,init=[1 2]`.

use std::ops::RangeInclusive;

use super::Info;
use super::method::found;
use crate::formats::number;
use crate::value::Value;

/// The parameters after the colon. Each is taken once; [`Params::finish`] reports the rest as
/// errors.
pub(super) struct Params {
    spec: &'static str,
    known: &'static str,
    given: Vec<(String, Given)>,
}

enum Given {
    /// `?`
    Unknown,
    Value(Value),
}

impl Params {
    pub(super) fn parse(info: &Info, text: &str) -> Result<Params, String> {
        let mut params = Params { spec: info.name, known: info.parameters, given: Vec::new() };
        let mut reader = Reader { text, at: 0 };
        while reader.peek().is_some() {
            let (key, given) =
                reader.parameter().map_err(|e| format!("the parameters of {}: {e}", info.name))?;
            if params.given.iter().any(|(k, _)| *k == key) {
                return Err(format!("the parameter {key} of {} is given twice", info.name));
            }
            params.given.push((key, given));
        }
        Ok(params)
    }

    /// Reports an error if there are unknown parameters.
    pub(super) fn finish(self) -> Result<(), String> {
        let Some((key, _)) = self.given.first() else { return Ok(()) };
        let expected = match self.known {
            "" => "it takes none".into(),
            known => format!("expected {known}"),
        };
        Err(format!("{} has no parameter {key}: {expected}", self.spec))
    }

    /// A value, or `None` for `?`.
    pub(super) fn unless_unknown(
        &mut self,
        key: &str,
        default: Value,
    ) -> Result<Option<Value>, String> {
        match self.take(key) {
            None => Ok(Some(default)),
            Some(Given::Value(value)) => Ok(Some(value)),
            Some(Given::Unknown) => Ok(None),
        }
    }

    pub(super) fn value(&mut self, key: &str, default: Value) -> Result<Value, String> {
        self.unless_unknown(key, default)?.ok_or_else(|| self.wrong(key, "a value", None))
    }

    pub(super) fn int(&mut self, key: &str, default: i64) -> Result<i64, String> {
        let value = self.value(key, Value::Int(default))?;
        value.as_int().ok_or_else(|| self.wrong(key, "a number", Some(&value)))
    }

    /// A number from 0 on.
    pub(super) fn count(&mut self, key: &str, default: usize) -> Result<usize, String> {
        self.within(0..=u32::MAX, key, default).map(|n| n as usize)
    }

    /// A number from 0 to `most`; `None` for `?` or if it is not given.
    pub(super) fn at_most_unless_unknown(
        &mut self,
        key: &str,
        most: u32,
    ) -> Result<Option<u32>, String> {
        match self.take(key) {
            None | Some(Given::Unknown) => Ok(None),
            Some(given) => {
                self.given.push((key.to_string(), given));
                self.within(0..=most, key, 0).map(Some)
            }
        }
    }

    /// A number from `least` on; `None` if it is not given.
    pub(super) fn maybe(&mut self, key: &str, least: u32) -> Result<Option<u32>, String> {
        match self.given.iter().any(|(k, _)| k == key) {
            true => self.within(least..=u32::MAX, key, 0).map(Some),
            false => Ok(None),
        }
    }

    /// A number from 1 on.
    pub(super) fn positive(&mut self, key: &str, default: usize) -> Result<usize, String> {
        self.within(1..=u32::MAX, key, default).map(|n| n as usize)
    }

    /// A number from 1 on that must be given.
    pub(super) fn required(&mut self, key: &str) -> Result<usize, String> {
        if self.given.iter().all(|(k, _)| k != key) {
            return Err(format!("{0} needs the parameter {key}: {0}:{key}=4", self.spec));
        }
        self.positive(key, 1)
    }

    /// A list of values, none of them nil.
    pub(super) fn list(&mut self, key: &str) -> Result<Vec<Value>, String> {
        let value = self.value(key, Value::list([]))?;
        let Some(items) = value.as_list() else {
            return Err(self.wrong(key, "a list such as [1 2]", Some(&value)));
        };
        if items.contains(&Value::Nil) {
            let nil = "found nil, which means nothing";
            return Err(format!("the parameter {key} of {}: expected values, {nil}", self.spec));
        }
        Ok(items.to_vec())
    }

    /// The initial contents of a container with this capacity.
    pub(super) fn contents(&mut self, capacity: usize) -> Result<Vec<Value>, String> {
        let items = self.list("init")?;
        if items.len() > capacity {
            let (spec, n, s) = (self.spec, items.len(), if capacity == 1 { "" } else { "s" });
            return Err(format!(
                "the parameter init of {spec}: expected at most {capacity} value{s}, found {n}"
            ));
        }
        Ok(items)
    }

    /// `order=min` rather than `order=max`.
    pub(super) fn smallest_first(&mut self) -> Result<bool, String> {
        let value = self.value("order", Value::text("max"))?;
        match value.as_text() {
            Some("min") => Ok(true),
            Some("max") => Ok(false),
            _ => Err(self.wrong("order", "min or max", Some(&value))),
        }
    }

    /// `true` or `false`.
    pub(super) fn truth(&mut self, key: &str, default: bool) -> Result<bool, String> {
        match self.value(key, Value::Bool(default))? {
            Value::Bool(truth) => Ok(truth),
            other => Err(self.wrong(key, "true or false", Some(&other))),
        }
    }

    /// `results=before` is true, `results=after` false; `None` if it is not given.
    pub(super) fn before_or_after(&mut self) -> Result<Option<bool>, String> {
        let value = self.value("results", Value::text("either"))?;
        match value.as_text() {
            Some("before") => Ok(Some(true)),
            Some("after") => Ok(Some(false)),
            Some("either") => Ok(None),
            _ => Err(self.wrong("results", "before, after or either", Some(&value))),
        }
    }

    fn within(
        &mut self,
        range: RangeInclusive<u32>,
        key: &str,
        default: usize,
    ) -> Result<u32, String> {
        let value = self.value(key, Value::Int(default as i64))?;
        let number = value.as_int().and_then(|n| u32::try_from(n).ok());
        number.filter(|n| range.contains(n)).ok_or_else(|| {
            let expected = format!("a number from {} to {}", range.start(), range.end());
            self.wrong(key, &expected, Some(&value))
        })
    }

    fn take(&mut self, key: &str) -> Option<Given> {
        let at = self.given.iter().position(|(k, _)| k == key)?;
        Some(self.given.remove(at).1)
    }

    fn wrong(&self, key: &str, expected: &str, value: Option<&Value>) -> String {
        let found = value.map_or("?".into(), found);
        format!("the parameter {key} of {}: expected {expected}, found {found}", self.spec)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// The maximum nesting of lists, so that no text exhausts the stack.
    const DEPTH: usize = 32;

    /// The next character that is neither a space nor a comma.
    fn peek(&mut self) -> Option<char> {
        self.skip(|c| c.is_whitespace() || c == ',');
        self.text[self.at..].chars().next()
    }

    fn skip(&mut self, what: impl Fn(char) -> bool) {
        let rest = &self.text[self.at..];
        self.at += rest.find(|c| !what(c)).unwrap_or(rest.len());
    }

    fn parameter(&mut self) -> Result<(String, Given), String> {
        let start = self.at;
        self.skip(|c| c != '=' && c != ',');
        let key = self.text[start..self.at].trim().to_string();
        if !self.text[self.at..].starts_with('=') {
            return Err(format!("expected key=value, found {key:?}"));
        }
        self.at += 1;
        if self.text[self.at..].trim_start().starts_with('?') {
            self.skip(char::is_whitespace);
            self.at += 1;
            return Ok((key, Given::Unknown));
        }
        let value = self.value(0)?;
        self.skip(char::is_whitespace);
        if !self.text[self.at..].is_empty() && !self.text[self.at..].starts_with(',') {
            return Err(format!("expected a comma before {:?}", &self.text[self.at..]));
        }
        Ok((key, Given::Value(value)))
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        let whole = self.at;
        match self.peek() {
            Some('[') if depth == Self::DEPTH => Err("the lists are nested too deeply".into()),
            Some('[') => {
                self.at += 1;
                let mut items = Vec::new();
                loop {
                    match self.peek() {
                        None => {
                            let list = &self.text[whole..];
                            return Err(format!("expected ] at the end of {list:?}"));
                        }
                        Some(']') => break,
                        Some(_) => items.push(self.value(depth + 1)?),
                    }
                }
                self.at += 1;
                Ok(Value::list(items))
            }
            Some('"') => self.quoted(),
            _ => {
                let start = self.at;
                self.skip(|c| !c.is_whitespace() && !matches!(c, ',' | '[' | ']' | '"'));
                match &self.text[start..self.at] {
                    "" => Err(format!("expected a value, found {:?}", &self.text[whole..])),
                    "nil" | "null" => Ok(Value::Nil),
                    "true" => Ok(Value::Bool(true)),
                    "false" => Ok(Value::Bool(false)),
                    word => Ok(number(word.as_bytes()).unwrap_or_else(|| Value::text(word))),
                }
            }
        }
    }

    /// A text in quotes; a backslash takes the next character as it is.
    fn quoted(&mut self) -> Result<Value, String> {
        let mut text = String::new();
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 2;
                    return Ok(Value::text(text));
                }
                '\\' => text.extend(chars.next().map(|(_, c)| c)),
                c => text.push(c),
            }
        }
        Err(format!("expected \" at the end of {:?}", &self.text[self.at..]))
    }
}
