//! Handles to threads.

use super::park;
use crate::engine::interface;
use crate::front::Front;
use ::std::fmt;
use ::std::sync::Arc;

/// As `std::thread::Thread`.
#[derive(Clone)]
pub struct Thread(pub(super) Which);

#[derive(Clone)]
pub(super) enum Which {
    Outside(::std::thread::Thread),
    Inside { id: interface::ThreadId, name: Option<Arc<str>> },
}

/// As `std::thread::ThreadId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(Id);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Id {
    Outside(::std::thread::ThreadId),
    Inside(interface::ThreadId),
}

impl Thread {
    pub(super) fn current() -> Thread {
        if !interface::active() {
            return Thread(Which::Outside(::std::thread::current()));
        }
        let id = interface::current_thread();
        let name = interface::with_state(|front: &mut Front| front.thread(id).name.clone());
        Thread(Which::Inside { id, name })
    }

    /// As std's `id`.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.0 {
            Which::Outside(thread) => Id::Outside(thread.id()),
            Which::Inside { id, .. } => Id::Inside(*id),
        })
    }

    /// As std's `name`.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Which::Outside(thread) => thread.name(),
            Which::Inside { name, .. } => name.as_deref(),
        }
    }

    /// As std's `unpark`.
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Which::Outside(thread) => thread.unpark(),
            // After its execution there is no thread to wake.
            Which::Inside { id, .. } if interface::active() => park::unpark(*id),
            Which::Inside { .. } => (),
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
