//! The address of a lock and the like: one byte that belongs to nothing else, so that no atomic inside of the protected value
//! has the same location.

use crate::engine::interface;
use crate::front::Front;
use crate::memory::canonical;
use ::std::fmt;

pub(super) struct Identity(#[allow(dead_code, reason = "its address is what counts")] u8);

impl Identity {
    pub(super) const fn new() -> Identity {
        Identity(0)
    }

    #[inline]
    pub(super) fn location(&self) -> usize {
        ::std::ptr::from_ref(self).addr()
    }
}

impl Drop for Identity {
    #[inline]
    fn drop(&mut self) {
        if interface::active() {
            let location = self.location();
            interface::forget(canonical(location));
            interface::with_state(|front: &mut Front| {
                front.detector.forget_sync(location);
                front.condvars.remove(&location);
            });
        }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}
