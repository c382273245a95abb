//! Parking, sleeping and yielding. A thread's token is a location that is 1 when `unpark` has left one.

use crate::engine::interface::{self, Access, Condition, Effect, ThreadId};
use crate::front::{self, Edge, Front};
use ::std::panic::Location;
use ::std::time::Duration;

/// As `std::thread::park`; in an exploration it does not wake up spuriously.
#[track_caller]
pub fn park() {
    if !interface::active() {
        return ::std::thread::park();
    }
    let access = Access::update(token(interface::current_thread()))
        .when(Condition::equals(1))
        .named("thread::park")
        .at(Location::caller());
    front::kept_event(access, |value| (Effect::update(value, 0), Edge::Acquire));
}

/// As `std::thread::park_timeout`. In an exploration the time may be up at any moment.
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
    }
}

#[track_caller]
pub(super) fn unpark(thread: ThreadId) {
    let access = Access::update(token(thread)).named("Thread::unpark").at(Location::caller());
    front::kept_event(access, |value| (Effect::update(value, 1), Edge::Release));
}

fn token(thread: ThreadId) -> usize {
    let known = interface::with_state(|front: &mut Front| front.thread(thread).token);
    if known != 0 {
        return known;
    }
    let location = interface::fresh_location();
    interface::with_state(|front: &mut Front| front.thread(thread).token = location);
    location
}

/// As `std::thread::sleep`. In an exploration no real time passes; the thread's own clock goes on, and a loop that
/// sleeps until something changes waits for that change.
#[track_caller]
pub fn sleep(duration: Duration) {
    if !interface::active() {
        return ::std::thread::sleep(duration);
    }
    front::settle();
    crate::std::time::pass(duration);
    interface::spin_hint();
}

/// As `std::thread::yield_now`: a hint that the thread waits for others.
#[track_caller]
pub fn yield_now() {
    if !interface::active() {
        return ::std::thread::yield_now();
    }
    front::settle();
    interface::spin_hint();
}
