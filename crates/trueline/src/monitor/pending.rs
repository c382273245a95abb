//! Removals that never returned: which value they took, if any, is for us to choose.
//!
//! A pending removal matters only by the value that it takes, and only if that value is otherwise never removed:
//! one that takes nothing, or finds nothing, can be left out. Giving a removal to a value can only help: instead
//! of 'never' the value leaves at some time after the removal's call, and the earlier the call the better. So the
//! search starts without any and is led by the violations that the monitor finds. A violation is a sub-history: a
//! choice that makes the history linearizable gives a pending removal to one of its never removed values. Try each
//! such value with each removal that is left; a value that was tried in vain stays without in the branches after
//! it, so that no set of values is tried twice. A violation without such a value ends its branch, and if it came
//! right after a removal was given out, later removals are no use for that value either.
//!
//! Cost: one run of the monitor a step; steps are exponential in the number of pending removals at worst and few
//! in practice, since explanations are small. Exact when it ends.

use super::container::Action;
use super::shrink::shrink;
use super::{Answer, NEVER, Op, Why};

/// Decides a container with these operations and initial contents.
pub(crate) type Monitor<'a> = &'a dyn Fn(&[Op<Action>], &[u32]) -> Answer;

/// Operations that may be looked at to make an explanation smaller.
const SHRINK_WORK: u64 = 1 << 20;

/// Decides a history with pending removals ([`Action::RemoveUnknown`], which never return). `monitor` decides
/// one without. `step` is told the number of operations that will be looked at and says whether to go on;
/// `None` where it said no. Without pending removals this is the monitor itself.
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
    /// Values that stay without a removal in this branch.
    barred: Vec<u32>,
    /// All values of all violations on the way, and the empty results.
    blamed: Vec<Item>,
}

/// What an explanation is made of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Value(u32),
    Empty(u32),
}

enum Outcome {
    Order(Vec<u32>),
    /// A violation whatever the pending removals do.
    Violation(Answer),
    /// None of the ways to deal out the removals that are left leads to an order.
    Fails,
}

impl<'a> Search<'a> {
    fn new(operations: &[Op<Action>], initial: &'a [u32], monitor: Monitor<'a>) -> Search<'a> {
        let pending = |i: &u32| operations[*i as usize].action == Action::RemoveUnknown;
        let mut free: Vec<u32> = (0..operations.len() as u32).filter(pending).collect();
        debug_assert!(free.iter().all(|&i| operations[i as usize].span.returned == NEVER));
        free.sort_unstable_by_key(|&i| operations[i as usize].span.call);
        let operations = operations.to_vec();
        Search { operations, initial, monitor, free, barred: Vec::new(), blamed: Vec::new() }
    }

    /// `None` where time is up.
    fn run(&mut self, step: &mut dyn FnMut(u64) -> bool) -> Option<Outcome> {
        if !step(self.operations.len() as u64) {
            return None;
        }
        let answer = (self.monitor)(&self.operations, self.initial);
        let Answer::Violation { operations, initial, .. } = &answer else {
            let Answer::Order(order) = answer else { unreachable!("an answer is one of the two") };
            return Some(Outcome::Order(order));
        };
        let values = self.blame(operations, initial);
        if values.is_empty() {
            return Some(Outcome::Violation(answer));
        }
        let barred = self.barred.len();
        for value in
            values.into_iter().filter(|v| !self.barred[..barred].contains(v)).collect::<Vec<_>>()
        {
            for at in 0..self.free.len() {
                let removal = self.free.remove(at);
                self.operations[removal as usize].action = Action::Remove(value);
                let outcome = self.run(step);
                self.operations[removal as usize].action = Action::RemoveUnknown;
                self.free.insert(at, removal);
                match outcome? {
                    Outcome::Order(order) => return Some(Outcome::Order(order)),
                    Outcome::Violation(_) => break,
                    Outcome::Fails => {}
                }
            }
            self.barred.push(value);
        }
        self.barred.truncate(barred);
        Some(Outcome::Fails)
    }

    /// Remembers what a violation is made of and finds its values that are never removed.
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

    /// The operations and initial values that take part in any of the violations, made fewer as far as
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

/// The operations and initial values of these sorted items, and all pending removals that can matter: one that
/// is called after everything else has returned can not.
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
