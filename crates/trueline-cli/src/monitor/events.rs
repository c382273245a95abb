//! The events of one file, or of several merged by time.
//!
//! One file is read in its order. Several files are merged by `time`: the earliest event comes
//! next. At equal times calls come first, so that operations that touch overlap; then the order of
//! the files decides. The order within a file never changes. Processes of different files are
//! different, even if they have the same name.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::rc::Rc;

use trueline::Value;
use trueline::error::WatchError;
use trueline::formats::{EventError, EventLine, EventReader};
use trueline::history::{Event, Part};

use super::follow::Follow;
use super::is_stdin;
use crate::input::unpacked;

/// The next event and where it comes from.
pub(super) struct Next {
    pub(super) line: EventLine,
    /// The number of its file.
    pub(super) input: usize,
}

pub(super) struct Failed {
    pub(super) message: String,
    /// Whether only this line is wrong, so that reading can go on.
    pub(super) is_line: bool,
}

struct Input {
    file: String,
    reader: EventReader<Box<dyn Read>>,
    /// If several files are merged: the next event, and the latest time before it.
    next: Option<EventLine>,
    latest: i64,
    is_over: bool,
}

impl Input {
    fn read(&mut self) -> Result<Option<EventLine>, Failed> {
        self.reader.next_event().map_err(|error| {
            let (error, is_line) = match error {
                EventError::Line(error) => (error, true),
                EventError::Input(error) => (error, false),
            };
            Failed { message: format!("{}:{error}", self.file), is_line }
        })
    }
}

pub(super) struct Events {
    inputs: Vec<Input>,
    /// The file of the last event or error.
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
            inputs.push(Input { file, reader, next: None, latest: i64::MIN, is_over: false });
        }
        Ok(Events { inputs, last: 0, bytes })
    }

    /// The number of bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// The file of the last event.
    pub(super) fn file(&self) -> &str {
        &self.inputs[self.last].file
    }

    /// Whether reading the next event would block.
    pub(super) fn must_wait(&self) -> bool {
        let waits =
            |input: &Input| input.next.is_none() && !input.is_over && input.reader.must_wait();
        self.inputs.iter().any(waits)
    }

    /// The specification that the file of the last event names.
    pub(super) fn spec(&self) -> Option<&str> {
        self.inputs[self.last].reader.spec()
    }

    /// The reader of a file, which maps the numbers in its events to names.
    pub(super) fn reader(&self, input: usize) -> &EventReader<Box<dyn Read>> {
        &self.inputs[input].reader
    }

    /// The name of a process in reports: with the name of its file, if there are several.
    pub(super) fn process_name(&self, next: &Next) -> Value {
        let Input { file, reader, .. } = &self.inputs[next.input];
        let name = reader.process(next.line.process);
        match self.inputs.len() {
            1 => name.clone(),
            _ => Value::text(format!("{file}:{name}")),
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<Next>, Failed> {
        let line = match self.inputs.as_mut_slice() {
            [one] => one.read()?,
            _ => self.next_of_several()?,
        };
        Ok(line.map(|line| Next { line, input: self.last }))
    }

    fn next_of_several(&mut self) -> Result<Option<EventLine>, Failed> {
        for number in 0..self.inputs.len() {
            let input = &mut self.inputs[number];
            if input.next.is_none() && !input.is_over {
                self.last = number;
                input.next = input.read()?;
                match &input.next {
                    None => input.is_over = true,
                    Some(EventLine { time: None, at, .. }) => {
                        let message = format!(
                            "{}:{}:{}: no time: expected \"time\" as a whole number, to merge several files",
                            input.file, at.line, at.column
                        );
                        input.next = None;
                        return Err(Failed { message, is_line: true });
                    }
                    Some(EventLine { time: Some(time), at, .. }) if *time < input.latest => {
                        let message = format!(
                            "{}:{}:{}: the time {time} is before {}, that of an earlier line: expected times that do not go back, to merge several files",
                            input.file, at.line, at.column, input.latest
                        );
                        input.next = None;
                        return Err(Failed { message, is_line: true });
                    }
                    Some(line) => input.latest = line.time.unwrap_or(input.latest),
                }
            }
        }
        let key = |(number, input): (usize, &Input)| {
            let line = input.next.as_ref()?;
            Some((line.time, !matches!(line.event, Event::Call(..)), number))
        };
        let Some((_, _, first)) = self.inputs.iter().enumerate().filter_map(key).min() else {
            return Ok(None);
        };
        self.last = first;
        Ok(self.inputs[first].next.take())
    }
}

/// The numbers that the monitor has given to the processes, methods and objects of the files.
#[derive(Default)]
pub(super) struct Numbers {
    /// The numbers for each file, indexed by the number there.
    inputs: Vec<InputNumbers>,
    /// Objects of the same name are the same object in all files.
    objects: HashMap<Part, u32>,
}

#[derive(Default)]
struct InputNumbers {
    processes: Vec<Option<u32>>,
    methods: Vec<Option<u32>>,
    objects: Vec<Option<u32>>,
}

/// The entry for this number.
fn place(numbers: &mut Vec<Option<u32>>, number: u32) -> &mut Option<u32> {
    let number = number as usize;
    if numbers.len() <= number {
        numbers.resize(number + 1, None);
    }
    &mut numbers[number]
}

impl Numbers {
    fn of(&mut self, input: usize) -> &mut InputNumbers {
        if self.inputs.len() <= input {
            self.inputs.resize_with(input + 1, InputNumbers::default);
        }
        &mut self.inputs[input]
    }

    pub(super) fn process(&mut self, next: &Next, new: impl FnOnce() -> u32) -> u32 {
        let numbers = &mut self.of(next.input).processes;
        *place(numbers, next.line.process).get_or_insert_with(new)
    }

    pub(super) fn method(&mut self, input: usize, method: u32, new: impl FnOnce() -> u32) -> u32 {
        *place(&mut self.of(input).methods, method).get_or_insert_with(new)
    }

    pub(super) fn object(
        &mut self,
        input: usize,
        object: u32,
        name: &Part,
        new: impl FnOnce(Part) -> Result<u32, WatchError>,
    ) -> Result<u32, WatchError> {
        if let Some(number) = *place(&mut self.of(input).objects, object) {
            return Ok(number);
        }
        let number = match self.objects.get(name) {
            Some(&number) => number,
            None => new(name.clone())?,
        };
        self.objects.insert(name.clone(), number);
        *place(&mut self.of(input).objects, object) = Some(number);
        Ok(number)
    }
}
