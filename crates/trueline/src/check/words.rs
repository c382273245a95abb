//! Operations as actions of a kind of object, with values as numbers; the kind's monitor decides
//! them.
//!
//! This module does not depend on the specification, so it is compiled once. An order from a
//! monitor is replayed against an object of the kind before it is returned. Cost: O(n log n); 16
//! bytes per operation, besides the needs of the monitor.

mod blame;
mod dense;

use std::hint;
use std::ops::RangeInclusive;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use rayon::prelude::*;
use smallvec::SmallVec;

use dense::Dense;

use super::problem::Ticker;
use super::{gaps, sentences};
use crate::budget::{Budget, Exhausted};
use crate::history::PENDING;
use crate::monitor::{Answer, Blame, Op, Span, Why, container, mutex, pending, priority_queue};
use crate::monitor::{queue, register, set, snapshot, stack};
use crate::spec::canonical::Lists;
use crate::spec::subject::Claim;
use crate::spec::{Action, Items, Kind};
use crate::value::Value;

/// Parts of fewer operations than this are not charged to the budget one by one.
const SMALL: usize = 256;

/// An operation as an action of a kind.
pub(super) type Word = Op<Action<u32>>;

/// The finding of a monitor. Operations are numbers of words.
pub(super) enum Found {
    Order(Vec<u32>),
    Violation {
        operations: Vec<u32>,
        /// These and everything else that touches their values; `None` if that is too much.
        scene: Vec<u32>,
        /// Which operation is wrong and why, if the violation has too many operations for an
        /// explanation by times.
        reason: Option<Blame>,
    },
    Exhausted(Exhausted),
    /// The order does not replay: a bug.
    Wrong(String),
}

impl Found {
    /// The same with other names for the operations.
    pub(super) fn renamed(self, name: impl Fn(u32) -> u32) -> Found {
        match self {
            Found::Order(mut order) => {
                order.iter_mut().for_each(|n| *n = name(*n));
                Found::Order(order)
            }
            Found::Violation { mut operations, mut scene, reason } => {
                operations.iter_mut().chain(&mut scene).for_each(|n| *n = name(*n));
                let reason = reason.and_then(|blame| blame.renamed(|n| Some(name(n))));
                Found::Violation { operations, scene, reason }
            }
            other => other,
        }
    }
}

/// A kind of object, its initial contents, and the numbers of its values.
pub(super) struct Words {
    kind: Kind,
    initial: Vec<u32>,
    /// How many values have a number.
    count: u32,
    dense: Dense,
    ints: HashMap<i64, u32, FixedState>,
    others: HashMap<Value, u32, FixedState>,
    /// The rank of each value's priority; empty for kinds without.
    priorities: Vec<u32>,
    /// The values that the scans of a snapshot object return.
    lists: Arc<Lists>,
}

impl Words {
    pub(super) fn new(claim: &Claim) -> Words {
        let mut words = Words {
            kind: claim.kind,
            initial: Vec::new(),
            count: 0,
            dense: Dense::default(),
            ints: HashMap::default(),
            others: HashMap::default(),
            priorities: Vec::new(),
            lists: Arc::default(),
        };
        words.initial = claim.initial.iter().map(|v| words.number(v)).collect();
        if words.kind == Kind::Set {
            words.initial.sort_unstable();
            words.initial.dedup();
        }
        if words.kind == Kind::Register && words.initial.is_empty() {
            // A register without another initial value holds nil.
            words.initial = vec![words.number(&Value::Nil)];
        }
        words
    }

    /// The action on numbers.
    pub(super) fn numbered(&mut self, action: &Action) -> Action<u32> {
        if let Action::Scan(shown) = action {
            return Action::Scan(self.list(shown));
        }
        action.map(|v| self.number(v))
    }

    /// The number of a list of values, which have numbers of their own.
    fn list(&mut self, shown: &Value) -> u32 {
        let number = self.number(shown);
        if !self.lists.knows(number) {
            let entries = shown.as_list().unwrap_or_default();
            let entries: SmallVec<[u32; 32]> = entries.iter().map(|v| self.number(v)).collect();
            Arc::make_mut(&mut self.lists).add(number, &entries);
        }
        number
    }

    /// Makes room for the values of this many operations, most of whose whole numbers are in this
    /// range.
    pub(super) fn reserve(&mut self, operations: usize, range: Option<RangeInclusive<i64>>) {
        let Some(range) = range else { return };
        let Some(mut dense) = Dense::new(range, operations) else {
            self.ints.reserve(operations / 2);
            return;
        };
        // Values that already have a number keep it.
        self.ints.retain(|&n, number| match dense.place(n) {
            Some(place) => {
                *place = *number;
                false
            }
            None => true,
        });
        self.dense = dense;
    }

    fn number(&mut self, value: &Value) -> u32 {
        let place = match value {
            // Histories consist mostly of whole numbers: tables of their own avoid hashing the
            // value.
            &Value::Int(n) => match self.dense.place(n) {
                Some(place) => place,
                None => self.ints.entry(n).or_insert(u32::MAX),
            },
            value => self.others.entry_ref(value).or_insert(u32::MAX),
        };
        // No branch here, because it would be unpredictable: each misprediction would wait for the
        // memory.
        let fresh = *place == u32::MAX;
        *place = hint::select_unpredictable(fresh, self.count, *place);
        self.count += u32::from(fresh);
        *place
    }

    /// After the last value: ranks the values, and frees what is not needed any more.
    pub(super) fn rank_values(&mut self) {
        let (ints, others) = (std::mem::take(&mut self.ints), std::mem::take(&mut self.others));
        let dense = std::mem::take(&mut self.dense);
        if !matches!(self.kind, Kind::PriorityQueue | Kind::MinPriorityQueue) {
            return;
        }
        if ints.is_empty() && others.is_empty() {
            self.rank(dense.numbered().map(|(_, number)| number));
            return;
        }
        if others.keys().any(|value| matches!(value, Value::Decimal(_))) {
            // Fractions and large numbers stand among the whole numbers of 64 bits.
            let whole = ints.into_iter().chain(dense.numbered());
            let mut all: Vec<(Value, u32)> = whole.map(|(n, number)| (n.into(), number)).collect();
            all.extend(others);
            all.par_sort_unstable();
            self.rank(all.into_iter().map(|(_, number)| number));
            return;
        }
        // Whole numbers sort before texts and lists, behind nil and truth values.
        let mut small: Vec<(i64, u32)> = ints.into_iter().collect();
        small.par_sort_unstable();
        let sparse = small.len();
        small.extend(dense.numbered());
        if sparse > 0 {
            // Two ascending runs, which the stable sort merges.
            small.sort();
        }
        let mut large: Vec<(Value, u32)> = others.into_iter().collect();
        large.sort_unstable();
        let before = large.partition_point(|(value, _)| *value < Value::Int(i64::MIN));
        let numbers = large[..before].iter().map(|&(_, n)| n);
        let numbers = numbers.chain(small.iter().map(|&(_, n)| n));
        self.rank(numbers.chain(large[before..].iter().map(|&(_, n)| n)));
    }

    /// Gives the values, in ascending order, their priorities.
    fn rank(&mut self, ascending: impl Iterator<Item = u32>) {
        let count = self.count as usize;
        let mut priorities = vec![0; count];
        for (rank, number) in ascending.enumerate() {
            let smallest_first = self.kind == Kind::MinPriorityQueue;
            let priority = if smallest_first { count - 1 - rank } else { rank };
            priorities[number as usize] = priority as u32;
        }
        self.priorities = priorities;
    }

    /// The sequential object at its start, for actions on these values: of a set, only these count.
    /// Values are ranked if the kind has priorities.
    pub(super) fn start(&self, values: impl Iterator<Item = u32>) -> Items<u32> {
        if self.kind == Kind::Set {
            let mut initial: SmallVec<[u32; 4]> = SmallVec::new();
            for value in values {
                if self.holds(value) && !initial.contains(&value) {
                    initial.push(value);
                }
            }
            return self.kind.start(&initial);
        }
        let initial: Vec<u32> = self.initial.iter().map(|v| self.ranked(v)).collect();
        self.kind.start(&initial)
    }

    /// Performs an action with ranked values; returns false if it is not legal.
    pub(super) fn apply(&self, state: &mut Items<u32>, action: Action<u32>) -> bool {
        self.kind.apply(state, action, &self.lists)
    }

    /// Whether a set contains this value initially.
    fn holds(&self, value: u32) -> bool {
        self.initial.binary_search(&value).is_ok()
    }

    /// A value as the model wants it.
    pub(super) fn ranked(&self, value: &u32) -> u32 {
        self.priorities.get(*value as usize).copied().unwrap_or(*value)
    }

    /// Decides, or returns why the monitor does not fit. Call [`Words::rank_values`] first.
    pub(super) fn decide(&self, words: &[Word], budget: &Budget) -> Result<Found, String> {
        match self.decide_in_stretches(words, gaps::STRETCH, budget) {
            Some(found) => found,
            None => self.decide_whole(words, false, budget),
        }
    }

    /// Decides the stretches of a container between moments when it can be taken to be empty, if
    /// there are such moments. The first violation counts.
    pub(super) fn decide_in_stretches(
        &self,
        words: &[Word],
        length: usize,
        budget: &Budget,
    ) -> Option<Result<Found, String>> {
        match self.kind {
            Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::MinPriorityQueue => {
                let stretches = gaps::stretches(words, &self.initial, self.count, length)?;
                Some(self.decide_each(words, &stretches, budget))
            }
            _ => None,
        }
    }

    fn decide_each(
        &self,
        words: &[Word],
        stretches: &[Vec<u32>],
        budget: &Budget,
    ) -> Result<Found, String> {
        let last = stretches.len() - 1;
        let decide = |(at, stretch): (usize, &Vec<u32>)| {
            let (part, said) = self.part(words, stretch, at == 0);
            let found = part.decide_whole(&said, at < last, budget);
            found.map(|found| found.renamed(|n| stretch[n as usize]))
        };
        let all: Vec<_> = stretches.par_iter().enumerate().map(decide).collect();
        let mut order = Vec::with_capacity(words.len());
        let mut latest_call = 0;
        for (stretch, found) in stretches.iter().zip(all) {
            let spans = || stretch.iter().map(|&n| words[n as usize].span);
            if spans().any(|span| span.returned < latest_call) {
                let what = "an operation stands behind a stretch that was called later";
                return Ok(Found::Wrong(what.into()));
            }
            latest_call = spans().fold(latest_call, |latest, span| latest.max(span.call));
            match found? {
                Found::Order(part) => order.extend_from_slice(&part),
                Found::Violation { mut operations, mut scene, reason } => {
                    self.add_initial(words, &mut operations);
                    if !scene.is_empty() {
                        self.add_initial(words, &mut scene);
                    }
                    return Ok(Found::Violation { operations, scene, reason });
                }
                other => return Ok(other),
            }
        }
        Ok(Found::Order(order))
    }

    /// Some of the words, with ranks and values that start at zero.
    fn part(&self, words: &[Word], numbers: &[u32], is_first: bool) -> (Words, Vec<Word>) {
        let each = || numbers.iter().map(|&n| &words[n as usize]);
        let (mut call, mut least, mut count) = (u32::MAX, u32::MAX, 0);
        for word in each() {
            call = call.min(word.span.call);
            if let Some(value) = word.action.value() {
                (least, count) = (least.min(value), count.max(value + 1));
            }
        }
        if is_first || least == u32::MAX {
            least = 0;
        }
        let said = each().map(|word| {
            let Span { call: from, returned } = word.span;
            let returned = if returned == PENDING { PENDING } else { returned - call };
            let span = Span { call: from - call, returned };
            Op { span, action: word.action.map(|v| v - least) }
        });
        let part = Words {
            kind: self.kind,
            initial: if is_first { self.initial.clone() } else { Vec::new() },
            count: count - least.min(count),
            dense: Dense::default(),
            ints: HashMap::default(),
            others: HashMap::default(),
            priorities: match self.priorities.get(least as usize..) {
                Some(rest) => rest[..rest.len().min((count - least) as usize)].to_vec(),
                None => Vec::new(),
            },
            lists: Arc::default(),
        };
        (part, said.collect())
    }

    /// Decides without cutting. `ends_empty`: another stretch follows, which starts empty.
    pub(super) fn decide_whole(
        &self,
        words: &[Word],
        ends_empty: bool,
        budget: &Budget,
    ) -> Result<Found, String> {
        let mut exhausted = None;
        let mut step = |operations: u64| match budget.spend(operations) {
            Ok(()) => true,
            Err(why) => {
                exhausted = Some(why);
                false
            }
        };
        if !ends_empty && self.is_sequential(words) {
            return Ok(Found::Order((0..words.len() as u32).collect()));
        }
        let charged = words.len() < SMALL || step(words.len() as u64);
        let answer = if charged { self.monitor(words, &mut step)? } else { None };
        let Some(answer) = answer else {
            return Ok(Found::Exhausted(exhausted.unwrap_or(Exhausted::Cancelled)));
        };
        Ok(match answer {
            Answer::Order(order) => match self.replay(words, &order, ends_empty, budget) {
                Ok(()) => Found::Order(order),
                Err(refused) => refused,
            },
            Answer::Violation { mut operations, why, .. } => {
                self.add_initial(words, &mut operations);
                let scene = self.scene(words, &operations);
                Found::Violation { operations, scene, reason: blame::reason(why) }
            }
        })
    }

    /// Whether no two operations overlap, and their only order is legal.
    pub(super) fn is_sequential(&self, words: &[Word]) -> bool {
        if !words.windows(2).all(|pair| pair[0].span.returned < pair[1].span.call) {
            return false;
        }
        let mut state = self.start(words.iter().filter_map(|w| w.action.value()));
        words.iter().all(|word| self.apply(&mut state, word.action.map(|v| self.ranked(v))))
    }

    /// Runs the monitor of the kind; returns `None` if the budget is spent, an error if the monitor
    /// does not fit.
    fn monitor(
        &self,
        words: &[Word],
        step: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Answer>, String> {
        let kind = self.kind;
        let strange = |action| format!("{action:?} is no word for a {kind}");
        match kind {
            Kind::Queue => self.container(words, &queue::check, step),
            Kind::Stack => self.container(words, &stack::check, step),
            Kind::PriorityQueue | Kind::MinPriorityQueue => {
                let monitor = |operations: &[Op<container::Action>], initial: &[u32]| {
                    priority_queue::check(operations, initial, &self.priorities)
                };
                self.container(words, &monitor, step)
            }
            Kind::Register => {
                let operations = translated(words, |action| match action {
                    Action::Read(v) => Ok(register::Action::Read(v)),
                    Action::Write(v) => Ok(register::Action::Write(v)),
                    other => Err(strange(other)),
                })?;
                let initial = self.initial.first().copied();
                if !register::is_unambiguous(&operations, initial) {
                    return Err("a value is written more than once".into());
                }
                Ok(Some(register::check(&operations, initial)))
            }
            Kind::Set => {
                let mut key = None;
                let operations = translated(words, |action| {
                    let (set, v) = match action {
                        Action::Add(v) => (set::Action::Add, v),
                        Action::Delete(v) => (set::Action::Remove, v),
                        Action::Present(v) => (set::Action::Present, v),
                        Action::Absent(v) => (set::Action::Absent, v),
                        other => return Err(strange(other)),
                    };
                    match key.replace(v) {
                        Some(other) if other != v => Err("it does not split by key".to_string()),
                        _ => Ok(set),
                    }
                })?;
                let present = key.is_some_and(|key| self.holds(key));
                Ok(Some(set::check(&operations, present, false)))
            }
            Kind::Mutex => {
                let operations = translated(words, |action| match action {
                    Action::Acquire => Ok(mutex::Action::Acquire),
                    Action::Release => Ok(mutex::Action::Release),
                    Action::FoundHeld => Ok(mutex::Action::FoundHeld),
                    Action::FoundFree => Ok(mutex::Action::FoundFree),
                    other => Err(strange(other)),
                })?;
                Ok(Some(mutex::check(&operations, !self.initial.is_empty())))
            }
            Kind::Snapshot => {
                let operations = translated(words, |action| match action {
                    Action::Update(segment, value) => Ok(snapshot::Action::Update(segment, value)),
                    Action::Scan(list) => Ok(snapshot::Action::Scan(list)),
                    other => Err(strange(other)),
                })?;
                let initial = self.initial.first().copied().unwrap_or(0);
                snapshot::check(&operations, &self.lists, initial).map(Some)
            }
        }
    }

    fn container(
        &self,
        words: &[Word],
        monitor: pending::Monitor<'_>,
        step: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Answer>, String> {
        let operations = translated(words, |action| match action {
            Action::Insert(v) => Ok(container::Action::Insert(v)),
            Action::Remove(v) => Ok(container::Action::Remove(v)),
            Action::RemoveUnknown => Ok(container::Action::RemoveUnknown),
            Action::FoundEmpty => Ok(container::Action::Empty),
            other => Err(format!("{other:?} is no word for a {}", self.kind)),
        })?;
        if !container::is_unambiguous(&operations, &self.initial) {
            return match self.overdrawn(words) {
                Some(operations) => {
                    let (initial, why) = (Vec::new(), Why::EveryAssignment);
                    Ok(Some(Answer::Violation { operations, initial, why }))
                }
                None => Err("a value is inserted more than once".into()),
            };
        }
        if words.iter().any(|w| w.action == Action::RemoveUnknown) {
            return Ok(pending::check(&operations, &self.initial, monitor, step));
        }
        Ok(Some(monitor(&operations, &self.initial)))
    }

    /// All operations of the first value that was removed more often than it can have been
    /// inserted, if there is one: a violation in any order, even if values repeat.
    fn overdrawn(&self, words: &[Word]) -> Option<Vec<u32>> {
        let mut balance: HashMap<u32, i64, FixedState> = HashMap::default();
        for &value in &self.initial {
            *balance.entry(value).or_default() += 1;
        }
        for word in words {
            match word.action {
                Action::Insert(v) => *balance.entry(v).or_default() += 1,
                Action::Remove(v) => *balance.entry(v).or_default() -= 1,
                _ => {}
            }
        }
        let of = |word: &Word| match word.action {
            Action::Insert(v) | Action::Remove(v) => Some(v),
            _ => None,
        };
        let value = words.iter().filter_map(of).find(|v| balance[v] < 0)?;
        let numbers = (0..words.len() as u32).filter(|&n| of(&words[n as usize]) == Some(value));
        Some(numbers.collect())
    }

    /// Replays an order against the model: every returned operation once, in real-time order, each
    /// legal, and nothing left inside if another stretch follows.
    pub(super) fn replay(
        &self,
        words: &[Word],
        order: &[u32],
        ends_empty: bool,
        budget: &Budget,
    ) -> Result<(), Found> {
        let wrong = |what: String| Err(Found::Wrong(what));
        let mut state = self.start(words.iter().filter_map(|w| w.action.value()));
        let mut missing = vec![true; words.len()];
        let mut latest_call = 0;
        let mut ticker = Ticker::new(budget).with_cheap_steps();
        for &n in order {
            ticker.tick(|| 0).map_err(Found::Exhausted)?;
            let Op { span, action } = &words[n as usize];
            if !std::mem::replace(&mut missing[n as usize], false) {
                return wrong(format!("operation {n} stands twice in the order"));
            }
            if span.returned < latest_call {
                return wrong(format!("operation {n} stands behind one that was called later"));
            }
            latest_call = latest_call.max(span.call);
            if !self.apply(&mut state, action.map(|v| self.ranked(v))) {
                return wrong(format!("operation {n} is not legal at its place"));
            }
        }
        if ends_empty && !self.apply(&mut state, Action::FoundEmpty) {
            return wrong("a stretch ends with something inside".into());
        }
        match (0..words.len()).find(|&n| missing[n] && words[n].span.returned != PENDING) {
            Some(n) => wrong(format!("operation {n} returned but is not in the order")),
            None => Ok(()),
        }
    }

    /// The operations and everything else that touches their values, so that statements about them
    /// hold for the whole history; `None` if that is too much.
    fn scene(&self, words: &[Word], operations: &[u32]) -> Vec<u32> {
        let mut touched: HashMap<u32, (), FixedState> = HashMap::default();
        for value in operations.iter().filter_map(|&n| words[n as usize].action.value()) {
            touched.insert(value, ());
        }
        let belongs = |word: &Word| match (self.kind, word.action) {
            (Kind::Set | Kind::Mutex | Kind::Snapshot, _) => true,
            (_, Action::Insert(v) | Action::Remove(v) | Action::Write(v)) => {
                touched.contains_key(&v)
            }
            (_, Action::RemoveUnknown) => true,
            _ => false,
        };
        let others = (0..words.len() as u32).filter(|&n| belongs(&words[n as usize]));
        let mut scene = operations.to_vec();
        scene.extend(others.take(sentences::MOST + 1));
        scene.sort_unstable();
        scene.dedup();
        if scene.len() > sentences::MOST { Vec::new() } else { scene }
    }

    /// Operations on initial values belong to every violation of a container: without them these
    /// values would stay inside for ever.
    fn add_initial(&self, words: &[Word], operations: &mut Vec<u32>) {
        if self.initial.is_empty() {
            return;
        }
        for (n, word) in words.iter().enumerate() {
            if matches!(word.action, Action::Remove(v) if self.initial.contains(&v)) {
                operations.push(n as u32);
            }
        }
        operations.sort_unstable();
        operations.dedup();
    }
}

fn translated<A>(
    words: &[Word],
    mut f: impl FnMut(Action<u32>) -> Result<A, String>,
) -> Result<Vec<Op<A>>, String> {
    let mut operations = Vec::with_capacity(words.len());
    for word in words {
        operations.push(Op { span: word.span, action: f(word.action)? });
    }
    Ok(operations)
}
