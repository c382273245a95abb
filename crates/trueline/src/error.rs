//! Errors in a question: each describes what was found and what was expected.
//!
//! An error in a file has a position and is a [`history::Error`](crate::history::Error).

use std::fmt;

/// An error that is a message.
macro_rules! messages {
    ($($(#[$about:meta])* $name:ident,)*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::error::Error for $name {}

        impl From<String> for $name {
            fn from(message: String) -> $name {
                $name(message)
            }
        }

        impl From<&str> for $name {
            fn from(message: &str) -> $name {
                $name(message.to_string())
            }
        }
    )*};
}

messages! {
    /// A text that names no algorithm, option, reading or factor.
    ParseError,
    /// The text does not name a specification, or the call is not one of its operations.
    SpecError,
    /// A history of this plan cannot be generated.
    PlanError,
    /// A stream, or a live object, that cannot be watched.
    WatchError,
}
