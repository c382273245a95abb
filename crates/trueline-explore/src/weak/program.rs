//! The interface of an explored program: the next request of a thread, given the answers to its
//! former ones.

use crate::engine::interface::Condition;

/// How an access or a fence orders others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// A plain access: it may race.
    NotAtomic,
    /// `Ordering::Relaxed`.
    Relaxed,
    /// `Ordering::Acquire`, of a load or a fence.
    Acquire,
    /// `Ordering::Release`, of a store or a fence.
    Release,
    /// `Ordering::AcqRel`, of a read-modify-write or a fence.
    AcqRel,
    /// `Ordering::SeqCst`.
    SeqCst,
}

impl Order {
    /// Whether a load or a fence with this order synchronises with the write that it reads.
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel | Order::SeqCst)
    }

    /// Whether a store or a fence with this order passes on what came before.
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel | Order::SeqCst)
    }

    /// The order of the read half of a read-modify-write.
    pub(super) fn of_read_half(self) -> Order {
        match self {
            Order::AcqRel => Order::Acquire,
            Order::Release => Order::Relaxed,
            other => other,
        }
    }

    /// The order of its write half.
    pub(super) fn of_write_half(self) -> Order {
        match self {
            Order::AcqRel => Order::Release,
            Order::Acquire => Order::Relaxed,
            other => other,
        }
    }
}

impl From<std::sync::atomic::Ordering> for Order {
    fn from(order: std::sync::atomic::Ordering) -> Order {
        use std::sync::atomic::Ordering;
        match order {
            Ordering::Relaxed => Order::Relaxed,
            Ordering::Acquire => Order::Acquire,
            Ordering::Release => Order::Release,
            Ordering::AcqRel => Order::AcqRel,
            // `Ordering` may grow: an unknown ordering counts as the strongest.
            _ => Order::SeqCst,
        }
    }
}

/// The value that a read-modify-write writes for the value that it reads: a pure function, since
/// the exploration calls it again when the read reads another value. `None`: nothing is written, as
/// when a compare-exchange fails.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    function: fn(found: u64, arguments: [u64; 2]) -> Option<u64>,
    arguments: [u64; 2],
}

impl Update {
    /// Any pure function of the value found and of two arguments.
    pub fn new(arguments: [u64; 2], function: fn(u64, [u64; 2]) -> Option<u64>) -> Update {
        Update { function, arguments }
    }

    /// Adds and wraps around.
    pub fn add(n: u64) -> Update {
        Update::new([n, 0], |found, [n, _]| Some(found.wrapping_add(n)))
    }

    /// Replaces whatever is found.
    pub fn swap(new: u64) -> Update {
        Update::new([new, 0], |_, [new, _]| Some(new))
    }

    /// Replaces one value by another.
    pub fn compare_exchange(expected: u64, new: u64) -> Update {
        Update::new([expected, new], |found, [expected, new]| (found == expected).then_some(new))
    }

    /// The value that it writes over a value.
    pub fn apply(&self, found: u64) -> Option<u64> {
        (self.function)(found, self.arguments)
    }
}

/// The next request of a thread.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// A load. The answer is the value.
    Read {
        /// Which location.
        location: usize,
        /// With which ordering.
        order: Order,
        /// The thread waits until the value satisfies this.
        until: Option<Condition>,
    },
    /// A store. The answer is 0.
    Write {
        /// Which location.
        location: usize,
        /// With which ordering.
        order: Order,
        /// The value.
        value: u64,
    },
    /// A read-modify-write. The answer is the value found.
    Update {
        /// Which location.
        location: usize,
        /// Its update.
        update: Update,
        /// Its ordering if it writes.
        success: Order,
        /// Its ordering if it does not.
        failure: Order,
        /// The thread waits until the value satisfies this.
        until: Option<Condition>,
    },
    /// A fence. The answer is 0.
    Fence(Order),
    /// The environment chooses a number below this one, which must not be 0. The answer is the
    /// number.
    Choice(u64),
    /// The thread waits for ever: an assumption failed.
    Stuck,
    /// The thread is over.
    End,
}

/// A program with a fixed number of threads, each a function of the values that it has read.
pub trait Program {
    /// How many threads there are.
    fn threads(&self) -> usize;

    /// The next request of a thread, given the answers to all its requests so far, in order. Equal
    /// arguments must give equal results.
    fn next(&self, thread: usize, answers: &[u64]) -> Request;

    /// The value of a location before anybody writes it.
    fn initial(&self, _location: usize) -> u64 {
        0
    }
}
