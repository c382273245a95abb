//! Reproduces papers; not needed to check a history. Feature `papers`.
//!
//! | module | what | paper |
//! |---|---|---|
//! | `theory` | objects as first-order formulas | Emmi, Enea and Hamza, PLDI 2015 |
//! | `symbolic` | the object's theory as propositional logic, asked of a SAT solver; every order in turn | the same |
//! | `quasi` | quasi linearizability in the readings `uniform` and `literal`, and by enumeration | Zhang, Chattopadhyay and Wang, Round-Up, 2015 |
//!
//! The rest of the crate refers to it in one variant of [`crate::Algorithm`], two readings of quasi
//! linearizability and [`quasi::Algorithm::RoundUp`](crate::quasi::Algorithm::RoundUp), each behind
//! the feature.

mod options;
pub(crate) mod quasi;
mod symbolic;
pub mod theory;

use crate::budget::Budget;
use crate::saturate::Online;
use crate::theory::Object;
use crate::value::Value;

pub use options::Options;
pub(crate) use options::PLAIN;
pub use quasi::Permutations;
pub use symbolic::{Enumerate, Symbolic};

/// An algorithm of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// The object's theory as propositional logic, at every return.
    Symbolic(Options),
    /// Every order in turn, each compared with the object's theory, at every return.
    Enumerate(Options),
    /// All quasi permutations of all sequentializations: decides quasi linearizability only, see
    /// [`crate::quasi`].
    RoundUp,
}

impl Algorithm {
    /// Why it does not decide whether a history is linearizable, if it decides something else.
    pub(crate) fn refusal(self) -> Option<&'static str> {
        let quasi_only = "it decides quasi linearizability only, see --quasi";
        (self == Algorithm::RoundUp).then_some(quasi_only)
    }

    /// The checker of an object with these initial values, if it decides by a theory.
    pub(crate) fn monitor<'a>(
        self,
        object: Object,
        initial: &[Value],
        budget: &'a Budget,
    ) -> Option<Box<dyn Online + 'a>> {
        Some(match self {
            Algorithm::Symbolic(options) => {
                Box::new(Symbolic::new(object, options, budget).holding(initial))
            }
            Algorithm::Enumerate(options) => {
                Box::new(Enumerate::new(object, options, budget).holding(initial))
            }
            Algorithm::RoundUp => return None,
        })
    }
}
