//! What ties a type of operations to the object that they are operations of.

use std::any::type_name;

use trueline::spec::Data;

/// An operation on objects of type `T`: something that can be called, compared and printed.
///
/// [`operations!`](crate::operations) implements it for an enum; a type that is built at run time
/// implements it by hand.
///
/// ```
/// use trueline_explore::harness::{Operate, Thread};
/// use trueline_explore::std::sync::atomic::{AtomicU64, Ordering::SeqCst};
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Add(u64);
///
/// impl Operate<AtomicU64> for Add {
///     type Ret = u64;
///     type Handle<'a> = &'a AtomicU64;
///     fn handle(object: &AtomicU64, _: Thread) -> &AtomicU64 {
///         object
///     }
///     fn operate(&self, object: &mut &AtomicU64) -> u64 {
///         object.fetch_add(self.0, SeqCst)
///     }
/// }
/// ```
pub trait Operate<T>: Data {
    /// What comes back.
    type Ret: Data;
    /// What a thread calls operations on: a reference to the object, or what a thread has of its
    /// own (a registration, one end of a channel). It is made in the thread, before its first
    /// operation, and dropped there after its last.
    type Handle<'a>
    where
        T: 'a;
    /// The handle of a thread.
    fn handle(object: &T, thread: Thread) -> Self::Handle<'_>;
    /// Calls the operation.
    fn operate(&self, handle: &mut Self::Handle<'_>) -> Self::Ret;
}

/// A thread that calls operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// 0 is the one that runs what comes before and after the others; they are numbered from 1.
    /// Scenarios that differ only in the order of threads of one role are not told apart: if
    /// handles depend on the number, give each thread a role of its own.
    pub index: usize,
    /// Its role, from 0 in the order of [`Harness::role`](super::Harness::role); None for thread 0.
    pub role: Option<usize>,
}

/// Whether threads call operations on something else than the object itself, which may differ from
/// thread to thread.
pub(crate) fn has_handles<T: 'static, O: Operate<T>>() -> bool {
    type_name::<O::Handle<'static>>() != type_name::<&'static T>()
}
