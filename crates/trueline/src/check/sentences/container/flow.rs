//! Values that were removed from a container without being inserted, or more often than they were
//! inserted, or were seen after they were gone. These rules count, so they hold for repeated
//! values, too.

use super::Container;
use crate::check::sentences::{Draft, mark, marks, short, times};
use crate::history::PENDING;
use crate::spec::vocabulary::Family;
use crate::value::Value;

impl<'a> Container<'a> {
    /// Something came out that was not put in before.
    pub(super) fn never_inserted(&self, drafts: &mut Vec<Draft>) {
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
                drafts.push(Draft::new(match life.inserts.as_slice() {
                    [] if !self.scene.complete => {
                        format!("{r} is impossible: {value} was not {inserted}, or had left already")
                    }
                    [] if self.initial.is_empty() => {
                        format!("{r} is impossible: {value} was never {inserted}")
                    }
                    [] => format!(
                        "{r} is impossible: {value} was never {inserted}, and the {noun} holds {} initially",
                        short(&Value::list(self.initial.iter().cloned()))
                    ),
                    _ if !self.scene.complete => continue,
                    [one] => format!(
                        "{r} is impossible: {}, which alone {inserted} {value}, was called only after it had returned",
                        mark(*one)
                    ),
                    all => format!(
                        "{r} is impossible: {}, which alone {inserted} {value}, were called only after it had returned",
                        marks(all)
                    ),
                }));
            }
        }
    }

    /// A value came out more often than it went in.
    pub(super) fn too_often(&self, drafts: &mut Vec<Draft>) {
        let Some(each) = self.at_most_each().filter(|_| self.scene.complete) else { return };
        let (noun, inserted, removed) = self.nouns();
        for &value in &self.order {
            let life = &self.lives[value];
            let (out, went_in) = (life.removals.len(), life.inserts.len() + life.initial.len());
            if out <= each * went_in || went_in == 0 {
                continue;
            }
            let value = short(value);
            let initially =
                || format!("in the {noun} only {} initially", times(life.initial.len()));
            let later = || {
                let (often, by) = (times(life.inserts.len()), marks(&life.inserts));
                format!("{inserted} only {often}, by {by}")
            };
            let sources = match (life.initial.is_empty(), life.inserts.is_empty()) {
                (true, _) => later(),
                (false, true) => format!("{}, and never {inserted}", initially()),
                (false, false) => format!("{}, and {}", later(), initially()),
            };
            let out = &life.removals[..each * went_in + 1];
            let mut text = format!(
                "{value} was {removed} {}, by {}, but {}",
                times(out.len()),
                marks(out),
                sources
            );
            if each > 1 {
                text += &at_most(noun, each);
            }
            drafts.push(Draft::new(text));
        }
    }

    /// A value had been removed more often than it can have been inserted by then: later insertions
    /// do not count.
    pub(super) fn too_early(&self, drafts: &mut Vec<Draft>) {
        let Some(each) = self.at_most_each().filter(|_| self.scene.complete) else { return };
        let (noun, inserted, removed) = self.nouns();
        for &value in &self.order {
            let life = &self.lives[value];
            let mut out = life.removals.clone();
            out.sort_unstable_by_key(|&r| self.returned(r));
            for (n, &last) in out.iter().enumerate() {
                let end = self.returned(last);
                let went_in: Vec<usize> =
                    life.inserts.iter().copied().filter(|&i| self.call(i) < end).collect();
                let count = went_in.len() + life.initial.len();
                if end == PENDING || count == 0 || n < each * count {
                    continue;
                }
                let mut by = out[..=n].to_vec();
                by.sort_unstable();
                let all = if by.len() == 2 { "both" } else { "all of them" };
                let mut clauses = Vec::new();
                if !life.initial.is_empty() {
                    clauses
                        .push(format!("it is there only {} initially", times(life.initial.len())));
                }
                clauses.push(match went_in.as_slice() {
                    [] => format!("nothing can have {inserted} it before {all} had returned"),
                    some => format!(
                        "only {} can have {inserted} it before {all} had returned",
                        marks(some)
                    ),
                });
                let mut text = format!(
                    "{} was {removed} {}, by {}, although {}",
                    short(value),
                    times(by.len()),
                    marks(&by),
                    clauses.join(", and ")
                );
                if each > 1 {
                    text += &at_most(noun, each);
                }
                drafts.push(Draft::new(text));
                break;
            }
        }
    }

    /// How often one inserted value may be removed; `None` if that is unbounded.
    fn at_most_each(&self) -> Option<usize> {
        match self.scene.family {
            Family::StutteringQueue(j) => Some(j as usize),
            Family::Relaxed { passes: None, .. } => None,
            _ => Some(1),
        }
    }

    /// A value was seen after each possible copy of it had been removed.
    pub(super) fn gone(&self, drafts: &mut Vec<Draft>) {
        let once = match self.scene.family {
            Family::StutteringQueue(_) | Family::Relaxed { .. } => false,
            _ => self.scene.complete,
        };
        if !once {
            return;
        }
        let (_, inserted, _) = self.nouns();
        for &value in &self.order {
            let life = &self.lives[value];
            for &r in life.peeks.iter().filter(|&&r| self.returned(r) != PENDING) {
                let went_in: Vec<usize> = life
                    .inserts
                    .iter()
                    .copied()
                    .filter(|&i| self.call(i) < self.returned(r))
                    .collect();
                let came_out: Vec<usize> = life
                    .removals
                    .iter()
                    .copied()
                    .filter(|&o| self.returned(o) < self.call(r))
                    .collect();
                let count = went_in.len() + life.initial.len();
                if count == 0 || came_out.len() < count {
                    continue;
                }
                let mut clauses = vec![format!(
                    "{} had returned before it was called",
                    marks(&came_out[..count])
                )];
                if !life.initial.is_empty() {
                    clauses.push(format!("it is there {} initially", times(life.initial.len())));
                }
                clauses.push(match went_in.as_slice() {
                    [] => format!("it was never {inserted} before"),
                    some => {
                        format!("only {} can have {inserted} it before it returned", marks(some))
                    }
                });
                drafts.push(Draft::new(format!(
                    "{} found {}, which was gone: {}",
                    mark(r),
                    short(value),
                    clauses.join(", and ")
                )));
            }
        }
    }
}

fn at_most(noun: &str, each: usize) -> String {
    format!(": a {noun} with j={each} returns a value {} at most", times(each))
}
