//! Writes histories: as JSON Lines, EDN, in Wing and Gong's notation, or as calls.
//!
//! A written history reads back as the same operations in the same order. If a format cannot
//! express something, that is a [`WriteError`] that says so; nothing is left out. JSON Lines can
//! express everything. The others lose the specification (EDN, Wing and Gong) and the processes
//! (calls).

use std::fmt::{self, Write as _};
use std::io;

use super::Format;
use super::calls::{is_removal, removals_return};
use super::jepsen::{is_observer, returns_former_value};
use super::json_lines::SCHEMA;
use super::lexis::{quote, write_word};
use crate::history::{Call, History, Operation};
use crate::value::Value;

/// A history that could not be written.
#[derive(Debug)]
pub struct WriteError(Cause);

#[derive(Debug)]
enum Cause {
    Io(io::Error),
    /// The format cannot express it.
    Cannot(Format, String),
}

impl WriteError {
    /// The error of the writer, if it is one; otherwise the format cannot express the history.
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.0 {
            Cause::Io(error) => Some(error),
            Cause::Cannot(..) => None,
        }
    }

    fn cannot(format: Format, what: impl Into<String>) -> WriteError {
        WriteError(Cause::Cannot(format, what.into()))
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // The source gives the reason.
            Cause::Io(_) => f.write_str("writing failed"),
            Cause::Cannot(format, what) => {
                write!(f, "the format {format} cannot express {what}")?;
                if *format != Format::JsonLines { f.write_str(" (json-lines can)") } else { Ok(()) }
            }
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.io_error().map(|error| error as _)
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> WriteError {
        WriteError(Cause::Io(error))
    }
}

/// Writes a history. [`Format::writable`] says which formats are supported.
pub fn write(
    history: &History,
    format: Format,
    out: &mut impl io::Write,
) -> Result<(), WriteError> {
    let writer: &dyn Notation = match format {
        Format::JsonLines => &JsonLines,
        Format::Edn => &Edn { keys: history.parts().iter().any(|part| !part.key.is_nil()) },
        Format::WingGong => &WingGong,
        Format::Calls => &Calls,
        _ => {
            return Err(WriteError::cannot(
                format,
                "histories that it did not record: it is only read",
            ));
        }
    };
    let mut text = String::new();
    writer.header(history, &mut text)?;
    // The open operation of each process; a pending one is closed when the process calls again, or
    // at the end.
    let mut pending: Vec<Option<usize>> = vec![None; history.processes().len()];
    for (index, is_call) in events(history) {
        let operation = &history.operations()[index];
        let event = Event { history, operation, index };
        if is_call {
            let before = pending[operation.process as usize].take();
            if let Some(index) = before {
                writer.unknown(
                    &Event { index, operation: &history.operations()[index], ..event },
                    &mut text,
                )?;
            }
            writer.call(&event, &mut text)?;
            if operation.is_pending() {
                pending[operation.process as usize] = Some(index);
            }
        } else {
            writer.returns(&event, &mut text)?;
        }
        if text.len() > 1 << 16 {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    let mut last: Vec<usize> = pending.into_iter().flatten().collect();
    last.sort_unstable();
    for index in last {
        let event = Event { history, operation: &history.operations()[index], index };
        writer.end(&event, &mut text)?;
    }
    out.write_all(text.as_bytes())?;
    Ok(())
}

/// The index of each operation and whether it is called (otherwise it returns), in order of the
/// ranks.
fn events(history: &History) -> impl Iterator<Item = (usize, bool)> {
    let operations = history.operations();
    let mut returns: Vec<(u32, u32)> = (0u32..)
        .zip(operations)
        .filter(|(_, o)| !o.is_pending())
        .map(|(i, o)| (o.returned, i))
        .collect();
    returns.sort_unstable();
    let (mut call, mut ret) = (0, 0);
    std::iter::from_fn(move || {
        let next_return = returns.get(ret);
        match operations.get(call) {
            Some(o) if next_return.is_none_or(|&(rank, _)| o.call < rank) => {
                call += 1;
                Some((call - 1, true))
            }
            _ => {
                ret += 1;
                next_return.map(|&(_, i)| (i as usize, false))
            }
        }
    })
}

/// The data of one event.
#[derive(Clone, Copy)]
struct Event<'a> {
    history: &'a History,
    operation: &'a Operation<Call, Value>,
    index: usize,
}

impl<'a> Event<'a> {
    fn process(&self) -> &'a Value {
        &self.history.processes()[self.operation.process as usize]
    }

    fn method(&self) -> &'a str {
        &self.history.methods()[self.operation.op.method as usize]
    }

    fn args(&self) -> &'a [Value] {
        self.operation.op.args.as_slice()
    }

    fn object(&self) -> &'a Value {
        &self.history.parts()[self.operation.part as usize].object
    }

    fn key(&self) -> &'a Value {
        &self.history.parts()[self.operation.part as usize].key
    }

    fn result(&self) -> &'a Value {
        self.operation.result.as_ref().unwrap_or(&Value::Nil)
    }
}

type Written = Result<(), WriteError>;

/// How a format spells events.
trait Notation {
    fn header(&self, _history: &History, _out: &mut String) -> Written {
        Ok(())
    }
    fn call(&self, event: &Event<'_>, out: &mut String) -> Written;
    fn returns(&self, event: &Event<'_>, out: &mut String) -> Written;
    /// The operation is pending, and its process calls again.
    fn unknown(&self, event: &Event<'_>, out: &mut String) -> Written;
    /// The operation is pending, and its process does nothing any more.
    fn end(&self, _event: &Event<'_>, _out: &mut String) -> Written {
        Ok(())
    }
}

fn put(out: &mut String, arguments: fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a string");
}

struct JsonLines;

impl JsonLines {
    fn value(value: &Value, out: &mut String) {
        match value {
            Value::Nil => out.push_str("null"),
            Value::Text(text) => quote(text, out),
            Value::List(items) => JsonLines::values(items, out),
            Value::Bool(_) | Value::Int(_) | Value::Decimal(_) => put(out, format_args!("{value}")),
        }
    }

    fn values(items: &[Value], out: &mut String) {
        out.push('[');
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            JsonLines::value(item, out);
        }
        out.push(']');
    }

    fn process(event: &Event<'_>, out: &mut String) -> Written {
        let process = event.process();
        if !matches!(process, Value::Int(_) | Value::Text(_)) {
            return Err(WriteError::cannot(
                Format::JsonLines,
                format!("a process named {process}"),
            ));
        }
        out.push_str("{\"process\":");
        JsonLines::value(process, out);
        Ok(())
    }
}

impl Notation for JsonLines {
    fn header(&self, history: &History, out: &mut String) -> Written {
        put(out, format_args!("{{\"schema\":\"{SCHEMA}\""));
        if let Some(spec) = history.spec() {
            out.push_str(",\"spec\":");
            quote(spec, out);
        }
        out.push_str("}\n");
        Ok(())
    }

    fn call(&self, event: &Event<'_>, out: &mut String) -> Written {
        JsonLines::process(event, out)?;
        for (name, value) in [("object", event.object()), ("key", event.key())] {
            if !value.is_nil() {
                put(out, format_args!(",\"{name}\":"));
                JsonLines::value(value, out);
            }
        }
        out.push_str(",\"call\":");
        quote(event.method(), out);
        if !event.args().is_empty() {
            out.push_str(",\"args\":");
            JsonLines::values(event.args(), out);
        }
        out.push_str("}\n");
        Ok(())
    }

    fn returns(&self, event: &Event<'_>, out: &mut String) -> Written {
        JsonLines::process(event, out)?;
        out.push_str(",\"return\":");
        JsonLines::value(event.result(), out);
        out.push_str("}\n");
        Ok(())
    }

    fn unknown(&self, event: &Event<'_>, out: &mut String) -> Written {
        JsonLines::process(event, out)?;
        out.push_str(",\"unknown\":true}\n");
        Ok(())
    }
}

struct Edn {
    /// Whether some operation has a key: then all are written with one.
    keys: bool,
}

impl Edn {
    fn value(value: &Value, out: &mut String) {
        match value {
            Value::Text(text) => quote(text, out),
            Value::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(' ');
                    }
                    Edn::value(item, out);
                }
                out.push(']');
            }
            _ => put(out, format_args!("{value}")),
        }
    }

    /// The value that the call shows, if EDN can show it.
    fn called(event: &Event<'_>) -> Result<Value, WriteError> {
        let method = event.method();
        match event.args() {
            [] if method != "cas" => Ok(Value::Nil),
            [_, _] if method == "cas" => Ok(Value::list(event.args().iter().cloned())),
            [one] if !one.is_nil() && method != "cas" && !is_observer(method) => Ok(one.clone()),
            args => {
                let shown: Vec<String> = args.iter().map(Value::to_string).collect();
                let what = format!("a {method} with the arguments ({})", shown.join(", "));
                Err(WriteError::cannot(Format::Edn, what))
            }
        }
    }

    fn event(&self, event: &Event<'_>, kind: &str, value: &Value, out: &mut String) -> Written {
        let (process, method) = (event.process(), event.method());
        let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.?!*+<>=".contains(c);
        if method.is_empty() || method == "txn" || !method.chars().all(is_word) {
            return Err(WriteError::cannot(Format::Edn, format!("a method named {method:?}")));
        }
        if !event.object().is_nil() {
            return Err(WriteError::cannot(Format::Edn, "the names of objects"));
        }
        out.push_str("{:process ");
        match process {
            Value::Int(_) | Value::Text(_) => Edn::value(process, out),
            _ => return Err(WriteError::cannot(Format::Edn, format!("a process named {process}"))),
        }
        put(out, format_args!(", :type :{kind}, :f :{method}, :value "));
        if self.keys {
            out.push('[');
            Edn::value(event.key(), out);
            out.push(' ');
        }
        Edn::value(value, out);
        if self.keys {
            out.push(']');
        }
        out.push_str("}\n");
        Ok(())
    }
}

impl Notation for Edn {
    fn call(&self, event: &Event<'_>, out: &mut String) -> Written {
        self.event(event, "invoke", &Edn::called(event)?, out)
    }

    fn returns(&self, event: &Event<'_>, out: &mut String) -> Written {
        let called = Edn::called(event)?;
        if let (true, Value::List(pair)) = (returns_former_value(event.method()), &called)
            && let [key, _] = pair.as_slice()
        {
            let shown = Value::list([key.clone(), event.result().clone()]);
            return self.event(event, "ok", &shown, out);
        }
        let shown = match event.result() {
            result if is_observer(event.method()) => result,
            Value::Nil => &called,
            result if *result == called => {
                let what = format!("a {} that returns its argument {result}", event.method());
                return Err(WriteError::cannot(Format::Edn, what));
            }
            result => result,
        };
        self.event(event, "ok", shown, out)
    }

    fn unknown(&self, event: &Event<'_>, out: &mut String) -> Written {
        self.event(event, "info", &Edn::called(event)?, out)
    }

    fn end(&self, event: &Event<'_>, out: &mut String) -> Written {
        self.unknown(event, out)
    }
}

struct WingGong;

impl WingGong {
    fn line(event: &Event<'_>, name: &str, args: &[Value], out: &mut String) -> Written {
        if !event.key().is_nil() {
            return Err(WriteError::cannot(Format::WingGong, "independent keys"));
        }
        match event.object() {
            Value::Nil => out.push('x'),
            object => write_word(object, out),
        }
        put(out, format_args!(" {name}("));
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            write_word(arg, out);
        }
        out.push_str(") ");
        write_word(event.process(), out);
        out.push('\n');
        Ok(())
    }
}

impl Notation for WingGong {
    fn header(&self, history: &History, _out: &mut String) -> Written {
        let objects = || history.parts().iter().map(|part| &part.object);
        let is_list = |object: &&Value| matches!(object, Value::List(_));
        if let Some(list) = objects().chain(history.processes()).find(is_list) {
            return Err(WriteError::cannot(
                Format::WingGong,
                format!("an object or a process named {list}"),
            ));
        }
        if objects().any(Value::is_nil) && objects().any(|object| object.as_text() == Some("x")) {
            let what = "an object without a name beside one named x";
            return Err(WriteError::cannot(Format::WingGong, what));
        }
        Ok(())
    }

    fn call(&self, event: &Event<'_>, out: &mut String) -> Written {
        let method = event.method();
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.?!".contains(c);
        if method.is_empty() || method == "ok" || !method.chars().all(is_word) {
            return Err(WriteError::cannot(Format::WingGong, format!("a method named {method:?}")));
        }
        let mut name = method.to_string();
        name[..1].make_ascii_uppercase();
        WingGong::line(event, &name, event.args(), out)
    }

    fn returns(&self, event: &Event<'_>, out: &mut String) -> Written {
        match event.result() {
            Value::Nil => WingGong::line(event, "Ok", &[], out),
            result => WingGong::line(event, "Ok", std::slice::from_ref(result), out),
        }
    }

    fn unknown(&self, event: &Event<'_>, _out: &mut String) -> Written {
        let process = event.process();
        let what =
            format!("a process that calls again after a call without a return, as {process} does");
        Err(WriteError::cannot(Format::WingGong, what))
    }
}

struct Calls;

impl Notation for Calls {
    fn header(&self, history: &History, out: &mut String) -> Written {
        if history.parts().len() > 1
            || history.parts().iter().any(|p| !p.object.is_nil() || !p.key.is_nil())
        {
            return Err(WriteError::cannot(
                Format::Calls,
                "the names of objects or independent keys",
            ));
        }
        // A removal with an argument looks like the format limo, where the argument is the result.
        let returns = history.spec().is_none_or(|spec| removals_return(spec.as_bytes()));
        let methods = history.methods();
        let tells = |o: &Operation<Call, Value>| {
            !o.op.args.as_slice().is_empty() && is_removal(methods[o.op.method as usize].as_bytes())
        };
        if returns && history.operations().iter().any(tells) {
            put(out, format_args!("# @format calls\n"));
        }
        match history.spec() {
            Some(spec) if spec.trim() != spec || spec.contains('\n') || spec.is_empty() => {
                Err(WriteError::cannot(Format::Calls, format!("a specification named {spec:?}")))
            }
            Some(spec) => {
                put(out, format_args!("# @object atomic-{spec}\n"));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn call(&self, event: &Event<'_>, out: &mut String) -> Written {
        let method = event.method();
        if method.is_empty()
            || method.contains(|c: char| c == '(' || c.is_whitespace() || c.is_control())
        {
            return Err(WriteError::cannot(Format::Calls, format!("a method named {method:?}")));
        }
        put(out, format_args!("[{}] call {method}", event.index + 1));
        match event.args() {
            [] => {}
            [arg] => {
                out.push('(');
                write_word(arg, out);
                out.push(')');
            }
            _ => return Err(WriteError::cannot(Format::Calls, "calls with several arguments")),
        }
        out.push('\n');
        Ok(())
    }

    fn returns(&self, event: &Event<'_>, out: &mut String) -> Written {
        put(out, format_args!("[{}] return", event.index + 1));
        if !event.result().is_nil() {
            out.push(' ');
            write_word(event.result(), out);
        }
        out.push('\n');
        Ok(())
    }

    /// The number is the operation: its process does not matter.
    fn unknown(&self, _event: &Event<'_>, _out: &mut String) -> Written {
        Ok(())
    }
}
