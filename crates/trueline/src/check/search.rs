//! `search`: advances depth-first and just-in-time search in turn until one of them ends.
//!
//! Depth-first search is better for long histories with few choices, just-in-time search if early
//! choices are refuted late. The turns are counted in steps, never by the clock, so that the same
//! input gives the same answer in the same way.

use super::depth_first::{DepthFirst, Keys};
use super::just_in_time::JustInTime;
use super::mask::{Mask, Wide};
use super::problem::{Decision, Problem, Ticker};
use super::timeline::Slots;
use crate::budget::Exhausted;
use crate::spec::OpaqueState;

/// Which of the two run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Both,
    DepthFirst,
    JustInTime,
}

/// A decision, or how far it got.
pub(crate) struct Found {
    /// `None` if the allowed steps did not suffice.
    pub(crate) decision: Result<Option<Decision>, Exhausted>,
    /// Returns that are explained.
    pub(crate) explained: usize,
    /// The search that decided.
    pub(crate) by: &'static str,
}

/// The states that are possible just before each of these returns (indices into the returns of the
/// part, ascending), as far as `limit` steps reach.
pub(crate) fn states_before(
    problem: &Problem<'_>,
    ticker: &mut Ticker<'_>,
    frontiers: &[usize],
    limit: u64,
) -> Vec<Vec<OpaqueState>> {
    let slots = Slots::new(&problem.spans);
    let mut states = problem.states();
    let mut numbers = Vec::new();
    if slots.width <= 64 {
        let mut search = JustInTime::<u64>::new(&problem.spans, &slots);
        search.watch(frontiers, &mut numbers, &mut states, ticker, limit);
    } else {
        let mut search = JustInTime::<Wide>::new(&problem.spans, &slots);
        search.watch(frontiers, &mut numbers, &mut states, ticker, limit);
    }
    numbers.iter().map(|set: &Vec<u32>| set.iter().map(|&n| states.keep(n)).collect()).collect()
}

/// Steps of a turn.
const TURN: u64 = 1 << 14;

/// Decides a part in at most about `limit` steps.
pub(crate) fn search(
    problem: &Problem<'_>,
    ticker: &mut Ticker<'_>,
    which: Which,
    limit: u64,
) -> Found {
    search_or(problem, ticker, which, limit, &mut || false)
}

/// The same. If the first turn of each search decides nothing, `knows` is called once. If it
/// returns true, another method has the answer, and the search ends undecided.
pub(crate) fn search_or(
    problem: &Problem<'_>,
    ticker: &mut Ticker<'_>,
    which: Which,
    limit: u64,
    knows: &mut dyn FnMut() -> bool,
) -> Found {
    let slots = Slots::new(&problem.spans);
    if slots.width <= 64 {
        run::<u64>(problem, &slots, ticker, which, limit, knows)
    } else {
        run::<Wide>(problem, &slots, ticker, which, limit, knows)
    }
}

fn run<M: Mask>(
    problem: &Problem<'_>,
    slots: &Slots,
    ticker: &mut Ticker<'_>,
    which: Which,
    limit: u64,
    knows: &mut dyn FnMut() -> bool,
) -> Found {
    let end = ticker.steps().saturating_add(limit);
    let spans = &problem.spans;
    let without_state = problem.order_insensitive();
    let keys = if without_state { Keys::WithoutState } else { Keys::WithState };
    let mut depth_first = DepthFirst::<M>::new(spans, slots, keys);
    let mut just_in_time = JustInTime::<M>::new(spans, slots);
    let mut path_states = problem.path_states();
    let mut depth_states = problem.states();
    let mut states = problem.states();
    // A linearizable history often has an order that needs no backtracking, so depth-first search
    // goes first.
    let mut turn = TURN.max(4 * spans.len() as u64);
    let mut explained = 0;
    let mut asked = false;
    loop {
        if which != Which::JustInTime {
            let left = end.saturating_sub(ticker.steps());
            let quantum = if which == Which::Both { turn.min(left) } else { left };
            ticker.set_elsewhere(just_in_time.bytes() + states.bytes());
            let found = if without_state {
                depth_first.advance(&mut path_states, ticker, quantum)
            } else {
                depth_first.advance(&mut depth_states, ticker, quantum)
            };
            explained = explained.max(depth_first.explained());
            if !matches!(found, Ok(None)) {
                return Found { decision: found, explained, by: "depth-first" };
            }
        }
        turn = TURN;
        if which != Which::DepthFirst {
            let left = end.saturating_sub(ticker.steps());
            let quantum = if which == Which::Both { turn.min(left) } else { left };
            let depth_bytes = depth_states.bytes() + path_states.bytes();
            ticker.set_elsewhere(depth_first.bytes() + depth_bytes);
            let found = just_in_time.advance(&mut states, ticker, quantum);
            explained = explained.max(just_in_time.explained());
            if !matches!(found, Ok(None)) {
                return Found { decision: found, explained, by: "just-in-time" };
            }
        }
        if ticker.steps() >= end || (!std::mem::replace(&mut asked, true) && knows()) {
            return Found { decision: Ok(None), explained, by: "search" };
        }
    }
}
