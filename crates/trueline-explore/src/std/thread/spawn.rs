//! Spawning and joining.

use super::handle::{Thread, Which};
use crate::engine::interface::{self, Access, Condition, Effect, ThreadId};
use crate::front::{self, Caller, Edge, Front};
use ::std::fmt;
use ::std::io;
use ::std::mem::needs_drop;
use ::std::panic::Location;
use ::std::sync::atomic::{AtomicBool, Ordering};
use ::std::sync::{Arc, Mutex, PoisonError};

pub use ::std::thread::Result;

/// As `std::thread::spawn`.
#[track_caller]
pub fn spawn<F, T>(function: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(function).expect("failed to spawn thread")
}

/// As `std::thread::Builder`. The stack size is that of the engine in an exploration.
#[derive(Debug, Default)]
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// As std's `new`.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// As std's `name`.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// As std's `stack_size`.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// As std's `spawn`.
    ///
    /// # Errors
    /// If the system cannot make a thread.
    #[track_caller]
    pub fn spawn<F, T>(self, function: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if !interface::active() {
            let handle = self.outside().spawn(function)?;
            let thread = Thread(Which::Outside(handle.thread().clone()));
            return Ok(JoinHandle(Handle::Outside(handle, thread)));
        }
        let caller = Location::caller();
        // SAFETY: the function and its result outlive everything.
        Ok(JoinHandle(Handle::Inside(unsafe { Started::start(self.name, function, caller) })))
    }

    pub(super) fn into_name(self) -> Option<String> {
        self.name
    }

    pub(super) fn outside(self) -> ::std::thread::Builder {
        let mut builder = ::std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }
}

/// As `std::thread::JoinHandle`.
pub struct JoinHandle<T>(Handle<::std::thread::JoinHandle<T>, T>);

impl<T> JoinHandle<T> {
    /// As std's `join`. In an exploration a thread that panics ends the execution, so it always
    /// succeeds there.
    ///
    /// # Errors
    /// What the thread panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join("JoinHandle::join", Location::caller())
    }
}

/// The methods of a handle while its thread runs.
macro_rules! handle {
    ($name:literal, $handle:ty) => {
        impl<T> $handle {
            /// As std's `thread`.
            #[must_use]
            pub fn thread(&self) -> &Thread {
                self.0.thread()
            }

            /// As std's `is_finished`.
            #[track_caller]
            #[must_use]
            pub fn is_finished(&self) -> bool {
                self.0.is_finished(Location::caller())
            }
        }

        impl<T> fmt::Debug for $handle {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    };
}

pub(super) use handle;

handle!("JoinHandle", JoinHandle<T>);

/// A handle of std's.
pub(super) trait OutsideHandle<T> {
    fn join(self) -> Result<T>;
    fn is_finished(&self) -> bool;
}

impl<T> OutsideHandle<T> for ::std::thread::JoinHandle<T> {
    fn join(self) -> Result<T> {
        self.join()
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }
}

/// The thread behind a handle: an OS thread, or one of an exploration.
pub(super) enum Handle<H, T> {
    Outside(H, Thread),
    Inside(Started<T>),
}

impl<H: OutsideHandle<T>, T> Handle<H, T> {
    pub(super) fn join(self, name: &'static str, caller: Caller) -> Result<T> {
        match self {
            Handle::Outside(handle, _) => handle.join(),
            Handle::Inside(started) => {
                started.wait(name, caller);
                Ok(started.result())
            }
        }
    }

    pub(super) fn thread(&self) -> &Thread {
        match self {
            Handle::Outside(_, thread) => thread,
            Handle::Inside(started) => &started.thread,
        }
    }

    pub(super) fn is_finished(&self, caller: Caller) -> bool {
        match self {
            Handle::Outside(handle, _) => handle.is_finished(),
            Handle::Inside(started) => started.is_finished(caller),
        }
    }
}

/// A thread of an exploration, and the place for its result.
pub(super) struct Started<T> {
    pub(super) thread: Thread,
    id: ThreadId,
    result: Arc<Mutex<Option<T>>>,
    joined: AtomicBool,
    caller: Caller,
}

/// The thread has left its result.
const LEFT: u64 = 1;
/// The handle was dropped.
const DROPPED: u64 = 2;

/// One of the two holders of a result's place gives it up. The later one drops a result that was
/// never fetched, as in std. If no thread can observe which one that was, it is not an event.
fn give_up<T>(
    id: ThreadId,
    result: &Mutex<Option<T>>,
    who: u64,
    name: &'static str,
    caller: Caller,
) {
    if !needs_drop::<T>() {
        return;
    }
    let access = Access::update(interface::of_thread(id, 2)).named(name).at(caller);
    let found = front::kept_event(access, |value| (Effect::update(value, value | who), Edge::Both));
    if found.before != 0 {
        let taken = result.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(taken);
    }
}

impl<T> Drop for Started<T> {
    fn drop(&mut self) {
        if interface::active() && !self.joined.load(Ordering::Relaxed) {
            give_up(self.id, &self.result, DROPPED, "JoinHandle::drop", self.caller);
        }
    }
}

impl<T> Started<T> {
    /// # Safety
    /// The function and its result must outlive the thread: its owner joins it, or both live for
    /// ever.
    pub(super) unsafe fn start<F: FnOnce() -> T>(
        name: Option<String>,
        function: F,
        caller: Caller,
    ) -> Started<T> {
        front::resolve_watches();
        let (result, name, body) = interface::with_own_state(|_: &mut Front, parent| {
            let result = Arc::new(Mutex::new(None));
            let slot = result.clone();
            let name: Option<Arc<str>> = name.map(Arc::from);
            let given = name.clone();
            let body = move || {
                let id = interface::with_own_state(|front: &mut Front, id| {
                    front.thread(id).name = given;
                    front.detector.start(id.0, Some(parent.0));
                    id
                });
                let value = function();
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                give_up(id, &slot, LEFT, "thread, leaving its result", caller);
                drop(slot);
            };
            (result, name, body)
        });
        // SAFETY: the caller's promise.
        let id = unsafe { interface::spawn_borrowing(body, caller) };
        let thread = Thread(Which::Inside { id, name });
        Started { thread, id, result, joined: AtomicBool::new(false), caller }
    }

    pub(super) fn wait(&self, name: &'static str, caller: Caller) {
        wait_for(self.id, name, caller);
    }

    pub(super) fn id(&self) -> ThreadId {
        self.id
    }

    pub(super) fn is_finished(&self, caller: Caller) -> bool {
        let access =
            Access::read(interface::ended(self.id)).named("JoinHandle::is_finished").at(caller);
        let effect = front::kept_event(access, |value| (Effect::read(value), Edge::None));
        effect.after != 0
    }

    pub(super) fn result(&self) -> T {
        self.joined.store(true, Ordering::Relaxed);
        let taken = self.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A destructor that joins must not panic.
        if taken.is_none() && interface::is_lost() {
            interface::give_up();
        }
        taken.expect("a thread that has ended has left its result")
    }
}

/// Waits for a thread of an exploration to end, and knows all that it knew.
pub(super) fn wait_for(id: ThreadId, name: &'static str, caller: Caller) {
    let ended = Access::read(interface::ended(id)).when(Condition::equals(1));
    front::event(ended.named(name).at(caller), |front, thread| {
        front.detector.join(thread, id.0);
        ((), Effect::read(1))
    });
}

/// Waits until the body of a thread of an exploration is over, and joins its clock at that moment.
pub(super) fn wait_for_body(id: ThreadId, name: &'static str, caller: Caller) {
    let location = interface::ended(id);
    let finished = Access::read(location).when(Condition::differs(0));
    let access = front::arrive(finished.named(name).at(caller));
    let value = interface::value(location);
    front::perform(access, |front, thread| {
        if front.thread(id).finished_before {
            front.detector.acquire(thread, location);
        } else {
            front.detector.join(thread, id.0);
        }
        ((), Effect::read(value))
    });
    interface::sweep();
}
