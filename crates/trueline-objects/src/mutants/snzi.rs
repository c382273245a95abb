//! The nonzero indicator with a fault: a root, and one node below it at which all threads arrive.

use crate::shadowed::sync::atomic::{AtomicU64, Ordering};

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An arrival at the root that is not the first ignores the announcement: it returns before the
    /// indicator is set.
    DoesNotAnnounce,
    /// A departure clears the indicator without checking for later arrivals.
    ClearsBlindly,
    /// An arrival that finds one half treats it as one: it returns before the root is updated.
    TakesHalfForOne,
    /// An arrival that updated the root in vain does not undo that.
    DoesNotTakeBack,
}

/// An indicator with a fault.
pub(crate) struct Snzi {
    fault: Fault,
    /// Twice the count of the node.
    node: AtomicU64,
    /// The count of the root, whether it announces, the version: 8 bits, 1 bit, the rest.
    root: AtomicU64,
    /// Twice the number of writes, plus one if the count is not zero.
    indicator: AtomicU64,
}

const ONE: u64 = 1;
const ANNOUNCES: u64 = 1 << 8;
const VERSION: u64 = 1 << 9;

fn count(root: u64) -> u64 {
    root & 0xff
}

impl Snzi {
    pub(crate) fn new(fault: Fault) -> Snzi {
        let [node, root, indicator] = [const { AtomicU64::new(0) }; 3];
        Snzi { fault, node, root, indicator }
    }

    /// The faults of the root show best without a node before it.
    fn has_node(&self) -> bool {
        matches!(self.fault, Fault::TakesHalfForOne | Fault::DoesNotTakeBack)
    }

    pub(crate) fn arrive(&self) {
        if !self.has_node() {
            return self.arrive_root();
        }
        let mut vain = 0;
        loop {
            let seen = self.node.load(Ordering::SeqCst);
            let is_one = seen > 1 || (seen == 1 && self.fault == Fault::TakesHalfForOne);
            if is_one {
                if change(&self.node, seen, seen + 2) {
                    break;
                }
                continue;
            }
            if seen == 0 && !change(&self.node, 0, 1) {
                continue;
            }
            self.arrive_root();
            if self.fault == Fault::TakesHalfForOne {
                // Other threads may have met the half.
                self.node.fetch_add(1, Ordering::SeqCst);
                break;
            }
            vain += u32::from(!change(&self.node, 1, 2));
            if seen == 0 {
                break;
            }
        }
        if self.fault != Fault::DoesNotTakeBack {
            (0..vain).for_each(|_| self.depart_root());
        }
    }

    pub(crate) fn depart(&self) {
        if !self.has_node() {
            return self.depart_root();
        }
        let before = self.node.fetch_sub(2, Ordering::SeqCst);
        if before == 2 {
            self.depart_root();
        }
    }

    pub(crate) fn query(&self) -> bool {
        self.indicator.load(Ordering::SeqCst) & 1 == 1
    }

    fn arrive_root(&self) {
        let now = loop {
            let seen = self.root.load(Ordering::SeqCst);
            let mut now = seen + ONE;
            if count(seen) == 0 {
                now = (now | ANNOUNCES) + VERSION;
            } else if self.fault == Fault::DoesNotAnnounce {
                now &= !ANNOUNCES;
            }
            if change(&self.root, seen, now) {
                break now;
            }
        };
        if now & ANNOUNCES != 0 {
            let mut seen = self.indicator.load(Ordering::SeqCst);
            while !change(&self.indicator, seen, ((seen >> 1) + 1) << 1 | 1) {
                seen = self.indicator.load(Ordering::SeqCst);
            }
            change(&self.root, now, now & !ANNOUNCES);
        }
    }

    fn depart_root(&self) {
        let seen = loop {
            let seen = self.root.load(Ordering::SeqCst);
            if change(&self.root, seen, (seen - ONE) & !ANNOUNCES) {
                break seen;
            }
        };
        if count(seen) > 1 {
            return;
        }
        loop {
            let indicator = self.indicator.load(Ordering::SeqCst);
            let version = self.root.load(Ordering::SeqCst) / VERSION;
            if version != seen / VERSION && self.fault != Fault::ClearsBlindly {
                return;
            }
            if change(&self.indicator, indicator, ((indicator >> 1) + 1) << 1) {
                return;
            }
        }
    }
}

fn change(word: &AtomicU64, from: u64, to: u64) -> bool {
    word.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}
