//! Operations as intervals: `push 1 1 2` is method, value, start and end (format `intervals`);
//! `0 1 5 ENQ 10` is process, start, end, method and value (format `intervals-pid`).
//!
//! A line such as `# stack` names the specification; other lines that start with `#` are comments.
//! All operations returned. Methods are lower-cased. The meaning of the values depends on the
//! method:
//!
//! - an insertion (`push`, `enq`, `insert`, `push_front`, ...) has its value as the argument;
//! - a removal or a peek (`pop`, `deq`, `poll`, `peek_back`, ...) has it as the result, and `-1`
//!   means empty (nil). So an insertion of -1 is rejected: its removal would be read as nil;
//! - with two values, the second 0 or 1 (`insert 4 1 ...`), the operations of a set have an
//!   argument and a boolean;
//! - `incr` and `decr` of a semaphore have a boolean result;
//! - `read_modify_write old new` becomes `rmw` with two arguments.
//!
//! If an interval ends when another one starts, they overlap in `intervals`; in `intervals-pid` the
//! one that ends comes first.

use std::io::Read;

use smallvec::SmallVec;

use super::lexis::{found, int, text};
use super::no_operations;
use super::source::{Piece, Source};
use crate::history::{Args, Builder, Call, Error, History, Part, Ties};
use crate::value::Value;

/// Reads a history; `named` if rows start with a process.
pub(crate) fn read<R: Read>(source: &mut Source<R>, named: bool) -> Result<History, Error> {
    let mut builder = Builder::new();
    let part = builder.part(Part::default());
    while let Some(line) = source.line()? {
        if let Some(comment) = line.bytes.trim_ascii_start().strip_prefix(b"#") {
            if let Some(spec) = spec(comment.trim_ascii()) {
                builder.set_spec(spec);
            }
            continue;
        }
        let words = split(&line);
        let Some(&(at, _)) = words.first() else { continue };
        let row = if named { row_with_process(&line, &words)? } else { row(&line, &words)? };
        let process = row.process.map(|n| builder.process(&Value::Int(n)));
        let (name, args, result) = meaning(&line, &row)?;
        if args == Args::None && result.is_nil() && row.values.as_slice() == [-1] {
            builder.reads_minus_one_as_nil();
        }
        let call = Call { method: builder.method(&name), args };
        builder.interval(process, part, (call, Some(result)), row.time, line.at(at))?;
    }
    if builder.is_empty() {
        let example = if named { "0 1 5 ENQ 10" } else { "push 1 1 2" };
        return Err(no_operations(&format!("a line such as `{example}`")));
    }
    builder.finish_intervals(if named { Ties::ReturnsFirst } else { Ties::CallsFirst })
}

/// The specification that a header names.
fn spec(name: &[u8]) -> Option<&'static str> {
    const NAMES: [(&str, &str); 12] = [
        ("queue", "queue"),
        ("stack", "stack"),
        ("deque", "deque"),
        ("set", "set"),
        ("pqueue", "priority-queue"),
        ("priorityqueue", "priority-queue"),
        ("priority_queue", "priority-queue"),
        ("priority-queue", "priority-queue"),
        ("rmw", "rmw"),
        ("semaphore", "semaphore"),
        ("register", "register"),
        ("multiset", "multiset"),
    ];
    NAMES.iter().find(|(n, _)| name.eq_ignore_ascii_case(n.as_bytes())).map(|(_, spec)| *spec)
}

/// A word of a line and where it starts.
type Word<'a> = (usize, &'a [u8]);

/// A row, taken apart.
struct Row<'a> {
    process: Option<i64>,
    method: Word<'a>,
    values: SmallVec<[i64; 2]>,
    time: (i64, Option<i64>),
}

fn split<'a>(line: &Piece<'a>) -> SmallVec<[Word<'a>; 6]> {
    let mut words = SmallVec::new();
    let mut at = 0;
    for word in line.bytes.split(u8::is_ascii_whitespace) {
        if !word.is_empty() {
            words.push((at, word));
        }
        at += word.len() + 1;
    }
    words
}

fn row<'a>(line: &Piece<'a>, words: &[Word<'a>]) -> Result<Row<'a>, Error> {
    let [method, values @ .., start, end] = words else {
        return Err(wrong_row(line, words, "`method value start end`"));
    };
    if values.is_empty() || values.len() > 2 {
        return Err(wrong_row(line, words, "`method value start end`, or one more value"));
    }
    let values = values.iter().map(|&word| number(line, word)).collect::<Result<_, _>>()?;
    let time = (number(line, *start)?, Some(number(line, *end)?));
    Ok(Row { process: None, method: *method, values, time })
}

fn row_with_process<'a>(line: &Piece<'a>, words: &[Word<'a>]) -> Result<Row<'a>, Error> {
    let [process, start, end, method, values @ ..] = words else {
        return Err(wrong_row(line, words, "`process start end METHOD value`"));
    };
    if values.is_empty() || values.len() > 2 {
        return Err(wrong_row(line, words, "`process start end METHOD value`, or one more value"));
    }
    let process = Some(number(line, *process)?);
    let time = (number(line, *start)?, Some(number(line, *end)?));
    let values = values.iter().map(|&word| number(line, word)).collect::<Result<_, _>>()?;
    Ok(Row { process, method: *method, values, time })
}

fn wrong_row(line: &Piece<'_>, words: &[Word<'_>], expected: &str) -> Error {
    let at = words[0].0;
    line.error(at, format!("found {}: expected {expected}", found(&line.bytes[at..])))
}

fn number(line: &Piece<'_>, (at, word): Word<'_>) -> Result<i64, Error> {
    int(word).ok_or_else(|| line.error(at, format!("found {}: expected a number", found(word))))
}

/// The method's name, arguments and result.
fn meaning(line: &Piece<'_>, row: &Row<'_>) -> Result<(String, Args, Value), Error> {
    let name = text(row.method.1).to_ascii_lowercase();
    let stem = name.split('_').next().unwrap_or_default();
    let wrong = |expected: &str| {
        let message = format!("found {}: expected {expected}", found(&line.bytes[row.method.0..]));
        line.error(row.method.0, message)
    };
    let truth = |n: i64| match n {
        0 => Ok(Value::Bool(false)),
        1 => Ok(Value::Bool(true)),
        _ => Err(wrong("0 or 1 as the result")),
    };
    let (args, result) = match (stem, row.values.as_slice()) {
        ("read" | "rmw", &[old, new]) if name == "read_modify_write" || name == "rmw" => {
            return Ok(("rmw".to_string(), Args::from(vec![old.into(), new.into()]), Value::Nil));
        }
        ("incr" | "decr" | "increment" | "decrement", &[done]) => (Args::None, truth(done)?),
        ("insert" | "remove" | "contains" | "add" | "delete", &[value, done]) => {
            (Args::One(value.into()), truth(done)?)
        }
        ("push" | "enq" | "enqueue" | "insert" | "add" | "put" | "offer" | "write", &[-1]) => {
            return Err(wrong(
                "another value than -1, which means empty when it comes out (json-lines can tell them apart)",
            ));
        }
        ("push" | "enq" | "enqueue" | "insert" | "add" | "put" | "offer" | "write", &[value]) => {
            (Args::One(value.into()), Value::Nil)
        }
        (
            "pop" | "deq" | "dequeue" | "poll" | "peek" | "remove" | "rem" | "get" | "take" | "top"
            | "front" | "read",
            &[value],
        ) => (Args::None, if value == -1 { Value::Nil } else { value.into() }),
        ("contains" | "delete", _) => return Err(wrong("a value and 0 or 1 behind the method")),
        (_, &[_]) => {
            return Err(wrong("a method such as push, pop, enq, deq, insert, poll or peek"));
        }
        _ => return Err(wrong("one value for this method")),
    };
    Ok((name, args, result))
}
