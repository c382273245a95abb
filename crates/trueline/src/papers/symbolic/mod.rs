//! Checking by logic: does some order of the operations satisfy the object's theory?
//!
//! The algorithms SYMBOLIC and ENUMERATE of Emmi, Enea and Hamza (Monitoring refinement via
//! symbolic reasoning, PLDI 2015). Both receive calls and returns one at a time and decide at every
//! return, as in the paper. [`Symbolic`] turns theory and history into propositional logic
//! (`ground`) for a SAT solver, which searches orders, completions and matchings at once.
//! [`Enumerate`] tries one order after the other and uses the solver for the rest: the paper's
//! baseline, exponential in the operations that overlap.
//!
//! Both are exact without [`Options::removal`](super::Options::removal): every violation is one,
//! and if there is none the model is an order that explains the history ([`Symbolic::order`]).
//! Values may repeat, and locks need no tags: the solver searches the matching, too.

mod completions;
mod enumerate;
mod ground;
mod node;
mod record;
mod solve;

pub use enumerate::Enumerate;
pub use solve::Symbolic;
