//! As `std::sync::atomic`: atomics of all widths, over std's and as large as those.
//!
//! In an exploration each access is a scheduling point. Its value is sequentially consistent
//! whatever its ordering; the ordering decides what the race detector takes to be ordered.

mod cells;
mod fences;
mod shadow;

pub use ::std::sync::atomic::Ordering;
pub use cells::*;
pub use fences::{compiler_fence, fence};
