//! The programs under loom.

// The same file over another library is another module.
#[allow(clippy::duplicate_mod)]
#[path = "objects.rs"]
mod objects;

use std::time::{Duration, Instant};

pub(crate) use objects::objects;

use super::{Body, Notes};

mod library {
    pub(super) use loom::sync::Mutex;
    pub(super) use loom::sync::atomic::{AtomicUsize, Ordering};
    pub(super) use loom::thread;
}

pub(crate) fn explore(body: Body, timeout: Duration, notes: &'static Notes) -> bool {
    let mut builder = loom::model::Builder::new();
    builder.max_duration = Some(timeout);
    // Loom looks at the clock at every so many executions.
    builder.checkpoint_interval = 100;
    // Loom ends threads by unwinding; shuttle's hook, once installed, would print each.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let started = Instant::now();
    builder.check(move || notes.note(body()));
    let complete = started.elapsed() < timeout;
    std::panic::set_hook(hook);
    complete
}
