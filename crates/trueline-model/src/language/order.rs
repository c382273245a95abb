//! The order in which the parts of a statement are computed: from left to right, and all of them
//! before something is assigned.
//!
//! If each access is a step of its own, every read value is kept in a temporary anyway. Within one
//! step (inside `atomic`, and under PAT's semantics) a value is computed where it is used. That is
//! too late if something in between changes its operands: then it is kept in a temporary too.

use super::ast::{Expr, ExprKind, Stmt as Statement, StmtKind};
use super::body::{Body, PlaceRef, Root, read};
use super::diagnostic::{Diagnostic, Span};
use super::parser::Parsed;
use super::parts::{children, has_effect};
use crate::program::{self, Place, Stmt};

impl Body<'_> {
    /// Whether read values are kept in temporaries.
    pub(super) fn keeps(&self) -> bool {
        self.fine() || self.entangled
    }

    /// Whether some part of the statement changes what an earlier part may read.
    pub(super) fn is_entangled(&self, stmt: &Statement) -> bool {
        match &stmt.kind {
            StmtKind::Assign(target, value) => {
                self.entangles(target)
                    || self.entangles(value)
                    || has_effect(value) && !matches!(target.kind, ExprKind::Name(_))
            }
            StmtKind::Local(variables) => {
                variables.iter().filter_map(|v| v.init.as_ref()).any(|init| self.entangles(init))
            }
            StmtKind::For(_, low, high, _) => {
                has_effect(high) || self.entangles(low) || self.entangles(high)
            }
            StmtKind::Expr(expr)
            | StmtKind::If(expr, ..)
            | StmtKind::While(expr, _)
            | StmtKind::Return(Some(expr))
            | StmtKind::Lock(expr)
            | StmtKind::Unlock(expr)
            | StmtKind::Free(expr)
            | StmtKind::Await(expr)
            | StmtKind::Assert(expr) => self.entangles(expr),
            _ => false,
        }
    }

    /// The same for an expression.
    pub(super) fn entangles(&self, expr: &Expr) -> bool {
        let parts = children(expr);
        let late = parts.iter().rposition(|part| has_effect(part)).unwrap_or(0);
        parts[..late].iter().any(|part| self.touches(part))
            || parts.into_iter().any(|part| self.entangles(part))
    }

    /// Assigns several parts of a place at once: a value that reads a part that is written earlier
    /// is first kept in a temporary.
    pub(super) fn together(
        &mut self,
        place: &PlaceRef,
        leaves: Vec<program::Expr>,
    ) -> (Vec<Stmt>, Vec<program::Expr>) {
        let count = leaves.len();
        if !leaves.iter().skip(1).any(|leaf| reads(leaf, place, count)) {
            return (Vec::new(), leaves);
        }
        let scalars = self.types.leaves(&place.ty);
        let mut kept = Vec::new();
        let mut values = Vec::new();
        for (leaf, scalar) in leaves.into_iter().zip(scalars) {
            let scalar = self.types.scalar(&scalar.ty);
            let variable = self.temporary(&scalar);
            kept.push(Stmt::Set(Place::Local(variable, vec![]), leaf));
            values.push(read(Place::Local(variable, vec![])));
        }
        (kept, values)
    }

    /// Refuses a place that is another one as soon as a part of it is written.
    pub(super) fn require_steady(&self, place: &PlaceRef, span: Span) -> Parsed<()> {
        let count = self.types.leaves(&place.ty).len();
        let linked = matches!(place.root, Root::Shared(_, Some(_)));
        if (count > 1 || linked) && finds_by(place, place, count) {
            let message = "what is written here is also where it goes";
            return Err(Diagnostic::new(span, message).help("copy the index to a variable first"));
        }
        Ok(())
    }
}

/// Whether the place is found by reading one of the first parts of another.
pub(super) fn finds_by(place: &PlaceRef, other: &PlaceRef, count: usize) -> bool {
    let pointer = match &place.root {
        Root::Heap(_, pointer) => Some(pointer),
        _ => None,
    };
    place.indices.iter().chain(pointer).any(|part| reads(part, other, count))
}

/// Whether the expression may read one of the first parts of the place. May err on the side of
/// true: all cells of an array, and all nodes of a type, count as one.
fn reads(expr: &program::Expr, of: &PlaceRef, count: usize) -> bool {
    match expr {
        program::Expr::Const(_) | program::Expr::Me => false,
        program::Expr::Unary(_, a) => reads(a, of, count),
        program::Expr::Binary(_, a, b) => reads(a, of, count) || reads(b, of, count),
        program::Expr::If(a, b, c) => {
            reads(a, of, count) || reads(b, of, count) || reads(c, of, count)
        }
        program::Expr::Read(place) => {
            let parts = |first: usize| first + of.offset..first + of.offset + count;
            let (here, inside): (bool, &[program::Expr]) = match (&**place, &of.root) {
                (Place::Local(id, indices), Root::Local(first)) => {
                    (parts(*first).contains(id), indices)
                }
                (Place::Own(id, indices), Root::Own(first)) => {
                    (parts(*first).contains(id), indices)
                }
                (Place::Shared(id, indices), Root::Shared(first, _)) => {
                    (parts(*first).contains(id), indices)
                }
                (Place::Field(node, pointer, field), Root::Heap(of_node, _)) => {
                    let cells = &of.cells[of.offset..of.offset + count];
                    let written = cells.iter().any(|(first, dims)| {
                        (*first..first + dims.iter().product::<usize>()).contains(field)
                    });
                    (node == of_node && written, std::slice::from_ref(&**pointer))
                }
                (Place::FieldCell(node, pointer, first, indices), root) => {
                    let written = match root {
                        Root::Heap(of_node, _) if node == of_node => {
                            of.cells[of.offset..of.offset + count].iter().any(|c| c.0 == *first)
                        }
                        _ => false,
                    };
                    let inside = indices.iter().map(|(index, _)| index).chain([&**pointer]);
                    return written || inside.into_iter().any(|part| reads(part, of, count));
                }
                (Place::Field(_, pointer, _), _) => (false, std::slice::from_ref(&**pointer)),
                (
                    Place::Local(_, indices) | Place::Own(_, indices) | Place::Shared(_, indices),
                    _,
                ) => (false, indices),
            };
            here || inside.iter().any(|part| reads(part, of, count))
        }
    }
}
