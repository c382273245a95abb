//! The language of theories: first-order formulas about operations, their labels, their order and
//! their matching.
//!
//! Variables stand for operations. An axiom holds for all operations `x0, x1, ...`: if the premises
//! hold, so does the conclusion. A conclusion may require another operation ([`Formula::Exists`]),
//! so axioms have the form 'for all there is', which the paper's reduction to propositional logic
//! needs.
//!
//! **Invariant:** an operation that a conclusion requires comes before, or overlaps, an operation
//! of the axiom. So once those have returned, no later call can help, and derived facts stay true
//! while a history grows.

use crate::theory::Method;
use crate::value::Value;

/// A variable: its number in an axiom.
pub type Var = u8;

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// The operation calls this method.
    Is(Var, Method),
    /// The operation returns this value.
    Returns(Var, Value),
    /// The first operation returns the argument of the second.
    ReturnsArgument(Var, Var),
    /// Both have the same argument.
    SameArgument(Var, Var),
    /// The argument of the first is less than that of the second.
    LessArgument(Var, Var),
    /// Both are the same operation.
    Same(Var, Var),
    /// `b(x, y)`: the first comes before the second.
    Before(Var, Var),
    /// `match(x, y)`: the second is matched to the first, `x = M(y)`.
    Match(Var, Var),
    /// It does not hold.
    Not(Box<Formula>),
    /// All hold.
    And(Vec<Formula>),
    /// At least one holds.
    Or(Vec<Formula>),
    /// There is an operation for the variable. Not within [`Formula::Not`].
    Exists(Var, Box<Formula>),
}

/// The negation.
pub(super) fn not(formula: Formula) -> Formula {
    Formula::Not(Box::new(formula))
}

/// There is an `x` for which all of these hold.
pub(super) fn exists(x: Var, all: impl Into<Vec<Formula>>) -> Formula {
    Formula::Exists(x, Box::new(Formula::And(all.into())))
}

/// For all operations `x0` to `x(variables - 1)`: where all premises hold, so does the conclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axiom {
    /// As the paper calls it.
    pub name: &'static str,
    /// Number of operations that it is about.
    pub variables: u8,
    /// If one of them fails, the axiom holds.
    pub premises: Vec<Formula>,
    /// The consequence. An empty [`Formula::Or`] is never true.
    pub conclusion: Formula,
}

impl Formula {
    /// The largest variable in it.
    pub fn last_variable(&self) -> Var {
        match self {
            Formula::Is(x, _) | Formula::Returns(x, _) => *x,
            Formula::ReturnsArgument(x, y)
            | Formula::SameArgument(x, y)
            | Formula::LessArgument(x, y)
            | Formula::Same(x, y)
            | Formula::Before(x, y)
            | Formula::Match(x, y) => *x.max(y),
            Formula::Not(inner) => inner.last_variable(),
            Formula::And(all) | Formula::Or(all) => {
                all.iter().map(Formula::last_variable).max().unwrap_or(0)
            }
            Formula::Exists(x, inner) => inner.last_variable().max(*x),
        }
    }
}
