//! Lists and texts that grow: logs, and keys of a store to which texts are appended.
//!
//! A log only grows, so of two lists that were read one is a prefix of the other, and a value
//! appended before a read is in it. A text that may be replaced as a whole grows as long as nothing
//! can have replaced it in between.

use std::collections::HashMap;
use std::collections::HashSet;

use super::{Draft, Scene, mark, marks, short};
use crate::spec::vocabulary::Act;
use crate::value::Value;

/// Maximum number of characters or entries that are examined.
const WORK: usize = 1 << 22;
/// Drafts that are enough.
const ENOUGH: usize = 64;
/// At most this many appends are named.
const NAMED: usize = 6;
/// Drafts of so few operations need no better one.
const SHORT: usize = 3;

fn lists(scene: &Scene) -> Vec<(usize, &[Value])> {
    let mut lists = Vec::new();
    for (place, actor) in scene.cast.iter().enumerate() {
        if let (Act::List(shown), true) = (&actor.act, actor.is_certain()) {
            lists.push((place, shown.as_slice()));
        }
    }
    lists
}

/// Logs.
pub(super) fn drafts(scene: &Scene) -> Vec<Draft> {
    let Some(initial) = scene.initial.as_deref() else { return Vec::new() };
    let cast = &scene.cast;
    let reads = lists(scene);
    let appends: Vec<Append<'_>> = cast
        .iter()
        .enumerate()
        .filter_map(|(place, actor)| match &actor.act {
            Act::Append(value, index) => Some((place, value, *index)),
            _ => None,
        })
        .collect();
    let mut often: HashMap<&Value, usize> = HashMap::new();
    for value in initial.iter().chain(appends.iter().map(|a| a.1)) {
        *often.entry(value).or_default() += 1;
    }
    let mut drafts = Vec::new();
    let mut work = 0;
    // The one that is known to be faulty comes first; what a few operations show about it suffices.
    let (first, others): (Vec<_>, Vec<_>) = reads.iter().partition(|r| Some(r.0) == scene.first);
    for &(r, shown) in first.into_iter().chain(others) {
        work += shown.len() + appends.len();
        if work > WORK || drafts.len() > ENOUGH {
            return drafts;
        }
        wrong_read(scene, initial, r, shown, (&appends, &often), &mut drafts);
        if is_explained(scene, r, &drafts) {
            return drafts;
        }
    }
    for (n, &(a, first)) in reads.iter().enumerate() {
        for &(b, second) in &reads[n + 1..] {
            let length = first.len().min(second.len());
            work += length + 1;
            if work > WORK || drafts.len() > ENOUGH {
                return drafts;
            }
            let (x, y) = (mark(a), mark(b));
            if first[..length] != second[..length] {
                drafts.push(Draft::new(format!(
                    "{x} and {y} contradict each other: a log only grows, but neither list is a prefix of the other"
                )));
            } else {
                for (earlier, later, shrinks) in
                    [(a, b, second.len() < first.len()), (b, a, first.len() < second.len())]
                {
                    if shrinks && cast[earlier].precedes(&cast[later]) {
                        drafts.push(Draft::new(format!(
                            "{} should show at least what {} shows, which had returned before it was called: a log only grows",
                            mark(later),
                            mark(earlier)
                        )));
                    }
                }
            }
        }
    }
    for (n, &(a, _, first)) in appends.iter().enumerate() {
        let Some(first) = first.filter(|_| cast[a].is_certain()) else { continue };
        wrong_index(scene, initial, a, first, &appends, &mut drafts);
        for &(b, _, second) in &appends[n + 1..] {
            work += 1;
            if work > WORK || drafts.len() > ENOUGH {
                return drafts;
            }
            let Some(second) = second.filter(|_| cast[b].is_certain()) else { continue };
            if first == second {
                drafts.push(Draft::new(format!(
                    "{} and {} contradict each other: no two values have the same index",
                    mark(a),
                    mark(b)
                )));
            } else if cast[a].precedes(&cast[b]) && second < first {
                drafts.push(Draft::new(format!(
                    "{} should have a larger index than {}, which had returned before it was called",
                    mark(b),
                    mark(a)
                )));
            }
        }
    }
    drafts
}

/// Whether the sentences so far are good enough.
fn is_explained(scene: &Scene, r: usize, drafts: &[Draft]) -> bool {
    let most = if Some(r) == scene.first { SHORT } else { 1 };
    drafts.iter().any(|draft| draft.cast().len() <= most)
}

/// An append: its place in the cast, its value, and the index that it returned.
type Append<'a> = (usize, &'a Value, Option<i64>);

/// A list that shows a value that was not appended, or lacks one that was.
fn wrong_read(
    scene: &Scene,
    initial: &[Value],
    r: usize,
    shown: &[Value],
    (appends, often_appended): (&[Append<'_>], &HashMap<&Value, usize>),
    drafts: &mut Vec<Draft>,
) {
    let cast = &scene.cast;
    let mut counts: HashMap<&Value, i64> = HashMap::new();
    for value in shown {
        *counts.entry(value).or_default() += 1;
    }
    for value in initial {
        *counts.entry(value).or_default() -= 1;
    }
    if !shown.starts_with(initial) {
        let text = format!(
            "{} is impossible: the log begins with {}",
            mark(r),
            short(&Value::list(initial.iter().cloned()))
        );
        drafts.push(Draft::new(text));
    }
    let mut may = counts.clone();
    let mut must = counts;
    let mut certain: HashMap<&Value, Vec<usize>> = HashMap::new();
    for &(a, value, _) in appends {
        if cast[a].call < cast[r].returned {
            *may.entry(value).or_default() -= 1;
        }
        if cast[a].precedes(&cast[r]) {
            *must.entry(value).or_default() -= 1;
            certain.entry(value).or_default().push(a);
        }
    }
    for value in unique(shown) {
        if may[value] > 0 && scene.complete {
            let of_it: Vec<usize> = appends.iter().filter(|a| a.1 == value).map(|a| a.0).collect();
            let late: Vec<usize> =
                of_it.iter().copied().filter(|&a| cast[a].call > cast[r].returned).collect();
            let often = shown.iter().filter(|v| *v == value).count();
            let first = initial.iter().filter(|v| *v == value).count();
            let value = short(value);
            let text = match (of_it.as_slice(), late.as_slice()) {
                ([], _) if first == 0 => {
                    format!("{} cannot show {value}: {value} was never appended", mark(r))
                }
                (all, late) if all.len() == late.len() && first == 0 => {
                    let verb = super::was(all.len());
                    format!(
                        "{} cannot show {value}: {}, which alone appended {value}, {verb} called only after it had returned",
                        mark(r),
                        marks(all)
                    )
                }
                (all, late) if first == 0 => format!(
                    "{} cannot show {value} {}: only {} can it have been appended by then",
                    mark(r),
                    super::times(often),
                    super::times(all.len() - late.len())
                ),
                (all, late) => {
                    let appended = match all.len() - late.len() {
                        0 => "cannot have been appended".to_string(),
                        some => format!("can have been appended only {}", super::times(some)),
                    };
                    format!(
                        "{} cannot show {value} {}: it is there {} initially and {appended} by then",
                        mark(r),
                        super::times(often),
                        super::times(first)
                    )
                }
            };
            drafts.push(Draft::new(text).with(of_it));
        }
    }
    let mut lost: Vec<(&Value, &Vec<usize>)> =
        certain.iter().filter(|(value, _)| must[*value] < 0).map(|(v, a)| (*v, a)).collect();
    lost.sort_by_key(|(_, a)| a[0]);
    for (value, by) in lost {
        let often = shown.iter().filter(|v| *v == value).count();
        let is_initial = initial.contains(value);
        let value = short(value);
        let text = match (often, by.as_slice()) {
            (0, [one, ..]) => Draft::new(format!(
                "{} should show {value}: {} had returned before it was called",
                mark(r),
                mark(*one)
            )),
            (often, some) if is_initial => {
                let first = initial.iter().filter(|v| short(v) == value).count();
                Draft::new(format!(
                    "{} should show {value} {}, not {}: it is there {} initially, and {} had returned before it was called",
                    mark(r),
                    super::times(first + some.len()),
                    super::times(often),
                    super::times(first),
                    marks(some)
                ))
            }
            _ => Draft::new(format!(
                "{} should show {value} {}: {} had returned before it was called",
                mark(r),
                super::times(by.len()),
                marks(by)
            )),
        };
        drafts.push(text);
    }
    // Values that were appended one after the other are in that order: among those that are not
    // before a value, the one that returned first is checked.
    let once = |value: &Value| often_appended[value] == 1;
    let mut by_value: HashMap<&Value, usize> = HashMap::new();
    let mut absent: Option<usize> = None;
    let first_of = |a: Option<usize>, b: usize| match a {
        Some(a) if cast[a].returned <= cast[b].returned => Some(a),
        _ => Some(b),
    };
    let places: HashMap<&Value, usize> = shown.iter().enumerate().map(|(n, v)| (v, n)).collect();
    for &(a, value, _) in appends.iter().filter(|a| once(a.1)) {
        if places.contains_key(value) {
            by_value.insert(value, a);
        } else if cast[a].is_certain() {
            absent = first_of(absent, a);
        }
    }
    let value_of = |a: usize| match &cast[a].act {
        Act::Append(value, _) => short(value),
        _ => String::new(),
    };
    let mut behind = absent;
    for y in shown.iter().rev() {
        let Some(&b) = by_value.get(y) else { continue };
        if let Some(a) = behind
            && a != b
            && cast[a].precedes(&cast[b])
            && drafts.len() < ENOUGH
        {
            drafts.push(Draft::new(format!(
                "{} cannot show {} without {} before it: {} had returned before {} was called",
                mark(r),
                short(y),
                value_of(a),
                mark(a),
                mark(b)
            )));
        }
        if cast[b].is_certain() {
            behind = first_of(behind, b);
        }
    }
}

fn unique(values: &[Value]) -> Vec<&Value> {
    let mut seen = HashSet::new();
    values.iter().filter(|value| seen.insert(*value)).collect()
}

/// An index that is larger or smaller than it can be.
fn wrong_index(
    scene: &Scene,
    initial: &[Value],
    a: usize,
    index: i64,
    appends: &[Append<'_>],
    drafts: &mut Vec<Draft>,
) {
    let cast = &scene.cast;
    let others = || appends.iter().map(|b| b.0).filter(|&b| b != a);
    let before: Vec<usize> = others().filter(|&b| cast[b].precedes(&cast[a])).collect();
    let perhaps: Vec<usize> = others().filter(|&b| cast[b].call < cast[a].returned).collect();
    let least = (initial.len() + before.len()) as i64;
    let most = (initial.len() + perhaps.len()) as i64;
    let holds = match initial.len() {
        0 => "the log is empty initially".into(),
        n => format!("the log holds {n} initially"),
    };
    if index < least {
        let needed = (index + 1 - initial.len() as i64).max(0) as usize;
        let before = before[..needed.min(before.len())].to_vec();
        let text = match before.as_slice() {
            [] => {
                format!("{} should have an index of at least {}: {holds}", mark(a), initial.len())
            }
            some => format!(
                "{} should have an index of at least {}: {holds}, and {} had returned before it was called",
                mark(a),
                initial.len() + some.len(),
                marks(some)
            ),
        };
        drafts.push(Draft::new(text));
    }
    if index > most {
        let text = match perhaps.as_slice() {
            [] => format!(
                "{} should have an index of at most {most}: {holds}, and nothing else was appended before it returned",
                mark(a)
            ),
            some => format!(
                "{} should have an index of at most {most}: {holds}, and only {} can have come before it",
                mark(a),
                marks(some)
            ),
        };
        drafts.push(Draft::new(text));
    }
}

/// Texts of one key.
pub(super) fn texts(scene: &Scene) -> Vec<Draft> {
    let cast = &scene.cast;
    let mut gets: Vec<(usize, &str)> = Vec::new();
    let mut puts: Vec<usize> = Vec::new();
    let mut texts: Vec<(usize, &str, bool)> = Vec::new();
    for (place, actor) in cast.iter().enumerate() {
        match &actor.act {
            Act::Text(text) if actor.is_certain() => gets.push((place, text)),
            Act::PutText(text) => {
                puts.push(place);
                texts.push((place, text, true));
            }
            Act::AppendText(text) => texts.push((place, text, false)),
            _ => {}
        }
    }
    // Whether the text may be replaced after the one and before the other.
    let replaced = |from: usize, to: usize| {
        let may = |&p: &usize| {
            p != from && !cast[p].precedes(&cast[from]) && cast[p].call < cast[to].returned
        };
        puts.iter().any(may)
    };
    let mut drafts = Vec::new();
    let mut work = 0;
    // The one that is known to be wrong comes first.
    let first = gets.iter().position(|get| Some(get.0) == scene.first);
    let others = (0..gets.len()).filter(|&n| Some(n) != first);
    for (g, text) in first.into_iter().chain(others).map(|n| gets[n]) {
        for &(a, piece, is_put) in &texts {
            work += 1;
            if !cast[a].precedes(&cast[g]) || replaced(a, g) {
                continue;
            }
            work += text.len();
            if work > WORK || drafts.len() > ENOUGH {
                return drafts;
            }
            let fits = if is_put { text.starts_with(piece) } else { text.contains(piece) };
            if !fits {
                let how = if is_put { "begin with" } else { "contain" };
                drafts.push(Draft::new(format!(
                    "{} should {how} {}: {} had returned before it was called, and nothing can have replaced the text in between",
                    mark(g),
                    short(&Value::text(piece)),
                    mark(a)
                )));
            }
        }
        for &(h, before) in &gets {
            work += 1;
            if work > WORK || drafts.len() > ENOUGH {
                return drafts;
            }
            if cast[h].precedes(&cast[g]) && !text.starts_with(before) && !replaced(h, g) {
                work += text.len();
                drafts.push(Draft::new(format!(
                    "{} should begin with the text that {} found, which had returned before it was called: nothing can have replaced the text in between",
                    mark(g),
                    mark(h)
                )));
            }
        }
        work += text.len() * texts.len();
        if work > WORK {
            return drafts;
        }
        let in_time = texts.iter().filter(|t| cast[t.0].call < cast[g].returned).map(|t| t.1);
        if scene.complete && !is_made_of(text, in_time) {
            drafts.push(Draft::new(format!(
                "{} is impossible: its text is not made of texts that were put or appended before it returned",
                mark(g)
            )));
        }
        if drafts.is_empty() && scene.complete && puts.is_empty() {
            drafts.extend(wrong_length(scene, g, text, &texts));
        }
        if is_explained(scene, g, &drafts) {
            return drafts;
        }
    }
    drafts
}

/// A text that is longer or shorter than the appended ones can make it. It is empty initially.
fn wrong_length(
    scene: &Scene,
    g: usize,
    text: &str,
    appends: &[(usize, &str, bool)],
) -> Option<Draft> {
    let cast = &scene.cast;
    let length = |text: &str| text.chars().count();
    let sum = |of: &[(usize, &str)]| of.iter().map(|a| length(a.1)).sum::<usize>();
    let places = |of: &[(usize, &str)]| of.iter().map(|a| a.0).collect::<Vec<usize>>();
    let all = || appends.iter().map(|a| (a.0, a.1)).filter(|a| !a.1.is_empty());
    let may: Vec<(usize, &str)> = all().filter(|a| cast[a.0].call < cast[g].returned).collect();
    if length(text) > sum(&may) && !may.is_empty() && may.len() <= NAMED {
        return Some(Draft::new(format!(
            "{} shows a text of length {}, but only {} can have been called before it returned, and what these append has length {}",
            mark(g),
            length(text),
            marks(&places(&may)),
            sum(&may)
        )));
    }
    let mut must: Vec<(usize, &str)> = all().filter(|a| cast[a.0].precedes(&cast[g])).collect();
    while must.len() > 1 && sum(&must[..must.len() - 1]) > length(text) {
        must.pop();
    }
    (length(text) < sum(&must) && must.len() <= NAMED).then(|| {
        Draft::new(format!(
            "{} shows a text of length {}, but {} had returned before it was called, and what these append has length {}",
            mark(g),
            length(text),
            marks(&places(&must)),
            sum(&must)
        ))
    })
}

/// True where the text is a sequence of some of these, each as often as it likes.
fn is_made_of<'a>(text: &str, pieces: impl Iterator<Item = &'a str>) -> bool {
    let pieces: HashSet<&str> = pieces.filter(|piece| !piece.is_empty()).collect();
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for at in 0..text.len() {
        if !reached[at] {
            continue;
        }
        for piece in &pieces {
            if text.as_bytes()[at..].starts_with(piece.as_bytes()) {
                reached[at + piece.len()] = true;
            }
        }
    }
    reached[text.len()]
}
