//! Says in one sentence why a small violation is one.
//!
//! For a few operations, the smallest set of 'returned before' facts that already excludes every legal order is
//! found by dropping facts one at a time; those facts are the sentence. It needs to know nothing about the type:
//! `deq() -> 7` returned before `enq(7)` was called, but every legal order has them the other way round.
//!
//! Cost: at most 2^8 sets times the states they lead to, for each of at most 28 facts.

use std::collections::HashSet;

use super::minimise::Core;
use crate::history::{History, PENDING};
use crate::monitor::Blame;
use crate::spec::Spec;

/// A sentence and the operations that it is about.
pub(super) struct Sentence {
    pub(super) text: String,
    pub(super) clash: Vec<u32>,
}

/// Violations of more operations than this get the general sentence.
const FEW: usize = 8;

/// Explains the violation; `stuck` is the operation whose return is the first that cannot be explained. `reason`
/// is who is wrong and why, where that is known already.
pub(super) fn explain<S: Spec>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    core: &Core<S::State>,
    stuck: u32,
    reason: Option<&Blame>,
) -> Sentence {
    let story = Story::new(spec, history, core);
    // What is left out while a violation is shrunk was not to blame.
    let reason = reason.filter(|b| b.operations().iter().all(|o| core.operations.contains(o)));
    if let Some(blame) = reason
        && (blame.always || core.operations.len() > FEW)
    {
        let text = blame.told(|index| story.show(index));
        return Sentence { text, clash: blame.operations().to_vec() };
    }
    if core.operations.len() > FEW {
        let from = story.starting();
        let mut text = format!(
            "{from}no legal order of these {} operations respects their times",
            core.operations.len(),
        );
        let mut clash = Vec::new();
        if core.operations.contains(&stuck) {
            text +=
                &format!("; {} is the first whose return cannot be explained", story.show(stuck));
            clash.push(stuck);
        }
        return Sentence { text: capitalised(text), clash };
    }
    let facts = story.needed_facts();
    let mut clash: Vec<u32> = facts.iter().flat_map(|&(a, b)| [a, b]).collect();
    clash.sort_unstable();
    clash.dedup();
    let said: Vec<String> = facts
        .iter()
        .map(|&(a, b)| {
            let (a, b) = (core.operations[a as usize], core.operations[b as usize]);
            format!("{} returned before {} was called", story.show(a), story.show(b))
        })
        .collect();
    let from = story.starting();
    let text = match said.len() {
        0 if core.operations.len() == 1 => {
            let start = if core.start.is_some() { &from } else { "" };
            format!("{start}no operation explains {}", story.show(core.operations[0]))
        }
        0 => {
            let all: Vec<String> = core.operations.iter().map(|&i| story.show(i)).collect();
            format!("{from}no order of {} is legal, whatever their times", and(&all))
        }
        1 => format!("{from}{}, but every legal order has them the other way round", said[0]),
        2 => format!("{from}{} and {}: no legal order allows both", said[0], said[1]),
        _ => format!("{from}{}: no legal order allows all of this", and(&said)),
    };
    let clash = if clash.is_empty() {
        core.operations.clone()
    } else {
        clash.into_iter().map(|n| core.operations[n as usize]).collect()
    };
    Sentence { text: capitalised(text), clash }
}

/// The few operations of a violation, by their place in it.
struct Story<'a, S: Spec> {
    spec: &'a S,
    history: &'a History<S::Op, S::Ret>,
    core: &'a Core<S::State>,
    starts: Vec<S::State>,
}

impl<'a, S: Spec> Story<'a, S> {
    fn new(spec: &'a S, history: &'a History<S::Op, S::Ret>, core: &'a Core<S::State>) -> Self {
        let starts = core.start.clone().unwrap_or_else(|| vec![spec.initial()]);
        Story { spec, history, core, starts }
    }

    fn returned(&self, index: u32) -> u32 {
        let o = &self.history.operations()[index as usize];
        let cut = o.call < self.core.window.from || o.returned >= self.core.window.until;
        if cut { PENDING } else { o.returned }
    }

    fn result(&self, index: u32) -> Option<&S::Ret> {
        let known = self.returned(index) != PENDING;
        self.history.operations()[index as usize].result.as_ref().filter(|_| known)
    }

    fn show(&self, index: u32) -> String {
        let op = &self.history.operations()[index as usize].op;
        format!("`{}`", self.spec.show(op, self.result(index)))
    }

    fn starting_state(&self) -> String {
        let shown: Vec<String> = self.starts.iter().map(|s| self.spec.show_state(s)).collect();
        or(&shown)
    }

    /// `starting from 2 or 3, ` where the story does not start at the beginning.
    fn starting(&self) -> String {
        match self.core.start {
            Some(_) => format!("starting from {}, ", self.starting_state()),
            None => String::new(),
        }
    }

    /// A smallest set of facts 'a returned before b was called' that no legal order respects.
    fn needed_facts(&self) -> Vec<(u32, u32)> {
        let n = self.core.operations.len() as u32;
        let call =
            |p: u32| self.history.operations()[self.core.operations[p as usize] as usize].call;
        let mut facts: Vec<(u32, u32)> = (0..n)
            .flat_map(|a| (0..n).map(move |b| (a, b)))
            .filter(|&(a, b)| self.returned(self.core.operations[a as usize]) < call(b))
            .collect();
        // Facts that follow from others through a third operation are the first to go.
        facts.sort_by_key(|&(a, b)| call(b).abs_diff(call(a)));
        let mut i = facts.len();
        while i > 0 {
            i -= 1;
            let fact = facts.remove(i);
            if self.has_legal_order(&facts) {
                facts.insert(i, fact);
            }
        }
        facts.sort_unstable();
        facts
    }

    /// True where some order of all returned and any pending operations is legal and respects the facts.
    fn has_legal_order(&self, facts: &[(u32, u32)]) -> bool {
        let n = self.core.operations.len();
        let must: u32 = (0..n)
            .filter(|&p| self.returned(self.core.operations[p]) != PENDING)
            .map(|p| 1 << p)
            .sum();
        let mut seen: HashSet<(u32, S::State)> = HashSet::new();
        let mut waiting: Vec<(u32, S::State)> =
            self.starts.iter().map(|s| (0, s.clone())).collect();
        let mut next = Vec::new();
        while let Some((done, state)) = waiting.pop() {
            if done & must == must {
                return true;
            }
            for p in (0..n as u32).filter(|p| done >> p & 1 == 0) {
                if facts.iter().any(|&(a, b)| b == p && done >> a & 1 == 0) {
                    continue;
                }
                let index = self.core.operations[p as usize];
                let op = &self.history.operations()[index as usize].op;
                self.spec.step(&state, op, self.result(index), &mut next);
                for after in next.drain(..) {
                    if seen.insert((done | 1 << p, after.clone())) {
                        waiting.push((done | 1 << p, after));
                    }
                }
            }
        }
        false
    }
}

fn or(items: &[String]) -> String {
    join(items, "or")
}

fn and(items: &[String]) -> String {
    join(items, "and")
}

fn join(items: &[String], word: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} {word} {last}", rest.join(", ")),
    }
}

/// The sentence with a large first letter, unless it starts with an operation.
fn capitalised(text: String) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if first != '`' => first.to_uppercase().chain(chars).collect(),
        _ => text,
    }
}
