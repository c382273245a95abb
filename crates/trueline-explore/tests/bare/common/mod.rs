//! A front end as small as can be, for tests of the engine alone: cells whose values the engine
//! keeps.

#![allow(unreachable_pub)]

use trueline_explore::engine::interface::{
    Access, Condition, Effect, ThreadId, choose, ended, point, record, spawn, value,
};

/// An atomic cell at a location of its own.
#[derive(Clone, Copy)]
pub struct Cell(pub usize);

impl Cell {
    #[track_caller]
    pub fn load(self) -> u64 {
        point(&Access::read(self.0));
        let value = value(self.0);
        record(Effect::read(value));
        value
    }

    #[track_caller]
    pub fn store(self, new: u64) {
        point(&Access::write(self.0));
        record(Effect::write(value(self.0), new));
    }

    #[track_caller]
    pub fn add(self, n: u64) -> u64 {
        point(&Access::update(self.0));
        let old = value(self.0);
        record(Effect::update(old, old.wrapping_add(n)));
        old
    }

    #[track_caller]
    pub fn swap(self, new: u64) -> u64 {
        point(&Access::update(self.0).changing(Condition::differs(new)));
        let old = value(self.0);
        record(Effect::update(old, new));
        old
    }

    #[track_caller]
    pub fn compare_exchange(self, expected: u64, new: u64) -> Result<u64, u64> {
        let changes = if expected == new {
            Condition::new(0, |_, _| false)
        } else {
            Condition::equals(expected)
        };
        self.exchange(&Access::update(self.0).changing(changes), expected, new)
    }

    /// Does not foretell when it changes the cell.
    #[track_caller]
    pub fn opaque_compare_exchange(self, expected: u64, new: u64) -> Result<u64, u64> {
        self.exchange(&Access::update(self.0), expected, new)
    }

    /// Fails now and then, though the value is the expected one: `None`.
    #[track_caller]
    pub fn weak_compare_exchange(self, expected: u64, new: u64) -> Option<u64> {
        point(&Access::update(self.0).changing(Condition::equals(expected)));
        let old = value(self.0);
        let fails = old == expected && choose(2) == 1;
        let changes = old == expected && !fails;
        record(if changes { Effect::update(old, new) } else { Effect::read(old) });
        (!fails).then_some(old)
    }

    fn exchange(self, access: &Access, expected: u64, new: u64) -> Result<u64, u64> {
        point(access);
        let old = value(self.0);
        if old == expected {
            record(Effect::update(old, new));
            Ok(old)
        } else {
            record(Effect::read(old));
            Err(old)
        }
    }

    #[track_caller]
    pub fn wait_for(self, expected: u64) {
        point(&Access::read(self.0).when(Condition::equals(expected)));
        record(Effect::read(expected));
    }

    #[track_caller]
    pub fn lock(self) {
        point(&Access::update(self.0).when(Condition::equals(0)));
        record(Effect::update(0, 1));
    }

    #[track_caller]
    pub fn unlock(self) {
        point(&Access::write(self.0));
        record(Effect::write(1, 0));
    }
}

/// Waits for a thread's end.
#[track_caller]
pub fn join(thread: ThreadId) {
    point(&Access::read(ended(thread)).when(Condition::equals(1)));
    record(Effect::read(1));
}

/// Starts threads.
pub fn threads(bodies: impl IntoIterator<Item = Box<dyn FnOnce()>>) -> Vec<ThreadId> {
    bodies.into_iter().map(spawn).collect()
}

/// The body of a thread.
pub fn boxed(body: impl FnOnce() + 'static) -> Box<dyn FnOnce()> {
    Box::new(body)
}
