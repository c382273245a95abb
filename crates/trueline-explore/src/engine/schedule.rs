//! A schedule as a short text, from which an execution is replayed.
//!
//! `t1:` is the version. Then follows the thread of each event, separated by dots: the thread's
//! number, `*n` if it makes `n` events in a row, `=c` if the environment chose `c` in it. After `/`
//! comes a checksum of the events. Threads are numbered in the order in which the execution spawned
//! them.

use std::fmt;
use std::str::FromStr;

use super::strategy::{Decision, Strategy, View};
use super::trace::Trace;

/// The thread of each event of an execution, and the environment's choices.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Schedule {
    events: Vec<(u32, u32)>,
    checksum: u32,
}

/// The text is not a schedule of this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSchedule {
    what: String,
}

impl fmt::Display for BadSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a schedule: {}", self.what)
    }
}

impl std::error::Error for BadSchedule {}

impl Schedule {
    /// The schedule of a trace; `order` gives the threads as they were spawned.
    pub(crate) fn of(trace: &Trace, order: &[u32]) -> Schedule {
        let number = |thread: u32| {
            order.iter().position(|&t| t == thread).expect("a thread that was spawned") as u32
        };
        let events = trace.events().iter().map(|e| (number(e.thread), e.choice)).collect();
        Schedule { events, checksum: checksum(trace) }
    }

    /// How many events it has.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether it has no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether an execution was this one: nothing if so, else how it differs.
    pub(crate) fn difference(&self, trace: &Trace) -> Option<String> {
        if trace.len() < self.events.len() {
            return Some(format!(
                "the execution ended after {} events, the schedule has {}",
                trace.len(),
                self.events.len()
            ));
        }
        if trace.len() == self.events.len() && checksum(trace) != self.checksum {
            return Some(String::from("an event did something else than when it was recorded"));
        }
        None
    }
}

/// A checksum of what the events did: kinds and choices, not addresses or values, which differ from
/// process to process.
fn checksum(trace: &Trace) -> u32 {
    let mut hash = 0u64;
    for event in trace.events() {
        let word = (event.access.kind as u64) | u64::from(event.footprint.wrote) << 2;
        let word = word | u64::from(event.choices) << 3;
        hash = (hash.rotate_left(9) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    (hash >> 32) as u32 ^ hash as u32
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("t1:")?;
        let runs = self.events.chunk_by(|a, b| a == b && a.1 == 0);
        for (i, run) in runs.enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            let (thread, choice) = run[0];
            write!(f, "{thread}")?;
            if choice > 0 {
                write!(f, "={choice}")?;
            }
            if run.len() > 1 {
                write!(f, "*{}", run.len())?;
            }
        }
        write!(f, "/{:x}", self.checksum)
    }
}

impl FromStr for Schedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<Schedule, BadSchedule> {
        let bad = |what: &str| BadSchedule { what: String::from(what) };
        let text = text.trim();
        let rest = text.strip_prefix("t1:").ok_or_else(|| bad("it does not begin with 't1:'"))?;
        let (events, checksum) = rest.split_once('/').ok_or_else(|| bad("it is cut off"))?;
        let checksum = u32::from_str_radix(checksum, 16).map_err(|_| bad("its checksum"))?;
        let number = |text: &str| text.parse().map_err(|_| bad(&format!("'{text}' is no number")));
        let mut schedule = Schedule { events: Vec::new(), checksum };
        for run in events.split('.').filter(|run| !run.is_empty()) {
            let (one, times) = run.split_once('*').unwrap_or((run, "1"));
            let (thread, choice) = one.split_once('=').unwrap_or((one, "0"));
            let (thread, choice, times) = (number(thread)?, number(choice)?, number(times)?);
            if times > 1 << 24 {
                return Err(bad("it is too long"));
            }
            schedule.events.extend((0..times).map(|_| (thread, choice)));
        }
        Ok(schedule)
    }
}

/// Replays the events of a schedule, and continues with the default choice after them.
pub(crate) struct Replay<'a> {
    schedule: &'a Schedule,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(schedule: &'a Schedule) -> Replay<'a> {
        Replay { schedule }
    }
}

impl Strategy for Replay<'_> {
    fn next(&mut self, view: &View<'_>) -> Decision {
        // In a machine that runs nothing else, threads are numbered as they are spawned.
        match self.schedule.events.get(view.trace.len()) {
            Some(&(thread, _)) => Decision::Run(thread),
            None => Decision::Run(view.current_or_first()),
        }
    }

    fn decided(&self, view: &View<'_>) -> Option<u32> {
        let &(thread, _) = self.schedule.events.get(view.trace.len())?;
        view.could_run(thread).then_some(thread)
    }

    fn has_chosen(&self, trace: &Trace) -> bool {
        self.schedule.events.get(trace.len()).is_some_and(|&(_, choice)| choice > 0)
    }

    fn choose(&mut self, trace: &Trace, count: u32) -> u32 {
        self.schedule.events.get(trace.len()).map_or(0, |&(_, choice)| choice.min(count - 1))
    }
}

/// Repeats the events of the previous execution; the machine itself repeats all of them.
pub(crate) struct Again;

impl Strategy for Again {
    fn next(&mut self, _: &View<'_>) -> Decision {
        Decision::Diverged
    }

    fn choose(&mut self, _: &Trace, _: u32) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_is_written() {
        let events = vec![(0, 0), (0, 0), (1, 0), (2, 1), (2, 1), (2, 0), (2, 0), (12, 0)];
        let schedule = Schedule { events, checksum: 0xbeef };
        let text = schedule.to_string();
        assert_eq!(text, "t1:0*2.1.2=1.2=1.2*2.12/beef");
        assert_eq!(text.parse(), Ok(schedule));
        assert_eq!("t1:/0".parse(), Ok(Schedule::default()));
        for bad in ["", "t0:1/0", "t1:1", "t1:x/0", "t1:1*y/0", "t1:1/z", "t1:1*99999999999/0"] {
            assert!(bad.parse::<Schedule>().is_err(), "{bad}");
        }
    }
}
