//! What went into a container, what came out, and what was inside meanwhile.
//!
//! The rules below speak of values that went in once at most, so that it is clear which removal belongs to which
//! insertion; only how often a value went in and came out is counted whatever the values are. A value is *certainly
//! inside* from the return of its insertion to the call of its first removal.

use std::collections::HashMap;

use super::{Scene, Tale, and, mark, marks, short, times, values, was};
use crate::history::PENDING;
use crate::spec::vocabulary::{Act, End, Family};
use crate::value::Value;

/// What is done to one value.
#[derive(Default)]
struct Life {
    inserts: Vec<usize>,
    removals: Vec<usize>,
    peeks: Vec<usize>,
    /// Its places among the initial values.
    initial: Vec<usize>,
}

/// A value that went in once, by an operation or at first.
struct Known<'a> {
    value: &'a Value,
    insert: Option<usize>,
    place: usize,
    /// The removal that was called first.
    removal: Option<usize>,
    /// Certainly inside between these ranks.
    from: u32,
    to: u32,
}

struct Container<'a> {
    scene: &'a Scene,
    initial: &'a [Value],
    lives: HashMap<&'a Value, Life>,
    /// In order of appearance.
    order: Vec<&'a Value>,
    known: Vec<Known<'a>>,
    takes: Vec<usize>,
}

/// The words for a family: the object, 'was put in', 'was taken out'.
fn words(family: Family) -> (&'static str, &'static str, &'static str) {
    match family {
        Family::Queue { nearest: 1 } => ("queue", "enqueued", "dequeued"),
        Family::Queue { .. } => ("semiqueue", "enqueued", "dequeued"),
        Family::StutteringQueue(_) => ("stuttering queue", "enqueued", "dequeued"),
        Family::Stack => ("stack", "pushed", "popped"),
        Family::Deque => ("deque", "pushed", "popped"),
        Family::PriorityQueue { .. } => ("priority queue", "inserted", "removed"),
        _ => ("container", "put in", "taken out"),
    }
}

pub(super) fn tales(scene: &Scene) -> Vec<Tale> {
    let Some(initial) = scene.initial.as_deref() else { return Vec::new() };
    let container = Container::new(scene, initial);
    let mut tales = Vec::new();
    container.never_inserted(&mut tales);
    container.too_often(&mut tales);
    if !tales.is_empty() {
        return tales;
    }
    // Each takes time in proportion to the values: those next to the first that is wrong come first, and a few are enough.
    let mut places: Vec<usize> = (0..scene.cast.len()).collect();
    let mut enough = usize::MAX;
    if let Some(first) = scene.first {
        let end = scene.cast[first].returned;
        places.sort_by_key(|&place| scene.cast[place].returned.abs_diff(end));
        enough = 3;
    }
    tales.extend(places.into_iter().filter_map(|place| container.impossible(place)).take(enough));
    if tales.is_empty() && scene.family == Family::Stack {
        tales.extend(container.no_bottom());
    }
    tales
}

impl<'a> Container<'a> {
    fn new(scene: &'a Scene, initial: &'a [Value]) -> Container<'a> {
        let mut lives: HashMap<&Value, Life> = HashMap::new();
        let mut order: Vec<&Value> = Vec::new();
        let mut takes = Vec::new();
        for (place, value) in initial.iter().enumerate() {
            order.push(value);
            lives.entry(value).or_default().initial.push(place);
        }
        for (place, actor) in scene.cast.iter().enumerate() {
            let (value, list): (_, fn(&mut Life) -> &mut Vec<usize>) = match &actor.act {
                Act::Insert(_, value) => (value, |life| &mut life.inserts),
                Act::Remove(_, value) => (value, |life| &mut life.removals),
                Act::Peek(_, value) => (value, |life| &mut life.peeks),
                Act::Take => {
                    takes.push(place);
                    continue;
                }
                _ => continue,
            };
            order.push(value);
            list(lives.entry(value).or_default()).push(place);
        }
        let mut seen = std::collections::HashSet::new();
        order.retain(|value| seen.insert(*value));
        let mut container = Container { scene, initial, lives, order, known: Vec::new(), takes };
        container.known = container.known();
        container
    }

    fn known(&self) -> Vec<Known<'a>> {
        let mut known = Vec::new();
        for &value in &self.order {
            let life = &self.lives[value];
            let insert = match (life.inserts.as_slice(), life.initial.len()) {
                ([], 1) => None,
                (&[one], 0) if self.scene.cast[one].is_certain() => Some(one),
                _ => continue,
            };
            let removal = life.removals.iter().copied().min_by_key(|&r| self.scene.cast[r].call);
            known.push(Known {
                value,
                insert,
                place: life.initial.first().copied().unwrap_or(0),
                removal,
                from: insert.map_or(0, |i| self.scene.cast[i].returned),
                to: removal.map_or(PENDING, |r| self.scene.cast[r].call),
            });
        }
        known
    }

    fn returned(&self, place: usize) -> u32 {
        self.scene.cast[place].returned
    }

    fn call(&self, place: usize) -> u32 {
        self.scene.cast[place].call
    }

    /// What is wrong with an operation.
    fn impossible(&self, place: usize) -> Option<Tale> {
        let actor = &self.scene.cast[place];
        if !actor.is_certain() {
            return None;
        }
        match &actor.act {
            Act::Empty => self.not_empty(place),
            Act::Remove(end, value) | Act::Peek(end, value) => self.overtakes(place, *end, value),
            Act::Refused => self.not_full(place),
            Act::Insert(..) => self.full(place),
            _ => None,
        }
    }

    fn nouns(&self) -> (&'static str, &'static str, &'static str) {
        words(self.scene.family)
    }

    /// Removals of unknown outcome that may have taken something before this rank.
    fn takers(&self, before: u32) -> Vec<usize> {
        self.takes.iter().copied().filter(|&t| self.call(t) < before).collect()
    }

    /// Something came out that was not put in before.
    fn never_inserted(&self, tales: &mut Vec<Tale>) {
        let (noun, inserted, _) = self.nouns();
        for &value in &self.order {
            let life = &self.lives[value];
            let value = short(value);
            if !life.initial.is_empty() {
                continue;
            }
            for &r in life.removals.iter().chain(&life.peeks) {
                let end = self.returned(r);
                if end == PENDING || life.inserts.iter().any(|&i| self.call(i) < end) {
                    continue;
                }
                let r = mark(r);
                tales.push(Tale::new(match life.inserts.as_slice() {
                    [] if !self.scene.complete => {
                        format!("{r} cannot be: {value} was not {inserted}, or had left already")
                    }
                    [] if self.initial.is_empty() => {
                        format!("{r} cannot be: {value} was never {inserted}")
                    }
                    [] => format!(
                        "{r} cannot be: {value} was never {inserted}, and the {noun} holds {} at first",
                        short(&Value::list(self.initial.iter().cloned()))
                    ),
                    _ if !self.scene.complete => continue,
                    [one] => format!(
                        "{r} cannot be: {}, which alone {inserted} {value}, was called only after it had returned",
                        mark(*one)
                    ),
                    all => format!(
                        "{r} cannot be: {}, which alone {inserted} {value}, were called only after it had returned",
                        marks(all)
                    ),
                }));
            }
        }
    }

    /// A value came out more often than it went in.
    fn too_often(&self, tales: &mut Vec<Tale>) {
        let each = match self.scene.family {
            Family::StutteringQueue(j) => j as usize,
            Family::Container => return,
            _ => 1,
        };
        let (noun, inserted, removed) = self.nouns();
        if !self.scene.complete {
            return;
        }
        for &value in &self.order {
            let life = &self.lives[value];
            let (out, went_in) = (life.removals.len(), life.inserts.len() + life.initial.len());
            if out <= each * went_in || went_in == 0 {
                continue;
            }
            let value = short(value);
            let mut sources = Vec::new();
            if !life.inserts.is_empty() {
                sources.push(format!(
                    "{inserted} only {}, by {}",
                    times(life.inserts.len()),
                    marks(&life.inserts)
                ));
            }
            if !life.initial.is_empty() {
                sources
                    .push(format!("is in the {noun} only {} at first", times(life.initial.len())));
            }
            let out = &life.removals[..each * went_in + 1];
            let mut text = format!(
                "{value} was {removed} {}, by {}, but {}",
                times(out.len()),
                marks(out),
                sources.join(", and ")
            );
            if each > 1 {
                text +=
                    &format!(": a {noun} with j={each} gives out a value {} at most", times(each));
            }
            tales.push(Tale::new(text));
        }
    }

    /// When and why a value is inside during a removal: `a from the return of .. to the call of ..`.
    fn stay(&self, known: &Known<'_>) -> String {
        let value = short(known.value);
        let from = match known.insert {
            Some(insert) => format!("{value} from the return of {}", mark(insert)),
            None => format!("{value} from the start"),
        };
        match known.removal {
            Some(removal) => format!("{from} to the call of {}", mark(removal)),
            None => format!("{from} on"),
        }
    }

    /// What is told of values that are inside all the time: `.. had returned before it was called, and ..`.
    fn presence(&self, inside: &[&Known<'_>], takers: &[usize]) -> String {
        let inserts: Vec<usize> = inside.iter().filter_map(|k| k.insert).collect();
        let initial: Vec<&Value> =
            inside.iter().filter(|k| k.insert.is_none()).map(|k| k.value).collect();
        let mut clauses = Vec::new();
        if !inserts.is_empty() {
            clauses.push(format!("{} had returned before it was called", marks(&inserts)));
        }
        if !initial.is_empty() {
            let there = if initial.len() == 1 { "is" } else { "are" };
            clauses.push(format!("{} {there} inside from the start", values(&initial)));
        }
        clauses.extend(self.absence(inside, takers, "it"));
        clauses.join(", and ")
    }

    /// What is told of how values did not leave before `whom` returned.
    fn absence(&self, inside: &[&Known<'_>], takers: &[usize], whom: &str) -> Vec<String> {
        let (_, _, removed) = self.nouns();
        let mut clauses = Vec::new();
        let removals: Vec<usize> = inside.iter().filter_map(|k| k.removal).collect();
        if !removals.is_empty() {
            clauses.push(format!(
                "{} {} called only after {whom} had returned",
                marks(&removals),
                was(removals.len())
            ));
        }
        let stayed: Vec<&Value> =
            inside.iter().filter(|k| k.removal.is_none()).map(|k| k.value).collect();
        if !stayed.is_empty() && takers.is_empty() {
            let (verb, never) = match self.scene.complete {
                true => (was(stayed.len()), "never "),
                false => (was(stayed.len()), "not "),
            };
            let until = if self.scene.complete { "" } else { " before" };
            clauses.push(format!("{} {verb} {never}{removed}{until}", values(&stayed)));
        }
        if !takers.is_empty() {
            clauses.push(format!(
                "{}, of unknown outcome, can have taken only {} of them",
                marks(takers),
                takers.len()
            ));
        }
        clauses
    }

    /// Values of which one is certainly inside at every moment between two ranks: the fewest.
    fn cover(
        &self,
        from: u32,
        to: u32,
        fits: impl Fn(&Known<'_>) -> bool,
    ) -> Option<Vec<&Known<'a>>> {
        let stays = self.takers(to).is_empty();
        let mut slot = from;
        let mut chosen = Vec::new();
        while slot < to {
            // What left by a known operation was not taken by one of unknown outcome.
            let fits = |k: &&Known<'_>| fits(k) && (stays || k.removal.is_some());
            let inside = self.known.iter().filter(fits).filter(|k| k.from <= slot && k.to > slot);
            let longest = inside.max_by_key(|k| k.to)?;
            slot = longest.to;
            chosen.push(longest);
        }
        Some(chosen)
    }

    /// So many more values are inside from one rank to another than open removals can have taken; the values and these.
    fn throughout(
        &self,
        from: u32,
        to: u32,
        more: usize,
        fits: impl Fn(&Known<'_>) -> bool,
    ) -> Option<(Vec<&Known<'a>>, Vec<usize>)> {
        let inside = self.known.iter().filter(|k| fits(k) && k.from <= from && k.to >= to);
        self.enough(inside.collect(), to, more)
    }

    /// So many of these values that are inside as are certainly there whatever open removals took, and these removals. What
    /// left later, by a known operation, was not taken by one of unknown outcome.
    fn enough<'k>(
        &self,
        inside: Vec<&'k Known<'a>>,
        to: u32,
        more: usize,
    ) -> Option<(Vec<&'k Known<'a>>, Vec<usize>)> {
        let (mut chosen, stayed): (Vec<_>, Vec<_>) =
            inside.into_iter().partition(|k| k.removal.is_some());
        chosen.truncate(more);
        if chosen.len() == more {
            return Some((chosen, Vec::new()));
        }
        let takers = self.takers(to);
        let missing = more - chosen.len() + takers.len();
        chosen.extend(stayed.into_iter().take(missing));
        (chosen.len() == more + takers.len()).then_some((chosen, takers))
    }

    /// 'Empty' was told while something was inside.
    fn not_empty(&self, place: usize) -> Option<Tale> {
        let (noun, ..) = self.nouns();
        let (from, to) = (self.call(place), self.returned(place));
        let r = mark(place);
        if let Some((inside, takers)) = self.throughout(from, to, 1, |_| true) {
            let all: Vec<&Value> = inside.iter().map(|k| k.value).collect();
            return Some(Tale::new(format!(
                "{r} found the {noun} empty, but {} {} inside: {}",
                values(&all),
                was(all.len()),
                self.presence(&inside, &takers)
            )));
        }
        let cover = self.cover(from, to, |_| true)?;
        let all: Vec<&Value> = cover.iter().map(|k| k.value).collect();
        let stays: Vec<String> = cover.iter().map(|k| self.stay(k)).collect();
        Some(Tale::new(format!(
            "{r} found the {noun} empty, but at every moment from its call to its return one of {} was inside: {}",
            values(&all),
            and(&stays)
        )))
    }

    /// Whether the first value comes out at this end before the second, if both are inside; by which operations that is
    /// certain.
    fn is_ahead(&self, x: &Known<'_>, v: &Known<'_>, end: End) -> bool {
        let in_order = |first: &Known<'_>, then: &Known<'_>| match (first.insert, then.insert) {
            (None, None) => first.place < then.place,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (Some(a), Some(b)) => self.returned(a) < self.call(b),
        };
        let came_by = |known: &Known<'_>| match known.insert {
            Some(place) => match self.scene.cast[place].act {
                Act::Insert(end, _) => end,
                _ => End::Back,
            },
            // Initial values came in one after the other at the back.
            None => End::Back,
        };
        match self.scene.family {
            Family::Queue { .. } | Family::StutteringQueue(_) => in_order(x, v),
            Family::Stack => in_order(v, x),
            Family::Deque => {
                (in_order(v, x) && came_by(x) == end) || (in_order(x, v) && came_by(v) != end)
            }
            Family::PriorityQueue { smallest } => {
                if smallest {
                    x.value < v.value
                } else {
                    x.value > v.value
                }
            }
            _ => false,
        }
    }

    /// A value came out although others that come first were inside.
    fn overtakes(&self, place: usize, end: End, value: &Value) -> Option<Tale> {
        let nearest = match self.scene.family {
            Family::Queue { nearest } => nearest,
            Family::Container => return None,
            _ => 1,
        };
        let v = self.known.iter().find(|k| k.value == value)?;
        let to = self.returned(place);
        // It came out after it went in, whenever that was.
        let from = self.call(place).max(v.insert.map_or(0, |i| self.call(i)));
        let is_later = |x: &Known<'_>| match (v.insert, x.insert) {
            (Some(v), Some(x)) => self.returned(v) < self.call(x),
            (None, Some(_)) => true,
            (None, None) => x.place > v.place,
            (Some(_), None) => false,
        };
        let by_order = !matches!(self.scene.family, Family::PriorityQueue { .. });
        let fits = |x: &&Known<'_>| {
            x.value != value
                && self.is_ahead(x, v, end)
                && x.to >= to
                // What went in before it is inside when it comes out; what went in later must have done so before.
                && (x.from <= from || (by_order && !is_later(x)))
        };
        let ahead: Vec<_> = self.known.iter().filter(fits).collect();
        let Some((ahead, takers)) = self.enough(ahead, to, nearest) else {
            return self.covered(place, value, v, from, to, end);
        };
        let (noun, ..) = self.nouns();
        let r = mark(place);
        let all: Vec<&Value> = ahead.iter().map(|k| k.value).collect();
        if !by_order {
            let smallest = self.scene.family == Family::PriorityQueue { smallest: true };
            let size = if smallest { "smaller" } else { "larger" };
            let since = |x: &&&Known<'_>| x.from <= self.call(place);
            let text = if ahead.iter().all(|x| since(&x)) {
                self.presence(&ahead, &takers)
            } else {
                let (before, v_insert) = (self.inserted_before(&ahead), v.insert?);
                let mut clauses = vec![format!("{before} before {} was called", mark(v_insert))];
                clauses.extend(self.absence(&ahead, &takers, "it"));
                clauses.join(", and ")
            };
            return Some(Tale::new(format!(
                "{r} cannot be: the {size} {} {} inside: {text}",
                values(&all),
                was(all.len())
            )));
        }
        let mut clauses = Vec::new();
        for later in [false, true] {
            let some: Vec<&Known<'_>> =
                ahead.iter().copied().filter(|x| is_later(x) == later).collect();
            let inserts: Vec<usize> = some.iter().filter_map(|k| k.insert).collect();
            let initial: Vec<&Value> =
                some.iter().filter(|k| k.insert.is_none()).map(|k| k.value).collect();
            match (inserts.as_slice(), v.insert, later) {
                ([], ..) => {}
                (all, Some(v), false) => clauses.push(format!(
                    "{} had returned before {} was called",
                    marks(all),
                    mark(v)
                )),
                (all, Some(v), true) => clauses.push(format!(
                    "{} {} called after {} had returned and had returned before {r} was called",
                    marks(all),
                    was(all.len()),
                    mark(v)
                )),
                (all, None, _) => clauses.push(format!(
                    "{} is inside from the start and {} had returned before {r} was called",
                    short(value),
                    marks(all)
                )),
            }
            if !initial.is_empty() {
                clauses.push(format!(
                    "the {noun} holds {} at first",
                    short(&Value::list(self.initial.iter().cloned()))
                ));
                if let Some(insert) = v.insert {
                    clauses.push(format!("{} came later", mark(insert)));
                }
            }
        }
        clauses.extend(self.absence(&ahead, &takers, &r));
        let how = match self.scene.family {
            Family::Stack => "came out from under",
            _ => "overtook",
        };
        let mut text = format!("{r} {how} {}: {}", values(&all), clauses.join(", and "));
        if nearest > 1 {
            text += &format!(
                "; a semiqueue with k={nearest} gives out one of its {nearest} oldest values"
            );
        }
        Some(Tale::new(text))
    }

    fn inserted_before(&self, inside: &[&Known<'_>]) -> String {
        let inserts: Vec<usize> = inside.iter().filter_map(|k| k.insert).collect();
        let initial: Vec<&Value> =
            inside.iter().filter(|k| k.insert.is_none()).map(|k| k.value).collect();
        let mut clauses = Vec::new();
        if !initial.is_empty() {
            let there = if initial.len() == 1 { "is" } else { "are" };
            clauses.push(format!("{} {there} inside from the start", values(&initial)));
        }
        if !inserts.is_empty() {
            clauses.push(format!("{} had returned", marks(&inserts)));
        }
        and(&clauses)
    }

    /// A priority queue gave out a value while at each moment a higher one was inside.
    fn covered(
        &self,
        place: usize,
        value: &Value,
        v: &Known<'_>,
        from: u32,
        to: u32,
        end: End,
    ) -> Option<Tale> {
        let Family::PriorityQueue { smallest } = self.scene.family else { return None };
        let cover = self.cover(from, to, |x| x.value != value && self.is_ahead(x, v, end))?;
        let all: Vec<&Value> = cover.iter().map(|k| k.value).collect();
        let stays: Vec<String> = cover.iter().map(|k| self.stay(k)).collect();
        let size = if smallest { "smaller" } else { "larger" };
        let since = match v.insert {
            Some(insert) if self.call(insert) > self.call(place) => {
                format!("the call of {}", mark(insert))
            }
            _ => "its call".into(),
        };
        Some(
            Tale::new(format!(
                "{} cannot be: at every moment from {since} to its return one of the {size} {} was inside: {}",
                mark(place),
                values(&all),
                and(&stays)
            ))
            .with(v.insert),
        )
    }

    /// A bounded container was found full although it was not.
    fn not_full(&self, place: usize) -> Option<Tale> {
        let (noun, ..) = self.nouns();
        let capacity = self.scene.capacity?;
        let (from, to) = (self.call(place), self.returned(place));
        // What may be inside at some moment of it.
        let mut inserts = Vec::new();
        let mut initial = Vec::new();
        for &value in &self.order {
            let life = &self.lives[value];
            let gone = life.removals.iter().filter(|&&r| self.returned(r) < from).count();
            let mut called: Vec<usize> =
                life.inserts.iter().copied().filter(|&i| self.call(i) < to).collect();
            called.sort_by_key(|&i| self.call(i));
            let there = life.initial.len() + called.len();
            if gone > there {
                return None;
            }
            let from_start = life.initial.len().saturating_sub(gone);
            initial.extend(std::iter::repeat_n(value, from_start));
            inserts.extend(called.into_iter().skip(gone.saturating_sub(life.initial.len())));
        }
        let count = inserts.len() + initial.len();
        if count >= capacity || (!initial.is_empty() && initial.len() < self.initial.len()) {
            return None;
        }
        if initial.is_empty() && !self.initial.is_empty() {
            return None;
        }
        let r = mark(place);
        let mut found = Vec::new();
        if !initial.is_empty() {
            found.push(format!("{}, from the start", values(&initial)));
        }
        if !inserts.is_empty() {
            found.push(format!("what {} put in", marks(&inserts)));
        }
        let inside = match found.is_empty() {
            true => "nothing else was inside".to_string(),
            false => format!("at most {count} can have been inside: {}", and(&found)),
        };
        Some(Tale::new(format!(
            "{r} found the {noun} full, but it has room for {capacity} and {inside}"
        )))
    }

    /// A value went in although the container was full.
    fn full(&self, place: usize) -> Option<Tale> {
        let (noun, ..) = self.nouns();
        let capacity = self.scene.capacity?;
        let (from, to) = (self.call(place), self.returned(place));
        let is_other = |k: &Known<'_>| k.insert != Some(place);
        let (inside, takers) = self.throughout(from, to, capacity, is_other)?;
        let all: Vec<&Value> = inside.iter().map(|k| k.value).collect();
        let r = mark(place);
        if capacity == 0 {
            return Some(Tale::new(format!("{r} cannot be: the {noun} has room for nothing")));
        }
        Some(Tale::new(format!(
            "{r} cannot be: the {noun} has room for {capacity} and was full, as {} {} inside: {}",
            values(&all),
            was(all.len()),
            self.presence(&inside, &takers)
        )))
    }

    /// Values of which one is always in a stack, and none of which can have gone in first and come out last.
    ///
    /// The stack holds at least one of them from the first push to the last pop. The one that went in first stays until
    /// it is the only one, so it comes out last.
    fn no_bottom(&self) -> Option<Tale> {
        if !self.takes.is_empty() || !self.initial.is_empty() || self.known.len() > 64 {
            return None;
        }
        let all: Vec<usize> = (0..self.known.len()).collect();
        let mut set = self.bottomless(all)?;
        // Leave out what is not needed.
        let mut at = 0;
        while at < set.len() {
            let mut fewer = set.clone();
            fewer.remove(at);
            match self.bottomless(fewer) {
                Some(found) => {
                    set = found;
                    at = 0;
                }
                None => at += 1,
            }
        }
        let all: Vec<&Value> = set.iter().map(|&k| self.known[k].value).collect();
        let reasons: Vec<String> =
            set.iter().map(|&x| self.not_lowest(x, &set)).collect::<Option<_>>()?;
        let stays =
            set.iter().flat_map(|&k| [self.known[k].insert, self.known[k].removal]).flatten();
        Some(
            Tale::new(format!(
                "{} were in the stack one after the other without a gap, so one of them was pushed first and popped last, but none can be: {}",
                values(&all),
                and(&reasons)
            ))
            .with(stays),
        )
    }

    /// Why this value is not the one below all others.
    fn not_lowest(&self, x: usize, set: &[usize]) -> Option<String> {
        let value = short(self.known[x].value);
        for &y in set.iter().filter(|&&y| y != x) {
            let (x, y) = (&self.known[x], &self.known[y]);
            if self.returned(y.insert?) < self.call(x.insert?) {
                let (x, y) = (mark(x.insert?), mark(y.insert?));
                return Some(format!("not {value}, as {y} returned before {x} was called"));
            }
            if let Some(removal) = x.removal
                && self.returned(removal) < y.to
            {
                let r = mark(removal);
                return Some(match y.removal {
                    Some(later) => {
                        format!("not {value}, as {r} returned before {} was called", mark(later))
                    }
                    None => format!(
                        "not {value}, as {r} popped it and {} was never popped",
                        short(y.value)
                    ),
                });
            }
        }
        None
    }

    /// Some of these values, of which one is always inside and none can be the lowest.
    fn bottomless(&self, set: Vec<usize>) -> Option<Vec<usize>> {
        let mut set: Vec<usize> =
            set.into_iter().filter(|&k| self.known[k].from < self.known[k].to).collect();
        set.sort_by_key(|&k| self.known[k].from);
        // Stretches without a gap.
        let mut stretches: Vec<(Vec<usize>, u32)> = Vec::new();
        for k in set {
            let Known { from, to, .. } = self.known[k];
            match stretches.last_mut() {
                Some((stretch, end)) if from < *end => {
                    stretch.push(k);
                    *end = to.max(*end);
                }
                _ => stretches.push((vec![k], to)),
            }
        }
        for (stretch, _) in stretches {
            let lowest = stretch.iter().copied().find(|&x| self.not_lowest(x, &stretch).is_none());
            match lowest {
                None => return Some(stretch),
                Some(_) if stretch.len() == 1 => {}
                Some(lowest) => {
                    let rest = stretch.into_iter().filter(|&k| k != lowest).collect();
                    if let Some(found) = self.bottomless(rest) {
                        return Some(found);
                    }
                }
            }
        }
        None
    }
}
