//! As `std::time`, with an [`Instant`] that is virtual in an exploration.
//!
//! Each thread has a time of its own. It advances when the thread sleeps or times out, and a little
//! with each reading: first by a microsecond, then by twice as much each time, so that a loop until
//! a deadline ends after a few rounds. If another thread read its time in an event that happens
//! before this reading, this reading is no earlier: time does not run backwards from one thread to
//! another. `SystemTime` is std's and not controlled.

use crate::engine::interface::{self, Access, Effect, ThreadId};
use crate::front::{self, Front};
use ::std::ops::{Add, AddAssign, Sub, SubAssign};
use ::std::panic::Location;
use ::std::sync::LazyLock;

pub use ::std::time::{Duration, SystemTime, SystemTimeError, TryFromFloatSecsError, UNIX_EPOCH};

/// As `std::time::Instant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(::std::time::Instant);

/// The beginning of virtual time, the same for all threads of the process.
static START: LazyLock<::std::time::Instant> = LazyLock::new(::std::time::Instant::now);

/// The largest step of a reading is an hour, after 32 readings.
const MOST_DOUBLINGS: u32 = 32;

/// No sleep and no timeout lasts longer than this, about 35,000 years. An [`Instant`] has room for
/// as many of them as an execution has events, whereas one of `Duration::MAX` leaves no later time.
const LONGEST: Duration = Duration::from_secs(1 << 40);

impl Instant {
    /// As std's `now`.
    #[must_use]
    #[track_caller]
    pub fn now() -> Instant {
        if interface::active() {
            Instant(*START + look())
        } else {
            Instant(::std::time::Instant::now())
        }
    }

    /// As std's `elapsed`.
    #[must_use]
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        Instant::now() - *self
    }

    /// As std's `duration_since`.
    #[must_use]
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.0.duration_since(earlier.0)
    }

    /// As std's `checked_duration_since`.
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// As std's `saturating_duration_since`.
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// As std's `checked_add`.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_add(duration).map(Instant)
    }

    /// As std's `checked_sub`.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_sub(duration).map(Instant)
    }
}

/// Reads the thread's clock. The event, at a location that no other thread touches, tells the
/// engine that something has changed: a loop until a deadline does not wait for other threads.
#[track_caller]
fn look() -> Duration {
    interface::time_is_asked();
    let thread = interface::current_thread();
    let known = interface::with_state(|front: &mut Front| front.thread(thread).clock_location);
    let location = if known == 0 { interface::fresh_location() } else { known };
    let access = Access::write(location).named("Instant::now").at(Location::caller());
    learn(thread);
    let events = interface::own_events();
    front::event(access, |front, _| {
        let thread = front.thread(thread);
        thread.clock_location = location;
        let step = Duration::from_micros(1 << thread.looks.min(MOST_DOUBLINGS));
        thread.now = thread.now.saturating_add(step);
        thread.times.push((events, thread.now));
        thread.looks += 1;
        (thread.now, Effect::write(u64::from(thread.looks) - 1, u64::from(thread.looks)))
    })
}

/// The time of the calling thread goes on.
pub(crate) fn pass(duration: Duration) {
    let thread = interface::current_thread();
    learn(thread);
    let events = interface::own_events();
    interface::with_state(|front: &mut Front| {
        let thread = front.thread(thread);
        thread.now = thread.now.saturating_add(duration.min(LONGEST));
        thread.times.push((events, thread.now));
    });
    interface::time_passes();
}

/// Advances the time of the calling thread to at least the times that happen before its next event.
fn learn(thread: ThreadId) {
    let count = interface::with_state(|front: &mut Front| front.threads.len());
    for other in (0..count as u32).map(ThreadId).filter(|&other| other != thread) {
        let known = interface::known_events(other);
        interface::with_state(|front: &mut Front| {
            let times = &front.thread(other).times;
            // A thread that knows of an event knows all times before it, of which the last is the
            // latest.
            let before = times.partition_point(|&(events, _)| events < known);
            if let Some(&(_, time)) = before.checked_sub(1).and_then(|last| times.get(last)) {
                let own = front.thread(thread);
                own.now = own.now.max(time);
            }
        });
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant(self.0 + duration)
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, duration: Duration) -> Instant {
        Instant(self.0 - duration)
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, other: Instant) -> Duration {
        self.0 - other.0
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration;
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        self.0 -= duration;
    }
}
