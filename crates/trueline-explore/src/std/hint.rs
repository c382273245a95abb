//! As `std::hint`; [`spin_loop`] tells the engine that the thread waits.

use crate::engine::interface;

pub use ::std::hint::*;

/// As `std::hint::spin_loop`. In an exploration the thread is not scheduled again before something that it has read since its last
/// such hint has changed.
#[inline]
pub fn spin_loop() {
    if interface::active() {
        crate::front::settle();
        interface::spin_hint();
    } else {
        ::std::hint::spin_loop();
    }
}
