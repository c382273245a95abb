//! Permits: `mutex` and `semaphore`.
//!
//! Neither knows the caller: any process may release. A specification sees operations, not
//! processes.

use super::method::{self, Method, truth};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Action, Builtin, Canonical, Info, Kind, Spec};
use crate::value::Value;

/// The operations of a mutex.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MutexOp {
    /// Takes the lock; blocks while it is held.
    Acquire,
    /// Gives the lock back; never legal while it is free.
    Release,
    /// Takes the lock if it is free; returns whether it did.
    TryAcquire,
}

use MutexOp::{Acquire, Release, TryAcquire};

const MUTEX_METHODS: [Method<MutexOp>; 3] = [
    Method::new("acquire()", &["lock"], |_| Ok(Acquire)),
    Method::new("release()", &["unlock"], |_| Ok(Release)),
    Method::new("try_acquire() -> bool", &["trylock"], |_| Ok(TryAcquire)),
];

pub(super) const MUTEX: Info = Info {
    name: "mutex",
    aliases: &["lock"],
    parameters: "",
    methods: &method::signatures(&MUTEX_METHODS),
    summary: "held or free; any process may release it",
};

/// A mutex without owners, free at first.
#[derive(Clone, Debug, Default)]
pub struct Mutex;

/// A mutex without owners, free at first.
pub fn mutex() -> Mutex {
    Mutex
}

impl Spec for Mutex {
    /// True while held.
    type State = bool;
    type Op = MutexOp;
    type Ret = Value;

    fn initial(&self) -> bool {
        false
    }

    fn step(&self, held: &bool, op: &MutexOp, ret: Option<&Value>, next: &mut Vec<bool>) {
        let nothing = ret.is_none_or(Value::is_nil);
        match op {
            Acquire if !held && nothing => next.push(true),
            Release if *held && nothing => next.push(false),
            TryAcquire if ret.is_none_or(|ret| *ret == Value::Bool(!held)) => next.push(true),
            _ => {}
        }
    }

    fn canonical(&self) -> Option<Canonical<MutexOp, Value>> {
        let action = |op: &MutexOp, ret: Option<&Value>| match (op, ret) {
            (Acquire, _) | (TryAcquire, None | Some(Value::Bool(true))) => Some(Action::Acquire),
            (Release, _) => Some(Action::Release),
            (TryAcquire, Some(Value::Bool(false))) => Some(Action::FoundHeld),
            (TryAcquire, _) => None,
        };
        Some(Canonical::new(Kind::Mutex, action))
    }

    fn observes(&self, op: &MutexOp, ret: Option<&Value>) -> bool {
        *op == TryAcquire && ret == Some(&Value::Bool(false))
    }

    /// It is held iff it was acquired once more than released.
    fn order_insensitive(&self) -> bool {
        true
    }

    fn vocabulary(&self) -> Option<Vocabulary<MutexOp, Value>> {
        Some(Vocabulary::new(Family::Mutex, [], words::mutex))
    }

    fn show(&self, op: &MutexOp, ret: Option<&Value>) -> String {
        method::show(&MUTEX_METHODS, self.encode(op), ret)
    }

    fn show_state(&self, held: &bool) -> String {
        if *held { "held" } else { "free" }.into()
    }
}

impl Builtin for Mutex {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(MutexOp, Option<Value>), String> {
        let (op, ret) = method::decode(&MUTEX_METHODS, method, args, result, |op, ret| {
            match (op, truth(ret, true)?) {
                (Release, Value::Bool(false)) => {
                    Err("expected true or nothing as the result, found false".into())
                }
                (_, told) => Ok(told),
            }
        })?;
        // An acquire that returned false did not block.
        Ok(match op {
            TryAcquire => (op, ret),
            Acquire if ret == Some(Value::Bool(false)) => (TryAcquire, ret),
            Acquire | Release => (op, ret.map(|_| Value::Nil)),
        })
    }

    fn encode(&self, op: &MutexOp) -> (&'static str, Vec<Value>) {
        let method = match op {
            Acquire => "acquire",
            Release => "release",
            TryAcquire => "try_acquire",
        };
        (method, vec![])
    }

    fn results(&self, held: &bool, op: &MutexOp) -> Vec<Value> {
        match op {
            Acquire if *held => vec![],
            Release if !held => vec![],
            Acquire | Release => vec![Value::Nil],
            TryAcquire => vec![Value::Bool(!held)],
        }
    }

    fn sample(&self, _: &Self::State, pick: &mut dyn FnMut(u64) -> u64, _fresh: i64) -> MutexOp {
        match pick(5) {
            0..2 => Acquire,
            2..4 => Release,
            _ => TryAcquire,
        }
    }
}

/// The operations of a semaphore.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SemaphoreOp {
    /// Takes a permit; returns false if there is none.
    Acquire,
    /// Returns a permit; the result is always true.
    Release,
}

const SEMAPHORE_METHODS: [Method<SemaphoreOp>; 2] = [
    Method::new("acquire() -> bool", &["decr", "dec", "down", "wait", "p", "try_acquire"], |_| {
        Ok(SemaphoreOp::Acquire)
    }),
    Method::new("release() -> true", &["incr", "inc", "up", "signal", "post", "v"], |_| {
        Ok(SemaphoreOp::Release)
    }),
];

pub(super) const SEMAPHORE: Info = Info {
    name: "semaphore",
    aliases: &["counting-semaphore"],
    parameters: "init=0",
    methods: &method::signatures(&SEMAPHORE_METHODS),
    summary: "permits to take and give back; no result counts as true",
};

/// A counting semaphore.
#[derive(Clone, Debug, Default)]
pub struct Semaphore {
    init: u64,
}

/// A semaphore with this many initial permits.
pub fn semaphore(permits: u64) -> Semaphore {
    Semaphore { init: permits }
}

impl Spec for Semaphore {
    /// Number of permits.
    type State = u64;
    type Op = SemaphoreOp;
    type Ret = Value;

    fn initial(&self) -> u64 {
        self.init
    }

    fn step(&self, permits: &u64, op: &SemaphoreOp, ret: Option<&Value>, next: &mut Vec<u64>) {
        let done = *op == SemaphoreOp::Release || *permits > 0;
        if ret.is_none_or(|ret| *ret == Value::Bool(done)) {
            next.push(match op {
                SemaphoreOp::Release => permits.saturating_add(1),
                SemaphoreOp::Acquire => permits.saturating_sub(1),
            });
        }
    }

    fn observes(&self, _: &SemaphoreOp, ret: Option<&Value>) -> bool {
        ret == Some(&Value::Bool(false))
    }

    /// The permits are those given back without those taken.
    fn order_insensitive(&self) -> bool {
        true
    }

    fn vocabulary(&self) -> Option<Vocabulary<SemaphoreOp, Value>> {
        let init = i64::try_from(self.init).ok().map(Value::Int);
        Some(Vocabulary::new(Family::Semaphore, init, words::semaphore))
    }

    fn show(&self, op: &SemaphoreOp, ret: Option<&Value>) -> String {
        method::show(&SEMAPHORE_METHODS, self.encode(op), ret)
    }

    fn show_state(&self, permits: &u64) -> String {
        format!("{permits} {}", if *permits == 1 { "permit" } else { "permits" })
    }
}

impl Builtin for Semaphore {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(SemaphoreOp, Option<Value>), String> {
        method::decode(&SEMAPHORE_METHODS, method, args, result, |_, ret| truth(ret, true))
    }

    fn encode(&self, op: &SemaphoreOp) -> (&'static str, Vec<Value>) {
        match op {
            SemaphoreOp::Acquire => ("acquire", vec![]),
            SemaphoreOp::Release => ("release", vec![]),
        }
    }

    fn results(&self, permits: &u64, op: &SemaphoreOp) -> Vec<Value> {
        vec![Value::Bool(*op == SemaphoreOp::Release || *permits > 0)]
    }

    fn sample(
        &self,
        _: &Self::State,
        pick: &mut dyn FnMut(u64) -> u64,
        _fresh: i64,
    ) -> SemaphoreOp {
        if pick(32) < 15 { SemaphoreOp::Release } else { SemaphoreOp::Acquire }
    }
}
