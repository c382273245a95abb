//! Sets: split by key, each key decided exactly.
//!
//! Operations on different keys are independent, and a key is present or not. For each key the
//! possible situations are carried from return to return: whether the key is present, which open
//! operations have changed that, and what the other open operations can have seen so far. An
//! operation takes effect only when some return needs it.
//!
//! Cost: exponential in the number of operations that overlap on *one key*, linear otherwise. A key
//! is forgotten when it is absent and no operation on it is open. More than [`MOST`] situations of
//! one key end it.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use super::{SEEN_BUT_FAILED, Why, unknown_method, unknown_operation};
use crate::theory::Method;
use crate::value::Value;

/// Situations of one key, at most.
const MOST: usize = 1 << 16;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    keys: HashMap<Value, Key, FixedState>,
    open: HashMap<u64, Value, FixedState>,
}

#[derive(Clone, Debug)]
struct Key {
    /// The open operations, in order of call.
    open: Vec<(u64, Method)>,
    situations: Vec<Situation>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Situation {
    present: bool,
    /// One for each open operation, in the same order.
    progress: SmallVec<[Progress; 6]>,
}

/// The progress of an open operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Progress {
    /// It changed whether the key is there.
    changed: bool,
    /// It was open while the key was absent, while it was present.
    saw: [bool; 2],
}

impl Keys {
    pub(super) fn hold(&mut self, keys: &[Value]) {
        for key in keys {
            let situation = Situation { present: true, progress: SmallVec::new() };
            let key = self.keys.entry(key.clone()).or_insert_with(Key::absent);
            key.situations = vec![situation];
        }
    }

    pub(super) fn call(&mut self, number: u64, method: Method, key: &Value) -> Result<(), Why> {
        if !matches!(method, Method::Add | Method::Remove | Method::Contains) {
            return Err(unknown_method("set", method));
        }
        self.open.insert(number, key.clone());
        let key = self.keys.entry(key.clone()).or_insert_with(Key::absent);
        key.open.push((number, method));
        for situation in &mut key.situations {
            let present = situation.present;
            situation.progress.push(Progress { changed: false, saw: [!present, present] });
        }
        Ok(())
    }

    pub(super) fn returned(&mut self, number: u64, result: &Value) -> Result<(), Why> {
        let value = self.open.remove(&number).ok_or_else(|| unknown_operation(number))?;
        let told = match result {
            Value::Nil => None,
            Value::Bool(told) => Some(*told),
            other => {
                return Err(Why::Unfit(format!("expected true, false or nothing, found {other}")));
            }
        };
        let Some(key) = self.keys.get_mut(&value) else { return Err(unknown_operation(number)) };
        key.returned(number, told)?;
        if key.open.is_empty() && key.situations.iter().all(|s| !s.present) {
            self.keys.remove(&value);
        }
        Ok(())
    }

    pub(super) fn failed(&mut self, number: u64) -> Result<(), Why> {
        let value = self.open.remove(&number).ok_or_else(|| unknown_operation(number))?;
        let Some(key) = self.keys.get_mut(&value) else { return Err(unknown_operation(number)) };
        let place = key.open.iter().position(|o| o.0 == number);
        let place = place.ok_or_else(|| unknown_operation(number))?;
        key.open.remove(place);
        key.situations.retain_mut(|situation| !situation.progress.remove(place).changed);
        if key.situations.is_empty() { Err(SEEN_BUT_FAILED) } else { Ok(()) }
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        self.open.keys().copied().collect()
    }

    pub(super) fn held(&self) -> usize {
        self.keys.values().map(|key| key.open.len() + 1).sum()
    }
}

impl Key {
    fn absent() -> Key {
        let situation = Situation { present: false, progress: SmallVec::new() };
        Key { open: Vec::new(), situations: vec![situation] }
    }

    fn returned(&mut self, number: u64, told: Option<bool>) -> Result<(), Why> {
        let place = self.open.iter().position(|o| o.0 == number);
        let place = place.ok_or_else(|| unknown_operation(number))?;
        let method = self.open[place].1;
        let mut seen: HashSet<Situation, FixedState> = HashSet::default();
        let mut todo = std::mem::take(&mut self.situations);
        let mut left: HashSet<Situation, FixedState> = HashSet::default();
        while let Some(situation) = todo.pop() {
            if !seen.insert(situation.clone()) {
                continue;
            }
            if seen.len() > MOST {
                return Err(Why::Unfit("too many operations overlap on one key of the set".into()));
            }
            if situation.progress[place].fits(method, told) {
                let mut after = situation.clone();
                after.progress.remove(place);
                left.insert(after);
            }
            for (i, &(_, method)) in self.open.iter().enumerate() {
                let adds = method == Method::Add;
                let can = method != Method::Contains && adds != situation.present;
                if can && !situation.progress[i].changed {
                    todo.push(situation.changed_by(i));
                }
            }
        }
        if left.is_empty() {
            return Err(Why::Broken("no order of the operations on this key explains the result"));
        }
        self.open.remove(place);
        // A situation in which less was seen explains nothing more.
        let mut situations: Vec<Situation> = left.into_iter().collect();
        situations.sort_unstable_by_key(|s| std::cmp::Reverse(s.sight()));
        self.situations.clear();
        for situation in situations {
            if !self.situations.iter().any(|other| other.covers(&situation)) {
                self.situations.push(situation);
            }
        }
        Ok(())
    }
}

impl Situation {
    /// The same after open operation `i` changed the key.
    fn changed_by(&self, i: usize) -> Situation {
        let mut after = self.clone();
        after.present = !self.present;
        after.progress[i].changed = true;
        for progress in &mut after.progress {
            progress.saw[usize::from(after.present)] = true;
        }
        after
    }

    /// How much the open operations saw.
    fn sight(&self) -> usize {
        self.progress.iter().map(|p| usize::from(p.saw[0]) + usize::from(p.saw[1])).sum()
    }

    /// Whether this explains everything that `other` explains.
    fn covers(&self, other: &Situation) -> bool {
        self.present == other.present
            && self.progress.iter().zip(&other.progress).all(|(mine, theirs)| {
                mine.changed == theirs.changed
                    && (mine.changed || (0..2).all(|i| mine.saw[i] || !theirs.saw[i]))
            })
    }
}

impl Progress {
    /// Whether the operation can return this.
    fn fits(self, method: Method, told: Option<bool>) -> bool {
        let [absent, present] = self.saw;
        // Whether it can return without a change, and what that shows.
        let idle = match method {
            Method::Add => present && told != Some(true),
            Method::Remove => absent && told != Some(true),
            _ => match told {
                Some(told) => self.saw[usize::from(told)],
                None => true,
            },
        };
        if self.changed { told != Some(false) } else { idle }
    }
}
