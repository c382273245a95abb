//! Shared cells that never change, and the steps that can therefore be omitted.
//!
//! If a process only ever writes the initial value, many cells keep their initial value for ever:
//! the registers of that process, and the copies that others make of them. A step that accesses
//! nothing but such cells is fused with the step before it ([`super::step`]), because no other
//! process can observe it or influence it. This removes the redundant commands of section 6 of
//! *Polynomial-Time Verification and Testing of Implementations of the Snapshot Data Structure*
//! (Amram and others, DISC 2022), without changing the model.
//!
//! Random walks guess these cells, and the search assumes them constant. A step that would change
//! one ends the search, which restarts without the assumption ([`super::simple`]). So the
//! assumptions of a completed search hold in all its states.

use crate::program::{Expr, LocationId, Place, Program, Stmt, VarId};

use super::layout::Layout;

/// Shared cells that never change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constants {
    /// By slot.
    cells: Vec<bool>,
    /// By location: whether its step may access nothing but constant cells.
    passable: Vec<bool>,
    /// Steps that touch nothing at all are left out, too.
    pub(crate) passes_local: bool,
}

impl Constants {
    pub(crate) fn new(program: &Program, layout: &Layout, cells: Vec<bool>) -> Constants {
        let has_constants = |id: &VarId| {
            let first = layout.shared[*id];
            let end = first + program.shared[*id].cells();
            cells[first..end].contains(&true)
        };
        // In PAT's semantics every statement costs a step, except those that the authors omitted by
        // hand.
        let passes_local = !program.count_terminal_states;
        let passable = program.locations.iter().enumerate().map(|(id, location)| {
            let mut touched = Touched::default();
            touched.all(&location.body);
            // A loop over local values accesses the statement after it only in its last step.
            let goes_round = passes_local && touched.targets.contains(&id);
            let constants = touched.shared.iter().all(has_constants)
                && (passes_local || !touched.shared.is_empty());
            !touched.heap && (goes_round || constants)
        });
        let passable = passable.collect();
        Constants { cells, passable, passes_local }
    }

    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        !self.cells.is_empty()
    }

    /// Whether the slot is one of them.
    pub(crate) fn holds(&self, slot: usize) -> bool {
        self.cells.get(slot).copied().unwrap_or(false)
    }

    /// Whether a step from the location may access nothing but constant cells.
    pub(crate) fn may_pass(&self, location: usize) -> bool {
        self.passable[location]
    }
}

/// The shared variables that statements name.
#[derive(Default)]
struct Touched {
    shared: Vec<VarId>,
    heap: bool,
    /// Where they may go.
    targets: Vec<LocationId>,
}

impl Touched {
    fn all(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Set(place, value) => {
                self.place(place);
                self.expr(value);
            }
            Stmt::If(test, yes, no) => {
                self.expr(test);
                self.all(yes);
                self.all(no);
            }
            Stmt::While(test, body) => {
                self.expr(test);
                self.all(body);
            }
            Stmt::Choose(branches) => branches.iter().for_each(|branch| self.all(branch)),
            Stmt::Pick(place, low, high) => {
                self.place(place);
                self.expr(low);
                self.expr(high);
            }
            Stmt::New(..) | Stmt::Free(..) => self.heap = true,
            Stmt::Await(test) | Stmt::Assert(test, _) => self.expr(test),
            Stmt::Lin(results) => results.iter().flatten().for_each(|result| self.expr(result)),
            Stmt::Goto(location) => self.targets.push(*location),
            Stmt::Return(results) => results.iter().for_each(|result| self.expr(result)),
        }
    }

    fn place(&mut self, place: &Place) {
        match place {
            Place::Shared(id, indices) => {
                self.shared.push(*id);
                indices.iter().for_each(|index| self.expr(index));
            }
            Place::Local(_, indices) | Place::Own(_, indices) => {
                indices.iter().for_each(|index| self.expr(index));
            }
            Place::Field(..) | Place::FieldCell(..) => self.heap = true,
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(_) | Expr::Me => {}
            Expr::Read(place) => self.place(place),
            Expr::Unary(_, a) => self.expr(a),
            Expr::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Expr::If(a, b, c) => [a, b, c].into_iter().for_each(|part| self.expr(part)),
        }
    }
}
