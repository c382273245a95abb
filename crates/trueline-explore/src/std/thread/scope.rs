//! As `std::thread::scope`.

use super::handle::{Thread, Which};
use super::spawn::{Builder, Handle, OutsideHandle, Result, Started, handle, wait_for_body};
use crate::engine::interface;
use crate::front;
use ::std::fmt;
use ::std::io;
use ::std::marker::PhantomData;
use ::std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use ::std::sync::{Mutex, OnceLock, PoisonError};

/// As `std::thread::Scope`.
pub struct Scope<'scope, 'env: 'scope> {
    /// Std's scope, which has the lifetimes of this one; set before the user's function runs.
    outside: OnceLock<Outside>,
    /// In an exploration.
    inside: Mutex<Inside>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The threads of a scope in an exploration.
#[derive(Default)]
struct Inside {
    /// Those to wait for.
    spawned: Vec<Spawned>,
    /// The owner, and those that have been waited for.
    ended: Vec<interface::ThreadId>,
}

/// A thread, and the thread that spawned it.
struct Spawned {
    parent: interface::ThreadId,
    child: interface::ThreadId,
}

struct Outside(*const ::std::thread::Scope<'static, 'static>);

// SAFETY: the pointee is `Sync`.
unsafe impl Send for Outside {}
// SAFETY: as above.
unsafe impl Sync for Outside {}
/// As `std::thread::scope`.
#[track_caller]
pub fn scope<'env, F, T>(function: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope {
        outside: OnceLock::new(),
        inside: Mutex::default(),
        scope: PhantomData,
        env: PhantomData,
    };
    if !interface::active() {
        // `scope` outlives the call, hence all threads that std joins at its end.
        return ::std::thread::scope(|outside| {
            let _ = scope.outside.set(Outside(::std::ptr::from_ref(outside).cast()));
            function(&scope)
        });
    }
    let caller = Location::caller();
    // The threads borrow from the caller, so they end before a panic continues.
    let result = catch_unwind(AssertUnwindSafe(|| function(&scope)));
    let mut ended = interface::current_thread();
    while let Some(thread) = scope.next_to_join(ended) {
        wait_for_body(thread, "thread::scope, joining", caller);
        ended = thread;
    }
    match result {
        Ok(value) => value,
        Err(payload) => resume_unwind(payload),
    }
}

impl<'scope> Scope<'scope, '_> {
    /// The thread to wait for next; the current one has ended, or is the owner.
    ///
    /// Threads may spawn others concurrently, in an order that the exploration does not know. So
    /// the order here depends only on the threads for which the owner has waited.
    fn next_to_join(&self, ended: interface::ThreadId) -> Option<interface::ThreadId> {
        front::outside(|| {
            let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
            let Inside { spawned, ended: known } = &mut *inside;
            known.push(ended);
            let of_known = |parent| spawned.iter().rposition(|thread| thread.parent == parent);
            // Threads of a scope within this one may have spawned others into it.
            let of_others =
                || (0..spawned.len()).min_by_key(|&at| (spawned[at].parent, spawned[at].child));
            let at = known.iter().copied().find_map(of_known).or_else(of_others)?;
            Some(spawned.remove(at).child)
        })
    }

    /// As std's `spawn`.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, function: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, function).expect("failed to spawn thread")
    }
}

impl Builder {
    /// As std's `spawn_scoped`.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    #[track_caller]
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        function: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        if let Some(Outside(outside)) = scope.outside.get() {
            // SAFETY: std's scope lives as long as its threads, which is `'scope`. Its second
            // lifetime only bounds what may be borrowed, and the signature of this function has
            // checked that.
            let outside: &'scope ::std::thread::Scope<'scope, 'static> =
                unsafe { &*outside.cast::<::std::thread::Scope<'scope, 'static>>() };
            let handle = self.outside().spawn_scoped(outside, function)?;
            let thread = Thread(Which::Outside(handle.thread().clone()));
            return Ok(ScopedJoinHandle(Handle::Outside(handle, thread)));
        }
        // SAFETY: `scope` waits for the thread before `'scope` ends.
        let started = unsafe { Started::start(self.into_name(), function, Location::caller()) };
        let spawned = Spawned { parent: interface::current_thread(), child: started.id() };
        front::outside(|| {
            scope.inside.lock().unwrap_or_else(PoisonError::into_inner).spawned.push(spawned);
        });
        Ok(ScopedJoinHandle(Handle::Inside(started)))
    }
}

/// As `std::thread::ScopedJoinHandle`.
pub struct ScopedJoinHandle<'scope, T>(Handle<::std::thread::ScopedJoinHandle<'scope, T>, T>);

impl<T> OutsideHandle<T> for ::std::thread::ScopedJoinHandle<'_, T> {
    fn join(self) -> Result<T> {
        self.join()
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// As std's `join`; see [`JoinHandle::join`](super::JoinHandle::join).
    ///
    /// # Errors
    /// What the thread panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join("ScopedJoinHandle::join", Location::caller())
    }
}

handle!("ScopedJoinHandle", ScopedJoinHandle<'_, T>);

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
