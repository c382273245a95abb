//! How far out of order each method may be: `deq=2`, `deq=?`, `enq=1,deq=2`.

use std::fmt;
use std::str::FromStr;

use crate::error::ParseError;

/// A bound, or the question for the least bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Factor {
    /// At most this many places.
    AtMost(u32),
    /// The least that explains the history.
    Least,
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Factor::AtMost(places) => write!(f, "{places}"),
            Factor::Least => f.write_str("?"),
        }
    }
}

/// Factors by method. A method that is not named has the factor 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Factors(Vec<(String, Factor)>);

impl Factors {
    /// The factor of one method.
    pub fn of(method: impl Into<String>, factor: Factor) -> Factors {
        Factors(vec![(method.into(), factor)])
    }

    /// Methods and their factors, as they were given.
    pub fn given(&self) -> &[(String, Factor)] {
        &self.0
    }
}

impl FromStr for Factors {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Factors, ParseError> {
        let mut factors: Vec<(String, Factor)> = Vec::new();
        for part in text.split(',') {
            let expected = || {
                let found = part.trim();
                let message = format!(
                    "expected a method, = and a number or ?: deq=2, deq=?; found {found:?}"
                );
                ParseError::from(message)
            };
            let (method, factor) = part.split_once('=').ok_or_else(expected)?;
            let (method, factor) = (method.trim(), factor.trim());
            let factor = match factor {
                "?" => Factor::Least,
                number => Factor::AtMost(number.parse().map_err(|_| expected())?),
            };
            if method.is_empty() {
                return Err(expected());
            }
            if factors.iter().any(|(known, _)| known == method) {
                return Err(format!("the factor of {method} is given twice").into());
            }
            factors.push((method.to_string(), factor));
        }
        if factors.iter().filter(|f| f.1 == Factor::Least).count() > 1 {
            return Err("the least factor can be asked for one method only".into());
        }
        Ok(Factors(factors))
    }
}

impl fmt::Display for Factors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (method, factor)) in self.0.iter().enumerate() {
            write!(f, "{}{method}={factor}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_read_and_written() {
        for text in ["deq=2", "deq=?", "enq=1,deq=2"] {
            assert_eq!(text.parse::<Factors>().unwrap().to_string(), text);
        }
        for (text, expect) in [
            ("deq", "expected a method, = and a number or ?: deq=2, deq=?; found \"deq\""),
            ("deq=-1", "expected a method, = and a number or ?: deq=2, deq=?; found \"deq=-1\""),
            ("=1", "expected a method, = and a number or ?: deq=2, deq=?; found \"=1\""),
            ("deq=1,deq=2", "the factor of deq is given twice"),
            ("deq=?,enq=?", "the least factor can be asked for one method only"),
        ] {
            assert_eq!(text.parse::<Factors>().unwrap_err(), expect.into());
        }
    }
}
