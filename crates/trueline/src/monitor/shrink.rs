//! Shrinks a violation: drops the items that it does not need.
//!
//! First halves, then quarters, down to single items. Violations that are shrunk by sound drops are
//! closed upwards (more items are still a violation), so after one pass of single drops nothing
//! more can be dropped. The work is bounded by [`WORK`] items; a violation that is too large for
//! that is not shrunk completely.

/// Maximum number of items that are processed, in all attempts together.
const WORK: usize = 1 << 18;

/// A subset of `items`, in their order, for which `fails` still holds. It must hold for all of
/// them.
pub(super) fn shrink<T: Copy>(mut items: Vec<T>, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut work = 0;
    let mut chunk = items.len().div_ceil(2);
    let mut rest = Vec::with_capacity(items.len());
    while chunk > 0 && items.len() > 1 {
        let mut at = 0;
        while at < items.len() {
            work += items.len();
            if work > WORK {
                return items;
            }
            let end = (at + chunk).min(items.len());
            rest.clear();
            rest.extend_from_slice(&items[..at]);
            rest.extend_from_slice(&items[end..]);
            if !rest.is_empty() && fails(&rest) {
                std::mem::swap(&mut items, &mut rest);
            } else {
                at = end;
            }
        }
        chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
    }
    items
}
