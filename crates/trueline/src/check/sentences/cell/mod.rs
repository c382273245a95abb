//! The last value in a cell: a register, a key, a segment, a lock.
//!
//! **The rule of the last value.** An operation r needs a cell to hold v. Let x have returned
//! before r was called, and have left or seen another value there. If every operation that may
//! leave v there returned before x was called, or was called after r returned, then r is
//! impossible.
//!
//! **The rule of two values.** If each of two values is left there by one operation only, all
//! operations that leave or see the one come before all that leave or see the other.

mod phrases;
mod turns;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::{Draft, Scene, mark, short};
use crate::history::PENDING;
use crate::spec::vocabulary::{Act, Family, Needs};
use crate::value::Value;

/// Maximum number of touches of cells that are examined.
const WORK: usize = 1 << 21;

/// Cells with more touches are not examined for values that come and go.
const EPISODES: usize = 512;

/// The effect of one operation on one cell.
struct Touch<'a> {
    place: usize,
    call: u32,
    returned: u32,
    needs: Needs,
    leaves: Option<&'a Value>,
}

impl Touch<'_> {
    /// Whether the cell certainly holds another value afterwards.
    fn leaves_other(&self, value: &Value) -> bool {
        match (self.leaves, &self.needs) {
            (Some(left), _) => left != value,
            (None, Needs::Is(seen)) => seen != value,
            (None, Needs::Not(other)) => other == value,
            (None, Needs::Any) => false,
        }
    }

    /// Whether the cell certainly holds this value afterwards.
    fn leaves_this(&self, value: &Value) -> bool {
        match (self.leaves, &self.needs) {
            (Some(left), _) => left == value,
            (None, Needs::Is(seen)) => seen == value,
            (None, _) => false,
        }
    }
}

struct Cell<'a> {
    scene: &'a Scene,
    name: Value,
    /// By call.
    touches: Vec<Touch<'a>>,
    initial: Option<Value>,
    /// Places in `touches` by return, and of those that leave each value, by call.
    by_return: Vec<usize>,
    /// For each touch the last return of those up to it, by call, that leave something.
    open_until: Vec<u32>,
    writers: HashMap<&'a Value, Vec<usize>, FixedState>,
}

/// Operations that are named for having left a value that was replaced too often.
const FEW: usize = 6;
/// Drafts of so few operations need no better one.
const SHORT: usize = 3;

const PRESENT: Value = Value::Bool(true);
const ABSENT: Value = Value::Bool(false);

pub(super) fn drafts(scene: &Scene) -> Vec<Draft> {
    // Forgotten operations may have changed a key or a lock in between.
    if !scene.complete && scene.family != Family::Register {
        return Vec::new();
    }
    let mut drafts = shown_twice(scene);
    if !drafts.is_empty() {
        return drafts;
    }
    let cells = cells(scene);
    // For the operation that is known to be wrong, a few others suffice.
    if let Some(first) = scene.first {
        cells.iter().for_each(|cell| cell.impossible(|r| r.place == first, &mut drafts));
        if drafts.iter().any(|draft| draft.cast().len() <= SHORT) {
            return drafts;
        }
        drafts.clear();
    }
    let mut work = 0;
    for cell in &cells {
        work += cell.touches.len();
        if work > WORK {
            break;
        }
        cell.impossible(|_| true, &mut drafts);
        let replaces = matches!(scene.family, Family::Register | Family::Set | Family::OwnerMutex);
        if drafts.is_empty() && replaces {
            cell.replaced(&mut drafts);
        }
        if drafts.is_empty() && matches!(scene.family, Family::Register | Family::Map | Family::Kv)
        {
            cell.two_values(&mut drafts);
        }
        if drafts.is_empty() && matches!(scene.family, Family::Register | Family::Map | Family::Kv)
        {
            cell.episodes(&mut drafts);
        }
        if drafts.is_empty() && matches!(scene.family, Family::Register | Family::Map | Family::Kv)
        {
            cell.overwritten(&mut drafts);
        }
        if drafts.is_empty() && scene.family == Family::Map {
            cell.removed_too_often(&mut drafts);
        }
        if drafts.is_empty() && scene.family == Family::Register {
            cell.taken(&mut drafts);
        }
    }
    drafts
}

/// Reads of a set, in ascending order, that show a value more than once.
fn shown_twice(scene: &Scene) -> Vec<Draft> {
    let all = scene.cast.iter().enumerate().filter(|(_, actor)| actor.is_certain());
    let twice = all.filter_map(|(place, actor)| match &actor.act {
        Act::Contents(shown) => {
            let pair = shown.windows(2).find(|pair| pair[0] == pair[1])?;
            let (r, value) = (mark(place), short(&pair[0]));
            Some(Draft::new(format!("{r} shows {value} twice, but a set holds a value once")))
        }
        _ => None,
    });
    twice.collect()
}

fn cells(scene: &Scene) -> Vec<Cell<'_>> {
    let mut names: Vec<Value> = Vec::new();
    let mut numbers: HashMap<Value, usize, FixedState> = HashMap::default();
    let mut number = |name: &Value| {
        *numbers.entry_ref(name).or_insert_with(|| {
            names.push(name.clone());
            names.len() - 1
        })
    };
    let mut rows: Vec<Vec<Touch<'_>>> = Vec::new();
    let mut wholes = Vec::new();
    // An initial value may be missing from a result although no operation names it.
    let shows = |actor: &super::Actor| matches!(actor.act, Act::Contents(_));
    if scene.family == Family::Set && scene.cast.iter().any(shows) {
        scene.initial.iter().flatten().for_each(|value| {
            number(value);
        });
    }
    for (place, actor) in scene.cast.iter().enumerate() {
        let (call, returned) = (actor.call, actor.returned);
        let mut push = |at: usize, needs: Needs, leaves| {
            if rows.len() <= at {
                rows.resize_with(at + 1, Vec::new);
            }
            let needs = if returned == PENDING { Needs::Any } else { needs };
            rows[at].push(Touch { place, call, returned, needs, leaves });
        };
        match &actor.act {
            Act::Cell(name, needs, leaves) => push(number(name), needs.clone(), leaves.as_ref()),
            Act::Scan(shown) if returned != PENDING => {
                for (segment, value) in shown.iter().enumerate() {
                    let segment = Value::Int(segment as i64);
                    push(number(&segment), Needs::Is(value.clone()), None);
                }
            }
            Act::Contents(shown) if returned != PENDING => {
                wholes.push((place, shown));
                for value in shown.iter() {
                    number(value);
                }
            }
            _ => {}
        }
    }
    rows.resize_with(names.len(), Vec::new);
    if wholes.len().saturating_mul(names.len()) <= WORK {
        let mut shown_at: Vec<usize> = vec![usize::MAX; names.len()];
        for (n, (place, shown)) in wholes.iter().enumerate() {
            let actor = &scene.cast[*place];
            for value in shown.iter() {
                shown_at[numbers[value]] = n;
            }
            for (at, row) in rows.iter_mut().enumerate() {
                let is = if shown_at[at] == n { PRESENT } else { ABSENT };
                let (call, returned) = (actor.call, actor.returned);
                row.push(Touch {
                    place: *place,
                    call,
                    returned,
                    needs: Needs::Is(is),
                    leaves: None,
                });
            }
        }
    }
    let initial = |name: &Value| match scene.family {
        Family::Set => scene.initial.as_ref().map(|all| Value::Bool(all.contains(name))),
        Family::Mutex => scene.initial.as_ref().map(|all| Value::Bool(!all.is_empty())),
        Family::Map => Some(Value::Nil),
        _ => scene.initial.as_ref().and_then(|all| all.first().cloned()),
    };
    names
        .into_iter()
        .zip(rows)
        .map(|(name, mut touches)| {
            touches.sort_by_key(|t| t.call);
            let mut by_return: Vec<usize> = (0..touches.len()).collect();
            by_return.sort_by_key(|&n| touches[n].returned);
            let mut writers: HashMap<&Value, Vec<usize>, FixedState> = HashMap::default();
            for (n, touch) in touches.iter().enumerate() {
                if let Some(value) = touch.leaves {
                    writers.entry(value).or_default().push(n);
                }
            }
            let until = |last: &mut u32, touch: &Touch<'_>| {
                *last = (*last).max(touch.leaves.map_or(0, |_| touch.returned));
                Some(*last)
            };
            let open_until = touches.iter().scan(0, until).collect();
            let initial = initial(&name);
            Cell { scene, initial, name, touches, by_return, open_until, writers }
        })
        .collect()
}

impl Cell<'_> {
    fn impossible(&self, looks_at: impl Fn(&Touch<'_>) -> bool, drafts: &mut Vec<Draft>) {
        for r in self.touches.iter().filter(|r| r.returned != PENDING && looks_at(r)) {
            match &r.needs {
                Needs::Is(value) => drafts.extend(self.stale(r, value)),
                Needs::Not(value) => drafts.extend(self.unchanged(r, value)),
                Needs::Any => {}
            }
        }
    }

    /// Why `r` cannot find this value.
    fn stale(&self, r: &Touch<'_>, value: &Value) -> Option<Draft> {
        let all = self.writers.get(value).map_or(&[][..], Vec::as_slice);
        let may_be_initial = self.initial.as_ref().is_none_or(|initial| initial == value);
        let latest = self.latest(all, r);
        if latest.is_none() && !may_be_initial {
            let subject = self.property(false) + &self.subject(r, value);
            let later = all.iter().map(|&n| self.touches[n].place).filter(|&p| p != r.place);
            let later: Vec<usize> = later.collect();
            if !self.scene.complete && later.is_empty() {
                let it = self.brought_about(value);
                return Some(Draft::new(format!(
                    "{subject}: nothing that is known {it} before it returned"
                )));
            }
            return Some(Draft::new(match later.as_slice() {
                [] => format!("{subject}: {}{}", self.never(value), self.at_first()),
                [one] => {
                    let is_pending =
                        self.touches.iter().any(|t| t.place == *one && t.returned == PENDING);
                    let alone = match is_pending {
                        true => format!("which alone can have {}", self.done(value)),
                        false => format!("which alone {}", self.brought_about(value)),
                    };
                    format!(
                        "{subject}: {}, {alone}, was called only after it had returned{}",
                        mark(*one),
                        self.at_first()
                    )
                }
                _ => format!(
                    "{subject}: nothing {} before it returned{}",
                    self.brought_about(value),
                    self.at_first()
                ),
            }));
        }
        let last = latest.map_or(0, |w| w.returned);
        let x = self.last_other(r, last, latest.is_none(), |x| x.leaves_other(value))?;
        let subject = self.property(x.leaves.is_none()) + &self.subject(r, value);
        let mut text = format!(
            "{subject}: {} had returned before it was called, and nothing can have {} in between",
            mark(x.place),
            self.done(value)
        );
        match latest {
            Some(w) => {
                text += &format!(
                    ": {} had returned before {} was called",
                    mark(w.place),
                    mark(x.place)
                );
            }
            None => text += &self.only_at_first(value),
        }
        Some(Draft::new(text).with(self.source(x)))
    }

    /// Of these, by call, the one that was called before `r` returned and returned last; or one
    /// that `r` overlaps.
    fn latest(&self, all: &[usize], r: &Touch<'_>) -> Option<&Touch<'_>> {
        let called = all.partition_point(|&n| self.touches[n].call < r.returned);
        let mut latest: Option<&Touch<'_>> = None;
        for &n in all[..called].iter().rev() {
            // No earlier one returned later.
            if latest.is_some_and(|l| l.returned >= r.call || self.open_until[n] <= l.returned) {
                break;
            }
            let w = &self.touches[n];
            if w.place != r.place && latest.is_none_or(|l| w.returned > l.returned) {
                latest = Some(w);
            }
        }
        latest
    }

    /// The operation that left the value that this one found, so that the sentence explains it.
    fn source(&self, x: &Touch<'_>) -> Option<usize> {
        let (None, Needs::Is(seen)) = (x.leaves, &x.needs) else { return None };
        let writers = self.writers.get(seen)?.iter().map(|&n| &self.touches[n]);
        writers.filter(|w| w.call < x.returned).map(|w| w.place).next()
    }

    /// Why `r` cannot find anything else than this value.
    fn unchanged(&self, r: &Touch<'_>, value: &Value) -> Option<Draft> {
        let writes_other =
            |w: &Touch<'_>| w.place != r.place && w.leaves.is_some_and(|left| left != value);
        // An overlapping operation may have written another value.
        let called = self.touches.partition_point(|w| w.call < r.returned);
        let open = (0..called).rev().take_while(|&n| self.open_until[n] >= r.call);
        let mut open = open.map(|n| &self.touches[n]).filter(|w| w.returned >= r.call);
        if open.any(writes_other) {
            return None;
        }
        let end = self.by_return.partition_point(|&n| self.touches[n].returned < r.call);
        let mut before = self.by_return[..end].iter().rev().map(|&n| &self.touches[n]);
        let latest = before.find(|w| writes_other(w));
        let words = || (self.subject_of_other(r, value), self.other_than(value));
        let last = latest.map_or(0, |w| w.returned);
        let is_initial = self.initial.as_ref() == Some(value);
        if latest.is_none() && is_initial {
            let (subject, other) = words();
            return Some(Draft::new(format!(
                "{subject}: nothing that was called before it returned can have {other}{}",
                self.at_first()
            )));
        }
        let x = self.last_other(r, last, latest.is_none(), |x| x.leaves_this(value))?;
        let (subject, other) = words();
        let mut text = format!(
            "{subject}: {} had returned before it was called, and nothing can have {other} in between",
            mark(x.place)
        );
        if let Some(w) = latest {
            text +=
                &format!(": {} had returned before {} was called", mark(w.place), mark(x.place));
        }
        Some(Draft::new(text).with(self.source(x)))
    }

    /// The operation that returned last before `r` was called, was called after `last`, and leaves
    /// a value that excludes `r`. One that changes the cell is preferred to one that reads it.
    fn last_other(
        &self,
        r: &Touch<'_>,
        last: u32,
        none: bool,
        excludes: impl Fn(&Touch<'_>) -> bool,
    ) -> Option<&Touch<'_>> {
        let end = self.by_return.partition_point(|&n| self.touches[n].returned < r.call);
        let mut seen = None;
        for &n in self.by_return[..end].iter().rev() {
            let x = &self.touches[n];
            if !none && x.returned < last {
                break;
            }
            if x.place != r.place && (none || x.call > last) && excludes(x) {
                if x.leaves.is_some() {
                    return Some(x);
                }
                seen = seen.or(Some(x));
            }
        }
        seen
    }

    /// Values each of which is left here by one operation only.
    fn two_values(&self, drafts: &mut Vec<Draft>) {
        struct Run<'t, 'a> {
            value: &'t Value,
            /// The one that returned first, and the one that was called last.
            first: &'t Touch<'a>,
            last: &'t Touch<'a>,
            write: &'t Touch<'a>,
        }
        let mut runs: Vec<Run<'_, '_>> = Vec::new();
        let mut numbers: HashMap<&Value, usize, FixedState> = HashMap::default();
        for touch in &self.touches {
            let value = match (&touch.needs, touch.leaves) {
                (_, Some(value)) => value,
                (Needs::Is(value), None) => value,
                _ => continue,
            };
            if self.initial.as_ref().is_none_or(|initial| initial == value) {
                continue;
            }
            let Some(&[write]) = self.writers.get(value).map(Vec::as_slice) else { continue };
            let write = &self.touches[write];
            let number = *numbers.entry(value).or_insert(runs.len());
            match runs.get_mut(number) {
                Some(run) => {
                    if touch.returned < run.first.returned {
                        run.first = touch;
                    }
                    if touch.call > run.last.call && touch.returned != PENDING {
                        run.last = touch;
                    }
                }
                None => runs.push(Run { value, first: touch, last: touch, write }),
            }
            if runs.len() > 512 {
                return;
            }
        }
        // An operation that read the one and wrote the other would belong to both.
        for (n, a) in runs.iter().enumerate() {
            for b in &runs[n + 1..] {
                let is_both = |t: &Touch<'_>, a: &Value, b: &Value| {
                    t.leaves == Some(b) && t.needs == Needs::Is(a.clone())
                };
                let joined =
                    |t: &Touch<'_>| is_both(t, a.value, b.value) || is_both(t, b.value, a.value);
                let crossed = a.first.returned < b.last.call && b.first.returned < a.last.call;
                if crossed && !self.touches.iter().any(joined) {
                    let text = format!(
                        "{} and {} cannot each have come before the other: each was written only once{}, but {} returned before {} was called, and {} returned before {} was called",
                        short(a.value),
                        short(b.value),
                        if self.scene.family == Family::Register { "" } else { " under the key" },
                        mark(a.first.place),
                        mark(b.last.place),
                        mark(b.first.place),
                        mark(a.last.place)
                    );
                    drafts.push(Draft::new(text).with([a.write.place, b.write.place]));
                    if drafts.len() > 32 {
                        return;
                    }
                }
            }
        }
    }
}
