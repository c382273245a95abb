//! As `std::sync::atomic`: atomics of all widths, over std's and as large as those.
//!
//! In an exploration each access is a scheduling point. Its value is sequentially consistent
//! whatever its ordering; the race detector uses the ordering to decide what is ordered.

mod cells;
mod fences;
mod shadow;

pub use ::std::sync::atomic::Ordering;
pub use cells::*;
pub use fences::{compiler_fence, fence};
