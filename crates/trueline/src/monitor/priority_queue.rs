//! The priority queue: largest first, equal priorities in any order. O(n α(n)) after one sort by
//! priority.
//!
//! A history in which each value is inserted at most once is linearizable iff the rules on single
//! values hold (see [`super::container`]), each removal of a value x has a slot, at or after the
//! call of x's insert, that no cover of a *strictly higher* value contains, and each empty result
//! has a slot that no cover contains.
//!
//! **Necessary**: in the slot where x leaves, no higher value may be inside. **Sufficient**: let x
//! leave in its first such slot t(x), and enter as late as it can: at the end of the last slot of
//! its insert, or together with its removal where that is earlier. Then x is inside during its
//! cover and, where t(x) is later than the call of its removal, in slots that covers of higher
//! values contain. So in a slot that no cover of a value above y contains no value above y is
//! inside at the end, and those that are inside at the start leave in the slot itself. Hence in
//! each slot: first the removals, highest first, then the empty results, then the at most one
//! insert whose time is up. This order is the witness.
//!
//! The slots that are covered by the values so far, highest first, are kept in a union-find
//! structure that leads to the next free slot; a group of equal priorities is tested before its own
//! covers are added.

use super::container::{Action, INS_RETURN, NO_EVENT, Value, Values};
use super::{Answer, NONE, Op, Why};

/// Decides a priority queue. `initial` is what is in it at the start, in any order. `priorities`
/// has an entry for each value that occurs, indexed by value; larger leaves first.
pub(crate) fn check(operations: &[Op<Action>], initial: &[u32], priorities: &[u32]) -> Answer {
    let mut values = match Values::new(operations, initial) {
        Ok(values) => values,
        Err(violation) => return violation,
    };
    let names = &values.names;
    let priority = |place: u32| priorities[names.original(place) as usize];
    // Highest first, then by place: neighbours in time are often neighbours in memory.
    let places = 0..values.values.len() as u32;
    let present = places.filter(|&p| values.values[p as usize].present());
    let mut sorted: Vec<(u32, u32)> = present.map(|p| (!priority(p), p)).collect();
    sorted.sort_unstable();

    let mut free = FreeSlots { next: (0..=values.end).collect() };
    for group in sorted.chunk_by(|a, b| a.0 == b.0) {
        for &(_, p) in group {
            let v = &values.values[p as usize];
            if !v.removed() {
                continue;
            }
            let from = v.rem.call.max(v.ins.call);
            let slot = free.from(from);
            if slot >= v.rem.returned.min(values.end) {
                let to = v.rem.returned.min(values.end);
                let higher = values.chain(from, to, |q| priority(q) > priority(p));
                let why = Why::HigherInside { remove: v.remove };
                return values.violation(higher.into_iter().chain([p]), NONE, why);
            }
            // Its return is not needed any more: the place is for the slot in which it leaves.
            values.values[p as usize].rem.returned = slot;
        }
        for &(_, p) in group {
            let v = &values.values[p as usize];
            if v.covers() {
                free.cover(v.ins.returned, v.rem.call.min(values.end));
            }
        }
    }
    drop((free, sorted));
    match values.place_empties() {
        Ok(empties) => Answer::Order(witness(&values, priority, &empties, operations.len())),
        Err(violation) => violation,
    }
}

/// Slots that no cover contains so far.
struct FreeSlots {
    /// The slot itself where it is free, else one further on, on the way to the next free one.
    next: Vec<u32>,
}

impl FreeSlots {
    /// The first free slot from `slot` on.
    fn from(&mut self, mut slot: u32) -> u32 {
        while self.next[slot as usize] != slot {
            let skip = self.next[self.next[slot as usize] as usize];
            self.next[slot as usize] = skip;
            slot = skip;
        }
        slot
    }

    /// Takes the slots `from..to`.
    fn cover(&mut self, from: u32, to: u32) {
        let mut slot = self.from(from);
        while slot < to {
            self.next[slot as usize] = to;
            slot = self.from(slot + 1);
        }
    }
}

/// The order: see the proof at the top. Each value leaves in the slot `rem.returned`.
fn witness(
    values: &Values,
    priority: impl Fn(u32) -> u32,
    empties: &[(u32, u32)],
    operations: usize,
) -> Vec<u32> {
    let end = values.end as usize;
    // The removals of each slot: a counting sort by slot.
    let mut starts = vec![0u32; end + 2];
    let leaving = || values.values.iter().enumerate().filter(|(_, v)| v.removed());
    leaving().for_each(|(_, v)| starts[v.rem.returned as usize + 2] += 1);
    for slot in 2..starts.len() {
        starts[slot] += starts[slot - 1];
    }
    let mut removals = vec![0u32; starts[end + 1] as usize];
    for (p, v) in leaving() {
        let at = &mut starts[v.rem.returned as usize + 1];
        removals[*at as usize] = p as u32;
        *at += 1;
    }
    let events = values.events();
    let together = |v: &Value| v.rem.returned < v.ins.returned;
    let mut order = Vec::with_capacity(operations);
    let mut push = |o: u32| order.extend(Some(o).filter(|&o| o != NONE));
    let mut empties = empties.iter().peekable();
    for slot in 0..end {
        let removals = &mut removals[starts[slot] as usize..starts[slot + 1] as usize];
        removals.sort_unstable_by_key(|&p| std::cmp::Reverse(priority(p)));
        for &mut p in removals {
            let v = &values.values[p as usize];
            if together(v) {
                push(v.insert);
            }
            push(v.remove);
        }
        while let Some(e) = empties.next_if(|e| e.0 as usize == slot) {
            push(e.1);
        }
        let event = events.get(slot + 1).copied().unwrap_or(NO_EVENT);
        if event != NO_EVENT && event & 3 == INS_RETURN {
            let v = &values.values[(event >> 2) as usize];
            if !together(v) {
                push(v.insert);
            }
        }
    }
    order
}
