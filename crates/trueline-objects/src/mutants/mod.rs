//! Mutants: variants of the objects with one deliberate fault each, for testing tools.
//!
//! They are compiled over the shadow std, which outside of an exploration is std. So that a mutant
//! has no fault but its own, its values are atomic and its nodes live until the object is dropped:
//! even on real threads it fails without undefined behaviour. The exceptions are mutants whose
//! fault is a race or a use of freed memory. These run only in explorations; the registry lists
//! them.

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
