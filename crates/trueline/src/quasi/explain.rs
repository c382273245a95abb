//! A few operations that are a violation in themselves, and the sentence that explains why.
//!
//! Operations leave in groups: all operations on one value together, or a removal that found
//! nothing. Leaving out a value never makes a history that holds fail: without it p'' stays legal,
//! and if two places differed by at most K, the values between them leave both in the same way. (If
//! a value comes after an operation in p' and before it in p'', the operation's own places are
//! closer together than that value's.) Pending removals stay, and so do the operations on initial
//! values.

use super::decide::{Answer, Question, decide, generally};
use super::part_history::{Act, PartHistory, Word};
use super::{Algorithm, Bounds, Effort, End, Reading, run};
use crate::history::PENDING;
use crate::verdict::Explanation;

/// Maximum steps of one trial, and of all together.
const TRIAL: u64 = 100_000;
const TRIALS: u64 = 3_000_000;
/// Stories of up to this many operations are confirmed by the paper's enumeration, if it is
/// compiled in.
#[cfg(feature = "papers")]
const SHORT: usize = 9;

/// A violation in local numbers.
pub(super) struct Violation<'a> {
    pub(super) words: &'a PartHistory,
    pub(super) bounds: Bounds,
    /// The first unexplained return, if it is known.
    pub(super) stuck: Option<u32>,
    pub(super) by: &'static str,
}

/// Explains the violation; operations are local numbers. An error is a disagreement: another search
/// finds an order.
pub(super) fn explain(
    violation: &Violation<'_>,
    question: &Question<'_>,
    show: &dyn Fn(u32) -> String,
) -> Result<Explanation, String> {
    let mut shrinking = Shrinking {
        words: violation.words,
        bounds: violation.bounds,
        question: Question { algorithm: Algorithm::Auto, ..*question },
        spent: 0,
        complete: true,
    };
    let operations = shrinking.shrink(violation.stuck);
    let core = shrinking.part(&operations);
    let rechecked = recheck(&core, violation, &shrinking.question)?;
    let (sentence, clash) =
        sentence(&core, &operations, violation.bounds, &shrinking.question, show);
    let returned = |o: u32| violation.words.words[o as usize].returned;
    // The return where a search got stuck shows how far an order goes only if the search follows
    // the returns, as the one for queues does. Others take removals in another order, and with a
    // closed end a prefix may be a violation although the whole is none. Even the one for queues
    // knows the results of open removals, which a prefix does not. So both prefixes are decided.
    let prefixes = question.reading == Reading::Slots && violation.by == "quasi-queue";
    let until = violation.stuck.filter(|_| prefixes).map(returned).filter(|&r| r != PENDING);
    let fine_until = until.filter(|&rank| shrinking.goes_until(rank));
    Ok(Explanation {
        clash: clash.map_or_else(Vec::new, |o| vec![o]),
        operations,
        start: None,
        until: PENDING,
        sentence,
        fine_until,
        minimal: shrinking.complete,
        rechecked,
    })
}

struct Shrinking<'a> {
    words: &'a PartHistory,
    bounds: Bounds,
    question: Question<'a>,
    spent: u64,
    complete: bool,
}

impl Shrinking<'_> {
    fn part(&self, operations: &[u32]) -> PartHistory {
        self.words.with(operations.iter().map(|&o| self.words.words[o as usize]).collect())
    }

    /// Whether the history before this return has an order, and the history with this return has
    /// none.
    fn goes_until(&self, rank: u32) -> bool {
        let prefix = |end: u32| {
            let called = self.words.words.iter().filter(|word| word.call < end);
            let cut = called.map(|word| match (word.returned < end, word.act) {
                (true, _) => *word,
                (false, Act::Add(_)) => Word { returned: PENDING, ..*word },
                (false, _) => Word { returned: PENDING, act: Act::Unknown, ..*word },
            });
            let prefix = self.words.with(cut.collect());
            decide(&prefix, self.bounds, &self.question, TRIAL, &mut Effort::default())
        };
        matches!(prefix(rank), Ok(Answer::Holds { .. }))
            && matches!(prefix(rank + 1), Ok(Answer::Refuted { .. }))
    }

    fn is_violation(&mut self, groups: &[Vec<u32>], fixed: &[u32]) -> bool {
        if self.spent > TRIALS {
            self.complete = false;
            return false;
        }
        let mut operations: Vec<u32> = groups.iter().flatten().chain(fixed).copied().collect();
        operations.sort_unstable();
        let part = self.part(&operations);
        self.spent += 200 + operations.len() as u64 * 4;
        match decide(&part, self.bounds, &self.question, TRIAL, &mut Effort::default()) {
            Ok(Answer::Refuted { .. }) => true,
            Ok(_) => false,
            Err(_) => {
                self.spent += TRIAL;
                self.complete = false;
                false
            }
        }
    }

    /// Leaves out groups in ever smaller portions, as long as the rest is a violation.
    fn shrink(&mut self, stuck: Option<u32>) -> Vec<u32> {
        let (mut groups, fixed) = self.groups();
        if let Some(stuck) = stuck {
            // Operations that were called later rarely matter.
            let until = self.words.words[stuck as usize].returned;
            let early =
                |g: &&Vec<u32>| g.iter().any(|&o| self.words.words[o as usize].call < until);
            let kept: Vec<Vec<u32>> = groups.iter().filter(early).cloned().collect();
            if kept.len() < groups.len() && self.is_violation(&kept, &fixed) {
                groups = kept;
            }
        }
        let mut portion = groups.len().div_ceil(2);
        while portion > 0 && !groups.is_empty() {
            let mut at = 0;
            let before = groups.len();
            while at < groups.len() {
                let end = (at + portion).min(groups.len());
                let mut rest = groups[..at].to_vec();
                rest.extend_from_slice(&groups[end..]);
                if self.is_violation(&rest, &fixed) {
                    groups = rest;
                } else {
                    at = end;
                }
            }
            // A group may become removable after another one was removed.
            if portion > 1 || groups.len() == before {
                portion /= 2;
            }
        }
        let mut operations: Vec<u32> = groups.into_iter().flatten().chain(fixed).collect();
        operations.sort_unstable();
        operations
    }

    /// The groups that may leave, by first call, and the operations that must stay.
    fn groups(&self) -> (Vec<Vec<u32>>, Vec<u32>) {
        let mut place: Vec<Option<usize>> = vec![None; self.words.values.len()];
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut fixed = Vec::new();
        for (o, word) in self.words.words.iter().enumerate() {
            match word.act {
                Act::Unknown => fixed.push(o as u32),
                Act::Empty => groups.push(vec![o as u32]),
                Act::Add(value) | Act::Take(value) if self.words.initial.contains(&value) => {
                    fixed.push(o as u32);
                }
                Act::Add(value) | Act::Take(value) => match place[value as usize] {
                    Some(group) => groups[group].push(o as u32),
                    None => {
                        place[value as usize] = Some(groups.len());
                        groups.push(vec![o as u32]);
                    }
                },
            }
        }
        (groups, fixed)
    }
}

/// Whether a search that shares no code with the refuting one refutes the core as well.
fn recheck(
    core: &PartHistory,
    violation: &Violation<'_>,
    question: &Question<'_>,
) -> Result<bool, String> {
    let limit = 1 << 20;
    let disagreement = || format!("another search orders what {} called a violation", violation.by);
    #[cfg(feature = "papers")]
    if core.len() <= SHORT {
        let question = Question { algorithm: Algorithm::RoundUp, ..*question };
        return match decide(core, violation.bounds, &question, limit, &mut Effort::default()) {
            Ok(Answer::Refuted { .. }) => Ok(true),
            Ok(_) => Err(disagreement()),
            Err(_) => Ok(false),
        };
    }
    let holds = if question.reading == Reading::Slots && violation.by != "quasi-search" {
        match generally(core, violation.bounds, question, limit) {
            Ok(holds) => holds,
            Err(_) => return Ok(false),
        }
    } else {
        return Ok(false);
    };
    match holds {
        true => Err(disagreement()),
        false => Ok(true),
    }
}

/// Why, and the operation that it is about.
fn sentence(
    core: &PartHistory,
    operations: &[u32],
    bounds: Bounds,
    question: &Question<'_>,
    show: &dyn Fn(u32) -> String,
) -> (String, Option<u32>) {
    let count = |is: fn(&Act) -> bool| core.words.iter().filter(|word| is(&word.act)).count();
    let added = core.initial.len() + count(|act| matches!(act, Act::Add(_)));
    let to_come = match question.end {
        End::Open if added > count(|act| matches!(act, Act::Take(_))) => {
            ", those still to come included,"
        }
        _ => "",
    };
    let how_far = match (question.reading, bounds.removals) {
        (Reading::Slots, 0) => format!("has every removal{to_come} in its turn"),
        (Reading::Slots, 1) => format!("has every removal{to_come} within 1 place of its turn"),
        (Reading::Slots, k) => format!("has every removal{to_come} within {k} places of its turn"),
        #[cfg(feature = "papers")]
        (Reading::Uniform, k) => format!("is within {k} places of a legal order"),
        #[cfg(feature = "papers")]
        (Reading::Literal, k) => {
            let adds = match bounds.additions {
                0 => String::new(),
                a => format!(", and additions by at most {a}"),
            };
            format!("becomes legal when removals move by at most {k} among removals{adds}")
        }
    };
    let text = match operations {
        [] => format!("An empty history {how_far}"),
        [one] => format!("No operation explains `{}`", show(*one)),
        _ => format!("No order of these {} operations {how_far}", operations.len()),
    };
    let at_least = bounds.removals.saturating_add(1);
    let asked = |k| Bounds { removals: k, ..bounds };
    match run::least(core, &asked, at_least, question, TRIAL) {
        Ok(Some(least)) => {
            let Answer::Holds { certificate, moved, .. } = &least.answer else {
                return (text, None);
            };
            let count = core.len() as u32;
            let all = certificate.order.iter().zip(moved);
            let furthest = all.max_by_key(|(o, moved)| (**moved, std::cmp::Reverse(**o)));
            let Some((&o, &far)) = furthest.filter(|(_, far)| **far > bounds.removals) else {
                return (format!("{text}; a factor of {} would do", least.factor), None);
            };
            let place = |order: &[u32]| order.iter().position(|&x| x == o);
            let which = match place(&certificate.order) < place(&certificate.legal) {
                true => "early",
                false => "late",
            };
            let places = if far == 1 { "1 place".to_string() } else { format!("{far} places") };
            if o >= count {
                return (
                    format!("{text}; at best one that is to come is {places} too {which}"),
                    None,
                );
            }
            let operation = operations[o as usize];
            (
                format!("{text}; at best `{}` is {places} too {which}", show(operation)),
                Some(operation),
            )
        }
        Ok(None) => {
            let lone = |w: &Word| match w.act {
                Act::Take(value) => {
                    let adds = |x: &Word| x.act == Act::Add(value);
                    !core.words.iter().any(adds) && !core.initial.contains(&value)
                }
                _ => false,
            };
            match core.words.iter().position(lone) {
                Some(o) => {
                    let operation = operations[o];
                    (format!("Nothing adds what `{}` removes", show(operation)), Some(operation))
                }
                None => (format!("{text}, and no factor would do"), None),
            }
        }
        Err(_) => (text, None),
    }
}
