//! Numbers that are not 64-bit integers: fractions, and integers of any size.
//!
//! A [`Decimal`] is stored as its significant digits and an exponent, so that it is compared
//! exactly and never rounded. Equal numbers have equal forms: `1.50` is `1.5`, and a 64-bit integer
//! (`1.0`, `1e3`) is an [`Int`](crate::Value::Int), never a `Decimal`. Cost: linear in the number
//! of digits, whatever the exponent.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::value::Value;

/// The largest exponent in either direction. Nobody records numbers beyond it.
const MOST: i64 = 1_000_000_000_000_000_000;
/// Up to this many digits are shown before or after the point; other numbers are shown with an
/// exponent.
const SHOWN: i64 = 40;

/// A number that does not fit [`Value::Int`]. Ordered by size.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Decimal {
    negative: bool,
    /// The position of the point, counted from the first digit: the number is `0.digits *
    /// 10^point`.
    point: i64,
    /// Digits as text, the first and the last of which are not 0.
    digits: Box<str>,
}

impl Decimal {
    /// Reads a number: a sign, digits, a fraction and an exponent, of which only the digits are
    /// required. `None` if the text is not a number, or its exponent is out of range.
    pub(crate) fn parse(text: &[u8]) -> Option<Value> {
        let (negative, rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let (whole, rest) = split_digits(rest);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => split_digits(rest),
            _ => (&b""[..], rest),
        };
        if whole.is_empty() || (text.contains(&b'.') && fraction.is_empty()) {
            return None;
        }
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', exponent @ ..] => parse_exponent(exponent)?,
            _ => return None,
        };
        let all = [whole, fraction].concat();
        let zeros = all.iter().take_while(|&&d| d == b'0').count();
        let digits = std::str::from_utf8(&all[zeros..]).ok()?.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Value::Int(0));
        }
        let point = exponent + whole.len() as i64 - zeros as i64;
        let decimal = Decimal { negative, point, digits: digits.into() };
        Some(match decimal.to_int() {
            Some(n) => Value::Int(n),
            None => Value::Decimal(Arc::new(decimal)),
        })
    }

    /// The 64-bit integer that it equals, if there is one: then it must not stay a decimal.
    fn to_int(&self) -> Option<i64> {
        let length = self.digits.len() as i64;
        if !(length..=19).contains(&self.point) {
            return None;
        }
        let digits: i128 = self.digits.parse().ok()?;
        let size = digits * 10i128.pow((self.point - length) as u32);
        i64::try_from(if self.negative { -size } else { size }).ok()
    }

    /// The decimal that a whole number would be, for comparisons; 0 has no digits.
    fn of_int(n: i64) -> Decimal {
        let all = n.unsigned_abs().to_string();
        let point = if n == 0 { i64::MIN } else { all.len() as i64 };
        Decimal { negative: n < 0, point, digits: all.trim_end_matches('0').into() }
    }

    /// How it compares with a whole number. Never equal.
    pub(crate) fn cmp_int(&self, n: i64) -> Ordering {
        self.cmp(&Decimal::of_int(n))
    }
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len()))
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (size <= MOST).then_some(if negative { -size } else { size })
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        // Digits do not end in 0, so of two with a common prefix the longer one is larger, as with
        // texts.
        let size = |a: &Decimal, b: &Decimal| (a.point, &*a.digits).cmp(&(b.point, &*b.digits));
        match (self.negative, other.negative) {
            (false, false) => size(self, other),
            (true, true) => size(other, self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `9.5`, `18446744073709551616`, `-0.001`, `1.5e400`: every format of numbers reads it back.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        let (digits, length) = (&*self.digits, self.digits.len() as i64);
        match self.point {
            point if !(-SHOWN..=SHOWN).contains(&point) => {
                let (first, rest) = digits.split_at(1);
                let dot = if rest.is_empty() { "" } else { "." };
                write!(f, "{first}{dot}{rest}e{}", point - 1)
            }
            point if point >= length => {
                write!(f, "{digits}{}", "0".repeat((point - length) as usize))
            }
            point if point > 0 => {
                let (whole, fraction) = digits.split_at(point as usize);
                write!(f, "{whole}.{fraction}")
            }
            point => write!(f, "0.{}{digits}", "0".repeat(-point as usize)),
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Value {
        Decimal::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text} is a number"))
    }

    #[test]
    fn numbers_are_ordered_by_size_whatever_their_form() {
        let ascending = [
            "-1e400",
            "-18446744073709551616",
            "-9223372036854775809",
            "-9223372036854775808",
            "-10.5",
            "-9.5",
            "-1",
            "-0.25",
            "-0.001",
            "0",
            "1e-400",
            "0.09",
            "0.1",
            "1",
            "9",
            "9.5",
            "10",
            "10.5",
            "9223372036854775807",
            "9223372036854775807.5",
            "9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "1e400",
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(number(a).cmp(&number(b)), i.cmp(&j), "{a} {b}");
            }
        }
    }

    #[test]
    fn equal_numbers_have_one_form_and_read_back() {
        for (text, shown) in [
            ("1.0", "1"),
            ("1e3", "1000"),
            ("-0.0", "0"),
            ("1.50", "1.5"),
            ("+00012.250e1", "122.5"),
            ("9223372036854775808", "9223372036854775808"),
            ("-9223372036854775808.0", "-9223372036854775808"),
            ("100e-4", "0.01"),
            ("15e399", "1.5e400"),
            ("1e-400", "1e-400"),
            ("12e30", "12000000000000000000000000000000"),
        ] {
            assert_eq!(number(text).to_string(), shown);
            assert_eq!(number(shown), number(text));
        }
        let is_int = |text| matches!(number(text), Value::Int(_));
        assert!(is_int("1.0") && is_int("-9223372036854775808") && !is_int("9223372036854775808"));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            "-",
            ".5",
            "5.",
            "1e",
            "1e+",
            "1x",
            "0x10",
            "1/2",
            "1.5M",
            "1e1000000000000000001",
            "e5",
        ] {
            assert_eq!(Decimal::parse(text.as_bytes()), None, "{text}");
        }
    }
}
