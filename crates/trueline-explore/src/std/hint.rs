//! As `std::hint`; [`spin_loop`] tells the engine that other threads should run.

use crate::engine::interface;

pub use ::std::hint::*;

/// As `std::hint::spin_loop`. In an exploration other threads run first; the set of explored
/// behaviours does not depend on it.
#[inline(always)]
pub fn spin_loop() {
    interface::far_below!(hint);
}

extern "C" fn hint() {
    if interface::active() {
        crate::front::resolve_watches();
        interface::spin_hint();
    } else {
        ::std::hint::spin_loop();
    }
}
