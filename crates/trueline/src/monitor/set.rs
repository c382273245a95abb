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
//! absent and no add is open. What returned before a cut only sets the state S at the cut, so all of
//! it is dropped but for the *pins*, which show that state:
//!
//! - Nothing that leads away from S has returned before the cut, and S is the initial state: no pin.
//! - Else the change that leads to S and was called after everything that leads away from S had
//!   returned; and where S is the initial state, the change that leads away from it and returned
//!   last.
//!
//! Where there is no such change, or where an add or remove that reaches across the cut was called
//! before the last change that leads away from S had returned, the cut is *loose*.
//!
//! A reader may ask why one of the dropped operations does not help. At a cut that is not loose
//! none does: *if what is shown has no order, it has none together with any operations that were
//! dropped*. For take such an order. Everything that leads away from S was called after the cut, or
//! precedes the pin that leads to S. So the state is S from that pin (from the start, if there is
//! none) until something happens that was called after the cut. No change that reaches across the
//! cut happens before: it leads to S, so the state is wrong for it after the pin; and before the
//! pin it would need a change behind it that leads away from S, but all those had returned when it
//! was called. So without the dropped operations the rest is still in a legal order: what follows
//! the cut starts in S, and a lookup that happened before the pin can do so again, since the state
//! there is initial or, between two pins, the other one. Lookups that are dropped, and changes that
//! were open at the end and had not happened, can only add demands, or are of a kind that nothing
//! is waiting for.
//!
//! So the latest cut that is not loose is taken. Where that would show too much, and for locks,
//! which somebody waits for all the time, a loose one will do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::ranks::timeline;
use super::shrink::shrink;
use super::{Answer, NEVER, NONE, Op, Why};

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

/// A moment at which the state is known.
struct Cut {
    /// Position in the events of what follows.
    at: usize,
    present: bool,
    /// Of the changes that returned before: that which leads away from the state and returned last,
    /// and that which leads to the state and was called last; [`NONE`] where there is none.
    away: u32,
    to: u32,
}

impl Cut {
    /// What shows the state.
    fn pins(&self, initially: bool) -> impl Iterator<Item = u32> {
        let away = if self.present == initially { self.away } else { NONE };
        // Who leads away from the initial state and back is shown with the way.
        let to = if self.present == initially && away == NONE { NONE } else { self.to };
        [away, to].into_iter().filter(|&i| i != NONE)
    }

    /// True where dropped operations may help `shown`, what follows the cut.
    fn is_loose(&self, operations: &[Op<Action>], shown: &[u32], initially: bool) -> bool {
        if self.away == NONE {
            return false;
        }
        debug_assert!(self.present == initially || self.to != NONE, "the state has changed");
        let last = operations[self.away as usize].span.returned;
        let is_early = |i: u32| operations[i as usize].span.call < last;
        let changes =
            |i: u32| matches!(operations[i as usize].action, Action::Add | Action::Remove);
        is_early(self.to) || shown.iter().any(|&i| changes(i) && is_early(i))
    }
}

/// The cuts before each of these events.
fn cuts(operations: &[Op<Action>], events: &[u32], present: bool) -> Vec<Cut> {
    // The state as far as finished operations tell, and what is open.
    let (mut state, mut open) = (i64::from(present), [0u32; 2]);
    let (mut last_returned, mut last_called) = ([NONE; 2], [NONE; 2]);
    let mut cuts = Vec::new();
    for (at, &event) in events.iter().enumerate() {
        let present = state == 1;
        if (state == 0 || present) && open[usize::from(!present)] == 0 {
            let away = last_returned[usize::from(!present)];
            cuts.push(Cut { at, present, away, to: last_called[usize::from(present)] });
        }
        let operation = &operations[(event >> 1) as usize];
        let side = match operation.action {
            Action::Remove => 0,
            Action::Add => 1,
            _ => continue,
        };
        if event & 1 == 0 {
            open[side] += 1;
            continue;
        }
        open[side] -= 1;
        state += if side == 1 { 1 } else { -1 };
        last_returned[side] = event >> 1;
        let last = &mut last_called[side];
        if *last == NONE || operations[*last as usize].span.call < operation.span.call {
            *last = event >> 1;
        }
    }
    cuts
}

/// A few operations that are a violation.
fn explain(
    operations: &[Op<Action>],
    events: &[u32],
    present: bool,
    waited_for: bool,
    stuck: &Stuck,
) -> Answer {
    let operation = |i: u32| &operations[i as usize];
    let changes = |i: u32| matches!(operation(i).action, Action::Add | Action::Remove);
    // Nothing has to happen after the return that came too early.
    let end = operation(stuck.operation).span.returned;
    let fails = |part: &[u32]| {
        let mut part: Vec<_> = part.iter().map(|&i| *operation(i)).collect();
        for o in part.iter_mut().filter(|o| o.span.returned > end) {
            o.span.returned = NEVER;
        }
        sweep(&part, &timeline(part.iter().map(|o| o.span)), present).is_err()
    };
    let cuts = cuts(operations, &events[..=stuck.event], present);

    // What was open at the violation and had happened. Adds and removes that were open and had not
    // happened can not help: all of the other kind are used up.
    let still_open = |i: &u32| operation(*i).span.returned > end && changes(*i);
    let open: Vec<u32> = stuck.order.iter().copied().filter(still_open).collect();
    let since = |cut: usize| {
        let returns = events[cut..=stuck.event].iter().filter(|e| *e & 1 == 1).map(|e| e >> 1);
        returns.chain(open.iter().copied()).collect::<Vec<u32>>()
    };
    let (mut part, mut any) = (None, None);
    let mut work = 0;
    for cut in cuts.iter().rev() {
        let mut shorter = since(cut.at);
        work += shorter.len();
        if work > WORK {
            break;
        }
        let is_loose = cut.is_loose(operations, &shorter, present);
        shorter.extend(cut.pins(present));
        shorter.sort_unstable();
        shorter.dedup();
        if !fails(&shorter) {
            continue;
        }
        let shows_too_much = shorter.len() > FEW && any.is_some();
        if is_loose || shows_too_much {
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
