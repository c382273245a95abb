//! Stacks in which no value can have been the lowest.

use super::{Container, Known};
use crate::check::sentences::{Draft, and, mark, short, values};
use crate::value::Value;

impl<'a> Container<'a> {
    /// Values of which one is always in a stack, and none of which can have been pushed first and
    /// popped last.
    ///
    /// The stack contains at least one of them from the first push to the last pop. The one that
    /// was pushed first stays until it is the only one, so it is popped last.
    pub(super) fn no_bottom(&self) -> Option<Draft> {
        if !self.takes.is_empty() || !self.initial.is_empty() || self.known.len() > 64 {
            return None;
        }
        let all: Vec<usize> = (0..self.known.len()).collect();
        let mut set = self.bottomless(all)?;
        // Leave out values that are not needed.
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
            Draft::new(format!(
                "From the first of their pushes to the last of their pops at least one of {} was in the stack, so one of them was pushed first and popped last, but none can have been: {}",
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

    /// Some of these values, one of which is always inside and none of which can be the lowest.
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
