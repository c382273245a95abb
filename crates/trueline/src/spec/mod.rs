//! Specifications: sequential objects that define which results are legal.
//!
//! Most users write [`Sequential`]: a plain struct with `apply`. If several next states are
//! possible, or a checker should know more about the type, implement [`Spec`].

pub(crate) mod canonical;
mod counter;
mod deque;
mod dynamic;
mod facts;
mod items;
mod kv;
#[cfg(test)]
mod laws;
mod lock;
mod log;
mod map;
mod method;
mod named;
mod names;
pub(crate) mod opaque;
mod opaque_op;
mod owner_mutex;
mod params;
mod priority_queue;
mod queue;
mod readings;
mod register;
mod relaxations;
mod relaxed;
mod rmw;
mod set;
mod shared;
mod snapshot;
mod snzi;
#[cfg(test)]
mod spellings;
mod stack;
pub(crate) mod subject;
pub(crate) mod vocabulary;

use std::fmt::Debug;
use std::hash::Hash;

pub use canonical::{Action, Canonical, Kind};
pub use counter::{Counter, CounterOp, counter};
pub use deque::{Deque, DequeOp, deque};
pub use dynamic::{Dynamic, Invocation, Wait};
pub use facts::{Growing, Growth, Origins, Shown, Sum, Total};
pub use items::Items;
pub use kv::{Kv, KvOp, KvState, kv};
pub use lock::{Mutex, MutexOp, Semaphore, SemaphoreOp, mutex, semaphore};
pub use log::{Log, LogOp, log};
pub use map::{Map, MapOp, MapState, map};
#[doc(hidden)]
pub use method::{arguments, found, nothing, same};
pub use named::{Builtin, Info, Named};
pub use names::{all, named};
pub use opaque::{Opaque, OpaqueState};
pub use opaque_op::OpaqueOp;
pub use owner_mutex::{OwnerMutex, OwnerMutexOp, owner_mutex};
pub use priority_queue::{PriorityQueue, PriorityQueueOp, bounded_priority_queue, priority_queue};
pub use queue::{Queue, QueueOp, bounded_queue, queue};
pub use register::{Register, RegisterOp, RegisterState, cas_register, register, unknown_register};
pub use relaxations::{ContainerOp, Relaxation, Relaxed, RelaxedState, Turn, relaxed};
pub use relaxed::{Semiqueue, StutteringQueue, StutteringState, semiqueue, stuttering_queue};
pub use rmw::{Rmw, RmwOp, rmw};
pub use set::{Multiset, MultisetOp, Set, SetOp, multiset, set};
pub use snapshot::{Snapshot, SnapshotOp, snapshot};
pub use snzi::{Snzi, SnziOp, snzi};
pub use stack::{Stack, StackOp, stack};
pub use vocabulary::{Act, Amount, End, Family, Needs, Vocabulary};

/// The requirements on states, operations and results. Implemented for every type that meets them.
pub trait Data: Clone + Eq + Hash + Debug + Send + Sync + 'static {}
impl<T: Clone + Eq + Hash + Debug + Send + Sync + 'static> Data for T {}

/// A deterministic sequential object: what most users write.
///
/// ```
/// use trueline::Sequential;
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct Tally(u64);
///
/// impl Sequential for Tally {
///     type Op = u64;
///     type Ret = u64;
///     fn apply(&mut self, op: &u64) -> u64 {
///         self.0 += op;
///         self.0
///     }
/// }
/// ```
pub trait Sequential: Data {
    /// The type of operations.
    type Op: Data;
    /// The type of results.
    type Ret: Data;
    /// Performs the operation. Must depend on the state and the operation alone.
    fn apply(&mut self, op: &Self::Op) -> Self::Ret;
    /// Whether the operation can proceed in this state; if not, it blocks.
    fn enabled(&self, _op: &Self::Op) -> bool {
        true
    }
    /// Operations with different keys never touch the same part of the state. `None`: touches
    /// everything.
    fn partition(_op: &Self::Op) -> Option<u64> {
        None
    }
    /// 'I am a queue': makes checking fast. See [`Spec::canonical`].
    fn canonical(&self) -> Option<Canonical<Self::Op, Self::Ret>> {
        None
    }
    /// True claims: in every state, both orders of the two operations lead to the same state, give
    /// each the same result, and block or do not block alike. A search then tries one order instead
    /// of two. Before a violation is reported, the claim is tested on the operations of the
    /// history, in states that a few of them lead to; a claim that fails is not used.
    fn commutes(_a: &Self::Op, _b: &Self::Op) -> bool {
        false
    }
}

/// A sequential object in general: nondeterministic, partial, and with claims about itself.
///
/// Only the first two methods are required. The others make checking faster or explanations
/// shorter; their claims must be true, and each method documents what it claims.
pub trait Spec: Send + Sync {
    /// The object's state.
    type State: Data;
    /// The type of operations.
    type Op: Data;
    /// The type of results.
    type Ret: Data;

    /// The state before the first operation.
    fn initial(&self) -> Self::State;

    /// Pushes every state that the operation with this result can lead to; none if the result is
    /// wrong. `ret` is `None` if the outcome is unknown: then every result is possible.
    fn step(
        &self,
        state: &Self::State,
        op: &Self::Op,
        ret: Option<&Self::Ret>,
        next: &mut Vec<Self::State>,
    );

    /// Operations with different keys never touch the same part of the state: a history splits by
    /// key. `None`: the operation touches everything. Two keys may share a number; the state must
    /// keep them apart.
    fn partition(&self, _op: &Self::Op) -> Option<u64> {
        None
    }

    /// 'I am a queue': names a kind of object for which an exact algorithm is known. The claim is
    /// tested before it is used.
    fn canonical(&self) -> Option<Canonical<Self::Op, Self::Ret>> {
        None
    }

    /// The vocabulary for explaining violations. The default is that of the claimed
    /// [kind](Spec::canonical).
    fn vocabulary(&self) -> Option<Vocabulary<Self::Op, Self::Ret>> {
        self.canonical().map(Vocabulary::of)
    }

    /// True claims: with this result the operation changes no state in which it is legal. Such an
    /// operation is taken as soon as it fits, and dropped if its result is unknown.
    fn observes(&self, _op: &Self::Op, _ret: Option<&Self::Ret>) -> bool {
        false
    }

    /// True claims: the state is a function of the set of applied operations, not of their order,
    /// as long as every result is known.
    fn order_insensitive(&self) -> bool {
        false
    }

    /// Whether reordering is used: [`Spec::commutes`] makes claims.
    fn reorders(&self) -> bool {
        false
    }

    /// True claims: the two operations with these results commute. From every state, one after the
    /// other leads to the same states in both orders, and to none in both orders if a result is
    /// wrong. A result is `None` if it is unknown.
    fn commutes(
        &self,
        _a: (&Self::Op, Option<&Self::Ret>),
        _b: (&Self::Op, Option<&Self::Ret>),
    ) -> bool {
        false
    }

    /// True claims: the result shows nothing. In every state, the operation with it leads to the
    /// same states as with an unknown outcome.
    fn says_nothing(&self, _op: &Self::Op, _ret: &Self::Ret) -> bool {
        false
    }

    /// Whether look-ahead is used: [`Spec::in_reach`] and [`Spec::may_help`] make claims.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Look-ahead: false claims that the observer with this result is not legal in this state, and
    /// that no sequence of operations leads from here to where it is, unless one of them [may
    /// help](Spec::may_help).
    fn in_reach(
        &self,
        _state: &Self::State,
        _observer: &Self::Op,
        _ret: Option<&Self::Ret>,
    ) -> bool {
        true
    }

    /// Look-ahead: false claims that the operation leads from no state in which the observer with
    /// this result is out of reach to one in which it is in reach.
    fn may_help(&self, _op: &Self::Op, _observer: &Self::Op, _ret: Option<&Self::Ret>) -> bool {
        true
    }

    /// Where the values in results come from: a value that cannot have been inserted is a violation
    /// at once.
    fn origins(&self) -> Option<Origins<Self::Op, Self::Ret>> {
        None
    }

    /// 'I only grow', as long as certain operations are not called: such histories are decided
    /// without a search.
    fn growing(&self) -> Option<Growing<Self::Op, Self::Ret>> {
        None
    }

    /// 'I am a sum': totals that are too large or too small are a violation at once.
    fn sum(&self) -> Option<Sum<Self::Op, Self::Ret>> {
        None
    }

    /// How the operation touches values, so that an explanation can leave out what does not matter.
    /// The default leaves out nothing but observers.
    fn touches(&self, _op: &Self::Op, _ret: Option<&Self::Ret>) -> Touches {
        Touches::Everything
    }

    /// The operation as text: `deq() -> 7`; `-> ?` if the result is unknown.
    fn show(&self, op: &Self::Op, ret: Option<&Self::Ret>) -> String {
        match ret {
            Some(ret) => format!("{op:?} -> {ret:?}"),
            None => format!("{op:?} -> ?"),
        }
    }

    /// The state as people read it, after 'the object is'.
    fn show_state(&self, state: &Self::State) -> String {
        format!("{state:?}")
    }
}

/// How an operation touches values. This determines what an explanation can leave out so that the
/// rest is a violation *for the same reason*: dropping must never turn a linearizable history into
/// a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// It may depend on every operation that changes the state.
    Everything,
    /// It inserts, removes or sees one value of a container. All operations of one value may leave
    /// together.
    Value(u64),
    /// It needs the state to hold `reads` and leaves `writes` there. It may leave once no operation
    /// that stays reads what it writes.
    Flow {
        /// The value that it needs.
        reads: Option<u64>,
        /// The value that it leaves.
        writes: Option<u64>,
    },
}

impl Touches {
    /// It needs no value and leaves none: everything else may leave while it stays.
    pub const NOTHING: Touches = Touches::Flow { reads: None, writes: None };
}

/// The number of a value, for [`Touches`] and [`Spec::partition`].
pub fn key_of(value: &impl Hash) -> u64 {
    use std::hash::BuildHasher;
    foldhash::fast::FixedState::with_seed(7).hash_one(value)
}

impl<T: Sequential> Spec for T {
    type State = T;
    type Op = T::Op;
    type Ret = T::Ret;

    fn initial(&self) -> T {
        self.clone()
    }

    fn step(&self, state: &T, op: &T::Op, ret: Option<&T::Ret>, next: &mut Vec<T>) {
        if !state.enabled(op) {
            return;
        }
        let mut after = state.clone();
        let result = after.apply(op);
        if ret.is_none_or(|ret| *ret == result) {
            next.push(after);
        }
    }

    fn partition(&self, op: &T::Op) -> Option<u64> {
        T::partition(op)
    }

    fn canonical(&self) -> Option<Canonical<T::Op, T::Ret>> {
        Sequential::canonical(self)
    }

    fn reorders(&self) -> bool {
        true
    }

    fn commutes(&self, a: (&T::Op, Option<&T::Ret>), b: (&T::Op, Option<&T::Ret>)) -> bool {
        T::commutes(a.0, b.0)
    }
}
