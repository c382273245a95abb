//! Containers with weaker guarantees: `relaxed-queue`, `relaxed-stack`, `relaxed-priority-queue`.
//!
//! The relaxations of Henzinger, Kirsch, Payer, Sezgin and Sokolova (2013), by state rather than by
//! displacement, and the windows of Afek, Korland and Yanovsky (2010):
//! - `out-of-order=K`: a removal takes any of the K+1 values whose turn comes first. For a queue
//!   this is `semiqueue:k=K+1`.
//! - `lateness=L`: of any L+1 consecutive removals, one takes the value whose turn it is; the
//!   others may take any value that `out-of-order` allows, or any at all if that is not given.
//!   Together they are the paper's two restrictions.
//! - `stutter=J`: a removal may leave the value inside, so that it is returned up to J times in a
//!   row.
//! - `window=W`: a removal takes any value of a window of the W values whose turn comes first, and
//!   a new window opens when it is empty: the segmented queue, the k-FIFO queue. In a stack,
//!   windows are segments of W values: values are pushed into the top segment with room and popped
//!   from the top segment.
//! - `displacement=K`: quasi linearizability in the reading `slots` with an open end
//!   ([`crate::quasi`]): a removal is within K removals of the one in which a strict container
//!   would have removed its value. A stack is checked at every step, so that a later push of the
//!   same value does not excuse one that was removed too early; `--quasi` is exact there.
//!
//! `capacity=N` can be combined with each of them: an insertion waits for room if N values are
//! inside, so that it has no result there.
//!
//! A correct k-stack guarantees no bound on displacement, so these are the specifications to check
//! it against.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::items::Items;
use super::method::{self, INSERT, Method, REMOVE, item, nothing};
use super::params::Params;
use super::queue::{inserts, touches_item};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Builtin, Info, Origins, Shown, Spec, Touches};
use crate::value::Value;

/// The operations of a relaxed container.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ContainerOp {
    /// Adds a value. Nil is not a value: adding it is never legal.
    Add(Value),
    /// Removes a value; returns nil only if there is none.
    Remove,
}

use ContainerOp::{Add, Remove};

const QUEUE: [Method<ContainerOp>; 2] = [
    Method::new("enq(value)", INSERT, |a| Ok(Add(item(&a[0])?))),
    Method::new("deq() -> value or nil", REMOVE, |_| Ok(Remove)),
];
const STACK: [Method<ContainerOp>; 2] = [
    Method::new("push(value)", INSERT, |a| Ok(Add(item(&a[0])?))),
    Method::new("pop() -> value or nil", REMOVE, |_| Ok(Remove)),
];
const PRIORITY_QUEUE: [Method<ContainerOp>; 2] = [
    Method::new("insert(value)", INSERT, |a| Ok(Add(item(&a[0])?))),
    Method::new("poll() -> value or nil", REMOVE, |_| Ok(Remove)),
];

pub(super) const RELAXED_QUEUE: Info = Info {
    name: "relaxed-queue",
    aliases: &["k-fifo", "quasi-queue"],
    parameters: "out-of-order=K, lateness=L, window=W, stutter=J, displacement=D, capacity=N, init=[]",
    methods: &method::signatures(&QUEUE),
    summary: "relaxed FIFO queue; choose out-of-order, lateness, window or stutter",
};

pub(super) const RELAXED_STACK: Info = Info {
    name: "relaxed-stack",
    aliases: &["k-stack", "quasi-stack"],
    parameters: "out-of-order=K, lateness=L, window=W, stutter=J, displacement=D, capacity=N, init=[]",
    methods: &method::signatures(&STACK),
    summary: "relaxed LIFO stack; choose out-of-order, lateness, window or stutter",
};

pub(super) const RELAXED_PRIORITY_QUEUE: Info = Info {
    name: "relaxed-priority-queue",
    aliases: &["quasi-priority-queue", "relaxed-pq"],
    parameters: "out-of-order=K, lateness=L, window=W, stutter=J, displacement=D, capacity=N, order=max, init=[]",
    methods: &method::signatures(&PRIORITY_QUEUE),
    summary: "relaxed priority queue; choose out-of-order, lateness, window or stutter",
};

/// Which value's turn it is in the strict container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The oldest value's.
    Oldest,
    /// The newest value's.
    Newest,
    /// The largest value's.
    Largest,
    /// The smallest value's.
    Smallest,
}

/// How much less is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Relaxation {
    /// How many values a removal may pass over.
    pub out_of_order: Option<usize>,
    /// How many consecutive removals may take another value than the one whose turn it is.
    pub lateness: Option<u32>,
    /// The size of windows.
    pub window: Option<usize>,
    /// How often a value may be returned in a row; 0 counts as 1.
    pub stutter: u32,
    /// How many places a removal may be from its turn among the removals.
    pub displacement: Option<u32>,
    /// The capacity; an insertion waits for room. `None`: unbounded.
    pub capacity: Option<usize>,
}

/// A relaxed container.
#[derive(Clone, Debug)]
pub struct Relaxed {
    turn: Turn,
    relaxation: Relaxation,
    init: Vec<Value>,
}

/// An empty relaxed container.
pub fn relaxed(turn: Turn, relaxation: Relaxation) -> Relaxed {
    Relaxed { turn, relaxation, init: Vec::new() }
}

impl Relaxed {
    /// The same with initial contents, the oldest value first.
    pub fn with_init(self, values: impl IntoIterator<Item = Value>) -> Relaxed {
        Relaxed { init: values.into_iter().collect(), ..self }
    }

    /// Reads the parameters of the named specification.
    pub(super) fn named(turn: Turn, params: &mut Params) -> Result<Relaxed, String> {
        let relaxation = Relaxation {
            out_of_order: params.maybe("out-of-order", 0)?.map(|k| k as usize),
            lateness: params.maybe("lateness", 0)?,
            window: params.maybe("window", 1)?.map(|w| w as usize),
            stutter: params.maybe("stutter", 1)?.unwrap_or(1),
            displacement: params.maybe("displacement", 0)?,
            capacity: params.maybe("capacity", 1)?.map(|n| n as usize),
        };
        let ordered = relaxation.out_of_order.is_some() || relaxation.lateness.is_some();
        if relaxation.stutter > 1 && (ordered || relaxation.window.is_some()) {
            return Err("the parameter stutter goes with no other".into());
        }
        let others = ordered || relaxation.window.is_some() || relaxation.stutter > 1;
        if relaxation.displacement.is_some() && others {
            return Err("the parameter displacement goes with no other".into());
        }
        if relaxation.window.is_some() && relaxation.out_of_order.is_some() {
            return Err("the parameters window and out-of-order exclude each other".into());
        }
        let smallest = turn == Turn::Largest && params.smallest_first()?;
        let turn = if smallest { Turn::Smallest } else { turn };
        let init = params.list("init")?;
        if let Some(capacity) = relaxation.capacity
            && init.len() > capacity
        {
            let count = init.len();
            return Err(format!("init lists {count} values: expected at most {capacity}"));
        }
        Ok(relaxed(turn, relaxation).with_init(init))
    }

    fn methods(&self) -> &'static [Method<ContainerOp>; 2] {
        match self.turn {
            Turn::Oldest => &QUEUE,
            Turn::Newest => &STACK,
            Turn::Largest | Turn::Smallest => &PRIORITY_QUEUE,
        }
    }

    fn add(&self, state: &mut RelaxedState, value: Value) {
        let items = &mut state.items;
        // Values in an open window stay there.
        let closed = match self.turn {
            Turn::Newest => items.len(),
            _ => items.len() - state.windows.last().map_or(0, |&w| w as usize),
        };
        let before = |held: &Value| match self.turn {
            Turn::Largest => held.cmp(&value) == Ordering::Less,
            _ => held.cmp(&value) == Ordering::Greater,
        };
        let at = match self.turn {
            Turn::Oldest => 0,
            Turn::Newest => items.len(),
            Turn::Largest | Turn::Smallest => items[..closed].partition_point(before),
        };
        items.insert(at, value);
        if let (Turn::Newest, Some(size)) = (self.turn, self.relaxation.window) {
            match state.windows.last_mut() {
                Some(held) if (*held as usize) < size => *held += 1,
                _ => state.windows.push(1),
            }
        }
    }

    /// Whether there is no room for another value.
    fn is_full(&self, state: &RelaxedState) -> bool {
        self.relaxation.capacity.is_some_and(|capacity| state.items.len() >= capacity)
    }

    /// How many of the last values may be removed.
    fn candidates(&self, state: &RelaxedState) -> usize {
        let Relaxation { out_of_order, lateness, window, .. } = self.relaxation;
        let most = match (window, out_of_order, lateness) {
            (Some(size), ..) => state.windows.last().map_or(size, |&held| held as usize),
            (None, Some(k), _) => k.saturating_add(1),
            (None, None, Some(_)) => usize::MAX,
            (None, None, None) => 1,
        };
        most.min(state.items.len())
    }

    /// The state without the value at this index, unless another should have left.
    fn without(&self, state: &RelaxedState, at: usize) -> Option<RelaxedState> {
        let mut after = state.clone();
        let in_turn = at + 1 == state.items.len();
        if let Some(most) = self.relaxation.lateness {
            after.count = if in_turn { 0 } else { state.count + 1 };
            if after.count > most {
                return None;
            }
        }
        if let Some(size) = self.relaxation.window {
            if after.windows.is_empty() {
                after.windows.push(size.min(state.items.len()) as u32);
            }
            if let Some(held) = after.windows.last_mut() {
                *held -= 1;
                if *held == 0 {
                    after.windows.pop();
                }
            }
        }
        after.items.remove(at);
        Some(after)
    }

    /// The state after a removal of `value` within `factor` places of its turn: see
    /// `quasi/displaced.rs`, which does the same on numbers.
    fn displaced(&self, state: &RelaxedState, value: &Value, factor: u32) -> Option<RelaxedState> {
        let count = |waiting: &Waiting| waiting.iter().filter(|w| w.0 == *value).count();
        let inside = state.items.iter().filter(|v| *v == value).count();
        if inside + count(&state.late) <= count(&state.early) {
            return None;
        }
        let mut after = state.clone();
        let turn = after.items.pop()?;
        meet(&mut after.late, &mut after.early, value.clone());
        meet(&mut after.early, &mut after.late, turn);
        for waiting in after.early.iter_mut().chain(&mut after.late) {
            waiting.1 += 1;
            if waiting.1 > factor {
                return None;
            }
        }
        may_end(&after, factor).then_some(after)
    }

    /// The states after a removal that returned `ret`, or any value.
    fn removals(&self, state: &RelaxedState, ret: Option<&Value>, next: &mut Vec<RelaxedState>) {
        if let Some(factor) = self.relaxation.displacement {
            let known = next.len();
            let present: Vec<&Value> = match ret {
                Some(value) => vec![value],
                None => state.items.iter().chain(state.late.iter().map(|w| &w.0)).collect(),
            };
            for value in present {
                if let Some(after) = self.displaced(state, value, factor)
                    && !next[known..].contains(&after)
                {
                    next.push(after);
                }
            }
            return;
        }
        let known = next.len();
        let len = state.items.len();
        for at in len - self.candidates(state)..len {
            if ret.is_some_and(|ret| *ret != state.items[at]) {
                continue;
            }
            if let Some(after) = self.without(state, at)
                && !next[known..].contains(&after)
            {
                next.push(RelaxedState { count: self.reset(&after), ..after });
            }
        }
        if self.relaxation.stutter > state.count + 1
            && state.items.last().is_some_and(|turn| ret.is_none_or(|ret| ret == turn))
        {
            next.push(RelaxedState { count: state.count + 1, ..state.clone() });
        }
    }

    /// The count after a value was removed: how often the next one was returned, or how late the
    /// next one is.
    fn reset(&self, after: &RelaxedState) -> u32 {
        if self.relaxation.stutter > 1 { 0 } else { after.count }
    }
}

/// The contents of a relaxed container.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct RelaxedState {
    /// The value whose turn it is comes last; an open window after the others.
    items: Items,
    /// Values in the open window; in a stack, in each segment, the lowest first.
    windows: SmallVec<[u32; 2]>,
    /// How many consecutive removals did not take the value whose turn it was, or how often it was
    /// returned.
    count: u32,
    /// With a displacement: the values that were removed before their turn, and those whose turn
    /// has passed.
    early: Waiting,
    late: Waiting,
}

/// Values and how many removals ago they were met first, sorted.
type Waiting = SmallVec<[(Value, u32); 1]>;

/// One order removes `value`: it is matched with the one that waits longest for it, or waits
/// itself.
fn meet(waiting: &mut Waiting, own: &mut Waiting, value: Value) {
    let of_value = waiting.iter().enumerate().filter(|(_, w)| w.0 == value);
    match of_value.max_by_key(|(_, w)| w.1).map(|(at, _)| at) {
        Some(at) => drop(waiting.remove(at)),
        None => {
            own.push((value, 0));
            own.sort();
        }
    }
}

/// Whether each early value will be within `factor` places when its turn comes.
fn may_end(state: &RelaxedState, factor: u32) -> bool {
    let mut early: Vec<&(Value, u32)> = state.early.iter().collect();
    early.sort_by_key(|w| std::cmp::Reverse(w.1));
    for (rank, value) in state.items.iter().rev().enumerate() {
        if early.is_empty() {
            break;
        }
        if let Some(at) = early.iter().position(|w| w.0 == *value) {
            if rank + early[at].1 as usize > factor as usize {
                return false;
            }
            early.remove(at);
        }
    }
    early.is_empty()
}

/// What removals keep, for the end of a sentence.
fn promise(relaxation: &Relaxation, turn: Turn) -> Option<String> {
    let Relaxation { out_of_order, lateness, window, stutter, displacement, .. } = *relaxation;
    let mut promises = Vec::new();
    if let Some(most) = out_of_order {
        let values = if most == 1 { "value" } else { "values" };
        promises
            .push(format!("with out-of-order={most} a removal may skip at most {most} {values}"));
    }
    if let Some(late) = lateness {
        let row = u64::from(late) + 1;
        promises.push(format!(
            "with lateness={late} at least one of any {row} removals in a row takes the value whose turn it is"
        ));
    }
    match (window, turn) {
        (Some(size), Turn::Newest) => promises.push(format!(
            "with window={size} values stand in segments of {size}, and a removal takes one of the uppermost segment"
        )),
        (Some(size), _) => promises.push(format!(
            "with window={size} a removal takes one of a window of {size} values, and the next window opens when that is empty"
        )),
        (None, _) => {}
    }
    if stutter > 1 {
        promises.push(format!(
            "with stutter={stutter} a value may come out up to {stutter} times in a row before it is gone"
        ));
    }
    if let Some(most) = displacement {
        promises.push(format!(
            "with displacement={most} a removal is at most {most} removals away from its place in the strict order"
        ));
    }
    (!promises.is_empty()).then(|| promises.join(", and "))
}

impl Spec for Relaxed {
    type State = RelaxedState;
    type Op = ContainerOp;
    type Ret = Value;

    fn initial(&self) -> RelaxedState {
        let mut state = RelaxedState::default();
        self.init.iter().for_each(|value| self.add(&mut state, value.clone()));
        state
    }

    fn step(
        &self,
        state: &RelaxedState,
        op: &ContainerOp,
        ret: Option<&Value>,
        next: &mut Vec<RelaxedState>,
    ) {
        match op {
            Add(value) => {
                if !value.is_nil() && !self.is_full(state) && ret.is_none_or(Value::is_nil) {
                    let mut after = state.clone();
                    let turn = state.items.last();
                    self.add(&mut after, value.clone());
                    // In a stack it is the new value's turn, even if it equals the one before, and
                    // in a priority queue it may be.
                    let is_its_turn =
                        self.turn != Turn::Oldest && after.items.last() == Some(value);
                    if self.relaxation.stutter > 1 && (is_its_turn || turn.is_none()) {
                        after.count = 0;
                    }
                    // A stack and a priority queue may delay the turn of an early value.
                    if self.relaxation.displacement.is_none_or(|factor| may_end(&after, factor)) {
                        next.push(after);
                    }
                }
            }
            Remove if state.items.is_empty() => {
                if ret.is_none_or(Value::is_nil) {
                    next.push(state.clone());
                }
            }
            Remove => self.removals(state, ret, next),
        }
    }

    fn observes(&self, op: &ContainerOp, ret: Option<&Value>) -> bool {
        *op == Remove && ret == Some(&Value::Nil)
    }

    /// With a stutter, the same value may be returned several times.
    fn origins(&self) -> Option<Origins<ContainerOp, Value>> {
        fn brings(op: &ContainerOp) -> Option<&Value> {
            match op {
                Add(value) => Some(value),
                Remove => None,
            }
        }
        let taken = |op: &ContainerOp, ret: &Value| match (op, ret) {
            (_, Value::Nil) | (Add(_), _) => None,
            (Remove, value) => Some(Shown::Taken(value.clone())),
        };
        let seen = |op: &ContainerOp, ret: &Value| match (op, ret) {
            (_, Value::Nil) | (Add(_), _) => None,
            (Remove, value) => Some(Shown::Seen(value.clone())),
        };
        let stutters = self.relaxation.stutter > 1;
        let origins =
            if stutters { Origins::new(brings, seen) } else { Origins::new(brings, taken) };
        Some(origins.holding(self.init.clone()))
    }

    fn touches(&self, op: &ContainerOp, ret: Option<&Value>) -> Touches {
        // Without a value others come closer to their turn. But its removal may have been one in
        // turn, or it may have filled a window.
        let Relaxation { lateness, window, stutter, capacity, .. } = self.relaxation;
        // It may also have made room, or have taken it.
        let is_more = window.is_some() || stutter > 1 || capacity.is_some();
        if lateness.is_some() || is_more {
            return Touches::Everything;
        }
        match (op, ret) {
            (Add(value), _) => touches_item(&self.init, value),
            (Remove, None) => Touches::Everything,
            (Remove, Some(Value::Nil)) => Touches::NOTHING,
            (Remove, Some(value)) => touches_item(&self.init, value),
        }
    }

    fn vocabulary(&self) -> Option<Vocabulary<ContainerOp, Value>> {
        let Relaxation { out_of_order, lateness, window, stutter, displacement, .. } =
            self.relaxation;
        let passes = match (window, displacement) {
            (None, None) if stutter <= 1 && lateness.is_none() => Some(out_of_order.unwrap_or(0)),
            (None, None) if stutter <= 1 => out_of_order,
            _ => None,
        };
        let family = Family::Relaxed { turn: self.turn, passes };
        let words = Vocabulary::new(family, self.init.to_vec(), words::relaxed);
        Some(
            words
                .with_capacity(self.relaxation.capacity)
                .with_promise(promise(&self.relaxation, self.turn)),
        )
    }

    fn show(&self, op: &ContainerOp, ret: Option<&Value>) -> String {
        method::show(self.methods(), self.encode(op), ret)
    }

    fn show_state(&self, state: &RelaxedState) -> String {
        let mut text = state.items.to_string();
        if !state.windows.is_empty() {
            let sizes: Vec<String> = state.windows.iter().map(u32::to_string).collect();
            text += &format!(" in windows of {}", sizes.join(", "));
        }
        for (waiting, how) in [(&state.early, "early"), (&state.late, "late")] {
            for (value, age) in waiting {
                text += &format!(", {value} {how} since {age}");
            }
        }
        match (state.count, self.relaxation.stutter > 1) {
            (0, _) => text,
            (n, true) => format!("{text}, the last told {n} times"),
            (n, false) => format!("{text}, the last late by {n}"),
        }
    }
}

impl Builtin for Relaxed {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(ContainerOp, Option<Value>), String> {
        method::decode(self.methods(), method, args, result, |op, ret| match op {
            Add(_) => nothing(ret),
            Remove => Ok(ret.clone()),
        })
    }

    fn encode(&self, op: &ContainerOp) -> (&'static str, Vec<Value>) {
        let [add, remove] = match self.turn {
            Turn::Oldest => ["enq", "deq"],
            Turn::Newest => ["push", "pop"],
            Turn::Largest | Turn::Smallest => ["insert", "poll"],
        };
        match op {
            Add(value) => (add, vec![value.clone()]),
            Remove => (remove, vec![]),
        }
    }

    fn results(&self, state: &RelaxedState, op: &ContainerOp) -> Vec<Value> {
        if matches!(op, Add(_)) && self.is_full(state) {
            return Vec::new();
        }
        if let (Add(value), Some(factor)) = (op, self.relaxation.displacement) {
            let mut after = state.clone();
            self.add(&mut after, value.clone());
            // It would put an early value back too far.
            return if may_end(&after, factor) { vec![Value::Nil] } else { Vec::new() };
        }
        let len = state.items.len();
        if *op != Remove || len == 0 {
            return vec![Value::Nil];
        }
        if let Some(factor) = self.relaxation.displacement {
            let present = state.items.iter().chain(state.late.iter().map(|w| &w.0));
            let mut results: Vec<Value> = present.cloned().collect();
            results.retain(|value| self.displaced(state, value, factor).is_some());
            results.sort();
            results.dedup();
            return results;
        }
        let may_leave = |&at: &usize| self.without(state, at).is_some();
        let places = (len - self.candidates(state)..len).filter(may_leave);
        let mut results: Vec<Value> = places.map(|at| state.items[at].clone()).collect();
        results.sort();
        results.dedup();
        results
    }

    fn sample(
        &self,
        _: &RelaxedState,
        pick: &mut dyn FnMut(u64) -> u64,
        fresh: i64,
    ) -> ContainerOp {
        if !inserts(pick) {
            return Remove;
        }
        let rising = matches!(self.turn, Turn::Oldest | Turn::Newest);
        // As unique as `fresh`, but not ascending: an odd factor permutes the numbers below a power
        // of two.
        const BLOCK: i64 = 1 << 20;
        let scattered = (fresh & !(BLOCK - 1)) | (fresh.wrapping_mul(0x9E375) & (BLOCK - 1));
        Add(Value::Int(if rising { fresh } else { scattered }))
    }

    fn alien(&self, value: i64) -> Option<(ContainerOp, Value)> {
        Some((Remove, Value::Int(value)))
    }
}
