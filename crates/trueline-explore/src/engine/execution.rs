//! One run of the program. (Signatures first: the front end is built against them.)

use super::interface::{Access, Effect, Failure, PerExecution, ThreadId};

pub(crate) struct Execution;

pub(crate) fn active() -> bool {
    false
}

pub(crate) fn with<R>(_: impl FnOnce(&mut Execution) -> R) -> R {
    panic!("no exploration is under way")
}

pub(crate) fn point(_: &Access) {}

pub(crate) fn spawn(_: Box<dyn FnOnce()>) -> ThreadId {
    with(|_| ThreadId(0))
}

pub(crate) fn ended(thread: ThreadId) -> usize {
    !(thread.0 as usize)
}

pub(crate) fn fail(failure: Failure) -> ! {
    panic!("{failure:?}")
}

pub(crate) fn with_state<T: PerExecution, R>(function: impl FnOnce(&mut T) -> R) -> R {
    function(&mut T::default())
}

impl Execution {
    pub(crate) fn current_thread(&self) -> ThreadId {
        ThreadId(0)
    }
    pub(crate) fn record(&mut self, _: Effect) {}
    pub(crate) fn value(&self, _: usize) -> u64 {
        0
    }
    pub(crate) fn forget(&mut self, _: usize) {}
    pub(crate) fn fresh_location(&mut self) -> usize {
        0
    }
    pub(crate) fn choose(&mut self, _: u32) -> u32 {
        0
    }
    pub(crate) fn spin_hint(&mut self) {}
    pub(crate) fn operation_begins(&mut self, _: u64) {}
    pub(crate) fn operation_ends(&mut self, _: u64) {}
}
