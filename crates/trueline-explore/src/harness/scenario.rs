//! A scenario: which operations each thread calls, and which are called before and after.
//!
//! Operations are indices into an alphabet, so that a scenario is a short text: `0.2/1.2/2` is
//! `0 2` before the threads, one thread that calls `1 2`, and `2` after it; several threads are
//! separated by `,`; `1~0.2` is a thread of role 1.

use std::fmt::{self, Write};
use std::str::FromStr;

use trueline::error::ParseError;

/// The calls of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) role: usize,
    pub(crate) calls: Vec<usize>,
}

/// A program of operations, each an index into the alphabet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Scenario {
    pub(crate) before: Vec<usize>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) after: Vec<usize>,
}

impl Scenario {
    /// How many operations it has.
    pub(crate) fn len(&self) -> usize {
        self.before.len()
            + self.after.len()
            + self.lanes.iter().map(|l| l.calls.len()).sum::<usize>()
    }

    /// All calls, with the thread of each: those before, each thread's, those after. A call's index
    /// in this list is its number.
    pub(crate) fn calls(&self) -> Vec<(usize, usize)> {
        let main = |&call: &usize| (0, call);
        let lanes = self.lanes.iter().enumerate();
        let threads = lanes.flat_map(|(i, lane)| lane.calls.iter().map(move |&call| (i + 1, call)));
        let before = self.before.iter().map(main);
        before.chain(threads).chain(self.after.iter().map(main)).collect()
    }

    /// The number of the first call of each thread, and of the first one after them.
    pub(crate) fn starts(&self) -> Vec<usize> {
        let mut next = self.before.len();
        let mut starts = vec![next];
        for lane in &self.lanes {
            next += lane.calls.len();
            starts.push(next);
        }
        starts
    }

    /// As people read it: `before push(1); push(2) pop() | pop(); after pop()`.
    pub(crate) fn show<O: fmt::Debug>(&self, alphabet: &[O]) -> String {
        let calls = |calls: &[usize]| {
            let words: Vec<String> = calls.iter().map(|&c| format!("{:?}", alphabet[c])).collect();
            words.join(" ")
        };
        let lanes: Vec<String> = self.lanes.iter().map(|lane| calls(&lane.calls)).collect();
        let mut text = lanes.join(" | ");
        if !self.before.is_empty() {
            text = format!("before {}; {text}", calls(&self.before));
        }
        if !self.after.is_empty() {
            let _ = write!(text, "; after {}", calls(&self.after));
        }
        text
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = |calls: &[usize]| {
            let words: Vec<String> = calls.iter().map(usize::to_string).collect();
            words.join(".")
        };
        write!(f, "{}/", calls(&self.before))?;
        for (i, lane) in self.lanes.iter().enumerate() {
            f.write_str(if i > 0 { "," } else { "" })?;
            if lane.role > 0 {
                write!(f, "{}~", lane.role)?;
            }
            f.write_str(&calls(&lane.calls))?;
        }
        write!(f, "/{}", calls(&self.after))
    }
}

impl FromStr for Scenario {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Scenario, ParseError> {
        let number = |word: &str| -> Result<usize, String> {
            word.parse().map_err(|_| format!("'{word}' in the scenario is no number"))
        };
        let calls = |text: &str| -> Result<Vec<usize>, String> {
            text.split('.').filter(|word| !word.is_empty()).map(number).collect()
        };
        let parts: Vec<&str> = text.split('/').collect();
        let [before, threads, after] = parts[..] else {
            return Err(format!("'{text}' has no three parts: before/threads/after").into());
        };
        let lane = |text: &str| {
            let (role, text) = text.split_once('~').unwrap_or(("0", text));
            Ok(Lane { role: number(role)?, calls: calls(text)? })
        };
        let lanes = if threads.is_empty() {
            Vec::new()
        } else {
            threads.split(',').map(lane).collect::<Result<_, String>>()?
        };
        Ok(Scenario { before: calls(before)?, lanes, after: calls(after)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_read_as_it_is_written() {
        for text in ["0.2/1.2,0/2", "//", "/1~0.2,0/", "/0/1.1"] {
            assert_eq!(text.parse::<Scenario>().map(|s| s.to_string()), Ok(text.to_string()));
        }
        for bad in ["", "0/1", "/x/", "/0/1/2", "/a~1/"] {
            assert!(bad.parse::<Scenario>().is_err(), "{bad}");
        }
        let scenario: Scenario = "0/1,0.1/1".parse().unwrap();
        assert_eq!(scenario.show(&["a", "b"]), r#"before "a"; "b" | "a" "b"; after "b""#);
        assert_eq!(scenario.calls(), [(0, 0), (1, 1), (2, 0), (2, 1), (0, 1)]);
        assert_eq!((scenario.starts(), scenario.len()), (vec![1, 2, 4], 5));
    }
}
