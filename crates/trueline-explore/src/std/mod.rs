//! A standard library that an exploration can schedule.
//!
//! Each item has the name, the signature and the meaning of its counterpart in `std`. Outside of an
//! exploration it calls that counterpart; inside of one it is a scheduling point, and blocks the
//! virtual thread alone.
//!
//! ```
//! #[cfg(any(test, feature = "trueline"))]
//! use trueline_explore::std::sync;
//! #[cfg(not(any(test, feature = "trueline")))]
//! use std::sync;
//! # use sync::Mutex;
//! ```
//!
//! What is not shadowed is re-exported, so that one import serves all uses of a module. The
//! exceptions: an [`sync::Arc`] does not coerce to an `Arc<dyn Trait>` by itself (see there), and
//! the state of statics other than locks and lazily initialised values is not reset between
//! executions.

pub mod cell;
pub mod future;
pub mod hint;
pub mod sync;
pub mod thread;
pub mod time;

pub use crate::thread_local;
