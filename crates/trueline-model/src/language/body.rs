//! Expressions and places of an operation: names resolved, types checked, one shared access at a
//! time.
//!
//! A [`Value`] records whether computing it reads shared memory. Before a second access is added to
//! the same expression, the first is hoisted into a temporary, which is a step of its own. Inside
//! `atomic` and under PAT's semantics, only values that a later part of the expression changes are
//! hoisted.

use super::ast::{BinaryOp, Expr, ExprKind, Name};
use super::diagnostic::{Diagnostic, Span, did_you_mean};
use super::flow::{Flow, Node, NodeIx};
use super::parser::Parsed;
use super::parts::{children, has_effect};
use super::procedures::{Active, Instance, Procedure};
use super::types::{Ty, Types};
use super::typing::{arithmetic, common, equality, mismatch};
use crate::program::{self, Binary, Place, Stmt, Unary, VarId, Variable};

/// A variable of the object: where its layout begins.
#[derive(Clone, Debug)]
pub(super) struct Global {
    pub(super) name: String,
    pub(super) ty: Ty,
    pub(super) first: VarId,
    /// For a shared variable that is used with `ll`: the array of link flags of its first part.
    pub(super) links: Option<VarId>,
}

/// What all operations can access.
#[derive(Clone, Debug, Default)]
pub(super) struct Globals {
    pub(super) shared: Vec<Global>,
    pub(super) own: Vec<Global>,
    /// Own variables that no operation reads before writing are plain locals in the default
    /// semantics.
    pub(super) demoted: Vec<bool>,
    pub(super) own_layout: Vec<Variable>,
    pub(super) procedures: Vec<Procedure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) pat: bool,
    pub(super) points: bool,
    /// A freed node is handed out again, so that allocating depends on others.
    pub(super) reuse: bool,
    pub(super) asymmetric: bool,
}

/// The result of an expression.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) ty: Ty,
    pub(super) leaves: Vec<program::Expr>,
    /// Whether computing it reads shared memory.
    pub(super) shared: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Root {
    Local(VarId),
    Own(VarId),
    Shared(VarId, Option<VarId>),
    Heap(usize, program::Expr),
}

/// Something that can be read and assigned.
#[derive(Clone, Debug)]
pub(super) struct PlaceRef {
    pub(super) ty: Ty,
    pub(super) root: Root,
    pub(super) indices: Vec<program::Expr>,
    /// How many scalars of the variable's layout come before this part.
    pub(super) offset: usize,
    /// Whether finding it reads shared memory.
    pub(super) shared_address: bool,
    /// Of a node: where the cells of each leaf begin, and the dimensions.
    pub(super) cells: Vec<(usize, Vec<usize>)>,
}

impl PlaceRef {
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.root, Root::Shared(..) | Root::Heap(..))
    }

    pub(super) fn leaf(&self, leaf: usize) -> Place {
        let at = self.offset + leaf;
        match &self.root {
            Root::Local(first) => Place::Local(first + at, self.indices.clone()),
            Root::Own(first) => Place::Own(first + at, self.indices.clone()),
            Root::Shared(first, _) => Place::Shared(first + at, self.indices.clone()),
            Root::Heap(node, pointer) => {
                let ((first, dims), pointer) = (&self.cells[at], Box::new(pointer.clone()));
                if dims.is_empty() {
                    return Place::Field(*node, pointer, *first);
                }
                let indices = self.indices.iter().cloned().zip(dims.iter().copied());
                Place::FieldCell(*node, pointer, *first, indices.collect())
            }
        }
    }
}

/// Makes the graph of one operation.
pub(super) struct Body<'a> {
    pub(super) types: &'a Types,
    pub(super) globals: &'a Globals,
    pub(super) mode: Mode,
    pub(super) flow: Flow,
    /// The node to be filled next.
    pub(super) at: NodeIx,
    pub(super) span: Span,
    /// Inside how many `atomic` blocks.
    pub(super) atomic: u32,
    /// The next node cuts, in PAT's semantics and in atomic blocks.
    pub(super) fresh: bool,
    /// Only declarations and guards that decide when the operation may be called came before.
    pub(super) begins: bool,
    /// A part of the statement changes what an earlier part reads.
    pub(super) entangled: bool,
    pub(super) locals: Vec<Variable>,
    /// Names that are visible, the latest last.
    pub(super) scope: Vec<(String, Ty, VarId)>,
    temporaries: Vec<(program::Type, VarId)>,
    pub(super) temporaries_used: usize,
    /// So many temporaries are in use by the statements that call the procedures we are in.
    pub(super) temporaries_kept: usize,
    /// The procedures that we are in, and what they have declared in this operation.
    pub(super) active: Vec<Active>,
    pub(super) instances: Vec<Instance>,
    /// Calls of procedures that stand alone in the statement.
    pub(super) calls: Vec<Span>,
    /// Where `break` and `continue` go; `None` stands for a loop inside an atomic block, which has
    /// neither.
    pub(super) loops: Vec<Option<(NodeIx, NodeIx)>>,
    pub(super) result: Ty,
    /// A mark does not know the result: calls and returns must stay visible.
    pub(super) unlabelled: bool,
    /// Own variables that are locals here, and their offsets.
    pub(super) demoted: Vec<(usize, VarId)>,
    /// Inside a loop that runs within one step.
    pub(super) no_return: bool,
    /// Calls and returns are invisible: returning costs no step.
    pub(super) labelled: bool,
    /// There is no process in the statements that make the initial state.
    pub(super) setup: bool,
}

pub(super) fn read(place: Place) -> program::Expr {
    program::Expr::Read(Box::new(place))
}

pub(super) fn binary(op: Binary, a: program::Expr, b: program::Expr) -> program::Expr {
    program::Expr::Binary(op, Box::new(a), Box::new(b))
}

impl<'a> Body<'a> {
    pub(super) fn new(types: &'a Types, globals: &'a Globals, mode: Mode, result: Ty) -> Body<'a> {
        let mut flow = Flow::default();
        let at = flow.open();
        Body {
            types,
            globals,
            mode,
            flow,
            at,
            span: Span::default(),
            atomic: 0,
            fresh: false,
            begins: true,
            entangled: false,
            locals: Vec::new(),
            scope: Vec::new(),
            temporaries: Vec::new(),
            temporaries_used: 0,
            temporaries_kept: 0,
            active: Vec::new(),
            instances: vec![Instance::new(); globals.procedures.len()],
            calls: Vec::new(),
            loops: Vec::new(),
            result,
            unlabelled: false,
            demoted: Vec::new(),
            no_return: false,
            labelled: false,
            setup: false,
        }
    }

    // ---- the graph

    /// One shared access a step applies here.
    pub(super) fn fine(&self) -> bool {
        !self.mode.pat && self.atomic == 0
    }

    fn cut(&mut self, access: bool) -> bool {
        if self.fine() { access } else { std::mem::take(&mut self.fresh) }
    }

    pub(super) fn emit(&mut self, body: Vec<Stmt>, access: bool) {
        let cut = self.cut(access);
        let next = self.flow.open();
        self.flow.fill(self.at, Node::Do { body, cut, waits: false, next }, self.span);
        self.at = next;
    }

    /// Waits for a condition. Inside `atomic` it is the block that waits.
    pub(super) fn guard(&mut self, condition: program::Expr, access: bool) {
        let waits = self.atomic == 0;
        let cut = self.cut(access);
        let next = self.flow.open();
        let body = vec![Stmt::Await(condition)];
        self.flow.fill(self.at, Node::Do { body, cut, waits, next }, self.span);
        self.at = next;
    }

    pub(super) fn jump(&mut self, to: NodeIx) {
        self.flow.fill(self.at, Node::Jump(to), self.span);
    }

    pub(super) fn choose(&mut self, branches: Vec<NodeIx>) {
        let cut = self.cut(false);
        self.flow.fill(self.at, Node::Choose { branches, cut }, self.span);
    }

    pub(super) fn finish(&mut self, values: Vec<program::Expr>, access: bool) {
        let cut = self.cut(access);
        self.flow.fill(self.at, Node::Return { values, cut }, self.span);
    }

    /// A branch on local values.
    pub(super) fn test(&mut self, condition: program::Expr, yes: NodeIx, no: NodeIx) {
        self.branch(condition, false, yes, no);
    }

    pub(super) fn branch(
        &mut self,
        condition: program::Expr,
        access: bool,
        yes: NodeIx,
        no: NodeIx,
    ) {
        let cut = self.cut(access);
        self.flow.fill(self.at, Node::Branch { condition, cut, yes, no }, self.span);
    }

    // ---- variables

    /// Makes the variables of a layout; the id of the first.
    pub(super) fn declare(&mut self, name: &str, ty: &Ty) -> VarId {
        let first = self.locals.len();
        for leaf in self.types.leaves(ty) {
            self.locals.push(Variable {
                name: format!("{name}{}", leaf.path),
                ty: self.types.scalar(&leaf.ty),
                dims: leaf.dims,
                initial: vec![self.types.first(&leaf.ty)],
            });
        }
        first
    }

    pub(super) fn bind(&mut self, name: &Name, ty: Ty) -> Parsed<PlaceRef> {
        let taken = self.scope.iter().any(|(other, ..)| *other == name.text)
            || self.globals.shared.iter().chain(&self.globals.own).any(|g| g.name == name.text)
            || self.types.constants.iter().any(|(constant, _)| *constant == name.text);
        if taken {
            let message = format!("`{}` is declared already", name.text);
            return Err(Diagnostic::new(name.span, message).help("choose another name"));
        }
        let first = self.first_of(&name.text, &ty);
        self.scope.push((name.text.clone(), ty.clone(), first));
        Ok(local_place(first, ty))
    }

    pub(super) fn temporary(&mut self, ty: &program::Type) -> VarId {
        let free = self.temporaries.iter().enumerate().skip(self.temporaries_used);
        if let Some(found) = free.filter(|(_, (t, _))| t == ty).map(|(i, _)| i).next() {
            self.temporaries.swap(found, self.temporaries_used);
        } else {
            let name = format!("_{}", self.temporaries.len());
            self.locals.push(Variable {
                name,
                ty: ty.clone(),
                dims: Vec::new(),
                initial: vec![ty.none.unwrap_or(0.clamp(ty.lo, ty.hi))],
            });
            let made = (ty.clone(), self.locals.len() - 1);
            self.temporaries.insert(self.temporaries_used, made);
        }
        self.temporaries_used += 1;
        self.temporaries[self.temporaries_used - 1].1
    }

    /// Computes the value now, into temporaries.
    pub(super) fn hoist(&mut self, value: Value) -> Value {
        let scalars: Vec<Ty> = self.types.leaves(&value.ty).into_iter().map(|l| l.ty).collect();
        let mut body = Vec::new();
        let mut leaves = Vec::new();
        for (leaf, ty) in value.leaves.into_iter().zip(&scalars) {
            let scalar = self.types.scalar(ty);
            let variable = self.temporary(&scalar);
            body.push(Stmt::Set(Place::Local(variable, vec![]), leaf));
            leaves.push(read(Place::Local(variable, vec![])));
        }
        self.emit(body, value.shared);
        Value { ty: value.ty, leaves, shared: false }
    }

    /// Hoists the value if the next expression must not be evaluated before it, or is another
    /// access.
    pub(super) fn hoist_before(&mut self, value: Value, next: &Expr) -> Value {
        let needed =
            value.shared && if self.fine() { self.touches(next) } else { has_effect(next) };
        if needed { self.hoist(value) } else { value }
    }

    /// Whether computing the expression may access shared memory. May err on the side of true.
    pub(super) fn touches(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => {
                !self.scope.iter().any(|(n, ..)| n == name)
                    && self.globals.shared.iter().any(|g| g.name == *name)
            }
            ExprKind::Field(..) | ExprKind::New(..) => true,
            ExprKind::Call(name, args) => {
                !matches!(name.text.as_str(), "min" | "max") || args.iter().any(|a| self.touches(a))
            }
            _ => children(expr).into_iter().any(|child| self.touches(child)),
        }
    }

    // ---- values

    /// The value converted to the expected type; an error if that is impossible.
    pub(super) fn coerce(
        &self,
        value: Value,
        target: &Ty,
        span: Span,
    ) -> Parsed<Vec<program::Expr>> {
        if !self.types.fits(&value.ty, target) {
            return Err(self.mismatch(&value.ty, target, span));
        }
        if value.ty == Ty::Nothing {
            let nothing = self.types.nothing(target).unwrap_or(0);
            return Ok(vec![program::Expr::Const(nothing)]);
        }
        if let Some(none) = self.types.taken_for_none(&value.ty, target) {
            let number = |leaf| program::Expr::Unary(Unary::Number(none), Box::new(leaf));
            return Ok(value.leaves.into_iter().map(number).collect());
        }
        Ok(value.leaves)
    }

    pub(super) fn mismatch(&self, found: &Ty, target: &Ty, span: Span) -> Diagnostic {
        mismatch(self.types, found, target, span)
    }

    pub(super) fn value(&mut self, expr: &Expr) -> Parsed<Value> {
        self.value_into(expr, None)
    }

    /// Computes a value; if the result needs a place (of `swap`, say), it is stored in `into` if
    /// given.
    pub(super) fn value_into(&mut self, expr: &Expr, into: Option<&PlaceRef>) -> Parsed<Value> {
        let constant = |ty: Ty, value: i32| {
            Ok(Value { ty, leaves: vec![program::Expr::Const(value)], shared: false })
        };
        match &expr.kind {
            ExprKind::Int(number) => {
                let number = *number as i32;
                constant(Ty::Int { lo: number, hi: number }, number)
            }
            ExprKind::Bool(truth) => constant(Ty::Bool, i32::from(*truth)),
            ExprKind::Null | ExprKind::None => {
                Ok(Value { ty: Ty::Nothing, leaves: Vec::new(), shared: false })
            }
            ExprKind::Me if self.setup => {
                Err(Diagnostic::new(expr.span, "there is no process yet"))
            }
            ExprKind::Me => {
                Ok(Value { ty: Ty::Pid, leaves: vec![program::Expr::Me], shared: false })
            }
            ExprKind::Name(name) => {
                if let Some((ty, value)) = self.constant(name) {
                    return constant(ty, value);
                }
                let place = self.place(expr)?;
                self.readable(&place, expr.span)?;
                Ok(self.load(&place))
            }
            ExprKind::Field(..) | ExprKind::Index(..) => {
                let place = self.place(expr)?;
                self.readable(&place, expr.span)?;
                Ok(self.load(&place))
            }
            ExprKind::Not(of) => {
                let value = self.truth(of)?;
                let leaf = program::Expr::Unary(Unary::Not, Box::new(value.leaves[0].clone()));
                Ok(Value { leaves: vec![leaf], ..value })
            }
            ExprKind::Negate(of) => {
                let value = self.value(of)?;
                let Ty::Int { lo, hi } = value.ty else {
                    return Err(self.mismatch(&value.ty, &Ty::Int { lo: -1, hi: 1 }, of.span));
                };
                let leaf = program::Expr::Unary(Unary::Minus, Box::new(value.leaves[0].clone()));
                let ty = Ty::Int { lo: hi.saturating_neg(), hi: lo.saturating_neg() };
                Ok(Value { ty, leaves: vec![leaf], shared: value.shared })
            }
            ExprKind::Binary(op, left, right) => self.operation(*op, left, right, expr),
            ExprKind::Conditional(condition, yes, no) => {
                if let Some(changes) = [yes, no].into_iter().find(|branch| has_effect(branch)) {
                    let message = "what stands behind `?` changes nothing";
                    return Err(Diagnostic::new(changes.span, message).help("use `if`"));
                }
                if self.fine() && (self.touches(yes) || self.touches(no)) {
                    return self.choice_by(condition, yes, no, expr.span);
                }
                let c = self.truth(condition)?;
                let (a, b) = (self.value(yes)?, self.value(no)?);
                let ty = self.common(&a.ty, &b.ty, expr.span)?;
                let shared = c.shared || a.shared || b.shared;
                let a = self.coerce(a, &ty, yes.span)?;
                let b = self.coerce(b, &ty, no.span)?;
                let choose = |(a, b)| {
                    program::Expr::If(Box::new(c.leaves[0].clone()), Box::new(a), Box::new(b))
                };
                Ok(Value { ty, leaves: a.into_iter().zip(b).map(choose).collect(), shared })
            }
            ExprKind::Call(name, args) => self.call(name, args, expr, into),
            ExprKind::New(name, fields) => self.allocate(name, fields, into),
            ExprKind::Record(name, fields) => {
                let Some(record) = self.types.records.iter().position(|r| r.name == name.text)
                else {
                    let known = self.types.records.iter().map(|r| r.name.as_str());
                    let mut help = did_you_mean(&name.text, known);
                    if self.types.nodes.iter().any(|n| n.name == name.text) {
                        help = Some(format!("a node is made with `new {}{{...}}`", name.text));
                    }
                    let message = format!("no record is called `{}`", name.text);
                    return Err(Diagnostic::new(name.span, message).maybe_help(help));
                };
                let of = self.types.records[record].fields.clone();
                let (leaves, shared) = self.fields(&name.text, &of, fields)?;
                let mut all = Vec::new();
                for ((_, ty), leaf) in of.iter().zip(leaves) {
                    let count = self.types.leaves(ty).len();
                    let first = || vec![program::Expr::Const(self.types.first(ty)); count];
                    all.extend(leaf.unwrap_or_else(first));
                }
                Ok(Value { ty: Ty::Record(record), leaves: all, shared })
            }
            ExprKind::Lin(_) => {
                let temporary = self.temporary(&program::Type::bool());
                self.truth_into(expr, temporary)
            }
            ExprKind::Method(base, name, _) => {
                let message = format!("`{}` can only be used in specifications", name.text);
                Err(Diagnostic::new(base.span.to(name.span), message))
            }
            ExprKind::List(_) | ExprKind::Repeat(..) => {
                Err(Diagnostic::new(expr.span, "a list stands only where a variable is declared"))
            }
        }
    }

    pub(super) fn readable(&self, place: &PlaceRef, span: Span) -> Parsed<()> {
        if self.types.leaves(&place.ty).iter().any(|leaf| !leaf.dims.is_empty()) {
            let message = "an array cannot be read or written as a whole";
            return Err(Diagnostic::new(span, message).help("index it: `a[i]`"));
        }
        Ok(())
    }

    fn constant(&self, name: &str) -> Option<(Ty, i32)> {
        if self.scope.iter().any(|(n, ..)| n == name) {
            return None;
        }
        if let Some((_, value)) = self.types.constants.iter().find(|(c, _)| c == name) {
            return Some((Ty::Int { lo: *value, hi: *value }, *value));
        }
        for (enumeration, (_, cases)) in self.types.enums.iter().enumerate() {
            if let Some(case) = cases.iter().position(|case| case == name) {
                return Some((Ty::Enum(enumeration), case as i32));
            }
        }
        None
    }

    /// A truth value.
    pub(super) fn truth(&mut self, expr: &Expr) -> Parsed<Value> {
        let value = self.value(expr)?;
        if value.ty != Ty::Bool {
            return Err(self.mismatch(&value.ty, &Ty::Bool, expr.span));
        }
        Ok(value)
    }

    pub(super) fn common(&self, a: &Ty, b: &Ty, span: Span) -> Parsed<Ty> {
        common(self.types, a, b, span)
    }

    fn operation(&mut self, op: BinaryOp, left: &Expr, right: &Expr, expr: &Expr) -> Parsed<Value> {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            // The second side is read only if needed.
            if self.fine() && self.touches(right) || has_effect(right) {
                let temporary = self.temporary(&program::Type::bool());
                return self.truth_into(expr, temporary);
            }
            let (a, b) = (self.truth(left)?, self.truth(right)?);
            let op = if op == BinaryOp::And { Binary::And } else { Binary::Or };
            let leaf = binary(op, a.leaves[0].clone(), b.leaves[0].clone());
            return Ok(Value { ty: Ty::Bool, leaves: vec![leaf], shared: a.shared || b.shared });
        }
        let a = self.value(left)?;
        let a = self.hoist_before(a, right);
        let b = self.value(right)?;
        let shared = a.shared || b.shared;
        if matches!(op, BinaryOp::Equal | BinaryOp::Different) {
            let ty = self.equality(&a.ty, &b.ty, expr.span)?;
            let a = self.widen(a, &ty);
            let b = self.widen(b, &ty);
            let leaf = equal(a, b);
            let leaf = match op {
                BinaryOp::Equal => leaf,
                _ => match leaf {
                    program::Expr::Binary(Binary::Eq, a, b) => {
                        program::Expr::Binary(Binary::Ne, a, b)
                    }
                    other => program::Expr::Unary(Unary::Not, Box::new(other)),
                },
            };
            return Ok(Value { ty: Ty::Bool, leaves: vec![leaf], shared });
        }
        let ty = arithmetic(self.types, op, (&a.ty, left.span), (&b.ty, right.span), expr.span)?;
        let op = match op {
            BinaryOp::Add => Binary::Add,
            BinaryOp::Sub => Binary::Sub,
            BinaryOp::Mul => Binary::Mul,
            BinaryOp::Div => Binary::Div,
            BinaryOp::Rem => Binary::Rem,
            BinaryOp::Less => Binary::Lt,
            BinaryOp::LessEqual => Binary::Le,
            BinaryOp::Greater => Binary::Gt,
            _ => Binary::Ge,
        };
        let leaf = binary(op, a.leaves[0].clone(), b.leaves[0].clone());
        Ok(Value { ty, leaves: vec![leaf], shared })
    }

    pub(super) fn equality(&self, a: &Ty, b: &Ty, span: Span) -> Parsed<Ty> {
        equality(self.types, a, b, span)
    }

    /// `none` becomes its number.
    pub(super) fn widen(&self, value: Value, ty: &Ty) -> Vec<program::Expr> {
        match value.ty {
            Ty::Nothing => vec![program::Expr::Const(self.types.nothing(ty).unwrap_or(0))],
            _ => value.leaves,
        }
    }
}

pub(super) fn local_place(first: VarId, ty: Ty) -> PlaceRef {
    let (root, indices, cells) = (Root::Local(first), Vec::new(), Vec::new());
    PlaceRef { ty, root, indices, offset: 0, shared_address: false, cells }
}

/// A place of the scope's kind, for declarations outside of operations.
pub(super) fn shared_place(global: &Global) -> PlaceRef {
    let root = Root::Shared(global.first, global.links);
    PlaceRef { root, ..local_place(0, global.ty.clone()) }
}

pub(super) fn equal(a: Vec<program::Expr>, b: Vec<program::Expr>) -> program::Expr {
    let pairs = a.into_iter().zip(b).map(|(a, b)| binary(Binary::Eq, a, b));
    pairs.reduce(|a, b| binary(Binary::And, a, b)).unwrap_or(program::Expr::Const(1))
}
