//! Shared by the small formats: quoting what was found, numbers, words, and escapes in strings.

use crate::decimal::Decimal;
use crate::history::Builder;
use crate::value::Value;

/// The longest stretch of input that a message repeats, in characters.
const SHOWN: usize = 40;
/// A parser can build [`found`] from this many bytes, whatever follows.
pub(crate) const LOOKAHEAD: usize = 4 * (SHOWN + 2);
/// The deepest nesting of lists in a value.
pub(crate) const DEPTH: usize = 64;

/// The text here, for error messages: up to the end of the line, cut if it is long, in backquotes.
pub(crate) fn found(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(LOOKAHEAD)];
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    if text.is_empty() {
        return if line.len() < bytes.len() { "the end of the line" } else { "the end" }
            .to_string();
    }
    let mut shown: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('\u{2026}');
    }
    format!("`{shown}`")
}

/// Bytes that [`Source`](super::source::Source) validated, cut at ASCII characters.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("a source shows valid UTF-8, and it was cut at ASCII")
}

/// A whole number that fits, with an optional sign.
#[inline]
pub(crate) fn int(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, bytes),
    };
    if digits.is_empty() {
        return None;
    }
    let mut n: i64 = 0;
    if digits.len() <= 18 {
        for &d in digits {
            if !d.is_ascii_digit() {
                return None;
            }
            n = 10 * n + i64::from(d - b'0');
        }
        return Some(if negative { -n } else { n });
    }
    for &d in digits {
        if !d.is_ascii_digit() {
            return None;
        }
        // Counting down reaches the least number too.
        n = n.checked_mul(10)?.checked_sub(i64::from(d - b'0'))?;
    }
    if negative { Some(n) } else { n.checked_neg() }
}

/// A number of any size, with a fraction and an exponent if need be.
pub(crate) fn number(bytes: &[u8]) -> Option<Value> {
    match bytes {
        [b'0'..=b'9', ..] | [b'-' | b'+', b'0'..=b'9', ..] => {
            int(bytes).map(Value::Int).or_else(|| Decimal::parse(bytes))
        }
        _ => None,
    }
}

/// A value in the notation of [`Value`]'s `Display`: `5`, `9.5`, `abc`, `"a b"`, `[1 2]`, `nil`,
/// `true`. Anything else, such as `?<1,0>`, is a text.
pub(crate) fn word(bytes: &[u8], builder: &mut Builder) -> Value {
    if let Some(n) = number(bytes) {
        return n;
    }
    match bytes {
        b"nil" | b"null" => Value::Nil,
        b"true" => Value::Bool(true),
        b"false" => Value::Bool(false),
        _ => {
            let mut rest = bytes;
            match notation(&mut rest, builder, 0) {
                Some(value) if rest.is_empty() => value,
                _ => builder.text(text(bytes)),
            }
        }
    }
}

/// One value in brackets or quotes, or a bare item of a list; `None` if the notation does not
/// apply.
fn notation(rest: &mut &[u8], builder: &mut Builder, depth: usize) -> Option<Value> {
    match *rest.first()? {
        b'"' => {
            let (body, length) = string(&rest[1..])?;
            let mut decoded = String::new();
            unescape(body, &mut decoded).ok()?;
            *rest = &rest[1 + length..];
            Some(builder.text(&decoded))
        }
        b'[' if depth < DEPTH => {
            *rest = &rest[1..];
            let mut items = Vec::new();
            loop {
                *rest = rest.trim_ascii_start();
                if let [b']', after @ ..] = *rest {
                    *rest = after;
                    return Some(Value::list(items));
                }
                items.push(notation(rest, builder, depth + 1)?);
            }
        }
        b'[' => None,
        _ => {
            let end = rest.iter().position(|b| b" \t[]\"".contains(b)).unwrap_or(rest.len());
            let (item, after) = rest.split_at(end);
            if item.is_empty() {
                return None;
            }
            *rest = after;
            Some(match item {
                b"nil" | b"null" => Value::Nil,
                b"true" => Value::Bool(true),
                b"false" => Value::Bool(false),
                _ => number(item).unwrap_or_else(|| builder.text(text(item))),
            })
        }
    }
}

/// Writes a value so that [`word`] reads it back and no format misreads its characters.
pub(crate) fn write_word(value: &Value, out: &mut String) {
    use std::fmt::Write;
    match value {
        Value::Text(text) if !is_bare(text) => quote(text, out),
        Value::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                write_word(item, out);
            }
            out.push(']');
        }
        _ => write!(out, "{value}").expect("writing to a string"),
    }
}

/// A text that needs no quotes in any format.
fn is_bare(text: &str) -> bool {
    text.is_ascii() && crate::value::is_plain_word(text) && text != "empty"
}

/// A text in quotes, with the escapes of JSON, which are also those of EDN.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The inside of a string and its length with the closing quote; the input starts after the opening
/// one. `None` if there is no closing quote.
#[inline]
pub(crate) fn string(bytes: &[u8]) -> Option<(&[u8], usize)> {
    // Most strings are short: a loop beats setting up a search.
    let mut i = bytes.iter().take(16).take_while(|&&b| b != b'"' && b != b'\\').count();
    loop {
        if bytes.get(i) != Some(&b'"') {
            i += memchr::memchr2(b'"', b'\\', &bytes[i..])?;
        }
        if bytes[i] == b'"' {
            return Some((&bytes[..i], i + 1));
        }
        i += 2;
        if i > bytes.len() {
            return None;
        }
    }
}

/// Replaces the escapes in the inside of a string. The error is the offset of a bad one.
pub(crate) fn unescape(body: &[u8], out: &mut String) -> Result<(), usize> {
    let mut i = 0;
    while let Some(next) = memchr::memchr(b'\\', &body[i..]) {
        out.push_str(text(&body[i..i + next]));
        i += next;
        let simple = match body.get(i + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let (c, length) = unicode(&body[i..]).ok_or(i)?;
                out.push(c);
                i += length;
                continue;
            }
            _ => return Err(i),
        };
        out.push(simple);
        i += 2;
    }
    out.push_str(text(&body[i..]));
    Ok(())
}

/// `\uXXXX`, or two of them that make one character.
fn unicode(bytes: &[u8]) -> Option<(char, usize)> {
    let first = unit(bytes)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c, 6));
    }
    let second = unit(bytes.get(6..)?)?;
    if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
        return None;
    }
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)).map(|c| (c, 12))
}

fn unit(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |n, &d| Some(16 * n + char::from(d).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_the_limits() {
        for n in [0, 7, -7, i64::MAX, i64::MIN, 999_999_999_999_999_999] {
            assert_eq!(int(n.to_string().as_bytes()), Some(n));
        }
        assert_eq!(int(b"+5"), Some(5));
        assert_eq!(int(b"00000000000000000000005"), Some(5));
        for bad in ["", "-", "+", "1x", "9223372036854775808", "-9223372036854775809", "1.5"] {
            assert_eq!(int(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn words_read_back() {
        let mut builder = Builder::new();
        let values = [
            Value::Nil,
            true.into(),
            (-3).into(),
            "abc".into(),
            "".into(),
            "empty".into(),
            "a b,(c)*/\"\\\n\u{e4}\u{1}".into(),
            "12".into(),
            "1.5".into(),
            number(b"1.5").unwrap(),
            number(b"-18446744073709551616").unwrap(),
            number(b"1.5e400").unwrap(),
            Value::list([1.into(), Value::list([]), "x y".into(), Value::Nil]),
        ];
        for value in values {
            let mut written = String::new();
            write_word(&value, &mut written);
            assert_eq!(word(written.as_bytes(), &mut builder), value, "{written}");
        }
        assert_eq!(word(b"?<1,0>", &mut builder), "?<1,0>".into());
        assert_eq!(word(b"[1 2", &mut builder), "[1 2".into());
        let deep = "[".repeat(100_000);
        assert_eq!(word(deep.as_bytes(), &mut builder), deep.as_str().into());
    }

    #[test]
    fn escapes() {
        let decoded = |body: &str| {
            let mut out = String::new();
            unescape(body.as_bytes(), &mut out).map(|()| out)
        };
        assert_eq!(decoded(r#"a\n\"\u00e4\ud83d\ude00/"#).as_deref(), Ok("a\n\"\u{e4}\u{1f600}/"));
        assert_eq!(decoded(r"ab\x"), Err(2));
        assert_eq!(decoded(r"\ud83d"), Err(0));
        assert_eq!(decoded(r"\ud83dx\ude00"), Err(0));
        assert_eq!(decoded(r"\u12"), Err(0));
        assert_eq!(decoded(r"\"), Err(0));
    }

    #[test]
    fn found_is_short_and_one_line() {
        assert_eq!(found(b"abc def\nnext"), "`abc def`");
        assert_eq!(found(b" \nnext"), "the end of the line");
        assert_eq!(found(b""), "the end");
        assert_eq!(
            found("\u{e4}".repeat(99).as_bytes()),
            format!("`{}\u{2026}`", "\u{e4}".repeat(40))
        );
    }
}
