//! Removals that never returned: the monitor chooses which value each took, if any.
//!
//! A pending removal matters only through the value that it takes, and only if that value is
//! otherwise never removed: one that takes nothing, or finds nothing, can be left out. Assigning a
//! removal to a value can only help: instead of 'never' the value leaves at some time after the
//! removal's call, and the earlier the call the better. So the search starts without any, and the
//! violations that the monitor finds guide it:
//!
//! - A violation is a sub-history. A choice that makes the history linearizable assigns a pending
//!   removal to one of its never removed values. Try each such value; one that was tried in vain
//!   stays without in later branches, so that no set of values is tried twice. A violation without
//!   such a value ends the branch.
//! - Removals are tried latest call first, which leaves the earlier, stronger ones to others. (For
//!   a queue without empty results the values have mere deadlines, and this never backtracks.) If a
//!   removal is too late for the value whatever the others do, later ones are too: bisection finds
//!   the latest that is not.
//! - Give each remaining value its own copy of the earliest remaining removal: if that is a
//!   violation, the branch has no solution.
//!
//! Cost: a few runs of the monitor per step; the number of steps is exponential in the number of
//! pending removals at worst, and small in practice. Exact when it ends.

use super::container::Action;
use super::shrink::shrink;
use super::{Answer, NEVER, Op, Span, Why};

/// Decides a container with these operations and initial contents.
pub(crate) type Monitor<'a> = &'a dyn Fn(&[Op<Action>], &[u32]) -> Answer;

/// How many operations may be processed to shrink an explanation.
const SHRINK_WORK: u64 = 1 << 20;

/// Decides a history with pending removals ([`Action::RemoveUnknown`], which never return).
/// `monitor` decides one without. `step` receives the number of operations to be processed and
/// returns whether to continue; the result is `None` if it did not. Without pending removals this
/// is the monitor itself.
pub(crate) fn check(
    operations: &[Op<Action>],
    initial: &[u32],
    monitor: Monitor<'_>,
    mut step: impl FnMut(u64) -> bool,
) -> Option<Answer> {
    let mut search = Search::new(operations, initial, monitor);
    match search.run(&mut step)? {
        Outcome::Order(order) => return Some(Answer::Order(order)),
        Outcome::Violation(answer) => return Some(answer),
        Outcome::Fails => {}
    }
    let (operations, initial) = search.explain(operations, &mut step);
    Some(Answer::Violation { operations, initial, why: Why::EveryAssignment })
}

struct Search<'a> {
    /// The history, with the removals that were given to a value so far.
    operations: Vec<Op<Action>>,
    initial: &'a [u32],
    monitor: Monitor<'a>,
    /// Pending removals that are not given to a value, by call.
    free: Vec<u32>,
    /// Values that are inserted and never removed.
    stay: Vec<u32>,
    /// Those of them that have a removal in this branch, or that go without one.
    settled: Vec<u32>,
    /// All values of all violations on the way, and the empty results.
    blamed: Vec<Item>,
}

/// An item of an explanation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Value(u32),
    Empty(u32),
}

enum Outcome {
    Order(Vec<u32>),
    /// A violation whatever the pending removals do.
    Violation(Answer),
    /// No assignment of the remaining removals leads to an order.
    Fails,
}

impl<'a> Search<'a> {
    fn new(operations: &[Op<Action>], initial: &'a [u32], monitor: Monitor<'a>) -> Search<'a> {
        let (mut free, mut stay, mut gone) = (Vec::new(), initial.to_vec(), Vec::new());
        for (i, o) in operations.iter().enumerate() {
            match o.action {
                Action::RemoveUnknown => free.push(i as u32),
                Action::Insert(v) if o.span.returned != NEVER => stay.push(v),
                Action::Remove(v) => gone.push(v),
                Action::Insert(_) | Action::Empty => {}
            }
        }
        debug_assert!(free.iter().all(|&i| operations[i as usize].span.returned == NEVER));
        free.sort_unstable_by_key(|&i| operations[i as usize].span.call);
        gone.sort_unstable();
        stay.retain(|v| gone.binary_search(v).is_err());
        stay.sort_unstable();
        let (operations, settled, blamed) = (operations.to_vec(), Vec::new(), Vec::new());
        Search { operations, initial, monitor, free, stay, settled, blamed }
    }

    /// The monitor's answer for the removals assigned so far; the never removed values of a
    /// violation.
    fn look(&mut self) -> Result<Vec<u32>, (Answer, Vec<u32>)> {
        match (self.monitor)(&self.operations, self.initial) {
            Answer::Order(order) => Ok(order),
            Answer::Violation { operations, initial, why } => {
                let values = self.blame(&operations, &initial);
                Err((Answer::Violation { operations, initial, why }, values))
            }
        }
    }

    /// `None` if the time is up.
    fn run(&mut self, step: &mut dyn FnMut(u64) -> bool) -> Option<Outcome> {
        let cost = self.operations.len() as u64;
        if !step(cost) {
            return None;
        }
        let (answer, mut values) = match self.look() {
            Ok(order) => return Some(Outcome::Order(order)),
            Err(violation) => violation,
        };
        if values.is_empty() {
            return Some(Outcome::Violation(answer));
        }
        values.retain(|v| !self.settled.contains(v));
        if values.is_empty() || self.free.is_empty() || (step(cost) && self.is_hopeless()) {
            return Some(Outcome::Fails);
        }
        let settled = self.settled.len();
        for value in values {
            self.settled.push(value);
            // The removals that are not too late: the first few.
            let (mut few, mut many) = (0, self.free.len());
            while few < many {
                let middle = (few + many) / 2;
                if !step(cost) {
                    return None;
                }
                let too_late = self.give(middle, value, |search| match search.look() {
                    Err((_, values)) => values.is_empty(),
                    Ok(_) => false,
                });
                (few, many) = if too_late { (few, middle) } else { (middle + 1, many) };
            }
            for at in (0..few).rev() {
                if let Outcome::Order(order) = self.give(at, value, |search| search.run(step))? {
                    return Some(Outcome::Order(order));
                }
            }
        }
        self.settled.truncate(settled);
        Some(Outcome::Fails)
    }

    /// Does something with a removal given to a value.
    fn give<T>(&mut self, at: usize, value: u32, f: impl FnOnce(&mut Self) -> T) -> T {
        let removal = self.free.remove(at);
        self.operations[removal as usize].action = Action::Remove(value);
        let result = f(self);
        self.operations[removal as usize].action = Action::RemoveUnknown;
        self.free.insert(at, removal);
        result
    }

    /// Whether even a copy of the earliest removal for each remaining value would not suffice.
    fn is_hopeless(&mut self) -> bool {
        let mut values = self.stay.clone();
        values.retain(|v| !self.settled.contains(v));
        // Later ranks make room for the calls of the copies: ranks are unique.
        let call = self.operations[self.free[0] as usize].span.call;
        let moved = |rank: u32| {
            let later = rank > call && rank != NEVER;
            if later { rank + values.len() as u32 } else { rank }
        };
        let mut operations = self.operations.clone();
        for o in &mut operations {
            o.span = Span { call: moved(o.span.call), returned: moved(o.span.returned) };
        }
        for (i, &v) in values.iter().enumerate() {
            let span = Span { call: call + 1 + i as u32, returned: NEVER };
            operations.push(Op { span, action: Action::Remove(v) });
        }
        match (self.monitor)(&operations, self.initial) {
            Answer::Order(_) => false,
            // A copy that comes too late for its own value proves nothing about a history in which
            // the value stays.
            Answer::Violation { why: Why::HigherInside { remove }, .. }
                if remove as usize >= self.operations.len() =>
            {
                false
            }
            Answer::Violation { mut operations, initial, .. } => {
                operations.retain(|&o| o < self.operations.len() as u32);
                self.blame(&operations, &initial);
                true
            }
        }
    }

    /// Records the items of a violation and finds its values that are never removed.
    fn blame(&mut self, operations: &[u32], initial: &[u32]) -> Vec<u32> {
        let mut values = initial.to_vec();
        let mut removed = Vec::new();
        for &i in operations {
            match self.operations[i as usize].action {
                Action::Insert(v) => values.push(v),
                Action::Remove(v) => removed.push(v),
                Action::Empty => self.blamed.push(Item::Empty(i)),
                Action::RemoveUnknown => {}
            }
        }
        self.blamed.extend(values.iter().chain(&removed).map(|&v| Item::Value(v)));
        values.retain(|v| !removed.contains(v));
        values
    }

    /// The operations and initial values that take part in any of the violations, shrunk as far as
    /// the work allows, and the pending removals.
    fn explain(
        &mut self,
        operations: &[Op<Action>],
        step: &mut dyn FnMut(u64) -> bool,
    ) -> (Vec<u32>, Vec<u32>) {
        let mut items = std::mem::take(&mut self.blamed);
        items.sort_unstable();
        items.dedup();
        let mut work = SHRINK_WORK;
        let mut limited = |n: u64| {
            work = work.saturating_sub(n);
            work > 0 && step(n)
        };
        let items = shrink(items, |items| {
            let (part, initial) = select(operations, self.initial, items);
            let part: Vec<_> = part.iter().map(|&i| operations[i as usize]).collect();
            let outcome = Search::new(&part, &initial, self.monitor).run(&mut limited);
            matches!(outcome, Some(Outcome::Fails | Outcome::Violation(_)))
        });
        select(operations, self.initial, &items)
    }
}

/// The operations and initial values of these sorted items, and all pending removals that can
/// matter: one that is called after everything else has returned cannot.
fn select(operations: &[Op<Action>], initial: &[u32], items: &[Item]) -> (Vec<u32>, Vec<u32>) {
    let has = |v: u32| items.binary_search(&Item::Value(v)).is_ok();
    let mut chosen: Vec<u32> = (0..operations.len() as u32)
        .filter(|&i| match operations[i as usize].action {
            Action::Insert(v) | Action::Remove(v) => has(v),
            Action::Empty => items.binary_search(&Item::Empty(i)).is_ok(),
            Action::RemoveUnknown => true,
        })
        .collect();
    let returns = chosen.iter().map(|&i| operations[i as usize].span.returned);
    let last = returns.filter(|&r| r != NEVER).max().unwrap_or(0);
    chosen.retain(|&i| {
        let o = &operations[i as usize];
        o.action != Action::RemoveUnknown || o.span.call < last
    });
    (chosen, initial.iter().copied().filter(|&v| has(v)).collect())
}
