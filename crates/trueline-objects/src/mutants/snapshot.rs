//! The snapshot of Afek and others with a fault.

use super::nursery::Nursery;
use crate::shadowed::sync::atomic::{AtomicPtr, Ordering};
use crate::shadowed::sync::with_thread_index;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A scan is one collect.
    CollectsOnce,
    /// A scan borrows from a thread that was seen to move once: that thread's scan may have begun
    /// long before.
    BorrowsEarly,
    /// An update leaves the scan of its thread's update before beside its value.
    LeavesOldView,
    /// Two threads update under the same number, as if one had released its number too early.
    SharesNumbers,
}

/// Two segments, with a fault.
pub(crate) struct Snapshot {
    fault: Fault,
    segments: [AtomicPtr<Cell>; 2],
    nursery: Nursery<Cell>,
}

struct Cell {
    value: i64,
    view: [i64; 2],
    writer: usize,
}

impl Snapshot {
    pub(crate) fn new(fault: Fault) -> Snapshot {
        let nursery = Nursery::new();
        let cell =
            || AtomicPtr::new(nursery.make(Cell { value: 0, view: [0; 2], writer: usize::MAX }));
        let segments = [cell(), cell()];
        Snapshot { fault, segments, nursery }
    }

    pub(crate) fn update(&self, segment: usize, value: i64) {
        let writer = match self.fault {
            Fault::SharesNumbers => 0,
            _ => with_thread_index(|index| index),
        };
        // SAFETY: cells live as long as the object.
        let former = unsafe { &*self.segments[segment].load(Ordering::SeqCst) };
        let view = if self.fault == Fault::LeavesOldView && former.writer == writer {
            former.view
        } else {
            self.scan()
        };
        let cell = self.nursery.make(Cell { value, view, writer });
        self.segments[segment].swap(cell, Ordering::SeqCst);
    }

    pub(crate) fn scan(&self) -> [i64; 2] {
        let mut before = self.collect();
        let mut moved: Vec<(usize, usize)> = Vec::new();
        for round in 1.. {
            if self.fault == Fault::CollectsOnce {
                break;
            }
            let now = self.collect();
            if now == before {
                break;
            }
            for cell in (0..2).filter(|&i| now[i] != before[i]).map(|i| now[i]) {
                // SAFETY: cells live as long as the object.
                let cell = unsafe { &*cell };
                if self.fault == Fault::BorrowsEarly {
                    return cell.view;
                }
                match moved.iter().find(|(writer, _)| *writer == cell.writer) {
                    Some(&(_, first)) if round >= first + 2 => return cell.view,
                    Some(_) => {}
                    None => moved.push((cell.writer, round)),
                }
            }
            before = now;
        }
        // SAFETY: as above.
        before.map(|cell| unsafe { (*cell).value })
    }

    fn collect(&self) -> [*mut Cell; 2] {
        [self.segments[0].load(Ordering::SeqCst), self.segments[1].load(Ordering::SeqCst)]
    }
}
