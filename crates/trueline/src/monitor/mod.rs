//! Monitors: exact decisions in O(n log n) for common data types.
//!
//! A monitor is a pure function on numbers. It does not depend on specifications, files or budgets:
//! the caller has established that a history is one of a queue, say, and that each value is
//! inserted at most once, and passes intervals and small numbers. The answer is an order that
//! explains the history, or a few operations that no order explains. Code that shares nothing with
//! this module checks both again.
//!
//! | file | decides | cost |
//! |---|---|---|
//! | [`queue`] | first in, first out | O(n) |
//! | [`stack`] | last in, first out | O(n log n) |
//! | [`priority_queue`] | largest first, ties in any order | O(n α(n)) and one sort by priority |
//! | [`register`] | reads and unique writes | O(n) |
//! | [`set`] | one key: adds, removes, lookups, values may repeat | O(n log p), p open at a time |
//! | [`mutex`] | locks without owners, on top of `set` | as `set` |
//! | [`snapshot`] | segments with one writer each, scans | O(n), and the entries that scans show |
//! | [`pending`] | removals that never returned, on top of the first three | a search, within steps |
//!
//! # Time
//!
//! Events have unique *ranks*. The *slot* s is the moment between the ranks s and s + 1, so that an
//! operation [call, returned] can take effect in the slots call, ..., returned - 1, and nothing
//! happens at a rank. All arrays over time are indexed by rank or by slot: ranks are dense, so
//! buckets replace sorting. Where they are not (one key of many), [`ranks`] makes them dense first.
//!
//! **Invariant: dropping is sound.** For the queue, the stack and the priority queue, dropping a
//! value with all its operations, or an empty result, turns no linearizable history into a
//! violation: delete the same operations from the order. So a sub-history made by such drops that
//! is a violation explains the whole.

mod blame;
pub(crate) mod container;
mod max_tree;
pub(crate) mod mutex;
pub(crate) mod pending;
pub(crate) mod priority_queue;
pub(crate) mod queue;
mod ranks;
pub(crate) mod register;
pub(crate) mod set;
mod shrink;
pub(crate) mod snapshot;
pub(crate) mod stack;
#[cfg(test)]
mod tests;

pub(crate) use blame::Blame;

/// The rank of a return that never came. Larger than every rank.
pub(crate) const NEVER: u32 = u32::MAX;

/// No operation: stands for the insertion of an initial value.
pub(crate) const NONE: u32 = u32::MAX;

/// When an operation ran. `call < returned`; the finite ranks of a history are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Rank of the call.
    pub(crate) call: u32,
    /// Rank of the return, or [`NEVER`].
    pub(crate) returned: u32,
}

/// An operation: when it ran and what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op<A> {
    /// When.
    pub(crate) span: Span,
    /// What.
    pub(crate) action: A,
}

/// The finding of a monitor. Operations are identified by their index in the given slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A legal order: every returned operation, and those pending ones that took effect.
    Order(Vec<u32>),
    /// A few operations, ascending, that are a violation by themselves.
    Violation {
        /// The operations.
        operations: Vec<u32>,
        /// The initial values that take part. To check again: these operations on these initial
        /// contents.
        initial: Vec<u32>,
        /// The rule that they break.
        why: Why,
    },
}

impl Answer {
    /// A violation by these operations, without [`NONE`] and repetitions.
    fn violation(operations: impl IntoIterator<Item = u32>, why: Why) -> Answer {
        let mut operations: Vec<u32> = operations.into_iter().filter(|&o| o != NONE).collect();
        operations.sort_unstable();
        operations.dedup();
        Answer::Violation { operations, initial: Vec::new(), why }
    }
}

/// The rule that a violation breaks. Numbers are indices of operations; [`NONE`] for an insert
/// means an initial value, for a removal a value that was never removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// A container returned a value that was never inserted.
    NeverInserted {
        /// The removal.
        remove: u32,
    },
    /// A container gave out the same value twice.
    RemovedTwice {
        /// A removal.
        first: u32,
        /// Another removal of the same value.
        second: u32,
    },
    /// A value came out before its insertion began.
    RemovedBeforeInserted {
        /// The removal, which returned first.
        remove: u32,
        /// The insert, which was called later.
        insert: u32,
    },
    /// A queue returned the second value before the first, which had been inserted earlier.
    WrongOrder {
        /// Returned before `second_insert` was called.
        first_insert: u32,
        /// The later insert.
        second_insert: u32,
        /// Returned before `first_remove` was called.
        second_remove: u32,
        /// The removal that came too late, or never.
        first_remove: u32,
    },
    /// 'Empty' was returned although at each moment some value was certainly inside: the other
    /// operations.
    EmptyWhileCovered {
        /// The empty result.
        empty: u32,
    },
    /// A priority queue returned a value while at each moment a higher one was certainly inside.
    HigherInside {
        /// The removal of the lower value.
        remove: u32,
    },
    /// Values of which one is always in a stack, and none of which can be the lowest.
    NoBottom,
    /// A read of a value that was never written.
    NeverWritten {
        /// The read.
        read: u32,
    },
    /// A read returned before the write of its value was called.
    ReadBeforeWritten {
        /// The read.
        read: u32,
        /// The write.
        write: u32,
    },
    /// Two values of a register, each of which must have been there while the other was.
    StaleRead {
        /// The write of one value, or [`NONE`] for the initial one.
        write: u32,
        /// The write of the other value, or [`NONE`].
        other: u32,
    },
    /// An operation on a key (or a lock) that could not have its result at any moment of its
    /// interval.
    Impossible {
        /// The operation.
        operation: u32,
        /// True where the key was certainly present (the lock held), false where it was absent.
        present: bool,
    },
    /// However the pending removals are dealt out, one of the rules breaks.
    EveryAssignment,
    /// Scans of a snapshot object that no order allows.
    Scans(snapshot::Property, [u32; 4]),
}
