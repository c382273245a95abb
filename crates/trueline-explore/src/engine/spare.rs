//! What an exploration leaves behind for the next one on the same OS thread: stacks, tables, the
//! state of front ends.
//!
//! A program with a handful of executions is explored in less time than its stacks take to be
//! mapped and touched for the first time. Nothing of an exploration can be seen in the next: all is
//! made as new, but for memory and addresses of stacks, which are no locations (see
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
    /// What was left on this OS thread, if it suits; else new.
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
        // Where the OS thread is ending it is dropped.
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }
}
