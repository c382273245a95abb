//! Checking by logic: does some order of the operations satisfy the object's theory?
//!
//! The algorithms SYMBOLIC and ENUMERATE of Emmi, Enea and Hamza (Monitoring refinement via symbolic reasoning, PLDI
//! 2015). Both are told of calls and returns one at a time and decide at every return, as the paper's do. [`Symbolic`]
//! turns theory and history into propositional logic (`ground`) and asks a SAT solver, which searches orders,
//! completions and matchings at once. [`Enumerate`] tries one order after the other and asks the solver about the rest:
//! the baseline that the paper compares with, exponential in the operations that overlap.
//!
//! Both are exact without [`Options::removal`]: a violation is one, and where there is none the model is an order that
//! explains the history ([`Symbolic::order`]). Values may repeat, and locks need no tags: the solver looks for the
//! matching, too.

mod completions;
mod enumerate;
mod ground;
mod node;
mod record;
mod solve;

use std::str::FromStr;

use crate::error::ParseError;

pub use enumerate::Enumerate;
pub use solve::Symbolic;

/// The flags of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// `c`: completions of pending operations are tried one by one instead of left to the solver.
    pub completions: bool,
    /// `i`: one solver is kept, and told what is new.
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
