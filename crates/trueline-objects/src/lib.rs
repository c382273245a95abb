//! Concurrent objects that were explored in every interleaving.
//!
//! Each object is one file of `src/objects`, which says `use super::sync` and is compiled twice:
//! here over `std`, and with the feature `simulate` in `shadowed` over the shadow std of
//! `trueline-explore`, so that one binary can simulate the code that it ships. Without that feature
//! no test machinery is compiled: no dependency, no mutant.
//!
//! | object | specification | progress |
//! |---|---|---|
//! | [`TreiberStack`] | `stack` | lock-free |
//! | [`MichaelScottQueue`] | `queue` | lock-free |
//! | [`FetchAddQueue`] | `queue` | lock-free; the quick one |
//! | [`HerlihyWingQueue`] | `queue`, `deq` waits | `enq` wait-free, `deq` lock-free on a queue that is not empty |
//! | [`ArrayQueue`] | `bounded-queue` | blocking: waits for an operation that is half done |
//! | [`VyukovQueue`] | none: **not linearizable**, as published | never waits for another thread |
//! | [`Semiqueue`] | `semiqueue`: one of the first k | lock-free |
//! | [`StutteringQueue`] | `stuttering-queue`: told up to j times | lock-free |
//! | [`WideRegister`] | `register`, of any size | wait-free |
//! | [`Counter`] | `counter` | wait-free |
//! | [`Snzi`] | `snzi` | `query` wait-free, others lock-free |
//! | [`ListSet`] | `set` | lock-free |
//! | [`Multiset`] | `multiset` | lock-free |
//! | [`PriorityQueue`] | `priority-queue` | lock-free |
//! | [`BoundedPriorityQueue`] | `bounded-priority-queue` | blocking: waits for an operation that is half done |
//! | [`BLinkTree`] | `map` | readers take no lock, writers block each other |
//! | [`Snapshot`] | `snapshot` | wait-free for a fixed number of threads |
//! | [`TicketLock`] | `mutex` | blocking, first come first served |
//! | [`Blocking`] | any queue, whose users wait and which can be closed | as the queue; who waits is woken |
//!
//! ```
//! use trueline_objects::MichaelScottQueue;
//!
//! let queue = MichaelScottQueue::new();
//! std::thread::scope(|s| {
//!     s.spawn(|| queue.enq(1));
//!     s.spawn(|| queue.enq(2));
//! });
//! assert_eq!(queue.deq().unwrap() + queue.deq().unwrap(), 3);
//! assert_eq!(queue.deq(), None);
//! ```

#![cfg_attr(not(feature = "std"), no_std)]
#![allow(
    clippy::duplicate_mod,
    reason = "each object is compiled over std and over the shadow std"
)]

extern crate alloc;

// Explorations in unit tests need the same addresses in all executions.
#[cfg(all(test, feature = "simulate"))]
#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

pub mod conventions;
mod sync;
#[cfg(feature = "std")]
mod thread_index;

#[path = "objects/array_queue.rs"]
pub mod array_queue;
#[cfg(feature = "std")]
#[path = "objects/b_link_tree.rs"]
pub mod b_link_tree;
#[cfg(feature = "std")]
#[path = "objects/blocking.rs"]
pub mod blocking;
#[cfg(feature = "std")]
#[path = "objects/blocking_queues.rs"]
mod blocking_queues;
#[cfg(target_has_atomic = "64")]
#[path = "objects/bounded_priority_queue.rs"]
pub mod bounded_priority_queue;
#[cfg(feature = "std")]
#[path = "objects/counter.rs"]
pub mod counter;
#[cfg(feature = "std")]
#[path = "objects/fetch_add_queue.rs"]
pub mod fetch_add_queue;
#[cfg(feature = "std")]
#[path = "objects/grace.rs"]
mod grace;
#[path = "objects/growing_array.rs"]
mod growing_array;
#[path = "objects/herlihy_wing_queue.rs"]
pub mod herlihy_wing_queue;
#[cfg(feature = "std")]
#[path = "objects/lagging_list.rs"]
mod lagging_list;
#[cfg(feature = "std")]
#[path = "objects/list_set.rs"]
pub mod list_set;
#[cfg(feature = "std")]
#[path = "objects/mark.rs"]
mod mark;
#[cfg(feature = "std")]
#[path = "objects/marked_list.rs"]
mod marked_list;
#[cfg(feature = "std")]
#[path = "objects/michael_scott_queue.rs"]
pub mod michael_scott_queue;
#[cfg(feature = "std")]
#[path = "objects/multiset.rs"]
pub mod multiset;
#[path = "objects/padded.rs"]
mod padded;
#[cfg(feature = "std")]
#[path = "objects/per_thread.rs"]
mod per_thread;
#[cfg(feature = "std")]
#[path = "objects/priority_queue.rs"]
pub mod priority_queue;
#[cfg(feature = "std")]
#[path = "objects/range.rs"]
mod range;
#[path = "objects/ring.rs"]
mod ring;
#[cfg(feature = "std")]
#[path = "objects/semiqueue.rs"]
pub mod semiqueue;
#[cfg(feature = "std")]
#[path = "objects/snapshot.rs"]
pub mod snapshot;
#[cfg(target_has_atomic = "64")]
#[path = "objects/snzi.rs"]
pub mod snzi;
#[cfg(feature = "std")]
#[path = "objects/stuttering_queue.rs"]
pub mod stuttering_queue;
#[path = "objects/ticket_lock.rs"]
pub mod ticket_lock;
#[path = "objects/to_the_end.rs"]
mod to_the_end;
#[cfg(feature = "std")]
#[path = "objects/treiber_stack.rs"]
pub mod treiber_stack;
#[path = "objects/vyukov_queue.rs"]
pub mod vyukov_queue;
#[cfg(feature = "std")]
#[path = "objects/wide_register.rs"]
pub mod wide_register;

/// The examples of the page on objects.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/objects.md")]
struct Page;

#[cfg(feature = "std")]
#[path = "objects/within.rs"]
mod within;

#[cfg(feature = "simulate")]
mod mutants;
#[cfg(feature = "simulate")]
mod relaxed;
#[cfg(feature = "simulate")]
pub mod shadowed;
#[cfg(feature = "simulate")]
pub mod simulate;

pub use array_queue::ArrayQueue;
#[cfg(feature = "std")]
pub use b_link_tree::BLinkTree;
#[cfg(feature = "std")]
pub use blocking::Blocking;
#[cfg(target_has_atomic = "64")]
pub use bounded_priority_queue::BoundedPriorityQueue;
#[cfg(feature = "std")]
pub use counter::Counter;
#[cfg(feature = "std")]
pub use fetch_add_queue::FetchAddQueue;
pub use herlihy_wing_queue::HerlihyWingQueue;
#[cfg(feature = "std")]
pub use list_set::ListSet;
#[cfg(feature = "std")]
pub use michael_scott_queue::MichaelScottQueue;
#[cfg(feature = "std")]
pub use multiset::Multiset;
#[cfg(feature = "std")]
pub use priority_queue::PriorityQueue;
#[cfg(feature = "std")]
pub use semiqueue::Semiqueue;
#[cfg(feature = "std")]
pub use snapshot::Snapshot;
#[cfg(target_has_atomic = "64")]
pub use snzi::Snzi;
#[cfg(feature = "std")]
pub use stuttering_queue::StutteringQueue;
pub use ticket_lock::TicketLock;
#[cfg(feature = "std")]
pub use treiber_stack::TreiberStack;
pub use vyukov_queue::VyukovQueue;
#[cfg(feature = "std")]
pub use wide_register::WideRegister;

/// The page about the ordered objects, whose example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/objects/ordered.md")]
pub struct Ordered;
