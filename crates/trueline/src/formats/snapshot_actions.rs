//! Starts and ends of updates and scans:
//! `startUpdate!4,0;startScan!7;endUpdate!4,0;endScan!7,0,1;`.
//!
//! The first number is the process. An update writes the following value into the segment of the
//! process: method `update` with the arguments process and value. The end of a scan lists the
//! values that it returned, which are its result. Actions end with `;` or a line end, and
//! operations may be pending. Names the specification `snapshot`.

use std::io::Read;

use super::lexis::{found, int};
use super::no_operations;
use super::source::{Piece, Source};
use crate::history::{Args, Builder, Call, Error, History, Part};
use crate::value::Value;

/// Reads a history.
pub(crate) fn read<R: Read>(source: &mut Source<R>) -> Result<History, Error> {
    let mut builder = Builder::new();
    builder.set_spec("snapshot");
    let part = builder.part(Part::default());
    let (update, scan) = (builder.method("update"), builder.method("scan"));
    while let Some(action) = source.piece(b';')? {
        let trimmed = action.bytes.trim_ascii();
        if trimmed.is_empty() {
            continue;
        }
        let offset = action.bytes.len() - action.bytes.trim_ascii_start().len();
        let at = action.at(offset);
        let Some(bang) = trimmed.iter().position(|&b| b == b'!') else {
            return Err(wrong(&action, offset, trimmed));
        };
        let (verb, rest) = (&trimmed[..bang], &trimmed[bang + 1..]);
        let numbers = numbers(&action, offset + bang + 1, rest)?;
        let process = builder.process(&Value::Int(numbers[0]));
        match (verb, &numbers[..]) {
            (b"startUpdate", &[segment, value]) => {
                let args = Args::from(vec![segment.into(), value.into()]);
                builder.call(process, part, Call { method: update, args }, at)?;
            }
            (b"startScan", &[_]) => {
                builder.call(process, part, Call { method: scan, args: Args::None }, at)?;
            }
            (b"endUpdate", &[segment, value]) => {
                expect(&mut builder, process, &action, offset, |call| {
                    call.method == update && call.args.as_slice() == [segment.into(), value.into()]
                })?;
                builder.returns(process, Value::Nil, at)?;
            }
            (b"endScan", &[_, _, ..]) => {
                expect(&mut builder, process, &action, offset, |call| call.method == scan)?;
                let seen = numbers[1..].iter().map(|&n| Value::Int(n));
                builder.returns(process, Value::list(seen), at)?;
            }
            _ => return Err(wrong(&action, offset, trimmed)),
        }
    }
    if builder.is_empty() {
        return Err(no_operations("an action such as `startUpdate!4,0;`"));
    }
    Ok(builder.finish())
}

fn numbers(action: &Piece<'_>, mut offset: usize, rest: &[u8]) -> Result<Vec<i64>, Error> {
    let mut numbers = Vec::new();
    for word in rest.split(|&b| b == b',') {
        let Some(n) = int(word.trim_ascii()) else {
            let message = format!("found {}: expected a number", found(word));
            return Err(action.error(offset, message));
        };
        numbers.push(n);
        offset += word.len() + 1;
    }
    Ok(numbers)
}

/// The open call of a process, if there is one, is the one that ends here.
fn expect(
    builder: &mut Builder,
    process: u32,
    action: &Piece<'_>,
    offset: usize,
    fits: impl Fn(&Call) -> bool,
) -> Result<(), Error> {
    let Some(open) = builder.open_operation(process) else { return Ok(()) };
    if fits(builder.call_mut(open)) {
        return Ok(());
    }
    let what = found(&action.bytes[offset..]);
    Err(action.error(offset, format!("found {what}: expected the end of what the process started")))
}

fn wrong(action: &Piece<'_>, offset: usize, trimmed: &[u8]) -> Error {
    let message = format!(
        "found {}: expected startUpdate!process,value, endUpdate!process,value, startScan!process or \
         endScan!process,value,...",
        found(trimmed)
    );
    action.error(offset, message)
}
