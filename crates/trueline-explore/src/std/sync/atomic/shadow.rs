//! Atomic accesses as events, for all types at once: a value is 64 bits here.

use super::Ordering;
use crate::engine::interface::{Access, Condition, Effect, Kind};
use crate::front::{self, Caller};
use crate::memory::canonical;
use crate::race::Atomic;

/// Which access, for whom: what a printed trace shows.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub(super) location: usize,
    pub(super) name: &'static str,
    pub(super) caller: Caller,
}

impl Label {
    #[inline]
    fn access(self, kind: Kind) -> Access {
        Access::new(self.location, kind).named(self.name).at(self.caller)
    }
}

/// Panics as std does where the ordering makes no sense, before the scheduling point: inside of an event nothing may panic.
#[track_caller]
#[inline]
pub(super) fn check_load(order: Ordering) {
    match order {
        Ordering::Release => panic!("there is no such thing as a release load"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
        _ => (),
    }
}

#[track_caller]
#[inline]
pub(super) fn check_store(order: Ordering) {
    match order {
        Ordering::Acquire => panic!("there is no such thing as an acquire store"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
        _ => (),
    }
}

#[track_caller]
#[inline]
pub(super) fn check_failure(order: Ordering) {
    match order {
        Ordering::Release => panic!("there is no such thing as a release failure ordering"),
        Ordering::AcqRel => {
            panic!("there is no such thing as an acquire-release failure ordering")
        }
        _ => (),
    }
}

#[inline]
pub(super) fn load(label: Label, order: Ordering, value: impl FnOnce() -> u64) -> u64 {
    front::event(label.access(Kind::Read), |front, thread| {
        let value = value();
        let Label { location, name, caller } = label;
        front.detector.atomic(thread, location, Atomic::Load, order, name, caller);
        (value, Effect::read(value))
    })
}

/// A store; `value` swaps, so that a trace can show what was there.
#[inline]
pub(super) fn store(label: Label, order: Ordering, after: u64, value: impl FnOnce() -> u64) {
    front::event(label.access(Kind::Write), |front, thread| {
        let before = value();
        let Label { location, name, caller } = label;
        front.detector.atomic(thread, location, Atomic::Store, order, name, caller);
        ((), Effect::write(before, after))
    });
}

/// A read-modify-write that always succeeds; the function yields the values before and after. `changes` says on which values it
/// makes a difference, where that is known beforehand.
#[inline]
pub(super) fn update(
    label: Label,
    order: Ordering,
    changes: Option<Condition>,
    values: impl FnOnce() -> (u64, u64),
) {
    let mut access = label.access(Kind::Update);
    if let Some(changes) = changes {
        access = access.changing(changes);
    }
    front::event(access, |front, thread| {
        let (before, after) = values();
        let Label { location, name, caller } = label;
        front.detector.atomic(thread, location, Atomic::Update, order, name, caller);
        ((), Effect::update(before, after))
    });
}

/// A compare-exchange; the function yields what was there, and whether it was replaced. One that fails is a load.
#[inline]
pub(super) fn exchange(
    label: Label,
    success: Ordering,
    failure: Ordering,
    (current, new): (u64, u64),
    exchange: impl FnOnce() -> Result<u64, u64>,
) {
    let changes = match current == new {
        true => Condition::new(0, |_, _| false),
        false => Condition::equals(current),
    };
    front::event(label.access(Kind::Update).changing(changes), |front, thread| {
        let exchanged = exchange();
        let Label { location, name, caller } = label;
        let detector = &mut front.detector;
        match exchanged {
            Ok(before) => {
                detector.atomic(thread, location, Atomic::Update, success, name, caller);
                ((), Effect::update(before, new))
            }
            Err(found) => {
                detector.atomic(thread, location, Atomic::Load, failure, name, caller);
                ((), Effect::read(found))
            }
        }
    });
}

/// A value as the engine sees it: one that may be a pointer is the same in all processes.
#[inline]
pub(super) fn word(value: usize) -> u64 {
    canonical(value) as u64
}
