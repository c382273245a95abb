//! The only panic hook. It is silent inside an exploration, where a panic is a result, and where
//! the harness asks for silence. Elsewhere the previous hook runs.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use super::calls;
use super::interface::Failure;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// The source line of the last panic that was silenced.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs the hook, once per process. Panics outside of explorations go to the previous hook.
pub(crate) fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let noted = calls::try_with(|machine| {
                let message = message(info.payload());
                let at = info.location().map(ToString::to_string);
                machine.panic_begins(message, at);
            });
            if noted.is_some() {
                return;
            }
            if QUIET.get() {
                PLACE.set(info.location().map(ToString::to_string));
            } else {
                before(info);
            }
        }));
    });
}

/// A caught panic and its source line.
pub(crate) struct Caught {
    pub(crate) payload: Box<dyn Any + Send>,
    at: Option<String>,
}

impl Caught {
    /// The panic as a failure of the engine's.
    pub(crate) fn failure(self) -> Failure {
        Failure::Panic { message: message(&*self.payload), at: self.at }
    }
}

/// Runs a function; a panic of its is caught, and not printed.
pub(crate) fn caught<R>(function: impl FnOnce() -> R) -> Result<R, Caught> {
    install_hook();
    let quiet = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(function));
    QUIET.set(quiet);
    result.map_err(|payload| Caught { payload, at: PLACE.take() })
}

pub(super) fn message(payload: &(dyn Any + Send)) -> String {
    (payload.downcast_ref::<&str>().map(|text| String::from(*text)))
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| String::from("a panic with a payload that is no text"))
}
