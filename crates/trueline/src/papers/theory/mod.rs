//! Theories: objects described by first-order formulas over their operations.
//!
//! After Emmi, Enea and Hamza, Monitoring refinement via symbolic reasoning (PLDI 2015), section 3.
//! An object is the set of histories that satisfy its theory for some matching of operations, where
//! `match(x, y)` means that `y` removes, reads or releases what `x` added, wrote or acquired. A
//! theory is data: [`Theory::of`] gives the axioms. The symbolic checkers turn them into
//! propositional logic, and [saturation](crate::saturate) implements their unit propagation by
//! hand. Each theory accepts exactly the legal sequential histories; this is tested for all
//! histories of up to five operations.

mod formula;
mod objects;
#[cfg(test)]
mod tests;

pub use formula::{Axiom, Formula, Var};
pub use objects::Theory;
