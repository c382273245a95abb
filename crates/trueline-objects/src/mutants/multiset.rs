//! The multiset with a fault. The list itself is that of the object.

use crate::shadowed::grace;
use crate::shadowed::marked_list::{MarkedList, Node};
use crate::shadowed::sync::atomic::{AtomicI64, Ordering};

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `add` reads a count and writes one more.
    AddsInTwoSteps,
    /// `add` increments a count that may be 0: its node is being removed, and the value with it.
    RaisesZero,
    /// `remove` looks whether there is something, and lowers the count after that.
    LowersBlindly,
}

/// A multiset with a fault.
pub(crate) struct Multiset {
    fault: Fault,
    list: MarkedList<Counted>,
}

struct Counted {
    value: i64,
    count: AtomicI64,
}

impl Multiset {
    pub(crate) fn new(fault: Fault) -> Multiset {
        Multiset { fault, list: MarkedList::new(grace::BATCH) }
    }

    pub(crate) fn add(&self, value: i64) {
        self.list.enter(|search| {
            loop {
                let place = search.find(|other| other.value.cmp(&value));
                let Some(node) = place.found else {
                    let node = Node::new(Counted { value, count: AtomicI64::new(1) });
                    match search.link(&place, node) {
                        Ok(()) => return,
                        Err(_) => continue,
                    }
                };
                let count = &node.entry().count;
                match self.fault {
                    Fault::RaisesZero => {
                        count.fetch_add(1, Ordering::AcqRel);
                        return;
                    }
                    Fault::AddsInTwoSteps => {
                        let before = count.load(Ordering::Acquire);
                        if before > 0 {
                            return count.store(before + 1, Ordering::Release);
                        }
                    }
                    Fault::LowersBlindly => {
                        if raise(count) {
                            return;
                        }
                    }
                }
                node.mark();
            }
        });
    }

    pub(crate) fn remove(&self, value: &i64) -> bool {
        let order = |other: &Counted| other.value.cmp(value);
        self.list.enter(|search| {
            let place = search.find(order);
            let Some(node) = place.found else { return false };
            let count = &node.entry().count;
            let mut before = count.load(Ordering::Acquire);
            loop {
                if before <= 0 {
                    return false;
                }
                if self.fault == Fault::LowersBlindly {
                    before = count.fetch_sub(1, Ordering::AcqRel);
                    break;
                }
                let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
                match count.compare_exchange(before, before - 1, yes, no) {
                    Ok(_) => break,
                    Err(found) => before = found,
                }
            }
            if before == 1 {
                node.mark();
                search.clean_up(&place);
            }
            true
        })
    }

    pub(crate) fn count(&self, value: &i64) -> usize {
        self.list.enter(|search| {
            let node = search.look_up(|other| other.value.cmp(value));
            let count = node.map_or(0, |node| node.entry().count.load(Ordering::Acquire));
            count.max(0) as usize
        })
    }

    pub(crate) fn contains(&self, value: &i64) -> bool {
        self.count(value) > 0
    }
}

fn raise(count: &AtomicI64) -> bool {
    let mut before = count.load(Ordering::Acquire);
    while before > 0 {
        let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
        match count.compare_exchange(before, before + 1, yes, no) {
            Ok(_) => return true,
            Err(found) => before = found,
        }
    }
    false
}
