//! One key of a set: adds and removes that succeeded, and operations that found the key present or
//! absent. Values may repeat. O(n log p) for p operations open at a time, with a witness.
//!
//! Successful adds and removes alternate. A sweep over the events keeps the state and puts off
//! every change until it must be:
//!
//! - An operation that found the key present (absent) happens as soon as it is open and the state
//!   is right.
//! - When an operation returns that has not happened yet, the state changes, by the open add
//!   (remove) that returns first, until it has. If there is none, the history is a violation.
//!
//! **Exact** by exchange. Take any legal order and the first place where it differs from the
//! sweep's. Lookups that happen earlier, in the same state, hurt nothing. A change that the order
//! makes before one is forced can wait: everything between could happen without it. That an add
//! which returns earlier goes first is no loss, since two open adds are the same but for their
//! ends. An add or remove that never returned may be left out; it returns at infinity, so the sweep
//! uses it only where nothing else will do.
//!
//! **Explanation.** Nothing that was called after the violation matters, and most of what came
//! before does not either. Call a moment a *cut* if the state there is known and no open add or
//! remove has happened: counting the finished ones the key is present and no remove is open, or
//! absent and no add is open. Operations that returned before a cut only set the state at the cut,
//! so they can be dropped, but for one finished add (remove) where that state is not the initial
//! one. Lookups can be dropped always. A cut that no operation reaches across which stays is
//! better: one that does might have an order together with some of what is dropped, and a reader
//! would ask why. Where that would show too much, and for locks, which somebody waits for all the
//! time, any cut will do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::ranks::timeline;
use super::shrink::shrink;
use super::{Answer, Op, Why};

/// What an operation on the key did. Only adds and removes may never have returned; those may have
/// taken effect or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The key was absent and is present.
    Add,
    /// The key was present and is absent.
    Remove,
    /// The key was present: a lookup that found it, an add that failed.
    Present,
    /// The key was absent: a lookup that did not find it, a remove that failed.
    Absent,
}

/// Decides one key. `present` tells whether it is there at the start, `waited_for` whether somebody
/// waits for it nearly all the time.
pub(crate) fn check(operations: &[Op<Action>], present: bool, waited_for: bool) -> Answer {
    let events = timeline(operations.iter().map(|o| o.span));
    match sweep(operations, &events, present) {
        Ok(order) => Answer::Order(order),
        Err(stuck) => explain(operations, &events, present, waited_for, &stuck),
    }
}

/// Where the sweep ended.
struct Stuck {
    /// Position in the events of the return that came too early.
    event: usize,
    operation: u32,
    /// The state there.
    present: bool,
    /// The operations that had happened.
    order: Vec<u32>,
}

/// What is open, and what has happened.
struct Sweep<'a> {
    operations: &'a [Op<Action>],
    present: bool,
    order: Vec<u32>,
    happened: Vec<bool>,
    /// Open removes and adds, earliest return first. Index 0: what leads away from present, 1: from
    /// absent.
    changes: [BinaryHeap<Reverse<(u32, u32)>>; 2],
    /// Open lookups that need the key absent, present.
    lookups: [Vec<u32>; 2],
}

impl Sweep<'_> {
    fn call(&mut self, i: u32) {
        let o = &self.operations[i as usize];
        let needs = match o.action {
            Action::Remove => return self.changes[0].push(Reverse((o.span.returned, i))),
            Action::Add => return self.changes[1].push(Reverse((o.span.returned, i))),
            Action::Present => true,
            Action::Absent => false,
        };
        if self.present == needs {
            self.happens(i);
        } else {
            self.lookups[usize::from(needs)].push(i);
        }
    }

    fn happens(&mut self, i: u32) {
        self.happened[i as usize] = true;
        self.order.push(i);
    }

    /// Changes the state; false where nothing open can.
    fn change(&mut self) -> bool {
        let Some(Reverse((_, i))) = self.changes[usize::from(!self.present)].pop() else {
            return false;
        };
        self.happens(i);
        self.present = !self.present;
        let mut lookups = std::mem::take(&mut self.lookups[usize::from(self.present)]);
        lookups.drain(..).for_each(|i| self.happens(i));
        self.lookups[usize::from(self.present)] = lookups;
        true
    }
}

fn sweep(operations: &[Op<Action>], events: &[u32], present: bool) -> Result<Vec<u32>, Stuck> {
    let mut sweep = Sweep {
        operations,
        present,
        order: Vec::with_capacity(operations.len()),
        happened: vec![false; operations.len()],
        changes: Default::default(),
        lookups: Default::default(),
    };
    for (at, &event) in events.iter().enumerate() {
        let operation = event >> 1;
        if event & 1 == 0 {
            sweep.call(operation);
            continue;
        }
        while !sweep.happened[operation as usize] {
            if !sweep.change() {
                let Sweep { present, order, .. } = sweep;
                return Err(Stuck { event: at, operation, present, order });
            }
        }
    }
    Ok(sweep.order)
}

/// Operations that may be looked at to find a cut.
const WORK: usize = 1 << 19;
/// So many operations are shown for the sake of a cut that none of them reaches across.
const FEW: usize = 24;

/// A few operations that are a violation.
fn explain(
    operations: &[Op<Action>],
    events: &[u32],
    present: bool,
    waited_for: bool,
    stuck: &Stuck,
) -> Answer {
    let action = |i: u32| operations[i as usize].action;
    let changes = |i: u32| matches!(action(i), Action::Add | Action::Remove);
    let fails = |part: &[u32]| {
        let part: Vec<_> = part.iter().map(|&i| operations[i as usize]).collect();
        sweep(&part, &timeline(part.iter().map(|o| o.span)), present).is_err()
    };

    // The state before each event as far as finished operations tell, and what is open: the cuts.
    let (mut state, mut open) = (i64::from(present), [0u32; 2]);
    let mut first = [None; 2];
    let mut cuts = vec![];
    for (at, &event) in events[..=stuck.event].iter().enumerate() {
        let known = match state {
            0 => open[1] == 0,
            1 => open[0] == 0,
            _ => false,
        };
        if known {
            cuts.push((at, state == 1, first));
        }
        let side = match action(event >> 1) {
            Action::Remove => 0,
            Action::Add => 1,
            _ => continue,
        };
        if event & 1 == 0 {
            open[side] += 1;
        } else {
            open[side] -= 1;
            state += if side == 1 { 1 } else { -1 };
            first[side].get_or_insert(event >> 1);
        }
    }

    // What was open at the violation and had happened. Adds and removes that were open and had not
    // happened can not help: all of the other kind are used up.
    let end = operations[stuck.operation as usize].span.returned;
    let still_open = |i: &u32| operations[*i as usize].span.returned > end && changes(*i);
    let open: Vec<u32> = stuck.order.iter().copied().filter(still_open).collect();
    let since = |cut: usize| {
        let returns = events[cut..=stuck.event].iter().filter(|e| *e & 1 == 1).map(|e| e >> 1);
        returns.chain(open.iter().copied()).collect::<Vec<u32>>()
    };
    let mut place_of_call = vec![usize::MAX; operations.len()];
    for (at, &event) in events[..=stuck.event].iter().enumerate() {
        if event & 1 == 0 {
            place_of_call[(event >> 1) as usize] = at;
        }
    }
    let (mut part, mut any) = (None, None);
    let mut work = 0;
    for &(cut, state, first) in cuts.iter().rev() {
        let mut shorter = since(cut);
        work += shorter.len();
        if work > WORK {
            break;
        }
        let crosses = shorter.iter().any(|&i| place_of_call[i as usize] < cut);
        if state != present {
            // A change of the right kind has finished before this cut, since the state is not the
            // initial one.
            shorter.extend(first[usize::from(state)]);
        }
        shorter.sort_unstable();
        shorter.dedup();
        if !fails(&shorter) {
            continue;
        }
        let shows_too_much = shorter.len() > FEW && any.is_some();
        if crosses || shows_too_much {
            any.get_or_insert(shorter);
        } else {
            part = Some(shorter);
        }
        if waited_for || part.is_some() || shows_too_much {
            break;
        }
    }
    let mut part = part.or(any).unwrap_or_else(|| since(0));
    part.sort_unstable();
    part.dedup();

    let (kept, lookups): (Vec<u32>, Vec<u32>) = part.iter().partition(|&&i| changes(i));
    let with = |lookups: &[u32]| {
        let mut all: Vec<u32> = kept.iter().chain(lookups).copied().collect();
        all.sort_unstable();
        all
    };
    let part = if fails(&kept) { kept } else { with(&shrink(lookups, |some| fails(&with(some)))) };
    let why = Why::Impossible { operation: stuck.operation, present: stuck.present };
    Answer::violation(part, why)
}
