//! The methods of built-in specifications: one table each gives names, aliases, arity and errors.

use super::named::show_call;
use crate::value::Value;

/// The names of insertions into a container in various formats.
pub(super) const INSERT: &[&str] =
    &["enq", "enqueue", "add", "put", "push", "offer", "insert", "send"];
/// The names of removals from a container in various formats.
pub(super) const REMOVE: &[&str] =
    &["deq", "dequeue", "remove", "rem", "rm", "get", "pop", "poll", "take", "receive"];
/// The names of looks at the next value of a container in various formats.
pub(super) const PEEK: &[&str] = &["peek", "front", "top", "first", "element"];

/// A method of a specification whose operations are `Op`s.
pub(super) struct Method<Op> {
    /// As `trueline specs` prints it: `deq() -> value or nil`.
    signature: &'static str,
    name: &'static str,
    aliases: &'static [&'static str],
    arity: usize,
    /// Nil is a result worth telling.
    yields: bool,
    make: fn(&[Value]) -> Result<Op, String>,
}

impl<Op> Method<Op> {
    /// Name, arity and whether it has a result are read from the signature. `make` receives as many
    /// arguments as the signature has.
    pub(super) const fn new(
        signature: &'static str,
        aliases: &'static [&'static str],
        make: fn(&[Value]) -> Result<Op, String>,
    ) -> Method<Op> {
        let text = signature.as_bytes();
        let mut open = 0;
        while text[open] != b'(' {
            open += 1;
        }
        let mut arity = if text[open + 1] == b')' { 0 } else { 1 };
        let mut i = open;
        while text[i] != b')' {
            if text[i] == b',' {
                arity += 1;
            }
            i += 1;
        }
        // `read() -> total` and `deq() -> value or nil`, not `add(number) -> total or nothing`.
        let yields = i + 1 < text.len() && text[text.len() - 1] != b'g';
        let name = signature.split_at(open).0;
        Method { signature, name, aliases, arity, yields, make }
    }

    fn is(&self, method: &str) -> bool {
        same(self.name, method) || self.aliases.iter().any(|alias| same(alias, method))
    }
}

/// The signatures of a table, for [`super::Info`].
pub(super) const fn signatures<Op, const N: usize>(methods: &[Method<Op>; N]) -> [&'static str; N] {
    let mut all = [""; N];
    let mut i = 0;
    while i < N {
        all[i] = methods[i].signature;
        i += 1;
    }
    all
}

/// Decodes a call. `result` converts the result that a format gives to the specification's.
pub(super) fn decode<Op>(
    methods: &[Method<Op>],
    method: &str,
    args: &[Value],
    ret: Option<&Value>,
    result: impl FnOnce(&Op, &Value) -> Result<Value, String>,
) -> Result<(Op, Option<Value>), String> {
    // Most files spell a method as we do: comparing that is quick.
    let spelled = || methods.iter().find(|m| m.is(method));
    let Some(known) = methods.iter().find(|m| m.name == method).or_else(spelled) else {
        let expected: Vec<&str> = methods.iter().map(|m| m.signature).collect();
        return Err(format!("unknown method {method}: expected {}", expected.join(", ")));
    };
    let args = arguments(method, args, known.arity)?;
    // A single move from where the value is made to where it is needed: adapters such as
    // `transpose` copy it piece by piece, and this runs for every operation of a history.
    let op = match (known.make)(args) {
        Ok(op) => op,
        Err(e) => return Err(in_method(method, &e)),
    };
    match ret {
        None => Ok((op, None)),
        Some(ret) => match result(&op, ret) {
            Ok(ret) => Ok((op, Some(ret))),
            Err(e) => Err(in_method(method, &e)),
        },
    }
}

/// The arguments of a call as formats write them, for a method with this arity.
pub fn arguments<'a>(method: &str, args: &'a [Value], arity: usize) -> Result<&'a [Value], String> {
    let args: &[Value] = match args {
        // Formats write several arguments as one list: cas [old new].
        [Value::List(items)] if arity > 1 && items.len() == arity => items,
        // Formats write no argument as nil, and some pre-fill a read with its result.
        [Value::Nil] if arity == 0 => &[],
        [_] if arity == 0 && same(method, "read") => &[],
        args => args,
    };
    if args.len() != arity {
        let s = if arity == 1 { "" } else { "s" };
        return Err(format!("{method} takes {arity} argument{s}, found {}", args.len()));
    }
    Ok(args)
}

#[cold]
fn in_method(method: &str, error: &str) -> String {
    format!("{method}: {error}")
}

/// The operation as people read it, with the specification's own names.
pub(super) fn show<Op>(
    methods: &[Method<Op>],
    (method, args): (&str, Vec<Value>),
    ret: Option<&Value>,
) -> String {
    let yields = methods.iter().any(|m| m.name == method && m.yields);
    match ret {
        Some(Value::Nil) if yields => show_call(method, &args, Some(&Value::Nil)) + " -> nil",
        ret => show_call(method, &args, ret),
    }
}

/// A value that is not nil: containers cannot hold nil, which means 'empty'.
pub(super) fn item(value: &Value) -> Result<Value, String> {
    match value {
        Value::Nil => Err("expected a value, found nil, which means nothing".into()),
        value => Ok(value.clone()),
    }
}

/// A whole number.
pub(super) fn number(value: &Value) -> Result<i64, String> {
    value.as_int().ok_or_else(|| {
        let expected = match value {
            Value::Decimal(_) => "a whole number of 64 bits",
            _ => "a number",
        };
        format!("expected {expected}, found {}", found(value))
    })
}

/// The result of a method without a result: whatever a format writes there is an echo, unless it
/// means that nothing happened.
pub fn nothing(value: &Value) -> Result<Value, String> {
    match value {
        Value::Bool(false) => {
            Err("expected no result, found false: what was refused is recorded as \
                                   failed, since it did not happen"
                .into())
        }
        _ => Ok(Value::Nil),
    }
}

/// A boolean result; `nil` is what a missing result means.
pub(super) fn truth(value: &Value, nil: impl Into<Value>) -> Result<Value, String> {
    match value {
        Value::Nil => Ok(nil.into()),
        value => value
            .as_bool()
            .map(Value::Bool)
            .ok_or_else(|| format!("expected true or false as the result, found {}", found(value))),
    }
}

/// A description of the value for an error: `the text abc`.
pub fn found(value: &Value) -> String {
    match value {
        Value::Nil => "nil".into(),
        value => format!("{}: {value}", value.kind()),
    }
}

/// Names are equal up to case, `-` and `_`.
pub fn same(a: &str, b: &str) -> bool {
    let clean = |b: &u8| !matches!(b, b'-' | b'_');
    let mut left = a.bytes().filter(clean).map(|b| b.to_ascii_lowercase());
    let mut right = b.bytes().filter(clean).map(|b| b.to_ascii_lowercase());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (a, b) if a == b => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHODS: [Method<i64>; 2] = [
        Method::new("cas(old, new) -> bool", &["compare-and-set"], |a| number(&a[0])),
        Method::new("read() -> value", &["get"], |_| Ok(0)),
    ];

    #[track_caller]
    fn check(method: &str, args: &[Value], expect: Result<i64, &str>) {
        let got = decode(&METHODS, method, args, None, |_, _| Ok(Value::Nil)).map(|(op, _)| op);
        assert_eq!(got, expect.map_err(String::from));
    }

    #[test]
    fn names_arguments_and_errors() {
        let pair = [Value::Int(4), Value::Int(5)];
        check("cas", &pair, Ok(4));
        check("Compare_And_Set", &pair, Ok(4));
        check("compareAndSet", &[Value::list(pair.clone())], Ok(4));
        check("cas", &pair[..1], Err("cas takes 2 arguments, found 1"));
        check("cas", &["a".into(), 1.into()], Err("cas: expected a number, found a text: a"));
        check("read", &[Value::Nil], Ok(0));
        check("read", &[Value::Int(9)], Ok(0));
        check("get", &[Value::Int(9)], Err("get takes 0 arguments, found 1"));
        check("w", &[], Err("unknown method w: expected cas(old, new) -> bool, read() -> value"));
    }

    #[test]
    fn nil_is_shown_where_it_is_a_result() {
        assert_eq!(show(&METHODS, ("read", vec![]), Some(&Value::Nil)), "read() -> nil");
        assert_eq!(show(&METHODS, ("read", vec![]), Some(&Value::Int(1))), "read() -> 1");
        assert_eq!(show(&METHODS, ("write", vec![1.into()]), Some(&Value::Nil)), "write(1)");
        assert_eq!(show(&METHODS, ("write", vec![1.into()]), None), "write(1) -> ?");
    }
}
