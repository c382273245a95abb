//! The state of front ends in a machine: one value of each type, created on first use.

use std::any::{Any, TypeId};

use super::execution::Machine;
use super::interface::{Failure, MemorySum, PerExecution};

/// The state of a front end, with its operations.
pub(super) struct Slot {
    pub(super) of: TypeId,
    pub(super) state: Box<dyn Any>,
    pub(super) reset: fn(&mut dyn Any),
    pub(super) thread_ends: fn(),
    pub(super) execution_ends: fn(&mut dyn Any) -> Option<Failure>,
    pub(super) exploration_ends: fn(&mut dyn Any),
    pub(super) memory: fn(&dyn Any) -> MemorySum,
}

impl Machine {
    /// The state of a front end, created on first use.
    #[inline]
    pub(super) fn state<T: PerExecution>(&mut self) -> &mut T {
        let of = TypeId::of::<T>();
        let index = match self.slots.iter().position(|slot| slot.of == of) {
            Some(index) => index,
            None => self.add_state::<T>(),
        };
        let state: *mut dyn Any = &mut *self.slots[index].state;
        // SAFETY: the slot's type id gives the type of its value.
        unsafe { &mut *state.cast::<T>() }
    }

    #[cold]
    fn add_state<T: PerExecution>(&mut self) -> usize {
        let mut state = T::default();
        state.reset();
        self.slots.push(Slot {
            of: TypeId::of::<T>(),
            state: Box::new(state),
            reset: |state| state.downcast_mut::<T>().expect("its own type").reset(),
            thread_ends: T::thread_ends,
            execution_ends: |state| {
                state.downcast_mut::<T>().expect("its own type").execution_ends()
            },
            exploration_ends: |state| {
                state.downcast_mut::<T>().expect("its own type").exploration_ends();
            },
            memory: |state| state.downcast_ref::<T>().expect("its own type").memory(),
        });
        self.slots.len() - 1
    }
}
