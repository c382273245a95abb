//! Our own format: one JSON object a line.
//!
//! ```json
//! {"schema":"trueline-history/1","spec":"queue"}
//! {"process":0,"call":"enq","args":[5],"time":12}
//! {"process":0,"return":null}
//! ```
//!
//! The first line may be a header with the schema and the specification. A history consists of
//! events (`call`, `return`, `fail`, `unknown`) in the order of the lines, or of operations with
//! `start` and `end`, never of both. If an interval ends when another one starts, they overlap. An
//! unknown field is an error, so that a typing error is not overlooked. `index` and `note` are for
//! other tools and skipped, and so is `time`, unless streams are merged by it.

use std::io::Read;

use super::events::EventLine;
use super::json::{Bad, Json};
use super::lexis::{found, text};
use super::no_operations;
use super::source::{Piece, Source};
use crate::history::{Args, Builder, Call, Error, Event, History, Part, Position, Ties};
use crate::value::Value;

/// The schema that headers name.
pub(super) const SCHEMA: &str = "trueline-history/1";

const FIELDS: &str =
    "process, call, args, return, fail, unknown, object, key, start, end, time, index or note";

/// The fields of a line.
#[derive(Default)]
struct Fields {
    process: Option<Value>,
    method: Option<u32>,
    args: Option<Args>,
    result: Option<Value>,
    fail: bool,
    unknown: bool,
    object: Option<Value>,
    key: Option<Value>,
    start: Option<i64>,
    end: Option<i64>,
    /// Only if it is a whole number.
    time: Option<i64>,
    /// Schema and specification; in a box, as only a header has them.
    header: Option<Box<Header>>,
}

#[derive(Default)]
struct Header {
    schema: Option<String>,
    spec: Option<String>,
}

/// A fast path for the form of nearly all events, without blanks and with small numbers, which does
/// not compare field names one by one. The general path gives the same result for such a line, but
/// takes twice as long.
struct Plain<'a> {
    process: i64,
    /// On the only object; the method by its name.
    event: Event<(&'a str, Args), Value>,
}

impl<'a> Plain<'a> {
    fn of(line: &'a [u8]) -> Option<Plain<'a>> {
        let mut rest = line.strip_prefix(b"{\"process\":")?;
        let process = natural(&mut rest)?;
        let event = if let Some(after) = rest.strip_prefix(b",\"return\":") {
            rest = after;
            Event::Return(match rest {
                b"null}" => Value::Nil,
                b"true}" => Value::Bool(true),
                b"false}" => Value::Bool(false),
                _ => {
                    let n = natural(&mut rest)?;
                    (rest == b"}").then_some(Value::Int(n))?
                }
            })
        } else {
            let name = rest.strip_prefix(b",\"call\":\"")?;
            let length = name.iter().position(|&b| !b.is_ascii_alphanumeric())?;
            let (name, after) = name.split_at(length);
            let args = match after {
                b"\"}" => Args::None,
                _ => {
                    rest = after.strip_prefix(b"\",\"args\":[")?;
                    let n = natural(&mut rest)?;
                    (rest == b"]}").then_some(Args::One(Value::Int(n)))?
                }
            };
            Event::Call(0, (text(name), args))
        };
        Some(Plain { process, event })
    }
}

/// Passes a whole number without a sign, of few digits.
fn natural(rest: &mut &[u8]) -> Option<i64> {
    let mut n = 0;
    let mut length = 0;
    while let Some(digit) = rest.get(length).map(|b| b.wrapping_sub(b'0'))
        && digit < 10
    {
        if length == 18 {
            return None;
        }
        n = 10 * n + i64::from(digit);
        length += 1;
    }
    let is_usual = length == 1 || (length > 1 && rest[0] != b'0');
    *rest = &rest[length..];
    is_usual.then_some(n)
}

/// The style of the lines so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Nothing,
    Events,
    Intervals { named: bool },
}

/// Reads a history.
pub(crate) fn read<R: Read>(source: &mut Source<R>) -> Result<History, Error> {
    let mut reader = Reader { builder: Builder::new(), style: Style::Nothing, seen: false };
    while let Some(line) = source.line()? {
        if let Some(event) = Plain::of(line.bytes)
            && matches!(reader.style, Style::Nothing | Style::Events)
        {
            reader.style = Style::Events;
            reader.seen = true;
            let (process, event) = reader.plain(event);
            reader.builder.event(process, event, line.at(0))?;
            continue;
        }
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        let fields = match reader.fields(line.bytes) {
            Ok(fields) => fields,
            Err((at, message)) => return Err(line.error(at, message)),
        };
        let at = line.at(line.bytes.len() - line.bytes.trim_ascii_start().len());
        reader.line(fields, at, &line)?;
        reader.seen = true;
    }
    match reader.style {
        Style::Nothing => {
            Err(no_operations("a line such as {\"process\":0,\"call\":\"enq\",\"args\":[5]}"))
        }
        Style::Events => Ok(reader.builder.finish()),
        Style::Intervals { .. } => reader.builder.finish_intervals(Ties::CallsFirst),
    }
}

struct Reader {
    builder: Builder,
    style: Style,
    /// True behind the first line.
    seen: bool,
}

impl Reader {
    /// The event in the numbers of the builder, and its process.
    fn plain(&mut self, Plain { process, event }: Plain<'_>) -> (u32, Event<Call, Value>) {
        let process = self.builder.process(&Value::Int(process));
        let event = match event {
            Event::Call(_, (name, args)) => {
                let method = self.builder.method(name);
                Event::Call(self.builder.part(Part::default()), Call { method, args })
            }
            Event::Return(result) => Event::Return(result),
            Event::Fail => Event::Fail,
            Event::Unknown => Event::Unknown,
        };
        (process, event)
    }

    #[inline]
    fn fields(&mut self, line: &[u8]) -> Result<Fields, Bad> {
        let mut json = Json::new(line);
        let mut fields = Fields::default();
        // One bit a field, to find those that stand there twice.
        let mut seen = 0u32;
        json.expect(b'{', "an object, `{`")?;
        if !json.eat(b'}') {
            loop {
                json.next();
                let name_at = json.at;
                let name = json.raw_string("the name of a field in quotes")?;
                json.expect(b':', "`:`")?;
                let bit = self.field(&mut json, name, name_at, &mut fields)?;
                if seen & bit != 0 {
                    let message =
                        format!("found \"{}\" twice: expected it once in a line", text(name));
                    return Err((name_at, message));
                }
                seen |= bit;
                if json.eat(b'}') {
                    break;
                }
                json.expect(b',', "`,` or `}`")?;
            }
        }
        match json.next() {
            None => Ok(fields),
            Some(_) => json.bad("the end of the line"),
        }
    }

    #[inline]
    fn field(
        &mut self,
        json: &mut Json<'_>,
        name: &[u8],
        name_at: usize,
        fields: &mut Fields,
    ) -> Result<u32, Bad> {
        let builder = &mut self.builder;
        match name {
            b"process" => {
                let is_text = json.next() == Some(b'"');
                let at = json.at;
                let process = json.value(builder, 1)?;
                // A number that was read as a text is too long, or invalid.
                if !is_text && !matches!(process, Value::Int(_)) {
                    json.at = at;
                    return json.bad("the number or name of a process");
                }
                fields.process = Some(process);
                Ok(1)
            }
            b"call" => {
                json.next();
                let at = json.at;
                let body = json.raw_string("the name of a method")?;
                fields.method = Some(if body.contains(&b'\\') {
                    json.at = at;
                    let name = json.string("the name of a method")?;
                    builder.method(&name)
                } else {
                    builder.method(text(body))
                });
                Ok(2)
            }
            b"args" => {
                json.expect(b'[', "a list of arguments")?;
                json.at -= 1;
                fields.args = Some(arguments(json, builder)?);
                Ok(4)
            }
            b"return" => {
                fields.result = Some(json.value(builder, 1)?);
                Ok(8)
            }
            b"fail" => {
                fields.fail = yes(json)?;
                Ok(16)
            }
            b"unknown" => {
                fields.unknown = yes(json)?;
                Ok(32)
            }
            b"object" => {
                fields.object = Some(json.value(builder, 1)?);
                Ok(64)
            }
            b"key" => {
                fields.key = Some(json.value(builder, 1)?);
                Ok(128)
            }
            b"start" => {
                fields.start = Some(time(json, builder)?);
                Ok(256)
            }
            b"end" => {
                fields.end = Some(time(json, builder)?);
                Ok(512)
            }
            b"time" => {
                fields.time = json.skip_number(1)?;
                Ok(0)
            }
            b"index" | b"note" => json.skip(1).map(|()| 0),
            b"schema" => {
                fields.header.get_or_insert_default().schema =
                    Some(json.string("the name of a schema")?);
                Ok(1024)
            }
            b"spec" => {
                fields.header.get_or_insert_default().spec =
                    Some(json.string("the name of a specification")?);
                Ok(2048)
            }
            _ => {
                let message = format!("found the field {}: expected {FIELDS}", found(name));
                Err((name_at, message))
            }
        }
    }

    fn line(&mut self, fields: Fields, at: Position, line: &Piece<'_>) -> Result<(), Error> {
        let fail = |expected: &str| {
            Err(Error::at(at, format!("found {}: expected {expected}", found(line.bytes))))
        };
        if let Some(header) = &fields.header {
            if let Some(spec) = self.header(header, &fields, at, line)? {
                self.builder.set_spec(spec);
            }
            return Ok(());
        }
        let is_interval = fields.start.is_some();
        let style = match is_interval {
            true => Style::Intervals { named: fields.process.is_some() },
            false => Style::Events,
        };
        if self.style != Style::Nothing && self.style != style {
            return fail(match (self.style, style) {
                (Style::Events, _) => "a line without \"start\", as the lines before have none",
                (_, Style::Events) => {
                    "a line with \"start\" and \"end\", as the lines before have them"
                }
                _ => "\"process\" in all lines or in none",
            });
        }
        self.style = style;
        let Fields {
            process,
            method,
            args,
            result,
            fail: failed,
            unknown,
            object,
            key,
            start,
            end,
            ..
        } = fields;
        let count = u8::from(result.is_some()) + u8::from(failed) + u8::from(unknown);
        if count > 1 {
            return fail("one of \"return\", \"fail\" and \"unknown\"");
        }
        if let Some(start) = start {
            let Some(method) = method else { return fail("\"call\" beside \"start\"") };
            if failed {
                return Ok(());
            }
            let end = if unknown { None } else { end };
            match (end, &result) {
                (Some(_), None) => return fail("\"return\" beside \"end\""),
                (None, Some(_)) => return fail("\"end\" beside \"return\""),
                _ => {}
            }
            let process = process.map(|name| self.builder.process(&name));
            let part = self.part(object, key);
            let call = Call { method, args: args.unwrap_or_default() };
            return self.builder.interval(process, part, (call, result), (start, end), at);
        }
        if end.is_some() {
            return fail("\"start\" beside \"end\"");
        }
        let Some(process) = process else { return fail("\"process\"") };
        let process = self.builder.process(&process);
        if let Some(method) = method {
            if count > 0 {
                return fail(
                    "either a call or its outcome (an operation in one line has \"start\" and \"end\")",
                );
            }
            let part = self.part(object, key);
            let call = Call { method, args: args.unwrap_or_default() };
            return self.builder.call(process, part, call, at).map(drop);
        }
        if args.is_some() || object.is_some() || key.is_some() {
            return fail("\"call\" beside \"args\", \"object\" and \"key\"");
        }
        match outcome(result, failed, unknown) {
            Some(event) => self.builder.event(process, event, at).map(drop),
            None => fail("\"call\", \"return\", \"fail\" or \"unknown\""),
        }
    }

    /// The specification that a header names.
    fn header(
        &self,
        header: &Header,
        fields: &Fields,
        at: Position,
        line: &Piece<'_>,
    ) -> Result<Option<String>, Error> {
        let fail = |expected: &str| {
            Err(Error::at(at, format!("found {}: expected {expected}", found(line.bytes))))
        };
        let others = fields.process.is_some() || fields.method.is_some();
        match header.schema.as_deref() {
            None => fail("\"schema\" beside \"spec\", in the first line"),
            Some(_) if self.seen || others => {
                fail("a header only as the first line, with no event in it")
            }
            Some(SCHEMA) => Ok(header.spec.clone()),
            Some(schema) => Err(Error::at(
                at,
                format!("found the schema {}: expected {SCHEMA}", found(schema.as_bytes())),
            )),
        }
    }

    fn part(&mut self, object: Option<Value>, key: Option<Value>) -> u32 {
        self.builder.part(Part { object: object.unwrap_or_default(), key: key.unwrap_or_default() })
    }
}

/// The end of an operation, according to a line.
fn outcome(result: Option<Value>, failed: bool, unknown: bool) -> Option<Event<Call, Value>> {
    match result {
        Some(result) => Some(Event::Return(result)),
        None if failed => Some(Event::Fail),
        None if unknown => Some(Event::Unknown),
        None => None,
    }
}

/// Reads each line separately: no history is built. The builder only numbers processes, methods and
/// objects. See [`super::events`].
pub(super) struct Lines {
    reader: Reader,
    spec: Option<String>,
    general: u32,
}

/// Interned texts are dropped after this many lines.
const FORGET_TEXTS: u32 = 4096;

impl Lines {
    pub(super) fn new() -> Lines {
        let reader = Reader { builder: Builder::new(), style: Style::Events, seen: false };
        Lines { reader, spec: None, general: 0 }
    }

    pub(super) fn spec(&self) -> Option<&str> {
        self.spec.as_deref()
    }

    /// The names behind the numbers of events.
    pub(super) fn names(&self) -> &Builder {
        &self.reader.builder
    }

    /// Parses a line; returns `None` if it is not an event.
    pub(super) fn read(&mut self, line: &Piece<'_>) -> Result<Option<EventLine>, Error> {
        if let Some(plain) = Plain::of(line.bytes) {
            self.reader.seen = true;
            let (process, event) = self.reader.plain(plain);
            return Ok(Some(EventLine { process, event, time: None, at: line.at(0) }));
        }
        if line.bytes.trim_ascii().is_empty() {
            return Ok(None);
        }
        self.general += 1;
        if self.general.is_multiple_of(FORGET_TEXTS) {
            self.reader.builder.forget_texts();
        }
        let at = line.at(line.bytes.len() - line.bytes.trim_ascii_start().len());
        let fields = match self.reader.fields(line.bytes) {
            Ok(fields) => fields,
            Err((at, message)) => return Err(line.error(at, message)),
        };
        if let Some(header) = &fields.header {
            self.spec = self.reader.header(header, &fields, at, line)?;
            self.reader.seen = true;
            return Ok(None);
        }
        self.reader.seen = true;
        let fail = |expected: &str| {
            Err(Error::at(at, format!("found {}: expected {expected}", found(line.bytes))))
        };
        if fields.start.is_some() || fields.end.is_some() {
            return fail("an event: a line with \"start\" and \"end\" can not be part of a stream");
        }
        let count = u8::from(fields.result.is_some())
            + u8::from(fields.fail)
            + u8::from(fields.unknown)
            + u8::from(fields.method.is_some());
        if count != 1 {
            return fail("one of \"call\", \"return\", \"fail\" and \"unknown\"");
        }
        let Some(process) = fields.process else { return fail("\"process\"") };
        let is_named = fields.object.is_some() || fields.key.is_some();
        if fields.method.is_none() && (fields.args.is_some() || is_named) {
            return fail("\"call\" beside \"args\", \"object\" and \"key\"");
        }
        let event = match fields.method {
            Some(method) => {
                let part = self.reader.part(fields.object, fields.key);
                Event::Call(part, Call { method, args: fields.args.unwrap_or_default() })
            }
            None => match outcome(fields.result, fields.fail, fields.unknown) {
                Some(event) => event,
                None => return fail("one of \"call\", \"return\", \"fail\" and \"unknown\""),
            },
        };
        let process = self.reader.builder.process(&process);
        Ok(Some(EventLine { process, event, time: fields.time, at }))
    }
}

/// The arguments of a call; the cursor is at the bracket. Most calls have none or one, which need
/// no list.
fn arguments(json: &mut Json<'_>, builder: &mut Builder) -> Result<Args, Bad> {
    let from = json.at;
    json.at += 1;
    if json.eat(b']') {
        return Ok(Args::None);
    }
    let first = json.value(builder, 2)?;
    if json.eat(b']') {
        return Ok(Args::One(first));
    }
    json.at = from;
    json.values(builder, 1).map(Args::from)
}

fn yes(json: &mut Json<'_>) -> Result<bool, Bad> {
    json.next();
    let at = json.at;
    match json.value(&mut Builder::new(), 1)? {
        Value::Bool(true) => Ok(true),
        _ => {
            json.at = at;
            json.bad("true")
        }
    }
}

fn time(json: &mut Json<'_>, builder: &mut Builder) -> Result<i64, Bad> {
    json.next();
    let at = json.at;
    match json.value(builder, 1)? {
        Value::Int(n) => Ok(n),
        _ => {
            json.at = at;
            json.bad("a whole number of 64 bits")
        }
    }
}
