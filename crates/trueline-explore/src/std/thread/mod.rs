//! As `std::thread`.

mod handle;
mod local;
mod panicking;
mod park;
mod scope;
mod spawn;

pub use handle::{Thread, ThreadId};
pub use local::LocalKey;
pub(crate) use local::finish;
pub use panicking::panicking;
pub use park::{park, park_timeout, sleep, yield_now};
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use spawn::{Builder, JoinHandle, Result, spawn};

pub use ::std::thread::{AccessError, available_parallelism};

/// A handle to the calling thread, as `std::thread::current`.
#[must_use]
pub fn current() -> Thread {
    Thread::current()
}
