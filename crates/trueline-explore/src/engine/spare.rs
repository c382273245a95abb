//! Resources that an exploration leaves for the next one on the same OS thread: stacks, tables, the
//! state of front ends.
//!
//! Exploring a program with a handful of executions takes less time than mapping its stacks and
//! touching them for the first time. No exploration can observe an earlier one: everything is
//! reset, except for memory and the addresses of stacks, which are not locations (see
//! [`Machine::placed`]).

use std::cell::Cell;

use super::execution::Machine;
use super::optimal::Optimal;

/// Threads beyond these many give their stacks back to the system.
const MOST_THREADS: usize = 64;

/// A machine that runs nothing, and a search that has not begun.
pub(crate) struct Spare {
    pub(crate) machine: Box<Machine>,
    pub(crate) search: Box<Optimal>,
}

thread_local! {
    static SPARE: Cell<Option<Spare>> = const { Cell::new(None) };
}

impl Spare {
    /// The resources left on this OS thread, if they fit; otherwise new ones.
    pub(crate) fn take(stack_size: usize, step_limit: usize) -> Spare {
        let left = SPARE.try_with(Cell::take).ok().flatten();
        match left.filter(|spare| spare.machine.stack_size == stack_size) {
            Some(mut spare) => {
                spare.machine.step_limit = step_limit;
                spare
            }
            None => Spare {
                machine: Box::new(Machine::new(stack_size, step_limit)),
                search: Box::default(),
            },
        }
    }

    /// Leaves this for the next exploration.
    pub(crate) fn leave(mut self) {
        self.machine.renew(MOST_THREADS);
        self.search.renew();
        // If the OS thread is ending, they are dropped.
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }
}
