//! Totals that no additions make, and totals that do not fit together.
//!
//! **The rule of sums.** An operation r finds a total n. Count from the start, or from an operation
//! a that returned before r was called and whose total is known. Additions that were called after a
//! returned, and returned before r was called, are in the difference; those that returned before a
//! was called, or were called after r returned, are not; each of the others may be. If no choice of
//! the others makes the difference, r is impossible.
//!
//! **The rule of two totals.** For each of two reads, only one set of additions makes its total.
//! The later read counts all additions that the earlier one counts, so one of the two sets must
//! contain the other.
//!
//! Bounds are explained by [`super::level`], which comes first. Cost: for each operation and each
//! start of the count, the additions in between times the sums that they make, at most [`WORK`] in
//! all.

use std::collections::BTreeSet;

use super::{Draft, Scene, mark, marks};
use crate::spec::vocabulary::{Act, Amount};
use crate::value::Value;

/// Maximum number of additions and sums that are examined.
const WORK: usize = 1 << 19;
/// Earlier operations that are tried to count from.
const ANCHORS: usize = 256;
/// At most this many sums are distinguished.
const SUMS: usize = 512;
/// Longer lists are not enumerated.
const NAMED: usize = 6;
/// Drafts of so few operations need no better one.
const SHORT: usize = 12;

/// Where counting starts.
#[derive(Clone, Copy)]
enum From {
    Start(i64),
    After(usize, i64),
}

/// Additions that an operation certainly counts since then, and those that it may count besides.
struct Between {
    must: Vec<usize>,
    free: Vec<usize>,
}

pub(super) fn drafts(scene: &Scene) -> Vec<Draft> {
    // A counter wraps around at the ends of its numbers.
    let start = match scene.initial.as_deref() {
        Some([Value::Int(n)]) => Some(*n),
        _ => None,
    };
    let most: i128 = (0..scene.cast.len()).map(|p| i128::from(change(scene, p)).abs()).sum();
    if most + start.map_or(0, |n| i128::from(n).abs()) >= i128::from(i64::MAX / 2) {
        return Vec::new();
    }
    // Those next to the first that is wrong come first: the work is bounded.
    let certain = |&place: &usize| scene.cast[place].is_certain() && found(scene, place).is_some();
    let mut places: Vec<usize> = (0..scene.cast.len()).filter(certain).collect();
    if let Some(first) = scene.first {
        let end = scene.cast[first].returned;
        places.sort_by_key(|&place| scene.cast[place].returned.abs_diff(end));
    }
    let mut drafts: Vec<Draft> = Vec::new();
    let mut work = 0;
    for &r in &places {
        for from in anchors(scene, start, r) {
            let between = between(scene, r, from);
            work +=
                scene.cast.len() + between.free.len() * SUMS.min(1 << between.free.len().min(9));
            if work > WORK {
                return drafts;
            }
            if let Some(draft) = no_sum(scene, r, from, &between) {
                let is_short = draft.cast().len() <= SHORT;
                drafts.push(draft);
                if is_short {
                    return drafts;
                }
            }
        }
    }
    for (n, &a) in places.iter().enumerate() {
        for &b in &places[..n] {
            for from in anchors(scene, start, a).into_iter().take(2) {
                work += 2 * scene.cast.len();
                if work > WORK {
                    return drafts;
                }
                drafts.extend(two_totals(scene, a.min(b), a.max(b), from));
            }
        }
    }
    drafts
}

fn change(scene: &Scene, place: usize) -> i64 {
    match scene.cast[place].act {
        Act::Level(_, change) => change,
        _ => 0,
    }
}

/// The total that an operation finds.
fn found(scene: &Scene, place: usize) -> Option<i64> {
    match scene.cast[place].act {
        Act::Level(Amount::Exactly(n), _) => Some(n),
        _ => None,
    }
}

/// The possible starts of the count for an operation, the nearest first; the start of the history
/// comes last.
fn anchors(scene: &Scene, start: Option<i64>, r: usize) -> Vec<From> {
    let cast = &scene.cast;
    let known = |a: usize| Some(From::After(a, found(scene, a)? + change(scene, a)));
    let mut before: Vec<usize> = (0..cast.len())
        .filter(|&a| found(scene, a).is_some() && cast[a].is_certain())
        .filter(|&a| cast[a].precedes(&cast[r]))
        .collect();
    let latest = |&a: &usize| std::cmp::Reverse(cast[a].returned);
    if before.len() > ANCHORS {
        before.select_nth_unstable_by_key(ANCHORS, latest);
        before.truncate(ANCHORS);
    }
    before.sort_by_key(latest);
    before.into_iter().filter_map(known).chain(start.map(From::Start)).collect()
}

fn between(scene: &Scene, r: usize, from: From) -> Between {
    let cast = &scene.cast;
    let (mut must, mut free) = (Vec::new(), Vec::new());
    for (place, actor) in cast.iter().enumerate() {
        if place == r || change(scene, place) == 0 || actor.call > cast[r].returned {
            continue;
        }
        let (is_after, may_be) = match from {
            From::Start(_) => (true, true),
            From::After(a, _) if a == place => continue,
            From::After(a, _) => (cast[a].precedes(actor), !actor.precedes(&cast[a])),
        };
        match (is_after && actor.precedes(&cast[r]), may_be) {
            (true, _) => must.push(place),
            (false, true) => free.push(place),
            (false, false) => {}
        }
    }
    Between { must, free }
}

fn sum(scene: &Scene, places: &[usize]) -> i64 {
    places.iter().map(|&place| change(scene, place)).sum()
}

/// The operation finds a total that no choice of additions makes.
fn no_sum(scene: &Scene, r: usize, from: From, between: &Between) -> Option<Draft> {
    let Between { must, free } = between;
    let (From::Start(base) | From::After(_, base)) = from;
    let mut totals = BTreeSet::from([base + sum(scene, must)]);
    for &place in free {
        let more: Vec<i64> = totals.iter().map(|total| total + change(scene, place)).collect();
        totals.extend(more);
        if totals.len() > SUMS {
            return None;
        }
    }
    if totals.contains(&found(scene, r)?) {
        return None;
    }
    let mut clauses = vec![since(from)];
    match must.len() {
        0 => {}
        n if n > NAMED => clauses.push(format!(
            "{n} of the others shown had certainly {} it by then",
            verb(scene, must)
        )),
        _ => clauses.push(match from {
            From::Start(_) => format!("{} had returned before it was called", marks(must)),
            From::After(..) => {
                format!("{} had certainly {} it by then", marks(must), verb(scene, must))
            }
        }),
    }
    let when = match from {
        From::Start(_) => "before it returned",
        From::After(..) => "in between",
    };
    let besides = if must.is_empty() { "" } else { " besides" };
    clauses.push(match free.len() {
        0 => format!("nothing can have {} it{besides} {when}", verb(scene, free)),
        n if n > NAMED => {
            format!("only {n} others shown can have {} it{besides} {when}", verb(scene, free))
        }
        _ => format!("only {} can have {} it{besides} {when}", marks(free), verb(scene, free)),
    });
    let before = if change(scene, r) == 0 { "" } else { " before it" };
    let totals: Vec<String> = totals.iter().map(i64::to_string).collect();
    let so = match totals.as_slice() {
        all if all.len() > NAMED => {
            format!("the total{before} cannot have been {}", found(scene, r)?)
        }
        [all @ .., last] if !all.is_empty() => {
            format!("the total{before} was {} or {last}", all.join(", "))
        }
        all => format!("the total{before} was {}", all.join("")),
    };
    let text = format!("{} is impossible: {}, so {so}", mark(r), clauses.join(", and "));
    Some(Draft::new(text).with(must.iter().chain(free).copied()))
}

fn verb(scene: &Scene, places: &[usize]) -> &'static str {
    let adds = places.iter().all(|&place| change(scene, place) > 0);
    if adds { "added to" } else { "changed" }
}

fn since(from: From) -> String {
    match from {
        From::Start(n) => format!("it is {n} initially"),
        From::After(a, n) => {
            format!("it was {n} after {}, which had returned before it was called", mark(a))
        }
    }
}

/// Two reads each of which counts one set of additions, neither part of the other.
fn two_totals(scene: &Scene, a: usize, b: usize, from: From) -> Option<Draft> {
    let cast = &scene.cast;
    if change(scene, a) != 0 || change(scene, b) != 0 {
        return None;
    }
    if let From::After(x, _) = from
        && !(cast[x].precedes(&cast[a]) && cast[x].precedes(&cast[b]))
    {
        return None;
    }
    let (one, other) = (only_way(scene, a, from)?, only_way(scene, b, from)?);
    let is_part = |some: &[usize], all: &[usize]| some.iter().all(|place| all.contains(place));
    if is_part(&one, &other) || is_part(&other, &one) {
        return None;
    }
    let base = match from {
        From::Start(n) => format!("it is {n} initially"),
        From::After(x, n) => {
            format!("it was {n} after {}, which had returned before they were called", mark(x))
        }
    };
    let counts = |r: usize, way: &[usize]| format!("{} counts only {}", mark(r), marks(way));
    let text = format!(
        "{} and {} contradict each other: {base}, so {}, whereas {}, but whichever of them came later counts all that the other one counts",
        mark(a),
        mark(b),
        counts(a, &one),
        counts(b, &other)
    );
    let may = |r: usize| {
        let Between { must, free } = between(scene, r, from);
        must.into_iter().chain(free)
    };
    Some(Draft::new(text).with(may(a)).with(may(b)))
}

/// The additions that a read counts, if only one set makes its total.
fn only_way(scene: &Scene, r: usize, from: From) -> Option<Vec<usize>> {
    let Between { must, free } = between(scene, r, from);
    let (From::Start(base) | From::After(_, base)) = from;
    let missing = found(scene, r)? - base - sum(scene, &must);
    if must.len() + free.len() > NAMED {
        return None;
    }
    let mut way = None;
    for set in 0u32..1 << free.len() {
        let chosen = free.iter().enumerate().filter(|(n, _)| set >> n & 1 == 1).map(|(_, &p)| p);
        let chosen: Vec<usize> = chosen.collect();
        if sum(scene, &chosen) == missing && way.replace(chosen).is_some() {
            return None;
        }
    }
    let mut way = [must, way?].concat();
    way.sort_unstable();
    (!way.is_empty()).then_some(way)
}
