//! The independently decided parts of a history, the finding for each, and the answer for the
//! whole.

use super::Outcome;
use crate::budget::Exhausted;
use crate::history;
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

/// The independent parts, as ascending indices: by object and key, then by the specification's own
/// keys, unless some operation of the object touches everything.
pub(super) fn parts(subject: &Subject<'_>) -> Vec<Vec<u32>> {
    let mut parts = Vec::new();
    for group in history::by_part(&subject.history) {
        let keys: Option<Vec<u64>> = group.iter().map(|&i| subject.spec.partition(i)).collect();
        let Some(keys) = keys else {
            parts.push(group);
            continue;
        };
        let mut places = hashbrown::HashMap::<u64, usize, foldhash::fast::FixedState>::default();
        for (&i, key) in group.iter().zip(keys) {
            let place = *places.entry(key).or_insert_with(|| {
                parts.push(Vec::new());
                parts.len() - 1
            });
            parts[place].push(i);
        }
    }
    parts
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
