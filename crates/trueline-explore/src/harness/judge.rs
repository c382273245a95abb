//! A specification of the user's, with numbers for its operations, results and states.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use trueline::spec::{Data, Spec, Touches, Vocabulary};

use super::numbered::Steps;

/// A specification in numbers, which numbers results of type `R`.
pub(crate) trait Judge<R>: Steps {
    /// The number of a result.
    fn number_of(&self, ret: &R) -> u32;
}

/// A specification of the user's. Operations are numbered as in the alphabet of the test.
pub(crate) struct Specified<S: Spec> {
    spec: S,
    alphabet: Vec<S::Op>,
    rets: Mutex<Table<S::Ret>>,
    states: Mutex<States<S::State>>,
}

/// Things by number.
pub(crate) struct Table<V> {
    numbers: HashMap<V, u32, FixedState>,
    all: Vec<V>,
}

struct States<V> {
    table: Table<V>,
    /// Steps that were taken.
    known: HashMap<Step, Box<[u32]>, FixedState>,
}

/// A state, an operation and its result.
type Step = (u32, u32, Option<u32>);

impl<V> Default for Table<V> {
    fn default() -> Table<V> {
        Table { numbers: HashMap::with_hasher(FixedState::default()), all: Vec::new() }
    }
}

impl<V: Data> Table<V> {
    pub(crate) fn number_of(&mut self, value: &V) -> u32 {
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        let number = self.all.len() as u32;
        self.all.push(value.clone());
        self.numbers.insert(value.clone(), number);
        number
    }

    pub(crate) fn value(&self, number: u32) -> V {
        self.all[number as usize].clone()
    }
}

impl<S: Spec> Specified<S> {
    pub(crate) fn new(spec: S, alphabet: Vec<S::Op>) -> Specified<S> {
        let known = HashMap::with_hasher(FixedState::default());
        let states = Mutex::new(States { table: Table::default(), known });
        Specified { spec, alphabet, rets: Mutex::default(), states }
    }

    fn op(&self, op: u32) -> &S::Op {
        &self.alphabet[op as usize]
    }

    fn ret(&self, ret: Option<u32>) -> Option<S::Ret> {
        ret.map(|number| lock(&self.rets).value(number))
    }
}

impl<S: Spec + 'static> Judge<S::Ret> for Specified<S> {
    fn number_of(&self, ret: &S::Ret) -> u32 {
        lock(&self.rets).number_of(ret)
    }
}

impl<S: Spec + 'static> Steps for Specified<S> {
    fn initial(&self) -> u32 {
        let initial = self.spec.initial();
        lock(&self.states).table.number_of(&initial)
    }

    fn step(&self, state: u32, op: u32, ret: Option<u32>, next: &mut Vec<u32>) {
        let key = (state, op, ret);
        let before = {
            let states = lock(&self.states);
            if let Some(known) = states.known.get(&key) {
                next.extend_from_slice(known);
                return;
            }
            states.table.value(state)
        };
        // The user's code runs without the lock: it may panic.
        let mut after = Vec::new();
        self.spec.step(&before, self.op(op), self.ret(ret).as_ref(), &mut after);
        let mut states = lock(&self.states);
        let after: Box<[u32]> = after.iter().map(|state| states.table.number_of(state)).collect();
        next.extend_from_slice(&after);
        states.known.insert(key, after);
    }

    fn partition(&self, op: u32) -> Option<u64> {
        self.spec.partition(self.op(op))
    }

    fn observes(&self, op: u32, ret: Option<u32>) -> bool {
        self.spec.observes(self.op(op), self.ret(ret).as_ref())
    }

    fn order_insensitive(&self) -> bool {
        self.spec.order_insensitive()
    }

    fn touches(&self, op: u32, ret: Option<u32>) -> Touches {
        self.spec.touches(self.op(op), self.ret(ret).as_ref())
    }

    fn show(&self, op: u32, ret: Option<u32>) -> String {
        self.spec.show(self.op(op), self.ret(ret).as_ref())
    }

    fn show_state(&self, state: u32) -> String {
        let state = lock(&self.states).table.value(state);
        self.spec.show_state(&state)
    }

    /// Words that come from a claim to be of a kind count only where the claim is tested, which numbers do not allow.
    fn vocabulary(self: Arc<Self>) -> Option<Vocabulary<u32, u32>> {
        let words = self.spec.vocabulary().filter(|words| !words.is_claimed())?;
        Some(words.translated(move |&op: &u32, ret: Option<&u32>| {
            Some((self.op(op).clone(), self.ret(ret.copied())))
        }))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
