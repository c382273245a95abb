//! The log of a Jepsen run: `INFO  jepsen.util - 0<TAB>:invoke<TAB>:cas<TAB>[1 2]`.
//!
//! An operation line contains, between tabs or blanks, a process (a number or a keyword), a type
//! (`:invoke`, `:ok`, `:fail`, `:info`) and an operation (a keyword); the value is the EDN form
//! after them. Other lines are log text and skipped, as are those of processes that are keywords.
//! After `:info` there is a reason such as `:timed-out` in place of the value.
//! [`jepsen`](super::jepsen) describes the meaning of the events.

use std::io::Read;

use super::edn::{Cursor, Stop};
use super::jepsen::{Event, Recorder, Type};
use super::lexis::{int, text};
use super::source::Source;
use super::{Keys, no_operations};
use crate::history::{Error, History};
use crate::value::Value;

/// Reads a history.
pub(crate) fn read<R: Read>(source: &mut Source<R>, keys: Keys) -> Result<History, Error> {
    let mut recorder = Recorder::new(keys);
    while let Some(line) = source.line()? {
        let Some(Columns { process, process_at, kind, method, value_at }) = columns(line.bytes)
        else {
            continue;
        };
        if process.starts_with(b":") {
            continue;
        }
        let Some(process) = int(process) else {
            let message = "found a process beyond 64 bits: expected a number";
            return Err(line.error(process_at, message));
        };
        let rest = &line.bytes[value_at..];
        let value = match kind {
            Type::Fail | Type::Info => Value::Nil,
            _ if rest.trim_ascii().is_empty() => Value::Nil,
            _ => match Cursor::new(rest, 0, true).value(0, &mut recorder.builder) {
                Ok(value) => value,
                Err(Stop::Bad(at, message)) => return Err(line.error(value_at + at, message)),
                Err(Stop::Incomplete) => unreachable!("the line is whole"),
            },
        };
        let at = line.at(process_at);
        let process = Value::Int(process);
        recorder.event(Event { process, kind, method: text(method), value, key: None, at })?;
    }
    if recorder.builder.is_empty() {
        return Err(no_operations("a line such as `0 :invoke :read nil`, with tabs between"));
    }
    Ok(recorder.finish())
}

/// An operation line, taken apart.
pub(super) struct Columns<'a> {
    process: &'a [u8],
    process_at: usize,
    kind: Type,
    method: &'a [u8],
    value_at: usize,
}

/// Parses an operation line; `None` for other lines.
pub(super) fn columns(line: &[u8]) -> Option<Columns<'_>> {
    let mut previous: Option<(usize, &[u8])> = None;
    let mut at = 0;
    while let Some((start, token)) = token(line, at) {
        at = start + token.len();
        if let Some(kind) = Type::parse(token)
            && let Some((process_at, process)) = previous
            && is_process(process)
            && let Some((f_at, [b':', method @ ..])) = self::token(line, at)
            && !method.is_empty()
        {
            let value_at = f_at + 1 + method.len();
            return Some(Columns { process, process_at, kind, method, value_at });
        }
        previous = Some((start, token));
    }
    None
}

fn is_process(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    let number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    number || (token.len() > 1 && token[0] == b':')
}

/// The next token after an offset, and its start.
fn token(line: &[u8], from: usize) -> Option<(usize, &[u8])> {
    let start = from + line[from..].iter().position(|b| !b.is_ascii_whitespace())?;
    let length = line[start..].iter().position(u8::is_ascii_whitespace);
    Some((start, &line[start..length.map_or(line.len(), |length| start + length)]))
}
