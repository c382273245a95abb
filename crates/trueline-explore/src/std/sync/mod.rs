//! As `std::sync`.

mod arc;
pub mod atomic;
mod barrier;
mod condvar;
mod guards;
mod identity;
mod lazy;
pub mod mpsc;
mod mutex;
mod once;
mod poison;
mod rwlock;
mod weak;

pub use arc::Arc;
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceLock, OnceState};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use weak::Weak;

pub use ::std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
