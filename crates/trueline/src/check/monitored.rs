//! Decides a part by an exact monitor, where the specification is of a known kind and the history allows it.
//!
//! Four steps: the claim to be of a kind is tested on all short sequences ([`trust`]); the operations of the part are
//! put into the words of the kind, values as numbers; the monitor decides; an order is replayed against the kind's
//! [`Model`], a violation is confirmed by the reference search like any other. Cost: O(n log n).

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::problem::Ticker;
use crate::budget::{Budget, Exhausted};
use crate::history::{History, PENDING};
use crate::monitor::{Answer, Op, Span, Why, container, mutex, pending, priority_queue};
use crate::monitor::{queue, register, set, stack};
use crate::spec::canonical::Model;
use crate::spec::{Action, Canonical, Kind, Spec};
use crate::value::Value;

/// What a monitor found. Operations are indices into the history.
pub(super) enum Found {
    Order(Vec<u32>),
    Violation {
        operations: Vec<u32>,
        /// Who is wrong and why, for a violation of too many operations to be told by their times.
        reason: Option<(u32, &'static str)>,
    },
    Exhausted(Exhausted),
    /// The order does not replay: a bug.
    Wrong(String),
}

/// The longest sequences on which a claim is tested, and from how many different operations.
const LENGTH: usize = 4;
const VARIETY: usize = 7;

/// Tests the claim on all sequences of up to four operations from the part: the specification allows exactly what
/// the model of the kind does. The error says on which sequence they differ.
pub(super) fn trust<S: Spec>(
    spec: &S,
    canonical: &Canonical<S::Op, S::Ret>,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
) -> Result<(), String> {
    let mut numbers = Numbers::default();
    // A few operations that differ in what they do; the first values that come up will do.
    let mut chosen: Vec<(u32, Action<u32>)> = Vec::new();
    for &i in indices.iter().take(100_000) {
        let o = &history.operations()[i as usize];
        let Some(result) = o.result.as_ref().filter(|_| !o.is_pending()) else { continue };
        let Some(action) = (canonical.action)(&o.op, Some(result)) else { continue };
        let action = action.map(|v| numbers.of(v));
        let same_kind = |(_, other): &&(u32, Action<u32>)| {
            std::mem::discriminant(other) == std::mem::discriminant(&action)
        };
        let known = chosen.iter().any(|(_, other)| *other == action);
        if !known && chosen.iter().filter(same_kind).count() < 2 {
            chosen.push((i, action));
        }
        if chosen.len() == VARIETY {
            break;
        }
    }
    let initial = numbers.initial(canonical);
    let order = numbers.order(canonical.kind);
    let ranked = |v: &u32| order[*v as usize];
    let actions: Vec<Action<u32>> = chosen.iter().map(|(_, a)| a.map(ranked)).collect();
    let model = Model::new(canonical.kind, &initial.iter().map(ranked).collect::<Vec<_>>());
    let mut sequences = vec![(Vec::new(), vec![spec.initial()], Some(model))];
    for _ in 0..LENGTH {
        let mut longer = Vec::new();
        for (sequence, states, model) in &sequences {
            for (n, &(i, _)) in chosen.iter().enumerate() {
                let o = &history.operations()[i as usize];
                let mut after = Vec::new();
                for state in states {
                    spec.step(state, &o.op, o.result.as_ref(), &mut after);
                }
                let modelled = model.clone().and_then(|mut m| m.apply(actions[n]).then_some(m));
                let mut sequence: Vec<u32> = sequence.clone();
                sequence.push(i);
                if after.is_empty() == modelled.is_some() {
                    let shown: Vec<String> = sequence
                        .iter()
                        .map(|&i| {
                            let o = &history.operations()[i as usize];
                            spec.show(&o.op, o.result.as_ref())
                        })
                        .collect();
                    let kind = canonical.kind;
                    return Err(format!("it is no {kind}: {} tells", shown.join(", ")));
                }
                if modelled.is_some() {
                    longer.push((sequence, after, modelled));
                }
            }
        }
        sequences = longer;
    }
    Ok(())
}

/// The name of the kind's monitor.
pub(super) fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Register => "register-monitor",
        Kind::Queue => "queue-monitor",
        Kind::Stack => "stack-monitor",
        Kind::PriorityQueue | Kind::MinPriorityQueue => "priority-queue-monitor",
        Kind::Set => "set-monitor",
        Kind::Mutex => "mutex-monitor",
    }
}

/// Why the kind's monitor may decide what it decides.
pub(super) fn permission(kind: Kind) -> &'static str {
    match kind {
        Kind::Register => "it is a register and no value is written twice",
        Kind::Set => "it is a set, each key on its own",
        Kind::Mutex => "it is a lock without owners",
        _ => "it is such a container and no value is inserted twice",
    }
}

/// Decides the part up to the event of rank `until`, or says why no monitor fits.
pub(super) fn decide<S: Spec>(
    spec: &S,
    canonical: &Canonical<S::Op, S::Ret>,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
    until: u32,
    budget: &Budget,
) -> Result<Found, String> {
    let mut part = Part::new(spec, canonical, history, indices, until)?;
    let mut exhausted = None;
    let mut step = |operations: u64| match budget.spend(operations) {
        Ok(()) => true,
        Err(why) => {
            exhausted = Some(why);
            false
        }
    };
    if !step(part.actions.len() as u64) {
        let why = exhausted.unwrap_or(Exhausted::Cancelled);
        return Ok(Found::Exhausted(why));
    }
    let answer = part.monitor(canonical.kind, step)?;
    let Some(answer) = answer else {
        return Ok(Found::Exhausted(exhausted.unwrap_or(Exhausted::Cancelled)));
    };
    Ok(match answer {
        Answer::Order(order) => match part.replay(canonical.kind, &order, budget) {
            Ok(()) => Found::Order(order.iter().map(|&n| part.index[n as usize]).collect()),
            Err(Replay::Exhausted(why)) => Found::Exhausted(why),
            Err(Replay::Wrong(what)) => Found::Wrong(what),
        },
        Answer::Violation { operations, why, .. } => {
            let mut operations: Vec<u32> =
                operations.iter().map(|&n| part.index[n as usize]).collect();
            part.add_initial(&mut operations);
            let reason = reason(why).map(|(n, text)| (part.index[n as usize], text));
            Found::Violation { operations, reason }
        }
    })
}

/// The operation that a rule blames, and what is wrong with it.
fn reason(why: Why) -> Option<(u32, &'static str)> {
    match why {
        Why::EmptyWhileCovered { empty } => Some((
            empty,
            "found nothing, but from its call to its return some value was always inside",
        )),
        Why::HigherInside { remove } => Some((
            remove,
            "came out although from its call to its return a value of higher priority was always inside",
        )),
        Why::Impossible { operation, present: true } => Some((
            operation,
            "is not possible: from its call to its return the key was there, or the lock held",
        )),
        Why::Impossible { operation, present: false } => Some((
            operation,
            "is not possible: from its call to its return the key was not there, or the lock free",
        )),
        _ => None,
    }
}

enum Replay {
    Wrong(String),
    Exhausted(Exhausted),
}

/// The operations of a part in the words of its kind.
struct Part {
    spans: Vec<Span>,
    actions: Vec<Action<u32>>,
    /// Index of each in the history.
    index: Vec<u32>,
    /// Initial contents.
    initial: Vec<u32>,
    numbers: Numbers,
}

impl Part {
    fn new<S: Spec>(
        spec: &S,
        canonical: &Canonical<S::Op, S::Ret>,
        history: &History<S::Op, S::Ret>,
        indices: &[u32],
        until: u32,
    ) -> Result<Part, String> {
        let mut numbers = Numbers::default();
        let initial = numbers.initial(canonical);
        let mut part = Part {
            spans: Vec::with_capacity(indices.len()),
            actions: Vec::with_capacity(indices.len()),
            index: Vec::with_capacity(indices.len()),
            initial,
            numbers,
        };
        for &i in indices {
            let o = &history.operations()[i as usize];
            if o.call >= until {
                break;
            }
            let returned = if o.returned >= until { PENDING } else { o.returned };
            let result = if returned == PENDING { None } else { o.result.as_ref() };
            if returned == PENDING && spec.observes(&o.op, None) {
                continue;
            }
            let Some(action) = (canonical.action)(&o.op, result) else {
                let (kind, shown) = (canonical.kind, spec.show(&o.op, result));
                return Err(format!("the {kind} monitor has no rule for {shown}"));
            };
            if result.is_none() && returned != PENDING {
                return Err(format!("the result of {} is not known", spec.show(&o.op, None)));
            }
            part.spans.push(Span { call: o.call, returned });
            part.actions.push(action.map(|v| part.numbers.of(v)));
            part.index.push(i);
        }
        Ok(part)
    }

    /// Runs the monitor of the kind; `None` where the budget is spent, an error where it does not fit.
    fn monitor(
        &mut self,
        kind: Kind,
        step: impl FnMut(u64) -> bool,
    ) -> Result<Option<Answer>, String> {
        let contains = |action| format!("{action:?} is no word for a {kind}");
        match kind {
            Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::MinPriorityQueue => {
                let operations = self.translated(|action| match action {
                    Action::Insert(v) => Ok(container::Action::Insert(v)),
                    Action::Remove(v) => Ok(container::Action::Remove(v)),
                    Action::RemoveUnknown => Ok(container::Action::RemoveUnknown),
                    Action::FoundEmpty => Ok(container::Action::Empty),
                    other => Err(contains(other)),
                })?;
                if !container::is_unambiguous(&operations, &self.initial) {
                    return Err("a value is inserted more than once".into());
                }
                let initial = &self.initial;
                Ok(match kind {
                    Kind::Queue => pending::check(&operations, initial, &queue::check, step),
                    Kind::Stack => pending::check(&operations, initial, &stack::check, step),
                    _ => {
                        let priorities = self.numbers.order(kind);
                        let monitor = |operations: &[Op<container::Action>], initial: &[u32]| {
                            priority_queue::check(operations, initial, &priorities)
                        };
                        pending::check(&operations, initial, &monitor, step)
                    }
                })
            }
            Kind::Register => {
                let operations = self.translated(|action| match action {
                    Action::Read(v) => Ok(register::Action::Read(v)),
                    Action::Write(v) => Ok(register::Action::Write(v)),
                    other => Err(contains(other)),
                })?;
                let initial = self.initial.first().copied();
                if !register::is_unambiguous(&operations, initial) {
                    return Err("a value is written more than once".into());
                }
                Ok(Some(register::check(&operations, initial)))
            }
            Kind::Set => {
                let mut key = None;
                let operations = self.translated(|action| {
                    let (set, v) = match action {
                        Action::Add(v) => (set::Action::Add, v),
                        Action::Delete(v) => (set::Action::Remove, v),
                        Action::Present(v) => (set::Action::Present, v),
                        Action::Absent(v) => (set::Action::Absent, v),
                        other => return Err(contains(other)),
                    };
                    match key.replace(v) {
                        Some(other) if other != v => Err("it does not split by key".to_string()),
                        _ => Ok(set),
                    }
                })?;
                let present = key.is_some_and(|key| self.initial.contains(&key));
                Ok(Some(set::check(&operations, present)))
            }
            Kind::Mutex => {
                let operations = self.translated(|action| match action {
                    Action::Acquire => Ok(mutex::Action::Acquire),
                    Action::Release => Ok(mutex::Action::Release),
                    Action::FoundHeld => Ok(mutex::Action::FoundHeld),
                    Action::FoundFree => Ok(mutex::Action::FoundFree),
                    other => Err(contains(other)),
                })?;
                Ok(Some(mutex::check(&operations, !self.initial.is_empty())))
            }
        }
    }

    fn translated<A>(
        &self,
        mut f: impl FnMut(Action<u32>) -> Result<A, String>,
    ) -> Result<Vec<Op<A>>, String> {
        let pairs = self.spans.iter().zip(&self.actions);
        pairs.map(|(&span, &action)| Ok(Op { span, action: f(action)? })).collect()
    }

    /// Replays an order against the model: every returned operation once, in real time order, each legal.
    fn replay(&mut self, kind: Kind, order: &[u32], budget: &Budget) -> Result<(), Replay> {
        let wrong = |what: String| Err(Replay::Wrong(what));
        let ranks = match kind {
            Kind::PriorityQueue | Kind::MinPriorityQueue => self.numbers.order(kind),
            _ => (0..self.numbers.len() as u32).collect(),
        };
        let ranked = |v: &u32| ranks[*v as usize];
        let initial: Vec<u32> = self.initial.iter().map(ranked).collect();
        let mut model = Model::new(kind, &initial);
        let mut missing: Vec<bool> = self.spans.iter().map(|_| true).collect();
        let mut latest_call = 0;
        let mut ticker = Ticker::new(budget);
        for &n in order {
            ticker.tick(|| 0).map_err(Replay::Exhausted)?;
            let span = self.spans[n as usize];
            if !std::mem::replace(&mut missing[n as usize], false) {
                return wrong(format!("operation {n} stands twice in the order"));
            }
            if span.returned < latest_call {
                return wrong(format!("operation {n} stands behind one that was called later"));
            }
            latest_call = latest_call.max(span.call);
            if !model.apply(self.actions[n as usize].map(ranked)) {
                return wrong(format!("operation {n} is not legal at its place"));
            }
        }
        match (0..missing.len()).find(|&n| missing[n] && self.spans[n].returned != PENDING) {
            Some(n) => wrong(format!("operation {n} returned but is not in the order")),
            None => Ok(()),
        }
    }

    /// Operations on values that were there from the start belong to every violation of a container: without
    /// them these values would stay inside for ever.
    fn add_initial(&self, operations: &mut Vec<u32>) {
        if self.initial.is_empty() {
            return;
        }
        for (n, action) in self.actions.iter().enumerate() {
            if matches!(action, Action::Remove(v) if self.initial.contains(v)) {
                operations.push(self.index[n]);
            }
        }
        operations.sort_unstable();
        operations.dedup();
    }
}

/// Values as numbers, by first appearance.
#[derive(Default)]
struct Numbers {
    table: HashTable<u32>,
    values: Vec<Value>,
}

impl Numbers {
    fn len(&self) -> usize {
        self.values.len()
    }

    /// The initial contents. A register that is not told otherwise holds nil.
    fn initial<Op, Ret>(&mut self, canonical: &Canonical<Op, Ret>) -> Vec<u32> {
        if canonical.kind == Kind::Register && canonical.initial.is_empty() {
            return vec![self.of(&Value::Nil)];
        }
        canonical.initial.iter().map(|v| self.of(v)).collect()
    }

    fn of(&mut self, value: &Value) -> u32 {
        let hasher = FixedState::default();
        let values = &mut self.values;
        let entry = self.table.entry(
            hasher.hash_one(value),
            |&n| values[n as usize] == *value,
            |&n| hasher.hash_one(&values[n as usize]),
        );
        *entry
            .or_insert_with(|| {
                values.push(value.clone());
                values.len() as u32 - 1
            })
            .get()
    }

    /// The rank of each value's priority; of other kinds, the number itself.
    fn order(&self, kind: Kind) -> Vec<u32> {
        let mut sorted: Vec<u32> = (0..self.values.len() as u32).collect();
        match kind {
            Kind::PriorityQueue => {
                sorted.sort_unstable_by(|&a, &b| {
                    self.values[a as usize].cmp(&self.values[b as usize])
                });
            }
            Kind::MinPriorityQueue => {
                sorted.sort_unstable_by(|&a, &b| {
                    self.values[b as usize].cmp(&self.values[a as usize])
                });
            }
            _ => {}
        }
        let mut ranks = vec![0; sorted.len()];
        for (rank, &number) in sorted.iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        ranks
    }
}
