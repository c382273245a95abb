//! Errors in an input, with their position.

use std::fmt;

/// A position in a file; lines and columns count from 1, columns in bytes. Line 0 means the file as
/// a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// A history that cannot be read or does not fit its specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    position: Position,
    message: String,
}

impl Error {
    /// An error at a position. The message gives what was found and what was expected.
    pub fn at(position: Position, message: impl Into<String>) -> Error {
        Error { position, message: message.into() }
    }

    /// An error about the input as a whole.
    pub fn whole(message: impl Into<String>) -> Error {
        Error::at(Position::default(), message)
    }

    /// Its position; `None` for the input as a whole.
    pub fn position(&self) -> Option<Position> {
        (self.position.line > 0).then_some(self.position)
    }

    /// The message, without the position.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// `line:column: message`, ready to follow a file name and a colon.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position() {
            Some(Position { line, column }) => write!(f, "{line}:{column}: {}", self.message),
            None => write!(f, " {}", self.message),
        }
    }
}

impl std::error::Error for Error {}
