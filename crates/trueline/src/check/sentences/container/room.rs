//! Bounded containers that were found full, or took a value, wrongly.

use super::{Container, Known};
use crate::check::sentences::{Draft, and, mark, marks, short, values};
use crate::spec::vocabulary::Act;
use crate::value::Value;

/// At most this many insertions are named.
const NAMED: usize = 6;

impl<'a> Container<'a> {
    /// A bounded container was found full although it was not.
    pub(super) fn not_full(&self, place: usize) -> Option<Draft> {
        let (noun, ..) = self.nouns();
        let capacity = self.scene.capacity?;
        let (from, to) = (self.call(place), self.returned(place));
        // The values that may be inside at some moment of it.
        let mut inserts = Vec::new();
        let mut initial = Vec::new();
        // Removed values are not named, but are listed with the operation that removed them:
        // without that they might be inside.
        let mut left = Vec::new();
        for &value in &self.order {
            let life = &self.lives[value];
            let removals = life.removals.iter().copied().filter(|&r| self.returned(r) < from);
            let removals: Vec<usize> = removals.collect();
            let gone = removals.len();
            let mut called: Vec<usize> =
                life.inserts.iter().copied().filter(|&i| self.call(i) < to).collect();
            called.sort_by_key(|&i| self.call(i));
            let there = life.initial.len() + called.len();
            if gone > there {
                return None;
            }
            if gone > 0 {
                left.extend(called.iter().chain(&removals));
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
            found.push(format!("{}, which it holds initially", values(&initial)));
        }
        if !inserts.is_empty() {
            found.push(format!("what {} put in", marks(&inserts)));
        }
        let inside = match found.is_empty() {
            true => "nothing can have been in it".to_string(),
            false => {
                let values = if count == 1 { "value" } else { "values" };
                format!("at most {count} {values} can have been in it: {}", and(&found))
            }
        };
        let text =
            format!("{r} found the {noun} full, but its capacity is {capacity}, and {inside}");
        Some(Draft::new(text).with(left))
    }

    /// A value went in although the container was full.
    pub(super) fn full(&self, place: usize) -> Option<Draft> {
        let (noun, ..) = self.nouns();
        let capacity = self.scene.capacity?;
        let (from, to) = (self.call(place), self.returned(place));
        let is_other = |k: &Known<'_>| k.insert != Some(place);
        let (inside, takers) = self.throughout(from, to, capacity, is_other)?;
        let all: Vec<&Value> = inside.iter().map(|k| k.value).collect();
        let r = mark(place);
        if capacity == 0 {
            return Some(Draft::new(format!("{r} is impossible: the {noun} has a capacity of 0")));
        }
        Some(Draft::new(format!(
            "{r} is impossible: the {noun}, of capacity {capacity}, was full with {}: {}",
            values(&all),
            self.presence(&inside, &takers)
        )))
    }

    /// More went in than there was room for: counted up to a return, whatever the values are.
    pub(super) fn overfull(&self) -> Option<Draft> {
        let (noun, _, removed) = self.nouns();
        let capacity = self.scene.capacity.filter(|_| self.scene.complete)?;
        let cast = &self.scene.cast;
        let goes_in = |&p: &usize| matches!(cast[p].act, Act::Insert(..)) && cast[p].is_certain();
        let goes_out = |&p: &usize| matches!(cast[p].act, Act::Remove(..) | Act::Take);
        let mut inserts: Vec<usize> = (0..cast.len()).filter(goes_in).collect();
        inserts.sort_by_key(|&p| self.returned(p));
        // By call, as the cast is.
        let removals: Vec<usize> = (0..cast.len()).filter(goes_out).collect();
        for count in 1..=inserts.len().min(NAMED) {
            let end = self.returned(inserts[count - 1]);
            let out = &removals[..removals.partition_point(|&p| self.call(p) < end)];
            if self.initial.len() + count <= capacity + out.len() {
                continue;
            }
            let mut these = inserts[..count].to_vec();
            these.sort_unstable();
            let (both, when) = match count {
                1 => ("", "it"),
                2 => ("both ", "both"),
                _ => ("all ", "all of them"),
            };
            let holds = match self.initial {
                [] => "is empty initially".into(),
                some => format!("holds {} initially", short(&Value::list(some.to_vec()))),
            };
            let only = match out {
                [] => "nothing".into(),
                some if some.len() > NAMED => return None,
                some => format!("only {}", marks(some)),
            };
            return Some(Draft::new(format!(
                "{} cannot {both}have found room: the {noun}, of capacity {capacity}, {holds}, and {only} can have {removed} a value before {when} had returned",
                marks(&these)
            )));
        }
        None
    }
}
