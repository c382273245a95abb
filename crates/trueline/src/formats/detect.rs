//! Recognises formats by their content.
//!
//! The first line that is neither blank nor a comment decides, except that log text may precede the
//! operation lines of a Jepsen log. `calls` and `limo` look alike: a number that calls again means
//! `limo`, and so does a value without parentheses or on the call of a removal. A file without any
//! of these is read as `calls`, which then means the same.

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::calls::{Line, is_removal, parse_line, removals_return};
use super::edn::Cursor;
use super::lexis::int;
use super::{Format, jepsen_log, wing_gong};

/// The format of a history that starts with these bytes; some 64 KiB suffice. `None` if no format
/// fits.
pub fn detect(head: &[u8]) -> Option<Format> {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let valid = std::str::from_utf8(head).map_or_else(|error| error.valid_up_to(), str::len);
    let head = &head[..valid];
    let mut open = false;
    let mut bare = Vec::new();
    let mut first = true;
    let mut at = 0;
    for line in head.split(|&b| b == b'\n') {
        let start = at;
        at += line.len() + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let comment = wing_gong::blank_comments(line, open, &mut bare);
        open = !matches!(comment, wing_gong::Comment::Closed);
        let trimmed = line.trim_ascii();
        if trimmed.is_empty() || (first && bare.trim_ascii().is_empty()) {
            continue;
        }
        if first {
            // Comments of EDN, and of the formats that know `#`, which EDN does not.
            let edn_tag = trimmed.starts_with(b"#") && trimmed.contains(&b'{');
            if trimmed[0] == b';' || (trimmed[0] == b'#' && !edn_tag) {
                continue;
            }
            if let Some(format) = one_line(trimmed, &bare, head, start) {
                return Some(format);
            }
            first = false;
        }
        if jepsen_log::columns(line).is_some() {
            return Some(Format::JepsenLog);
        }
    }
    None
}

/// The format of a file with this as its first line, which starts at an offset.
fn one_line(line: &[u8], bare: &[u8], head: &[u8], start: usize) -> Option<Format> {
    let rest = &head[start..];
    match line[0] {
        b'{' if line[1..].trim_ascii_start().first() == Some(&b'"') => {
            return Some(Format::JsonLines);
        }
        b'{' | b'(' | b'#' => return edn(rest),
        b'[' if line[1..].trim_ascii_start().first().is_none_or(|b| b"{#;(:".contains(b)) => {
            return edn(rest);
        }
        b'[' => {
            return matches!(parse_line(line), Ok(Line::Call(..) | Line::Return(..)))
                .then(|| numbered(head));
        }
        _ => {}
    }
    if [&b"startUpdate!"[..], b"startScan!", b"endUpdate!", b"endScan!"]
        .iter()
        .any(|verb| line.starts_with(verb))
    {
        return Some(Format::SnapshotActions);
    }
    let words: Vec<&[u8]> =
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let is_name = |word: &[u8]| word[0].is_ascii_alphabetic();
    match words.as_slice() {
        [a, b, c, method, value, ..]
            if words.len() <= 6
                && is_name(method)
                && [a, b, c, value].iter().all(|word| int(word).is_some()) =>
        {
            return Some(Format::IntervalsPid);
        }
        [method, numbers @ ..]
            if (3..=4).contains(&numbers.len())
                && is_name(method)
                && numbers.iter().all(|word| int(word).is_some()) =>
        {
            return Some(Format::Intervals);
        }
        _ => {}
    }
    wing_gong::parse(bare).is_ok().then_some(Format::WingGong)
}

/// With or without `:key`, according to the first map of a client; `None` if there is no map.
fn edn(rest: &[u8]) -> Option<Format> {
    let mut at = 0;
    let mut maps = false;
    while let Some(open) = memchr::memchr(b'{', &rest[at..]) {
        at += open + 1;
        let mut cursor = Cursor::new(rest, at, true);
        let (mut client, mut key) = (false, false);
        while let Ok(Some(b':')) = cursor.next(1)
            && let Ok(name) = cursor.token()
            && let Ok(value) = cursor.form(1)
        {
            maps = true;
            client |= name == b":process" && value.first() != Some(&b':');
            key |= name == b":key";
        }
        if client {
            return Some(if key { Format::EdnKv } else { Format::Edn });
        }
        at = at.max(cursor.at.min(rest.len()));
    }
    maps.then_some(Format::Edn)
}

/// Operations or threads.
fn numbered(head: &[u8]) -> Format {
    let mut called = HashSet::<i64, FixedState>::default();
    let mut removals = true;
    // The file's own declaration decides.
    let named = |format: &[u8]| {
        let is = |line: &[u8]| {
            let comment = line.trim_ascii().strip_prefix(b"#").map(<[u8]>::trim_ascii);
            comment
                .and_then(|c| c.strip_prefix(b"@format"))
                .is_some_and(|c| c.trim_ascii() == format)
        };
        head.split(|&b| b == b'\n').take_while(|l| !l.starts_with(b"[")).any(is)
    };
    if named(b"calls") {
        return Format::Calls;
    }
    if named(b"limo") {
        return Format::Limo;
    }
    for line in head.split(|&b| b == b'\n') {
        match parse_line(line.strip_suffix(b"\r").unwrap_or(line)) {
            Ok(Line::Call(number, method, arg)) => {
                let bare = arg.is_some() && !line.trim_ascii_end().ends_with(b")");
                if !called.insert(number)
                    || bare
                    || (removals && arg.is_some() && is_removal(method))
                {
                    return Format::Limo;
                }
            }
            Ok(Line::Object(name)) => removals = removals_return(name),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Format::Calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{ReadOptions, read};

    #[test]
    fn examples_are_recognised_and_read() {
        for &format in Format::ALL {
            let (history, detected) =
                read(format.example().as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(detected, format);
            assert!(!history.is_empty());
            assert_eq!(format.name().parse(), Ok(format));
            assert!(!format.summary().is_empty());
        }
        assert_eq!(
            "ednn".parse::<Format>().unwrap_err().to_string(),
            "there is no format 'ednn': expected one of json-lines, edn, edn-kv, jepsen-log, calls, limo, intervals, \
             intervals-pid, snapshot-actions, wing-gong"
        );
    }

    #[test]
    fn what_no_format_fits_is_an_error() {
        let read =
            |input: &str| read(input.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
        assert_eq!(
            read("a,b\n1,2\n").trim(),
            "found no format that fits: expected one of json-lines, edn, edn-kv, jepsen-log, calls, limo, intervals, \
             intervals-pid, snapshot-actions, wing-gong"
        );
        assert_eq!(read(" \n").trim(), "no operations: expected a history");
        assert_eq!(read("# just a note\n").trim(), "no operations: expected a history");
    }

    #[test]
    fn detection_looks_past_comments() {
        for (input, expect) in [
            ("; note\n\n {:process 0}", Some(Format::Edn)),
            ("[\n{:process :nemesis :key 1}\n{:process 0 :key 2}]", Some(Format::EdnKv)),
            ("[{:f :get, :process 0, :value {:key 1}}]", Some(Format::Edn)),
            ("#op{:process 0}", Some(Format::Edn)),
            ("{ \"process\": 0}", Some(Format::JsonLines)),
            ("[1] call push(1)\n[1] return\n[2] call pop\n", Some(Format::Calls)),
            ("[1] call push(1)\n[1] return\n[1] call pop\n", Some(Format::Limo)),
            ("[1] call push 1\n", Some(Format::Limo)),
            ("[1] call pop(?<0,1>)\n", Some(Format::Limo)),
            ("# @object atomic-set\n[1] call remove(3)\n", Some(Format::Calls)),
            ("# note\n# set\ninsert 1 0 3 4\r\n", Some(Format::Intervals)),
            ("0 3 4 INSERT 1 0", Some(Format::IntervalsPid)),
            ("/* Q Enq(5) A\n */\n\nQ Enq(e) P1 * starts", Some(Format::WingGong)),
            ("log /* text\n INFO x - 3\t:invoke\t:read\tnil", Some(Format::JepsenLog)),
            ("{}", None),
            ("[1] jump", None),
            ("", None),
        ] {
            assert_eq!(detect(input.as_bytes()), expect, "{input}");
        }
    }
}
