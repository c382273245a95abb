//! Bounded containers that were found full, or took a value, wrongly.

use super::{Container, Known};
use crate::check::sentences::{Draft, and, mark, marks, values};
use crate::value::Value;

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
}
