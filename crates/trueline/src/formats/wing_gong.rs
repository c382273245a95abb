//! The notation of Wing and Gong's paper: `Q Enq(5) A` is a call of process `A` on object `Q`,
//! `Q Ok() A` its return.
//!
//! A line is `object Name(arguments) process`. `Ok(7)` returns 7, `Ok()` nil. Another name also
//! ends an open call, if it has no arguments and is not the name of a method: `Empty()` returns
//! nil, `Full()` false, any other its own name as a text. Methods are lower-cased. `/* ... */` are
//! comments, possibly over several lines, and so is everything from a lone `*` to the end of its
//! line. Names and values with blanks or signs are quoted. A blank line between events separates
//! histories; operations that are open there are pending in the history before it.

use std::io::Read;

use super::lexis::{found, string, text, word};
use super::no_operations;
use super::source::{Piece, Source};
use crate::history::{Args, Builder, Call, Error, History, Part, Position};
use crate::value::Value;

/// Reads a history; a second one is an error.
pub(crate) fn read<R: Read>(source: &mut Source<R>) -> Result<History, Error> {
    let mut reader = Reader::default();
    let history = reader.history(source)?.ok_or_else(|| no_operations(EXPECTED))?;
    match reader.begun {
        None => Ok(history),
        Some(at) => Err(Error::at(
            at,
            "found a second history behind a blank line: expected one; `trueline check` takes several",
        )),
    }
}

/// Reads all histories, at least one.
pub(crate) fn read_all<R: Read>(source: &mut Source<R>) -> Result<Vec<History>, Error> {
    let mut reader = Reader::default();
    let mut all = Vec::new();
    while let Some(history) = reader.history(source)? {
        all.push(history);
    }
    if all.is_empty() { Err(no_operations(EXPECTED)) } else { Ok(all) }
}

const EXPECTED: &str = "a line such as `Q Enq(5) A`";

/// Reads histories one after the other.
#[derive(Default)]
struct Reader {
    /// The start of a comment that is open at the end of the line.
    comment: Option<Position>,
    /// The history whose first event ended the previous one, and the position of that event.
    next: Builder,
    begun: Option<Position>,
    bare: Vec<u8>,
}

impl Reader {
    /// The next history; `None` at the end. A blank line after its events ends it, if more events
    /// follow.
    fn history<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<History>, Error> {
        let mut builder = std::mem::take(&mut self.next);
        self.begun = None;
        let mut ends = false;
        while let Some(line) = source.line()? {
            let was_open = self.comment.is_some();
            match blank_comments(line.bytes, was_open, &mut self.bare) {
                Comment::Closed => self.comment = None,
                Comment::StillOpen => {}
                Comment::OpenFrom(at) => self.comment = Some(line.at(at)),
            }
            if self.bare.trim_ascii().is_empty() {
                // A line of a comment is not blank.
                ends |= line.bytes.trim_ascii().is_empty() && !was_open && !builder.is_empty();
                continue;
            }
            let bare = &self.bare;
            let parsed = parse(bare).map_err(|(at, expected)| {
                line.error(at, format!("found {}: expected {expected}", found(&bare[at..])))
            })?;
            if ends {
                event(&mut self.next, parsed, &line)?;
                self.begun = Some(line.at(0));
                return Ok(Some(builder.finish()));
            }
            event(&mut builder, parsed, &line)?;
        }
        if let Some(at) = self.comment {
            return Err(Error::at(at, "found a comment without an end: expected `*/`"));
        }
        Ok((!builder.is_empty()).then(|| builder.finish()))
    }
}

/// A line, taken apart.
pub(super) struct Event<'a> {
    object: &'a [u8],
    name: &'a [u8],
    name_at: usize,
    args: Vec<&'a [u8]>,
    process: &'a [u8],
}

fn event(builder: &mut Builder, event: Event<'_>, line: &Piece<'_>) -> Result<(), Error> {
    let Event { object, name, name_at, args, process } = event;
    let at = line.at(line.bytes.len() - line.bytes.trim_ascii_start().len());
    let object = word(object, builder);
    let process = word(process, builder);
    let process = builder.process(&process);
    let open = builder.open_operation(process);
    if let Some(open) = open
        && builder.part_of(open).object != object
    {
        let message = format!(
            "found an event on {object}: expected the return from {}, which the process called",
            builder.part_of(open).object
        );
        return Err(line.error(0, message));
    }
    let lower = text(name).to_ascii_lowercase();
    let result = match (name, open) {
        (b"Ok" | b"ok" | b"OK", _) => match args.as_slice() {
            [] => Value::Nil,
            [one] => word(one, builder),
            _ => {
                let message = format!("found {} results: expected at most one", args.len());
                return Err(line.error(name_at, message));
            }
        },
        (_, Some(_)) if args.is_empty() && !builder.has_method(&lower) => match name {
            b"Empty" => Value::Nil,
            b"Full" => Value::Bool(false),
            _ => builder.text(text(name)),
        },
        _ => {
            let args: Vec<Value> = args.iter().map(|arg| word(arg, builder)).collect();
            let part = builder.part(Part { object, key: Value::Nil });
            let call = Call { method: builder.method(&lower), args: Args::from(args) };
            return builder.call(process, part, call, at).map(drop);
        }
    };
    builder.returns(process, result, at).map(drop)
}

/// An offset and what was expected there.
type Wrong = (usize, &'static str);

/// Takes a line without comments apart.
pub(super) fn parse(line: &[u8]) -> Result<Event<'_>, Wrong> {
    let mut at = blanks(line, 0);
    let object = token(line, at).ok_or((at, "the name of an object"))?;
    at = blanks(line, at + object.len());
    let is_name =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'?' | b'!');
    let length = line[at..].iter().position(|b| !is_name(b)).unwrap_or(line.len() - at);
    let (name, name_at) = (&line[at..at + length], at);
    at = blanks(line, at + length);
    if name.is_empty() || line.get(at) != Some(&b'(') {
        return Err((name_at, "a name and parentheses, such as `Enq(5)`"));
    }
    at += 1;
    let (args, end) = arguments(line, at)?;
    at = blanks(line, end);
    let process = token(line, at).ok_or((at, "the name of a process"))?;
    at = blanks(line, at + process.len());
    if at < line.len() {
        return Err((at, "the end of the line or a comment"));
    }
    Ok(Event { object, name, name_at, args, process })
}

/// The arguments after the opening parenthesis, and the offset after the closing one.
fn arguments(line: &[u8], from: usize) -> Result<(Vec<&[u8]>, usize), Wrong> {
    let mut args = Vec::new();
    let (mut at, mut start) = (from, from);
    let mut depth = 0usize;
    loop {
        match line.get(at) {
            None => return Err((from - 1, "a closing parenthesis")),
            Some(b'"') => {
                let (_, length) = string(&line[at + 1..]).ok_or((at, "a closing quote"))?;
                at += length;
            }
            Some(b'(' | b'[') => depth += 1,
            Some(b',') if depth == 0 => {
                args.push(line[start..at].trim_ascii());
                start = at + 1;
            }
            Some(b')') if depth == 0 => break,
            Some(b')' | b']') => depth = depth.saturating_sub(1),
            Some(_) => {}
        }
        at += 1;
    }
    let last = line[start..at].trim_ascii();
    if !last.is_empty() || !args.is_empty() {
        args.push(last);
    }
    if args.iter().any(|arg| arg.is_empty()) {
        return Err((from, "an argument between the commas"));
    }
    Ok((args, at + 1))
}

/// A quoted text, a list in brackets or a word.
fn token(line: &[u8], at: usize) -> Option<&[u8]> {
    let rest = &line[at..];
    let length = match rest.first()? {
        b'"' => 1 + string(&rest[1..])?.1,
        b'[' => 1 + rest.iter().position(|&b| b == b']')?,
        _ => rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len()),
    };
    Some(&rest[..length])
}

fn blanks(line: &[u8], at: usize) -> usize {
    at + line[at..].iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(line.len() - at)
}

/// The kind of an open comment at the end of a line.
pub(super) enum Comment {
    Closed,
    /// The comment of an earlier line goes on.
    StillOpen,
    /// A comment that starts at this offset goes on.
    OpenFrom(usize),
}

/// Copies a line with blanks in place of its comments, so that offsets stay.
pub(super) fn blank_comments(line: &[u8], open: bool, bare: &mut Vec<u8>) -> Comment {
    bare.clear();
    let mut at = 0;
    let mut comment = if open { Comment::StillOpen } else { Comment::Closed };
    while at < line.len() {
        let rest = &line[at..];
        if !matches!(comment, Comment::Closed) {
            // The star that opens a comment does not close it.
            let from = if matches!(comment, Comment::OpenFrom(_)) { 2 } else { 0 };
            match memchr::memmem::find(&rest[from..], b"*/") {
                Some(end) => {
                    at += from + end + 2;
                    comment = Comment::Closed;
                }
                None => at = line.len(),
            }
        } else if rest.starts_with(b"/*") {
            comment = Comment::OpenFrom(at);
        } else if rest[0] == b'*' {
            at = line.len();
        } else {
            let string = if rest[0] == b'"' { string(&rest[1..]) } else { None };
            let length = string.map_or(1, |(_, length)| 1 + length);
            bare.extend_from_slice(&rest[..length]);
            at += length;
        }
        bare.resize(at, b' ');
    }
    comment
}
