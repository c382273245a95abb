//! The stack: last in, first out. O(n log n), with a witness.
//!
//! A history in which each value is pushed at most once is decided by taking the stack apart from
//! the bottom. The rules on single values and on empty results come first (see
//! [`super::container`]). A value without a cover can be pushed and popped in one moment: it never
//! matters. Take the rest, a set S of values, let A be the first return of a push in S and B the
//! last call of a pop in S, and repeat:
//!
//! 1. If the covers of S leave a gap, the stack can be empty there: S falls apart into the values
//!    before and the values after the gap, which are decided on their own.
//! 2. Else the stack is not empty from A to B, so some value is at the bottom all that time. It can
//!    be any v whose push is called before A and whose pop returns after B: put v's push right
//!    before A and its pop right after B, and go on with S without v. Both conditions only become
//!    easier for the values that are left, so it does not matter which is taken.
//! 3. Else there is a violation. The values of a chain of covers from A to B, the ones that give A
//!    and B among them, are a violation by themselves: A and B are the same, there is no gap, and
//!    no bottom.
//!
//! (That unique values make stacks tractable: Emmi and Enea, *Sound, complete, and tractable
//! linearizability monitoring for concurrent collections*, POPL 2018. Done naively, the above takes
//! O(n²).)
//!
//! **Why O(n log n).** Sort the values by the return of their pushes and always work on the
//! leftmost component.
//!
//! - It begins at the first value that is left, so A only grows, and one cursor over the events
//!   marks the values whose push is called before A, for good.
//! - Among the marked ones of the component the one whose pop returns last is asked for in a tree
//!   of maxima.
//! - Gaps: each component keeps a *chain*, some of its values, each of which reaches beyond the
//!   push of the next, from A to B. Taking away a value outside of the chain leaves no gap. Taking
//!   away one of the chain starts a repair from the value before it: extend by the value, among
//!   those pushed in time, that is popped last (a second tree of maxima), until the value after it
//!   is reached or there is nothing: a gap, and the chain goes on behind it. A value that enters
//!   the chain stays until it is taken away: it was the last popped among all that were pushed
//!   before some value before it ended, so nothing that comes in later makes it superfluous. So
//!   each value enters once, with one question to the tree.
//!
//! The recursion is a list of what is left to do; the depth of a stack is no matter.

use super::container::{Action, INS_CALL, INS_RETURN, NO_EVENT, REM_CALL, Value, Values};
use super::max_tree::MaxTree;
use super::shrink::shrink;
use super::{Answer, NEVER, NONE, Op, Why};

/// Decides a stack. `initial` is its initial content, bottom first.
pub(crate) fn check(operations: &[Op<Action>], initial: &[u32]) -> Answer {
    let (values, empties) = match Values::with_empties(operations, initial) {
        Ok(placed) => placed,
        Err(violation) => return violation,
    };
    match take_apart(&values, &empties, operations.len()) {
        Ok(order) => Answer::Order(order),
        Err(chain) => {
            let chain = shrink(chain, |part| take_apart(&values.only(part), &[], 0).is_err());
            values.violation(chain, NONE, Why::NoBottom)
        }
    }
}

/// The remaining work, last first.
enum Todo {
    /// Take a component apart: the remaining values before `end`. `last` is the last of its chain.
    Component { end: u32, last: u32 },
    /// Pop a value, in this slot.
    Pop { value: u32, slot: u32 },
}

/// An order of all operations, or the values of a chain that is a violation.
fn take_apart(
    values: &Values,
    empties: &[(u32, u32)],
    operations: usize,
) -> Result<Vec<u32>, Vec<u32>> {
    let events = values.events();
    let mut parts = Parts::new(values, &events);
    let mut output = Output {
        values,
        events: &events,
        empties: empties.iter().peekable(),
        order: Vec::with_capacity(operations),
        cursor: 0,
        depth: 0,
    };
    let mut todo = Vec::new();
    if !parts.sorted.is_empty() {
        parts.chain_up(0, NONE, NONE, parts.sorted.len() as u32, &mut todo);
    }
    while let Some(next) = todo.pop() {
        let (end, last) = match next {
            Todo::Component { end, last } => (end, last),
            Todo::Pop { value, slot } => {
                output.pop(value, slot);
                continue;
            }
        };
        let first = parts.first();
        let (a, b) = (parts.value(first).ins.returned, parts.value(last).rem.call);
        parts.mark_before(a);
        let bottom = match parts.marked.max_before(end as usize) {
            Some((returned, bottom)) if returned >= b => bottom as u32,
            _ => return Err(parts.chain(first)),
        };
        let value = parts.sorted[bottom as usize];
        output.push(value, a - 1);
        todo.push(Todo::Pop { value, slot: b });
        parts.take(bottom, end, last, &mut todo);
    }
    output.advance(values.end);
    Ok(output.order)
}

/// The values that have a cover and are left. Indices are into `sorted`.
struct Parts<'a> {
    values: &'a Values,
    events: &'a [u32],
    /// Places of the values, by return of the push.
    sorted: Vec<u32>,
    /// The index of each value with a cover.
    index: Vec<u32>,
    /// How many values are certainly pushed before this one may be popped: they are the first ones.
    reach: Vec<u32>,
    /// Call of the pop, of the values that are left.
    left: MaxTree,
    /// Returns of the pops, for the remaining values whose push is called before A.
    marked: MaxTree,
    marked_until: u32,
    /// Before this index nothing is left.
    first: u32,
    /// The neighbours in the chain; [`OUTSIDE`] for values that are not in it.
    next: Vec<u32>,
    before: Vec<u32>,
}

/// Not in the chain.
const OUTSIDE: u32 = u32::MAX - 1;

impl<'a> Parts<'a> {
    fn new(values: &'a Values, events: &'a [u32]) -> Parts<'a> {
        let mut sorted = Vec::with_capacity(values.values.len());
        let mut index = vec![NONE; values.values.len()];
        let mut reach = Vec::with_capacity(values.values.len());
        for &event in events.iter().filter(|&&e| e != NO_EVENT) {
            let place = event >> 2;
            if !values.values[place as usize].covers() {
                continue;
            }
            if event & 3 == INS_RETURN {
                index[place as usize] = sorted.len() as u32;
                sorted.push(place);
                reach.push(NONE);
            } else if event & 3 == REM_CALL {
                reach[index[place as usize] as usize] = sorted.len() as u32;
            }
        }
        let len = sorted.len();
        for reach in reach.iter_mut().filter(|r| **r == NONE) {
            *reach = len as u32;
        }
        let calls: Vec<u32> = sorted.iter().map(|&p| values.values[p as usize].rem.call).collect();
        Parts {
            values,
            events,
            sorted,
            index,
            reach,
            left: MaxTree::from(calls),
            marked: MaxTree::new(len),
            marked_until: 0,
            first: 0,
            next: vec![OUTSIDE; len],
            before: vec![NONE; len],
        }
    }

    fn value(&self, index: u32) -> &'a Value {
        &self.values.values[self.sorted[index as usize] as usize]
    }

    /// The first value that is left, or the number of all.
    fn first(&mut self) -> u32 {
        self.first = self.left.next(self.first as usize) as u32;
        self.first
    }

    /// Marks the values whose push is called before this rank.
    fn mark_before(&mut self, rank: u32) {
        while self.marked_until < rank {
            let event = self.events[self.marked_until as usize];
            if event != NO_EVENT && event & 3 == INS_CALL {
                let place = (event >> 2) as usize;
                if self.index[place] != NONE {
                    self.marked
                        .set(self.index[place] as usize, self.values.values[place].rem.returned);
                }
            }
            self.marked_until += 1;
        }
    }

    /// Removes a value from the component that ends at `end` and adds the remaining components.
    fn take(&mut self, index: u32, end: u32, last: u32, todo: &mut Vec<Todo>) {
        self.left.set(index as usize, 0);
        self.marked.set(index as usize, 0);
        if self.next[index as usize] == OUTSIDE {
            todo.push(Todo::Component { end, last });
            return;
        }
        let (before, next) = (self.before[index as usize], self.next[index as usize]);
        if before != NONE {
            self.chain_up(before, next, last, end, todo);
            return;
        }
        let first = self.first();
        if first < end {
            self.before[first as usize] = NONE;
            self.chain_up(first, next, last, end, todo);
        }
    }

    /// Extends the chain from `from` on, up to its old part that begins at `next` and ends at
    /// `last`, or to the end of the component where `next` is [`NONE`]. Adds the components,
    /// leftmost last.
    fn chain_up(&mut self, from: u32, next: u32, last: u32, end: u32, todo: &mut Vec<Todo>) {
        let added = todo.len();
        let mut at = from;
        loop {
            if at == next {
                // A component begins with the old part of the chain.
                self.before[next as usize] = NONE;
                todo.push(Todo::Component { end, last });
                break;
            }
            let reached = self.value(at).rem.call;
            if next != NONE && reached > self.value(next).ins.returned {
                self.link(at, next);
                todo.push(Todo::Component { end, last });
                break;
            }
            let farthest = self.left.max_before(self.reach[at as usize] as usize);
            if let Some((call, index)) = farthest
                && call > reached
            {
                self.link(at, index as u32);
                at = index as u32;
                continue;
            }
            // Nothing goes on from here: the component ends, and perhaps another one begins.
            self.next[at as usize] = NONE;
            let first = self.left.next(self.reach[at as usize] as usize) as u32;
            if first >= end {
                todo.push(Todo::Component { end, last: at });
                break;
            }
            todo.push(Todo::Component { end: first, last: at });
            at = first;
            self.before[at as usize] = NONE;
        }
        todo[added..].reverse();
    }

    fn link(&mut self, a: u32, b: u32) {
        self.next[a as usize] = b;
        self.before[b as usize] = a;
        if self.next[b as usize] == OUTSIDE {
            self.next[b as usize] = NONE;
        }
    }

    /// The places of the values of the chain that begins here, without those that a greedy cover
    /// skips.
    fn chain(&self, first: u32) -> Vec<u32> {
        let mut chain = vec![first];
        let mut at = first;
        while self.next[at as usize] != NONE {
            at = self.next[at as usize];
            // The one before is superfluous if the one before that reaches this one.
            while let [.., a, _] = chain[..]
                && self.value(a).rem.call > self.value(at).ins.returned
            {
                chain.pop();
            }
            chain.push(at);
        }
        chain.iter().map(|&i| self.sorted[i as usize]).collect()
    }
}

/// Writes the witness: pushes and pops in order of their slots; between them the values without a
/// cover and, while the stack is empty, the empty results.
struct Output<'a> {
    values: &'a Values,
    events: &'a [u32],
    empties: std::iter::Peekable<std::slice::Iter<'a, (u32, u32)>>,
    order: Vec<u32>,
    /// Slots before this one are done.
    cursor: u32,
    depth: u32,
}

impl Output<'_> {
    fn push(&mut self, value: u32, slot: u32) {
        self.advance(slot + 1);
        self.depth += 1;
        self.emit(self.values.values[value as usize].insert);
    }

    fn pop(&mut self, value: u32, slot: u32) {
        // A removal that never returned and comes after values that stay has not happened.
        if self.values.values[value as usize].removed() && slot != NEVER {
            self.advance(slot + 1);
            self.emit(self.values.values[value as usize].remove);
        }
        self.depth -= 1;
    }

    /// Emits the operations in the slots before `end`.
    fn advance(&mut self, end: u32) {
        while self.cursor < end.min(self.values.end) {
            let slot = self.cursor;
            if self.depth == 0 {
                while let Some(e) = self.empties.next_if(|e| e.0 <= slot) {
                    self.order.push(e.1);
                }
            }
            let event = self.events[slot as usize];
            if event != NO_EVENT && event & 1 == 0 {
                let v = &self.values.values[(event >> 2) as usize];
                if !v.covers() && slot == v.ins.call.max(v.rem.call) {
                    self.emit(v.insert);
                    self.emit(v.remove);
                }
            }
            self.cursor += 1;
        }
        if self.depth == 0 {
            while let Some(e) = self.empties.next_if(|e| e.0 < end) {
                self.order.push(e.1);
            }
        }
    }

    fn emit(&mut self, operation: u32) {
        if operation != NONE {
            self.order.push(operation);
        }
    }
}
