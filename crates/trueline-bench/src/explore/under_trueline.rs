//! The programs under trueline.

// The same file over another library is another module.
#[allow(clippy::duplicate_mod)]
#[path = "objects.rs"]
mod objects;

use std::time::Duration;

pub(crate) use objects::objects;
use trueline_explore::engine::Exploration;
use trueline_explore::memory::untracked;

use super::{Body, Notes};

mod library {
    pub(super) use trueline_explore::std::sync::Mutex;
    pub(super) use trueline_explore::std::sync::atomic::{AtomicUsize, Ordering};
    pub(super) use trueline_explore::std::thread;
}

pub(crate) fn explore(body: Body, timeout: Duration, notes: &'static Notes) -> bool {
    let report = Exploration::new().time(10 * timeout).run(|| {
        let outcome = body();
        untracked(|| notes.note(outcome));
    });
    report.holds()
}
