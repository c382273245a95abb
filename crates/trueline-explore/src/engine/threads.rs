//! The virtual threads of an execution, the machine's state for each, and their names.

use std::ptr::null;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};

use super::interface::Access;
use super::locations::Locations;
use super::spin::Spin;

pub(super) type Switch = Yielder<(), ()>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Absent,
    Running,
    Pending,
    Ended,
}

pub(crate) struct Thread {
    pub(super) state: State,
    pub(super) coroutine: Option<Coroutine<(), (), ()>>,
    /// The same stack in every execution, so that addresses on it do not change.
    pub(super) stack: Option<DefaultStack>,
    pub(super) switch: *const Switch,
    /// The base of its stack: the highest address.
    pub(super) base: *const u64,
    /// The end of its stack at the last point; null if unknown.
    pub(super) lowest: *const u64,
    /// The end of its stack at its deepest point, in all executions so far; null before the first.
    pub(super) deepest: *const u64,
    pub(super) pending: Access,
    /// The parent that waits for this new thread to reach its first point.
    pub(super) returns_to: Option<u32>,
    pub(super) children: u32,
    pub(super) fresh: u32,
    pub(super) operation: Option<usize>,
    pub(super) spin: Spin,
    /// It has hinted since its last event that others should run.
    pub(super) yields: bool,
    /// It has waited in a loop that let its virtual time pass.
    pub(super) slept_spinning: bool,
    /// A panic is unwinding it, as far as is known, and its events are recorded.
    pub(super) unwinds: bool,
    /// The message and the line of each panic that has begun in it.
    pub(super) panics: Vec<(String, Option<String>)>,
}

impl Thread {
    pub(super) fn new() -> Thread {
        Thread {
            state: State::Absent,
            coroutine: None,
            stack: None,
            switch: null(),
            base: null(),
            lowest: null(),
            deepest: null(),
            pending: Access::local(),
            returns_to: None,
            children: 0,
            fresh: 0,
            operation: None,
            spin: Spin::default(),
            yields: false,
            slept_spinning: false,
            unwinds: false,
            panics: Vec::new(),
        }
    }

    /// Clears the leftovers of earlier executions on its stack, down to its deepest point: they
    /// would be part of the state of a thread that seems to spin, which should depend only on this
    /// execution.
    pub(super) fn clear_stack(&mut self) {
        if !self.deepest.is_null() {
            let words = (self.base as usize - self.deepest as usize) / size_of::<u64>();
            // SAFETY: the memory is that of a stack on which nothing runs, from a place that has
            // been in use up to its base.
            unsafe { self.deepest.cast_mut().write_bytes(0, words) };
        }
    }

    /// Whether it waits at a point and its access may run, given these values of the locations.
    #[inline(always)]
    pub(super) fn can_run(&self, locations: &Locations) -> bool {
        self.could_run(locations) && self.spin.may_go_on(locations)
    }

    /// As [`Thread::can_run`], even if the thread seems to spin.
    #[inline(always)]
    pub(super) fn could_run(&self, locations: &Locations) -> bool {
        let holds = match &self.pending.condition {
            None => true,
            Some(c) => (c.holds)(locations.value(self.pending.location), c.argument),
        };
        self.state == State::Pending && holds
    }
}

/// The numbers of threads: a thread's `n`th child has the same in every execution of an
/// exploration.
#[derive(Default)]
pub(crate) struct Names {
    children: Vec<Vec<u32>>,
    count: u32,
}

impl Names {
    pub(super) fn child(&mut self, parent: usize, ordinal: usize) -> u32 {
        if self.children.len() <= parent {
            self.children.resize(parent + 1, Vec::new());
        }
        while self.children[parent].len() <= ordinal {
            self.count += 1;
            self.children[parent].push(self.count);
        }
        self.children[parent][ordinal]
    }
}
