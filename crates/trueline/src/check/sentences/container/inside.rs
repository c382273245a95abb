//! Values that are certainly inside, and 'empty' results meanwhile. A value is certainly inside
//! from the return of its insertion to the call of its first removal, unless a removal of unknown
//! outcome took it.

use super::{Container, Known};
use crate::check::sentences::{Draft, and, mark, marks, short, values, was};
use crate::spec::vocabulary::Family;
use crate::value::Value;

impl<'a> Container<'a> {
    /// 'Empty' was returned while a value was inside.
    pub(super) fn not_empty(&self, place: usize) -> Option<Draft> {
        let (noun, ..) = self.nouns();
        let (from, to) = (self.call(place), self.returned(place));
        let r = mark(place);
        if let Some((inside, takers)) = self.throughout(from, to, 1, |_| true) {
            let all: Vec<&Value> = inside.iter().map(|k| k.value).collect();
            return Some(Draft::new(format!(
                "{r} found the {noun} empty, but {} {} in it: {}{}",
                values(&all),
                was(all.len()),
                self.presence(&inside, &takers),
                self.may_skip()
            )));
        }
        let cover = self.cover(from, to, |_| true)?;
        let all: Vec<&Value> = cover.iter().map(|k| k.value).collect();
        let stays: Vec<String> = cover.iter().map(|k| self.stay(k)).collect();
        Some(Draft::new(format!(
            "{r} found the {noun} empty, but at every moment from its call to its return at least one of {} was in it: {}{}",
            values(&all),
            and(&stays),
            self.may_skip()
        )))
    }

    /// The result that a relaxation does not allow.
    fn may_skip(&self) -> &'static str {
        match self.scene.family {
            Family::Relaxed { .. } => {
                "; a removal may skip values, but not report empty while there is one"
            }
            _ => "",
        }
    }

    /// From one rank to another, this many more values are inside than open removals can have
    /// taken; returns the values and the removals.
    pub(super) fn throughout(
        &self,
        from: u32,
        to: u32,
        more: usize,
        fits: impl Fn(&Known<'_>) -> bool,
    ) -> Option<(Vec<&Known<'a>>, Vec<usize>)> {
        let inside = self.known.iter().filter(|k| fits(k) && k.from <= from && k.to >= to);
        self.enough(inside.collect(), to, more)
    }

    /// This many of the values inside that are certainly there whatever open removals took, and
    /// these removals. A removal of unknown outcome did not take a value that a known operation
    /// removed later.
    pub(super) fn enough<'k>(
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

    /// The fewest values such that one of them is certainly inside at every moment between two
    /// ranks.
    pub(super) fn cover(
        &self,
        from: u32,
        to: u32,
        fits: impl Fn(&Known<'_>) -> bool,
    ) -> Option<Vec<&Known<'a>>> {
        let stays = self.takers(to).is_empty();
        let mut slot = from;
        let mut chosen = Vec::new();
        while slot < to {
            // A removal of unknown outcome did not take a value that a known operation removed.
            let fits = |k: &&Known<'_>| fits(k) && (stays || k.removal.is_some());
            let inside = self.known.iter().filter(fits).filter(|k| k.from <= slot && k.to > slot);
            let longest = inside.max_by_key(|k| k.to)?;
            slot = longest.to;
            chosen.push(longest);
        }
        Some(chosen)
    }

    /// The phrase about values that are inside all the time: `.. had returned before it was called,
    /// and ..`.
    pub(super) fn presence(&self, inside: &[&Known<'_>], takers: &[usize]) -> String {
        let inserts: Vec<usize> = inside.iter().filter_map(|k| k.insert).collect();
        let initial: Vec<&Value> =
            inside.iter().filter(|k| k.insert.is_none()).map(|k| k.value).collect();
        let mut clauses = Vec::new();
        if !inserts.is_empty() {
            clauses.push(format!("{} had returned before it was called", marks(&inserts)));
        }
        if !initial.is_empty() {
            let there = if initial.len() == 1 { "is" } else { "are" };
            clauses.push(format!("{} {there} there initially", values(&initial)));
        }
        clauses.extend(self.absence(inside, takers, "it"));
        clauses.join(", and ")
    }

    /// The phrase that says how values did not leave before `whom` returned.
    pub(super) fn absence(
        &self,
        inside: &[&Known<'_>],
        takers: &[usize],
        whom: &str,
    ) -> Vec<String> {
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
            // The value may have been there before, and have left: that is forgotten.
            let until = if self.scene.complete { "" } else { " since" };
            clauses.push(format!("{} {verb} {never}{removed}{until}", values(&stayed)));
        }
        if !takers.is_empty() {
            clauses.push(format!(
                "only {}, of unknown outcome, can have taken {} of them",
                marks(takers),
                if takers.len() == 1 { "one".into() } else { takers.len().to_string() }
            ));
        }
        clauses
    }

    pub(super) fn inserted_before(&self, inside: &[&Known<'_>]) -> String {
        let inserts: Vec<usize> = inside.iter().filter_map(|k| k.insert).collect();
        let initial: Vec<&Value> =
            inside.iter().filter(|k| k.insert.is_none()).map(|k| k.value).collect();
        let mut clauses = Vec::new();
        if !initial.is_empty() {
            let there = if initial.len() == 1 { "is" } else { "are" };
            clauses.push(format!("{} {there} there initially", values(&initial)));
        }
        if !inserts.is_empty() {
            clauses.push(format!("{} had returned", marks(&inserts)));
        }
        and(&clauses)
    }

    /// The phrase that says when and why a value is inside during a removal: `a from the return of
    /// .. to the call of ..`.
    pub(super) fn stay(&self, known: &Known<'_>) -> String {
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
}
