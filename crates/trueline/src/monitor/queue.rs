//! The queue: first in, first out. O(n), with a witness.
//!
//! A history in which each value is enqueued at most once is a violation iff a rule on single
//! values breaks (see [`super::container`]), an empty result is covered, or there are values a and
//! b with
//!
//! > enq(a) before enq(b), and deq(b) before deq(a)
//!
//! (Henzinger, Sezgin and Vafeiadis, *Aspect-oriented linearizability proofs*, CONCUR 2013). This
//! file proves the rule by constructing a witness whenever the rule is kept.
//!
//! **Order of values.** Let enq(v) end no later than deq(v), and deq(v) begin no earlier than
//! enq(v): that changes no verdict and makes no new clash. 'enq(a) before enq(b)' and 'deq(a)
//! before deq(b)' are two interval orders; an empty result, put into a slot that no cover contains,
//! counts as a value that goes in and out in that slot. Their union has no cycle unless it has one
//! of length two: take a shortest cycle; both orders are transitive, so its steps alternate, a E b
//! D c E d ..., and since E is an interval order a E d or c E b, either of which shortens the
//! cycle. So whoever repeatedly takes a value that is first in both orders gets stuck iff there is
//! a clash. Both conditions only become easier while values are taken: four cursors that move
//! forward over the events find them, in linear time.
//!
//! **Operations.** Along the order of values let enq(v) take effect at the latest call of an
//! enqueue so far, deq(v) at the latest call of a dequeue so far. Each lies in its interval because
//! the order respects both interval orders; both only grow along the order; and enq(v) is not after
//! deq(v). Merging the two sequences by time, enqueues first, and meeting at each empty result, is
//! the witness.

use super::container::{
    Action, INS_CALL, INS_RETURN, NO_EVENT, REM_CALL, REM_RETURN, Value, Values,
};
use super::{Answer, NEVER, NONE, Op, Why};

/// Decides a queue. `initial` is its initial content, oldest first.
pub(crate) fn check(operations: &[Op<Action>], initial: &[u32]) -> Answer {
    let (values, empties) = match Values::with_empties(operations, initial) {
        Ok(placed) => placed,
        Err(violation) => return violation,
    };
    let events = values.events();
    match order_of_values(&values, &events, &empties) {
        Some(sequence) => Answer::Order(merge(&values, &empties, &sequence, operations.len())),
        None => clash(&values, &events),
    }
}

/// An empty result in the order of values.
const EMPTY: u32 = NONE;

/// When the value is enqueued at the latest.
fn enqueue_end(v: &Value) -> u32 {
    v.ins.returned.min(v.rem.returned)
}

/// When the value is dequeued at the earliest.
fn dequeue_start(v: &Value) -> u32 {
    if v.removed() { v.rem.call.max(v.ins.call) } else { NEVER }
}

/// The values that are free to be taken.
struct Ready {
    /// Bit 0: first in the order of enqueues; bit 1: of dequeues; bit 2: taken.
    flags: Vec<u8>,
    list: Vec<u32>,
}

impl Ready {
    fn flag(&mut self, value: usize, flag: u8) {
        self.flags[value] |= flag;
        if self.flags[value] == 3 {
            self.list.push(value as u32);
        }
    }

    fn taken(&self, value: usize) -> bool {
        self.flags[value] & 4 != 0
    }
}

/// The values, and [`EMPTY`] for each empty result, in an order that respects both orders; `None`
/// if there is none.
fn order_of_values(values: &Values, events: &[u32], empties: &[(u32, u32)]) -> Option<Vec<u32>> {
    let present = values.values.iter().filter(|v| v.present()).count();
    let total = present + empties.len();
    let mut sequence = Vec::with_capacity(total);
    let mut ready = Ready { flags: vec![0; values.values.len()], list: Vec::new() };
    let (mut enqueue_calls, mut enqueue_ends) = (0u32, 0u32);
    let (mut dequeue_calls, mut dequeue_ends) = (0u32, 0u32);
    let mut empties = empties.iter().map(|e| e.0).peekable();
    let value_at = |rank: u32| {
        let event = events[rank as usize];
        (event != NO_EVENT).then_some(((event >> 2) as usize, event & 3))
    };
    loop {
        while let Some(value) = ready.list.pop() {
            ready.flags[value as usize] |= 4;
            sequence.push(value);
        }
        if sequence.len() == total {
            return Some(sequence);
        }
        // The first end among the remaining values bounds the calls that may come before it.
        while enqueue_ends < values.end {
            match value_at(enqueue_ends) {
                Some((v, INS_RETURN | REM_RETURN))
                    if !ready.taken(v) && enqueue_end(&values.values[v]) == enqueue_ends =>
                {
                    break;
                }
                _ => enqueue_ends += 1,
            }
        }
        while dequeue_ends < values.end {
            match value_at(dequeue_ends) {
                Some((v, REM_RETURN)) if !ready.taken(v) => break,
                _ => dequeue_ends += 1,
            }
        }
        let mut moved = false;
        while empties.next_if(|&slot| slot < enqueue_ends).is_some() {
            sequence.push(EMPTY);
            moved = true;
        }
        // Slot s is before rank s + 1, so calls up to the slot of the next empty result may come
        // before it.
        let next_empty = empties.peek().map_or(NEVER, |slot| slot + 1);
        while enqueue_calls < enqueue_ends.min(next_empty) {
            if let Some((v, INS_CALL)) = value_at(enqueue_calls) {
                ready.flag(v, 1);
                moved = true;
            }
            enqueue_calls += 1;
        }
        while dequeue_calls < dequeue_ends.min(next_empty) {
            if let Some((v, INS_CALL | REM_CALL)) = value_at(dequeue_calls)
                && dequeue_start(&values.values[v]) == dequeue_calls
            {
                ready.flag(v, 2);
                moved = true;
            }
            dequeue_calls += 1;
        }
        if dequeue_ends == values.end && dequeue_calls == values.end {
            // Only values that are never removed are left.
            dequeue_calls += 1;
            for v in 0..values.values.len() {
                if values.values[v].present() && !values.values[v].removed() {
                    ready.flag(v, 2);
                    moved = true;
                }
            }
        }
        if !moved && ready.list.is_empty() {
            return None;
        }
    }
}

/// The operations in order, from the order of the values.
fn merge(values: &Values, empties: &[(u32, u32)], sequence: &[u32], operations: usize) -> Vec<u32> {
    let mut order = Vec::with_capacity(operations);
    let mut empties = empties.iter();
    let value = |at: usize| &values.values[sequence[at] as usize];
    // Positions of the next enqueue and the next dequeue, and the latest calls up to and with them.
    let (mut i, mut j, mut enqueue_at, mut dequeue_at) = (0, 0, 0, 0);
    while j < sequence.len() {
        let dequeue_empty = sequence[j] == EMPTY;
        if !dequeue_empty {
            dequeue_at = dequeue_at.max(dequeue_start(value(j)));
        }
        if i < sequence.len() && sequence[i] != EMPTY {
            enqueue_at = enqueue_at.max(value(i).ins.call);
            if dequeue_empty || enqueue_at <= dequeue_at {
                order.extend(Some(value(i).insert).filter(|&o| o != NONE));
                i += 1;
                continue;
            }
        }
        if dequeue_empty {
            debug_assert_eq!(i, j, "both sequences meet at an empty result");
            order.extend(empties.next().map(|e| e.1));
            i += 1;
        } else if dequeue_at != NEVER {
            // Behind values that stay, a removal that never returned has not happened.
            order.extend(Some(value(j).remove).filter(|&o| o != NONE));
        }
        j += 1;
    }
    order
}

/// Two values in the wrong order. They must exist.
fn clash(values: &Values, events: &[u32]) -> Answer {
    // Among the values whose enqueue has returned, the one that is dequeued last.
    let mut first: Option<u32> = None;
    for &event in events.iter().filter(|&&e| e != NO_EVENT) {
        let v = &values.values[(event >> 2) as usize];
        match (event & 3, first.map(|a| &values.values[a as usize])) {
            (INS_RETURN, None) => first = Some(event >> 2),
            (INS_RETURN, Some(a)) if a.rem.call < v.rem.call => first = Some(event >> 2),
            (INS_CALL, Some(a)) if v.rem.returned < a.rem.call => {
                let why = Why::WrongOrder {
                    first_insert: a.insert,
                    second_insert: v.insert,
                    second_remove: v.remove,
                    first_remove: a.remove,
                };
                return values.violation(first.into_iter().chain([event >> 2]), NONE, why);
            }
            _ => {}
        }
    }
    unreachable!("the order of values is stuck only where two of them clash")
}
