//! The one panic hook: silent inside an exploration, where a panic is a result; as before elsewhere.

use std::panic;
use std::sync::Once;

use super::calls;
use super::interface::Failure;

/// Installs the hook, once in a process. The hook that was there before is called for panics outside of explorations.
pub(crate) fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let noted = calls::try_with(|machine| {
                let payload = info.payload();
                let message = (payload.downcast_ref::<&str>().map(|text| String::from(*text)))
                    .or_else(|| payload.downcast_ref::<String>().cloned())
                    .unwrap_or_else(|| String::from("a panic with a payload that is no text"));
                let at = info.location().map(ToString::to_string);
                machine.panic = Some(Failure::Panic { message, at });
            });
            if noted.is_none() {
                before(info);
            }
        }));
    });
}
