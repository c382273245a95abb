//! The values that operations carry: arguments, results, keys and process names.
//!
//! A [`Value`] is 16 bytes, so that a history of millions of operations stays small: integers are
//! inline, texts and lists are behind one shared pointer, and readers intern them so that equal
//! texts are stored once.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::decimal::Decimal;

/// A value of a history file.
///
/// The order (`Ord`) is nil, booleans, numbers by size, texts, lists. Priority queues use it for
/// numbers and texts.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub enum Value {
    /// Nothing: no argument, no result, an empty container, an unset register.
    #[default]
    Nil,
    /// A truth value.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// Any other number: a fraction, or an integer that is too large. No number has two forms, so
    /// that equality and hashing need no arithmetic.
    Decimal(Arc<Decimal>),
    /// A string, keyword or symbol.
    Text(Arc<String>),
    /// A sequence of values.
    List(Arc<Vec<Value>>),
}

impl Value {
    /// A text value.
    pub fn text(text: impl Into<String>) -> Value {
        Value::Text(Arc::new(text.into()))
    }

    /// A list value.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
        Value::List(Arc::new(items.into_iter().collect()))
    }

    /// The number, if this is a whole one of 64 bits.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The boolean, if this is one; `0` and `1` count, because several formats write them.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            Value::Int(0) => Some(false),
            Value::Int(1) => Some(true),
            _ => None,
        }
    }

    /// The text, if this is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if this is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// Whether equal texts mean equal values: for numbers, booleans, and lists of these. The text
    /// `1` looks like the number.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Value::Bool(_) | Value::Int(_) => true,
            Value::List(items) => {
                items.iter().all(|item| matches!(item, Value::Bool(_) | Value::Int(_)))
            }
            _ => false,
        }
    }

    /// True for [`Value::Nil`].
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil)
    }

    /// The rank of its type in the order of all values.
    fn rank(&self) -> u8 {
        match self {
            Value::Nil => 0,
            Value::Bool(_) => 1,
            Value::Int(_) | Value::Decimal(_) => 2,
            Value::Text(_) => 3,
            Value::List(_) => 4,
        }
    }

    /// The type of this value, for error messages: `a number`, `a text`.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Bool(_) => "a truth value",
            Value::Int(_) | Value::Decimal(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
            (Value::Decimal(a), Value::Int(b)) => a.cmp_int(*b),
            (Value::Int(a), Value::Decimal(b)) => b.cmp_int(*a).reverse(),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::List(a), Value::List(b)) => a.cmp(b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Int(n)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::text(text)
    }
}

/// Numbers and plain words bare, other texts quoted, lists in brackets: `[1 two "3 4"]`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("nil"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(n) => write!(f, "{n}"),
            Value::Decimal(n) => write!(f, "{n}"),
            Value::Text(text) if is_plain_word(text) => f.write_str(text),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(" ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that reads back as a text when written without quotes.
pub(crate) fn is_plain_word(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        && !matches!(text, "nil" | "null" | "true" | "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_sixteen_bytes() {
        assert_eq!(size_of::<Value>(), 16);
        assert_eq!(size_of::<Option<Value>>(), 16);
    }

    #[test]
    fn display_quotes_only_what_would_not_read_back() {
        let shown = Value::list([1.into(), "two".into(), "3 4".into(), "nil".into(), Value::Nil]);
        assert_eq!(shown.to_string(), r#"[1 two "3 4" "nil" nil]"#);
    }
}
