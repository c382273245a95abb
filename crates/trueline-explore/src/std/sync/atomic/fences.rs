//! Fences order plain accesses for the race detector; values are sequentially consistent without
//! them.

use super::Ordering;
use crate::engine::interface;
use crate::front::Front;

pub use ::std::sync::atomic::compiler_fence;

/// As `std::sync::atomic::fence`.
///
/// # Panics
/// If the ordering is `Relaxed`.
#[inline]
#[track_caller]
pub fn fence(order: Ordering) {
    if !interface::active() || order == Ordering::Relaxed {
        return ::std::sync::atomic::fence(order);
    }
    let thread = interface::current_thread();
    crate::front::resolve_watches();
    interface::with_state(|front: &mut Front| front.detector.fence(thread.0, order));
}
