//! Parking, sleeping and yielding. A thread's token is a location that is 1 after `unpark`.

use crate::engine::interface::{self, Access, Condition, Effect, ThreadId};
use crate::front::{self, Caller, Edge};
use ::std::panic::Location;
use ::std::time::Duration;

/// As `std::thread::park`. In an exploration it wakes up spuriously only with
/// [`spurious`](crate::engine::Exploration::spurious).
#[track_caller]
pub fn park() {
    if !interface::active() {
        return ::std::thread::park();
    }
    let caller = Location::caller();
    let access =
        Access::update(token(interface::current_thread())).named("thread::park").at(caller);
    if interface::spurious() && begins_to_wake_spuriously(caller) {
        front::kept_event(access, |value| match value {
            0 => (Effect::read(0), Edge::None),
            _ => (Effect::update(value, 0), Edge::Acquire),
        });
        return;
    }
    let access = access.when(Condition::equals(1));
    front::kept_event(access, |value| (Effect::update(value, 0), Edge::Acquire));
}

/// Whether the thread will wake up spuriously: an event of its own, because that depends on
/// nothing.
fn begins_to_wake_spuriously(caller: Caller) -> bool {
    let access = front::arrive(Access::local().named("thread::park, beginning").at(caller));
    let wakes = front::wakes_spuriously(caller);
    front::perform(access, |_, _| (wakes, Effect::read(u64::from(wakes))))
}

/// As `std::thread::park_timeout`. In an exploration the timeout may expire at any moment.
#[track_caller]
pub fn park_timeout(duration: Duration) {
    if !interface::active() {
        return ::std::thread::park_timeout(duration);
    }
    let access = Access::update(token(interface::current_thread()))
        .named("thread::park_timeout")
        .at(Location::caller());
    let effect = front::kept_event(access, |value| match value {
        0 => (Effect::read(0), Edge::None),
        _ => (Effect::update(value, 0), Edge::Acquire),
    });
    if !effect.wrote {
        crate::std::time::pass(duration);
        interface::spin_hint();
        interface::sweep();
    }
}

#[track_caller]
pub(super) fn unpark(thread: ThreadId) {
    let access = Access::update(token(thread)).named("Thread::unpark").at(Location::caller());
    front::kept_event(access, |value| (Effect::update(value, 1), Edge::Release));
}

/// The location belongs to the parked thread, whichever thread uses it first. Their order is not an
/// event.
fn token(thread: ThreadId) -> usize {
    interface::of_thread(thread, 1)
}

/// As `std::thread::sleep`. In an exploration no real time passes; the thread's own clock advances,
/// and a loop that sleeps until something changes waits for that change.
#[track_caller]
pub fn sleep(duration: Duration) {
    if !interface::active() {
        return ::std::thread::sleep(duration);
    }
    front::resolve_watches();
    crate::std::time::pass(duration);
    interface::spin_hint();
    // The time is stored with the number of the thread's events, which differs from round to round
    // of a loop.
    interface::sweep();
}

/// As `std::thread::yield_now`: a hint that the thread waits for others.
#[inline(always)]
pub fn yield_now() {
    interface::far_below!(yield_hint);
}

extern "C" fn yield_hint() {
    if interface::active() {
        front::resolve_watches();
        interface::spin_hint();
    } else {
        ::std::thread::yield_now();
    }
}
