//! A part in the terms of a collection that only grows: added and shown values, as numbers.

use hashbrown::HashMap;

use super::{ALIEN, Stop};
use crate::check::rules::Violation;
use crate::monitor::Span;
use crate::spec::Growth;
use crate::spec::subject::Grown;
use crate::value::Value;

/// An operation in the terms of the collection, with values as numbers.
pub(super) struct Entry {
    /// Its index among the given operations.
    pub(super) number: u32,
    pub(super) call: u32,
    pub(super) returned: u32,
    pub(super) action: Action,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Add(u32),
    AddNew(u32),
    Found(u32),
    AddAt(u32, i64),
    /// The values that it shows, as an index into [`Part::shown`].
    Show(u32),
}

/// A part in the terms of the collection.
pub(super) struct Part {
    pub(super) entries: Vec<Entry>,
    /// The results of the reads.
    pub(super) shown: Vec<Vec<u32>>,
    pub(super) initial: Vec<u32>,
    /// The additions of each value, by call.
    pub(super) adds: Vec<Vec<u32>>,
}

impl Part {
    pub(super) fn new(grown: &Grown, spans: &[Span]) -> Result<Part, Stop> {
        let mut numbers: HashMap<&Value, u32, foldhash::fast::FixedState> = HashMap::default();
        let mut number = |value| {
            let next = numbers.len() as u32;
            *numbers.entry(value).or_insert(next)
        };
        let initial: Vec<u32> = grown.initial.iter().map(&mut number).collect();
        for growth in &grown.growths {
            match growth {
                Growth::Add(v) | Growth::AddNew(v) | Growth::Found(v) | Growth::AddAt(v, _) => {
                    number(v);
                }
                Growth::Show(_) | Growth::Nothing => {}
            }
        }
        let texts = Texts::new(&numbers);
        let mut part = Part {
            entries: Vec::new(),
            shown: Vec::new(),
            initial,
            adds: vec![vec![]; numbers.len()],
        };
        // The list that was shown last, and its index: the next one usually begins in the same way.
        let mut latest: Option<(&[Value], usize)> = None;
        for (number, (growth, span)) in (0u32..).zip(grown.growths.iter().zip(spans)) {
            let entry = part.entries.len() as u32;
            let action = match growth {
                Growth::Add(v) => Action::Add(numbers[v]),
                Growth::AddNew(v) => Action::AddNew(numbers[v]),
                Growth::Found(v) => Action::Found(numbers[v]),
                Growth::AddAt(v, place) => Action::AddAt(numbers[v], *place),
                Growth::Show(shown) => {
                    let list: Option<Vec<u32>> = match shown {
                        Value::List(list) => {
                            let known = latest.map(|(values, n)| (values, &part.shown[n][..]));
                            let number = |v: &Value| numbers.get(v).copied();
                            let numbered = continued(list, known, number);
                            latest = Some((list, part.shown.len()));
                            numbered
                        }
                        Value::Text(text) => texts.as_ref().ok_or(Stop::DoesNotFit)?.parse(text),
                        _ => return Err(Stop::DoesNotFit),
                    };
                    let is_set = !grown.ordered;
                    let is_fine = |list: &[Value]| list.is_sorted_by(|a, b| a < b);
                    if is_set && !shown.as_list().is_some_and(is_fine) {
                        return Err(Stop::DoesNotFit);
                    }
                    let Some(list) = list else {
                        return Err(Violation::naming(&[number], ALIEN).into());
                    };
                    part.shown.push(list);
                    Action::Show(part.shown.len() as u32 - 1)
                }
                Growth::Nothing => continue,
            };
            if let Action::Add(v) | Action::AddNew(v) | Action::AddAt(v, _) = action {
                part.adds[v as usize].push(entry);
            }
            part.entries.push(Entry { number, call: span.call, returned: span.returned, action });
        }
        Ok(part)
    }
}

/// The numbers of the values of a list; `None` if a value has none. The common prefix with a list
/// whose numbers are known is not looked up.
fn continued(
    list: &[Value],
    known: Option<(&[Value], &[u32])>,
    number: impl Fn(&Value) -> Option<u32>,
) -> Option<Vec<u32>> {
    let (values, numbers) = known.unwrap_or_default();
    let common = list.iter().zip(values).take_while(|(a, b)| a == b).count();
    let mut all = Vec::with_capacity(list.len());
    all.extend_from_slice(&numbers[..common]);
    for value in &list[common..] {
        all.push(number(value)?);
    }
    Some(all)
}

/// Texts of which none is a prefix of another, ascending: a concatenation of them can be split in
/// only one way.
struct Texts<'a>(Vec<(&'a str, u32)>);

impl<'a> Texts<'a> {
    /// `None` if some value is not a text, is empty, or is a prefix of another.
    fn new<H>(numbers: &HashMap<&'a Value, u32, H>) -> Option<Texts<'a>> {
        let mut texts = Vec::with_capacity(numbers.len());
        for (value, &number) in numbers {
            texts.push((value.as_text().filter(|text| !text.is_empty())?, number));
        }
        texts.sort_unstable();
        // A beginning stands directly before one that begins with it.
        let is_free = !texts.windows(2).any(|pair| pair[1].0.starts_with(pair[0].0));
        is_free.then_some(Texts(texts))
    }

    /// The texts whose concatenation this is; `None` if there are none.
    fn parse(&self, mut text: &str) -> Option<Vec<u32>> {
        let mut parts = Vec::new();
        while !text.is_empty() {
            let at = self.0.partition_point(|&(t, _)| t <= text).checked_sub(1)?;
            let (first, number) = self.0[at];
            text = text.strip_prefix(first)?;
            parts.push(number);
        }
        Some(parts)
    }
}
