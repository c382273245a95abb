//! Broken on purpose: variants of the objects with one fault each, to test tools with.
//!
//! They are compiled over the shadow std, which outside of an exploration is std. So that a fault
//! is the one it says and no other, a mutant's values are atomic and its nodes live until the
//! object is dropped: on real threads, too, it is wrong without undefined behaviour. The exceptions
//! are those whose fault is a race or a use of freed memory, which are explored alone: the registry
//! says which.

pub(crate) mod nursery;

pub(crate) mod array_queue;
pub(crate) mod b_link_tree;
pub(crate) mod blocking;
pub(crate) mod bounded_priority_queue;
pub(crate) mod counter;
pub(crate) mod fetch_add_queue;
pub(crate) mod herlihy_wing_queue;
pub(crate) mod list_set;
pub(crate) mod michael_scott_queue;
pub(crate) mod multiset;
pub(crate) mod priority_queue;
pub(crate) mod semiqueue;
pub(crate) mod snapshot;
pub(crate) mod snzi;
pub(crate) mod stuttering_queue;
pub(crate) mod ticket_lock;
pub(crate) mod treiber_stack;
pub(crate) mod wide_register;
