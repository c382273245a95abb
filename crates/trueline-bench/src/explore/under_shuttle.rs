//! The programs under shuttle's depth-first search.

// The same file over another library is another module.
#[allow(clippy::duplicate_mod)]
#[path = "objects.rs"]
mod objects;

use std::time::{Duration, Instant};

pub(crate) use objects::objects;
use shuttle::scheduler::DfsScheduler;
use shuttle::{Config, Runner};

use super::{Body, Notes};

mod library {
    pub(super) use shuttle::sync::Mutex;
    pub(super) use shuttle::sync::atomic::{AtomicUsize, Ordering};
    pub(super) use shuttle::thread;
}

pub(crate) fn explore(body: Body, timeout: Duration, notes: &'static Notes) -> bool {
    let mut config = Config::new();
    config.max_time = Some(timeout);
    let started = Instant::now();
    Runner::new(DfsScheduler::new(None, false), config).run(move || notes.note(body()));
    started.elapsed() < timeout
}
