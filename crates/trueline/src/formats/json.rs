//! The syntax of JSON within one line: a cursor over bytes, values without objects.
//!
//! Numbers may be of any size, with fractions. Objects as values are an error, as is nesting deeper
//! than [`DEPTH`]. Cost: linear, without allocation for numbers and for texts that were met before.

use super::lexis::{DEPTH, found, int, number, string, text, unescape};
use crate::history::Builder;
use crate::value::Value;

/// The error, and its offset.
pub(crate) type Bad = (usize, String);

/// A place in a line of JSON.
pub(crate) struct Json<'a> {
    line: &'a [u8],
    /// The offset of the next byte.
    pub(crate) at: usize,
}

impl<'a> Json<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Json<'a> {
        Json { line, at: 0 }
    }

    /// Passes blanks; the byte behind them.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u8> {
        while let Some(&byte) = self.line.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Passes this byte if it is next.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let eaten = self.next() == Some(byte);
        self.at += usize::from(eaten);
        eaten
    }

    /// Passes this byte, which must be next.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, what: &str) -> Result<(), Bad> {
        if self.eat(byte) { Ok(()) } else { self.bad(what) }
    }

    /// An error here that says what was found.
    pub(crate) fn bad<T>(&self, expected: &str) -> Result<T, Bad> {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let what = if rest.is_empty() { "the end of the line".to_string() } else { found(rest) };
        Err((self.at, format!("found {what}: expected {expected}")))
    }

    /// The inside of a string, escapes and all.
    #[inline]
    pub(crate) fn raw_string(&mut self, expected: &str) -> Result<&'a [u8], Bad> {
        if self.next() != Some(b'"') {
            return self.bad(expected);
        }
        match string(&self.line[self.at + 1..]) {
            Some((body, length)) => {
                self.at += 1 + length;
                Ok(body)
            }
            None => self.bad("a closing quote"),
        }
    }

    /// A string with its escapes replaced.
    pub(crate) fn string(&mut self, expected: &str) -> Result<String, Bad> {
        self.next();
        let from = self.at;
        let body = self.raw_string(expected)?;
        self.decode(from, body)
    }

    /// A value; texts are interned in the builder.
    pub(crate) fn value(&mut self, builder: &mut Builder, depth: usize) -> Result<Value, Bad> {
        match self.next() {
            Some(b'"') => {
                let from = self.at;
                let body = self.raw_string("a text")?;
                if memchr::memchr(b'\\', body).is_none() {
                    return Ok(builder.text(text(body)));
                }
                let decoded = self.decode(from, body)?;
                Ok(builder.text(&decoded))
            }
            Some(b'[') => self.values(builder, depth).map(Value::list),
            Some(b'{') => {
                self.bad("a number, a text, a list, true, false or null (objects are no values)")
            }
            _ => {
                let from = self.at;
                let token = self.token();
                if let [b'1'..=b'9', ..] | [b'0'] = token
                    && let Some(n) = int(token)
                {
                    return Ok(Value::Int(n));
                }
                match token {
                    b"null" => Ok(Value::Nil),
                    b"true" => Ok(Value::Bool(true)),
                    b"false" => Ok(Value::Bool(false)),
                    _ if !is_number(token) => {
                        self.at = from;
                        self.bad("a number, a text, a list, true, false or null")
                    }
                    _ => match number(token) {
                        Some(number) => Ok(number),
                        None => {
                            self.at = from;
                            self.bad("a number whose exponent has at most 18 digits")
                        }
                    },
                }
            }
        }
    }

    /// The values of a list; the cursor stands at its bracket.
    pub(crate) fn values(
        &mut self,
        builder: &mut Builder,
        depth: usize,
    ) -> Result<Vec<Value>, Bad> {
        self.deeper(depth)?;
        self.expect(b'[', "a list")?;
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(items);
        }
        loop {
            items.push(self.value(builder, depth + 1)?);
            if self.eat(b']') {
                return Ok(items);
            }
            self.expect(b',', "`,` or `]`")?;
        }
    }

    /// Passes a value of any kind.
    pub(crate) fn skip_number(&mut self, depth: usize) -> Result<Option<i64>, Bad> {
        self.next();
        let from = self.at;
        self.skip(depth)?;
        Ok(text(&self.line[from..self.at]).trim().parse().ok())
    }

    /// Passes a value of any kind.
    pub(crate) fn skip(&mut self, depth: usize) -> Result<(), Bad> {
        match self.next() {
            Some(b'"') => self.raw_string("a text").map(drop),
            Some(open @ (b'[' | b'{')) => {
                self.deeper(depth)?;
                self.at += 1;
                let close = if open == b'[' { b']' } else { b'}' };
                if self.eat(close) {
                    return Ok(());
                }
                loop {
                    if open == b'{' {
                        self.raw_string("a name in quotes")?;
                        self.expect(b':', "`:`")?;
                    }
                    self.skip(depth + 1)?;
                    if self.eat(close) {
                        return Ok(());
                    }
                    self.expect(b',', if open == b'[' { "`,` or `]`" } else { "`,` or `}`" })?;
                }
            }
            _ => {
                let from = self.at;
                let token = self.token();
                if matches!(token, b"null" | b"true" | b"false") || is_number(token) {
                    return Ok(());
                }
                self.at = from;
                self.bad("a value")
            }
        }
    }

    fn deeper(&self, depth: usize) -> Result<(), Bad> {
        if depth < DEPTH { Ok(()) } else { self.bad(&format!("at most {DEPTH} levels of nesting")) }
    }

    fn decode(&mut self, from: usize, body: &[u8]) -> Result<String, Bad> {
        let mut decoded = String::new();
        match unescape(body, &mut decoded) {
            Ok(()) => Ok(decoded),
            Err(offset) => {
                self.at = from + 1 + offset;
                self.bad("an escape such as \\n, \\\" or \\u00e4")
            }
        }
    }

    #[inline]
    fn token(&mut self) -> &'a [u8] {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let ends = |b: u8| {
            matches!(b, b',' | b']' | b'}' | b':' | b' ' | b'\t' | b'\r' | b'"' | b'[' | b'{')
        };
        let length = rest.iter().position(|&b| ends(b)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
}

/// The grammar of numbers in JSON.
fn is_number(token: &[u8]) -> bool {
    fn digits(rest: &mut &[u8]) -> bool {
        let length = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
        *rest = &rest[length..];
        length > 0
    }
    let mut rest = token.strip_prefix(b"-").unwrap_or(token);
    if rest.first() == Some(&b'0') {
        rest = &rest[1..];
    } else if !digits(&mut rest) {
        return false;
    }
    if let Some(after) = rest.strip_prefix(b".") {
        rest = after;
        if !digits(&mut rest) {
            return false;
        }
    }
    if let [b'e' | b'E', after @ ..] = rest {
        rest = match after {
            [b'+' | b'-', after @ ..] => after,
            _ => after,
        };
        if !digits(&mut rest) {
            return false;
        }
    }
    rest.is_empty()
}
