//! The connection between a type of operations and the object on which they operate.

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
    /// The type of results.
    type Ret: Data;
    /// What a thread calls operations on: a reference to the object, or something of the thread's
    /// own (a registration, one end of a channel). The thread creates it before its first operation
    /// and drops it after its last.
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
    /// 0 is the thread that makes the calls before and after the others; those are numbered from 1.
    /// Scenarios that differ only in the order of threads of one role are treated as equal: if
    /// handles depend on the number, give each thread a role of its own.
    pub index: usize,
    /// Its role, from 0 in the order of [`Harness::role`](super::Harness::role); `None` for thread
    /// 0.
    pub role: Option<usize>,
}

/// Whether threads call operations on something other than the object itself, which may differ from
/// thread to thread.
pub(crate) fn has_handles<T: 'static, O: Operate<T>>() -> bool {
    type_name::<O::Handle<'static>>() != type_name::<&'static T>()
}
