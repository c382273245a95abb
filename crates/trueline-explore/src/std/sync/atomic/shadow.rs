//! Atomic accesses as events, for all types at once: a value is 64 bits here.

use super::Ordering;
use crate::engine::interface::{self, Access, Condition, Effect, Kind};
use crate::front::{self, Caller, Front};
use crate::memory::coded;
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

/// Panics as std does for an invalid ordering, before the scheduling point: nothing may panic
/// inside of an event.
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

/// A store; `value` swaps, so that a trace can show the old value.
#[inline]
pub(super) fn store(label: Label, order: Ordering, after: u64, value: impl FnOnce() -> u64) {
    front::event(label.access(Kind::Write), |front, thread| {
        let before = value();
        let Label { location, name, caller } = label;
        front.detector.atomic(thread, location, Atomic::Store, order, name, caller);
        ((), Effect::write(before, after))
    });
}

/// A read-modify-write that always succeeds; the function returns the values before and after.
/// `changes` gives the values that it changes, if these are known beforehand.
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
        let access = Atomic::update(before, after);
        front.detector.atomic(thread, location, access, order, name, caller);
        ((), Effect::update(before, after))
    });
}

/// A compare-exchange; the function returns the old value and whether it was replaced. A failed
/// exchange is a load.
#[inline]
pub(super) fn exchange(
    label: Label,
    success: Ordering,
    failure: Ordering,
    (current, new): (u64, u64),
    exchange: impl FnOnce() -> Result<u64, u64>,
) {
    front::event(exchange_access(label, current, new), |front, thread| {
        exchanged(front, thread, label, (success, failure), new, exchange())
    });
}

/// As [`exchange`]; the argument of the function is whether to fail spuriously, which the
/// environment may choose if `peek` returns the expected value.
#[inline]
pub(super) fn exchange_weakly(
    label: Label,
    orders: (Ordering, Ordering),
    (current, new): (u64, u64),
    peek: impl FnOnce() -> u64,
    exchange: impl FnOnce(bool) -> Result<u64, u64>,
) {
    let access = front::arrive(exchange_access(label, current, new));
    let fails = peek() == current && interface::choose(2) == 1;
    front::perform(access, |front, thread| {
        exchanged(front, thread, label, orders, new, exchange(fails))
    });
    interface::sweep();
}

#[inline]
fn exchange_access(label: Label, current: u64, new: u64) -> Access {
    let changes = match current == new {
        true => Condition::new(0, |_, _| false),
        false => Condition::equals(current),
    };
    label.access(Kind::Update).changing(changes)
}

#[inline]
fn exchanged(
    front: &mut Front,
    thread: u32,
    label: Label,
    (success, failure): (Ordering, Ordering),
    new: u64,
    result: Result<u64, u64>,
) -> ((), Effect) {
    let Label { location, name, caller } = label;
    let detector = &mut front.detector;
    match result {
        Ok(before) => {
            let access = Atomic::update(before, new);
            detector.atomic(thread, location, access, success, name, caller);
            ((), Effect::update(before, new))
        }
        Err(found) => {
            detector.atomic(thread, location, Atomic::Load, failure, name, caller);
            ((), Effect::read(found))
        }
    }
}

/// A value as the engine sees it: one that may be a pointer is the same in all processes. Applied
/// twice, it restores the value.
#[inline]
pub(super) fn word(value: usize) -> u64 {
    coded(value) as u64
}
