//! The flags of the algorithms of symbolic monitoring.

use std::str::FromStr;

use super::Algorithm as Paper;
use crate::check::Algorithm;
use crate::error::ParseError;

/// The flags of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// `c`: completions of pending operations are tried one by one; without it the solver searches
    /// them.
    pub completions: bool,
    /// `i`: one solver is kept and extended.
    pub incremental: bool,
    /// `r`: matches that cannot matter any more are forgotten.
    pub removal: bool,
}

impl Options {
    /// The letters of the options that are set: `i,r`.
    pub fn letters(self) -> String {
        let all = [(self.completions, "c"), (self.incremental, "i"), (self.removal, "r")];
        let set: Vec<&str> =
            all.iter().filter(|(set, _)| *set).map(|(_, letter)| *letter).collect();
        set.join(",")
    }
}

impl FromStr for Options {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Options, ParseError> {
        let mut options = Options::default();
        for letter in text.split(',').map(str::trim).filter(|letter| !letter.is_empty()) {
            match letter {
                "c" => options.completions = true,
                "i" => options.incremental = true,
                "r" => options.removal = true,
                other => {
                    return Err(format!(
                        "no option is called {other}: expected c (try completions one by one), i (keep one solver), \
                         r (forget matches), separated by commas"
                    )
                    .into());
                }
            }
        }
        Ok(options)
    }
}

/// No option is set.
pub(crate) const PLAIN: Options =
    Options { completions: false, incremental: false, removal: false };

impl Algorithm {
    /// The same algorithm with these options. An error names the options that it does not support.
    pub fn with_options(self, options: Options) -> Result<Algorithm, ParseError> {
        let (with, takes) = match self {
            Algorithm::Saturate { .. } => (
                Algorithm::Saturate { forgetting: options.removal },
                Options { removal: true, ..PLAIN },
            ),
            Algorithm::Paper(Paper::Symbolic(_)) => (
                Algorithm::Paper(Paper::Symbolic(options)),
                Options { completions: true, incremental: true, removal: true },
            ),
            Algorithm::Paper(Paper::Enumerate(_)) => (
                Algorithm::Paper(Paper::Enumerate(options)),
                Options { completions: true, ..PLAIN },
            ),
            _ => (self, PLAIN),
        };
        let too_much = Options {
            completions: options.completions && !takes.completions,
            incremental: options.incremental && !takes.incremental,
            removal: options.removal && !takes.removal,
        };
        if too_much == PLAIN {
            return Ok(with);
        }
        let takes = match takes.letters() {
            letters if letters.is_empty() => "takes no options".to_string(),
            letters => format!("takes the options {letters}"),
        };
        Err(format!("the algorithm {self} {takes}, not {}", too_much.letters()).into())
    }
}
