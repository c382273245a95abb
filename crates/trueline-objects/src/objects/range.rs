//! Ranges of keys, as std's ordered collections take them.

use std::ops::{Bound, RangeBounds};

/// Panics as std's collections do, for ranges that are probably empty by mistake.
pub(crate) fn check_bounds<Q: Ord + ?Sized>(range: &impl RangeBounds<Q>) {
    use Bound::{Excluded, Included};
    match (range.start_bound(), range.end_bound()) {
        (Excluded(start), Excluded(end)) if start == end => {
            panic!("a range that begins and ends with a key that both leave out")
        }
        (Included(start) | Excluded(start), Included(end) | Excluded(end)) if start > end => {
            panic!("a range that begins after its end")
        }
        _ => {}
    }
}

/// Whether a key is after the end of a range.
pub(crate) fn is_behind<Q: Ord + ?Sized>(range: &impl RangeBounds<Q>, key: &Q) -> bool {
    match range.end_bound() {
        Bound::Included(end) => key > end,
        Bound::Excluded(end) => key >= end,
        Bound::Unbounded => false,
    }
}
