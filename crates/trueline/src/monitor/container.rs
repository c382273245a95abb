//! Shared by the queue, the stack and the priority queue: values that are inserted once and removed
//! once.
//!
//! The *cover* of a value is the time during which it is certainly inside: the slots from the
//! return of its insert up to the call of its removal (none if they overlap). A value that was
//! never removed has a removal at infinity; initial values are inserted one after the other before
//! everything. Every monitor here uses two facts:
//!
//! - *Gap lemma.* In a slot that no cover contains, the container can be taken to be empty: each
//!   value has an insert that can still come later or a removal that can have been before.
//! - *Empty results.* One is a violation iff the covers together contain its whole interval.

use super::ranks::{Names, Ranks, all_differ};
use super::{Answer, NEVER, NONE, Op, Span, Why};

/// The effect of an operation on a container. Each value is inserted at most once, including
/// initial contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Put the value in.
    Insert(u32),
    /// Took the value out.
    Remove(u32),
    /// Found nothing to remove, or an observer found the container empty.
    Empty,
    /// A removal that never returned. The monitors assume that it did not happen;
    /// [`super::pending`] decides.
    RemoveUnknown,
}

/// Whether each value is inserted at most once, including initial contents: the monitors rely on
/// it.
pub(crate) fn is_unambiguous(operations: &[Op<Action>], initial: &[u32]) -> bool {
    let inserted = operations.iter().filter_map(|o| match o.action {
        Action::Insert(v) => Some(v),
        _ => None,
    });
    all_differ(initial.iter().copied().chain(inserted), operations.len())
}

/// A value and the operations on it, in dense ranks.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub(super) ins: Span,
    /// Both ends are [`NEVER`] for a value that is never removed.
    pub(super) rem: Span,
    /// Index of the insert; [`NONE`] for an initial value.
    pub(super) insert: u32,
    /// Index of the removal; [`NONE`] for a value that is never removed.
    pub(super) remove: u32,
}

const ABSENT: Value = {
    let never = Span { call: NEVER, returned: NEVER };
    Value { ins: never, rem: never, insert: NONE, remove: NONE }
};

impl Value {
    /// False for a name that nothing was inserted under, or nothing that counts.
    pub(super) fn present(&self) -> bool {
        self.ins.call != NEVER
    }

    /// Whether the value is certainly inside at some time.
    pub(super) fn covers(&self) -> bool {
        self.ins.returned < self.rem.call
    }

    pub(super) fn removed(&self) -> bool {
        self.remove != NONE
    }
}

/// An empty result.
#[derive(Clone, Copy)]
pub(super) struct Empty {
    pub(super) span: Span,
    pub(super) operation: u32,
}

/// The kinds of events of a value, as [`Values::events`] has them.
pub(super) const INS_CALL: u32 = 0;
pub(super) const INS_RETURN: u32 = 1;
pub(super) const REM_CALL: u32 = 2;
pub(super) const REM_RETURN: u32 = 3;
/// An event of no value.
pub(super) const NO_EVENT: u32 = u32::MAX;

/// A history of a container that satisfies all rules on single values.
pub(super) struct Values {
    /// By dense name; not all are [present](Value::present).
    pub(super) values: Vec<Value>,
    pub(super) empties: Vec<Empty>,
    /// All finite ranks are smaller.
    pub(super) end: u32,
    pub(super) names: Names,
}

impl Values {
    /// Pairs inserts with removals. An error is a violation: a value that was never inserted, or is
    /// removed twice or too early.
    pub(super) fn new(operations: &[Op<Action>], initial: &[u32]) -> Result<Values, Answer> {
        let shift = 2 * initial.len() as u32;
        let ranks = Ranks::new(operations.iter().map(|o| o.span), shift);
        let named = operations.iter().filter_map(|o| match o.action {
            Action::Insert(v) | Action::Remove(v) => Some(v),
            Action::Empty | Action::RemoveUnknown => None,
        });
        let names = Names::new(initial.iter().copied().chain(named), operations.len());
        let mut values = vec![ABSENT; names.end as usize];
        let mut empties = Vec::new();
        for (i, &v) in initial.iter().enumerate() {
            let call = 2 * i as u32;
            values[names.of(v) as usize].ins = Span { call, returned: call + 1 };
        }
        for (i, o) in operations.iter().enumerate() {
            let (i, span) = (i as u32, ranks.span(o.span));
            match o.action {
                Action::Insert(v) => {
                    let value = &mut values[names.of(v) as usize];
                    debug_assert!(!value.present(), "each value is inserted at most once");
                    (value.ins, value.insert) = (span, i);
                }
                Action::Remove(v) => {
                    let value = &mut values[names.of(v) as usize];
                    if value.removed() {
                        let (first, second) = (value.remove, i);
                        return Err(removed_twice(operations, initial, v, first, second));
                    }
                    (value.rem, value.remove) = (span, i);
                }
                Action::Empty => empties.push(Empty { span, operation: i }),
                Action::RemoveUnknown => {}
            }
        }
        for value in &mut values {
            let (insert, remove) = (value.insert, value.remove);
            if !value.present() && value.removed() {
                return Err(Answer::violation([remove], Why::NeverInserted { remove }));
            }
            if value.removed() && value.rem.returned < value.ins.call {
                let why = Why::RemovedBeforeInserted { remove, insert };
                return Err(Answer::violation([insert, remove], why));
            }
            if value.ins.returned == NEVER && !value.removed() {
                *value = ABSENT;
            }
        }
        Ok(Values { values, empties, end: ranks.end, names })
    }

    /// Only the values at these places, without empty results, with dense ranks.
    pub(super) fn only(&self, places: &[u32]) -> Values {
        let each = places.iter().map(|&p| self.values[p as usize]);
        let spans = each.clone().flat_map(|v| [v.ins, v.rem]).filter(|s| s.call != NEVER);
        let ranks = Ranks::new(spans, 0);
        let values = each.map(|v| Value { ins: ranks.span(v.ins), rem: ranks.span(v.rem), ..v });
        let names = Names::new(std::iter::empty(), 0);
        Values { values: values.collect(), empties: Vec::new(), end: ranks.end, names }
    }

    /// The event at each rank: `place * 4 + kind`, or [`NO_EVENT`].
    pub(super) fn events(&self) -> Vec<u32> {
        let mut events = vec![NO_EVENT; self.end as usize];
        for (i, v) in self.values.iter().enumerate().filter(|(_, v)| v.present()) {
            let ranks = [v.ins.call, v.ins.returned, v.rem.call, v.rem.returned];
            for (kind, &rank) in ranks.iter().enumerate().filter(|(_, r)| **r != NEVER) {
                events[rank as usize] = (i as u32) << 2 | kind as u32;
            }
        }
        events
    }

    /// The values, and the empty results in their slots.
    pub(super) fn with_empties(
        operations: &[Op<Action>],
        initial: &[u32],
    ) -> Result<(Values, Vec<(u32, u32)>), Answer> {
        let values = Values::new(operations, initial)?;
        let empties = values.place_empties()?;
        Ok((values, empties))
    }

    /// Gives each empty result a slot of its interval that no cover contains: (slot, operation),
    /// sorted. An error is a violation, with a shortest chain of covers.
    pub(super) fn place_empties(&self) -> Result<Vec<(u32, u32)>, Answer> {
        if self.empties.is_empty() {
            return Ok(Vec::new());
        }
        // First the change of the number of covers at each rank, then in its place the next slot
        // without a cover.
        let mut next = vec![0u32; self.end as usize + 1];
        for v in self.values.iter().filter(|v| v.present() && v.covers()) {
            let last = v.rem.call.min(self.end) as usize;
            next[v.ins.returned as usize] = next[v.ins.returned as usize].wrapping_add(1);
            next[last] = next[last].wrapping_sub(1);
        }
        let mut covers = next.iter().fold(0u32, |sum, &n| sum.wrapping_add(n));
        let mut free = NEVER;
        for (slot, n) in next.iter_mut().enumerate().rev() {
            let change = *n;
            if covers == 0 {
                free = slot as u32;
            }
            *n = free;
            covers = covers.wrapping_sub(change);
        }
        let mut placed = Vec::with_capacity(self.empties.len());
        for e in &self.empties {
            let slot = next[e.span.call as usize];
            if slot >= e.span.returned {
                let why = Why::EmptyWhileCovered { empty: e.operation };
                let chain = self.chain(e.span.call, e.span.returned, |_| true);
                return Err(self.violation(chain, e.operation, why));
            }
            placed.push((slot, e.operation));
        }
        placed.sort_unstable();
        Ok(placed)
    }

    /// A violation by all operations of the values at these places, and one more operation or
    /// [`NONE`].
    pub(super) fn violation(
        &self,
        places: impl IntoIterator<Item = u32>,
        operation: u32,
        why: Why,
    ) -> Answer {
        let (mut operations, mut initial) = (vec![operation], Vec::new());
        for place in places {
            let value = &self.values[place as usize];
            operations.extend([value.insert, value.remove]);
            if value.insert == NONE {
                initial.push((value.ins.call, self.names.original(place)));
            }
        }
        // In the order in which they are in the container.
        initial.sort_unstable();
        let mut answer = Answer::violation(operations, why);
        if let Answer::Violation { initial: named, .. } = &mut answer {
            named.extend(initial.iter().map(|i| i.1));
        }
        answer
    }

    /// The places of a smallest number of values, out of those that `may`, whose covers together
    /// contain the slots `from..to`. They must exist.
    pub(super) fn chain(&self, from: u32, to: u32, may: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut covers: Vec<(u32, u32)> = Vec::new();
        for (i, v) in self.values.iter().enumerate() {
            let inside = v.present() && v.covers() && v.ins.returned < to && v.rem.call > from;
            if inside && may(i as u32) {
                covers.push((v.ins.returned, i as u32));
            }
        }
        covers.sort_unstable();
        let (mut chosen, mut at, mut reached, mut best) = (Vec::new(), 0, from, NONE);
        let end = |i: u32| if i == NONE { 0 } else { self.values[i as usize].rem.call };
        while reached < to {
            while at < covers.len() && covers[at].0 <= reached {
                if best == NONE || end(covers[at].1) > end(best) {
                    best = covers[at].1;
                }
                at += 1;
            }
            if end(best) <= reached {
                debug_assert!(false, "the covers leave a gap");
                break;
            }
            reached = end(best);
            chosen.push(best);
        }
        chosen
    }
}

/// Two removals of a value. Its insert is named too, because without it there would be another
/// reason.
fn removed_twice(
    operations: &[Op<Action>],
    initial: &[u32],
    value: u32,
    first: u32,
    second: u32,
) -> Answer {
    let insert = operations.iter().position(|o| o.action == Action::Insert(value));
    Answer::Violation {
        operations: {
            let mut all = vec![first, second];
            all.extend(insert.map(|i| i as u32));
            all.sort_unstable();
            all
        },
        initial: initial.iter().copied().filter(|&v| v == value).collect(),
        why: Why::RemovedTwice { first, second },
    }
}
