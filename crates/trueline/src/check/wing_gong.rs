//! The reference algorithms `wing-gong` and `wgl`.
//!
//! `wing-gong` is the search of Wing and Gong (1993): a doubly linked list of events; take any
//! operation whose call is before the first return, lift it out, continue with the rest; put it
//! back when stuck. `wgl` adds Lowe's memo on the full set of linearized operations and the state,
//! as the popular checkers do. Both are deliberately simple: our own search is measured and tested
//! against them.
//!
//! To confirm a violation, `wgl` has two reductions of its own: among equal operations that could
//! be taken, it takes the one that returns first; and if the operation that returns first commutes
//! with everything that could be taken before it, it is taken at once.
//!
//! Cost: `wing-gong` O(n!) steps, `wgl` O(2^n) entries of n/8 bytes in the worst case.

use hashbrown::HashSet;

use super::depth_first::table_bytes;
use super::problem::{ALONE, Decision, Spans, Stepper, Ticker};
use crate::budget::Exhausted;
use crate::history::PENDING;

/// The events in order of rank as a doubly linked list. Event `2 * o` is the call of operation `o`,
/// event `2 * o + 1` its return; the last two numbers are the ends of the list.
struct Events {
    next: Vec<u32>,
    previous: Vec<u32>,
    head: u32,
    tail: u32,
}

impl Events {
    fn new(spans: &Spans) -> Events {
        let n = spans.len() as u32;
        let mut ranked: Vec<(u32, u32)> = Vec::with_capacity(2 * n as usize);
        for o in 0..n {
            ranked.push((spans.call[o as usize], 2 * o));
            if spans.returned[o as usize] != PENDING {
                ranked.push((spans.returned[o as usize], 2 * o + 1));
            }
        }
        ranked.sort_unstable();
        let (head, tail) = (2 * n, 2 * n + 1);
        let mut events = Events {
            next: vec![0; 2 * n as usize + 2],
            previous: vec![0; 2 * n as usize + 2],
            head,
            tail,
        };
        let mut last = head;
        for event in ranked.into_iter().map(|(_, event)| event).chain([tail]) {
            events.next[last as usize] = event;
            events.previous[event as usize] = last;
            last = event;
        }
        events
    }

    /// Whether another operation that could be taken now goes first.
    fn can_skip(&self, operation: u32, spans: &Spans, stepper: &Stepper<'_>) -> bool {
        let (mut open, mut returns_first) = (Vec::new(), None);
        let mut event = self.next[self.head as usize];
        while event != self.tail && returns_first.is_none() {
            match event.is_multiple_of(2) {
                true => open.push(event / 2),
                false => returns_first = Some(event / 2),
            }
            event = self.next[event as usize];
        }
        let rank = |o: u32| (spans.returned[o as usize], o);
        let class = |o: u32| spans.class[o as usize];
        let is_twin = |&o: &u32| class(o) == class(operation) && rank(o) < rank(operation);
        if class(operation) != ALONE && open.iter().any(is_twin) {
            return true;
        }
        let goes_first = |first: u32| {
            first != operation
                && stepper.reorders()
                && open.iter().all(|&o| o == first || stepper.commutes(first, o))
        };
        returns_first.is_some_and(goes_first)
    }

    fn unlink(&mut self, event: u32) {
        let (before, after) = (self.previous[event as usize], self.next[event as usize]);
        self.next[before as usize] = after;
        self.previous[after as usize] = before;
    }

    /// The inverse of `unlink`, in the reverse order of unlinking.
    fn relink(&mut self, event: u32) {
        let (before, after) = (self.previous[event as usize], self.next[event as usize]);
        self.next[before as usize] = event;
        self.previous[after as usize] = event;
    }
}

/// One linearized operation on the current path, and how to take it back.
struct Step {
    operation: u32,
    before: u32,
    /// Next states of this operation that were not tried yet.
    others: Vec<u32>,
}

/// Which of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    WingGong,
    Wgl,
    /// `wgl` with its reductions, to confirm a violation.
    Confirming,
}

/// Decides.
pub(crate) fn search(
    spans: &Spans,
    stepper: &mut Stepper<'_>,
    ticker: &mut Ticker<'_>,
    reference: Reference,
) -> Result<Decision, Exhausted> {
    let memo = reference != Reference::WingGong;
    let confirming = reference == Reference::Confirming;
    let mut events = Events::new(spans);
    let mut seen: HashSet<(Box<[u64]>, u32), foldhash::fast::FixedState> = HashSet::default();
    let mut done = vec![0u64; spans.len().div_ceil(64)];
    let mut path: Vec<Step> = Vec::new();
    let mut open_returns = spans.returns.len();
    let mut stuck: Option<u32> = None;
    let mut state = stepper.initial();
    let mut next = Vec::new();
    let mut entry = events.next[events.head as usize];
    while open_returns > 0 {
        let operation = entry / 2;
        if entry != events.tail && entry.is_multiple_of(2) {
            if confirming && events.can_skip(operation, spans, stepper) {
                entry = events.next[entry as usize];
                continue;
            }
            let entry_bytes = done.len() * 8 + 32;
            ticker.tick(|| {
                table_bytes(seen.len(), seen.capacity(), entry_bytes) as u64 + stepper.bytes()
            })?;
            next.clear();
            stepper.step(state, operation, &mut next);
            done[operation as usize / 64] |= 1 << (operation % 64);
            if memo {
                next.retain(|&s| seen.insert((done.clone().into_boxed_slice(), s)));
            }
            if let Some(after) = next.pop() {
                path.push(Step { operation, before: state, others: next.clone() });
                state = after;
                events.unlink(entry);
                if !spans.is_pending(operation) {
                    events.unlink(entry + 1);
                    open_returns -= 1;
                }
                entry = events.next[events.head as usize];
            } else {
                done[operation as usize / 64] &= !(1 << (operation % 64));
                entry = events.next[entry as usize];
            }
            continue;
        }
        // A return (or the end) that is not explained: nothing else fits before it.
        let rank = |o: u32| spans.returned[o as usize];
        if entry != events.tail && stuck.is_none_or(|s| rank(operation) > rank(s)) {
            stuck = Some(operation);
        }
        let Some(step) = path.last_mut() else {
            return Ok(Decision::Stuck(stuck.unwrap_or(0)));
        };
        if let Some(after) = step.others.pop() {
            state = after;
            entry = events.next[events.head as usize];
            continue;
        }
        let operation = step.operation;
        state = step.before;
        path.pop();
        done[operation as usize / 64] &= !(1 << (operation % 64));
        if !spans.is_pending(operation) {
            events.relink(2 * operation + 1);
            open_returns += 1;
        }
        events.relink(2 * operation);
        entry = events.next[2 * operation as usize];
    }
    Ok(Decision::Order(path.iter().map(|s| s.operation).collect()))
}
