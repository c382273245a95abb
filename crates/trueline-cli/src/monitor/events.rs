//! The events of one file, or of several merged by time.
//!
//! One file is read as it stands. Of several, the event with the earliest `time` comes next; at equal times calls come
//! first, so that what touches overlaps, and then the order of the files counts. Within a file the order is that of its lines.
//! Processes of different files are different, whatever their names.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::rc::Rc;

use trueline::Value;
use trueline::error::WatchError;
use trueline::formats::{EventError, EventReader, Happening, StreamEvent};
use trueline::history::{Args, Part, Position};

use super::follow::Follow;
use super::is_stdin;
use crate::input::unpacked;

/// An event that is held on to.
pub(super) struct Held {
    pub(super) process: Value,
    pub(super) what: What,
    pub(super) at: Position,
    time: Option<i64>,
}

pub(super) enum What {
    Call { args: Args, part: Option<Box<Part>> },
    Return(Value),
    Fail,
    Unknown,
}

/// The next event and where it comes from.
pub(super) struct Next<'a> {
    pub(super) held: Held,
    pub(super) method: &'a str,
    pub(super) input: usize,
    pub(super) file: &'a str,
    /// The specification that its file names.
    pub(super) spec: Option<&'a str>,
}

pub(super) struct Failed {
    pub(super) message: String,
    /// Only this line is wrong.
    pub(super) is_line: bool,
}

struct Input {
    file: String,
    reader: EventReader<Box<dyn Read>>,
    method: String,
    /// The next event, where several files are merged, and the latest time before it.
    next: Option<Held>,
    latest: i64,
    is_over: bool,
}

impl Input {
    fn read(&mut self) -> Result<Option<Held>, Failed> {
        let failed = |error: &dyn std::fmt::Display, is_line| Failed {
            message: format!("{}:{error}", self.file),
            is_line,
        };
        match self.reader.next_event() {
            Ok(Some(event)) => {
                let StreamEvent { process, what, time, at } = event;
                let what = match what {
                    Happening::Call { method, args, part } => {
                        self.method.clear();
                        self.method.push_str(method);
                        What::Call { args, part }
                    }
                    Happening::Return(result) => What::Return(result),
                    Happening::Fail => What::Fail,
                    Happening::Unknown => What::Unknown,
                };
                Ok(Some(Held { process, what, at, time }))
            }
            Ok(None) => Ok(None),
            Err(EventError::Line(error)) => Err(failed(&error, true)),
            Err(EventError::Input(error)) => Err(failed(&error, false)),
        }
    }
}

pub(super) struct Events {
    inputs: Vec<Input>,
    /// Which one the last event, or error, came from.
    last: usize,
    bytes: Rc<Cell<u64>>,
}

/// Counts what is read.
struct Counted {
    reader: Box<dyn Read>,
    bytes: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

impl Events {
    pub(super) fn open(files: &[PathBuf], follow: bool) -> Result<Events, String> {
        let mut inputs = Vec::new();
        let bytes = Rc::new(Cell::new(0));
        for path in files {
            let file = path.display().to_string();
            let reader: Box<dyn Read> = if is_stdin(path) {
                Box::new(io::stdin())
            } else {
                let failed = |error: io::Error| match error.kind() {
                    io::ErrorKind::NotFound => format!("{file}: there is no such file"),
                    _ => format!("{file}: {error}"),
                };
                if fs::metadata(path).map_err(failed)?.is_dir() {
                    return Err(format!("{file}: this is a directory: expected a file"));
                }
                let opened = File::open(path).map_err(failed)?;
                match follow {
                    true => Box::new(Follow::new(opened, path).map_err(failed)?),
                    false => unpacked(Box::new(opened)).map_err(failed)?,
                }
            };
            let reader = EventReader::new(Box::new(Counted { reader, bytes: bytes.clone() }) as _);
            let (method, next) = (String::new(), None);
            inputs.push(Input { file, reader, method, next, latest: i64::MIN, is_over: false });
        }
        Ok(Events { inputs, last: 0, bytes })
    }

    /// How many bytes were read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// The file of the last event.
    pub(super) fn file(&self) -> &str {
        &self.inputs[self.last].file
    }

    /// True where the next event has to be waited for.
    pub(super) fn must_wait(&self) -> bool {
        let waits =
            |input: &Input| input.next.is_none() && !input.is_over && input.reader.must_wait();
        self.inputs.iter().any(waits)
    }

    pub(super) fn next(&mut self) -> Result<Option<Next<'_>>, Failed> {
        let held = match self.inputs.as_mut_slice() {
            [one] => one.read()?,
            _ => self.next_of_several()?,
        };
        let input = &self.inputs[self.last];
        Ok(held.map(|held| Next {
            held,
            method: &input.method,
            input: self.last,
            file: &input.file,
            spec: input.reader.spec(),
        }))
    }

    fn next_of_several(&mut self) -> Result<Option<Held>, Failed> {
        for number in 0..self.inputs.len() {
            let input = &mut self.inputs[number];
            if input.next.is_none() && !input.is_over {
                self.last = number;
                input.next = input.read()?;
                match &input.next {
                    None => input.is_over = true,
                    Some(Held { time: None, at, .. }) => {
                        let message = format!(
                            "{}:{}:{}: no time: expected \"time\" as a whole number, to merge several files",
                            input.file, at.line, at.column
                        );
                        input.next = None;
                        return Err(Failed { message, is_line: true });
                    }
                    Some(Held { time: Some(time), at, .. }) if *time < input.latest => {
                        let message = format!(
                            "{}:{}:{}: the time {time} is before {}, that of an earlier line: expected times that do not go back, to merge several files",
                            input.file, at.line, at.column, input.latest
                        );
                        input.next = None;
                        return Err(Failed { message, is_line: true });
                    }
                    Some(held) => input.latest = held.time.unwrap_or(input.latest),
                }
            }
        }
        let key = |(number, input): (usize, &Input)| {
            let held = input.next.as_ref()?;
            Some((held.time, !matches!(held.what, What::Call { .. }), number))
        };
        let Some((_, _, first)) = self.inputs.iter().enumerate().filter_map(key).min() else {
            return Ok(None);
        };
        self.last = first;
        Ok(self.inputs[first].next.take())
    }
}

/// The numbers of processes and objects.
#[derive(Default)]
pub(super) struct Names {
    /// By file, of processes that are named by small numbers.
    small: Vec<Vec<Option<u32>>>,
    others: HashMap<(usize, Value), u32>,
    objects: HashMap<Part, u32>,
    only: Option<u32>,
}

impl Names {
    pub(super) fn process(&mut self, input: usize, name: &Value, new: impl FnOnce() -> u32) -> u32 {
        if let &Value::Int(n @ 0..4096) = name {
            if self.small.len() <= input {
                self.small.resize(input + 1, Vec::new());
            }
            let small = &mut self.small[input];
            if small.len() <= n as usize {
                small.resize(n as usize + 1, None);
            }
            return *small[n as usize].get_or_insert_with(new);
        }
        *self.others.entry((input, name.clone())).or_insert_with(new)
    }

    pub(super) fn object(
        &mut self,
        part: Part,
        new: impl FnOnce(Part) -> Result<u32, WatchError>,
    ) -> Result<u32, WatchError> {
        let is_only = part.object.is_nil() && part.key.is_nil();
        if let (true, Some(number)) = (is_only, self.only) {
            return Ok(number);
        }
        if let Some(&number) = self.objects.get(&part) {
            return Ok(number);
        }
        let number = new(part.clone())?;
        self.objects.insert(part, number);
        if is_only {
            self.only = Some(number);
        }
        Ok(number)
    }
}

/// The name of a process in reports: with that of its file, where there are several.
pub(super) fn process_name(next: &Next<'_>, files: usize) -> Value {
    match files {
        1 => next.held.process.clone(),
        _ => Value::text(format!("{}:{}", next.file, next.held.process)),
    }
}
