//! Formats numbers, durations and texts for people.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `12,345 operations`, `1 operation`, `no operations`.
pub fn count(n: u64, one: &str) -> String {
    match n {
        0 => format!("no {one}s"),
        1 => format!("1 {one}"),
        n => format!("{} {one}s", grouped(n)),
    }
}

/// `12,345`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `12.3 s`, `4.5 ms`; less than a microsecond is `0 ms`.
pub fn seconds(seconds: f64) -> String {
    let (amount, unit) = if seconds < 0.9995 { (seconds * 1e3, "ms") } else { (seconds, "s") };
    match amount {
        a if a < 0.001 => format!("0 {unit}"),
        a if a < 0.9995 => format!("{a:.2} {unit}"),
        a if a < 99.95 => format!("{a:.1} {unit}"),
        a => format!("{a:.0} {unit}"),
    }
}

/// A limit as it was given: `5 s`, `1.5 s`, `100 ms`.
pub(crate) fn limit(limit: f64) -> String {
    seconds(limit).replace(".0 ", " ")
}

/// `200 MB`, `1.5 GB`: powers of 1000.
pub fn bytes(bytes: u64) -> String {
    let (mut amount, mut unit) = (bytes as f64, "bytes");
    for next in ["kB", "MB", "GB", "TB"] {
        if amount < 1000.0 {
            break;
        }
        (amount, unit) = (amount / 1000.0, next);
    }
    if amount.fract() < 0.05 {
        format!("{amount:.0} {unit}")
    } else {
        format!("{amount:.1} {unit}")
    }
}

/// The text with everything escaped that could confuse a terminal: control characters, and marks
/// that change the direction of writing.
pub fn clean(text: &str) -> String {
    let risky = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(risky) {
        return text.to_string();
    }
    let mut cleaned = String::new();
    for c in text.chars() {
        if risky(c) { cleaned.extend(c.escape_default()) } else { cleaned.push(c) }
    }
    cleaned
}

/// The text cut to `width` columns; a cut text ends with `mark`.
pub fn cut(text: &str, width: usize, mark: &str) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let room = width.saturating_sub(mark.width());
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        kept.push(c);
    }
    kept + mark
}

/// A space where [`wrap`] does not break the line.
pub(crate) const UNBROKEN: &str = "\u{a0}";

/// The text with non-breaking spaces between backticks, so that calls stay whole.
pub fn unbroken(text: &str) -> String {
    let mut pieces = text.split('`').map(String::from).collect::<Vec<_>>();
    for quoted in pieces.iter_mut().skip(1).step_by(2) {
        *quoted = quoted.replace(' ', UNBROKEN);
    }
    pieces.join("`")
}

/// A sentence for people: very long quotations, and very long texts between them, are cut. A value
/// may have millions of characters.
pub(crate) fn readable(sentence: &str, mark: &str) -> String {
    const LONG: usize = 240;
    let pieces: Vec<String> = sentence.split('`').map(|piece| cut(piece, LONG, mark)).collect();
    pieces.join("`")
}

/// The text broken into lines of at most `width` columns, between words if possible.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.width() + 1 + word.width() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines.iter().map(|line| line.replace(UNBROKEN, " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_durations() {
        assert_eq!(
            [0, 1, 999, 1000, 1234567].map(|n| count(n, "state")),
            ["no states", "1 state", "999 states", "1,000 states", "1,234,567 states"]
        );
        assert_eq!(
            [0.0, 2e-6, 0.0125, 0.99999, 1.0, 61.04, 7200.0].map(seconds),
            ["0 ms", "0.00 ms", "12.5 ms", "1.0 s", "1.0 s", "61.0 s", "7200 s"]
        );
        assert_eq!(
            [7, 2_000, 200_000_000, 4_500_000_000].map(bytes),
            ["7 bytes", "2 kB", "200 MB", "4.5 GB"]
        );
    }

    #[test]
    fn texts_are_cut_by_columns_and_cleaned() {
        assert_eq!(cut("書く書く", 5, "…"), "書く…");
        assert_eq!(cut("abcdef", 6, "…"), "abcdef");
        assert_eq!(cut("abcdefg", 6, "..."), "abc...");
        assert_eq!(clean("a\x1b[31m\nb\u{202e}"), "a\\u{1b}[31m\\nb\\u{202e}");
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    }

    #[test]
    fn a_sentence_about_a_long_value_stays_short() {
        let sentence =
            format!("nothing explains `read() -> {}`: the object is nil", "x".repeat(9999));
        let shown = readable(&sentence, "…");
        assert!(shown.len() < 300 && shown.ends_with("x…`: the object is nil"), "{shown}");
    }
}
