//! Written specifications: `spec { state q: seq<Value> = [] ... }` checked and compiled to a small
//! tree.
//!
//! [`Written`] runs the tree and implements [`SpecMachine`]. The checker caches every step, so this
//! need not be fast. Nondeterminism (`either`, `choose`) is explored by running the operation once
//! for each sequence of choices. An operation whose `await` fails, or that leaves a domain or
//! removes from an empty container, has no outcome: it blocks.

use std::sync::{Mutex, OnceLock};

use super::ast::{Block, Expr, ExprKind, Name, SpecOp, Stmt, StmtKind, VarDecl};
use super::diagnostic::{Diagnostic, Span, did_you_mean};
use super::parser::Parsed;
use super::spec_run::{CompiledOp, Data, Run, Step, Tree, Where, Written, first_value};
use super::types::{Ty, Types};

mod expressions;

use expressions::constant;

/// An operation as the object declares it.
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) args: Vec<Ty>,
    pub(super) result: Ty,
}

struct Compiler<'a> {
    types: &'a Types,
    source: &'a str,
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
    source: &str,
) -> Parsed<Written> {
    let mut compiler = Compiler { types, source, scope: Vec::new(), frame: 0, result: Ty::Unit };
    let mut variables: Vec<(String, Ty, Data)> = Vec::new();
    for variable in state {
        let ty = types.resolve(&variable.of)?;
        if matches!(ty, Ty::Node(_) | Ty::Lock) {
            let message = "a specification has no heap and no locks";
            return Err(Diagnostic::new(variable.of.span, message).help("use a sequence or a map"));
        }
        compiler.ensure_recorded(&ty, variable.of.span)?;
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
        if compiled[at]
            .replace(CompiledOp { name: signature.name.clone(), body, frame: compiler.frame })
            .is_some()
        {
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
    Ok(Written {
        types: types.clone(),
        state: variables,
        ops: all,
        results,
        trouble: OnceLock::new(),
        left: Mutex::default(),
    })
}

/// What a specification for histories cannot refer to.
pub(super) fn of_a_run(span: Span) -> Diagnostic {
    Diagnostic::new(span, "a specification for histories cannot speak of processes or nodes")
        .help("pass what matters as an argument")
}

impl Compiler<'_> {
    /// A history does not give the number of processes of a role.
    fn ensure_recorded(&self, ty: &Ty, span: Span) -> Parsed<()> {
        match self.types.histories && self.types.is_of_a_run(ty) {
            true => Err(of_a_run(span)),
            false => Ok(()),
        }
    }

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
                    self.ensure_recorded(&ty, variable.of.span)?;
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
                let (line, _) = stmt.span.line_column(self.source);
                out.push(Step::While(condition, body, line));
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
            Ty::Optional(_) | Ty::Pid | Ty::Bool | Ty::Enum(_) | Ty::Data(_) => {
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
}
