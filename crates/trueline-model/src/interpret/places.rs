//! Variables, cells and fields: resolving, reading and changing them.

use super::value::{Part, Value};
use super::walk::{Place, Root, Stop, Walk, Walked, cells, fault, shaped};
use crate::language::ast::{Expr, ExprKind};
use crate::language::types::Ty;

impl Walk<'_> {
    pub(super) fn touches(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => {
                !self.scope[self.visible..].iter().any(|(n, ..)| n == name)
                    && self.world.shared.iter().any(|(n, ..)| n == name)
            }
            ExprKind::Field(base, _) => match self.type_of_own(base) {
                Some(Ty::Record(_)) => self.touches(base),
                _ => true,
            },
            ExprKind::Call(name, args) => {
                !matches!(name.text.as_str(), "min" | "max" | "choose" | "number")
                    || args.iter().any(|a| self.touches(a))
            }
            ExprKind::New(_, fields) => {
                self.rules.reuse || fields.iter().any(|(_, e)| self.touches(e))
            }
            ExprKind::Not(a) | ExprKind::Negate(a) | ExprKind::Lin(a) => self.touches(a),
            ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => self.touches(a) || self.touches(b),
            ExprKind::Conditional(a, b, c) => self.touches(a) || self.touches(b) || self.touches(c),
            ExprKind::Record(_, fields) => fields.iter().any(|(_, e)| self.touches(e)),
            _ => false,
        }
    }

    /// The type of a variable of the process, or of a part of one.
    fn type_of_own(&self, expr: &Expr) -> Option<Ty> {
        match &expr.kind {
            ExprKind::Name(name) => {
                let mut known = self.own.iter().chain(&self.scope[self.visible..]).rev();
                known.find(|(n, ..)| n == name).map(|(_, ty, _)| ty.clone())
            }
            ExprKind::Index(base, _) => match self.type_of_own(base)? {
                Ty::Array { of, .. } => Some(*of),
                _ => None,
            },
            ExprKind::Field(base, field) => match self.type_of_own(base)? {
                Ty::Record(record) => {
                    let fields = &self.rules.types.records[record].fields;
                    fields.iter().find(|(name, _)| *name == field.text).map(|(_, ty)| ty.clone())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a declaration with this value costs a step under PAT's semantics, as calls do, and
    /// anything that could be a node.
    pub(super) fn costs(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Field(..) | ExprKind::New(..) => true,
            ExprKind::Call(name, args) => {
                !matches!(name.text.as_str(), "min" | "max") || args.iter().any(|a| self.costs(a))
            }
            ExprKind::Not(a) | ExprKind::Negate(a) | ExprKind::Lin(a) => self.costs(a),
            ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => self.costs(a) || self.costs(b),
            ExprKind::Conditional(a, b, c) => self.costs(a) || self.costs(b) || self.costs(c),
            ExprKind::Record(_, fields) => fields.iter().any(|(_, e)| self.costs(e)),
            _ => self.touches(expr),
        }
    }

    pub(super) fn place(&mut self, expr: &Expr) -> Walked<Place> {
        match &expr.kind {
            ExprKind::Name(name) => {
                let visible = &self.scope[self.visible..];
                let root = if let Some(at) = visible.iter().rposition(|(n, ..)| n == name) {
                    Root::Scope(self.visible + at)
                } else if let Some(at) = self.world.shared.iter().position(|(n, ..)| n == name) {
                    Root::Shared(at)
                } else if let Some(at) = self.own.iter().position(|(n, ..)| n == name) {
                    Root::Own(at)
                } else {
                    return fault(format!("no variable is called {name}"));
                };
                Ok(Place { root, path: Vec::new() })
            }
            ExprKind::Field(base, field) => {
                let is_place = matches!(
                    base.kind,
                    ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Index(..)
                );
                let pointer = if is_place {
                    let mut place = self.place(base)?;
                    if matches!(self.see(&place)?, Value::Record(_)) {
                        place.path.push(Part::Field(field.text.clone()));
                        return Ok(place);
                    }
                    self.read(&place)?
                } else {
                    self.value(base)?
                };
                match pointer {
                    Value::Node(node) => {
                        let path = vec![Part::Field(field.text.clone())];
                        Ok(Place { root: Root::Heap(node), path })
                    }
                    _ => fault("null has no fields"),
                }
            }
            ExprKind::Index(base, index) => {
                let mut place = self.place(base)?;
                let index = self.value(index)?;
                place.path.push(Part::Cell(index));
                Ok(place)
            }
            _ => fault("this is not a place"),
        }
    }

    /// The value of a place, without an access.
    pub(super) fn see(&self, place: &Place) -> Walked<&Value> {
        let root = match place.root {
            Root::Scope(at) => &self.scope[at].2,
            Root::Own(at) => &self.own[at].2,
            Root::Shared(at) => &self.world.shared[at].2,
            Root::Heap(node) => &self.world.heap[node].value,
        };
        root.part(&place.path).ok_or_else(|| Stop::Fault("there is no such cell".into()))
    }

    pub(super) fn read(&mut self, place: &Place) -> Walked<Value> {
        match place.root {
            Root::Scope(_) | Root::Own(_) => self.see(place).cloned(),
            Root::Shared(_) | Root::Heap(_) => self.access(|walk| {
                walk.require_live(place)?;
                let value = walk.see(place)?.clone();
                walk.note("reads", place, &value);
                Ok(value)
            }),
        }
    }

    /// An error if the place is in a freed node, unless the model allows the use of such nodes.
    pub(super) fn require_live(&self, place: &Place) -> Walked<()> {
        match place.root {
            Root::Heap(node) if self.rules.guards_freed && self.world.heap[node].freed => {
                fault("a node is used that was freed")
            }
            _ => Ok(()),
        }
    }

    /// The type of the place.
    pub(super) fn type_of(&self, place: &Place) -> Option<Ty> {
        let types = self.rules.types;
        let mut ty = match place.root {
            Root::Scope(at) => self.scope[at].1.clone(),
            Root::Own(at) => self.own[at].1.clone(),
            Root::Shared(at) => self.world.shared[at].1.clone(),
            Root::Heap(node) => Ty::Node(self.world.heap[node].ty),
        };
        for part in &place.path {
            ty = match (part, ty) {
                (Part::Field(name), Ty::Record(record)) => {
                    types.records[record].fields.iter().find(|(n, _)| n == name)?.1.clone()
                }
                (Part::Field(name), Ty::Node(node)) => {
                    types.nodes[node].fields.iter().find(|(n, _)| n == name)?.1.clone()
                }
                (Part::Cell(_), Ty::Array { of, .. } | Ty::Seq(of)) => *of,
                (Part::Cell(_), Ty::Map(_, value)) => *value,
                _ => return None,
            };
        }
        Some(ty)
    }

    pub(super) fn admit(&self, ty: &Ty, value: &Value, what: &str) -> Walked<()> {
        match value.belongs(self.rules.types, ty) {
            true => Ok(()),
            false => fault(format!("{what} cannot hold {value:?}")),
        }
    }

    /// Changes a place, without an access; clears its links.
    pub(super) fn put(&mut self, place: &Place, value: Value) -> Walked<()> {
        let ty = self.type_of(place).ok_or_else(|| Stop::Fault("there is no such cell".into()))?;
        let value = shaped(&ty, value);
        self.admit(&ty, &value, "a variable")?;
        if let Some((Part::Cell(key), above)) = place.path.split_last() {
            let above = Place { root: place.root, path: above.to_vec() };
            if let Some(Ty::Map(of, _)) = self.type_of(&above) {
                self.admit(&of, key, "the keys of a map")?;
            }
        }
        if let Root::Shared(at) = place.root {
            let name = self.world.shared[at].0.clone();
            let cells = cells(&place.path);
            self.world.links.retain(|(n, c, _)| *n != name || *c != cells);
        }
        let root = match place.root {
            Root::Scope(at) => &mut self.scope[at].2,
            Root::Own(at) => &mut self.own[at].2,
            Root::Shared(at) => &mut self.world.shared[at].2,
            Root::Heap(node) => &mut self.world.heap[node].value,
        };
        let part = root.part_mut(&place.path);
        *part.ok_or_else(|| Stop::Fault("there is no such cell".into()))? = value;
        Ok(())
    }

    pub(super) fn write(&mut self, place: &Place, value: Value) -> Walked<()> {
        match place.root {
            Root::Scope(_) | Root::Own(_) => self.put(place, value),
            Root::Shared(_) | Root::Heap(_) => {
                let written = self.access(|walk| {
                    walk.require_live(place)?;
                    walk.note("writes", place, &value);
                    walk.put(place, value).map(|()| Value::Nothing)
                });
                written.map(drop)
            }
        }
    }
}
