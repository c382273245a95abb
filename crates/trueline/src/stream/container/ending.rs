//! The end of a stream: removals that stay open may have taken any value. [`Container::finish`]
//! searches for a slot for each waiting promise such that the resulting deadlines, and those of the
//! queue, can all be met. Only the first slot, and those right after the call of an open removal,
//! have to be tried: waiting gains nothing in between. The search is exact and small, and reports
//! undecided after [`SEARCH`] steps.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::super::{Clash, Id, NEVER, Stop, Time};
use super::{Container, Promise};

/// Steps of the search.
const SEARCH: u32 = 200_000;

impl Container {
    /// True iff each deadline, ascending, gets an open removal of its own.
    pub(in crate::stream) fn can_meet(&self, deadlines: impl IntoIterator<Item = Time>) -> bool {
        let mut open = self.takers();
        deadlines.into_iter().all(|deadline| open.next().is_some_and(|open| open.call < deadline))
    }

    /// The stream is over: can the open removals be assigned? Entries have their deadlines.
    pub(in crate::stream) fn finish(&mut self) -> Result<(), Stop> {
        let mut deadlines: HashMap<Time, Time, FixedState> = HashMap::default();
        deadlines.extend(self.late.keys().map(|&(deadline, call)| (call, deadline)));
        let mut steps = SEARCH;
        match self.deal(0, &mut deadlines, &mut steps) {
            Some(true) => Ok(()),
            Some(false) => {
                let mut ids: Vec<Id> = self.taker_ids().collect();
                let waiting = || self.waiting.iter();
                ids.extend(waiting().flat_map(|p| [p.id, p.insert]));
                ids.extend(waiting().flat_map(|p| p.covers.iter().copied()));
                for entry in self.inside(None) {
                    let concerned = |p: &Promise| self.concerns(p.above.as_ref(), &entry.value);
                    if entry.deadline != NEVER || waiting().any(concerned) {
                        ids.extend(entry.because.iter().copied().chain([entry.insert]));
                    }
                }
                Err(Clash::new(ids).into())
            }
            None => Err(Stop::Unfit(
                "too many removals never returned to tell what each of them took".into(),
            )),
        }
    }

    /// Tries the slots of the promises from this one on. Deadlines are by (unique) call of the
    /// insert.
    fn deal(
        &self,
        number: usize,
        deadlines: &mut HashMap<Time, Time, FixedState>,
        steps: &mut u32,
    ) -> Option<bool> {
        *steps = steps.checked_sub(1)?;
        let mut sorted: Vec<Time> = deadlines.values().copied().collect();
        sorted.sort_unstable();
        if !self.can_meet(sorted) {
            return Some(false);
        }
        let Some(promise) = self.waiting.get(number) else { return Some(true) };
        for &(from, to) in &promise.slots {
            let calls = self.takers().map(|open| open.call).filter(|c| *c > from && *c < to);
            for slot in std::iter::once(from).chain(calls) {
                let before = deadlines.clone();
                let above = promise.above.as_ref();
                for entry in self.inside(above).filter(|entry| entry.returned <= slot) {
                    let deadline = deadlines.entry(entry.call).or_insert(NEVER);
                    *deadline = (*deadline).min(slot + 1);
                }
                if self.deal(number + 1, deadlines, steps)? {
                    return Some(true);
                }
                *deadlines = before;
            }
        }
        Some(false)
    }
}
