//! Written specifications: `spec { state q: seq<Value> = [] ... }` checked and compiled to a small tree.
//!
//! The tree is run by [`Written`], which implements [`SpecMachine`]. The checker remembers every step that it
//! asked for, so that this need not be fast. Nondeterminism (`either`, `choose`) is explored by running the operation once for
//! each sequence of choices. An operation that awaits in vain, leaves a domain or removes from an empty container
//! has no outcome: it blocks.

use std::collections::{BTreeMap, BTreeSet};

use super::ast::{BinaryOp, Block, Expr, ExprKind, Name, SpecOp, Stmt, StmtKind, VarDecl};
use super::body::{arithmetic, common, equality, mismatch};
use super::diagnostic::{Diagnostic, Span, did_you_mean};
use super::parser::Parsed;
use super::types::{Ty, Types};
use crate::program::{OpId, SpecMachine};

/// An operation as the object declares it.
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) args: Vec<Ty>,
    pub(super) result: Ty,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Data {
    Int(i32),
    /// A sequence, an array or a record.
    List(Vec<Data>),
    Set(BTreeSet<Data>),
    Map(BTreeMap<Data, Data>),
}

#[derive(Clone, Debug)]
enum Tree {
    Const(Data),
    Read(Where),
    Me,
    Not(Box<Tree>),
    Negate(Box<Tree>),
    Binary(BinaryOp, Box<Tree>, Box<Tree>),
    If(Box<Tree>, Box<Tree>, Box<Tree>),
    List(Vec<Tree>),
    Min(Box<Tree>, Box<Tree>),
    Max(Box<Tree>, Box<Tree>),
    Choose(i32, i32),
    Method(Method, Where, Vec<Tree>),
}

/// A variable (first the state, then arguments and locals) and the way to a part of it.
#[derive(Clone, Debug)]
struct Where {
    slot: usize,
    path: Vec<Tree>,
    /// The values of the part, where it is a number.
    domain: Option<(i32, i32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    PushBack,
    PushFront,
    PopBack,
    PopFront,
    Back,
    Front,
    Len,
    IsEmpty,
    Contains,
    Insert,
    Remove,
    Get,
}

#[derive(Clone, Debug)]
enum Step {
    Set(Where, Tree),
    Eval(Tree),
    If(Tree, Vec<Step>, Vec<Step>),
    While(Tree, Vec<Step>),
    Either(Vec<Vec<Step>>),
    Await(Tree),
    Break,
    Continue,
    Return(Option<Tree>),
}

struct CompiledOp {
    body: Vec<Step>,
    frame: usize,
}

/// A specification that the model's author wrote.
pub(super) struct Written {
    types: Types,
    state: Vec<(String, Ty, Data)>,
    ops: Vec<CompiledOp>,
    results: Vec<Ty>,
}

struct Compiler<'a> {
    types: &'a Types,
    /// Names, types, and whether they are of the state.
    scope: Vec<(String, Ty)>,
    frame: usize,
    result: Ty,
}

pub(super) fn compile(
    types: &Types,
    state: &[VarDecl],
    ops: &[SpecOp],
    span: Span,
    signatures: &[Signature],
) -> Parsed<Written> {
    let mut compiler = Compiler { types, scope: Vec::new(), frame: 0, result: Ty::Unit };
    let mut variables: Vec<(String, Ty, Data)> = Vec::new();
    for variable in state {
        let ty = types.resolve(&variable.of)?;
        if matches!(ty, Ty::Node(_) | Ty::Lock) {
            let message = "a specification has no heap and no locks";
            return Err(Diagnostic::new(variable.of.span, message).help("use a sequence or a map"));
        }
        let first = match &variable.init {
            None => first_value(types, &ty),
            Some(init) => {
                let (tree, _) = compiler.typed(init, &ty)?;
                let states: Vec<Data> = variables.iter().map(|v| v.2.clone()).collect();
                let mut run = Run::new(states);
                run.eval(&tree).ok_or_else(|| {
                    Diagnostic::new(init.span, "this has no value before the first operation")
                })?
            }
        };
        compiler.declare(&variable.name, ty.clone())?;
        variables.push((variable.name.text.clone(), ty, first));
    }
    let mut compiled: Vec<Option<CompiledOp>> = signatures.iter().map(|_| None).collect();
    for op in ops {
        let Some(at) = signatures.iter().position(|s| s.name == op.name.text) else {
            let known = signatures.iter().map(|s| s.name.as_str());
            let help = did_you_mean(&op.name.text, known);
            let message = format!("the object has no operation `{}`", op.name.text);
            return Err(Diagnostic::new(op.name.span, message).maybe_help(help));
        };
        let signature = &signatures[at];
        if op.args.len() != signature.args.len() {
            let message = format!(
                "`{}` has {} arguments, but {} in the object",
                op.name.text,
                op.args.len(),
                signature.args.len()
            );
            return Err(Diagnostic::new(op.name.span, message).help("both must agree"));
        }
        let outside = compiler.scope.len();
        for (name, ty) in op.args.iter().zip(&signature.args) {
            compiler.declare(name, ty.clone())?;
        }
        compiler.frame = compiler.scope.len();
        compiler.result = signature.result.clone();
        let (body, falls) = compiler.block(&op.body, false)?;
        if falls && signature.result != Ty::Unit {
            let message = format!("`{}` can end here without returning a value", signature.name);
            let help = format!("return one of {}", types.show(&signature.result));
            return Err(Diagnostic::new(op.name.span, message).help(help));
        }
        compiler.scope.truncate(outside);
        if compiled[at].replace(CompiledOp { body, frame: compiler.frame }).is_some() {
            let message = format!("`{}` is specified twice", op.name.text);
            return Err(Diagnostic::new(op.name.span, message));
        }
    }
    let mut all = Vec::new();
    for (op, signature) in compiled.into_iter().zip(signatures) {
        all.push(op.ok_or_else(|| {
            let message = format!("the specification does not say what `{}` does", signature.name);
            Diagnostic::new(span, message).help(format!("add `{}(...) {{ ... }}`", signature.name))
        })?);
    }
    let results = signatures.iter().map(|s| s.result.clone()).collect();
    Ok(Written { types: types.clone(), state: variables, ops: all, results })
}

fn first_value(types: &Types, ty: &Ty) -> Data {
    match ty {
        Ty::Seq(_) => Data::List(Vec::new()),
        Ty::Set(_) => Data::Set(BTreeSet::new()),
        Ty::Map(..) => Data::Map(BTreeMap::new()),
        Ty::Array { of, len, .. } => Data::List(vec![first_value(types, of); *len]),
        Ty::Record(record) => {
            let fields = &types.records[*record].fields;
            Data::List(fields.iter().map(|(_, ty)| first_value(types, ty)).collect())
        }
        _ => Data::Int(types.first(ty)),
    }
}

/// How many trees a list of lists has.
fn weight(tree: &Tree) -> usize {
    match tree {
        Tree::List(items) => 1 + items.iter().map(weight).sum::<usize>(),
        _ => 1,
    }
}

fn constant(value: i32) -> Tree {
    Tree::Const(Data::Int(value))
}

impl Compiler<'_> {
    fn declare(&mut self, name: &Name, ty: Ty) -> Parsed<()> {
        if self.scope.iter().any(|(other, _)| *other == name.text)
            || self.types.constants.iter().any(|(other, _)| *other == name.text)
        {
            let message = format!("`{}` is declared already", name.text);
            return Err(Diagnostic::new(name.span, message).help("choose another name"));
        }
        self.scope.push((name.text.clone(), ty));
        self.frame = self.frame.max(self.scope.len());
        Ok(())
    }

    fn block(&mut self, block: &Block, looped: bool) -> Parsed<(Vec<Step>, bool)> {
        let outside = self.scope.len();
        let mut out = Vec::new();
        let mut falls = true;
        for stmt in block {
            if !falls {
                return Err(Diagnostic::new(stmt.span, "this is never reached").help("remove it"));
            }
            falls = self.statement(stmt, looped, &mut out)?;
        }
        self.scope.truncate(outside);
        Ok((out, falls))
    }

    fn statement(&mut self, stmt: &Stmt, looped: bool, out: &mut Vec<Step>) -> Parsed<bool> {
        match &stmt.kind {
            StmtKind::Local(variables) => {
                for variable in variables {
                    let ty = self.types.resolve(&variable.of)?;
                    let tree = match &variable.init {
                        Some(init) => self.typed(init, &ty)?.0,
                        None => Tree::Const(first_value(self.types, &ty)),
                    };
                    self.declare(&variable.name, ty.clone())?;
                    let slot = self.scope.len() - 1;
                    let domain = self.domain(&ty);
                    out.push(Step::Set(Where { slot, path: Vec::new(), domain }, tree));
                }
            }
            StmtKind::Assign(target, value) => {
                let (place, ty) = self.place(target)?;
                let (tree, _) = self.typed(value, &ty)?;
                out.push(Step::Set(place, tree));
            }
            StmtKind::Expr(expr) => {
                let (tree, _) = self.expr(expr, None)?;
                if !matches!(tree, Tree::Method(..)) {
                    return Err(Diagnostic::new(expr.span, "this value is not used"));
                }
                out.push(Step::Eval(tree));
            }
            StmtKind::If(condition, then, otherwise) => {
                let (condition, _) = self.typed(condition, &Ty::Bool)?;
                let (then, first) = self.block(then, looped)?;
                let (otherwise, second) = self.block(otherwise, looped)?;
                out.push(Step::If(condition, then, otherwise));
                return Ok(first || second);
            }
            StmtKind::When(condition, then, otherwise) => {
                let chosen = if self.types.truth(condition)? { then } else { otherwise };
                let (steps, falls) = self.block(chosen, looped)?;
                out.extend(steps);
                return Ok(falls);
            }
            StmtKind::While(condition, body) => {
                let (condition, _) = self.typed(condition, &Ty::Bool)?;
                let (body, _) = self.block(body, true)?;
                out.push(Step::While(condition, body));
            }
            StmtKind::Either(branches) => {
                let mut compiled = Vec::new();
                let mut any = false;
                for branch in branches {
                    let (steps, falls) = self.block(branch, looped)?;
                    any |= falls;
                    compiled.push(steps);
                }
                out.push(Step::Either(compiled));
                return Ok(any);
            }
            StmtKind::Await(condition) => {
                let (condition, _) = self.typed(condition, &Ty::Bool)?;
                out.push(Step::Await(condition));
            }
            StmtKind::Break | StmtKind::Continue if looped => {
                let leave = matches!(stmt.kind, StmtKind::Break);
                out.push(if leave { Step::Break } else { Step::Continue });
                return Ok(false);
            }
            StmtKind::Return(value) => {
                let result = self.result.clone();
                let tree = match (value, &result) {
                    (None, Ty::Unit) => None,
                    (Some(value), Ty::Unit) => {
                        return Err(Diagnostic::new(value.span, "this operation returns nothing")
                            .help("say what it returns where the object declares it: `-> 0..3`"));
                    }
                    (None, _) => {
                        let shown = self.types.show(&result);
                        let message = format!("this operation returns {shown}");
                        return Err(Diagnostic::new(stmt.span, message)
                            .help("write `return` and the value"));
                    }
                    (Some(value), ty) => Some(self.typed(value, ty)?.0),
                };
                out.push(Step::Return(tree));
                return Ok(false);
            }
            StmtKind::Skip => {}
            _ => {
                let message = "a specification is sequential: this cannot stand here";
                return Err(Diagnostic::new(stmt.span, message)
                    .help("use assignments, `if`, `while`, `either`, `await` and `return`"));
            }
        }
        Ok(true)
    }

    fn domain(&self, ty: &Ty) -> Option<(i32, i32)> {
        match ty {
            Ty::Int { lo, hi } => Some((*lo, *hi)),
            Ty::Optional(_) | Ty::Pid | Ty::Bool | Ty::Enum(_) => {
                let scalar = self.types.scalar(ty);
                Some((scalar.lo, scalar.hi))
            }
            _ => None,
        }
    }

    fn place(&mut self, expr: &Expr) -> Parsed<(Where, Ty)> {
        let (mut place, ty) = match &expr.kind {
            ExprKind::Name(name) => {
                let Some(slot) = self.scope.iter().rposition(|(n, _)| n == name) else {
                    let known = (self.scope.iter().map(|(n, _)| n.as_str()))
                        .chain(self.types.constants.iter().map(|(n, _)| n.as_str()));
                    let help = did_you_mean(name, known);
                    let message = format!("the specification has no variable `{name}`");
                    return Err(Diagnostic::new(expr.span, message).maybe_help(help));
                };
                (Where { slot, path: Vec::new(), domain: None }, self.scope[slot].1.clone())
            }
            ExprKind::Field(base, field) => {
                let (mut place, ty) = self.place(base)?;
                let Ty::Record(record) = ty else {
                    let message = format!("{} has no fields", self.types.show(&ty));
                    return Err(Diagnostic::new(base.span, message));
                };
                let fields = &self.types.records[record].fields;
                let Some(at) = fields.iter().position(|(name, _)| *name == field.text) else {
                    let help = did_you_mean(&field.text, fields.iter().map(|(n, _)| n.as_str()));
                    let message = format!("no field is called `{}`", field.text);
                    return Err(Diagnostic::new(field.span, message).maybe_help(help));
                };
                place.path.push(constant(at as i32));
                (place, fields[at].1.clone())
            }
            ExprKind::Index(base, index) => {
                let (mut place, ty) = self.place(base)?;
                let (tree, item) = match ty {
                    Ty::Array { of, by_process: true, .. } => (self.typed(index, &Ty::Pid)?.0, *of),
                    Ty::Array { of, len, .. } => {
                        let wanted = Ty::Int { lo: 0, hi: len as i32 - 1 };
                        (self.typed(index, &wanted)?.0, *of)
                    }
                    Ty::Seq(of) => (self.typed(index, &Ty::Int { lo: 0, hi: i32::MAX })?.0, *of),
                    Ty::Map(key, value) => (self.typed(index, &key)?.0, *value),
                    other => {
                        let message = format!("{} has no cells", self.types.show(&other));
                        return Err(Diagnostic::new(base.span, message));
                    }
                };
                place.path.push(tree);
                (place, item)
            }
            _ => return Err(Diagnostic::new(expr.span, "this is not a variable")),
        };
        place.domain = self.domain(&ty);
        Ok((place, ty))
    }

    /// An expression where a type is expected.
    fn typed(&mut self, expr: &Expr, expected: &Ty) -> Parsed<(Tree, Ty)> {
        let (tree, ty) = self.expr(expr, Some(expected))?;
        if !self.types.fits(&ty, expected) {
            return Err(mismatch(self.types, &ty, expected, expr.span));
        }
        Ok((tree, ty))
    }

    fn expr(&mut self, expr: &Expr, expected: Option<&Ty>) -> Parsed<(Tree, Ty)> {
        Ok(match &expr.kind {
            ExprKind::Int(number) => {
                let number = *number as i32;
                (constant(number), Ty::Int { lo: number, hi: number })
            }
            ExprKind::Bool(truth) => (constant(i32::from(*truth)), Ty::Bool),
            ExprKind::Null | ExprKind::None => {
                match expected.and_then(|ty| Some((ty, self.types.nothing(ty)?))) {
                    Some((ty, nothing)) => (constant(nothing), ty.clone()),
                    None => (constant(0), Ty::Nothing),
                }
            }
            ExprKind::Me => (Tree::Me, Ty::Pid),
            ExprKind::Name(name) if !self.scope.iter().any(|(n, _)| n == name) => {
                if let Some((_, value)) = self.types.constants.iter().find(|(c, _)| c == name) {
                    return Ok((constant(*value), Ty::Int { lo: *value, hi: *value }));
                }
                for (enumeration, (_, cases)) in self.types.enums.iter().enumerate() {
                    if let Some(case) = cases.iter().position(|case| case == name) {
                        return Ok((constant(case as i32), Ty::Enum(enumeration)));
                    }
                }
                let (place, ty) = self.place(expr)?;
                (Tree::Read(place), ty)
            }
            ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Index(..) => {
                let (place, ty) = self.place(expr)?;
                (Tree::Read(place), ty)
            }
            ExprKind::Not(of) => (Tree::Not(Box::new(self.typed(of, &Ty::Bool)?.0)), Ty::Bool),
            ExprKind::Negate(of) => {
                let (tree, ty) = self.expr(of, None)?;
                let Ty::Int { lo, hi } = ty else {
                    return Err(mismatch(self.types, &ty, &Ty::Int { lo: -1, hi: 1 }, of.span));
                };
                let ty = Ty::Int { lo: hi.saturating_neg(), hi: lo.saturating_neg() };
                (Tree::Negate(Box::new(tree)), ty)
            }
            ExprKind::Conditional(condition, yes, no) => {
                let (c, _) = self.typed(condition, &Ty::Bool)?;
                let (a, left) = self.expr(yes, expected)?;
                let (b, right) = self.expr(no, expected)?;
                let ty = common(self.types, &left, &right, expr.span)?;
                (Tree::If(Box::new(c), Box::new(a), Box::new(b)), ty)
            }
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, expr.span)?,
            ExprKind::List(items) => self.list(items, expected)?,
            ExprKind::Repeat(item, count) => {
                let count = self.types.number(count)?.clamp(0, 4096) as usize;
                let of = match expected {
                    Some(Ty::Array { of, .. } | Ty::Seq(of)) => Some((**of).clone()),
                    _ => None,
                };
                let (tree, ty) = self.expr(item, of.as_ref())?;
                if weight(&tree).saturating_mul(count) > 65_536 {
                    return Err(Diagnostic::new(expr.span, "this list is too long"));
                }
                let of = Box::new(of.unwrap_or(ty));
                let ty = match expected {
                    Some(Ty::Seq(_)) => Ty::Seq(of),
                    Some(Ty::Array { by_process, .. }) => {
                        Ty::Array { of, len: count, by_process: *by_process }
                    }
                    _ => Ty::Array { of, len: count, by_process: false },
                };
                (Tree::List(vec![tree; count]), ty)
            }
            ExprKind::Record(name, fields) => {
                let Some(record) = self.types.records.iter().position(|r| r.name == name.text)
                else {
                    let known = self.types.records.iter().map(|r| r.name.as_str());
                    let help = did_you_mean(&name.text, known);
                    let message = format!("no record is called `{}`", name.text);
                    return Err(Diagnostic::new(name.span, message).maybe_help(help));
                };
                let of = self.types.records[record].fields.clone();
                let mut trees: Vec<Tree> =
                    of.iter().map(|(_, ty)| Tree::Const(first_value(self.types, ty))).collect();
                for (field, value) in fields {
                    let Some(at) = of.iter().position(|(n, _)| *n == field.text) else {
                        let help = did_you_mean(&field.text, of.iter().map(|(n, _)| n.as_str()));
                        let message = format!("no field is called `{}`", field.text);
                        return Err(Diagnostic::new(field.span, message).maybe_help(help));
                    };
                    trees[at] = self.typed(value, &of[at].1)?.0;
                }
                (Tree::List(trees), Ty::Record(record))
            }
            ExprKind::Call(name, args) => match (name.text.as_str(), args.as_slice()) {
                ("min" | "max", [a, b]) => {
                    let (x, left) = self.expr(a, None)?;
                    let (y, right) = self.expr(b, None)?;
                    let ty = common(self.types, &left, &right, expr.span)?;
                    let (x, y) = (Box::new(x), Box::new(y));
                    (if name.text == "min" { Tree::Min(x, y) } else { Tree::Max(x, y) }, ty)
                }
                ("choose", [a, b]) => {
                    let (lo, hi) = (self.types.number(a)?, self.types.number(b)?);
                    if lo > hi || i64::from(hi) - i64::from(lo) > 4096 {
                        let message = "there is no such choice";
                        return Err(Diagnostic::new(expr.span, message));
                    }
                    (Tree::Choose(lo, hi), Ty::Int { lo, hi })
                }
                _ => {
                    let message = format!("a specification cannot call `{}`", name.text);
                    return Err(Diagnostic::new(name.span, message)
                        .help("its functions are `min`, `max` and `choose`"));
                }
            },
            ExprKind::Method(base, name, args) => self.method(base, name, args)?,
            ExprKind::New(..) | ExprKind::Lin(_) => {
                return Err(Diagnostic::new(
                    expr.span,
                    "a specification has no heap and no points",
                ));
            }
        })
    }

    fn list(&mut self, items: &[Expr], expected: Option<&Ty>) -> Parsed<(Tree, Ty)> {
        if items.is_empty() {
            let ty = match expected {
                Some(ty @ (Ty::Seq(_) | Ty::Set(_) | Ty::Map(..))) => ty.clone(),
                _ => Ty::Seq(Box::new(Ty::Nothing)),
            };
            return Ok((Tree::Const(first_value(self.types, &ty)), ty));
        }
        let of = match expected {
            Some(Ty::Array { of, .. } | Ty::Seq(of) | Ty::Set(of)) => Some((**of).clone()),
            _ => None,
        };
        let mut trees = Vec::new();
        let mut ty: Option<Ty> = None;
        for item in items {
            let (tree, found) = self.expr(item, of.as_ref())?;
            trees.push(tree);
            ty = Some(match ty {
                None => found,
                Some(before) => common(self.types, &before, &found, item.span)?,
            });
        }
        let item = Box::new(of.unwrap_or(ty.unwrap_or(Ty::Nothing)));
        let ty = match expected {
            Some(Ty::Array { by_process, .. }) => {
                Ty::Array { of: item, len: items.len(), by_process: *by_process }
            }
            _ => Ty::Seq(item),
        };
        Ok((Tree::List(trees), ty))
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) -> Parsed<(Tree, Ty)> {
        let join = |a: Tree, b: Tree, ty: Ty| Ok((Tree::Binary(op, Box::new(a), Box::new(b)), ty));
        match op {
            BinaryOp::And | BinaryOp::Or => {
                let (a, _) = self.typed(left, &Ty::Bool)?;
                let (b, _) = self.typed(right, &Ty::Bool)?;
                join(a, b, Ty::Bool)
            }
            BinaryOp::Equal | BinaryOp::Different => {
                // A literal takes the type of the other side.
                let literal = |e: &Expr| {
                    matches!(e.kind, ExprKind::None | ExprKind::Null | ExprKind::List(_))
                };
                let ((a, x), (b, y)) = if literal(left) {
                    let (b, y) = self.expr(right, None)?;
                    (self.expr(left, Some(&y))?, (b, y))
                } else {
                    let (a, x) = self.expr(left, None)?;
                    let second = self.expr(right, Some(&x))?;
                    ((a, x), second)
                };
                equality(self.types, &x, &y, span)?;
                join(a, b, Ty::Bool)
            }
            BinaryOp::Concat => {
                let (a, x) = self.expr(left, None)?;
                let (b, y) = self.expr(right, Some(&x))?;
                let (Ty::Seq(p), Ty::Seq(q)) = (&x, &y) else {
                    return Err(Diagnostic::new(span, "`++` joins two sequences"));
                };
                let of = match (&**p, &**q) {
                    (Ty::Nothing, other) | (other, Ty::Nothing) => other.clone(),
                    (p, q) => common(self.types, p, q, span)?,
                };
                join(a, b, Ty::Seq(Box::new(of)))
            }
            BinaryOp::In => {
                let (b, y) = self.expr(right, None)?;
                let (Ty::Seq(of) | Ty::Set(of) | Ty::Map(of, _)) = &y else {
                    let message = format!("{} contains nothing", self.types.show(&y));
                    return Err(Diagnostic::new(right.span, message));
                };
                let (a, _) = self.typed(left, of)?;
                join(a, b, Ty::Bool)
            }
            _ => {
                let (a, x) = self.expr(left, None)?;
                let (b, y) = self.expr(right, None)?;
                let ty = arithmetic(self.types, op, (&x, left.span), (&y, right.span), span)?;
                join(a, b, ty)
            }
        }
    }

    fn method(&mut self, base: &Expr, name: &Name, args: &[Expr]) -> Parsed<(Tree, Ty)> {
        let (place, ty) = self.place(base)?;
        let size = Ty::Int { lo: 0, hi: 1 << 20 };
        let (known, item, value): (&[(&str, Method)], _, _) = match &ty {
            Ty::Seq(of) => (
                &[
                    ("push_back", Method::PushBack),
                    ("push_front", Method::PushFront),
                    ("pop_back", Method::PopBack),
                    ("pop_front", Method::PopFront),
                    ("back", Method::Back),
                    ("front", Method::Front),
                    ("len", Method::Len),
                    ("is_empty", Method::IsEmpty),
                    ("contains", Method::Contains),
                    ("remove", Method::Remove),
                ],
                (**of).clone(),
                None,
            ),
            Ty::Set(of) => (
                &[
                    ("insert", Method::Insert),
                    ("remove", Method::Remove),
                    ("contains", Method::Contains),
                    ("len", Method::Len),
                    ("is_empty", Method::IsEmpty),
                ],
                (**of).clone(),
                None,
            ),
            Ty::Map(key, value) => (
                &[
                    ("insert", Method::Insert),
                    ("remove", Method::Remove),
                    ("contains", Method::Contains),
                    ("get", Method::Get),
                    ("len", Method::Len),
                    ("is_empty", Method::IsEmpty),
                ],
                (**key).clone(),
                Some((**value).clone()),
            ),
            _ => {
                let message = format!("{} has no methods", self.types.show(&ty));
                return Err(Diagnostic::new(base.span, message));
            }
        };
        let Some((_, method)) = known.iter().find(|(n, _)| *n == name.text) else {
            let names: Vec<&str> = known.iter().map(|(n, _)| *n).collect();
            let help = did_you_mean(&name.text, names.iter().copied())
                .unwrap_or_else(|| format!("it has `{}`", names.join("`, `")));
            let message = format!("{} has no method `{}`", self.types.show(&ty), name.text);
            return Err(Diagnostic::new(name.span, message).help(help));
        };
        let (wanted, result) = match (method, &value) {
            (Method::PushBack | Method::PushFront, _) => (vec![item], Ty::Unit),
            (Method::PopBack | Method::PopFront | Method::Back | Method::Front, _) => {
                (vec![], item)
            }
            (Method::Len, _) => (vec![], size),
            (Method::IsEmpty, _) => (vec![], Ty::Bool),
            (Method::Insert, Some(value)) => (vec![item, value.clone()], Ty::Unit),
            (Method::Get, Some(value)) => (vec![item], value.clone()),
            _ => (vec![item], Ty::Bool),
        };
        if args.len() != wanted.len() {
            let message = format!("`{}` takes {} arguments", name.text, wanted.len());
            return Err(Diagnostic::new(name.span, message));
        }
        let mut trees = Vec::new();
        for (arg, ty) in args.iter().zip(&wanted) {
            trees.push(self.typed(arg, ty)?.0);
        }
        Ok((Tree::Method(*method, place, trees), result))
    }
}

/// One execution, with the choices that it makes.
struct Run {
    slots: Vec<Data>,
    me: i32,
    script: Vec<usize>,
    arities: Vec<usize>,
    rounds: u32,
}

enum End {
    Falls,
    Break,
    Continue,
    Return(Option<Data>),
    Blocked,
}

impl Run {
    fn new(slots: Vec<Data>) -> Run {
        Run { slots, me: 0, script: Vec::new(), arities: Vec::new(), rounds: 0 }
    }

    fn choice(&mut self, arity: usize) -> usize {
        let at = self.arities.len();
        self.arities.push(arity);
        if self.script.len() == at {
            self.script.push(0);
        }
        self.script[at]
    }

    fn steps(&mut self, steps: &[Step]) -> End {
        for step in steps {
            match self.step(step) {
                Some(End::Falls) => {}
                Some(end) => return end,
                None => return End::Blocked,
            }
        }
        End::Falls
    }

    fn step(&mut self, step: &Step) -> Option<End> {
        Some(match step {
            Step::Set(place, tree) => {
                let value = self.eval(tree)?;
                if let (Data::Int(number), Some((lo, hi))) = (&value, place.domain)
                    && !(lo..=hi).contains(number)
                {
                    return None;
                }
                let path = self.path(place)?;
                *part(&mut self.slots[place.slot], &path, true)? = value;
                End::Falls
            }
            Step::Eval(tree) => {
                self.eval(tree)?;
                End::Falls
            }
            Step::If(condition, yes, no) => {
                let branch = if self.truth(condition)? { yes } else { no };
                self.steps(branch)
            }
            Step::While(condition, body) => {
                while self.truth(condition)? {
                    self.rounds += 1;
                    if self.rounds > 10_000 {
                        return None;
                    }
                    match self.steps(body) {
                        End::Break => break,
                        End::Falls | End::Continue => {}
                        end => return Some(end),
                    }
                }
                End::Falls
            }
            Step::Either(branches) => {
                let chosen = self.choice(branches.len());
                self.steps(&branches[chosen])
            }
            Step::Await(condition) => match self.truth(condition)? {
                true => End::Falls,
                false => End::Blocked,
            },
            Step::Break => End::Break,
            Step::Continue => End::Continue,
            Step::Return(None) => End::Return(None),
            Step::Return(Some(tree)) => End::Return(Some(self.eval(tree)?)),
        })
    }

    fn truth(&mut self, tree: &Tree) -> Option<bool> {
        Some(self.number(tree)? != 0)
    }

    fn number(&mut self, tree: &Tree) -> Option<i32> {
        match self.eval(tree)? {
            Data::Int(number) => Some(number),
            _ => None,
        }
    }

    fn path(&mut self, place: &Where) -> Option<Vec<Data>> {
        place.path.iter().map(|tree| self.eval(tree)).collect()
    }

    /// `None` where there is no value: an index out of bounds, an empty sequence.
    fn eval(&mut self, tree: &Tree) -> Option<Data> {
        Some(match tree {
            Tree::Const(data) => data.clone(),
            Tree::Me => Data::Int(self.me),
            Tree::Read(place) => {
                let path = self.path(place)?;
                part(&mut self.slots[place.slot], &path, false)?.clone()
            }
            Tree::Not(of) => Data::Int(i32::from(!self.truth(of)?)),
            Tree::Negate(of) => Data::Int(self.number(of)?.checked_neg()?),
            Tree::If(condition, yes, no) => {
                let chosen = if self.truth(condition)? { yes } else { no };
                self.eval(chosen)?
            }
            Tree::List(items) => {
                Data::List(items.iter().map(|item| self.eval(item)).collect::<Option<_>>()?)
            }
            Tree::Min(a, b) => Data::Int(self.number(a)?.min(self.number(b)?)),
            Tree::Max(a, b) => Data::Int(self.number(a)?.max(self.number(b)?)),
            Tree::Choose(lo, hi) => Data::Int(lo + self.choice((hi - lo + 1) as usize) as i32),
            Tree::Binary(op, left, right) => return self.binary(*op, left, right),
            Tree::Method(method, place, args) => {
                let args: Vec<Data> =
                    args.iter().map(|arg| self.eval(arg)).collect::<Option<_>>()?;
                let path = self.path(place)?;
                let target = part(&mut self.slots[place.slot], &path, false)?;
                return call(*method, target, args);
            }
        })
    }

    fn binary(&mut self, op: BinaryOp, left: &Tree, right: &Tree) -> Option<Data> {
        let truth = |b: bool| Some(Data::Int(i32::from(b)));
        match op {
            BinaryOp::And => return truth(self.truth(left)? && self.truth(right)?),
            BinaryOp::Or => return truth(self.truth(left)? || self.truth(right)?),
            _ => {}
        }
        let (a, b) = (self.eval(left)?, self.eval(right)?);
        match op {
            BinaryOp::Equal => truth(a == b),
            BinaryOp::Different => truth(a != b),
            BinaryOp::Concat => match (a, b) {
                (Data::List(mut a), Data::List(b)) => {
                    a.extend(b);
                    Some(Data::List(a))
                }
                _ => None,
            },
            BinaryOp::In => truth(match &b {
                Data::List(items) => items.contains(&a),
                Data::Set(items) => items.contains(&a),
                Data::Map(items) => items.contains_key(&a),
                Data::Int(_) => return None,
            }),
            _ => {
                let (Data::Int(a), Data::Int(b)) = (a, b) else { return None };
                match op {
                    BinaryOp::Add => a.checked_add(b).map(Data::Int),
                    BinaryOp::Sub => a.checked_sub(b).map(Data::Int),
                    BinaryOp::Mul => a.checked_mul(b).map(Data::Int),
                    BinaryOp::Div => a.checked_div_euclid(b).map(Data::Int),
                    BinaryOp::Rem => a.checked_rem_euclid(b).map(Data::Int),
                    BinaryOp::Less => truth(a < b),
                    BinaryOp::LessEqual => truth(a <= b),
                    BinaryOp::Greater => truth(a > b),
                    _ => truth(a >= b),
                }
            }
        }
    }
}

/// The part of a value that a path leads to. Assigning to a new key of a map makes it.
fn part<'d>(data: &'d mut Data, path: &[Data], assign: bool) -> Option<&'d mut Data> {
    let Some((step, rest)) = path.split_first() else { return Some(data) };
    match data {
        Data::List(items) => {
            let Data::Int(index) = step else { return None };
            part(items.get_mut(usize::try_from(*index).ok()?)?, rest, assign)
        }
        Data::Map(items) => {
            if assign && rest.is_empty() {
                return Some(items.entry(step.clone()).or_insert(Data::Int(0)));
            }
            part(items.get_mut(step)?, rest, assign)
        }
        Data::Int(_) | Data::Set(_) => None,
    }
}

fn call(method: Method, target: &mut Data, mut args: Vec<Data>) -> Option<Data> {
    let nothing = Data::List(Vec::new());
    let truth = |b: bool| Some(Data::Int(i32::from(b)));
    let len = match target {
        Data::List(items) => items.len(),
        Data::Set(items) => items.len(),
        Data::Map(items) => items.len(),
        Data::Int(_) => return None,
    };
    match method {
        Method::Len => return Some(Data::Int(len as i32)),
        Method::IsEmpty => return truth(len == 0),
        _ => {}
    }
    let first = if args.is_empty() { nothing.clone() } else { args.remove(0) };
    match (target, method) {
        (Data::List(items), Method::PushBack) => {
            items.push(first);
            Some(nothing)
        }
        (Data::List(items), Method::PushFront) => {
            items.insert(0, first);
            Some(nothing)
        }
        (Data::List(items), Method::PopBack) => items.pop(),
        (Data::List(items), Method::PopFront) => {
            if items.is_empty() {
                None
            } else {
                Some(items.remove(0))
            }
        }
        (Data::List(items), Method::Back) => items.last().cloned(),
        (Data::List(items), Method::Front) => items.first().cloned(),
        (Data::List(items), Method::Contains) => truth(items.contains(&first)),
        (Data::List(items), Method::Remove) => match items.iter().position(|i| *i == first) {
            Some(at) => {
                items.remove(at);
                truth(true)
            }
            None => truth(false),
        },
        (Data::Set(items), Method::Insert) => truth(items.insert(first)),
        (Data::Set(items), Method::Remove) => truth(items.remove(&first)),
        (Data::Set(items), Method::Contains) => truth(items.contains(&first)),
        (Data::Map(items), Method::Insert) => {
            items.insert(first, args.pop()?);
            Some(nothing)
        }
        (Data::Map(items), Method::Remove) => truth(items.remove(&first).is_some()),
        (Data::Map(items), Method::Contains) => truth(items.contains_key(&first)),
        (Data::Map(items), Method::Get) => items.get(&first).cloned(),
        _ => None,
    }
}

/// Values as words: numbers as they are, containers with their length in front.
fn encode(data: &Data, out: &mut Vec<i32>) {
    match data {
        Data::Int(number) => out.push(*number),
        Data::List(items) => {
            out.push(items.len() as i32);
            items.iter().for_each(|item| encode(item, out));
        }
        Data::Set(items) => {
            out.push(items.len() as i32);
            items.iter().for_each(|item| encode(item, out));
        }
        Data::Map(items) => {
            out.push(items.len() as i32);
            for (key, value) in items {
                encode(key, out);
                encode(value, out);
            }
        }
    }
}

fn decode(types: &Types, ty: &Ty, words: &mut &[i32]) -> Data {
    let mut take = || {
        let first = words.first().copied().unwrap_or(0);
        *words = words.get(1..).unwrap_or(&[]);
        first
    };
    match ty {
        Ty::Seq(of) | Ty::Array { of, .. } => {
            let len = take();
            Data::List((0..len).map(|_| decode(types, of, words)).collect())
        }
        Ty::Set(of) => {
            let len = take();
            Data::Set((0..len).map(|_| decode(types, of, words)).collect())
        }
        Ty::Map(key, value) => {
            let len = take();
            let pair =
                |words: &mut &[i32]| (decode(types, key, words), decode(types, value, words));
            Data::Map((0..len).map(|_| pair(words)).collect())
        }
        Ty::Record(record) => {
            take();
            let fields = &types.records[*record].fields;
            Data::List(fields.iter().map(|(_, ty)| decode(types, ty, words)).collect())
        }
        _ => Data::Int(take()),
    }
}

fn show(types: &Types, ty: &Ty, data: &Data) -> String {
    let list =
        |items: Vec<String>, open: &str, close: &str| format!("{open}{}{close}", items.join(" "));
    match (ty, data) {
        (Ty::Record(record), Data::List(items)) => {
            let fields = &types.records[*record].fields;
            let parts = fields
                .iter()
                .zip(items)
                .map(|((name, ty), item)| format!("{name}: {}", show(types, ty, item)));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
        }
        (Ty::Seq(of) | Ty::Array { of, .. }, Data::List(items)) => {
            list(items.iter().map(|item| show(types, of, item)).collect(), "[", "]")
        }
        (Ty::Set(of), Data::Set(items)) => {
            list(items.iter().map(|item| show(types, of, item)).collect(), "{", "}")
        }
        (Ty::Map(key, value), Data::Map(items)) => {
            let pairs = items
                .iter()
                .map(|(k, v)| format!("{}: {}", show(types, key, k), show(types, value, v)));
            list(pairs.collect(), "{", "}")
        }
        (_, Data::Int(number)) => types.scalar_shown(ty, *number),
        _ => String::new(),
    }
}

fn rename(types: &Types, ty: &Ty, data: Data, to: &[u8]) -> Data {
    match (ty, data) {
        (Ty::Pid, Data::Int(process)) => {
            let renamed = usize::try_from(process).ok().and_then(|p| to.get(p));
            Data::Int(renamed.map_or(process, |p| i32::from(*p)))
        }
        (Ty::Array { of, by_process: true, .. }, Data::List(items)) => {
            let mut out = items.clone();
            for (process, item) in items.into_iter().enumerate() {
                out[usize::from(to[process])] = rename(types, of, item, to);
            }
            Data::List(out)
        }
        (Ty::Seq(of) | Ty::Array { of, .. }, Data::List(items)) => {
            Data::List(items.into_iter().map(|item| rename(types, of, item, to)).collect())
        }
        (Ty::Record(record), Data::List(items)) => {
            let fields = &types.records[*record].fields;
            let parts = fields.iter().zip(items);
            Data::List(parts.map(|((_, ty), item)| rename(types, ty, item, to)).collect())
        }
        (Ty::Set(of), Data::Set(items)) => {
            Data::Set(items.into_iter().map(|item| rename(types, of, item, to)).collect())
        }
        (Ty::Map(key, value), Data::Map(items)) => Data::Map(
            (items.into_iter())
                .map(|(k, v)| (rename(types, key, k, to), rename(types, value, v, to)))
                .collect(),
        ),
        (_, data) => data,
    }
}

impl Written {
    fn decode(&self, state: &[i32]) -> Vec<Data> {
        let mut words = state;
        self.state.iter().map(|(_, ty, _)| decode(&self.types, ty, &mut words)).collect()
    }
}

fn encode_all(data: &[Data]) -> Box<[i32]> {
    let mut out = Vec::new();
    data.iter().for_each(|d| encode(d, &mut out));
    out.into()
}

impl SpecMachine for Written {
    fn initial(&self) -> Vec<Box<[i32]>> {
        let first: Vec<Data> = self.state.iter().map(|(_, _, data)| data.clone()).collect();
        vec![encode_all(&first)]
    }

    fn step(
        &self,
        state: &[i32],
        process: usize,
        operation: OpId,
        args: &[i32],
        out: &mut Vec<(Box<[i32]>, Box<[i32]>)>,
    ) {
        let op = &self.ops[operation];
        let mut script = Vec::new();
        loop {
            let mut slots = self.decode(state);
            slots.extend(args.iter().map(|arg| Data::Int(*arg)));
            slots.resize(op.frame.max(slots.len()), Data::Int(0));
            let mut run = Run { slots, me: process as i32, script, arities: Vec::new(), rounds: 0 };
            let result = match run.steps(&op.body) {
                End::Falls | End::Return(None) => Some(Vec::new()),
                End::Return(Some(data)) => {
                    Some(flatten(&self.types, &self.results[operation], &data))
                }
                End::Blocked | End::Break | End::Continue => None,
            };
            if let Some(result) = result {
                let next = encode_all(&run.slots[..self.state.len()]);
                let outcome = (result.into(), next);
                if !out.contains(&outcome) {
                    out.push(outcome);
                }
            }
            script = run.script;
            script.truncate(run.arities.len());
            // The next sequence of choices, as an odometer counts.
            while let Some(last) = script.pop() {
                if last + 1 < run.arities[script.len()] {
                    script.push(last + 1);
                    break;
                }
            }
            if script.is_empty() {
                return;
            }
        }
    }

    fn permute(&self, state: &[i32], to: &[u8]) -> Box<[i32]> {
        let data = self.decode(state).into_iter().zip(&self.state);
        let renamed: Vec<Data> =
            data.map(|(data, (_, ty, _))| rename(&self.types, ty, data, to)).collect();
        encode_all(&renamed)
    }

    fn show(&self, state: &[i32]) -> String {
        let data = self.decode(state);
        let shown = self.state.iter().zip(&data);
        let all: Vec<String> = match self.state.len() {
            1 => shown.map(|((_, ty, _), data)| show(&self.types, ty, data)).collect(),
            _ => shown
                .map(|((name, ty, _), data)| format!("{name} = {}", show(&self.types, ty, data)))
                .collect(),
        };
        all.join(", ")
    }
}

/// A result as the program sees it: one word for each scalar.
fn flatten(types: &Types, ty: &Ty, data: &Data) -> Vec<i32> {
    match (ty, data) {
        (Ty::Record(record), Data::List(items)) => {
            let fields = &types.records[*record].fields;
            fields.iter().zip(items).flat_map(|((_, ty), item)| flatten(types, ty, item)).collect()
        }
        (_, Data::Int(number)) => vec![*number],
        _ => Vec::new(),
    }
}
