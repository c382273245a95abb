//! Which thread panics: std only knows about the OS thread, which runs all threads of an
//! exploration.

use crate::engine::interface;

/// As `std::thread::panicking`.
#[must_use]
#[inline]
pub fn panicking() -> bool {
    if interface::active() { interface::is_panicking() } else { ::std::thread::panicking() }
}
