//! The programs of the benchmark against loom and shuttle, over the shadow std.

#[path = "../../../trueline-bench/src/explore/objects.rs"]
mod objects;

pub(crate) use objects::objects;

mod library {
    pub(super) use trueline_explore::std::sync::Mutex;
    pub(super) use trueline_explore::std::sync::atomic::{AtomicUsize, Ordering};
    pub(super) use trueline_explore::std::thread;
}
