//! Which objects this thread is inside of, while they run code of the user's: an object that this
//! code calls can then see that it would wait for itself.
//!
//! A thread's frames form a list on its stack, the innermost first. An entry costs two stores to a
//! thread local.

use super::sync::thread_local;
use std::cell::Cell;
use std::ptr;

/// A function that runs inside of an object.
struct Frame {
    object: *const (),
    outer: *const Frame,
}

thread_local! {
    /// Points to a frame of a function that has not returned, or to nothing.
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

/// Runs a function inside of the object at this address.
#[inline]
pub(crate) fn within<R>(object: *const (), function: impl FnOnce() -> R) -> R {
    let frame = Frame { object, outer: INNERMOST.with(Cell::get) };
    INNERMOST.with(|innermost| innermost.set(&raw const frame));
    // Also if the function panics.
    struct Leaving(*const Frame);
    impl Drop for Leaving {
        fn drop(&mut self) {
            INNERMOST.with(|innermost| innermost.set(self.0));
        }
    }
    let _leaving = Leaving(frame.outer);
    function()
}

/// Whether this thread runs a function inside of the object at this address.
pub(crate) fn is_within(object: *const ()) -> bool {
    let mut next = INNERMOST.with(Cell::get);
    // SAFETY: it is a frame of this thread, of a call of `within` that has not returned: it is on
    // the stack and is not written.
    while let Some(frame) = unsafe { next.as_ref() } {
        if ptr::eq(frame.object, object) {
            return true;
        }
        next = frame.outer;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{is_within, within};
    use std::panic::catch_unwind;

    #[test]
    fn a_thread_knows_what_it_is_inside_of() {
        let address = |object: &u8| (&raw const *object).cast::<()>();
        let [one, two] = &[1_u8, 2].map(Box::new);
        within(address(one), || {
            assert!(is_within(address(one)) && !is_within(address(two)));
            within(address(two), || assert!(is_within(address(one)) && is_within(address(two))));
            let panicked =
                catch_unwind(|| within(address(two), || std::panic::resume_unwind(Box::new(()))));
            assert!(panicked.is_err() && is_within(address(one)) && !is_within(address(two)));
            let other = std::thread::scope(|s| s.spawn(|| is_within(address(one))).join());
            assert_eq!(other.ok(), Some(false));
        });
        assert!(!is_within(address(one)));
    }
}
