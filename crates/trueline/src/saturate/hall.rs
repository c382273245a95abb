//! The Hall rule: are there enough pending removals for the values that must already be gone?
//!
//! If the virtual removals of some values must come before an operation that has returned, each of
//! them is one of the removals that are pending now, and no two are the same one. If the values
//! cannot be matched to pending removals that may still take effect, there is no linearization
//! (Hall 1935). Augmenting paths; the sets are small.

use super::Why;
use super::matched::Matched;
use super::order::members;

impl Matched {
    /// Checks the rule for every operation that has returned.
    pub(super) fn hall(&self) -> Result<(), Why> {
        let mut gone: Vec<u32> = Vec::new();
        for e in members(&self.completed) {
            let before = self.order.before(e);
            if before.iter().zip(&self.virtuals).all(|(before, virtuals)| before & virtuals == 0) {
                continue;
            }
            gone.clear();
            for (i, (before, virtuals)) in before.iter().zip(&self.virtuals).enumerate() {
                gone.extend(super::order::bits(before & virtuals, i).map(|slot| slot as u32));
            }
            if !self.can_be_gone(&gone, e) {
                return Err(Why::Broken(
                    "more values must be gone than operations were pending to take them out",
                ));
            }
        }
        Ok(())
    }

    /// Whether the virtual removals can each be a different pending removal before `e`.
    fn can_be_gone(&self, gone: &[u32], e: u32) -> bool {
        if gone.len() > self.pending_removals.len() {
            return false;
        }
        let may_be = |later: u32, p: u32| {
            let add = self.groups[self.nodes[later as usize].group as usize].add;
            !self.order.precedes(e, p) && !self.order.precedes(p, add)
        };
        let mut taken_by: Vec<Option<u32>> = vec![None; self.pending_removals.len()];
        gone.iter().all(|&later| {
            let mut tried = vec![false; taken_by.len()];
            self.take(later, &may_be, &mut taken_by, &mut tried)
        })
    }

    /// Finds a pending removal for this one, moving others if that helps.
    fn take(
        &self,
        later: u32,
        may_be: &impl Fn(u32, u32) -> bool,
        taken_by: &mut [Option<u32>],
        tried: &mut [bool],
    ) -> bool {
        for (i, &p) in self.pending_removals.iter().enumerate() {
            if tried[i] || !may_be(later, p) {
                continue;
            }
            tried[i] = true;
            if taken_by[i].is_none_or(|other| self.take(other, may_be, taken_by, tried)) {
                taken_by[i] = Some(later);
                return true;
            }
        }
        false
    }
}
