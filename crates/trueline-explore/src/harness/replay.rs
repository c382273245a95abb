//! The text that runs a failure again: `TRUELINE_REPLAY='h1:1f2e3d4c:/0.2,1/@t1:..' cargo test
//! NAME`.
//!
//! `h1:` is the version. Then follow a number for the object and its list of operations, so that of
//! several tests in one process only the right one reacts; the scenario; and, after `@`, the
//! schedule of the explorer, or `stress`.

use std::fmt::{self, Debug};
use std::str::FromStr;

use trueline::error::ParseError;
use trueline::spec::key_of;

use super::scenario::Scenario;
use crate::engine::Schedule;

/// The variable that is read.
pub(crate) const VARIABLE: &str = "TRUELINE_REPLAY";

/// A failure to be run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replay {
    pub(crate) test: u32,
    pub(crate) scenario: Scenario,
    /// None: on real threads.
    pub(crate) schedule: Option<Schedule>,
}

/// The number of a test: of its object and its operations.
pub(crate) fn number_of<T>(alphabet: &[impl Debug]) -> u32 {
    key_of(&(std::any::type_name::<T>(), format!("{alphabet:?}"))) as u32
}

/// The request in a text, if it is about this test. An error says what is wrong with the text.
pub(crate) fn asked(
    text: Option<&str>,
    test: u32,
    operations: usize,
) -> Result<Option<Replay>, ParseError> {
    let Some(text) = text else { return Ok(None) };
    let replay: Replay = text.parse()?;
    if replay.test != test {
        return Ok(None);
    }
    if replay.scenario.calls().iter().any(|&(_, call)| call >= operations) {
        return Err("the scenario has operations that the test has not".into());
    }
    Ok(Some(replay))
}

/// The name of the running test, as far as its thread shows it: libtest names threads after tests.
pub(crate) fn test_name() -> Option<String> {
    let thread = std::thread::current();
    match thread.name() {
        Some(name) if name != "main" => Some(name.to_string()),
        // With one test thread, and under nextest, tests run on the main thread; nextest passes the
        // name of the test as an argument.
        _ => {
            let arguments: Vec<String> = std::env::args().collect();
            let exact = arguments.iter().any(|argument| argument == "--exact");
            let named = arguments.iter().skip(1).find(|argument| !argument.starts_with('-'));
            named.filter(|_| exact).cloned()
        }
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h1:{:08x}:{}@", self.test, self.scenario)?;
        match &self.schedule {
            Some(schedule) => fmt::Display::fmt(schedule, f),
            None => f.write_str("stress"),
        }
    }
}

impl FromStr for Replay {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Replay, ParseError> {
        let rest = text.trim().strip_prefix("h1:").ok_or("it does not begin with 'h1:'")?;
        let (test, rest) = rest.split_once(':').ok_or("it is cut off")?;
        let (scenario, schedule) = rest.split_once('@').ok_or("it is cut off")?;
        let test = u32::from_str_radix(test, 16).map_err(|_| format!("'{test}' is no number"))?;
        let schedule = match schedule {
            "stress" => None,
            schedule => Some(schedule.parse::<Schedule>().map_err(|e| e.to_string())?),
        };
        Ok(Replay { test, scenario: scenario.parse()?, schedule })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_is_read_as_it_is_written() {
        for text in ["h1:0000beef:0/1.2,0/2@t1:0*2.1/beef", "h1:00000001:/0/@stress"] {
            assert_eq!(text.parse::<Replay>().map(|r| r.to_string()), Ok(text.to_string()));
        }
        for bad in ["", "h0:1:/0/@stress", "h1:x:/0/@stress", "h1:1:/0/", "h1:1:/0/@t1:x/0"] {
            assert!(bad.parse::<Replay>().is_err(), "{bad}");
        }
        assert_ne!(number_of::<u8>(&["a"]), number_of::<u8>(&["b"]));
        assert_ne!(number_of::<u8>(&["a"]), number_of::<u16>(&["a"]));
    }
}
