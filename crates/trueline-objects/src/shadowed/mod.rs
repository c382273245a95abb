//! The objects compiled again over the shadow std, for explorations. The files are the same.

/// As `crate::sync`, over the shadow std.
pub(crate) mod sync {
    pub(crate) use trueline_explore::std::cell;
    pub(crate) use trueline_explore::std::hint;
    pub(crate) use trueline_explore::std::sync::{Mutex, atomic};
    pub(crate) use trueline_explore::std::thread;
    pub(crate) use trueline_explore::std::time::Instant;
    pub(crate) use trueline_explore::thread_local;

    use trueline_explore::engine::interface;

    /// In an exploration no thread is faster: the scheduler decides.
    #[derive(Default)]
    pub(crate) struct Backoff(());

    impl Backoff {
        #[inline]
        pub(crate) const fn up_to(_most: u32) -> Backoff {
            Backoff(())
        }

        #[inline]
        pub(crate) const fn patient() -> Backoff {
            Backoff(())
        }

        #[inline]
        pub(crate) fn wait(&self) {}

        /// Tells the engine that the thread spins.
        #[inline]
        pub(crate) fn wait_for_other(&self) {
            hint::spin_loop();
        }
    }

    /// As `crate::sync::take_number`, which may first try something else.
    #[inline]
    pub(crate) fn take_number(counter: &atomic::AtomicUsize) -> usize {
        counter.fetch_add(1, atomic::Ordering::SeqCst)
    }

    /// To wait changes nothing that an exploration would see.
    #[inline]
    pub(crate) fn await_a_while(_is_so: impl Fn() -> bool) {}

    /// In an exploration freed memory goes back to the allocator, which records that it is free.
    pub(crate) const fn spare_nodes(_size: usize) -> usize {
        0
    }

    /// In an exploration the numbers of ended threads are not reused, so that no thread takes over
    /// their garbage.
    pub(crate) fn threads_ended() -> usize {
        0
    }

    /// In an exploration all records are scanned.
    pub(crate) fn thread_bound() -> usize {
        usize::MAX
    }

    pub(crate) fn with_ended_thread_index(_index: usize, _function: impl FnOnce()) {}

    /// As `crate::sync::store_and_fence`, for which it is written.
    #[inline]
    pub(crate) fn store_and_fence(place: &atomic::AtomicUsize, value: usize) {
        place.store(value, atomic::Ordering::Release);
        atomic::fence(atomic::Ordering::SeqCst);
    }

    /// In an exploration, the number of the virtual thread, which is the same in each execution.
    #[inline]
    pub(crate) fn with_thread_index<R>(function: impl FnOnce(usize) -> R) -> R {
        if interface::active() {
            function(interface::current_thread().0 as usize)
        } else {
            crate::thread_index::with_thread_index(function)
        }
    }
}

#[path = "../objects/array_queue.rs"]
pub mod array_queue;
#[path = "../objects/b_link_tree.rs"]
pub mod b_link_tree;
#[path = "../objects/blocking.rs"]
pub mod blocking;
#[path = "../objects/blocking_queues.rs"]
mod blocking_queues;
#[path = "../objects/bounded_priority_queue.rs"]
pub mod bounded_priority_queue;
#[path = "../objects/counter.rs"]
pub mod counter;
#[path = "../objects/fetch_add_queue.rs"]
pub mod fetch_add_queue;
#[path = "../objects/grace.rs"]
pub(crate) mod grace;
#[path = "../objects/growing_array.rs"]
pub(crate) mod growing_array;
#[path = "../objects/herlihy_wing_queue.rs"]
pub mod herlihy_wing_queue;
#[path = "../objects/lagging_list.rs"]
mod lagging_list;
#[path = "../objects/list_set.rs"]
pub mod list_set;
#[path = "../objects/mark.rs"]
pub(crate) mod mark;
#[path = "../objects/marked_list.rs"]
pub(crate) mod marked_list;
#[path = "../objects/michael_scott_queue.rs"]
pub mod michael_scott_queue;
#[path = "../objects/multiset.rs"]
pub mod multiset;
#[path = "../objects/padded.rs"]
mod padded;
#[path = "../objects/per_thread.rs"]
pub(crate) mod per_thread;
#[path = "../objects/priority_queue.rs"]
pub mod priority_queue;
#[path = "../objects/range.rs"]
mod range;
#[path = "../objects/ring.rs"]
mod ring;
#[path = "../objects/semiqueue.rs"]
pub mod semiqueue;
#[path = "../objects/snapshot.rs"]
pub mod snapshot;
#[path = "../objects/snzi.rs"]
pub mod snzi;
#[path = "../objects/stuttering_queue.rs"]
pub mod stuttering_queue;
#[path = "../objects/ticket_lock.rs"]
pub mod ticket_lock;
#[path = "../objects/to_the_end.rs"]
mod to_the_end;
#[path = "../objects/treiber_stack.rs"]
pub mod treiber_stack;
#[path = "../objects/vyukov_queue.rs"]
pub mod vyukov_queue;
#[path = "../objects/wide_register.rs"]
pub mod wide_register;
#[path = "../objects/within.rs"]
mod within;

pub use array_queue::ArrayQueue;
pub use b_link_tree::BLinkTree;
pub use blocking::Blocking;
pub use bounded_priority_queue::BoundedPriorityQueue;
pub use counter::Counter;
pub use fetch_add_queue::FetchAddQueue;
pub use herlihy_wing_queue::HerlihyWingQueue;
pub use list_set::ListSet;
pub use michael_scott_queue::MichaelScottQueue;
pub use multiset::Multiset;
pub use priority_queue::PriorityQueue;
pub use semiqueue::Semiqueue;
pub use snapshot::Snapshot;
pub use snzi::Snzi;
pub use stuttering_queue::StutteringQueue;
pub use ticket_lock::TicketLock;
pub use treiber_stack::TreiberStack;
pub use vyukov_queue::VyukovQueue;
pub use wide_register::WideRegister;
