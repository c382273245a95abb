//! Forgets operations that cannot matter any more (section 5 of the paper, corrected).
//!
//! A group is forgotten once its addition and its removal have returned *and everything that was
//! pending then has returned*. The paper drops it at once, and loses violations that a pending
//! operation would have shown. The closed order of the remaining operations is kept, so what the
//! group forced stays forced. A removal that found nothing is forgotten by the same rule. A
//! register's write is forgotten with its reads once a later write has returned and everything that
//! was pending then has.
//!
//! The operations that were pending at a time have all returned iff the oldest open one was called
//! later. So the waiting entries form a queue in order of time, and forgetting costs constant time
//! per node besides the cost of the order.
//!
//! **Limit.** An operation that never returns keeps everything that completes after its call.

use smallvec::SmallVec;

use super::matched::{Matched, Waiting};
use super::order::members;
use crate::theory::Object;

impl Matched {
    pub(super) fn forget(&mut self) {
        let oldest = self.open_since.first().copied().unwrap_or(u64::MAX);
        while let Some(&(time, waiting)) = self.waiting.front() {
            if oldest <= time {
                break;
            }
            self.waiting.pop_front();
            match waiting {
                Waiting::Empty(slot) => self.free(slot),
                Waiting::Group(group, serial) => {
                    if self.groups[group as usize].serial != serial {
                        continue;
                    }
                    if self.object == Object::Register {
                        self.forget_overwritten(group);
                    } else {
                        // An acquire and its release leave together, which keeps the balance.
                        let removal = self.groups[group as usize].removal;
                        self.free(removal);
                        self.free_group(group);
                    }
                }
            }
        }
    }

    /// Every write that must come before this one, with its reads.
    fn forget_overwritten(&mut self, group: u32) {
        let write = self.groups[group as usize].add;
        let front: Vec<u32> = members(self.order.before(write)).collect();
        for slot in front {
            let older = self.nodes[slot as usize].group;
            let completed = super::matched::contains(&self.completed, slot);
            if completed && older != super::matched::NONE && self.groups[older as usize].add == slot
            {
                for read in std::mem::take(&mut self.groups[older as usize].reads) {
                    self.free(read);
                }
                self.free_group(older);
            }
        }
    }

    /// A read adds nothing to a later read of the same write.
    pub(super) fn forget_earlier_reads(&mut self, reads: &mut SmallVec<[u32; 2]>, last: u32) {
        reads.retain(|read| {
            let earlier = self.order.precedes(*read, last);
            if earlier {
                self.free(*read);
            }
            !earlier
        });
    }

    /// Forgets a group's addition and the group.
    pub(super) fn free_group(&mut self, group: u32) {
        let this = &mut self.groups[group as usize];
        let (add, value) = (this.add, std::mem::take(&mut this.value));
        // No waiting entry may confuse this with the group that reuses the place.
        this.serial = u64::MAX;
        if self.by_value.get(&value) == Some(&group) {
            self.by_value.remove(&value);
        }
        self.free(add);
        self.free_groups.push(group);
    }
}
