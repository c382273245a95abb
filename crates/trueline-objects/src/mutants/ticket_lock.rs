//! The ticket lock with a fault.

use crate::shadowed::sync::atomic::{AtomicUsize, Ordering};
use crate::shadowed::sync::cell::UnsafeCell;
use crate::shadowed::sync::hint;
use trueline_explore::engine::interface;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Takes its number with a read and a write, so that two threads may have the same one.
    TakesTicketInTwoSteps,
    /// Calls the number that is handed out next, instead of the one after its own: waiting threads
    /// wait for ever.
    SkipsThoseWhoWait,
    /// `try_acquire` looks whether the lock is free and takes the number after that.
    TriesInTwoSteps,
    /// Unlocks with a relaxed store: a race on the protected value.
    UnlocksRelaxed,
}

/// A lock with a fault.
pub(crate) struct Lock {
    fault: Fault,
    next: AtomicUsize,
    serving: AtomicUsize,
    /// The protected value: how often the lock was acquired and released.
    protected: UnsafeCell<u64>,
}

// SAFETY: `protected` is accessed only in explorations, where one thread runs at a time and the
// effect of the fault is detected.
unsafe impl Sync for Lock {}

impl Lock {
    pub(crate) fn new(fault: Fault) -> Lock {
        let (next, serving) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Lock { fault, next, serving, protected: UnsafeCell::new(0) }
    }

    pub(crate) fn acquire(&self) {
        let ticket = if self.fault == Fault::TakesTicketInTwoSteps {
            let ticket = self.next.load(Ordering::Acquire);
            self.next.store(ticket + 1, Ordering::Release);
            ticket
        } else {
            self.next.fetch_add(1, Ordering::Relaxed)
        };
        while self.serving.load(Ordering::Acquire) != ticket {
            hint::spin_loop();
        }
        self.touch();
    }

    pub(crate) fn try_acquire(&self) -> bool {
        let ticket = self.serving.load(Ordering::Acquire);
        let taken = if self.fault == Fault::TriesInTwoSteps {
            let free = self.next.load(Ordering::Acquire) == ticket;
            if free {
                self.next.store(ticket + 1, Ordering::Release);
            }
            free
        } else {
            let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
            self.next.compare_exchange(ticket, ticket + 1, yes, no).is_ok()
        };
        if taken {
            self.touch();
        }
        taken
    }

    pub(crate) fn release(&self) {
        self.touch();
        let serve = if self.fault == Fault::SkipsThoseWhoWait {
            self.next.load(Ordering::Relaxed)
        } else {
            self.serving.load(Ordering::Relaxed) + 1
        };
        let order = match self.fault {
            Fault::UnlocksRelaxed => Ordering::Relaxed,
            _ => Ordering::Release,
        };
        self.serving.store(serve, order);
    }

    fn touch(&self) {
        // On real threads this could be undefined behaviour. If the fault lets two threads in, the
        // histories show it.
        if self.fault == Fault::UnlocksRelaxed && interface::active() {
            // SAFETY: in an exploration no other thread runs meanwhile.
            self.protected.with_mut(|protected| unsafe { *protected += 1 });
        }
    }
}
