//! The syntax of EDN, as far as histories need it: skipping forms without building them, and
//! values.
//!
//! A [`Cursor`] walks over a slice that may end anywhere: then it returns [`Stop::Incomplete`], and
//! the caller reads more and starts the form again. Commas, comments and `#_` discards are white
//! space; a tag is skipped and its value kept. Keywords keep their colon (`:a` becomes the text
//! `:a`), so that they differ from strings; symbols and characters become texts. Numbers may be of
//! any size, with fractions; ratios are rejected. Sets become sorted lists, maps sorted lists of
//! pairs.
//!
//! Cost: linear. Nesting deeper than [`DEPTH`] is an error.

use memchr::memchr;

use super::lexis::{DEPTH, found, number as number_of, string, text, unescape};
use crate::history::Builder;
use crate::value::Value;

/// Why a form could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The slice ends inside the form, and there is more input.
    Incomplete,
    /// The input is wrong at this offset.
    Bad(usize, String),
}

/// A place in a slice of EDN.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    /// The offset of the next byte.
    pub(crate) at: usize,
    /// True where no input follows the slice.
    last: bool,
}

/// Bytes that end a token.
const ENDS_TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let ends = b" \t\n\r\x0c,()[]{}\";";
    let mut i = 0;
    while i < ends.len() {
        table[ends[i] as usize] = true;
        i += 1;
    }
    table
};

impl<'a> Cursor<'a> {
    /// A cursor at an offset of a slice; `last` if no input follows it.
    pub(crate) fn new(data: &'a [u8], at: usize, last: bool) -> Cursor<'a> {
        Cursor { data, at, last }
    }

    /// Skips white space, comments and discarded forms; returns the next byte, or `None` at the end
    /// of the input.
    #[inline]
    pub(crate) fn next(&mut self, depth: usize) -> Result<Option<u8>, Stop> {
        loop {
            match self.data.get(self.at) {
                Some(b' ' | b',' | b'\n' | b'\t' | b'\r' | b'\x0c') => self.at += 1,
                Some(b';') => match memchr(b'\n', &self.data[self.at..]) {
                    Some(length) => self.at += length + 1,
                    None if self.last => self.at = self.data.len(),
                    None => return Err(Stop::Incomplete),
                },
                Some(b'#') => match self.data.get(self.at + 1) {
                    Some(b'_') => {
                        self.deeper(depth)?;
                        self.at += 2;
                        self.skip(depth + 1)?;
                    }
                    None if !self.last => return Err(Stop::Incomplete),
                    _ => return Ok(Some(b'#')),
                },
                Some(&byte) => return Ok(Some(byte)),
                None if self.last => return Ok(None),
                None => return Err(Stop::Incomplete),
            }
        }
    }

    /// The bytes up to the next delimiter.
    #[inline]
    pub(crate) fn token(&mut self) -> Result<&'a [u8], Stop> {
        let rest = &self.data[self.at..];
        let length = match rest.iter().position(|&b| ENDS_TOKEN[b as usize]) {
            Some(length) => length,
            None if self.last => rest.len(),
            None => return Err(Stop::Incomplete),
        };
        self.at += length;
        Ok(&rest[..length])
    }

    /// Passes one form and gives its bytes, from its first to its last.
    #[inline]
    pub(crate) fn form(&mut self, depth: usize) -> Result<&'a [u8], Stop> {
        // Nearly all forms are one token behind at most one blank.
        if self.data.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        if let Some(b'0'..=b'9' | b':' | b'-' | b'a'..=b'z') = self.data.get(self.at) {
            return self.token();
        }
        self.next(depth)?;
        let from = self.at;
        self.skip(depth)?;
        Ok(&self.data[from..self.at])
    }

    /// An error here that says what was found.
    pub(crate) fn bad<T>(&self, expected: &str) -> Result<T, Stop> {
        let what = match self.data.get(self.at..) {
            None | Some([]) => "the end of the input".to_string(),
            Some(rest) => found(rest),
        };
        Err(Stop::Bad(self.at, format!("found {what}: expected {expected}")))
    }

    /// Passes one form without building it.
    fn skip(&mut self, depth: usize) -> Result<(), Stop> {
        match self.next(depth)? {
            None => self.bad("a value"),
            Some(b'"') => {
                let from = self.at;
                let string = string(&self.data[from + 1..]);
                self.close_string(from, string).map(|_| ())
            }
            Some(b'[') => self.skip_all(b']', depth).map(|_| ()),
            Some(b'(') => self.skip_all(b')', depth).map(|_| ()),
            Some(b'{') => {
                let from = self.at;
                if self.skip_all(b'}', depth)? % 2 == 1 {
                    self.at = from;
                    return self.bad("a value for every key of the map");
                }
                Ok(())
            }
            Some(b'#') => {
                self.at += 1;
                self.deeper(depth)?;
                match self.data.get(self.at) {
                    Some(b'{') => self.skip_all(b'}', depth + 1).map(|_| ()),
                    None if !self.last => Err(Stop::Incomplete),
                    _ => {
                        self.tag()?;
                        self.skip(depth + 1)
                    }
                }
            }
            Some(b'\\') => self.character().map(|_| ()),
            Some(_) => match self.token()? {
                [] => self.bad("a value"),
                _ => Ok(()),
            },
        }
    }

    /// Passes a bracket, forms and the closing bracket; the number of forms.
    fn skip_all(&mut self, close: u8, depth: usize) -> Result<usize, Stop> {
        self.deeper(depth)?;
        self.at += 1;
        let mut count = 0;
        loop {
            match self.next(depth + 1)? {
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(count);
                }
                Some(b']' | b')' | b'}') | None => return self.unclosed(close),
                Some(_) => self.skip(depth + 1)?,
            }
            count += 1;
        }
    }

    /// One form as a value. Texts are interned in the builder.
    pub(crate) fn value(&mut self, depth: usize, builder: &mut Builder) -> Result<Value, Stop> {
        Ok(match self.next(depth)? {
            None => return self.bad("a value"),
            Some(b'"') => {
                let from = self.at;
                let string = string(&self.data[from + 1..]);
                let body = self.close_string(from, string)?;
                if memchr(b'\\', body).is_none() {
                    return Ok(builder.text(text(body)));
                }
                let mut decoded = String::new();
                if let Err(offset) = unescape(body, &mut decoded) {
                    self.at = from + 1 + offset;
                    return self.bad("an escape such as \\n, \\\" or \\u00e4");
                }
                builder.text(&decoded)
            }
            Some(b'[') => Value::list(self.values(b']', depth, builder)?),
            Some(b'(') => Value::list(self.values(b')', depth, builder)?),
            Some(b'{') => {
                let from = self.at;
                let items = self.values(b'}', depth, builder)?;
                if items.len() % 2 == 1 {
                    self.at = from;
                    return self.bad("a value for every key of the map");
                }
                let mut pairs: Vec<Value> =
                    items.chunks(2).map(|pair| Value::list(pair.iter().cloned())).collect();
                pairs.sort();
                Value::list(pairs)
            }
            Some(b'#') => {
                self.at += 1;
                self.deeper(depth)?;
                match self.data.get(self.at) {
                    Some(b'{') => {
                        let mut items = self.values(b'}', depth + 1, builder)?;
                        items.sort();
                        Value::list(items)
                    }
                    None if !self.last => return Err(Stop::Incomplete),
                    _ => {
                        self.tag()?;
                        self.value(depth + 1, builder)?
                    }
                }
            }
            Some(b'\\') => {
                let c = self.character()?;
                builder.text(c.encode_utf8(&mut [0; 4]))
            }
            Some(_) => {
                let from = self.at;
                let token = self.token()?;
                match scalar(token, builder) {
                    Some(value) => value,
                    None => {
                        self.at = from;
                        return self.bad(match token.iter().any(u8::is_ascii_digit) {
                            true => "a value; a number is one such as 5, -1.5 or 1e9, no ratio",
                            false => "a value",
                        });
                    }
                }
            }
        })
    }

    fn values(
        &mut self,
        close: u8,
        depth: usize,
        builder: &mut Builder,
    ) -> Result<Vec<Value>, Stop> {
        self.deeper(depth)?;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            match self.next(depth + 1)? {
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(items);
                }
                Some(b']' | b')' | b'}') | None => return self.unclosed(close),
                Some(_) => items.push(self.value(depth + 1, builder)?),
            }
        }
    }

    fn deeper(&self, depth: usize) -> Result<(), Stop> {
        if depth < DEPTH {
            return Ok(());
        }
        self.bad(&format!("at most {DEPTH} levels of nesting"))
    }

    fn unclosed<T>(&self, close: u8) -> Result<T, Stop> {
        self.bad(&format!("a value or `{}`", char::from(close)))
    }

    fn tag(&mut self) -> Result<(), Stop> {
        match self.token()? {
            [] => self.bad("a tag behind `#`"),
            _ => Ok(()),
        }
    }

    fn close_string(
        &mut self,
        from: usize,
        string: Option<(&'a [u8], usize)>,
    ) -> Result<&'a [u8], Stop> {
        match string {
            Some((body, length)) => {
                self.at = from + 1 + length;
                Ok(body)
            }
            None if !self.last => Err(Stop::Incomplete),
            None => self.bad("a closing quote"),
        }
    }

    /// A character such as `\a`, `\newline` or `\u00e4`.
    fn character(&mut self) -> Result<char, Stop> {
        let from = self.at;
        self.at += 1;
        // The character itself may be a delimiter.
        let Some(first) = self.data[self.at..].first() else {
            return if self.last {
                self.bad("a character behind `\\`")
            } else {
                Err(Stop::Incomplete)
            };
        };
        if first.is_ascii() {
            self.at += 1;
        }
        self.token()?;
        let name = text(&self.data[from + 1..self.at]);
        let c = match name {
            "newline" => '\n',
            "return" => '\r',
            "space" => ' ',
            "tab" => '\t',
            "formfeed" => '\u{c}',
            "backspace" => '\u{8}',
            _ => {
                let mut chars = name.chars();
                let code = || u32::from_str_radix(name.strip_prefix('u')?, 16).ok();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => c,
                    _ => match code().and_then(char::from_u32) {
                        Some(c) => c,
                        None => {
                            self.at = from;
                            return self.bad("a character such as \\a or \\newline");
                        }
                    },
                }
            }
        };
        Ok(c)
    }
}

/// A token as a value; `None` if it is not one.
fn scalar(token: &[u8], builder: &mut Builder) -> Option<Value> {
    let is_number = match token {
        [] => return None,
        [b'0'..=b'9', ..] | [b'-' | b'+', b'0'..=b'9', ..] => true,
        _ => false,
    };
    if is_number {
        // The suffixes of exact numbers in Clojure: 5N is a whole one, 1.5M a decimal one.
        let suffix = token.strip_suffix(b"N").or_else(|| token.strip_suffix(b"M"));
        return number_of(suffix.unwrap_or(token));
    }
    match token {
        b"nil" => Some(Value::Nil),
        b"true" => Some(Value::Bool(true)),
        b"false" => Some(Value::Bool(false)),
        _ => Some(builder.text(text(token))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expect: &str) {
        let mut builder = Builder::new();
        let read = Cursor::new(input.as_bytes(), 0, true).value(0, &mut builder);
        let shown = match &read {
            Ok(value) => value.to_string(),
            Err(Stop::Bad(at, message)) => format!("{at}: {message}"),
            Err(Stop::Incomplete) => "incomplete".to_string(),
        };
        assert_eq!(shown, expect);
        // Skipping accepts whatever reading accepts, and ends at the same place.
        if read.is_ok() {
            let mut reads = Cursor::new(input.as_bytes(), 0, true);
            let mut skips = reads.clone();
            reads.value(0, &mut builder).unwrap();
            skips.skip(0).unwrap();
            assert_eq!(reads.at, skips.at);
        }
    }

    #[test]
    fn values() {
        check("12", "12");
        check("-12N", "-12");
        check("99999999999999999999N", "99999999999999999999");
        check("1.5e3", "1500");
        check("1.50M", "1.5");
        check("-0.5", "-0.5");
        let number = "a value; a number is one such as 5, -1.5 or 1e9, no ratio";
        check("1/2", &format!("0: found `1/2`: expected {number}"));
        check("12ab", &format!("0: found `12ab`: expected {number}"));
        check("nil", "nil");
        check("true", "true");
        check(":a/b", "\":a/b\"");
        check("sym", "sym");
        check(r#""a\n\u00e4""#, r#""a\nä""#);
        check(r#""a\q""#, r#"2: found `\q"`: expected an escape such as \n, \" or \u00e4"#);
        check(r"[\a \newline \( \u00e4 \ä]", r#"[a "\n" "(" ä ä]"#);
        check("[1, (2 3) #{5 4} {:b 1 :a 2}]", "[1 [2 3] [4 5] [[\":a\" 2] [\":b\" 1]]]");
        check("#inst \"2020\"", "\"2020\"");
        check("#foo/bar [1 #_ 2 #_#_ 3 4 5] ", "[1 5]");
        check("; note\n 7", "7");
        check("{:a}", "0: found `{:a}`: expected a value for every key of the map");
        check("[1 2)", "4: found `)`: expected a value or `]`");
        check("[1 2", "4: found the end of the input: expected a value or `]`");
        check("\"abc", "0: found `\"abc`: expected a closing quote");
        check("#", "1: found the end of the input: expected a tag behind `#`");
        check("]", "0: found `]`: expected a value");
    }

    #[test]
    fn deep_nesting_is_an_error() {
        for open in ["[", "(", "{", "#{", "#a ", "#_", "#_ #_ [", "[#_"] {
            let input = open.repeat(100_000);
            for skip in [false, true] {
                let mut cursor = Cursor::new(input.as_bytes(), 0, true);
                let result = match skip {
                    true => cursor.skip(0),
                    false => cursor.value(0, &mut Builder::new()).map(|_| ()),
                };
                match result {
                    Err(Stop::Bad(_, message)) => {
                        assert!(message.ends_with("at most 64 levels of nesting"), "{message}");
                    }
                    other => panic!("{open}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_cut_form_is_incomplete_and_never_misread() {
        let input =
            r#"[1 23 :key "a\"b" #{1 2} #tag {:x \newline} #_ 4 ; note"#.to_string() + "\n nil]";
        for cut in 0..input.len() {
            let mut cursor = Cursor::new(&input.as_bytes()[..cut], 0, false);
            assert_eq!(cursor.form(0), Err(Stop::Incomplete), "{}", &input[..cut]);
        }
    }
}
