//! The striped counter with a fault.

use crate::shadowed::sync::atomic::{AtomicU64, Ordering};
use crate::shadowed::sync::with_thread_index;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// All threads share a stripe, to which they add with a read and a write.
    AddsInTwoSteps,
    /// `inc` carries the value of its stripe to a common total, in two steps.
    Carries,
    /// `read` returns the last sum in a common place, which may be outdated.
    SharesSum,
}

/// Stripes: more than an exploration has threads.
const STRIPES: usize = 4;

/// A counter with a fault.
pub(crate) struct Counter {
    fault: Fault,
    stripes: [AtomicU64; STRIPES],
    /// The total that was carried, or the last sum.
    common: AtomicU64,
}

impl Counter {
    pub(crate) fn new(fault: Fault) -> Counter {
        let stripes = [const { AtomicU64::new(0) }; STRIPES];
        Counter { fault, stripes, common: AtomicU64::new(0) }
    }

    pub(crate) fn inc(&self) {
        let own = with_thread_index(|index| &self.stripes[index % STRIPES]);
        match self.fault {
            Fault::AddsInTwoSteps => {
                let before = self.stripes[0].load(Ordering::SeqCst);
                self.stripes[0].store(before + 1, Ordering::SeqCst);
            }
            Fault::Carries => {
                if own.fetch_add(1, Ordering::SeqCst) == 1 {
                    own.fetch_sub(2, Ordering::SeqCst);
                    self.common.fetch_add(2, Ordering::SeqCst);
                }
            }
            Fault::SharesSum => drop(own.fetch_add(1, Ordering::SeqCst)),
        }
    }

    pub(crate) fn read(&self) -> u64 {
        let sum: u64 = self.stripes.iter().map(|stripe| stripe.load(Ordering::SeqCst)).sum();
        match self.fault {
            Fault::AddsInTwoSteps => sum,
            Fault::Carries => sum + self.common.load(Ordering::SeqCst),
            Fault::SharesSum => {
                self.common.store(sum, Ordering::SeqCst);
                self.common.load(Ordering::SeqCst)
            }
        }
    }
}
