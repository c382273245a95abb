//! Exit codes, a contract: 0 holds, 1 violation, 2 usage or input error, 3 undecided.

use std::io;
use std::process::ExitCode;

use trueline::Verdict;

use crate::output;

/// How a command ends. If several files end differently, the order decides: 2 beats 1 beats 3 beats
/// 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    Holds,
    Undecided,
    Violation,
    Error,
}

impl Exit {
    pub(crate) fn of(verdict: &Verdict) -> Exit {
        match verdict {
            Verdict::Linearizable(_) => Exit::Holds,
            Verdict::Violation(_) => Exit::Violation,
            Verdict::Unknown(_) => Exit::Undecided,
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Holds => 0,
            Exit::Violation => 1,
            Exit::Error => 2,
            Exit::Undecided => 3,
        }
    }
}

/// The reader of our output closed the pipe. Carries the exit code that the command would have had.
#[derive(Debug)]
pub(crate) struct Closed(pub(crate) Exit);

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the output was closed")
    }
}

impl std::error::Error for Closed {}

/// Turns the result of a command into an exit code and prints errors. A closed pipe is not an
/// error.
pub(crate) fn conclude(result: anyhow::Result<Exit>) -> ExitCode {
    let exit = result.unwrap_or_else(|error| {
        if let Some(Closed(exit)) = error.downcast_ref() {
            return *exit;
        }
        let pipe = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
        if error.chain().any(|e| e.downcast_ref().is_some_and(pipe)) {
            return Exit::Holds;
        }
        output::complain(format_args!("{error:#}"));
        Exit::Error
    });
    ExitCode::from(exit.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_beat_violations_beat_doubt() {
        let mut all = [Exit::Holds, Exit::Error, Exit::Undecided, Exit::Violation];
        all.sort();
        assert_eq!(all.map(Exit::code), [0, 3, 1, 2]);
    }
}
