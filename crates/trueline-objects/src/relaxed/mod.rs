//! Relaxed objects: those that the paper on Round-Up checks (Zhang, Chattopadhyay and Wang, 2015),
//! written anew, and their mutants.
//!
//! Explored rather than shipped: compiled over the shadow std, values are numbers above 0 in atomic
//! cells, and cells live as long as the object, so that a fault is the one it says and no other.
//! Where the published algorithm draws a random number these look at the *newest* candidate first:
//! the schedule is the only thing left to chance, and values come out of order as often as they
//! can.

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
