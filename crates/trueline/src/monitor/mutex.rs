//! The mutex without owners: any process may release it. It is a set with a single key, which is
//! present while the lock is held: acquiring adds, releasing removes. Cost and proof are those of
//! [`super::set`].

use super::{Answer, Op, set};

/// The effect of an operation on a mutex. One that never returned may have taken effect or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Took the lock.
    Acquire,
    /// Gave the lock back.
    Release,
    /// Tried to take the lock and found it held, or only observed that.
    FoundHeld,
    /// Observed that it is free.
    FoundFree,
}

/// Decides a mutex. `held`: whether the lock is held at the start.
pub(crate) fn check(operations: &[Op<Action>], held: bool) -> Answer {
    let as_set = |o: &Op<Action>| Op {
        span: o.span,
        action: match o.action {
            Action::Acquire => set::Action::Add,
            Action::Release => set::Action::Remove,
            Action::FoundHeld => set::Action::Present,
            Action::FoundFree => set::Action::Absent,
        },
    };
    let operations: Vec<_> = operations.iter().map(as_set).collect();
    set::check(&operations, held, true)
}
