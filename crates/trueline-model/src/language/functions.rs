//! Conditions, and the built-in functions that make shared accesses.

use super::ast::{BinaryOp, Expr, ExprKind, Name};
use super::body::{Body, PlaceRef, Root, Value, binary, equal, local_place, read};
use super::diagnostic::{Diagnostic, Span, did_you_mean};
use super::flow::{Node, NodeIx};
use super::order::finds_by;
use super::parser::Parsed;
use super::types::Ty;
use super::typing::arithmetic;
use crate::program::{self, Binary, Place, Stmt, VarId};

impl Body<'_> {
    // ---- conditions

    /// Branches to one of two nodes. Both sides of `&&` and `||` are steps of their own if they
    /// access memory.
    pub(super) fn condition(&mut self, expr: &Expr, yes: NodeIx, no: NodeIx) -> Parsed<()> {
        match &expr.kind {
            ExprKind::Not(of) => self.condition(of, no, yes),
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right)
                if self.touches(left) || self.touches(right) =>
            {
                let second = self.flow.open();
                match op {
                    BinaryOp::And => self.condition(left, second, no)?,
                    _ => self.condition(left, yes, second)?,
                }
                self.at = second;
                self.condition(right, yes, no)
            }
            ExprKind::Lin(of) => self.attempt(of, yes, no, true),
            ExprKind::Call(name, _) if name.text == "cas" || name.text == "sc" => {
                self.attempt(expr, yes, no, false)
            }
            _ => {
                let value = self.truth(expr)?;
                self.branch(value.leaves[0].clone(), value.shared, yes, no);
                Ok(())
            }
        }
    }

    /// `cas` and `sc` as a condition: they write on the way to `yes`.
    fn attempt(&mut self, expr: &Expr, yes: NodeIx, no: NodeIx, lin: bool) -> Parsed<()> {
        let ExprKind::Call(name, args) = &expr.kind else {
            return Err(Diagnostic::new(expr.span, "only `cas` and `sc` can carry `@lin`"));
        };
        let expected = if name.text == "cas" { 3 } else { 2 };
        arity(name, args, expected)?;
        let place = self.memory(&args[0], name)?;
        let test = if name.text == "cas" {
            let old = self.argument(&args[1])?;
            let ty = self.equality(&place.ty, &old.ty, args[1].span)?;
            let old = self.widen(old, &ty);
            equal(self.load(&place).leaves, old)
        } else {
            read(self.linked(&place, args[0].span)?)
        };
        let new = self.argument(&args[expected - 1])?;
        let new = self.coerce(new, &place.ty, args[expected - 1].span)?;
        let mut body = self.store(&place, new);
        if lin {
            body.extend(self.lin(None));
        }
        let success = self.flow.open();
        self.branch(test, true, success, no);
        self.flow.fill(success, Node::Do { body, cut: false, waits: false, next: yes }, self.span);
        Ok(())
    }

    /// Computes a condition with several accesses into a temporary.
    pub(super) fn truth_into(&mut self, expr: &Expr, temporary: VarId) -> Parsed<Value> {
        let (yes, no, end) = (self.flow.open(), self.flow.open(), self.flow.open());
        self.condition(expr, yes, no)?;
        for (node, truth) in [(yes, 1), (no, 0)] {
            let place = Place::Local(temporary, vec![]);
            let body = vec![Stmt::Set(place, program::Expr::Const(truth))];
            self.flow.fill(node, Node::Do { body, cut: false, waits: false, next: end }, self.span);
        }
        self.at = end;
        let leaves = vec![read(Place::Local(temporary, vec![]))];
        Ok(Value { ty: Ty::Bool, leaves, shared: false })
    }

    /// One of two values; the other one is not read.
    pub(super) fn choice_by(
        &mut self,
        condition: &Expr,
        yes: &Expr,
        no: &Expr,
        span: Span,
    ) -> Parsed<Value> {
        let (first, second, end) = (self.flow.open(), self.flow.open(), self.flow.open());
        self.condition(condition, first, second)?;
        self.at = first;
        let a = self.value(yes)?;
        let first = std::mem::replace(&mut self.at, second);
        let b = self.value(no)?;
        let second = self.at;
        let ty = self.common(&a.ty, &b.ty, span)?;
        let result = self.destination(&ty, None);
        for (at, value, of) in [(first, a, yes), (second, b, no)] {
            self.at = at;
            let shared = value.shared;
            let leaves = self.coerce(value, &ty, of.span)?;
            let body = self.store(&result, leaves);
            self.emit(body, shared);
            self.jump(end);
        }
        self.at = end;
        Ok(self.load(&result))
    }

    // ---- built-in functions

    /// An argument of an atomic instruction, read before it.
    pub(super) fn argument(&mut self, expr: &Expr) -> Parsed<Value> {
        let value = self.value(expr)?;
        Ok(if value.shared && self.keeps() { self.hoist(value) } else { value })
    }

    /// The place that an atomic instruction works on.
    fn memory(&mut self, expr: &Expr, name: &Name) -> Parsed<PlaceRef> {
        let place = self.place(expr)?;
        self.readable(&place, expr.span)?;
        if !place.is_shared() {
            let message = format!("`{}` works on shared memory, but this is local", name.text);
            return Err(Diagnostic::new(expr.span, message));
        }
        self.require_steady(&place, expr.span)?;
        Ok(place)
    }

    fn linked(&self, place: &PlaceRef, span: Span) -> Parsed<Place> {
        match place.root {
            Root::Shared(_, Some(links)) => Ok(self.link(place, links, program::Expr::Me)),
            _ => Err(Diagnostic::new(
                span,
                "`ll`, `sc` and `vl` work on shared variables, not on nodes",
            )
            .help("use `cas` on the fields of nodes")),
        }
    }

    /// Where to store the old value of a place before it is overwritten.
    fn old_value(&mut self, of: &PlaceRef, into: Option<&PlaceRef>) -> PlaceRef {
        let count = self.types.leaves(&of.ty).len();
        self.destination(&of.ty, into.filter(|into| !finds_by(of, into, count)))
    }

    /// Where a scalar result goes.
    pub(super) fn destination(&mut self, ty: &Ty, into: Option<&PlaceRef>) -> PlaceRef {
        if let Some(place) = into
            && place.ty == *ty
            && !place.is_shared()
        {
            return place.clone();
        }
        let leaves = self.types.leaves(ty);
        if let [leaf] = leaves.as_slice() {
            let scalar = self.types.scalar(&leaf.ty);
            return local_place(self.temporary(&scalar), ty.clone());
        }
        let name = format!("_{}", self.locals.len());
        let first = self.declare(&name, ty);
        local_place(first, ty.clone())
    }

    pub(super) fn call(
        &mut self,
        name: &Name,
        args: &[Expr],
        expr: &Expr,
        into: Option<&PlaceRef>,
    ) -> Parsed<Value> {
        match name.text.as_str() {
            "min" | "max" => {
                arity(name, args, 2)?;
                let a = self.value(&args[0])?;
                let a = self.hoist_before(a, &args[1]);
                let b = self.value(&args[1])?;
                let (Ty::Int { lo: p, hi: q }, Ty::Int { lo: r, hi: s }) = (&a.ty, &b.ty) else {
                    let message = format!("`{}` takes two numbers", name.text);
                    return Err(Diagnostic::new(expr.span, message));
                };
                let (op, ty) = match name.text.as_str() {
                    "min" => (Binary::Min, Ty::Int { lo: *p.min(r), hi: *q.min(s) }),
                    _ => (Binary::Max, Ty::Int { lo: *p.max(r), hi: *q.max(s) }),
                };
                let leaf = binary(op, a.leaves[0].clone(), b.leaves[0].clone());
                Ok(Value { ty, leaves: vec![leaf], shared: a.shared || b.shared })
            }
            "cas" | "sc" => {
                let temporary = self.temporary(&program::Type::bool());
                self.truth_into(expr, temporary)
            }
            "swap" | "fetch_add" => {
                arity(name, args, 2)?;
                let place = self.memory(&args[0], name)?;
                let operand = self.argument(&args[1])?;
                // The operand is read after the old value is stored, so it must not be the same
                // variable.
                let plain = operand.leaves.iter().all(|l| matches!(l, program::Expr::Const(_)));
                let result = self.old_value(&place, into.filter(|_| plain));
                let old = self.load(&place).leaves;
                let new = if name.text == "swap" {
                    self.coerce(operand, &place.ty, args[1].span)?
                } else {
                    let left = (&place.ty, args[0].span);
                    let right = (&operand.ty, args[1].span);
                    arithmetic(self.types, BinaryOp::Add, left, right, expr.span)?;
                    vec![binary(Binary::Add, old[0].clone(), operand.leaves[0].clone())]
                };
                let mut body = self.store(&result, old);
                body.extend(self.store(&place, new));
                self.emit(body, true);
                Ok(self.load(&result))
            }
            "ll" => {
                arity(name, args, 1)?;
                let place = self.memory(&args[0], name)?;
                let link = self.linked(&place, args[0].span)?;
                let result = self.old_value(&place, into);
                let old = self.load(&place).leaves;
                let mut body = self.store(&result, old);
                body.push(Stmt::Set(link, program::Expr::Const(1)));
                self.emit(body, true);
                Ok(self.load(&result))
            }
            "vl" => {
                arity(name, args, 1)?;
                let place = self.memory(&args[0], name)?;
                let link = self.linked(&place, args[0].span)?;
                Ok(Value { ty: Ty::Bool, leaves: vec![read(link)], shared: true })
            }
            "choose" => {
                arity(name, args, 2)?;
                let low = self.argument(&args[0])?;
                let low = self.hoist_before(low, &args[1]);
                let high = self.argument(&args[1])?;
                let (Ty::Int { lo, .. }, Ty::Int { hi, .. }) = (&low.ty, &high.ty) else {
                    return Err(Diagnostic::new(expr.span, "`choose` takes two numbers"));
                };
                let (lo, hi) = (*lo, *hi);
                if lo > hi || i64::from(hi) - i64::from(lo) > 4096 {
                    let message = format!("there is no choice from {lo} to {hi}");
                    return Err(Diagnostic::new(expr.span, message));
                }
                let ty = Ty::Int { lo, hi };
                // The bounds are not read again once the place is written.
                let result = self.destination(&ty, None);
                let (low, high) = (low.leaves[0].clone(), high.leaves[0].clone());
                self.emit(vec![Stmt::Pick(result.leaf(0), low, high)], false);
                Ok(self.load(&result))
            }
            "number" => {
                arity(name, args, 1)?;
                if !self.mode.asymmetric {
                    let message = "numbers of processes would tell symmetric processes apart";
                    return Err(Diagnostic::new(expr.span, message)
                        .help("say `procs n asymmetric` in the client"));
                }
                let value = self.value(&args[0])?;
                let leaves = self.coerce(value.clone(), &Ty::Pid, args[0].span)?;
                let ty = Ty::Int { lo: -1, hi: self.types.processes as i32 - 1 };
                Ok(Value { ty, leaves, shared: value.shared })
            }
            _ => {
                let procedures = &self.globals.procedures;
                if let Some(at) = procedures.iter().position(|p| p.op.name.text == name.text) {
                    return self.inline(at, args, expr.span);
                }
                let procedures = procedures.iter().map(|p| p.op.name.text.as_str());
                let known = FUNCTIONS;
                let help = did_you_mean(&name.text, known.into_iter().chain(procedures))
                    .unwrap_or_else(|| format!("the functions are `{}`", known.join("`, `")));
                let message = format!("no function is called `{}`", name.text);
                Err(Diagnostic::new(name.span, message).help(help))
            }
        }
    }

    pub(super) fn allocate(
        &mut self,
        name: &Name,
        fields: &[(Name, Expr)],
        into: Option<&PlaceRef>,
    ) -> Parsed<Value> {
        let Some(node) = self.types.nodes.iter().position(|n| n.name == name.text) else {
            let known = self.types.nodes.iter().map(|n| n.name.as_str());
            let help = did_you_mean(&name.text, known);
            let message = format!("no node is called `{}`", name.text);
            return Err(Diagnostic::new(name.span, message).maybe_help(help));
        };
        let of = self.types.nodes[node].fields.clone();
        let (mut leaves, mut shared) = self.fields(&name.text, &of, fields)?;
        if shared && self.mode.reuse && self.fine() {
            // Allocating is an access too: the values that it stores are read before it.
            for ((_, ty), leaves) in of.iter().zip(&mut leaves) {
                if let Some(read) = leaves.take() {
                    let value = Value { ty: ty.clone(), leaves: read, shared };
                    *leaves = Some(self.hoist(value).leaves);
                }
            }
            shared = false;
        }
        let mut given = Vec::new();
        let cells = self.types.node_cells(node);
        let mut at = 0;
        for ((_, ty), leaves) in of.iter().zip(leaves) {
            for (i, leaf) in leaves.into_iter().flatten().enumerate() {
                given.push((cells[at + i].0, leaf));
            }
            at += self.types.leaves(ty).len();
        }
        let result = self.destination(&Ty::Node(node), into);
        let body = vec![Stmt::New(result.leaf(0), node, given)];
        self.emit(body, self.mode.reuse || shared);
        Ok(self.load(&result))
    }

    /// The values of the fields that are given, each in its place.
    #[allow(clippy::type_complexity)]
    pub(super) fn fields(
        &mut self,
        name: &str,
        of: &[(String, Ty)],
        fields: &[(Name, Expr)],
    ) -> Parsed<(Vec<Option<Vec<program::Expr>>>, bool)> {
        let mut leaves = vec![None; of.len()];
        let mut shared = false;
        for (i, (field, expr)) in fields.iter().enumerate() {
            self.field(of, name, field)?;
            let at = of.iter().position(|(n, _)| *n == field.text).unwrap_or(0);
            let mut value = self.value(expr)?;
            if value.shared && self.keeps() && fields[i + 1..].iter().any(|(_, e)| self.touches(e))
            {
                value = self.hoist(value);
            }
            shared |= value.shared;
            leaves[at] = Some(self.coerce(value, &of[at].1, expr.span)?);
        }
        Ok((leaves, shared))
    }

    /// The mark of a linearization point; nothing if points are off.
    pub(super) fn lin(&mut self, values: Option<Vec<program::Expr>>) -> Option<Stmt> {
        let values = match self.result {
            Ty::Unit => Some(Vec::new()),
            _ => values,
        };
        self.unlabelled |= values.is_none();
        self.mode.points.then_some(Stmt::Lin(values))
    }
}

pub(super) const FUNCTIONS: [&str; 10] =
    ["cas", "swap", "fetch_add", "ll", "sc", "vl", "choose", "min", "max", "number"];

fn arity(name: &Name, args: &[Expr], wanted: usize) -> Parsed<()> {
    if args.len() == wanted {
        return Ok(());
    }
    let usage = match name.text.as_str() {
        "cas" => "cas(place, old, new)",
        "sc" => "sc(place, new)",
        "swap" => "swap(place, new)",
        "fetch_add" => "fetch_add(place, amount)",
        "ll" => "ll(place)",
        "vl" => "vl(place)",
        "choose" => "choose(least, greatest)",
        "number" => "number(me)",
        _ => "min(a, b)",
    };
    let message = format!("`{}` takes {wanted} arguments, but here are {}", name.text, args.len());
    Err(Diagnostic::new(name.span, message).help(format!("write `{usage}`")))
}
