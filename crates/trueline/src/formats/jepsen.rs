//! The meaning of Jepsen's events, in whichever kind of file they are.
//!
//! - `:ok` returns, `:fail` did not happen, `:info` is pending for ever.
//! - A call without a value, or with nil, has no argument. A cas `[old new]` has two. Any other
//!   value is one argument.
//! - [Observers](is_observer) such as `read` and `deq` have no argument, even if their call shows a
//!   value (some files fill it in afterwards), and return the value of their `:ok`. The `:ok` of
//!   any other operation repeats the value of the call; if it has another value, that is a result.
//! - Objects with keys of their own ([`Keys::Arguments`]): a `get` is called with the key, `k` or
//!   `[k nil]`, and returns the value, `v` or `[k v]`.
//! - Independent keys: each value is `[k v]`, and a cas `[k [old new]]`. If the user does not say
//!   whether there are keys, the events are read as having keys until one of them cannot have one;
//!   then the earlier events are [corrected](Builder::forget_keys), so that no event has to wait
//!   for the decision.

use super::Keys;
use crate::history::{Args, Builder, Call, Error, History, Part, Position};
use crate::value::Value;

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Invoke,
    Ok,
    Fail,
    Info,
}

impl Type {
    /// From its keyword, with the colon.
    pub(crate) fn parse(keyword: &[u8]) -> Option<Type> {
        match keyword {
            b":invoke" => Some(Type::Invoke),
            b":ok" => Some(Type::Ok),
            b":fail" => Some(Type::Fail),
            b":info" => Some(Type::Info),
            _ => None,
        }
    }
}

/// One event of a client.
pub(crate) struct Event<'a> {
    pub(crate) process: Value,
    pub(crate) kind: Type,
    pub(crate) method: &'a str,
    pub(crate) value: Value,
    /// The key of a key-value store, an argument of its own.
    pub(crate) key: Option<Value>,
    pub(crate) at: Position,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Observer,
    Cas,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Split {
    /// Every value is `[k v]`.
    Yes,
    /// Every value was `[k v]` so far.
    SoFar,
    No,
}

/// Methods whose call carries no argument.
pub(crate) fn is_observer(method: &str) -> bool {
    matches!(method, "read" | "get" | "deq" | "dequeue" | "pop" | "poll" | "take" | "peek" | "scan")
}

/// Turns events into a history.
pub(crate) struct Recorder {
    pub(crate) builder: Builder,
    split: Split,
    /// Whether the object itself has keys.
    keyed: bool,
    /// The argument of the open `get` of each process, if it was not nil.
    filled: Vec<Option<Value>>,
    /// Shapes of the methods, by number.
    shapes: Vec<Shape>,
    /// The part without object and key.
    whole: Option<u32>,
}

impl Recorder {
    pub(crate) fn new(keys: Keys) -> Recorder {
        let split = match keys {
            Keys::Auto => Split::SoFar,
            Keys::Yes => Split::Yes,
            Keys::No | Keys::Arguments => Split::No,
        };
        let keyed = keys == Keys::Arguments;
        let (builder, filled, shapes) = (Builder::new(), Vec::new(), Vec::new());
        Recorder { builder, split, keyed, filled, shapes, whole: None }
    }

    /// Takes in one event.
    pub(crate) fn event(&mut self, event: Event<'_>) -> Result<(), Error> {
        let at = event.at;
        let process = self.builder.process(&event.process);
        match event.kind {
            Type::Invoke => self.invoke(process, event),
            Type::Ok => self.ok(process, event),
            Type::Fail => self
                .matches(process, event.method, at)
                .and(self.builder.fails(process, at))
                .map(drop),
            Type::Info => self
                .matches(process, event.method, at)
                .and(self.builder.unknown(process, at))
                .map(drop),
        }
    }

    /// The history, once all events were taken in.
    pub(crate) fn finish(mut self) -> History {
        if self.split == Split::SoFar && self.builder.has_keys() {
            self.builder.guess_keys(true);
        }
        self.builder.finish()
    }

    fn invoke(&mut self, process: u32, event: Event<'_>) -> Result<(), Error> {
        let Event { method: name, value, key, at, .. } = event;
        if name == "txn" || is_transaction(&value) {
            return Err(Error::at(
                at,
                "found a transaction: this is a transactional history (Elle's), which trueline does not check; \
                 expected operations of one object",
            ));
        }
        let method = self.builder.method(name);
        let shape = self.shape(method, name);
        let (args, part) = match key {
            Some(key) => (keyed_args(shape, key, value, at)?, self.whole()),
            None => match self.split(value, shape, at)? {
                (Some(key), value) => {
                    let part = self.builder.part(Part { object: Value::Nil, key });
                    (args(shape, value, at)?, part)
                }
                (None, value) if self.keyed => (key_args(shape, value, at)?, self.whole()),
                (None, value) => {
                    if name == "get" {
                        self.filled.resize(self.filled.len().max(process as usize + 1), None);
                        self.filled[process as usize] = Some(value.clone()).filter(|v| !v.is_nil());
                    }
                    (args(shape, value, at)?, self.whole())
                }
            },
        };
        self.builder.call(process, part, Call { method, args }, at).map(drop)
    }

    fn ok(&mut self, process: u32, event: Event<'_>) -> Result<(), Error> {
        let at = event.at;
        self.matches(process, event.method, at)?;
        let Some(open) = self.builder.open_operation(process) else {
            // The builder reports the error.
            return self.builder.returns(process, Value::Nil, at).map(drop);
        };
        let mut value = event.value;
        if self.split != Split::No {
            let observes = is_observer(event.method);
            let key = &self.builder.part_of(open).key;
            match value.as_list() {
                Some([its_key, rest]) if its_key == key => value = rest.clone(),
                // There is no value to split. An observer always has a value.
                None if value.is_nil() && !(observes && self.split == Split::SoFar) => {}
                _ if self.split == Split::SoFar => self.unsplit(),
                _ => {
                    let message = format!(
                        "found the value {value}: expected [{key} ...], the key of the call and a value"
                    );
                    return Err(Error::at(at, message));
                }
            }
        }
        // Some tools write the result at the call. Any other value there is a key.
        let filled = self.filled.get_mut(process as usize).and_then(Option::take);
        if let Some(filled) = filled.filter(|filled| *filled != value) {
            let message = format!(
                "found the get of {filled}, which returns {value}: expected nil or the result on its call, or an object \
                 with keys (--spec map, --spec kv)"
            );
            return Err(Error::at(at, message));
        }
        let call = self.builder.call_mut(open);
        if self.keyed {
            let shape = self.shapes[call.method as usize];
            let result = key_result(shape, event.method, &call.args, value);
            return self.builder.returns(process, result, at).map(drop);
        }
        let result = match self.shapes[call.method as usize] {
            Shape::Observer => value,
            _ if echoes(&call.args, event.key.is_some(), &value) => Value::Nil,
            _ => value,
        };
        self.builder.returns(process, result, at).map(drop)
    }

    /// Splits the key off a value, if there are keys.
    fn split(
        &mut self,
        value: Value,
        shape: Shape,
        at: Position,
    ) -> Result<(Option<Value>, Value), Error> {
        if self.split == Split::No {
            return Ok((None, value));
        }
        match value.as_list() {
            Some([key, rest])
                if shape != Shape::Cas || rest.as_list().is_some_and(|l| l.len() == 2) =>
            {
                Ok((Some(key.clone()), rest.clone()))
            }
            _ if self.split == Split::SoFar => {
                self.unsplit();
                Ok((None, value))
            }
            _ => {
                let expected = if shape == Shape::Cas { "[key [old new]]" } else { "[key value]" };
                let message = format!(
                    "found the value {value}: expected {expected}, as every value carries a key"
                );
                Err(Error::at(at, message))
            }
        }
    }

    /// There are no keys after all: merges them back into the values.
    fn unsplit(&mut self) {
        self.split = Split::No;
        self.whole = None;
        if self.builder.has_keys() {
            self.builder.guess_keys(false);
        }
        let shapes = &self.shapes;
        self.builder.forget_keys(|key, call, result| {
            let rest = match std::mem::take(&mut call.args) {
                Args::None => Value::Nil,
                Args::One(value) => value,
                Args::Many(values) => Value::List(values),
            };
            let shape = shapes[call.method as usize];
            call.args = match shape {
                Shape::Observer => Args::None,
                Shape::Cas => Args::from(vec![key.clone(), rest]),
                Shape::Other => Args::One(Value::list([key.clone(), rest])),
            };
            // An echo stays one; whatever else came back stood behind the key.
            if let Some(result) = result
                && (shape == Shape::Observer || !result.is_nil())
            {
                *result = Value::list([key.clone(), std::mem::take(result)]);
            }
        });
    }

    /// An event that ends a call names the method of the call.
    fn matches(&self, process: u32, method: &str, at: Position) -> Result<(), Error> {
        let Some(open) = self.builder.open_operation(process) else { return Ok(()) };
        let called = self.builder.method_of(open);
        if called == method {
            return Ok(());
        }
        let message = format!(
            "found the end of a {method}: expected that of the {called} which the process called"
        );
        Err(Error::at(at, message))
    }

    fn whole(&mut self) -> u32 {
        match self.whole {
            Some(part) => part,
            None => *self.whole.insert(self.builder.part(Part::default())),
        }
    }

    fn shape(&mut self, method: u32, name: &str) -> Shape {
        if self.shapes.len() <= method as usize {
            self.shapes.push(match name {
                "cas" => Shape::Cas,
                _ if is_observer(name) => Shape::Observer,
                _ => Shape::Other,
            });
        }
        self.shapes[method as usize]
    }
}

fn args(shape: Shape, value: Value, at: Position) -> Result<Args, Error> {
    match (shape, value) {
        (Shape::Observer, _) => Ok(Args::None),
        (Shape::Cas, Value::List(pair)) if pair.len() == 2 => Ok(Args::Many(pair)),
        (Shape::Cas, value) => {
            Err(Error::at(at, format!("found a cas of {value}: expected [old new]")))
        }
        (Shape::Other, Value::Nil) => Ok(Args::None),
        (Shape::Other, value) => Ok(Args::One(value)),
    }
}

/// The arguments of a call on an object with keys of its own: a key, or a key and a value.
fn key_args(shape: Shape, value: Value, at: Position) -> Result<Args, Error> {
    match value.as_list() {
        // A placeholder for the result.
        Some([key, Value::Nil]) => Ok(Args::One(key.clone())),
        _ if shape == Shape::Observer && !value.is_nil() => Ok(Args::One(value)),
        _ => args(shape, value, at),
    }
}

/// Methods of a map that return the former value, which may equal their argument.
pub(crate) fn returns_former_value(method: &str) -> bool {
    matches!(method, "swap" | "replace" | "get_and_put" | "get-and-put")
}

/// The result of a call on an object with keys of its own, without the repeated key.
fn key_result(shape: Shape, method: &str, args: &Args, value: Value) -> Value {
    if shape != Shape::Observer && !returns_former_value(method) && echoes(args, false, &value) {
        return Value::Nil;
    }
    let key = match args.as_slice() {
        [Value::List(pair)] if shape != Shape::Observer && pair.len() == 2 => &pair[0],
        [key, ..] => key,
        [] => return value,
    };
    match value.as_list() {
        Some([its_key, rest]) if its_key == key => rest.clone(),
        _ => value,
    }
}

fn keyed_args(shape: Shape, key: Value, value: Value, at: Position) -> Result<Args, Error> {
    let mut all = vec![key];
    all.extend_from_slice(args(shape, value, at)?.as_slice());
    Ok(Args::from(all))
}

/// Whether the value of an `:ok` repeats that of the call, or is empty.
fn echoes(args: &Args, keyed: bool, value: &Value) -> bool {
    match &args.as_slice()[usize::from(keyed).min(args.as_slice().len())..] {
        _ if value.is_nil() => true,
        [] => false,
        [one] => one == value,
        many => value.as_list() == Some(many),
    }
}

/// True for the values of Elle's transactions: `[[:r 1 nil] [:append 2 3]]`.
fn is_transaction(value: &Value) -> bool {
    let is_micro = |v: &Value| matches!(v.as_list(), Some([f, _, _]) if matches!(f.as_text(), Some(":r" | ":w" | ":append")));
    value.as_list().is_some_and(|all| !all.is_empty() && all.iter().all(is_micro))
}
