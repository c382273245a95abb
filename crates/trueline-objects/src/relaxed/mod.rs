//! Relaxed objects: those that the paper on Round-Up checks (Zhang, Chattopadhyay and Wang, 2015),
//! implemented independently, and their mutants.
//!
//! They are meant for exploration, not for use: compiled over the shadow std, with positive numbers
//! as values in atomic cells that live as long as the object, so that a mutant has no fault but its
//! own. Where the published algorithm draws a random number, these try the *newest* candidate
//! first: only the schedule is left to chance, and values leave out of order as often as possible.

pub(crate) mod bounded_k_fifo_queue;
pub(crate) mod cells;
pub(crate) mod incorrect_queue;
pub(crate) mod k_fifo_queue;
pub(crate) mod k_stack;
pub(crate) mod quasi_priority_queue;
pub(crate) mod quasi_stack;
pub(crate) mod random_dequeue_queue;
pub(crate) mod segmented_queue;
pub(crate) mod segments;
pub(crate) mod single_list_queue;

use crate::shadowed::growing_array::Initial;
use crate::shadowed::sync::atomic::{AtomicBool, AtomicI64};

impl Initial for AtomicI64 {
    const INITIAL: AtomicI64 = AtomicI64::new(0);
}

impl Initial for AtomicBool {
    const INITIAL: AtomicBool = AtomicBool::new(false);
}
