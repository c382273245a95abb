//! Snapshots: segments that are updated one by one and scanned at once. O(n) and the entries that
//! scans show, with a witness.
//!
//! Updates of one segment do not overlap, as each segment has one writer; they are numbered by
//! time. Neighbouring updates with the same value are a *run*, the first run starts with the
//! initial value. Where the entries of a scan S tell from which run they are, the history is
//! linearizable iff this relation has no cycle:
//!
//! - a before b, if a returned before b was called;
//! - the first update of the run that S shows before S, and S before the first update of the next
//!   run.
//!
//! Any order of it is legal: in each segment the last update before S is of the run that S shows.
//! Simple histories (each of two segments changes once) and differentiated ones (each update has a
//! value of its own) are of this kind. An order is found as time goes by: what returns is put
//! behind everything that must come before it, and that was called by then unless there is a cycle.
//!
//! A cycle is told in the words of a property of snapshots: see `snapshot/explain.rs`.
//!
//! **Repeated values.** Where a value has several runs that a scan may have seen, the first and the
//! last of them bound what it saw; the relation is then necessary. A cycle is a violation, an order
//! that is legal proves itself, and in between the monitor does not fit. Updates that overlap
//! within a segment that is shown leave the rule for values that were never written.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;

mod explain;

pub(crate) use explain::Property;

use super::ranks::timeline;
use super::{Answer, NEVER, NONE, Op, Span, Why};
use crate::spec::canonical::Lists;

/// What can be done with a snapshot object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Writes a segment.
    Update(u32, u32),
    /// Shows the list with this number.
    Scan(u32),
}

/// The number of a run among all runs of all segments.
type Run = u32;

/// Updates of one segment, one behind the other, with the same value.
#[derive(Clone, Copy)]
struct RunInfo {
    /// The first update; [`NONE`] for the initial value.
    first: u32,
    segment: u32,
    is_last: bool,
}

/// Which runs of a segment a scan may show: from the first to the last.
#[derive(Clone, Copy)]
struct Bound {
    from: Run,
    to: Run,
}

struct Check<'a> {
    operations: &'a [Op<Action>],
    runs: Vec<RunInfo>,
    /// The run that an update starts.
    started: Vec<Run>,
    /// What the scans show, one behind the other, ascending by segment; entries that bind nothing
    /// are left out.
    bounds: Vec<Bound>,
    /// Where the bounds of an operation are.
    bounds_of: Vec<(u32, u32)>,
    /// True where a scan may show one of several runs.
    is_vague: bool,
    /// Of scans that show a value that has several runs: the updates by which times tell which it
    /// is.
    distinguished_by: HashMap<u32, Vec<u32>, FixedState>,
}

/// Decides, or says why it does not fit. Operations are sorted by call; pending scans are left out.
pub(crate) fn check(
    operations: &[Op<Action>],
    lists: &Lists,
    initial: u32,
) -> Result<Answer, String> {
    let scans = || {
        operations.iter().enumerate().filter_map(|(i, o)| match o.action {
            Action::Scan(list) => Some((i as u32, o.span, list)),
            Action::Update(..) => None,
        })
    };
    let shown = scans().map(|(_, _, list)| lists.entries(list).len()).max().unwrap_or(0);
    let segments = Segments::new(operations, shown, initial);
    if let Some(segment) = segments.overlaps {
        let mut first_calls: HashMap<(u32, u32), u32, FixedState> = HashMap::default();
        for o in operations {
            if let Action::Update(segment, value) = o.action {
                first_calls.entry((segment, value)).or_insert(o.span.call);
            }
        }
        for (scan, span, list) in scans() {
            for (segment, &value) in lists.entries(list).iter().enumerate() {
                let first = first_calls.get(&(segment as u32, value)).copied().unwrap_or(NEVER);
                if value != initial && first > span.returned {
                    let mut all: Vec<u32> = vec![scan];
                    all.extend(updates_of(operations, lists.entries(list)));
                    let why = Why::Scans(Property::NeverWritten, [scan, NONE, NONE, NONE]);
                    return Ok(Answer::violation(all, why));
                }
            }
        }
        return Err(format!("updates of segment {segment} overlap"));
    }
    let mut check = Check {
        operations,
        runs: segments.runs,
        started: segments.started,
        bounds: Vec::new(),
        bounds_of: vec![(0, 0); operations.len()],
        is_vague: false,
        distinguished_by: HashMap::default(),
    };
    let mut known: HashMap<u32, Located, FixedState> = HashMap::default();
    for (scan, span, list) in scans() {
        let located = known.entry(list).or_insert_with(|| {
            let start = check.bounds.len() as u32;
            locate(lists.entries(list), &segments.starts, &segments.by_value, &mut check.bounds);
            Located { start, end: check.bounds.len() as u32 }
        });
        let range = (located.start, located.end);
        if let Some(answer) = check.bind(scan, span, range, &segments.by_value, lists.entries(list))
        {
            return Ok(answer);
        }
    }
    match check.order() {
        Ok(order) if !check.is_vague || check.is_legal(&order, lists, initial) => {
            Ok(Answer::Order(order))
        }
        Ok(_) => Err("a scan shows a value that was written several times about then".into()),
        Err(cycle) => Ok(check.explain(&cycle)),
    }
}

/// Where the entries of a list were found.
struct Located {
    start: u32,
    end: u32,
}

/// The updates of what a list shows: without them its scan would be wrong for another reason.
fn updates_of<'a>(
    operations: &'a [Op<Action>],
    entries: &'a [u32],
) -> impl Iterator<Item = u32> + 'a {
    let is_shown = |segment: u32, value| entries.get(segment as usize) == Some(&value);
    (0..operations.len() as u32).filter(
        move |&i| matches!(operations[i as usize].action, Action::Update(k, v) if is_shown(k, v)),
    )
}

/// The bound of a value that is not there.
const ABSENT: Bound = Bound { from: NONE, to: NONE };

/// The runs of a value in a segment, ascending.
type ByValue = HashMap<(u32, u32), SmallVec<[Run; 2]>, FixedState>;

/// The updates of all segments that are shown, as runs.
struct Segments {
    runs: Vec<RunInfo>,
    started: Vec<Run>,
    /// Where the runs of each segment start, and the end.
    starts: Vec<u32>,
    by_value: ByValue,
    /// A segment whose updates overlap.
    overlaps: Option<u32>,
}

impl Segments {
    fn new(operations: &[Op<Action>], shown: usize, initial: u32) -> Segments {
        let mut places = vec![0u32; shown + 1];
        for o in operations {
            if let Action::Update(segment, _) = o.action
                && (segment as usize) < shown
            {
                places[segment as usize + 1] += 1;
            }
        }
        for segment in 0..shown {
            places[segment + 1] += places[segment];
        }
        let mut updates = vec![0u32; places[shown] as usize];
        let mut next = places.clone();
        for (i, o) in operations.iter().enumerate() {
            if let Action::Update(segment, _) = o.action
                && (segment as usize) < shown
            {
                updates[next[segment as usize] as usize] = i as u32;
                next[segment as usize] += 1;
            }
        }
        let mut all = Segments {
            runs: Vec::new(),
            started: vec![NONE; operations.len()],
            starts: Vec::with_capacity(shown + 1),
            by_value: HashMap::default(),
            overlaps: None,
        };
        for segment in 0..shown {
            all.starts.push(all.runs.len() as u32);
            all.start(NONE, segment as u32, initial);
            let (mut value, mut busy_until) = (initial, 0);
            for &update in &updates[places[segment] as usize..places[segment + 1] as usize] {
                let Op { span, action } = operations[update as usize];
                let Action::Update(_, written) = action else { continue };
                if span.call < busy_until {
                    all.overlaps.get_or_insert(segment as u32);
                }
                busy_until = span.returned;
                if written != value {
                    value = written;
                    all.started[update as usize] = all.runs.len() as u32;
                    all.start(update, segment as u32, value);
                }
            }
            if let Some(last) = all.runs.last_mut() {
                last.is_last = true;
            }
        }
        all.starts.push(all.runs.len() as u32);
        all
    }

    fn start(&mut self, first: u32, segment: u32, value: u32) {
        let run = self.runs.len() as u32;
        self.runs.push(RunInfo { first, segment, is_last: false });
        self.by_value.entry((segment, value)).or_default().push(run);
    }
}

/// Finds the runs of what a list shows. Where a value has several, the first and the last bound it.
fn locate(entries: &[u32], starts: &[u32], by_value: &ByValue, bounds: &mut Vec<Bound>) {
    for (segment, &value) in entries.iter().enumerate() {
        let found = by_value.get(&(segment as u32, value));
        match found.map(|runs| (runs[0], runs[runs.len() - 1])) {
            // It never changes: it binds nothing.
            Some(_) if starts[segment + 1] - starts[segment] == 1 => {}
            Some((from, to)) => bounds.push(Bound { from, to }),
            None => {
                bounds.push(ABSENT);
                return;
            }
        }
    }
}

impl Check<'_> {
    fn span(&self, operation: u32) -> Span {
        self.operations[operation as usize].span
    }

    fn first(&self, run: Run) -> u32 {
        self.runs[run as usize].first
    }

    fn segment(&self, run: Run) -> u32 {
        self.runs[run as usize].segment
    }

    /// The first update of the next run of the segment.
    fn next(&self, run: Run) -> Option<u32> {
        match self.runs[run as usize].is_last {
            true => None,
            false => Some(self.first(run + 1)),
        }
    }

    fn bounds(&self, scan: u32) -> &[Bound] {
        let (start, end) = self.bounds_of[scan as usize];
        &self.bounds[start as usize..end as usize]
    }

    /// Gives a scan its bounds, narrowed by time where a value has several runs; an answer where
    /// there is no run.
    fn bind(
        &mut self,
        scan: u32,
        span: Span,
        (start, end): (u32, u32),
        by_value: &ByValue,
        entries: &[u32],
    ) -> Option<Answer> {
        let range = start as usize..end as usize;
        self.bounds_of[scan as usize] = (start, end);
        if self.bounds[range.clone()].iter().any(|b| b.from != b.to) {
            // Bounds of its own.
            let start = self.bounds.len() as u32;
            for at in range {
                let (bound, overwritten_by) =
                    self.narrowed(self.bounds[at], span, by_value, entries);
                self.bounds.push(bound);
                self.distinguished_by.entry(scan).or_default().extend(overwritten_by);
            }
            self.bounds_of[scan as usize] = (start, self.bounds.len() as u32);
        }
        for at in 0..self.bounds(scan).len() {
            let Bound { from, to } = self.bounds(scan)[at];
            if from == NONE {
                // The entries behind the absent one were not looked for.
                let all = std::iter::once(scan).chain(updates_of(self.operations, entries));
                let why = Why::Scans(Property::NeverWritten, [scan, NONE, NONE, NONE]);
                return Some(Answer::violation(all, why));
            }
            let (first, next) = (self.first(from), self.next(to));
            if first != NONE && span.returned < self.span(first).call {
                return Some(self.violation(Property::Future, [scan, first, NONE, NONE], &[]));
            }
            if let Some(next) = next
                && self.span(next).returned < span.call
            {
                return Some(self.violation(Property::Overwritten, [scan, next, NONE, NONE], &[]));
            }
            self.is_vague |= from != to;
        }
        None
    }

    /// The runs that a scan may have seen by its times; where there is none, the last that came too
    /// early or else the first that came too late. Beside it the update that overwrote the last one
    /// that came too early.
    fn narrowed(
        &self,
        bound: Bound,
        span: Span,
        by_value: &ByValue,
        entries: &[u32],
    ) -> (Bound, Option<u32>) {
        if bound.from == bound.to {
            return (bound, None);
        }
        let segment = self.segment(bound.from);
        let runs = &by_value[&(segment, entries[segment as usize])];
        let too_early =
            |&run: &Run| self.next(run).is_some_and(|n| self.span(n).returned < span.call);
        let called = |&run: &Run| {
            let first = self.first(run);
            first == NONE || self.span(first).call < span.returned
        };
        let low = runs.partition_point(too_early);
        let high = runs.partition_point(called);
        let bound = match low < high {
            true => Bound { from: runs[low], to: runs[high - 1] },
            false if low > 0 => Bound { from: runs[low - 1], to: runs[low - 1] },
            false => Bound { from: runs[0], to: runs[0] },
        };
        (bound, low.checked_sub(1).and_then(|last| self.next(runs[last])))
    }

    /// An order, or a cycle: each operation must come before the next, and the last before the
    /// first.
    fn order(&self) -> Result<Vec<u32>, Vec<u32>> {
        // The scans that must come before the first update of a run.
        let mut starts = vec![0u32; self.runs.len() + 1];
        let scans = || {
            let all = self.operations.iter().enumerate();
            all.filter(|(_, o)| matches!(o.action, Action::Scan(_))).map(|(i, _)| i as u32)
        };
        let must_precede = |bound: &Bound| !self.runs[bound.to as usize].is_last;
        for scan in scans() {
            for bound in self.bounds(scan).iter().filter(|b| must_precede(b)) {
                starts[bound.to as usize + 1] += 1;
            }
        }
        for run in 0..self.runs.len() {
            starts[run + 1] += starts[run];
        }
        let mut before = vec![0u32; starts[self.runs.len()] as usize];
        let mut places = starts.clone();
        for scan in scans() {
            for bound in self.bounds(scan).iter().filter(|b| must_precede(b)) {
                let place = &mut places[bound.to as usize];
                before[*place as usize] = scan;
                *place += 1;
            }
        }
        let earlier = |operation: u32, at: usize| -> Option<u32> {
            match self.operations[operation as usize].action {
                Action::Scan(_) => self.bounds(operation).get(at).map(|b| self.first(b.from)),
                Action::Update(..) => {
                    let run = self.started[operation as usize];
                    if run == NONE {
                        return None;
                    }
                    // The scans that show at most the run before.
                    let (start, end) = (starts[run as usize - 1], starts[run as usize]);
                    before[start as usize..end as usize].get(at).copied()
                }
            }
        };
        let mut order = Vec::with_capacity(self.operations.len());
        let mut state = vec![State::New; self.operations.len()];
        let mut stack: Vec<(u32, usize)> = Vec::new();
        for event in timeline(self.operations.iter().map(|o| o.span)) {
            let (operation, is_return) = (event / 2, event % 2 == 1);
            if !is_return || state[operation as usize] == State::Placed {
                continue;
            }
            let now = self.span(operation).returned;
            state[operation as usize] = State::Waiting;
            stack.push((operation, 0));
            while let Some(&mut (operation, ref mut at)) = stack.last_mut() {
                let Some(first) = earlier(operation, *at) else {
                    state[operation as usize] = State::Placed;
                    order.push(operation);
                    stack.pop();
                    continue;
                };
                *at += 1;
                if first == NONE || state[first as usize] == State::Placed {
                    continue;
                }
                if self.span(first).call > now {
                    let waiting = stack.iter().rev().map(|s| s.0);
                    return Err(std::iter::once(first).chain(waiting).collect());
                }
                if state[first as usize] == State::Waiting {
                    let mut cycle: Vec<u32> = stack.iter().rev().map(|s| s.0).collect();
                    let end = cycle.iter().position(|&o| o == first).unwrap_or(cycle.len() - 1);
                    cycle.truncate(end + 1);
                    return Err(cycle);
                }
                state[first as usize] = State::Waiting;
                stack.push((first, 0));
            }
        }
        Ok(order)
    }

    /// True where every scan shows what the updates before it left.
    fn is_legal(&self, order: &[u32], lists: &Lists, initial: u32) -> bool {
        let mut held: Vec<u32> = Vec::new();
        order.iter().all(|&o| match self.operations[o as usize].action {
            Action::Update(segment, value) => {
                let at = segment as usize;
                if held.len() <= at {
                    held.resize(at + 1, initial);
                }
                held[at] = value;
                true
            }
            Action::Scan(list) => {
                let held = held.iter().chain(std::iter::repeat(&initial));
                lists.entries(list).iter().zip(held).all(|(shown, held)| shown == held)
            }
        })
    }
}

/// How far the search for an order has come with an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// What must come before it is looked for.
    Waiting,
    Placed,
}
