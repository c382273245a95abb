//! A history as the claims see it: calls by name, times, and what each operation may do.

use std::cell::RefCell;

use trueline::spec::Builtin;
use trueline::verdict::Explanation;
use trueline::{History, Value};

use crate::oracle::is_linearizable;

pub(crate) struct Op<'a> {
    pub(crate) call: u32,
    pub(crate) returned: u32,
    pub(crate) method: &'a str,
    pub(crate) args: Vec<Value>,
    /// `None` where it is not known.
    pub(crate) result: Option<Value>,
    shown: String,
    process: String,
    line: u32,
}

/// A question about the operations at these indices.
type Asks<'a> = dyn Fn(&[usize]) -> bool + 'a;

pub(crate) struct Scene<'a> {
    /// The name of the specification without parameters, and these.
    pub(crate) spec: &'a str,
    pub(crate) parameters: &'a str,
    /// The operations of the same object and key, by their index in the history; others are `None`.
    pub(crate) ops: Vec<Option<Op<'a>>>,
    pub(crate) told: Vec<usize>,
    pub(crate) initial: Vec<Value>,
    /// Whether the operations at these indices, in any order, can be legal; and in an order that
    /// respects time.
    pub(crate) any_order: Box<Asks<'a>>,
    pub(crate) in_time: Box<Asks<'a>>,
    pub(crate) first_bad: Option<u32>,
    pub(crate) starts_late: bool,
    /// The segment that the sentence is about.
    pub(crate) segment: RefCell<Option<String>>,
    /// A name means an operation that is shown: others may be forgotten.
    remembered: bool,
}

impl<'a> Scene<'a> {
    pub(crate) fn new<B: Builtin>(
        name: &'a str,
        spec: &'a B,
        history: &'a History<B::Op, Value>,
        explanation: &'a Explanation,
    ) -> Scene<'a> {
        let (base, parameters) = name.split_once(':').unwrap_or((name, ""));
        let key = |i: usize| spec.partition(&history.operations()[i].op);
        let splits = (0..history.len()).all(|i| key(i).is_some());
        let of_part = |i: usize| !splits || key(i) == key(explanation.operations[0] as usize);
        let from = explanation.start.as_ref().map_or(0, |start| start.from);
        let ops = (0..history.len()).map(|i| {
            let o = &history.operations()[i];
            let (method, args) = spec.encode(&o.op);
            let is_open = o.call < from || o.returned >= explanation.until;
            let result = o.result.clone().filter(|_| !o.is_pending());
            let seen = result.clone().filter(|_| !is_open);
            let shown = spec.show(&o.op, seen.as_ref());
            let shown = shown.strip_suffix(" -> ?").map_or(shown.clone(), String::from);
            let process = history.processes()[o.process as usize].to_string();
            let (call, returned, line) = (o.call, o.returned, o.line);
            let op = Op { call, returned, method, args, result, shown, process, line };
            of_part(i).then_some(op)
        });
        let initial = match parameters.strip_prefix("init=[").and_then(|p| p.strip_suffix(']')) {
            Some(list) => list.split(' ').map(|v| Value::Int(v.parse().unwrap())).collect(),
            None => Vec::new(),
        };
        let indices = |places: &[usize]| places.iter().map(|&p| p as u32).collect::<Vec<u32>>();
        let any_order = move |places: &[usize]| {
            fn search<B: Builtin>(
                spec: &B,
                history: &History<B::Op, Value>,
                left: &[usize],
                state: &B::State,
            ) -> bool {
                let all = history.operations();
                left.iter().all(|&p| all[p].is_pending())
                    || left.iter().enumerate().any(|(n, &p)| {
                        let mut next = Vec::new();
                        let result = all[p].result.as_ref().filter(|_| !all[p].is_pending());
                        spec.step(state, &all[p].op, result, &mut next);
                        let mut rest = left.to_vec();
                        rest.remove(n);
                        next.iter().any(|state| search(spec, history, &rest, state))
                    })
            }
            search(spec, history, places, &spec.initial())
        };
        Scene {
            spec: base,
            parameters,
            ops: ops.collect(),
            told: explanation.operations.iter().map(|&i| i as usize).collect(),
            initial,
            any_order: Box::new(any_order),
            in_time: Box::new(move |places| {
                is_linearizable(spec, &history.select(&indices(places)))
            }),
            first_bad: explanation.fine_until,
            starts_late: explanation.start.is_some(),
            segment: RefCell::new(None),
            remembered: false,
        }
    }

    /// The same of a stream, of which only what is shown is sure to be in memory.
    pub(crate) fn remembered(self) -> Scene<'a> {
        Scene { remembered: true, ..self }
    }

    pub(crate) fn op(&self, place: usize) -> &Op<'_> {
        self.ops[place].as_ref().expect("an operation of the same object")
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, &Op<'_>)> {
        self.ops.iter().enumerate().filter_map(|(n, op)| Some((n, op.as_ref()?)))
    }

    pub(crate) fn before(&self, a: usize, b: usize) -> bool {
        self.op(a).returned < self.op(b).call
    }

    /// The places of operations for which this holds.
    pub(crate) fn places(&self, fits: impl Fn(&Op<'_>) -> bool) -> Vec<usize> {
        self.all().filter(|(_, op)| fits(op)).map(|(n, _)| n).collect()
    }

    /// The sentence with `<n>` for each operation that it names. Each name must mean exactly one of
    /// the history, and that must be shown.
    pub(crate) fn resolved(&self, sentence: &str) -> Result<String, String> {
        let mut resolved = String::new();
        let mut rest = sentence;
        while let Some(at) = rest.find('`') {
            resolved += &rest[..at];
            let end = rest[at + 1..].find('`').ok_or("a quote without an end")? + at + 1;
            let text = &rest[at + 1..end];
            rest = &rest[end + 1..];
            let mut fits: Vec<usize> = self.places(|op| op.shown == text);
            if self.remembered {
                fits.retain(|i| self.told.contains(i));
            }
            if let Some(tail) = rest.strip_prefix(" of process ") {
                let length = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
                fits.retain(|&i| self.op(i).process == tail[..length]);
                rest = &tail[length..];
            } else if let Some(tail) = rest.strip_prefix(" in line ") {
                let length = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
                fits.retain(|&i| self.op(i).line.to_string() == tail[..length]);
                rest = &tail[length..];
            } else if let Some(tail) = rest.strip_prefix(" (number ") {
                let (numbers, tail) = tail.split_once(')').ok_or("no end of a number")?;
                let (n, of) = numbers.split_once(" of ").ok_or("no number")?;
                if fits.len() != of.parse::<usize>().unwrap_or(0) {
                    return Err(format!("{of} are not {}", fits.len()));
                }
                fits = vec![fits[n.parse::<usize>().map_err(|e| e.to_string())? - 1]];
                rest = tail;
            }
            let [one] = fits[..] else {
                return Err(format!("{text} means {} operations", fits.len()));
            };
            if !self.told.contains(&one) {
                return Err(format!("{text} is named, but not shown"));
            }
            resolved += &format!("<{one}>");
        }
        Ok(resolved + rest)
    }
}

/// What stands at each `{}` of the pattern, where the text fits.
pub(crate) fn fit<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let Some((literal, rest)) = pattern.split_once("{}") else {
        return (pattern == text).then(Vec::new);
    };
    let text = text.strip_prefix(literal)?;
    let next = rest.split("{}").next().unwrap_or("");
    for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
        let is_last = !rest.contains("{}");
        if (!next.is_empty() && !text[end..].starts_with(next)) || (is_last && text[end..] != *rest)
        {
            continue;
        }
        if let Some(others) = fit(rest, &text[end..]) {
            return Some(std::iter::once(&text[..end]).chain(others).collect());
        }
    }
    None
}

/// `a, b and c`.
pub(crate) fn listed(text: &str) -> Vec<&str> {
    text.split(", ").flat_map(|part| part.split(" and ")).collect()
}

/// `<1>, <2> and <3>`.
pub(crate) fn operations(text: &str) -> Option<Vec<usize>> {
    listed(text)
        .into_iter()
        .map(|one| one.strip_prefix('<')?.strip_suffix('>')?.parse().ok())
        .collect()
}
