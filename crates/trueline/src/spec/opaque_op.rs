//! An operation whose type is hidden: the operations of [`Opaque`](super::Opaque).
//!
//! A stream or a generated history has one for each call, and an allocation would cost as much as
//! its processing. So operations of the types listed here are stored in place; any other type is
//! boxed.

use std::any::{Any, TypeId};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::counter::CounterOp;
use super::deque::DequeOp;
use super::kv::KvOp;
use super::lock::{MutexOp, SemaphoreOp};
use super::log::LogOp;
use super::map::MapOp;
use super::opaque::Content;
use super::priority_queue::PriorityQueueOp;
use super::queue::QueueOp;
use super::register::RegisterOp;
use super::set::SetOp;
use super::snapshot::SnapshotOp;
use super::stack::StackOp;
use super::{Action, Data};
use crate::value::Value;

/// The action of an operation with a result, in the terms of a kind.
pub(super) type ActionOf<Op> = fn(&Op, Option<&Value>) -> Option<Action>;

/// An operation of an [`Opaque`](super::Opaque) specification.
#[derive(Clone)]
pub struct OpaqueOp(Stored);

#[derive(Clone)]
struct Acting<Op> {
    op: Op,
    action: Option<ActionOf<Op>>,
}

trait Operation: Send + Sync {
    fn content(&self) -> &dyn Content;
    fn action(&self, result: Option<&Value>) -> Option<Action>;
}

impl<Op: Data> Operation for Acting<Op> {
    fn content(&self) -> &dyn Content {
        &self.op
    }

    fn action(&self, result: Option<&Value>) -> Option<Action> {
        self.action?(&self.op, result)
    }
}

/// The types that are stored in place. The branch is known when a specification is compiled:
/// comparing types costs nothing.
macro_rules! stored {
    ($($kind:ident($op:ty)),*) => {
        #[derive(Clone)]
        enum Stored {
            $($kind(Acting<$op>),)*
            Boxed(Arc<dyn Operation>),
        }

        impl Stored {
            fn new<Op: Data>(op: Op, action: Option<ActionOf<Op>>) -> Stored {
                let mut acting = Some(Acting { op, action });
                $(if TypeId::of::<Op>() == TypeId::of::<$op>() {
                    let same: &mut dyn Any = &mut acting;
                    let own = same.downcast_mut::<Option<Acting<$op>>>().and_then(Option::take);
                    return Stored::$kind(own.expect("the types are the same"));
                })*
                Stored::Boxed(Arc::new(acting.expect("no other type took it")))
            }

            fn get<Op: Data>(&self) -> Option<&Op> {
                match self {
                    $(Stored::$kind(own) => (&own.op as &dyn Any).downcast_ref(),)*
                    Stored::Boxed(own) => own.content().as_any().downcast_ref(),
                }
            }

            fn operation(&self) -> &dyn Operation {
                match self {
                    $(Stored::$kind(own) => own,)*
                    Stored::Boxed(own) => &**own,
                }
            }
        }
    };
}

stored!(
    Register(RegisterOp),
    Counter(CounterOp),
    Kv(KvOp),
    Map(MapOp),
    Queue(QueueOp),
    Stack(StackOp),
    Deque(DequeOp),
    PriorityQueue(PriorityQueueOp),
    Set(SetOp),
    Mutex(MutexOp),
    Semaphore(SemaphoreOp),
    Log(LogOp),
    Snapshot(SnapshotOp)
);

impl OpaqueOp {
    pub(super) fn new<Op: Data>(op: Op, action: Option<ActionOf<Op>>) -> OpaqueOp {
        OpaqueOp(Stored::new(op, action))
    }

    /// The operation, of this type.
    pub(super) fn get<Op: Data>(&self) -> &Op {
        self.0.get().expect("an operation of this specification")
    }

    /// Its action in the terms of the kind that its specification claims.
    pub(super) fn action(&self, result: Option<&Value>) -> Option<Action> {
        self.0.operation().action(result)
    }

    fn content(&self) -> &dyn Content {
        self.0.operation().content()
    }
}

impl PartialEq for OpaqueOp {
    fn eq(&self, other: &OpaqueOp) -> bool {
        self.content().is_same(other.content().as_any())
    }
}

impl Eq for OpaqueOp {}

impl Hash for OpaqueOp {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.content().hash_into(hasher);
    }
}

impl fmt::Debug for OpaqueOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.content().write(f)
    }
}
