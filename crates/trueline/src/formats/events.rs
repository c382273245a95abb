//! Single events: our JSON Lines as a stream that need not end, read and written.
//!
//! [`read`](super::read) builds a history; this keeps only a chunk of the input. Only lines that
//! are events can be streamed: a line with `start` and `end` describes a call long after it was
//! made.

use std::io::{self, Read, Write};

use super::json_lines::{Lines, SCHEMA};
use super::lexis::quote;
use super::source::Source;
use crate::generate::Generated;
use crate::history::{Call, Error, Event, Part, Position};
use crate::value::Value;

/// A line of a stream. Processes, methods and objects are numbers of its [`EventReader`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    /// The process of the event.
    pub process: u32,
    /// The event.
    pub event: Event<Call, Value>,
    /// The time, if the line gives one as a whole number.
    pub time: Option<i64>,
    /// Where the line stands.
    pub at: Position,
}

/// The reason why there is no event.
#[derive(Debug)]
pub enum EventError {
    /// This line is wrong; the next one may be correct.
    Line(Error),
    /// Nothing more can be read.
    Input(Error),
}

/// Reads events.
pub struct EventReader<R> {
    source: Source<R>,
    lines: Lines,
}

impl<R: Read> EventReader<R> {
    /// Reads from the start of the input.
    pub fn new(input: R) -> EventReader<R> {
        EventReader { source: Source::new(input), lines: Lines::new() }
    }

    /// The specification that the header names, once it has been read.
    pub fn spec(&self) -> Option<&str> {
        self.lines.spec()
    }

    /// Whether reading the next event would block.
    pub fn must_wait(&self) -> bool {
        !self.source.has_line()
    }

    /// The name of a process.
    pub fn process(&self, process: u32) -> &Value {
        self.lines.names().process_name(process)
    }

    /// The name of a method.
    pub fn method(&self, method: u32) -> &str {
        self.lines.names().method_name(method)
    }

    /// An object and key.
    pub fn part(&self, part: u32) -> &Part {
        self.lines.names().part_at(part)
    }

    /// The next event; nothing at the end of the input.
    pub fn next_event(&mut self) -> Result<Option<EventLine>, EventError> {
        while let Some(line) = self.source.line().map_err(EventError::Input)? {
            if let Some(event) = self.lines.read(&line).map_err(EventError::Line)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }
}

/// Writes events as JSON Lines.
pub struct EventWriter<W> {
    out: W,
    text: String,
}

impl<W: Write> EventWriter<W> {
    /// Writes a header that names the specification.
    pub fn new(out: W, spec: &str) -> EventWriter<W> {
        let mut text = String::with_capacity(1 << 17);
        text.push_str("{\"schema\":\"");
        text.push_str(SCHEMA);
        text.push_str("\",\"spec\":");
        put(&mut text, &Value::text(spec));
        text.push_str("}\n");
        EventWriter { out, text }
    }

    /// Writes an event of a process. The format has only one object.
    pub fn event(&mut self, process: u32, event: &Generated<'_>) -> io::Result<()> {
        self.process(process);
        match event {
            Event::Call(_, (method, args)) => self.call(method, args),
            Event::Return(result) => {
                self.text.push_str(",\"return\":");
                put(&mut self.text, result);
            }
            Event::Fail => self.text.push_str(",\"fail\":true"),
            Event::Unknown => self.text.push_str(",\"unknown\":true"),
        }
        self.text.push_str("}\n");
        if self.text.len() >= 1 << 16 {
            self.out.write_all(self.text.as_bytes())?;
            self.text.clear();
        }
        Ok(())
    }

    fn call(&mut self, method: &str, args: &[Value]) {
        self.text.push_str(",\"call\":");
        quote(method, &mut self.text);
        if args.is_empty() {
            return;
        }
        self.text.push_str(",\"args\":[");
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            put(&mut self.text, arg);
        }
        self.text.push(']');
    }

    /// Hands everything to the output.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.write_all(self.text.as_bytes())?;
        self.out.flush()
    }

    fn process(&mut self, process: u32) {
        self.text.push_str("{\"process\":");
        put_int(&mut self.text, process.into());
    }
}

fn put(out: &mut String, value: &Value) {
    match value {
        Value::Nil => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(n) => put_int(out, *n),
        Value::Decimal(n) => out.push_str(&n.to_string()),
        Value::Text(text) => quote(text, out),
        Value::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                put(out, item);
            }
            out.push(']');
        }
    }
}

fn put_int(out: &mut String, n: i64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = n.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if n < 0 {
        out.push('-');
    }
    digits[at..].iter().for_each(|&digit| out.push(char::from(digit)));
}
