//! A lock with owners: `owner-mutex`.
//!
//! A specification sees operations, not processes, so the owner is an argument. If a history gives
//! none, the calling process is the owner: see [`Builtin::owned`].

use super::method::{self, Method, item, truth};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Builtin, Info, Spec};
use crate::value::Value;

/// The operations of a lock with owners. Each names its owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OwnerMutexOp {
    /// Takes the lock; blocks while another holds it.
    Acquire(Value),
    /// Releases the lock; returns false if the owner does not hold it.
    Release(Value),
    /// Takes the lock if that does not block; returns whether it did.
    TryAcquire(Value),
}

use OwnerMutexOp::{Acquire, Release, TryAcquire};

const METHODS: [Method<OwnerMutexOp>; 3] = [
    Method::new("acquire(owner)", &["lock"], |a| Ok(Acquire(item(&a[0])?))),
    Method::new("release(owner) -> bool", &["unlock"], |a| Ok(Release(item(&a[0])?))),
    Method::new("try_acquire(owner) -> bool", &["trylock"], |a| Ok(TryAcquire(item(&a[0])?))),
];

pub(super) const OWNER_MUTEX: Info = Info {
    name: "owner-mutex",
    aliases: &["owner-lock", "owned-mutex"],
    parameters: "reentrant=false",
    methods: &method::signatures(&METHODS),
    summary: "held by an owner or free; the owner is the process unless an argument names it",
};

/// A lock with owners, free at first.
#[derive(Clone, Debug, Default)]
pub struct OwnerMutex {
    reentrant: bool,
}

/// A lock with owners, initially free. Its holder cannot take it again.
pub fn owner_mutex() -> OwnerMutex {
    OwnerMutex::default()
}

impl OwnerMutex {
    /// The same, but its owner may take it again, and then releases it as often.
    pub fn reentrant(self) -> OwnerMutex {
        OwnerMutex { reentrant: true }
    }

    /// Whether the owner can take it in this state.
    fn is_free_for(&self, state: &Option<(Value, u32)>, owner: &Value) -> bool {
        match state {
            None => true,
            Some((holder, _)) => self.reentrant && holder == owner,
        }
    }
}

fn taken(state: &Option<(Value, u32)>, owner: &Value) -> Option<(Value, u32)> {
    let before = state.as_ref().map_or(0, |(_, times)| *times);
    Some((owner.clone(), before + 1))
}

impl Spec for OwnerMutex {
    /// The holder, and how many times it holds the lock; `None` if it is free.
    type State = Option<(Value, u32)>;
    type Op = OwnerMutexOp;
    type Ret = Value;

    fn initial(&self) -> Self::State {
        None
    }

    fn step(
        &self,
        state: &Self::State,
        op: &OwnerMutexOp,
        ret: Option<&Value>,
        next: &mut Vec<Self::State>,
    ) {
        let tells = |told: bool| ret.is_none_or(|ret| *ret == Value::Bool(told));
        match (op, state) {
            (Acquire(owner), _) => {
                if self.is_free_for(state, owner) && ret.is_none_or(Value::is_nil) {
                    next.push(taken(state, owner));
                }
            }
            (TryAcquire(owner), _) => {
                let takes = self.is_free_for(state, owner);
                if tells(takes) {
                    next.push(if takes { taken(state, owner) } else { state.clone() });
                }
            }
            (Release(owner), Some((holder, times))) if holder == owner => {
                if tells(true) {
                    next.push((*times > 1).then(|| (holder.clone(), times - 1)));
                }
            }
            (Release(_), _) => {
                if tells(false) {
                    next.push(state.clone());
                }
            }
        }
    }

    fn observes(&self, op: &OwnerMutexOp, ret: Option<&Value>) -> bool {
        !matches!(op, Acquire(_)) && ret == Some(&Value::Bool(false))
    }

    fn says_nothing(&self, op: &OwnerMutexOp, ret: &Value) -> bool {
        matches!(op, Acquire(_)) && ret.is_nil()
    }

    fn vocabulary(&self) -> Option<Vocabulary<OwnerMutexOp, Value>> {
        Some(match self.reentrant {
            false => Vocabulary::new(Family::OwnerMutex, [Value::Nil], words::owner_mutex),
            true => Vocabulary::new(Family::ReentrantMutex, [], words::reentrant_mutex),
        })
    }

    fn show(&self, op: &OwnerMutexOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Self::State) -> String {
        match state {
            None => "free".into(),
            Some((holder, 1)) => format!("held by {holder}"),
            Some((holder, times)) => format!("held by {holder} {times} times"),
        }
    }
}

impl Builtin for OwnerMutex {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(OwnerMutexOp, Option<Value>), String> {
        let (op, ret) = method::decode(&METHODS, method, args, result, |_, ret| truth(ret, true))?;
        // An acquire that returned false did not block.
        Ok(match op {
            Acquire(owner) if ret == Some(Value::Bool(false)) => (TryAcquire(owner), ret),
            Acquire(_) => (op, ret.map(|_| Value::Nil)),
            Release(_) | TryAcquire(_) => (op, ret),
        })
    }

    fn owned(&self) -> bool {
        true
    }

    fn encode(&self, op: &OwnerMutexOp) -> (&'static str, Vec<Value>) {
        match op {
            Acquire(owner) => ("acquire", vec![owner.clone()]),
            Release(owner) => ("release", vec![owner.clone()]),
            TryAcquire(owner) => ("try_acquire", vec![owner.clone()]),
        }
    }

    fn results(&self, state: &Self::State, op: &OwnerMutexOp) -> Vec<Value> {
        match op {
            Acquire(owner) if self.is_free_for(state, owner) => vec![Value::Nil],
            Acquire(_) => vec![],
            TryAcquire(owner) => vec![Value::Bool(self.is_free_for(state, owner))],
            Release(owner) => {
                vec![Value::Bool(state.as_ref().is_some_and(|(holder, _)| holder == owner))]
            }
        }
    }

    fn sample(&self, _: &Self::State, pick: &mut dyn FnMut(u64) -> u64, _: i64) -> OwnerMutexOp {
        let owner = pick(3) as u32;
        self.sample_by(owner, false, &None, pick, 0)
    }

    fn sample_by(
        &self,
        process: u32,
        _simple: bool,
        _: &Self::State,
        pick: &mut dyn FnMut(u64) -> u64,
        _fresh: i64,
    ) -> OwnerMutexOp {
        let owner = Value::Int(i64::from(process));
        match pick(5) {
            0..2 => Acquire(owner),
            2..4 => Release(owner),
            _ => TryAcquire(owner),
        }
    }
}
