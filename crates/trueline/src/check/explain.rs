//! Explains in one sentence why a small violation is one.
//!
//! If the kind of object is known, a rule of [`super::sentences`] gives the sentence. Otherwise, for
//! a few operations, the smallest set of 'returned before' facts that excludes every legal order is
//! found by dropping facts one at a time; those facts make the sentence. This needs no knowledge of
//! the type: `deq() -> 7` returned before `enq(7)` was called, but every legal order has them the
//! other way round.
//!
//! Cost: at most 2^8 sets times the states they lead to, for each of at most 28 facts.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::minimise::Core;
use super::problem::{Decision, Problem, Ticker, Window};
use super::search::{self, Which};
use super::sentences::{self, Actor, Draft, Scene, and};
use crate::history::PENDING;
use crate::monitor::Blame;
use crate::spec::OpaqueState;
use crate::spec::subject::{Recorded, Subject};
use crate::spec::vocabulary::{Act, Family, Needs, Portrait};
use crate::value::Value;

/// A sentence and the operations that it is about.
pub(super) struct Sentence {
    pub(super) text: String,
    pub(super) clash: Vec<u32>,
}

/// Violations of more operations than this get the general sentence.
const FEW: usize = 8;
/// How many drafts are tried, and the steps for confirming one.
const TRIED: usize = 12;
const CONFIRM: u64 = 1 << 16;
/// In longer histories, operations are not compared to find some that look alike.
const COMPARED: usize = 4096;
/// Longer operations are cut.
pub(crate) const LONG: usize = 80;
/// A longer draft is no better than the explanation by times.
const SHORT: usize = 12;

/// Explains the violation in the terms of its kind of object, and returns the operations that it
/// uses. That these are a violation in themselves is confirmed here. `complete`: `operations`
/// contain everything that touches their values. Operations that return after `until` count as
/// pending.
pub(super) fn by_kind(
    subject: &Subject<'_>,
    operations: &[u32],
    complete: bool,
    first_bad: Option<u32>,
    reorders: bool,
    ticker: &mut Ticker<'_>,
) -> Option<(Sentence, Vec<u32>)> {
    if operations.len() > sentences::MOST {
        return None;
    }
    let (spec, history) = (&subject.spec, &subject.history);
    let portrait = spec.portrait()?;
    let mut cast = Vec::new();
    let mut indices = Vec::new();
    for &index in operations {
        let o = &history.operations()[index as usize];
        let operation = Window::ALL.recorded(history, index);
        if o.returned == PENDING && spec.observes(operation) {
            continue;
        }
        if o.result.is_none() && o.returned != PENDING {
            return None;
        }
        let act = spec.act(operation)?;
        cast.push(Actor { call: o.call, returned: o.returned, act });
        indices.push(index);
    }
    let appends = cast.iter().any(|a| matches!(a.act, Act::AppendText(_)));
    if portrait.family == Family::Kv && !appends {
        cast.iter_mut().for_each(|a| a.act = as_cell(&a.act));
    }
    let Portrait { family, mut initial, capacity, .. } = portrait;
    if family == Family::Multiset {
        initial = Some(vec![Value::Int(as_level(&mut cast, initial.as_deref()?)?)]);
    }
    let first = first_bad.and_then(|bad| indices.binary_search(&bad).ok());
    let scene = Scene { family, initial, capacity, cast, first, complete };
    let mut drafts: Vec<(Draft, Vec<u32>)> = sentences::drafts(&scene)
        .into_iter()
        .map(|draft| {
            let cast = draft.cast().into_iter().map(|place| indices[place]).collect();
            (draft, cast)
        })
        .collect();
    // The note on the first unexplained return should be about the same operation.
    let is_later = |index: u32, bad: u32| {
        let at = |i: u32| &history.operations()[i as usize];
        at(index).call > at(bad).returned
    };
    drafts.sort_by_key(|(draft, cast): &(Draft, Vec<u32>)| {
        let leads = draft.subject().map(|place| indices[place]);
        let is_other = first_bad.is_some_and(|bad| {
            !cast.contains(&bad) || leads.is_some_and(|leads| is_later(leads, bad))
        });
        (cast.len() > SHORT, is_other, cast.len())
    });
    for (draft, cast) in drafts.into_iter().take(TRIED) {
        let problem = Problem::new(subject, &cast, Window::ALL).reordering(reorders);
        let found = search::search(&problem, ticker, Which::Both, CONFIRM).decision;
        if !matches!(found, Ok(Some(Decision::Stuck(_)))) {
            continue;
        }
        let show = |index: u32| spec.show(Window::ALL.recorded(history, index));
        let names = Names::new(subject, Window::ALL, &cast, &show);
        let mut clash: Vec<u32> = draft.named().into_iter().map(|place| indices[place]).collect();
        clash.sort_unstable();
        let text = draft.render(|place| names.name(indices[place]));
        return Some((Sentence { text, clash }, cast));
    }
    None
}

/// Counts one value of a multiset: how often it is there initially. `None` where there are several.
fn as_level(cast: &mut [Actor], initial: &[Value]) -> Option<i64> {
    let mut counted: Option<Value> = None;
    for actor in cast {
        if let Act::Often(value, needs, change) = &actor.act {
            if counted.get_or_insert_with(|| value.clone()) != value {
                return None;
            }
            actor.act = Act::Level(*needs, *change);
        }
    }
    Some(initial.iter().filter(|v| Some(*v) == counted.as_ref()).count() as i64)
}

/// A text that is only put and got is a register.
fn as_cell(act: &Act) -> Act {
    match act {
        Act::Text(text) => Act::Cell(Value::Nil, Needs::Is(Value::Text(text.clone())), None),
        Act::PutText(text) => Act::Cell(Value::Nil, Needs::Any, Some(Value::Text(text.clone()))),
        other => other.clone(),
    }
}

/// Operations as text. If one looks like another of the same object and key, the text distinguishes
/// them: by process, else by line, else by their order of calls. In a long history, only the
/// operations that a sentence may name are compared.
///
/// A sentence names few of the shown operations, so names are made on demand. Cost of a name: one
/// comparison with each operation, and a text for each that may look alike.
pub(crate) struct Names<'a> {
    subject: &'a Subject<'a>,
    /// The window that decides which results are shown.
    window: Window,
    named: &'a [u32],
    show: &'a dyn Fn(u32) -> String,
    /// Of operations that are equal to the specification, equal texts are shown.
    is_exact: bool,
    /// The operations that may be named, by their text.
    by_text: OnceCell<HashMap<String, Vec<u32>>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(
        subject: &'a Subject<'a>,
        window: Window,
        named: &'a [u32],
        show: &'a dyn Fn(u32) -> String,
    ) -> Names<'a> {
        Names { subject, window, named, show, is_exact: true, by_text: OnceCell::new() }
    }

    /// The same, with operations shown in other terms than the subject's.
    pub(crate) fn named_otherwise(self) -> Names<'a> {
        Names { is_exact: false, ..self }
    }

    /// The text of an operation. It does not mention that the result is unknown.
    fn shown(&self, index: u32) -> String {
        let text = (self.show)(index);
        text.strip_suffix(" -> ?").map_or(text.clone(), String::from)
    }

    /// The operations of the same object and key of which the same is shown, ascending.
    fn alike(&self, index: u32, shown: &str) -> Vec<u32> {
        let history = &self.subject.history;
        let by_text = self.by_text.get_or_init(|| {
            let mut all: HashMap<String, Vec<u32>> = HashMap::new();
            for &i in self.named {
                all.entry(self.shown(i)).or_default().push(i);
            }
            all
        });
        let mut alike = by_text.get(shown).cloned().unwrap_or_default();
        if history.len() <= COMPARED {
            let recorded = |i: u32| self.window.recorded(history, i);
            let spec = &self.subject.spec;
            let own = recorded(index);
            let is_alike = |&i: &u32| {
                let other = recorded(i);
                spec.may_look_alike(other, own)
                    && ((self.is_exact && spec.are_equal(other, own)) || self.shown(i) == shown)
            };
            alike.extend((0..history.len() as u32).filter(is_alike));
        }
        let part = |i: u32| history.operations()[i as usize].part;
        alike.retain(|&i| part(i) == part(index));
        alike.sort_unstable();
        alike.dedup();
        alike
    }

    /// The name of an operation.
    pub(crate) fn name(&self, index: u32) -> String {
        let history = &self.subject.history;
        let at = |i: u32| &history.operations()[i as usize];
        let shown = self.shown(index);
        let alike = self.alike(index, &shown);
        let text = format!("`{}`", sentences::cut(shown, LONG));
        if alike.len() < 2 {
            return text;
        }
        let differ = |f: &dyn Fn(u32) -> u32| {
            let mut keys: Vec<u32> = alike.iter().map(|&i| f(i)).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.len() == alike.len() && !keys.contains(&u32::MAX)
        };
        let line = |i: u32| if at(i).line == 0 { u32::MAX } else { at(i).line };
        let column = |i: u32| if at(i).column == 0 { u32::MAX } else { at(i).column };
        if differ(&|i| at(i).process) {
            let process = &history.processes()[at(index).process as usize];
            return format!("{text} of {} {process}", history.callers().noun());
        }
        if differ(&line) {
            return format!("{text} in line {}", at(index).line);
        }
        if differ(&column) {
            return format!("{text} in column {}", at(index).column);
        }
        let number = alike.iter().position(|&i| i == index).map_or(0, |place| place + 1);
        format!("{text} (number {number} of {})", alike.len())
    }
}

/// Explains the violation by times; `core.first_bad` is the operation with the first unexplained
/// return. `reason` blames an operation, if that is known already. `is_whole`: no forgotten
/// operation came before, as may happen in a stream.
pub(super) fn explain(
    subject: &Subject<'_>,
    core: &Core,
    reason: Option<&Blame>,
    is_whole: bool,
) -> Sentence {
    let mut sentence = by_times(subject, core, reason, is_whole);
    if let Some(promise) = subject.spec.portrait().and_then(|portrait| portrait.promise) {
        sentence.text += &format!("; {promise}");
    }
    sentence
}

fn by_times(
    subject: &Subject<'_>,
    core: &Core,
    reason: Option<&Blame>,
    is_whole: bool,
) -> Sentence {
    let show = |index: u32| subject.spec.show(core.window.recorded(&subject.history, index));
    let names = Names::new(subject, core.window, &core.operations, &show);
    let story = Story::new(subject, core, &names);
    // What is left out while a violation is shrunk was not to blame.
    let reason = reason.filter(|b| b.operations().iter().all(|o| core.operations.contains(o)));
    if let Some(blame) = reason
        && (blame.always || core.operations.len() > FEW)
    {
        let text = blame.render(|index| story.show(index));
        return Sentence { text, clash: blame.operations().to_vec() };
    }
    let from = story.starting();
    if core.operations.len() > FEW {
        let mut text = format!(
            "{from}no legal order of these {} operations respects their times",
            core.operations.len(),
        );
        let mut clash = Vec::new();
        if let Some(first_bad) = core.first_bad
            && core.operations.contains(&first_bad)
        {
            let shown = story.show(first_bad);
            text += &format!("; {shown} is the first whose return cannot be explained");
            clash.push(first_bad);
        }
        return Sentence { text: capitalised(text), clash };
    }
    let facts = story.needed_facts();
    let mut clash: Vec<u32> = facts.iter().flat_map(|&(a, b)| [a, b]).collect();
    let said: Vec<String> = facts
        .iter()
        .map(|&(a, b)| {
            let (a, b) = (core.operations[a as usize], core.operations[b as usize]);
            format!("{} returned before {} was called", story.show(a), story.show(b))
        })
        .collect();
    let all: Vec<String> = core.operations.iter().map(|&i| story.show(i)).collect();
    let culprit = story.culprit();
    let before = if is_whole { "" } else { " after what came before" };
    // Of one operation alone it is not seen that it needs what came before.
    let follows = |index: u32| {
        let call = subject.history.operations()[index as usize].call;
        subject.history.operations().iter().any(|o| o.returned < call)
    };
    let is_alone = from.is_empty() && matches!(core.operations[..], [one] if follows(one));
    let before = if is_alone { " after what came before" } else { before };
    let text = match (culprit, said.len()) {
        (_, 0) if core.operations.len() == 1 => {
            format!("{from}no order allows {}{before}", all[0])
        }
        (_, 0) => {
            format!("{from}no order of {} is legal{before}, whatever their times", and(&all))
        }
        (Some(culprit), _) => {
            clash.push(culprit);
            let others = core.operations.len() - 1;
            let order = match others {
                1 => "the other operation".to_string(),
                n => format!("the other {n} operations"),
            };
            let shown = story.show(core.operations[culprit as usize]);
            format!("{from}{shown} fits into no legal order of {order}: {}", and(&said))
        }
        (None, 1) => {
            format!("{from}{}, but every legal order has them the other way round", said[0])
        }
        (None, _) => format!("{from}{}: no legal order allows all of this", and(&said)),
    };
    clash.sort_unstable();
    clash.dedup();
    let clash = if clash.is_empty() {
        core.operations.clone()
    } else {
        clash.into_iter().map(|n| core.operations[n as usize]).collect()
    };
    Sentence { text: capitalised(text), clash }
}

/// The few operations of a violation, by their place in it.
struct Story<'a> {
    subject: &'a Subject<'a>,
    core: &'a Core,
    starts: Vec<OpaqueState>,
    names: &'a Names<'a>,
}

impl<'a> Story<'a> {
    fn new(subject: &'a Subject<'a>, core: &'a Core, names: &'a Names<'a>) -> Self {
        let starts = core.start.clone().unwrap_or_else(|| vec![subject.spec.initial()]);
        Story { subject, core, starts, names }
    }

    fn returned(&self, index: u32) -> u32 {
        self.core.window.returned(&self.subject.history.operations()[index as usize])
    }

    /// The operation, as the window of the story shows it.
    fn recorded(&self, index: u32) -> Recorded {
        self.core.window.recorded(&self.subject.history, index)
    }

    fn show(&self, index: u32) -> String {
        match self.core.operations.binary_search(&index) {
            Ok(_) => self.names.name(index),
            Err(_) => format!("`{}`", self.subject.spec.show(self.recorded(index))),
        }
    }

    /// An operation without which the others have a legal order: the one with the first unexplained
    /// return, else the one that returned last.
    fn culprit(&self) -> Option<u32> {
        let operations = &self.core.operations;
        let mut places: Vec<u32> = (0..operations.len() as u32).collect();
        let has_result = |index: u32| {
            let o = &self.subject.history.operations()[index as usize];
            self.recorded(index).has_result && o.result.is_some()
        };
        places.retain(|&p| has_result(operations[p as usize]));
        places.sort_by_key(|&p| {
            let index = operations[p as usize];
            (self.core.first_bad == Some(index), self.returned(index))
        });
        let facts = self.facts();
        places.into_iter().rev().find(|&p| self.has_legal_order(&facts, Some(p)))
    }

    fn starting_state(&self) -> String {
        let shown: Vec<String> =
            self.starts.iter().map(|s| self.subject.spec.show_state(s)).collect();
        or(&shown)
    }

    /// The state of the object, if the story does not start at the beginning.
    fn starting(&self) -> String {
        match self.core.start {
            Some(_) => format!(
                "the operations before these leave the object at {}, whatever their order; then ",
                self.starting_state()
            ),
            None => String::new(),
        }
    }

    /// All facts 'a returned before b was called'.
    fn facts(&self) -> Vec<(u32, u32)> {
        let n = self.core.operations.len() as u32;
        let operations = self.subject.history.operations();
        let call = |p: u32| operations[self.core.operations[p as usize] as usize].call;
        let mut facts: Vec<(u32, u32)> = (0..n)
            .flat_map(|a| (0..n).map(move |b| (a, b)))
            .filter(|&(a, b)| self.returned(self.core.operations[a as usize]) < call(b))
            .collect();
        // Facts that follow from others through a third operation are the first to go.
        facts.sort_by_key(|&(a, b)| call(b).abs_diff(call(a)));
        facts
    }

    /// A smallest set of facts that no legal order respects.
    fn needed_facts(&self) -> Vec<(u32, u32)> {
        let mut facts = self.facts();
        let mut i = facts.len();
        while i > 0 {
            i -= 1;
            let fact = facts.remove(i);
            if self.has_legal_order(&facts, None) {
                facts.insert(i, fact);
            }
        }
        facts.sort_unstable();
        facts
    }

    /// Whether some order of all returned and any pending operations, except `without`, is legal
    /// and respects the facts.
    fn has_legal_order(&self, facts: &[(u32, u32)], without: Option<u32>) -> bool {
        let n = self.core.operations.len();
        let must: u32 = (0..n)
            .filter(|&p| self.returned(self.core.operations[p]) != PENDING)
            .filter(|&p| without != Some(p as u32))
            .map(|p| 1 << p)
            .sum();
        let operations: Vec<Recorded> =
            self.core.operations.iter().map(|&index| self.recorded(index)).collect();
        let mut states = self.subject.spec.states(&operations);
        let mut seen: HashSet<(u32, u32)> = HashSet::new();
        let mut waiting: Vec<(u32, u32)> =
            self.starts.iter().map(|start| (0, states.admit(start))).collect();
        let mut next = Vec::new();
        while let Some((done, state)) = waiting.pop() {
            if done & must == must {
                return true;
            }
            for p in (0..n as u32).filter(|&p| done >> p & 1 == 0 && without != Some(p)) {
                let waits =
                    |&(a, b): &(u32, u32)| b == p && done >> a & 1 == 0 && without != Some(a);
                if facts.iter().any(waits) {
                    continue;
                }
                states.step(state, p, &mut next);
                for after in next.drain(..) {
                    if seen.insert((done | 1 << p, after)) {
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
