//! Converts a history to a [`Finding`]: parts, factors, the least factor, the combined answer.
//!
//! Quasi linearizability is local like linearizability: parts are decided one by one, and the least
//! factor of the whole is the largest of theirs. The least factor of a part is found by going up
//! from a bound that needs no search, in growing strides, and then by bisection. A successful
//! decision shows by how much operations moved, which is an upper bound.

use super::decide::{Answer, Question, decide, lower_bound};
use super::explain::{Violation, explain};
use super::part_history::{PartHistory, is_container};
use super::{Bounds, Effort, Factor, Finding, Quasi, Reading};
use crate::budget::{Budget, Exhausted};
use crate::check::{Outcome, merge, trust};
use crate::history::{self, Error, History, Position};
use crate::spec::opaque::{Decoded, Decoder};
use crate::spec::subject::Recorded;
use crate::spec::{Action, Opaque};
use crate::value::Value;
use crate::verdict::{Explanation, Reason, Unknown, Verdict, Witness};

/// The classes that a factor can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Additions,
    Removals,
}

/// The question, by class: the given factors, and the class that is asked for.
struct Asked {
    bounds: Bounds,
    least: Option<Class>,
}

impl Asked {
    fn with(&self, factor: u32) -> Bounds {
        match self.least {
            Some(Class::Additions) => Bounds { additions: factor, ..self.bounds },
            Some(Class::Removals) => Bounds { removals: factor, ..self.bounds },
            None => self.bounds,
        }
    }
}

/// See [`crate::spec::Named::quasi`].
pub(crate) fn run(
    spec: &Opaque,
    history: &History,
    quasi: &Quasi,
    budget: &Budget,
) -> Result<Finding, Error> {
    let fail = |message: String| Error::at(Position::default(), message);
    let containers = "quasi linearizability is about queues, stacks and priority queues";
    let decoder = spec.decoder().filter(|d| is_container(d.claim().kind));
    let decoder = decoder.ok_or_else(|| fail(containers.to_string()))?;
    let claim = decoder.claim();
    let asked = asked(&*decoder, quasi).map_err(fail)?;
    let subject = spec.subject(history)?;
    let mut parts = Vec::new();
    for indices in history::by_part(&subject.history) {
        trust(&subject, &claim, &indices).map_err(fail)?;
        let words = PartHistory::new(&subject, &claim, &indices).map_err(|(o, message)| {
            let o = &subject.history.operations()[o as usize];
            Error::at(Position { line: o.line, column: o.column }, message)
        })?;
        parts.push((indices, words));
    }
    let question =
        Question { reading: quasi.reading, end: quasi.end, algorithm: quasi.algorithm, budget };
    let show = |index: u32| subject.spec.show(Recorded::whole(index));
    let mut whole = Whole {
        history,
        partitions: parts.len(),
        orders: Vec::new(),
        legal: Vec::new(),
        displaced: Vec::new(),
        by: "auto",
        factor: 0,
        needs: None,
        effort: Effort::default(),
    };
    let steps = budget.steps_spent();
    for (done, (indices, words)) in parts.iter().enumerate() {
        let verdict = whole.part(indices, words, &asked, &question, &show);
        if let Err(mut verdict) = verdict {
            if let Verdict::Unknown(unknown) = &mut verdict
                && parts.len() > 1
            {
                unknown.progress = format!("{done} of {} parts decided", parts.len());
            }
            return Ok(whole.finding(verdict, &asked, budget.steps_spent() - steps));
        }
    }
    let order = merge(history.len(), &whole.orders);
    let verdict = Verdict::Linearizable(Witness { order });
    Ok(whole.finding(verdict, &asked, budget.steps_spent() - steps))
}

/// The class that each factor is about. An error says what does not fit the specification or the
/// reading.
fn asked(decoder: &dyn Decoder, quasi: &Quasi) -> Result<Asked, String> {
    let class = |method: &str| {
        let action = |args: &[Value]| match decoder.decode(method, args, None, true, false) {
            Ok(Decoded::Action(action, _)) => Some(action),
            _ => None,
        };
        match (action(&[]), action(&[Value::Int(0)])) {
            (Some(Action::RemoveUnknown), _) => Some(Class::Removals),
            (_, Some(Action::Insert(_))) => Some(Class::Additions),
            _ => None,
        }
    };
    let mut asked = Asked { bounds: Bounds { additions: 0, removals: 0 }, least: None };
    let mut given: Vec<Class> = Vec::new();
    for (method, factor) in quasi.factors.given() {
        let class = class(method).ok_or_else(|| {
            format!(
                "no factor can be given for {method}: expected a method that adds or removes values"
            )
        })?;
        if given.contains(&class) {
            return Err(format!("the factor of {method} is given twice under different names"));
        }
        given.push(class);
        match (quasi.reading, class) {
            (Reading::Slots, Class::Additions) if *factor != Factor::AtMost(0) => {
                return Err(format!(
                    "in the reading slots only removals move, {method} does not: expected --reading literal or uniform"
                ));
            }
            _ => {}
        }
        match (factor, class) {
            (Factor::Least, class) => asked.least = Some(class),
            (Factor::AtMost(places), Class::Additions) => asked.bounds.additions = *places,
            (Factor::AtMost(places), Class::Removals) => asked.bounds.removals = *places,
        }
    }
    #[cfg(feature = "papers")]
    if quasi.reading == Reading::Uniform {
        if given.len() > 1 {
            return Err("the reading uniform has one factor for all methods: expected one".into());
        }
        let places = asked.bounds.additions.max(asked.bounds.removals);
        asked.bounds = Bounds { additions: places, removals: places };
        asked.least = asked.least.map(|_| Class::Removals);
    }
    Ok(asked)
}

/// The least factor of a part, the answer for it, and the answer for the one below.
pub(super) struct Least {
    pub(super) factor: u32,
    pub(super) answer: Answer,
    pub(super) below: Option<Answer>,
}

/// The least factor from `from` on; `None` if no factor works. `limit` bounds the steps of each
/// decision.
pub(super) fn least(
    words: &PartHistory,
    bounds: &dyn Fn(u32) -> Bounds,
    from: u32,
    question: &Question<'_>,
    limit: u64,
) -> Result<Option<Least>, Exhausted> {
    let decide = |k: u32| decide(words, bounds(k), question, limit, &mut Effort::default());
    // No distance exceeds the number of operations, including those of an open end.
    let most = 2 * (words.len() + words.initial.len()) as u32;
    let mut low = from.max(lower_bound(words, question));
    if low > most {
        return Ok(None);
    }
    let mut below = None;
    let (mut factor, mut stride) = (low, 1);
    let mut answer = loop {
        let answer = decide(factor)?;
        if !matches!(answer, Answer::Refuted { .. }) {
            break answer;
        }
        if factor >= most {
            return Ok(None);
        }
        below = Some(answer);
        low = factor + 1;
        factor = factor.saturating_add(stride).min(most);
        stride *= 2;
    };
    loop {
        if let (Answer::Holds { moved, .. }, true) = (&answer, question.reading.has_one_factor()) {
            factor = factor.min(moved.iter().copied().max().unwrap_or(0)).max(low);
        }
        if low >= factor {
            return Ok(Some(Least { factor, answer, below }));
        }
        let middle = low + (factor - low) / 2;
        let found = decide(middle)?;
        if matches!(found, Answer::Refuted { .. }) {
            below = Some(found);
            low = middle + 1;
        } else {
            factor = middle;
            answer = found;
        }
    }
}

/// The answer as it grows from part to part.
struct Whole<'a> {
    history: &'a History,
    partitions: usize,
    orders: Vec<Vec<u32>>,
    legal: Vec<u32>,
    displaced: Vec<(u32, u32)>,
    by: &'static str,
    factor: u32,
    needs: Option<Explanation>,
    effort: Effort,
}

impl Whole<'_> {
    /// Decides a part and adds its finding; an error is the verdict of the whole.
    fn part(
        &mut self,
        indices: &[u32],
        words: &PartHistory,
        asked: &Asked,
        question: &Question<'_>,
        show: &dyn Fn(u32) -> String,
    ) -> Result<(), Verdict> {
        let exhausted = |why| unknown(Reason::Exhausted(why));
        let local = |o: u32| show(indices[o as usize]);
        let explained = |bounds: Bounds, stuck: Option<u32>, by: &'static str| {
            let violation = Violation { words, bounds, stuck, by };
            match explain(&violation, question, &local) {
                Ok(found) => Ok(renamed(found, indices)),
                Err(what) => Err(unknown(Reason::Disagreement(what))),
            }
        };
        if asked.least.is_none() {
            let effort = &mut self.effort;
            let answer =
                decide(words, asked.bounds, question, u64::MAX, effort).map_err(exhausted)?;
            return match answer {
                Answer::Refuted { stuck, by } => {
                    self.by = by;
                    Err(Verdict::Violation(explained(asked.bounds, stuck, by)?))
                }
                answer => self.take(indices, answer),
            };
        }
        let bounds = |k| asked.with(k);
        let Some(least) = least(words, &bounds, 0, question, u64::MAX).map_err(exhausted)? else {
            let most = asked.with(2 * (words.len() + words.initial.len()) as u32);
            self.by = "quasi-windows";
            let none = explained(most, None, "quasi-windows")?;
            return Err(Verdict::Violation(none));
        };
        if least.factor > self.factor {
            self.factor = least.factor;
            let below = asked.with(least.factor - 1);
            let (stuck, by) = match least.below {
                Some(Answer::Refuted { stuck, by }) => (stuck, by),
                _ => (None, "quasi-windows"),
            };
            self.needs = Some(explained(below, stuck, by)?);
        }
        self.take(indices, least.answer)
    }

    fn take(&mut self, indices: &[u32], answer: Answer) -> Result<(), Verdict> {
        match answer {
            Answer::Holds { certificate, moved, by } => {
                self.by = by;
                let real = |o: &u32| (*o as usize) < indices.len();
                let named = |o: &u32| indices[*o as usize];
                self.orders.push(certificate.order.iter().filter(|o| real(o)).map(named).collect());
                self.legal.extend(certificate.legal.iter().filter(|o| real(o)).map(named));
                let places = certificate.order.iter().zip(&moved);
                let far = places.filter(|(o, moved)| **moved > 0 && real(o));
                self.displaced.extend(far.map(|(o, &moved)| (indices[*o as usize], moved)));
                Ok(())
            }
            Answer::Wrong(what) => Err(unknown(Reason::Disagreement(what))),
            Answer::Refuted { .. } => Err(unknown(Reason::Disagreement("a refuted answer".into()))),
        }
    }

    fn finding(self, verdict: Verdict, asked: &Asked, states: u64) -> Finding {
        let holds = verdict.is_linearizable();
        let factor = match asked.least {
            Some(_) => Some(self.factor).filter(|_| holds),
            None => Some(asked.bounds.removals),
        };
        let mut displaced = self.displaced;
        displaced.sort_unstable_by_key(|&(o, moved)| (std::cmp::Reverse(moved), o));
        let outcome = Outcome {
            verdict,
            algorithm: self.by,
            because: String::new(),
            partitions: self.partitions.max(usize::from(!self.history.is_empty())),
            states,
        };
        let (legal, needs, effort) = (self.legal, self.needs, self.effort);
        Finding { outcome, factor, legal, displaced, needs, effort }
    }
}

fn unknown(reason: Reason) -> Verdict {
    Verdict::Unknown(Unknown { reason, progress: String::new() })
}

/// The explanation with the numbers of the history instead of those of its part.
fn renamed(mut explanation: Explanation, indices: &[u32]) -> Explanation {
    let rename = |o: &mut u32| *o = indices[*o as usize];
    explanation.operations.iter_mut().for_each(rename);
    explanation.clash.iter_mut().for_each(rename);
    explanation
}
