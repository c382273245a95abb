//! Values that come and go: written less often than they were found anew or replaced, and
//! overwritten values.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::{Cell, EPISODES, FEW, PRESENT, Touch};
use crate::check::sentences::{Draft, mark, marks, short, times};
use crate::history::PENDING;
use crate::spec::vocabulary::{Family, Needs};
use crate::value::Value;

impl Cell<'_> {
    /// A value that was found anew more often than it can have been written.
    ///
    /// Each of some operations finds it after another one that returned before and leaves another
    /// value. So it was written anew for each of them.
    pub(super) fn episodes(&self, drafts: &mut Vec<Draft>) {
        if self.touches.len() > EPISODES {
            return;
        }
        let mut values: Vec<&Value> = Vec::new();
        for touch in &self.touches {
            if let Needs::Is(value) = &touch.needs
                && !values.contains(&value)
            {
                values.push(value);
            }
        }
        for value in values {
            let none = Vec::new();
            let writers = self.writers.get(value).unwrap_or(&none);
            for &first in &self.by_return {
                let x = &self.touches[first];
                if x.returned == PENDING || !x.leaves_other(value) {
                    continue;
                }
                drafts.extend(self.episodes_after(x, value, writers));
                if drafts.len() > 32 {
                    return;
                }
            }
        }
    }

    fn episodes_after(&self, x: &Touch<'_>, value: &Value, writers: &[usize]) -> Option<Draft> {
        let next = |after: u32, fits: &dyn Fn(&Touch<'_>) -> bool| {
            let from = self.by_return.partition_point(|&n| self.touches[n].returned <= after);
            let later = self.by_return[from..].iter().map(|&n| &self.touches[n]);
            later.take_while(|t| t.returned != PENDING).find(|t| t.call > after && fits(t))
        };
        let (mut others, mut found) = (vec![x.place], Vec::new());
        let mut sources: Vec<usize> = self.source(x).into_iter().collect();
        let mut end = x.returned;
        loop {
            let r = next(end, &|t| matches!(&t.needs, Needs::Is(seen) if seen == value))?;
            found.push(r.place);
            let may: Vec<usize> = writers
                .iter()
                .map(|&n| &self.touches[n])
                .filter(|w| w.call < r.returned && w.returned > x.call)
                .map(|w| w.place)
                .collect();
            if may.len() < found.len() {
                let done = self.done(value);
                let (value, often) = (short(value), times(found.len()));
                let only = match may.as_slice() {
                    [] => "nothing".into(),
                    some => format!("only {}", marks(some)),
                };
                return Some(Draft::new(format!(
                    "{} need {value} to be written {often}: {} came before the first of them and {} in between, but {only} can have {done} in that time",
                    marks(&found),
                    mark(x.place),
                    marks(&others[1..])
                ))
                .with(sources));
            }
            let other = next(r.returned, &|t| t.leaves_other(value))?;
            others.push(other.place);
            sources.extend(self.source(other));
            end = other.returned;
        }
    }

    /// A value that was replaced more often than it can have been there.
    ///
    /// Each of some operations finds it and leaves another value. So for each it was there
    /// initially or was written anew.
    pub(super) fn replaced(&self, drafts: &mut Vec<Draft>) {
        let replaces = |t: &Touch<'_>, value: &Value| {
            let finds = matches!(&t.needs, Needs::Is(seen) if seen == value);
            finds && t.returned != PENDING && t.leaves.is_some_and(|left| left != value)
        };
        if self.initial.is_none() {
            return;
        }
        // The operations that replace each value, by return.
        let mut replacing: HashMap<&Value, Vec<&Touch<'_>>, FixedState> = HashMap::default();
        for touch in self.by_return.iter().map(|&n| &self.touches[n]) {
            if let Needs::Is(value) = &touch.needs
                && replaces(touch, value)
            {
                replacing.entry(value).or_default().push(touch);
            }
        }
        for touch in &self.touches {
            let Needs::Is(value) = &touch.needs else { continue };
            let Some(all) = replacing.remove(value).filter(|all| all.len() > 1) else { continue };
            let is_initial = self.initial.as_ref() == Some(value);
            let writers = self.writers.get(value).map_or(&[][..], Vec::as_slice);
            let makes = |t: &&Touch<'_>| !matches!(&t.needs, Needs::Is(seen) if seen == value);
            let makers: Vec<&Touch<'_>> =
                writers.iter().map(|&n| &self.touches[n]).filter(makes).collect();
            // Those that find it and leave it there do not bring it back.
            let keeps = makers.len() < writers.len();
            for count in 2..=all.len() {
                let end = all[count - 1].returned;
                let by: Vec<usize> =
                    makers.iter().take_while(|t| t.call < end).map(|t| t.place).collect();
                if by.len() > FEW {
                    break;
                }
                if by.len() + usize::from(is_initial) < count {
                    let mut these: Vec<usize> = all[..count].iter().map(|t| t.place).collect();
                    these.sort_unstable();
                    let text = self.replaced_text(&these, &by, value, is_initial, keeps);
                    drafts.push(Draft::new(text));
                    break;
                }
            }
        }
    }

    /// A key of a map that was removed more often than it can have been put there, whatever the
    /// values.
    pub(super) fn removed_too_often(&self, drafts: &mut Vec<Draft>) {
        let removes = |t: &&Touch<'_>| {
            let takes = t.leaves.is_some_and(Value::is_nil) && t.needs == Needs::Not(Value::Nil);
            takes && t.returned != PENDING
        };
        let puts = |t: &&Touch<'_>| t.leaves.is_some_and(|left| !left.is_nil());
        let by_return = self.by_return.iter().map(|&n| &self.touches[n]);
        let mut these = Vec::new();
        for removal in by_return.filter(removes) {
            these.push(removal.place);
            let in_time =
                self.touches.iter().filter(puts).take_while(|t| t.call < removal.returned);
            let by: Vec<usize> = in_time.map(|t| t.place).collect();
            if these.len() < 2 || by.len() > FEW {
                continue;
            }
            if by.len() < these.len() {
                these.sort_unstable();
                let only =
                    if by.is_empty() { "nothing".into() } else { format!("only {}", marks(&by)) };
                let (both, when) = match these.len() {
                    2 => ("both", "both"),
                    _ => ("all", "all of them"),
                };
                drafts.push(Draft::new(format!(
                    "{} cannot {both} have removed the key: it is absent initially, and {only} can have put anything under the key before {when} had returned",
                    marks(&these)
                )));
                return;
            }
        }
    }

    /// A value that was replaced, after it had been written for the last time, by what found it.
    ///
    /// Let x have found v and have left something else, and have returned before r was called. If v
    /// is left there by one operation only, that one came before x; so r cannot find v.
    pub(super) fn taken(&self, drafts: &mut Vec<Draft>) {
        if !self.scene.complete || self.touches.len() > EPISODES {
            return;
        }
        for r in self.touches.iter().filter(|r| r.returned != PENDING) {
            let Needs::Is(value) = &r.needs else { continue };
            let is_other = self.initial.as_ref().is_some_and(|initial| initial != value);
            let (true, Some(&[w])) = (is_other, self.writers.get(value).map(Vec::as_slice)) else {
                continue;
            };
            let w = &self.touches[w];
            let takes =
                |x: &&Touch<'_>| x.needs == r.needs && x.leaves.is_some_and(|left| left != value);
            let before = self.touches.iter().filter(|x| x.returned < r.call && x.place != w.place);
            if let Some(x) = before.filter(takes).max_by_key(|x| x.returned)
                && r.place != w.place
            {
                drafts.push(Draft::new(format!(
                    "{} is impossible: {}, which found {} and replaced it, had returned before it was called, and nothing can have {} again: only {} can have done so, which came before {}",
                    mark(r.place),
                    mark(x.place),
                    short(value),
                    self.done(value),
                    mark(w.place),
                    mark(x.place)
                )));
                return;
            }
        }
    }

    fn replaced_text(
        &self,
        these: &[usize],
        by: &[usize],
        value: &Value,
        is_initial: bool,
        keeps: bool,
    ) -> String {
        let (name, shown) = (short(&self.name), short(value));
        let done = match (self.scene.family, *value == PRESENT) {
            (Family::Set, true) => format!("removed {name}"),
            (Family::Set, false) => format!("added {name}"),
            (Family::OwnerMutex, _) if value.is_nil() => "taken the lock".into(),
            (Family::OwnerMutex, _) => "released the lock".into(),
            _ => format!("replaced {shown}"),
        };
        let there = match (self.scene.family, is_initial == (*value == PRESENT)) {
            (Family::Set, true) => format!("{name} is there initially"),
            (Family::Set, false) => format!("{name} is not there initially"),
            (Family::OwnerMutex, _) => "the lock is free initially".into(),
            _ if is_initial => format!("{shown} is the initial value"),
            _ => format!("{shown} is not the initial value"),
        };
        let only = if by.is_empty() { "nothing".into() } else { format!("only {}", marks(by)) };
        let (both, when) = match these.len() {
            2 => ("both", "both"),
            _ => ("all", "all of them"),
        };
        let instead = if keeps { " in place of another value" } else { "" };
        format!(
            "{} cannot {both} have {done}: {there}, and {only} can have {}{instead} before {when} had returned",
            marks(these),
            self.done(value)
        )
    }

    /// A value that was overwritten by one that was found after it had been written.
    ///
    /// Let only w leave v, and only x leave u. An operation that finds u and was called after w
    /// returned shows that x came after w. So no operation that was called after x returned can
    /// find v.
    pub(super) fn overwritten(&self, drafts: &mut Vec<Draft>) {
        if self.touches.len() > EPISODES {
            return;
        }
        let alone = |value: &Value| match self.writers.get(value).map(Vec::as_slice) {
            Some(&[one]) if self.initial.as_ref().is_some_and(|initial| initial != value) => {
                Some(&self.touches[one])
            }
            _ => None,
        };
        let finds = |t: &Touch<'_>| match &t.needs {
            Needs::Is(value) if t.returned != PENDING => alone(value),
            _ => None,
        };
        for r in &self.touches {
            let (Some(w), Needs::Is(value)) = (finds(r), &r.needs) else { continue };
            for y in self.touches.iter().filter(|y| w.returned < y.call) {
                let (Some(x), Needs::Is(later)) = (finds(y), &y.needs) else { continue };
                let is_other = later != value && x.place != y.place && x.place != r.place;
                if !is_other || x.returned >= r.call || w.place == r.place || y.place == r.place {
                    continue;
                }
                drafts.push(Draft::new(format!(
                    "{} is impossible: {}, which alone can have {}, came before {}, which had returned before it was called: {} found {}, which {} alone can have {}, and {} had returned before it was called",
                    mark(r.place),
                    mark(w.place),
                    self.done(value),
                    mark(x.place),
                    mark(y.place),
                    short(later),
                    mark(x.place),
                    self.done(later),
                    mark(w.place)
                )));
                if drafts.len() > 32 {
                    return;
                }
            }
        }
    }
}
