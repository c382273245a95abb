//! What the machine knows about threads that seem to wait: the memory that they could have changed,
//! and the assumptions made.
//!
//! [`super::spin`] explains why. A sum costs as much as all live memory of the execution. It is
//! computed twice for each event of a thread that repeats reads, and for no other thread.

use super::execution::Machine;
use super::report::Assumption;
use super::spin::Frame;
use super::threads::State;

impl Machine {
    /// The sum of all memory that the current thread could change without an event, except its own
    /// stack.
    #[cold]
    pub(super) fn memory_elsewhere(&self) -> u64 {
        let suspended = |&&thread: &&u32| {
            thread != self.current && self.threads[thread as usize].state == State::Pending
        };
        let stacks = self.alive.iter().filter(suspended).map(|&thread| {
            let record = &self.threads[thread as usize];
            Frame { lowest: record.lowest, base: record.base }.sum()
        });
        let known = self.slots.iter().map(|slot| (slot.memory)(&*slot.state).sum);
        stacks.chain(known).fold(0, u64::wrapping_add)
    }

    /// The current thread is about to repeat itself, as far as the engine can see.
    #[cold]
    pub(super) fn believe_spin(&mut self) {
        let known = self.slots.iter().any(|slot| (slot.memory)(&*slot.state).is_all);
        if !known {
            self.assumed = Some(Assumption::Memory);
        }
        let record = &mut self.threads[self.current as usize];
        record.slept_spinning |= record.spin.has_slept();
    }

    pub(crate) fn time_passes(&mut self) {
        self.threads[self.current as usize].spin.sleep();
    }

    /// The current thread reads the clock. Its time is at least that of every thread from which it
    /// has learnt something.
    pub(crate) fn time_is_asked(&mut self) {
        self.clock = true;
        let slept = |&thread: &u32| {
            self.threads[thread as usize].slept_spinning
                && (thread == self.current || self.known_events(thread) > 0)
        };
        if self.order.iter().any(slept) {
            self.assumed = self.assumed.or(Some(Assumption::Time));
        }
    }

    /// How many events of a thread happen before the next event of the current one.
    pub(crate) fn known_events(&self, thread: u32) -> u32 {
        let last = self.trace.last_of(self.current);
        self.trace.clock_after(self.current, last).get(thread as usize).copied().unwrap_or(0)
    }
}
