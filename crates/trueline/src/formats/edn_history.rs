//! Histories in EDN: one map per event, one per line or all of them in one vector or list.
//!
//! Irrelevant keys (`:time`, `:index`, `:error`, `:node`) are skipped without building their
//! values, and so are the events of processes that are keywords, such as `:nemesis`, because they
//! are not clients. With `:key` beside `:value` (format `edn-kv`), the key is the first argument.

use std::io::Read;

use super::edn::{Cursor, Stop};
use super::jepsen::{Event, Recorder, Type};
use super::lexis::{LOOKAHEAD, found, int, text};
use super::source::{LIMIT, Source};
use super::{Keys, no_operations};
use crate::history::{Builder, Error, History, Position};
use crate::value::Value;

/// The bytes of a value and where they stand.
#[derive(Clone, Copy, Default)]
struct Field<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Field<'_> {
    fn bad<T>(&self, expected: &str) -> Result<T, Stop> {
        Err(Stop::Bad(self.at, format!("found {}: expected {expected}", found(self.bytes))))
    }

    fn value(&self, builder: &mut Builder) -> Result<Value, Stop> {
        if let Some(n) = int(self.bytes) {
            return Ok(Value::Int(n));
        }
        // One level is the map itself.
        Cursor::new(self.bytes, 0, true).value(1, builder).map_err(|stop| match stop {
            Stop::Bad(at, message) => Stop::Bad(self.at + at, message),
            Stop::Incomplete => Stop::Incomplete,
        })
    }
}

/// The relevant fields of a map; a missing one has no bytes.
#[derive(Default)]
struct Fields<'a> {
    process: Field<'a>,
    kind: Field<'a>,
    method: Field<'a>,
    value: Field<'a>,
    key: Field<'a>,
}

/// The position of the reader between two maps.
enum Step {
    /// A map that was taken in or skipped, or a bracket around them.
    Taken,
    /// The end of the input.
    End,
}

/// The brackets around all maps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    Open(u8),
    Closed,
}

/// Reads a history. With `keyed`, each event has a `:key`.
pub(crate) fn read<R: Read>(
    source: &mut Source<R>,
    keys: Keys,
    keyed: bool,
) -> Result<History, Error> {
    // If the key has a field of its own, values carry no keys.
    let keys = if keyed { Keys::No } else { keys };
    let mut reader = Reader { recorder: Recorder::new(keys), keyed, around: Around::Nothing };
    loop {
        let mut cursor = Cursor::new(source.data(), 0, source.is_last());
        match reader.step(&mut cursor, source) {
            Ok(Ok(Step::Taken)) => {
                let length = cursor.at;
                if length > LIMIT {
                    return Err(source.too_long("form"));
                }
                source.consume(length);
            }
            Ok(Ok(Step::End)) => break,
            Ok(Err(error)) => return Err(error),
            Err(Stop::Incomplete) => {
                if source.data().len() > LIMIT {
                    return Err(source.too_long("form"));
                }
                if !source.more() {
                    source.check_end()?;
                }
            }
            Err(Stop::Bad(at, message)) => {
                // The message quotes the following text, so enough of it must be read.
                if source.data().len() - at.min(source.data().len()) < LOOKAHEAD && source.more() {
                    continue;
                }
                return Err(Error::at(source.position(at), message));
            }
        }
    }
    if reader.recorder.builder.is_empty() {
        return Err(no_operations(
            "a map such as {:process 0, :type :invoke, :f :read, :value nil}",
        ));
    }
    Ok(reader.recorder.finish())
}

struct Reader {
    recorder: Recorder,
    keyed: bool,
    around: Around,
}

impl Reader {
    /// One map, or one bracket around the maps. `Stop`: the syntax is wrong or continues in the
    /// next chunk; nothing was consumed. `Error`: the event does not fit the history.
    fn step<R: Read>(
        &mut self,
        cursor: &mut Cursor<'_>,
        source: &Source<R>,
    ) -> Result<Result<Step, Error>, Stop> {
        let byte = cursor.next(0)?;
        match (byte, self.around) {
            (Some(b'{'), Around::Nothing | Around::Open(_)) => {}
            (None, Around::Nothing | Around::Closed) => return Ok(Ok(Step::End)),
            (None, Around::Open(close)) => {
                return cursor.bad(&format!("a map or `{}`", char::from(close)));
            }
            (Some(open @ (b'[' | b'(')), Around::Nothing) => {
                if !self.recorder.builder.is_empty() {
                    return cursor.bad("a map");
                }
                cursor.at += 1;
                self.around = Around::Open(if open == b'[' { b']' } else { b')' });
                return Ok(Ok(Step::Taken));
            }
            (Some(byte), Around::Open(close)) if byte == close => {
                cursor.at += 1;
                self.around = Around::Closed;
                return Ok(Ok(Step::Taken));
            }
            (Some(b'#'), Around::Nothing | Around::Open(_)) => {
                // A tag, as in `#jepsen.history.Op{...}`.
                cursor.at += 1;
                if cursor.token()?.is_empty() {
                    return cursor.bad("a tag and a map");
                }
                return Ok(Ok(Step::Taken));
            }
            (Some(_), Around::Closed) => return cursor.bad("nothing behind the closing bracket"),
            (Some(_), _) => {
                return cursor.bad("a map such as {:process 0, :type :invoke, :f :read}");
            }
        }
        let start = cursor.at;
        let fields = self.fields(cursor)?;
        // Processes that are keywords are no clients.
        if fields.process.bytes.first() == Some(&b':') {
            return Ok(Ok(Step::Taken));
        }
        let mut event = self.event(&fields, start)?;
        event.at = source.position(start);
        Ok(self.recorder.event(event).map(|()| Step::Taken))
    }

    /// Finds the fields of a map; the cursor stands at its brace.
    fn fields<'a>(&self, cursor: &mut Cursor<'a>) -> Result<Fields<'a>, Stop> {
        let mut fields = Fields::default();
        cursor.at += 1;
        loop {
            match cursor.next(1)? {
                Some(b'}') => {
                    cursor.at += 1;
                    return Ok(fields);
                }
                Some(b':') => {}
                Some(b']' | b')') | None => return cursor.bad("a key or `}`"),
                Some(_) => {
                    cursor.form(1)?;
                    cursor.form(1)?;
                    continue;
                }
            }
            let at = cursor.at;
            let key = cursor.token()?;
            let value = cursor.form(1)?;
            let value_at = cursor.at - value.len();
            let field = match key {
                b":process" => &mut fields.process,
                b":type" => &mut fields.kind,
                b":f" => &mut fields.method,
                b":value" => &mut fields.value,
                b":key" if self.keyed => &mut fields.key,
                _ => continue,
            };
            if !field.bytes.is_empty() {
                let message = format!("found {} twice: expected it once in a map", text(key));
                return Err(Stop::Bad(at, message));
            }
            *field = Field { bytes: value, at: value_at };
        }
    }

    /// The event in the fields of a map; its line is not known yet. The map starts at `start`.
    fn event<'a>(&mut self, fields: &Fields<'a>, start: usize) -> Result<Event<'a>, Stop> {
        let lacks = |field: &Field<'_>| field.bytes.is_empty();
        if lacks(&fields.process)
            || lacks(&fields.kind)
            || lacks(&fields.method)
            || (self.keyed && lacks(&fields.key))
        {
            return Err(self.incomplete(fields, start));
        }
        let builder = &mut self.recorder.builder;
        let Some(kind) = Type::parse(fields.kind.bytes) else {
            return fields.kind.bad(":invoke, :ok, :fail or :info");
        };
        let method = match fields.method.bytes {
            [b':', name @ ..] if !name.is_empty() => text(name),
            [b'"', name @ .., b'"'] if !name.is_empty() && !name.contains(&b'\\') => text(name),
            name @ [b'a'..=b'z' | b'A'..=b'Z', ..] if name != b"nil" => text(name),
            _ => return fields.method.bad("the name of an operation, such as :read"),
        };
        let process = match fields.process.bytes {
            [b'"', ..] | [b'a'..=b'z' | b'A'..=b'Z', ..] => fields.process.value(builder)?,
            digits => match int(digits.strip_suffix(b"N").unwrap_or(digits)) {
                Some(n) => Value::Int(n),
                None => Value::Nil,
            },
        };
        if !matches!(process, Value::Int(_) | Value::Text(_)) {
            return fields.process.bad("the number of a process");
        }
        // The value of an event that did not return has no meaning.
        let matters = matches!(kind, Type::Invoke | Type::Ok);
        let value = match fields.value.bytes {
            [] => Value::Nil,
            _ if !matters => Value::Nil,
            _ => fields.value.value(builder)?,
        };
        let key = if self.keyed { Some(fields.key.value(builder)?) } else { None };
        Ok(Event { process, kind, method, value, key, at: Position::default() })
    }

    #[cold]
    fn incomplete(&self, fields: &Fields<'_>, start: usize) -> Stop {
        let needed = [
            (fields.process, ":process"),
            (fields.kind, ":type"),
            (fields.method, ":f"),
            (fields.key, ":key"),
        ];
        let missing = needed.iter().find(|(field, _)| field.bytes.is_empty());
        let name = missing.map_or(":process", |(_, name)| name);
        let all =
            if self.keyed { ":process, :type, :f and :key" } else { ":process, :type and :f" };
        Stop::Bad(start, format!("found a map without {name}: expected {all}"))
    }
}
