//! Finds the real-time orders that the operations of a trace can have.
//!
//! Executions that differ only in the order of independent events are explored once. But a history
//! is more than results: these executions differ in which operation returned before which was
//! called. So this module computes, without another run, all interval orders of the trace's
//! operations over all linear extensions of happens-before. Each call is as late and each return as
//! early as possible: just before the first, just after the last event of the operation. If one
//! order requires less than another, any history that violates it also violates the other. So only
//! maximal orders are returned.
//!
//! **Algorithm.** Only the first and the last event of each operation matter, ordered by their
//! clocks. A return happens as soon as it can, because a later return would only require less. So
//! the set of called operations determines which ones have returned. The search is a dynamic
//! program over the sets of called operations that are closed under happens-before, with one more
//! operation at each level. A set keeps the maximal orders among its members. An order that another
//! one contains is dropped at once, since the same operations can follow both.
//!
//! Cost: the number of closed sets, at most the product over the threads of their operations plus
//! one, times the orders kept. If that exceeds the memory limit there is no answer, and none if the
//! caller reports meanwhile that a limit was reached.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::report::Stop;
use super::trace::{NONE, Trace};

/// An execution with more operations gets no orders.
pub const MAX_OPERATIONS: usize = 128;

/// Maximum bytes for the orders of one level. Programs that can be explored completely need a
/// thousandth of it.
const MOST_BYTES: usize = 1 << 27;

/// Comparisons between two checks of the limits: about a millisecond.
const COMPARISONS_AT_ONCE: usize = 1 << 14;

/// Why the orders of a trace were not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// It has more than [`MAX_OPERATIONS`].
    Operations,
    /// They take more than [`MOST_BYTES`].
    Room,
    /// A limit was reached.
    Stopped(Stop),
}

/// Called repeatedly: an error names the limit that was reached.
type MayGoOn<'a> = &'a dyn Fn() -> Result<(), Stop>;

/// A call of an operation, with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation {
    /// The thread that called it.
    pub thread: u32,
    /// The number that its call was given.
    pub operation: u64,
    /// The number of its result; `None` if it has not returned.
    pub result: Option<u64>,
}

/// Which operations precede which: for each operation, a bit set of those that returned before it
/// was called.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IntervalOrder {
    before: Box<[u128]>,
}

impl IntervalOrder {
    /// Whether operation `a` returned before operation `b` was called.
    pub fn precedes(&self, a: usize, b: usize) -> bool {
        self.before[b] >> a & 1 == 1
    }

    /// The operations that returned before this one was called, as bits.
    pub fn before(&self, operation: usize) -> u128 {
        self.before[operation]
    }

    /// Whether all that the other demands is demanded.
    pub fn contains(&self, other: &IntervalOrder) -> bool {
        contains(&self.before, &other.before)
    }
}

/// The operations of an execution and their maximal real-time orders.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Histories {
    /// By thread, and within a thread in the order of calls.
    pub operations: Vec<Operation>,
    /// In ascending order. At least one.
    pub orders: Vec<IntervalOrder>,
}

/// The first or last event of an operation, or its place in its thread if it has no events.
#[derive(Clone, Copy)]
struct Place {
    thread: u32,
    /// The thread's last event up to here: itself, if there is one.
    event: u32,
    /// A clock is after this place if its entry for the thread is at least this number.
    number: u32,
    /// Among places of the thread with the same number.
    rank: u32,
}

/// Where an operation begins and ends, and which operations must come first: bit sets.
#[derive(Clone, Copy, Default)]
struct Needs {
    called: u128,
    returned: u128,
}

/// The maximal real-time orders of a trace, if they are found within the limits.
pub(crate) fn histories(trace: &Trace, may_go_on: MayGoOn<'_>) -> Result<Histories, Unfinished> {
    let mut spans = trace.operations.clone();
    if spans.len() > MAX_OPERATIONS {
        return Err(Unfinished::Operations);
    }
    // Stable: a thread's operations stay in order.
    spans.sort_by_key(|span| span.thread);
    let mut places = Vec::with_capacity(spans.len());
    for (rank, span) in spans.iter().enumerate() {
        // One that has not returned has all the later events of its thread.
        let last = if span.result.is_some() { span.ret } else { trace.count_of(span.thread) };
        let place = |number: u32, at: u32| Place {
            thread: span.thread,
            event: if at == 0 { NONE } else { trace.nth_of(span.thread, at) },
            number,
            rank: rank as u32,
        };
        if last == span.call {
            let nowhere = place(span.call + 1, span.call);
            places.push((nowhere, nowhere));
        } else {
            places.push((place(span.call + 1, span.call + 1), place(last, last)));
        }
    }
    let before = |a: &Place, b: &Place| {
        if a.thread == b.thread {
            return a.rank < b.rank || (a.rank == b.rank && a.number <= b.number);
        }
        // A place without an event has the clock of the thread's next event.
        trace.clock_after(b.thread, b.event)[a.thread as usize] >= a.number
    };
    let count = spans.len();
    let mut calls = vec![Needs::default(); count];
    let mut returns = vec![Needs::default(); count];
    for (i, (first, last)) in places.iter().enumerate() {
        for (j, (other_first, other_last)) in places.iter().enumerate() {
            let bit = 1u128 << j;
            if i == j {
                returns[i].called |= bit;
                continue;
            }
            let returned = spans[j].result.is_some();
            if before(other_first, first) {
                calls[i].called |= bit;
            }
            if returned && before(other_last, first) {
                calls[i].returned |= bit;
            }
            if before(other_first, last) {
                returns[i].called |= bit;
            }
            if returned && before(other_last, last) {
                returns[i].returned |= bit;
            }
        }
    }
    let returning: u128 =
        (0..count).filter(|&i| spans[i].result.is_some()).fold(0, |set, i| set | 1 << i);
    let orders = maximal_orders(&calls, &returns, returning, MOST_BYTES, may_go_on)?;
    let operations = spans
        .iter()
        .map(|span| Operation {
            thread: span.thread,
            operation: span.operation,
            result: span.result,
        })
        .collect();
    Ok(Histories { operations, orders })
}

fn maximal_orders(
    calls: &[Needs],
    returns: &[Needs],
    returning: u128,
    most_bytes: usize,
    may_go_on: MayGoOn<'_>,
) -> Result<Vec<IntervalOrder>, Unfinished> {
    let count = calls.len();
    let most = most_bytes / (size_of::<u128>() * count.max(1));
    let mut comparisons = 0;
    let mut level: Vec<(u128, Vec<Box<[u128]>>)> =
        vec![(0, vec![vec![0; count].into_boxed_slice()])];
    for _ in 0..count {
        let mut index: HashMap<u128, usize, FixedState> =
            HashMap::with_hasher(FixedState::default());
        let mut next: Vec<(u128, Vec<Box<[u128]>>)> = Vec::new();
        let mut kept = 0;
        for (called, orders) in &level {
            let returned = closure(*called, returns, returning);
            for (i, needs) in calls.iter().enumerate() {
                let bit = 1u128 << i;
                if called & bit != 0
                    || needs.called & !called != 0
                    || needs.returned & !returned != 0
                {
                    continue;
                }
                let at = *index.entry(called | bit).or_insert_with(|| {
                    next.push((called | bit, Vec::new()));
                    next.len() - 1
                });
                for order in orders {
                    let mut order = order.clone();
                    order[i] = returned;
                    let there = &mut next[at].1;
                    kept -= there.len();
                    comparisons += there.len() + 1;
                    keep_maximal(there, order);
                    kept += there.len();
                    if kept > most {
                        return Err(Unfinished::Room);
                    }
                    if comparisons >= COMPARISONS_AT_ONCE {
                        comparisons = 0;
                        may_go_on().map_err(Unfinished::Stopped)?;
                    }
                }
            }
        }
        level = next;
    }
    let mut orders: Vec<IntervalOrder> = level
        .into_iter()
        .flat_map(|(_, orders)| orders)
        .map(|before| IntervalOrder { before })
        .collect();
    orders.sort_unstable();
    Ok(orders)
}

/// The operations that can have returned when these have been called.
fn closure(called: u128, returns: &[Needs], returning: u128) -> u128 {
    let mut returned = 0;
    loop {
        let mut more = returned;
        for (i, needs) in returns.iter().enumerate() {
            let ready = needs.called & !called == 0 && needs.returned & !returned == 0;
            if ready && returning >> i & 1 == 1 {
                more |= 1 << i;
            }
        }
        if more == returned {
            return returned;
        }
        returned = more;
    }
}

/// Adds an order unless a kept order contains it; drops those that it contains.
fn keep_maximal(orders: &mut Vec<Box<[u128]>>, order: Box<[u128]>) {
    if orders.iter().any(|other| contains(other, &order)) {
        return;
    }
    orders.retain(|other| !contains(&order, other));
    orders.push(order);
}

fn contains(a: &[u128], b: &[u128]) -> bool {
    a.iter().zip(b).all(|(a, b)| b & !a == 0)
}

/// The union of the orders of several traces with the same results: only maximal ones, in ascending
/// order.
pub fn union_of_orders(sets: impl IntoIterator<Item = Vec<IntervalOrder>>) -> Vec<IntervalOrder> {
    let mut all: Vec<Box<[u128]>> = Vec::new();
    for order in sets.into_iter().flatten() {
        keep_maximal(&mut all, order.before);
    }
    let mut orders: Vec<IntervalOrder> =
        all.into_iter().map(|before| IntervalOrder { before }).collect();
    orders.sort_unstable();
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The orders of this many operations that are all independent.
    fn of_independent(
        count: usize,
        most_bytes: usize,
        may_go_on: MayGoOn<'_>,
    ) -> Result<usize, Unfinished> {
        let calls = vec![Needs::default(); count];
        let own = |i| Needs { called: 1u128 << i, returned: 0 };
        let returns: Vec<Needs> = (0..count).map(own).collect();
        let all = (1u128 << count) - 1;
        maximal_orders(&calls, &returns, all, most_bytes, may_go_on).map(|orders| orders.len())
    }

    #[test]
    fn orders_are_found_within_bounds_of_room_and_of_the_caller() {
        // 5! orders of 5 sets, 16 bytes each.
        let bytes = 120 * 5 * 16;
        assert_eq!(of_independent(5, bytes, &|| Ok(())), Ok(120));
        assert_eq!(of_independent(5, bytes - 1, &|| Ok(())), Err(Unfinished::Room));
        let spent = || Err(Stop::Executions(1));
        let stopped = Err(Unfinished::Stopped(Stop::Executions(1)));
        assert_eq!(of_independent(16, MOST_BYTES, &spent), stopped);
    }
}
