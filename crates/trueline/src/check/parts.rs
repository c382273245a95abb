//! The independently decided parts of a history, the finding for each, and the answer for the
//! whole.

use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

use super::Outcome;
use crate::budget::Exhausted;
use crate::monitor::Blame;
use crate::spec::subject::{Intervals, Subject};
use crate::verdict::{Reason, Unknown, Verdict, Witness};

/// The answer for one part.
pub(super) struct PartAnswer {
    pub(super) kind: PartKind,
    pub(super) by: &'static str,
    /// Why no monitor decided.
    pub(super) because: String,
    pub(super) steps: u64,
}

pub(super) enum PartKind {
    Order(Vec<u32>),
    /// No order: no search got past the return of this operation.
    Stuck(u32),
    /// There is no order: a monitor found these operations and blames one of them.
    Clash {
        operations: Vec<u32>,
        /// These and everything else that touches their values, unless that is too much.
        scene: Vec<u32>,
        reason: Option<Blame>,
        /// Leaving out some of them would make another violation of it, for another reason.
        shrinks: bool,
    },
    NotApplicable,
    /// The round is over.
    Undecided,
    Exhausted {
        why: Exhausted,
        explained: usize,
        returns: usize,
    },
    Disagreement(String),
}

impl PartAnswer {
    pub(super) fn is_violation(&self) -> bool {
        matches!(self.kind, PartKind::Stuck(_) | PartKind::Clash { .. })
    }
}

/// Operations that are decided on their own, part by part: ascending within each.
pub(super) struct Parts {
    index: Vec<u32>,
    /// Where each part starts, and the end.
    starts: Vec<u32>,
}

impl Parts {
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The operations of a part.
    pub(super) fn of(&self, part: usize) -> &[u32] {
        &self.index[self.range(part)]
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &[u32]> + ExactSizeIterator {
        (0..self.len()).map(|part| self.of(part))
    }

    /// Where the operations of a part stand among those of all.
    pub(super) fn range(&self, part: usize) -> Range<usize> {
        self.starts[part] as usize..self.starts[part + 1] as usize
    }

    /// The operation at a place.
    pub(super) fn index(&self, place: usize) -> u32 {
        self.index[place]
    }

    /// Gives the operations other names, in the same order.
    pub(super) fn rename(&mut self, names: &[u32]) {
        self.index.iter_mut().for_each(|n| *n = names[*n as usize]);
    }

    /// The largest part, the first of several.
    pub(super) fn largest(&self) -> usize {
        (0..self.len()).rev().max_by_key(|&part| self.range(part).len()).unwrap_or(0)
    }

    /// How many operations there are in these parts.
    pub(super) fn size(&self, parts: Range<usize>) -> usize {
        (self.starts[parts.end] - self.starts[parts.start]) as usize
    }
}

/// Puts the operations of a history into parts as they come: by object, then by the keys that the
/// specification tells, unless some operation of the object touches everything. Parts are in order
/// of objects, and of first appearance.
pub(super) struct Partitioner {
    /// The number of each part so far.
    numbers: HashMap<(u32, Option<u64>), u32, FixedState>,
    /// The part of each operation; empty while there is but one.
    part_of: Vec<u32>,
    /// So many operations have come, of so many.
    seen: usize,
    expected: usize,
}

impl Partitioner {
    pub(super) fn new(expected: usize) -> Partitioner {
        Partitioner { numbers: HashMap::default(), part_of: Vec::new(), seen: 0, expected }
    }

    /// The next operation.
    pub(super) fn add(&mut self, object: u32, key: Option<u64>) {
        let next = self.numbers.len() as u32;
        let part = *self.numbers.entry((object, key)).or_insert(next);
        if self.numbers.len() > 1 {
            if self.part_of.is_empty() {
                self.part_of.reserve_exact(self.expected);
                self.part_of.resize(self.seen, 0);
            }
            self.part_of.push(part);
        }
        self.seen += 1;
    }

    /// The part of each operation, and how many there are.
    pub(super) fn finish(self) -> PartOf {
        let Partitioner { numbers, mut part_of, seen, .. } = self;
        let touch_all = numbers.keys().filter(|(_, key)| key.is_none());
        let whole: HashSet<u32, FixedState> = touch_all.map(|(object, _)| *object).collect();
        let mut groups: Vec<(u32, Option<u32>, u32)> = Vec::with_capacity(numbers.len());
        for ((object, _), number) in numbers {
            let own = (!whole.contains(&object)).then_some(number);
            groups.push((object, own, number));
        }
        groups.sort_unstable();
        let mut renamed = vec![0; groups.len()];
        let mut count = 0;
        for (i, &(object, own, number)) in groups.iter().enumerate() {
            count += u32::from(i == 0 || (groups[i - 1].0, groups[i - 1].1) != (object, own));
            renamed[number as usize] = count - 1;
        }
        if count == 1 {
            part_of = Vec::new();
        } else if (0..).zip(&renamed).any(|(number, &name)| number != name) {
            part_of.iter_mut().for_each(|part| *part = renamed[*part as usize]);
        }
        PartOf { part_of, seen, count: count as usize }
    }
}

/// The part of each operation.
pub(super) struct PartOf {
    /// Empty where there is one part.
    part_of: Vec<u32>,
    seen: usize,
    count: usize,
}

impl PartOf {
    /// Where each operation is a part by its number.
    pub(super) fn numbered(part_of: Vec<u32>) -> PartOf {
        let count = part_of.iter().max().map_or(0, |&last| last as usize + 1);
        PartOf { seen: part_of.len(), part_of, count }
    }

    /// The part of an operation.
    pub(super) fn of(&self, index: u32) -> u32 {
        self.part_of.get(index as usize).copied().unwrap_or(0)
    }

    /// Puts the parts one behind the other.
    pub(super) fn parts(&self) -> Parts {
        self.select::<()>((0..self.seen as u32).collect(), &mut [])
    }

    /// The same for some of the operations, ascending, and what goes with each.
    pub(super) fn select<T: Copy>(&self, index: Vec<u32>, beside: &mut [T]) -> Parts {
        if self.count <= 1 {
            let mut starts = vec![0; self.count + 1];
            starts[self.count] = index.len() as u32;
            return Parts { index, starts };
        }
        let mut starts = vec![0u32; self.count + 1];
        for &n in &index {
            starts[self.of(n) as usize + 1] += 1;
        }
        for part in 0..self.count {
            starts[part + 1] += starts[part];
        }
        let mut places = starts.clone();
        let (mut sorted, before) = (vec![0; index.len()], beside.to_vec());
        for (n, &i) in index.iter().enumerate() {
            let place = &mut places[self.of(i) as usize];
            sorted[*place as usize] = i;
            if let Some(&own) = before.get(n) {
                beside[*place as usize] = own;
            }
            *place += 1;
        }
        Parts { index: sorted, starts }
    }
}

/// The parts of a history that is decoded.
pub(super) fn parts(subject: &Subject<'_>) -> Parts {
    let mut partitioner = Partitioner::new(subject.history.len());
    for (i, o) in (0..).zip(subject.history.operations()) {
        partitioner.add(o.part, subject.spec.partition(i));
    }
    partitioner.finish().parts()
}

/// Joins the answers of parts of which none is a violation.
pub(super) fn join(history: &Intervals, answers: Vec<Option<PartAnswer>>) -> Outcome {
    let partitions = answers.len();
    let mut names: Vec<&'static str> = answers.iter().flatten().map(|a| a.by).collect();
    names.sort_unstable();
    names.dedup();
    let algorithm = match names.as_slice() {
        [one] => one,
        ["depth-first", "just-in-time"] => "search",
        _ => "auto",
    };
    // If parts differ, the reason that prevented the monitor is the most informative.
    let reasons = || answers.iter().flatten().filter(|a| !a.because.is_empty());
    let because = reasons().find(|a| !a.by.ends_with("monitor")).or_else(|| reasons().next());
    let because = because.map(|a| a.because.clone()).unwrap_or_default();
    let mut orders = Vec::new();
    let mut unknown: Option<Unknown> = None;
    for answer in answers.into_iter().flatten() {
        let found = match answer.kind {
            PartKind::Order(order) => {
                orders.push(order);
                continue;
            }
            PartKind::Stuck(_) | PartKind::Clash { .. } | PartKind::Undecided => continue,
            PartKind::NotApplicable => {
                let (reason, progress) = (Reason::NotApplicable(answer.because), String::new());
                Unknown { reason, progress }
            }
            PartKind::Exhausted { why, explained, returns } => Unknown {
                reason: Reason::Exhausted(why),
                progress: format!("{explained} of {returns} returns explained"),
            },
            PartKind::Disagreement(what) => {
                Unknown { reason: Reason::Disagreement(what), progress: String::new() }
            }
        };
        if unknown.is_none() || matches!(found.reason, Reason::Disagreement(_)) {
            unknown = Some(found);
        }
    }
    let verdict = match unknown {
        Some(unknown) => Verdict::Unknown(unknown),
        None => Verdict::Linearizable(Witness { order: merge(history.len(), &orders) }),
    };
    Outcome { verdict, algorithm, because, partitions, states: 0 }
}

/// One order of the whole from an order of each part. Every operation gets a moment within its
/// interval: the latest call up to and including it in its part's order. Moments are compared
/// across parts; operations with the same moment belong to one part and keep their order.
/// Operations are numbered by their calls, so a moment is a number, and counting sort takes O(n).
pub(crate) fn merge(
    operations: usize,
    orders: impl IntoIterator<Item = impl AsRef<[u32]>> + Clone,
) -> Vec<u32> {
    // First how many operations have a moment; then the place of the next one with that moment.
    let mut places = vec![0u32; operations];
    let moment = |latest: &mut u32, &index: &u32| {
        *latest = index.max(*latest);
        Some((*latest as usize, index))
    };
    for order in orders.clone() {
        order.as_ref().iter().scan(0, moment).for_each(|(moment, _)| places[moment] += 1);
    }
    let mut count = 0;
    for place in &mut places {
        count += std::mem::replace(place, count);
    }
    let mut merged = vec![0; count as usize];
    for order in orders {
        for (moment, index) in order.as_ref().iter().scan(0, moment) {
            merged[places[moment] as usize] = index;
            places[moment] += 1;
        }
    }
    merged
}
