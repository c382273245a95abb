//! `[1] call push(a)` and `[1] return`, in two meanings of the number.
//!
//! In `calls` (Violin's logs) the number is the *operation*: no number is called twice, and
//! operations get lanes, always the lowest free one; an operation that never returns keeps its
//! lane. In `limo` it is the *thread*: it calls again after it returned, and if a thread calls
//! without having returned, its earlier call is pending for ever. In `limo` the value of a removal
//! may also be on its call line, before a bare return: `[0] call pop(?<0,0>)` then `[0] return`.
//!
//! `# @object atomic-queue` names the specification; other lines that start with `#` are comments.
//! The argument is the text in the parentheses, as one value; `call push 1` and `call pop()` are
//! allowed. `return empty` and a bare `return` have the result nil. Method names are kept
//! unchanged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::lexis::{found, int, text, word};
use super::no_operations;
use super::source::{Piece, Source};
use crate::history::{Args, Builder, Call, Error, History, Part};
use crate::value::Value;

/// One line, taken apart.
pub(super) enum Line<'a> {
    /// A number, a method and its argument.
    Call(i64, &'a [u8], Option<&'a [u8]>),
    /// A number and a result.
    Return(i64, Option<&'a [u8]>),
    /// The specification that the file names.
    Object(&'a [u8]),
    /// Nothing, or a comment.
    Blank,
}

/// Reads a history whose numbers are operations.
pub(crate) fn read_calls<R: Read>(source: &mut Source<R>) -> Result<History, Error> {
    let mut builder = Builder::new();
    // The lane of each operation, or the line of its return.
    let mut operations: HashMap<i64, Result<u32, u32>, FixedState> = HashMap::default();
    let mut free: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
    let mut lanes = 0;
    while let Some(line) = source.line()? {
        match parse(&line)? {
            Line::Blank => {}
            Line::Object(name) => builder.set_spec(text(name)),
            Line::Call(number, method, arg) => {
                if operations.contains_key(&number) {
                    let message = format!(
                        "found a second call of operation {number}: expected a new number \
                         (if the numbers are threads, the format is limo)"
                    );
                    return Err(line.error(indent(line.bytes), message));
                }
                let lane = free.pop().map_or(lanes, |Reverse(lane)| lane);
                lanes = lanes.max(lane + 1);
                operations.insert(number, Ok(lane));
                let process = builder.process(&Value::Int(lane.into()));
                let arg = arg.map(|arg| word(arg, &mut builder));
                call(&mut builder, process, method, arg, &line)?;
            }
            Line::Return(number, result) => {
                let at = line.at(indent(line.bytes));
                let lane = match operations.insert(number, Err(at.line)) {
                    Some(Ok(lane)) => lane,
                    Some(Err(before)) => {
                        let message = format!(
                            "found a second return of operation {number}: expected none after line {before}"
                        );
                        return Err(Error::at(at, message));
                    }
                    None => {
                        let message = format!(
                            "operation {number} returns without a call: expected a call first"
                        );
                        return Err(Error::at(at, message));
                    }
                };
                let process = builder.process(&Value::Int(lane.into()));
                let result = outcome(result, &mut builder);
                builder.returns(process, result, at)?;
                free.push(Reverse(lane));
            }
        }
    }
    finish(builder)
}

/// Reads a history whose numbers are threads.
pub(crate) fn read_limo<R: Read>(source: &mut Source<R>) -> Result<History, Error> {
    let mut builder = Builder::new();
    // The value on the call line of a removal, by process.
    let mut shown: Vec<Option<Value>> = Vec::new();
    let mut removals = true;
    while let Some(line) = source.line()? {
        match parse(&line)? {
            Line::Blank => {}
            Line::Object(name) => {
                builder.set_spec(text(name));
                removals = removals_return(name);
            }
            Line::Call(number, method, arg) => {
                let process = builder.process(&Value::Int(number));
                if builder.open_operation(process).is_some() {
                    builder.unknown(process, line.at(indent(line.bytes)))?;
                }
                let mut arg = arg.map(|arg| word(arg, &mut builder));
                shown.resize(shown.len().max(process as usize + 1), None);
                shown[process as usize] =
                    if removals && is_removal(method) { arg.take() } else { None };
                call(&mut builder, process, method, arg, &line)?;
            }
            Line::Return(number, result) => {
                let process = builder.process(&Value::Int(number));
                let known = shown.get_mut(process as usize).and_then(Option::take);
                let result = match (result, known) {
                    (None, Some(known)) => known,
                    (result, _) => outcome(result, &mut builder),
                };
                builder.returns(process, result, line.at(indent(line.bytes)))?;
            }
        }
    }
    finish(builder)
}

/// Methods that take a value out and have no argument.
pub(super) fn is_removal(method: &[u8]) -> bool {
    const NAMES: [&str; 9] =
        ["rem", "rm", "remove", "get", "pop", "dequeue", "deq", "poll", "take"];
    NAMES.iter().any(|name| method.eq_ignore_ascii_case(name.as_bytes()))
}

/// Whether removals return a value, as opposed to having the removed value as an argument.
pub(super) fn removals_return(object: &[u8]) -> bool {
    let name = object.split(|&b| b == b':').next().unwrap_or(object);
    let name = name.strip_prefix(b"atomic-").unwrap_or(name);
    !matches!(name, b"set" | b"multiset" | b"map" | b"kv")
}

fn call(
    builder: &mut Builder,
    process: u32,
    method: &[u8],
    arg: Option<Value>,
    line: &Piece<'_>,
) -> Result<(), Error> {
    let part = builder.part(Part::default());
    let args = arg.map_or(Args::None, Args::One);
    let call = Call { method: builder.method(text(method)), args };
    builder.call(process, part, call, line.at(indent(line.bytes))).map(drop)
}

fn outcome(result: Option<&[u8]>, builder: &mut Builder) -> Value {
    match result {
        None | Some(b"empty") => Value::Nil,
        Some(result) => word(result, builder),
    }
}

fn finish(builder: Builder) -> Result<History, Error> {
    if builder.is_empty() {
        return Err(no_operations("a line such as `[1] call push(a)`"));
    }
    Ok(builder.finish())
}

fn indent(line: &[u8]) -> usize {
    line.len() - line.trim_ascii_start().len()
}

/// Takes a line apart.
fn parse<'a>(line: &Piece<'a>) -> Result<Line<'a>, Error> {
    parse_line(line.bytes).map_err(|(rest, expected)| {
        line.error(
            line.bytes.trim_ascii_end().len() - rest.len(),
            format!("found {}: expected {expected}", found(rest)),
        )
    })
}

/// Parses a line; an error is the rest of the line where it is wrong, and what was expected there.
pub(super) fn parse_line(whole: &[u8]) -> Result<Line<'_>, (&[u8], &'static str)> {
    const EXPECTED: &str = "`[number] call method(argument)` or `[number] return result`";
    // The rest of the line locates an error, so nothing may be trimmed at the end later.
    let line = whole.trim_ascii();
    if line.is_empty() {
        return Ok(Line::Blank);
    }
    if let Some(comment) = line.strip_prefix(b"#") {
        let object = comment.trim_ascii().strip_prefix(b"@object");
        return Ok(match object.map(<[u8]>::trim_ascii) {
            Some(name) if !name.is_empty() => {
                Line::Object(name.strip_prefix(b"atomic-").unwrap_or(name))
            }
            _ => Line::Blank,
        });
    }
    let inside = line.strip_prefix(b"[").ok_or((line, EXPECTED))?;
    let close = inside.iter().position(|&b| b == b']').ok_or((line, EXPECTED))?;
    let number = int(inside[..close].trim_ascii()).ok_or((inside, "a number in the brackets"))?;
    let rest = inside[close + 1..].trim_ascii_start();
    let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    let (verb, after) = (&rest[..end], rest[end..].trim_ascii_start());
    match verb {
        b"call" => {
            let is_end = |b: &u8| *b == b'(' || b.is_ascii_whitespace();
            let end = after.iter().position(is_end).unwrap_or(after.len());
            let (method, arg) = (&after[..end], after[end..].trim_ascii_start());
            if method.is_empty() {
                return Err((after, "the name of a method behind `call`"));
            }
            let arg = match arg.strip_prefix(b"(") {
                Some(inside) => {
                    inside.strip_suffix(b")").ok_or((arg, "a closing parenthesis at the end"))?
                }
                None => arg,
            };
            let arg = arg.trim_ascii();
            Ok(Line::Call(number, method, (!arg.is_empty()).then_some(arg)))
        }
        b"return" => Ok(Line::Return(number, (!after.is_empty()).then_some(after))),
        _ => Err((rest, "`call` or `return` behind the number")),
    }
}
