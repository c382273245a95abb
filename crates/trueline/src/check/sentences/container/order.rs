//! Values that were removed although others whose turn comes first were inside.

use super::{Container, Known};
use crate::check::sentences::{Draft, and, mark, marks, short, values, was};
use crate::spec::Turn;
use crate::spec::vocabulary::{Act, End, Family};
use crate::value::Value;

impl<'a> Container<'a> {
    /// A value came out although others that come first were inside.
    pub(super) fn overtakes(&self, place: usize, end: End, value: &Value) -> Option<Draft> {
        let nearest = match self.scene.family {
            Family::Queue { nearest } => nearest,
            Family::Relaxed { passes, .. } => passes? + 1,
            _ => 1,
        };
        let turn = self.turn();
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
        let by_order = !matches!(turn, Some(Turn::Largest | Turn::Smallest));
        let fits = |x: &&Known<'_>| {
            x.value != value
                && self.is_ahead(x, v, end)
                && x.to >= to
                // A value that was inserted earlier is inside at the removal; one that was inserted
                // later must have been inserted before the removal.
                && (x.from <= from || (by_order && !is_later(x)))
        };
        let ahead: Vec<_> = self.known.iter().filter(fits).collect();
        let Some((ahead, takers)) = self.enough(ahead, to, nearest) else {
            return (nearest == 1).then(|| self.covered(place, v, from, to, end)).flatten();
        };
        let bound = match self.scene.family {
            Family::Queue { nearest: 2.. } => {
                format!(
                    "; a semiqueue with k={nearest} may return only one of its {nearest} oldest values"
                )
            }
            Family::Relaxed { passes: Some(1), .. } => {
                "; with out-of-order=1 a removal may skip at most 1 value".to_string()
            }
            Family::Relaxed { passes: Some(k @ 2..), .. } => {
                format!("; with out-of-order={k} a removal may skip at most {k} values")
            }
            _ => String::new(),
        };
        let (noun, ..) = self.nouns();
        let r = mark(place);
        let all: Vec<&Value> = ahead.iter().map(|k| k.value).collect();
        if !by_order {
            let size = if turn == Some(Turn::Smallest) { "smaller" } else { "larger" };
            let since = |x: &&&Known<'_>| x.from <= self.call(place);
            let text = if ahead.iter().all(|x| since(&x)) {
                self.presence(&ahead, &takers)
            } else {
                let (before, v_insert) = (self.inserted_before(&ahead), v.insert?);
                let mut clauses = vec![format!("{before} before {} was called", mark(v_insert))];
                clauses.extend(self.absence(&ahead, &takers, "it"));
                clauses.join(", and ")
            };
            let text = format!(
                "{r} is impossible: the {size} {} {} in the {noun}: {text}{bound}",
                values(&all),
                was(all.len())
            );
            return Some(Draft::new(text).with(v.insert));
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
                    "{} ran between the return of {} and the call of {r}",
                    marks(all),
                    mark(v)
                )),
                (all, None, _) => clauses.push(format!(
                    "{} is there initially and {} had returned before {r} was called",
                    short(value),
                    marks(all)
                )),
            }
            if !initial.is_empty() {
                clauses.push(format!(
                    "the {noun} holds {} initially",
                    short(&Value::list(self.initial.iter().cloned()))
                ));
                if let Some(insert) = v.insert {
                    clauses.push(format!("{} came later", mark(insert)));
                }
            }
        }
        clauses.extend(self.absence(&ahead, &takers, &r));
        let (value, others) = (short(value), values(&all));
        let peeks = matches!(self.scene.cast[place].act, Act::Peek(..));
        let how = match turn {
            Some(Turn::Newest) if peeks => format!("found {value} under {others}"),
            Some(Turn::Newest) => format!("took {value} from under {others}"),
            Some(Turn::Oldest) if !peeks => format!("overtook {others}"),
            _ => {
                let place = match (self.scene.family, end) {
                    (Family::Deque, End::Front) => "nearer to the front",
                    (Family::Deque, End::Back) => "nearer to the back",
                    _ => "ahead of it",
                };
                format!("returned {value} although {others} {} {place}", was(all.len()))
            }
        };
        let text = format!("{r} {how}: {}{bound}", clauses.join(", and "));
        Some(Draft::new(text).with(v.insert))
    }

    /// A queue returned a value that was inserted more than once, although another value was ahead
    /// of each copy that can have been removed.
    pub(super) fn passed_by_any(&self, place: usize) -> Option<Draft> {
        let actor = &self.scene.cast[place];
        let (Act::Remove(_, value) | Act::Peek(_, value), Family::Queue { nearest: 1 }, true) =
            (&actor.act, self.scene.family, actor.is_certain())
        else {
            return None;
        };
        let life = self.lives.get(value)?;
        let end = self.returned(place);
        let inserts: Vec<usize> =
            life.inserts.iter().copied().filter(|&i| self.call(i) < end).collect();
        // Removals of unknown outcome may have taken the other one.
        if !life.initial.is_empty() || life.inserts.len() < 2 || !self.takers(end).is_empty() {
            return None;
        }
        let is_ahead = |x: &&Known<'_>| {
            let before =
                x.insert.is_none_or(|x| inserts.iter().all(|&i| self.returned(x) < self.call(i)));
            x.value != value && x.to >= end && before
        };
        let x = self.known.iter().find(is_ahead)?;
        let others = marks(&inserts);
        let (verb, alone) = (was(inserts.len()), super::words(self.scene.family).1);
        let (x_value, shown) = (short(x.value), short(value));
        let ahead = match x.insert {
            Some(insert) => format!(
                "{} had returned before {others}, which alone can have {alone} {shown} before it returned, {verb} called",
                mark(insert)
            ),
            None => format!(
                "{x_value} is there initially, and only {others} can have {alone} {shown} before it returned"
            ),
        };
        let mut clauses = vec![ahead];
        clauses.extend(self.absence(&[x], &[], &mark(place)));
        let how = match actor.act {
            Act::Peek(..) => format!("returned {shown} although {x_value} was ahead of it"),
            _ => format!("overtook {x_value}"),
        };
        let text = format!("{} {how}: {}", mark(place), clauses.join(", and "));
        Some(Draft::new(text).with(inserts))
    }

    /// A priority queue gave out a value while at each moment a higher one was inside.
    fn covered(&self, place: usize, v: &Known<'_>, from: u32, to: u32, end: End) -> Option<Draft> {
        let size = match self.turn()? {
            Turn::Smallest => "smaller",
            Turn::Largest => "larger",
            Turn::Oldest | Turn::Newest => return None,
        };
        let (noun, ..) = self.nouns();
        let cover = self.cover(from, to, |x| x.value != v.value && self.is_ahead(x, v, end))?;
        let all: Vec<&Value> = cover.iter().map(|k| k.value).collect();
        let stays: Vec<String> = cover.iter().map(|k| self.stay(k)).collect();
        let since = match v.insert {
            Some(insert) if self.call(insert) > self.call(place) => {
                format!("the call of {}", mark(insert))
            }
            _ => "its call".into(),
        };
        Some(
            Draft::new(format!(
                "{} is impossible: at every moment from {since} to its return at least one of the {size} {} was in the {noun}: {}",
                mark(place),
                values(&all),
                and(&stays)
            ))
            .with(v.insert),
        )
    }

    /// Whether the first value is removed at this end before the second, if both are inside; with
    /// the operations that prove it.
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
        match self.turn() {
            Some(Turn::Oldest) => in_order(x, v),
            Some(Turn::Newest) => in_order(v, x),
            Some(Turn::Smallest) => x.value < v.value,
            Some(Turn::Largest) => x.value > v.value,
            None if self.scene.family == Family::Deque => {
                (in_order(v, x) && came_by(x) == end) || (in_order(x, v) && came_by(v) != end)
            }
            None => false,
        }
    }
}
