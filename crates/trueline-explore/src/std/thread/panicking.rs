//! Which thread panics: std knows only that of the OS, on which all threads of an exploration run.

use crate::engine::interface;

/// As `std::thread::panicking`.
#[must_use]
#[inline]
pub fn panicking() -> bool {
    if interface::active() { interface::is_panicking() } else { ::std::thread::panicking() }
}
