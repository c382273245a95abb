//! The reading `slots` as a specification of its own, for the general search.
//!
//! Beside the order p' that the search builds is the legal order p'': the same, except that each
//! removal slot removes what a strict container would. A value that p' removed before p'' is
//! *early*, the reverse is *late*; both wait for the other order, and their age counts the removals
//! since. The specification rejects as soon as an age exceeds the factor. Among equal values the
//! one that has waited longest is matched first: exchanging two matches never reduces the larger of
//! the two displacements.
//!
//! **The open end is an invariant.** An early value that is `r` removals away from its turn in p''
//! will be `r` + age places early, whatever follows: additions can only delay its turn, and each
//! removal that brings it nearer increases its age. So the bound is tested at every step, and every
//! prefix of a history that holds holds, too. There is one exception: a stack that receives the
//! same value again, whose turn then comes first; a stack with repeated values is checked only at
//! the end. The closed end also requires that nothing waits at the end. [`Op::End`] is an operation
//! that returns last and checks.
//!
//! Cost of a step: O(contents). Checked against brute force over Definition 4 in `tests/it/quasi`.

use smallvec::SmallVec;

use super::End;
use super::part_history::{Act, PartHistory};
use crate::history::{History, Operation, PENDING};
use crate::spec::{Items, Kind, Spec, Touches};

/// The operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    Add(u32),
    Take,
    /// The end of a history, if something is checked then.
    End,
}

/// The waiting values, each with the number of removals since its first match, sorted.
type Waiting = SmallVec<[(u32, u32); 4]>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    strict: Items<u32>,
    early: Waiting,
    late: Waiting,
}

pub(super) struct Displaced<'a> {
    words: &'a PartHistory,
    factor: u32,
    /// Whether an early value that is too far from its turn stays so, whatever is added.
    settled: bool,
    /// Whether nothing may wait at the end.
    closed: bool,
}

impl<'a> Displaced<'a> {
    pub(super) fn new(words: &'a PartHistory, factor: u32, end: End) -> Displaced<'a> {
        let settled = words.kind != Kind::Stack || !words.repeats();
        Displaced { words, factor, settled, closed: end == End::Closed }
    }

    /// The operations for the search, with their end if something is checked then.
    pub(super) fn history(&self) -> History<Op, Option<u32>> {
        let mut last = 0;
        let mut operations: Vec<Operation<Op, Option<u32>>> = Vec::new();
        for word in &self.words.words {
            let (op, result) = match word.act {
                Act::Add(value) => (Op::Add(value), Some(None)),
                Act::Take(value) => (Op::Take, Some(Some(value))),
                Act::Empty => (Op::Take, Some(None)),
                Act::Unknown => (Op::Take, None),
            };
            let result = result.filter(|_| word.returned != PENDING);
            last = last.max(word.call);
            if word.returned != PENDING {
                last = last.max(word.returned);
            }
            operations.push(operation(word.call, word.returned, op, result));
        }
        if self.closed || !self.settled {
            operations.push(operation(last + 1, last + 2, Op::End, Some(None)));
        }
        History::assemble(operations, Vec::new(), Vec::new(), vec![Default::default()])
    }

    /// The effect of each operation in this order, which must be legal: removals of unknown result
    /// get one that fits.
    pub(super) fn resolve(&self, order: &[u32]) -> Vec<Act> {
        let mut acts: Vec<Act> = self.words.words.iter().map(|w| w.act).collect();
        if self.words.words.iter().all(|w| w.act != Act::Unknown) {
            return acts;
        }
        // The states that are possible after each operation, with the previous one and the step.
        let mut levels: Vec<Vec<(State, usize, Act)>> = vec![vec![(self.initial(), 0, Act::Empty)]];
        for &o in order {
            let mut level: Vec<(State, usize, Act)> = Vec::new();
            for (from, (state, ..)) in levels[levels.len() - 1].iter().enumerate() {
                for (after, act) in self.outcomes(state, acts[o as usize]) {
                    if level.iter().all(|known| known.0 != after) {
                        level.push((after, from, act));
                    }
                }
            }
            levels.push(level);
        }
        let is_done = |(state, ..): &(State, usize, Act)| self.is_over(state);
        let last = &levels[levels.len() - 1];
        let mut at = last.iter().position(is_done).unwrap_or(0);
        for (level, &o) in levels[1..].iter().zip(order).rev() {
            if let Some((_, from, act)) = level.get(at) {
                acts[o as usize] = *act;
                at = *from;
            }
        }
        acts
    }

    /// The states that an operation leads to, and its effect.
    fn outcomes(&self, state: &State, act: Act) -> Vec<(State, Act)> {
        let mut next = Vec::new();
        let mut collect = |act: Act, op: Op, ret: Option<u32>| {
            let mut states = Vec::new();
            self.step(state, &op, Some(&ret), &mut states);
            next.extend(states.into_iter().map(|after| (after, act)));
        };
        match act {
            Act::Add(value) => collect(act, Op::Add(value), None),
            Act::Take(value) => collect(act, Op::Take, Some(value)),
            Act::Empty => collect(act, Op::Take, None),
            Act::Unknown => {
                collect(Act::Empty, Op::Take, None);
                for value in self.present(state) {
                    collect(Act::Take(value), Op::Take, Some(value));
                }
            }
        }
        next
    }

    /// The values that p' contains, and some that it removed.
    fn present(&self, state: &State) -> Vec<u32> {
        let late = state.late.iter().map(|w| w.0);
        let mut values: Vec<u32> = self.words.leaving(&state.strict).chain(late).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// The values that remain after this order, in an order in which they can be removed: the late
    /// ones first.
    pub(super) fn remainder(&self, acts: &[Act], order: &[u32]) -> Vec<u32> {
        let mut state = self.initial();
        for &o in order {
            match self.outcomes(&state, acts[o as usize]).into_iter().next() {
                Some((after, _)) => state = after,
                None => return Vec::new(),
            }
        }
        let mut late = state.late.clone();
        late.sort_unstable_by_key(|w| std::cmp::Reverse(w.1));
        let mut values: Vec<u32> = late.iter().map(|w| w.0).collect();
        let mut early = state.early.clone();
        for value in self.words.leaving(&state.strict) {
            match early.iter().position(|w| w.0 == value) {
                Some(at) => drop(early.remove(at)),
                None => values.push(value),
            }
        }
        values
    }

    /// The state after a removal that returned `value`, unless that breaks the bound.
    fn remove(&self, state: &State, value: u32) -> Option<State> {
        let count = |waiting: &Waiting| waiting.iter().filter(|w| w.0 == value).count();
        let inside = self.words.leaving(&state.strict).filter(|&v| v == value).count();
        // Causality: p' must have added it and not removed it yet.
        if inside + count(&state.late) <= count(&state.early) {
            return None;
        }
        let mut after = state.clone();
        let turn = self.words.take(&mut after.strict)?;
        meet(&mut after.late, &mut after.early, value);
        meet(&mut after.early, &mut after.late, turn);
        for waiting in after.early.iter_mut().chain(&mut after.late) {
            waiting.1 += 1;
            if waiting.1 > self.factor {
                return None;
            }
        }
        (!self.settled || self.may_end(&after)).then_some(after)
    }

    /// Whether a history may end in this state.
    fn is_over(&self, state: &State) -> bool {
        let nothing_waits = state.early.is_empty() && state.late.is_empty();
        nothing_waits || (!self.closed && self.may_end(state))
    }

    /// Whether some removal of all remaining values keeps the bound.
    fn may_end(&self, state: &State) -> bool {
        // Among equal values the oldest waits for the first: `early` is sorted by value, then by
        // age.
        let mut early = state.early.clone();
        early.sort_unstable_by_key(|&(value, age)| (value, std::cmp::Reverse(age)));
        for (rank, value) in self.words.leaving(&state.strict).enumerate() {
            if early.is_empty() || rank > self.factor as usize {
                break;
            }
            if let Some(at) = early.iter().position(|w| w.0 == value) {
                if rank + early[at].1 as usize > self.factor as usize {
                    return false;
                }
                early.remove(at);
            }
        }
        early.is_empty()
    }
}

/// One order removes `value`: it is matched with the oldest that waits for it, or waits itself.
fn meet(waiting: &mut Waiting, own: &mut Waiting, value: u32) {
    let of_value = waiting.iter().enumerate().filter(|(_, w)| w.0 == value);
    match of_value.max_by_key(|(_, w)| w.1).map(|(at, _)| at) {
        Some(at) => drop(waiting.remove(at)),
        None => {
            let at = own.partition_point(|&w| w < (value, 0));
            own.insert(at, (value, 0));
        }
    }
}

fn operation(
    call: u32,
    returned: u32,
    op: Op,
    result: Option<Option<u32>>,
) -> Operation<Op, Option<u32>> {
    Operation { process: 0, call, returned, part: 0, line: 0, column: 0, op, result }
}

impl Spec for Displaced<'_> {
    type State = State;
    type Op = Op;
    type Ret = Option<u32>;

    fn initial(&self) -> State {
        let strict = self.words.contents();
        State { strict, early: Waiting::new(), late: Waiting::new() }
    }

    fn step(&self, state: &State, op: &Op, ret: Option<&Option<u32>>, next: &mut Vec<State>) {
        match (op, ret) {
            (Op::Add(value), _) => {
                let mut after = state.clone();
                self.words.add(&mut after.strict, *value);
                // A stack and a priority queue may delay the turn of an early value.
                let put_back = self.settled && self.words.kind != Kind::Queue;
                if !put_back || after.early.is_empty() || self.may_end(&after) {
                    next.push(after);
                }
            }
            (Op::Take, Some(Some(value))) => next.extend(self.remove(state, *value)),
            (Op::Take, Some(None)) => {
                if state.strict.is_empty() {
                    next.push(state.clone());
                }
            }
            (Op::Take, None) => {
                if state.strict.is_empty() {
                    next.push(state.clone());
                }
                let values = self.present(state).into_iter();
                next.extend(values.filter_map(|value| self.remove(state, value)));
            }
            (Op::End, _) => {
                if self.is_over(state) {
                    next.push(state.clone());
                }
            }
        }
    }

    fn observes(&self, op: &Op, ret: Option<&Option<u32>>) -> bool {
        matches!((op, ret), (Op::Take, Some(None)) | (Op::End, _))
    }

    fn touches(&self, _: &Op, _: Option<&Option<u32>>) -> Touches {
        Touches::Everything
    }
}

/// The legal order beside `order` in the reading `slots`: each removal slot contains the removal of
/// the value whose turn it is there, equal values in the order of their removals. `acts` gives the
/// effect of each operation. `None` if some value is never removed in `order`.
pub(super) fn beside(words: &PartHistory, acts: &[Act], order: &[u32]) -> Option<Vec<u32>> {
    let mut removals: Vec<std::collections::VecDeque<u32>> =
        vec![Default::default(); words.values.len()];
    for &operation in order {
        if let Act::Take(value) = acts[operation as usize] {
            removals[value as usize].push_back(operation);
        }
    }
    let mut strict = words.contents();
    let mut beside = Vec::with_capacity(order.len());
    for &operation in order {
        match acts[operation as usize] {
            Act::Take(_) => {
                let turn = words.take(&mut strict)?;
                beside.push(removals[turn as usize].pop_front()?);
            }
            act => {
                if !words.apply(&mut strict, act) {
                    return None;
                }
                beside.push(operation);
            }
        }
    }
    Some(beside)
}
