//! Places of an operation: variables, cells, fields and their values.

use super::ast::{Expr, ExprKind, Name};
use super::body::{Body, PlaceRef, Root, Value, local_place, read};
use super::diagnostic::{Diagnostic, Span, did_you_mean};
use super::parser::Parsed;
use super::parts::{is_place, text};
use super::types::Ty;
use crate::program::{self, Place, Stmt, VarId};

impl Body<'_> {
    pub(super) fn place(&mut self, expr: &Expr) -> Parsed<PlaceRef> {
        match &expr.kind {
            ExprKind::Name(name) => self.variable(name, expr.span),
            ExprKind::Field(base, field) => {
                let base_place = match is_place(base) {
                    true => {
                        let place = self.place(base)?;
                        if let Ty::Record(record) = place.ty {
                            return self.part(place, record, field);
                        }
                        self.load(&place)
                    }
                    false => self.value(base)?,
                };
                let Ty::Node(node) = base_place.ty else {
                    let shown = self.types.show(&base_place.ty);
                    let message =
                        format!("`{}` is of type {shown}, which has no fields", text(base));
                    return Err(Diagnostic::new(base.span, message));
                };
                // Finding the node is an access, its field another.
                let pointer = if base_place.shared && self.keeps() {
                    self.hoist(base_place)
                } else {
                    base_place
                };
                let place = PlaceRef {
                    ty: Ty::Node(node),
                    root: Root::Heap(node, pointer.leaves[0].clone()),
                    indices: Vec::new(),
                    offset: 0,
                    shared_address: pointer.shared,
                    cells: self.types.node_cells(node),
                };
                let fields = &self.types.nodes[node].fields;
                let (ty, offset) = self.field(fields, &self.types.nodes[node].name, field)?;
                Ok(PlaceRef { ty, offset, ..place })
            }
            ExprKind::Index(base, index) => {
                if !is_place(base) {
                    return Err(Diagnostic::new(base.span, "this is not an array"));
                }
                let mut place = self.place(base)?;
                let Ty::Array { of, len, by_process } = place.ty.clone() else {
                    let shown = self.types.show(&place.ty);
                    let message = format!("`{}` is of type {shown}, not an array", text(base));
                    return Err(Diagnostic::new(base.span, message));
                };
                let value = self.value(index)?;
                let wanted = match by_process {
                    true => Ty::Pid,
                    false => Ty::Int { lo: 0, hi: len as i32 - 1 },
                };
                let value = if value.shared && self.keeps() { self.hoist(value) } else { value };
                place.shared_address |= value.shared;
                place.indices.extend(self.coerce(value, &wanted, index.span)?);
                place.ty = *of;
                Ok(place)
            }
            _ => Err(Diagnostic::new(expr.span, "this cannot be assigned to")
                .help("name a variable, a cell or a field")),
        }
    }

    pub(super) fn part(
        &mut self,
        place: PlaceRef,
        record: usize,
        field: &Name,
    ) -> Parsed<PlaceRef> {
        let of = &self.types.records[record];
        let (ty, offset) = self.field(&of.fields, &of.name, field)?;
        Ok(PlaceRef { ty, offset: place.offset + offset, ..place })
    }

    pub(super) fn field(
        &self,
        fields: &[(String, Ty)],
        of: &str,
        field: &Name,
    ) -> Parsed<(Ty, usize)> {
        let mut offset = 0;
        for (name, ty) in fields {
            if *name == field.text {
                return Ok((ty.clone(), offset));
            }
            offset += self.types.leaves(ty).len();
        }
        let known = fields.iter().map(|(name, _)| name.as_str());
        let message = format!("`{of}` has no field `{}`", field.text);
        let listed = known.clone().collect::<Vec<_>>().join("`, `");
        let help = did_you_mean(&field.text, known).unwrap_or(format!("it has `{listed}`"));
        Err(Diagnostic::new(field.span, message).help(help))
    }

    pub(super) fn variable(&mut self, name: &str, span: Span) -> Parsed<PlaceRef> {
        if let Some((_, ty, first)) = self.scope.iter().rev().find(|(n, ..)| n == name) {
            return Ok(local_place(*first, ty.clone()));
        }
        if let Some(global) = self.globals.shared.iter().find(|g| g.name == name) {
            let root = Root::Shared(global.first, global.links);
            return Ok(PlaceRef { root, ..local_place(0, global.ty.clone()) });
        }
        if let Some(at) = self.globals.own.iter().position(|g| g.name == name) {
            let global = self.globals.own[at].clone();
            if self.setup {
                let message = format!("`{name}` belongs to each process: there is none yet");
                return Err(Diagnostic::new(span, message));
            }
            if !self.globals.demoted[at] {
                let root = Root::Own(global.first);
                return Ok(PlaceRef { root, ..local_place(0, global.ty) });
            }
            // The operation gets a copy of its own, with the same first values.
            if let Some((_, first)) = self.demoted.iter().find(|(own, _)| *own == at) {
                return Ok(local_place(*first, global.ty));
            }
            let first = self.declare(name, &global.ty);
            let count = self.locals.len() - first;
            for leaf in 0..count {
                let initial = self.globals.own_layout[global.first + leaf].initial.clone();
                self.locals[first + leaf].initial = initial;
            }
            self.demoted.push((at, first));
            return Ok(local_place(first, global.ty));
        }
        if self.types.constants.iter().any(|(constant, _)| constant == name) {
            let message = format!("`{name}` is a parameter, which does not change");
            return Err(Diagnostic::new(span, message));
        }
        let known = (self.scope.iter().rev().map(|(n, ..)| n.as_str()))
            .chain(self.globals.shared.iter().chain(&self.globals.own).map(|g| g.name.as_str()))
            .chain(self.types.constants.iter().map(|(constant, _)| constant.as_str()));
        let help = did_you_mean(name, known);
        let message = format!("no variable is called `{name}`");
        Err(Diagnostic::new(span, message).maybe_help(help))
    }

    pub(super) fn load(&self, place: &PlaceRef) -> Value {
        let count = self.types.leaves(&place.ty).len();
        let leaves = (0..count).map(|leaf| read(place.leaf(leaf))).collect();
        let shared = place.is_shared() || place.shared_address;
        Value { ty: place.ty.clone(), leaves, shared }
    }

    /// The statements that put the values there.
    pub(super) fn store(&mut self, place: &PlaceRef, leaves: Vec<program::Expr>) -> Vec<Stmt> {
        let (mut out, leaves) = self.together(place, leaves);
        let leaves = leaves.into_iter().enumerate();
        out.extend(leaves.map(|(leaf, value)| Stmt::Set(place.leaf(leaf), value)));
        // Every process that had loaded the old value with `ll` fails from now on.
        if let Root::Shared(_, Some(links)) = place.root {
            for process in 0..self.types.processes {
                let link = self.link(place, links, program::Expr::Const(process as i32));
                out.push(Stmt::Set(link, program::Expr::Const(0)));
            }
        }
        out
    }

    pub(super) fn link(&self, place: &PlaceRef, links: VarId, process: program::Expr) -> Place {
        let mut indices = place.indices.clone();
        indices.push(process);
        Place::Shared(links, indices)
    }
}
