//! The set, key by key, and the lock, online. Values may repeat.
//!
//! [`crate::monitor::set`] sweeps over the events of one key, tracks its state, and defers every
//! change until an operation returns that needs it; then the open add (remove) that returns first
//! makes the change. Online it is unknown which one that will be, and whether an open add will have
//! changed anything. So the change is made *on credit*: some operation that is open now owes it.
//! When an add that changed something returns, it pays the first debt that was made after its call.
//! In the offline sweep it would have been the first to return of those open then. Only if there is
//! no debt does it make a change of its own. So the states are those of the offline sweep, at every
//! moment, and the history is a violation iff a debt cannot be paid: debts are deadlines for calls,
//! and the open adds (removes) must meet them (see [`super`]). An operation of unknown outcome may
//! pay at any time, or never.
//!
//! A lookup is correct if the state was right at some time since its call: it is enough to know
//! when the state last changed.
//!
//! **Found when** an operation returns and the debts can no longer be met: the first return that
//! makes the history a violation.
//!
//! **Kept**: for a key its state, its debts and its open operations. Nothing is kept of a key if no
//! operation on it is open, its state is the initial one, and no open lookup was called before it
//! came to rest (a lookup's key is known only at its return). For explanations a key keeps its
//! operations since none of it was open, at most [`LOG`].
//!
//! Cost: O(1) per operation, plus the number of operations that are open on the key.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use super::{Clash, Engine, Id, NONE, Stop, Time, strange};
use crate::spec::Action;
use crate::value::Value;

/// Operations of a key that are kept for an explanation.
const LOG: usize = 1024;

/// One key.
#[derive(Clone, Default)]
struct Key {
    present: bool,
    /// When the state was last absent, and last present: the event before which it changed.
    left: [Time; 2],
    /// Open removes and adds, by call: the operations that change from present, and from absent.
    open: [SmallVec<[(Time, Id); 2]>; 2],
    /// Changes that are owed, by time.
    owed: [SmallVec<[Time; 2]>; 2],
    /// Open operations that will return, and their calls.
    running: SmallVec<[(Time, Id); 4]>,
    /// For explanations.
    log: Vec<Id>,
    is_cut: bool,
    /// The last finished remove, add.
    last: [Option<Id>; 2],
    /// Stands among the keys that came to rest, the last time at this time.
    is_queued: bool,
    rested_at: Time,
}

pub(super) struct Set {
    keys: HashMap<Value, Key, FixedState>,
    initial: HashSet<Value, FixedState>,
    /// Open observers, by call; their key is known when they return.
    lookups: Vec<(Time, Id)>,
    /// Keys that came to rest, and when: by that time.
    resting: VecDeque<(Time, Value)>,
    /// The last event.
    now: Time,
}

/// The condition that an operation needs.
enum Needs {
    /// Makes the key present (true) or absent.
    Change(bool),
    /// Finds it so.
    State(bool),
}

impl Set {
    pub(super) fn new(initial: &[Value]) -> Set {
        Set {
            keys: HashMap::default(),
            initial: initial.iter().cloned().collect(),
            lookups: Vec::new(),
            resting: VecDeque::new(),
            now: 0,
        }
    }

    /// A lock is a set with one key, which is present while the lock is held.
    pub(super) fn mutex(held: bool) -> Set {
        Set::new(if held { &[Value::Nil] } else { &[] })
    }

    fn key(&mut self, value: &Value) -> &mut Key {
        let initial = &self.initial;
        self.keys
            .entry_ref(value)
            .or_insert_with(|| Key { present: initial.contains(value), ..Key::default() })
    }

    /// Nothing of this key runs any more, perhaps.
    fn rest(&mut self, value: &Value, at: Time) {
        if let Some(key) = self.keys.get_mut(value)
            && key.is_at_rest()
        {
            key.rested_at = at;
            if !std::mem::replace(&mut key.is_queued, true) {
                self.resting.push_back((at, value.clone()));
            }
        }
        // A lookup that was open when a key came to rest may be one of it.
        let first = self.lookups.first().map_or(Time::MAX, |lookup| lookup.0);
        while self.resting.front().is_some_and(|(at, _)| *at < first) {
            let Some((_, value)) = self.resting.pop_front() else { return };
            let Some(key) = self.keys.get_mut(&value) else { continue };
            if key.rested_at < first {
                self.forget(&value);
            } else {
                // It came to rest again, after that lookup was called.
                self.resting.push_back((key.rested_at, value));
            }
        }
    }

    /// Forgets what is not needed while no operation on the key runs.
    fn forget(&mut self, value: &Value) {
        let starts_present = self.initial.contains(value);
        let Some(key) = self.keys.get_mut(value) else { return };
        key.is_queued = false;
        if !key.is_at_rest() {
            return;
        }
        if key.present == starts_present && key.open.iter().all(|open| open.is_empty()) {
            self.keys.remove(value);
            return;
        }
        // One finished operation explains why the state is not the initial one.
        key.log.clear();
        key.is_cut = false;
        if key.present != starts_present {
            key.log.extend(key.last[usize::from(key.present)]);
        }
        key.log.shrink_to(4);
    }

    fn close_lookup(&mut self, id: Id) -> Option<Time> {
        let at = self.lookups.iter().rposition(|lookup| lookup.1 == id)?;
        Some(self.lookups.remove(at).0)
    }
}

impl Key {
    fn is_at_rest(&self) -> bool {
        self.running.is_empty() && self.owed.iter().all(|owed| owed.is_empty())
    }

    /// The state changes now; by whom does not matter.
    fn change(&mut self, at: Time) {
        self.left[usize::from(self.present)] = at;
        self.present = !self.present;
    }

    /// Changes the state on credit.
    fn borrow(&mut self, at: Time) {
        self.owed[usize::from(!self.present)].push(at);
        self.change(at);
    }

    fn close(&mut self, id: Id) -> Option<Time> {
        for open in &mut self.open {
            if let Some(at) = open.iter().rposition(|o| o.1 == id) {
                open.remove(at);
            }
        }
        let at = self.running.iter().rposition(|o| o.1 == id)?;
        Some(self.running.remove(at).0)
    }

    fn remember(&mut self, id: Id) {
        if self.log.len() == LOG {
            self.log.drain(..LOG / 2);
            self.is_cut = true;
        }
        self.log.push(id);
    }

    /// Can the open operations pay the debts?
    fn solvent(&self) -> bool {
        self.open.iter().zip(&self.owed).all(|(open, owed)| {
            owed.len() <= open.len() && owed.iter().zip(open).all(|(&at, open)| open.0 < at)
        })
    }

    fn violation(&self, id: Id) -> Clash {
        let open = self.open.iter().flatten().chain(&self.running).map(|o| o.1);
        let mut clash = Clash::new(self.log.iter().copied().chain(open).chain([id]));
        clash.partial = self.is_cut;
        clash
    }

    fn returns(&mut self, id: Id, call: Time, at: Time, needs: Needs) -> Result<(), Clash> {
        self.remember(id);
        match needs {
            Needs::State(present) => {
                if self.present != present && self.left[usize::from(present)] <= call {
                    self.borrow(at);
                }
            }
            Needs::Change(to) => {
                let owed = &mut self.owed[usize::from(to)];
                self.last[usize::from(to)] = Some(id);
                match owed.iter().position(|&time| time > call) {
                    Some(debt) => drop(owed.remove(debt)),
                    None => {
                        if self.present == to {
                            self.borrow(at);
                        }
                        self.change(at);
                    }
                }
            }
        }
        if self.solvent() { Ok(()) } else { Err(self.violation(id)) }
    }
}

/// The key that an action is about, and the condition that it needs.
fn needs(action: &Action) -> Option<(&Value, Needs)> {
    Some(match action {
        Action::Add(value) => (value, Needs::Change(true)),
        Action::Delete(value) => (value, Needs::Change(false)),
        Action::Present(value) => (value, Needs::State(true)),
        Action::Absent(value) => (value, Needs::State(false)),
        Action::Acquire => (&Value::Nil, Needs::Change(true)),
        Action::Release => (&Value::Nil, Needs::Change(false)),
        Action::FoundHeld => (&Value::Nil, Needs::State(true)),
        Action::FoundFree => (&Value::Nil, Needs::State(false)),
        _ => return None,
    })
}

impl Engine for Set {
    fn call(&mut self, id: Id, at: Time, may: Option<&Action>) -> Result<(), Stop> {
        self.now = at;
        let Some(may) = may else {
            self.lookups.push((at, id));
            return Ok(());
        };
        let Some((value, Needs::Change(to))) = needs(may) else { return Err(strange(may)) };
        let key = self.key(value);
        key.open[usize::from(to)].push((at, id));
        key.running.push((at, id));
        Ok(())
    }

    fn returns(&mut self, id: Id, at: Time, action: &Action) -> Result<(), Stop> {
        let Some((value, needs)) = needs(action) else { return Err(strange(action)) };
        self.now = at;
        let lookup = self.close_lookup(id);
        let key = self.key(value);
        let call = key.close(id).or(lookup).unwrap_or(at);
        key.returns(id, call, at, needs)?;
        self.rest(value, at);
        Ok(())
    }

    fn unknown(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        self.close_lookup(id);
        if let Some((value, _)) = may.and_then(needs) {
            let key = self.key(value);
            key.running.retain(|o| o.1 != id);
            self.rest(value, self.now);
        }
        Ok(())
    }

    fn fails(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        self.close_lookup(id);
        if let Some((value, _)) = may.and_then(needs) {
            let key = self.key(value);
            key.close(id);
            if !key.solvent() {
                return Err(key.violation(NONE).into());
            }
            self.rest(value, self.now);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// A key in its initial state without open operations is not kept.
    fn is_bare(&self) -> bool {
        self.keys.is_empty() && self.lookups.is_empty()
    }

    fn mark(&self, keep: &mut dyn FnMut(Id)) {
        self.lookups.iter().for_each(|lookup| keep(lookup.1));
        for key in self.keys.values() {
            key.open.iter().flatten().chain(&key.running).for_each(|o| keep(o.1));
            key.log.iter().chain(key.last.iter().flatten()).for_each(|&id| keep(id));
        }
    }
}
