//! Finds a small part of a violation that is a violation for the same reason.
//!
//! Operations are left out only if that is *monotone*: if the history without them is linearizable
//! whenever the history with them is. So the rest is a violation of the history, not an artefact of
//! cutting. [`Spec::observes`] and [`Spec::touches`] determine what may leave:
//! - an observer, any time;
//! - all operations of a container's value together;
//! - a write that no remaining operation reads;
//! - everything before some moment, if the story starts with the states that were possible then and
//!   the operations that were open then count as pending.
//!
//! The rest is *minimal* if all operations were called before the first bad return, and each
//! operation that may leave, alone or with the others of its value, was left out in turn and a
//! search found an order of the rest. The same is required of a value that may not leave because
//! some operation touches everything. If a search gave up, the violation is not called minimal.
//!
//! Cost: O(log n) searches of growing windows, then one search per operation or group of the
//! resulting window, each bounded in steps. When the steps are spent, the result so far is returned
//! and not called minimal.
//!
//! [`Spec::observes`]: crate::spec::Spec::observes
//! [`Spec::touches`]: crate::spec::Spec::touches

use std::collections::HashSet;

use super::problem::{Decision, Problem, Ticker, Window};
use super::search::{self, Which};
use super::unseen;
use crate::history::PENDING;
use crate::spec::subject::Subject;
use crate::spec::{OpaqueState, Touches};

/// A small violation.
pub(super) struct Core {
    pub(super) operations: Vec<u32>,
    pub(super) window: Window,
    /// States to start in, if the story does not start at the beginning.
    pub(super) start: Option<Vec<OpaqueState>>,
    pub(super) minimal: bool,
    /// The operation with the first unexplained return.
    pub(super) first_bad: Option<u32>,
}

/// Stories of up to this many operations need no cut at the beginning.
const SHORT: usize = 12;

/// Shrinks a violation that a monitor found; it stays as it is if the steps do not suffice.
pub(super) fn shrink(
    subject: &Subject<'_>,
    mut operations: Vec<u32>,
    reorders: bool,
    ticker: &mut Ticker<'_>,
    effort: u64,
) -> Core {
    let mut minimiser = Minimiser::new(subject, reorders, ticker, effort);
    let window = minimiser.window;
    let minimal = minimiser.drop_one_by_one(&mut operations, None);
    Core { operations, window, start: None, minimal, first_bad: None }
}

/// Whether nothing can be left out of a violation: without any operation or group that may leave
/// it, the others certainly have an order. False if that takes more than about `effort` steps.
pub(super) fn is_minimal(
    subject: &Subject<'_>,
    operations: &[u32],
    reorders: bool,
    ticker: &mut Ticker<'_>,
    effort: u64,
) -> bool {
    let mut minimiser = Minimiser::new(subject, reorders, ticker, effort);
    let mut left: Vec<u32> = operations.to_vec();
    while let Some(index) = left.pop() {
        let group = minimiser.leaves_with(operations, index);
        let group = group.or_else(|| minimiser.belongs_with(operations, index));
        let Some(group) = group.or_else(|| unseen::with(subject, operations, index)) else {
            continue;
        };
        left.retain(|i| !group.contains(i) || minimiser.observes(*i));
        let rest: Vec<u32> = operations.iter().copied().filter(|i| !group.contains(i)).collect();
        if rest.is_empty() {
            continue;
        }
        if minimiser.spent() || minimiser.decide(minimiser.problem(&rest)) != Some(false) {
            return false;
        }
    }
    true
}

struct Minimiser<'m, 'a, 'b> {
    subject: &'a Subject<'a>,
    /// See [`Problem::reordering`].
    reorders: bool,
    ticker: &'m mut Ticker<'b>,
    deadline: u64,
    window: Window,
    /// Some search has given up.
    gave_up: bool,
}

/// Shrinks the part at `indices`, in which no search got past the return of operation `stuck`, in
/// about `effort` steps.
pub(super) struct Shrinking<'m, 'a, 'b> {
    minimiser: Minimiser<'m, 'a, 'b>,
    indices: &'a [u32],
    stuck: u32,
    first_bad: Option<u32>,
}

impl<'m, 'a, 'b> Shrinking<'m, 'a, 'b> {
    pub(super) fn new(
        subject: &'a Subject<'a>,
        indices: &'a [u32],
        stuck: u32,
        reorders: bool,
        ticker: &'m mut Ticker<'b>,
        effort: u64,
    ) -> Self {
        let minimiser = Minimiser::new(subject, reorders, ticker, effort);
        Shrinking { minimiser, indices, stuck, first_bad: None }
    }

    /// The operation with the first unexplained return, if the steps suffice to find it.
    pub(super) fn first_bad(&mut self) -> Option<u32> {
        self.first_bad = self.minimiser.first_bad_return(self.indices, self.stuck);
        self.first_bad
    }

    pub(super) fn ticker(&mut self) -> &mut Ticker<'b> {
        self.minimiser.ticker
    }

    pub(super) fn minimise(mut self) -> Core {
        let (first_bad, indices) = (self.first_bad, self.indices);
        let minimiser = &mut self.minimiser;
        let mut core = minimiser.by_groups(indices, first_bad.unwrap_or(self.stuck));
        let Some(first_bad) = first_bad else { return core };
        let operations = minimiser.subject.history.operations();
        let until = operations[first_bad as usize].returned + 1;
        minimiser.window = Window { from: 0, until };
        // The prefix that ends with the first bad return is a violation whatever came later. So
        // operations that were called later may leave, if those that were open then count as
        // pending.
        if core.operations.iter().any(|&i| operations[i as usize].call >= until) {
            match minimiser.by_prefix(indices, first_bad) {
                Some(early) => core = early,
                None => core.minimal = false,
            }
        }
        if core.operations.len() > SHORT
            && let Some(late) = minimiser.by_start(indices, first_bad)
            && late.operations.len() < core.operations.len()
        {
            core = late;
        }
        core.first_bad = Some(first_bad);
        core
    }
}

impl<'m, 'a, 'b> Minimiser<'m, 'a, 'b> {
    fn new(
        subject: &'a Subject<'a>,
        reorders: bool,
        ticker: &'m mut Ticker<'b>,
        effort: u64,
    ) -> Self {
        let deadline = ticker.steps().saturating_add(effort);
        let (window, gave_up) = (Window::ALL, false);
        Minimiser { subject, reorders, ticker, deadline, window, gave_up }
    }

    /// These operations, as far as the window shows them.
    fn problem(&self, operations: &[u32]) -> Problem<'a> {
        Problem::new(self.subject, operations, self.window).reordering(self.reorders)
    }

    /// Whether the operations, in the current window, are certainly a violation.
    fn violates(&mut self, operations: &[u32], start: Option<&[OpaqueState]>) -> bool {
        match start {
            None => self.decide(self.problem(operations)) == Some(true),
            Some(states) => states.iter().all(|s| {
                let problem = Problem::new(self.subject, operations, self.window);
                let problem = problem.reordering(self.reorders).starting_in(s);
                self.decide(problem) == Some(true)
            }),
        }
    }

    /// The operation whose return ends the shortest prefix that is a violation. A search knows the
    /// results of operations that are still open, a prefix does not, so this return may come later
    /// than the one where the search got stuck.
    fn first_bad_return(&mut self, indices: &[u32], stuck: u32) -> Option<u32> {
        let operations = self.subject.history.operations();
        let from = operations[stuck as usize].returned;
        let mut later: Vec<u32> = indices
            .iter()
            .copied()
            .filter(|&i| (from..PENDING).contains(&operations[i as usize].returned))
            .collect();
        later.sort_unstable_by_key(|&i| operations[i as usize].returned);
        let mut decide = |place: usize| {
            let until = operations[later[place] as usize].returned + 1;
            let window = Window { from: 0, until };
            let problem = Problem::new(self.subject, indices, window);
            // Mostly the first is the one, and takes about as long as the whole history did.
            let part = if place == 0 { 3 } else { 1 };
            self.decide_in(problem.reordering(self.reorders), part)
        };
        // Every prefix before `low` is fine; the one at `high` is not.
        let (mut low, mut high, mut reach) = (0, 0, 1);
        while !decide(high)? {
            low = high + 1;
            high = (high + reach).min(later.len() - 1);
            reach *= 2;
            if low >= later.len() {
                return None;
            }
        }
        while low < high {
            let middle = (low + high) / 2;
            if decide(middle)? { high = middle } else { low = middle + 1 }
        }
        Some(later[high])
    }

    /// True for a violation, false if there is none, `None` if a share of the remaining steps does
    /// not suffice.
    fn decide(&mut self, problem: Problem<'_>) -> Option<bool> {
        self.decide_in(problem, 1)
    }

    /// The same within this many quarters of the remaining steps.
    fn decide_in(&mut self, problem: Problem<'_>, quarters: u64) -> Option<bool> {
        let share = self.deadline.saturating_sub(self.ticker.steps()) / 4 * quarters;
        match search::search(&problem, self.ticker, Which::Both, share).decision {
            Ok(Some(decision)) => Some(matches!(decision, Decision::Stuck(_))),
            Ok(None) => {
                self.gave_up = true;
                None
            }
            Err(_) => {
                self.deadline = 0;
                None
            }
        }
    }

    /// Whether too little is left to try anything more. Checked before each try, because preparing
    /// a search counts no steps but takes time.
    fn spent(&mut self) -> bool {
        if self.ticker.is_exhausted() {
            self.deadline = 0;
        }
        self.ticker.steps() + 1000 >= self.deadline
    }

    /// Leaves out observers and groups of operations, the whole history counting.
    fn by_groups(&mut self, indices: &[u32], stuck: u32) -> Core {
        // The story should be about the first unexplained return: leave out later operations.
        let end = self.subject.history.operations()[stuck as usize].returned;
        let calls_before =
            indices.partition_point(|&i| self.subject.history.operations()[i as usize].call < end);
        let early = self.closure(indices, &indices[..calls_before]);
        let indices = if self.violates(&early, None) { early } else { indices.to_vec() };
        let indices = indices.as_slice();
        // Most violations are local: try the operations around the one that is stuck, and those
        // that belong to them.
        let place = indices.partition_point(|&i| i < stuck);
        let mut kept = indices.to_vec();
        let mut reach = 2;
        while reach < indices.len() && !self.spent() {
            let near = &indices[place.saturating_sub(reach)..(place + reach).min(indices.len())];
            let candidate = self.closure(indices, near);
            if candidate.len() < kept.len() && self.violates(&candidate, None) {
                kept = candidate;
                break;
            }
            if candidate.len() == indices.len() {
                break;
            }
            reach *= 2;
        }
        let minimal = self.drop_one_by_one(&mut kept, None);
        Core { operations: kept, window: self.window, start: None, minimal, first_bad: None }
    }

    /// Ends the story with the first bad return, with which the window ends. Only if every
    /// operation that it needs had returned by then, or never did: otherwise a reader would see a
    /// result that does not count.
    fn by_prefix(&mut self, indices: &[u32], first_bad: u32) -> Option<Core> {
        let operations = self.subject.history.operations();
        let until = self.window.until;
        let early: Vec<u32> =
            indices.iter().copied().filter(|&i| operations[i as usize].call < until).collect();
        let mut core = self.by_groups(&early, first_bad);
        core.window = Window::ALL;
        let is_whole = |&i: &u32| !(until..PENDING).contains(&operations[i as usize].returned);
        core.operations.iter().all(is_whole).then_some(core)
    }

    /// Starts the story late, in the states that were possible then.
    fn by_start(&mut self, indices: &[u32], stuck: u32) -> Option<Core> {
        let operations = self.subject.history.operations();
        let problem = self.problem(indices);
        let returns = &problem.spans.returns;
        let last = returns.len().checked_sub(1)?;
        let mut frontiers: Vec<usize> =
            (1..24).map(|i| last.saturating_sub(1 << i)).take_while(|&f| f > 0).collect();
        frontiers.reverse();
        let left = self.deadline.saturating_sub(self.ticker.steps());
        let starts = search::states_before(&problem, self.ticker, &frontiers, left);
        for (&frontier, states) in frontiers.iter().zip(&starts).rev() {
            let before = problem.index(returns[frontier - 1]);
            let from = operations[before as usize].returned;
            self.window.from = from;
            let mut kept: Vec<u32> = indices
                .iter()
                .copied()
                .filter(|&i| {
                    let o = &operations[i as usize];
                    o.returned > from && o.call < self.window.until
                })
                .collect();
            debug_assert!(kept.contains(&stuck));
            if (1..=8).contains(&states.len()) && self.violates(&kept, Some(states)) {
                let minimal = self.drop_one_by_one(&mut kept, Some(states));
                let (window, start) = (self.window, Some(states.clone()));
                return Some(Core { operations: kept, window, start, minimal, first_bad: None });
            }
        }
        None
    }

    /// How the operation touches values, as the window shows it.
    fn touches(&self, index: u32) -> Touches {
        self.subject.spec.touches(self.window.recorded(&self.subject.history, index))
    }

    fn observes(&self, index: u32) -> bool {
        self.subject.spec.observes(self.window.recorded(&self.subject.history, index))
    }

    /// The operations that must stay if `near` stays, including `near`; observers elsewhere are
    /// left out.
    fn closure(&self, indices: &[u32], near: &[u32]) -> Vec<u32> {
        let mut kept: HashSet<u32> = near.iter().copied().collect();
        let rest: Vec<u32> =
            indices.iter().copied().filter(|&i| !self.observes(i) && !kept.contains(&i)).collect();
        if rest.iter().chain(near).any(|&i| self.touches(i) == Touches::Everything) {
            kept.extend(rest);
        } else {
            // Values whose operations, or whose writers, must stay.
            let mut wanted = HashSet::new();
            let want = |wanted: &mut HashSet<u64>, touches| match touches {
                Touches::Value(v) | Touches::Flow { reads: Some(v), .. } => wanted.insert(v),
                _ => false,
            };
            for &i in near {
                want(&mut wanted, self.touches(i));
            }
            loop {
                let before = kept.len();
                for &i in rest.iter().filter(|i| !kept.contains(*i)).collect::<Vec<_>>() {
                    let touches = self.touches(i);
                    let stays = match touches {
                        Touches::Value(v) | Touches::Flow { writes: Some(v), .. } => {
                            wanted.contains(&v)
                        }
                        // Neither an observer nor a write: it has to stay.
                        _ => true,
                    };
                    if stays {
                        kept.insert(i);
                        want(&mut wanted, touches);
                    }
                }
                if kept.len() == before {
                    break;
                }
            }
        }
        // Observers of a container's value stay with it.
        let values: HashSet<u64> = kept
            .iter()
            .filter_map(|&i| match self.touches(i) {
                Touches::Value(v) => Some(v),
                _ => None,
            })
            .collect();
        indices
            .iter()
            .copied()
            .filter(|i| {
                kept.contains(i)
                    || matches!(self.touches(*i), Touches::Value(v) if values.contains(&v))
            })
            .collect()
    }

    /// Leaves out what can be left out, one operation or group at a time; returns true if certainly
    /// nothing more can.
    fn drop_one_by_one(&mut self, kept: &mut Vec<u32>, start: Option<&[OpaqueState]>) -> bool {
        loop {
            let before = kept.len();
            self.gave_up = false;
            let mut chunk = kept.len() / 2;
            // First observers in halves, quarters and so on, because there may be many.
            while chunk > 0 {
                let observers: Vec<u32> =
                    kept.iter().copied().filter(|&i| self.observes(i)).collect();
                for group in observers.chunks(chunk) {
                    if self.spent() {
                        return false;
                    }
                    let group: HashSet<u32> = group.iter().copied().collect();
                    self.try_without(kept, &group, start);
                }
                chunk = if chunk > observers.len() { observers.len() / 2 } else { chunk / 2 };
            }
            for i in kept.clone().into_iter().rev() {
                if self.spent() {
                    return false;
                }
                if let Some(group) = self.leaves_with(kept, i) {
                    self.try_without(kept, &group, start);
                }
            }
            if self.spent() {
                return false;
            }
            if kept.len() == before {
                return !self.gave_up && self.needs_all(kept, start);
            }
        }
    }

    /// Whether certainly every operation that could not leave is needed. Leaving it out could have
    /// made another violation of the rest, so the test is that the rest has an order without it and
    /// without what belongs to it.
    fn needs_all(&mut self, kept: &[u32], start: Option<&[OpaqueState]>) -> bool {
        for &index in kept {
            if self.leaves_with(kept, index).is_some() {
                continue;
            }
            let group = self.belongs_with(kept, index);
            let group = group.or_else(|| unseen::with(self.subject, kept, index));
            let Some(group) = group else { continue };
            let rest: Vec<u32> = kept.iter().copied().filter(|i| !group.contains(i)).collect();
            if rest.is_empty() {
                continue;
            }
            if self.spent() || self.violates(&rest, start) || self.gave_up {
                return false;
            }
        }
        true
    }

    fn try_without(
        &mut self,
        kept: &mut Vec<u32>,
        group: &HashSet<u32>,
        start: Option<&[OpaqueState]>,
    ) {
        if !kept.iter().any(|i| group.contains(i)) {
            return;
        }
        let without: Vec<u32> = kept.iter().copied().filter(|i| !group.contains(i)).collect();
        if self.violates(&without, start) {
            *kept = without;
        }
    }

    /// The operations that belong to one that may not leave: all of its value, or only itself if it
    /// only needs a value.
    fn belongs_with(&self, kept: &[u32], index: u32) -> Option<HashSet<u32>> {
        match self.touches(index) {
            touches @ Touches::Value(_) => {
                Some(kept.iter().copied().filter(|&i| self.touches(i) == touches).collect())
            }
            Touches::Flow { writes: None, .. } => Some(HashSet::from([index])),
            Touches::Flow { .. } | Touches::Everything => None,
        }
    }

    /// The operations that may leave together with `index`, if it may leave at all.
    fn leaves_with(&self, kept: &[u32], index: u32) -> Option<HashSet<u32>> {
        if !kept.contains(&index) {
            return None;
        }
        if self.observes(index) {
            return Some(HashSet::from([index]));
        }
        let touches = self.touches(index);
        let group: HashSet<u32> = match touches {
            Touches::Everything | Touches::Flow { writes: None, .. } => return None,
            Touches::Value(_) => {
                kept.iter().copied().filter(|&i| self.touches(i) == touches).collect()
            }
            Touches::Flow { writes: Some(written), .. } => {
                // With its readers, if these may leave.
                let reads = |i: u32| matches!(self.touches(i), Touches::Flow { reads: Some(v), .. } if v == written);
                let readers: Vec<u32> =
                    kept.iter().copied().filter(|&i| i != index && reads(i)).collect();
                if readers.iter().any(|&i| !self.observes(i)) {
                    return None;
                }
                let writes = |i: u32| matches!(self.touches(i), Touches::Flow { writes: Some(v), .. } if v == written);
                // Readers leave only together with every write of the value.
                if readers.is_empty() {
                    HashSet::from([index])
                } else {
                    readers.into_iter().chain(kept.iter().copied().filter(|&i| writes(i))).collect()
                }
            }
        };
        let stays_bound = |&i: &u32| !group.contains(&i) && self.touches(i) == Touches::Everything;
        if kept.iter().any(stays_bound) { None } else { Some(group) }
    }
}
