//! Written specifications: `spec { state q: seq<Value> = [] ... }` checked and compiled to a small
//! tree.
//!
//! The tree is run by [`Written`], which implements [`SpecMachine`]. The checker remembers every
//! step that it asked for, so that this need not be fast. Nondeterminism (`either`, `choose`) is
//! explored by running the operation once for each sequence of choices. An operation that awaits in
//! vain, leaves a domain or removes from an empty container has no outcome: it blocks.

use std::sync::{Mutex, OnceLock};

use trueline::Value;

use super::ast::{BinaryOp, Block, Expr, ExprKind, Name, SpecOp, Stmt, StmtKind, VarDecl};
use super::diagnostic::{Diagnostic, Span, did_you_mean};
use super::parser::Parsed;
use super::ranges::{Shape, domain, is_within};
use super::spec_run::{CompiledOp, Data, Method, Run, Step, Tree, Where, Written, first_value};
use super::types::{Ty, Types};
use super::typing::{arithmetic, common, equality, mismatch};

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
                let tree = compiler.kept(init, &ty, "it")?;
                let states: Vec<Data> = variables.iter().map(|v| v.2.clone()).collect();
                let mut run = Run::new(states);
                run.eval(&tree).ok_or_else(|| match run.outside() {
                    Some(outside) => Diagnostic::new(init.span, outside),
                    None => {
                        let message = "this has no value before the first operation";
                        Diagnostic::new(init.span, message)
                    }
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
        doubt: Mutex::default(),
    })
}

/// What a specification for histories cannot speak of.
pub(super) fn of_a_run(span: Span) -> Diagnostic {
    Diagnostic::new(span, "a specification for histories cannot speak of processes or nodes")
        .help("pass what matters as an argument")
}

/// A literal where any value is expected.
fn any_literal(types: &Types, tree: &Tree, ty: &Ty) -> Option<Value> {
    let number = match tree {
        Tree::Const(Data::Int(number)) => *number,
        Tree::Negate(of) => match **of {
            Tree::Const(Data::Int(number)) => number.checked_neg()?,
            _ => return None,
        },
        _ => return None,
    };
    match ty {
        Ty::Int { .. } => Some(Value::Int(number.into())),
        Ty::Bool => Some(Value::Bool(number != 0)),
        Ty::Enum(_) => Some(Value::text(types.scalar_shown(ty, number))),
        Ty::Nothing => Some(Value::Nil),
        _ => None,
    }
}

/// 'a part of `m`'
fn part_of(place: &Expr) -> String {
    match &place.kind {
        ExprKind::Name(name) => format!("a part of `{name}`"),
        ExprKind::Field(base, _) | ExprKind::Index(base, _) => part_of(base),
        _ => "a part of a variable".to_string(),
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
    /// A history does not say of which processes there are how many.
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
                        Some(init) if domain(self.types, &ty).is_some() => self.typed(init, &ty)?.0,
                        Some(init) => {
                            self.kept(init, &ty, &format!("a part of `{}`", variable.name.text))?
                        }
                        None => Tree::Const(first_value(self.types, &ty)),
                    };
                    self.declare(&variable.name, ty.clone())?;
                    let slot = self.scope.len() - 1;
                    let domain = domain(self.types, &ty);
                    out.push(Step::Set(Where { slot, path: Vec::new(), domain }, tree));
                }
            }
            StmtKind::Assign(target, value) => {
                let (mut place, ty) = self.place(target)?;
                // Assigning makes a key, which must be one of the type; one that is only looked up
                // may be any.
                if let ExprKind::Index(base, index) = &target.kind
                    && let (_, Ty::Map(key, _)) = self.place(base)?
                    && let Some(last) = place.path.last_mut()
                {
                    *last = self.kept(index, &key, &part_of(base))?;
                }
                let tree = self.assigned(value, &ty, target)?;
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
                    (Some(value), ty) => Some(self.kept(value, ty, "its result")?),
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
        place.domain = domain(self.types, &ty);
        Ok((place, ty))
    }

    /// An expression where a type is expected. Its value may be outside of a range that it overlaps.
    fn typed(&mut self, expr: &Expr, expected: &Ty) -> Parsed<(Tree, Ty)> {
        let (tree, ty) = self.expr(expr, Some(expected))?;
        if !self.types.fits(&ty, expected) {
            return Err(mismatch(self.types, &ty, expected, expr.span));
        }
        Ok(self.number(tree, ty, expected))
    }

    /// A number that is no `none` although its range has the number that stands for it.
    fn number(&self, tree: Tree, ty: Ty, expected: &Ty) -> (Tree, Ty) {
        match expected {
            Ty::Optional(of) if self.types.taken_for_none(&ty, expected).is_some() => {
                let within = (Shape::of(self.types, of), "a number".to_string());
                (Tree::Within(Box::new(tree), Box::new(within)), expected.clone())
            }
            _ => (tree, ty),
        }
    }

    /// The same for what is kept or returned: its value is one of the type. `what` names it where
    /// it is not.
    fn kept(&mut self, expr: &Expr, expected: &Ty, what: &str) -> Parsed<Tree> {
        let (tree, ty) = self.typed(expr, expected)?;
        Ok(match is_within(self.types, &ty, expected) {
            true => tree,
            false => {
                let shape = Shape::of(self.types, expected);
                Tree::Within(Box::new(tree), Box::new((shape, what.to_string())))
            }
        })
    }

    /// The same for a variable, which names itself where it holds a number.
    fn assigned(&mut self, expr: &Expr, ty: &Ty, place: &Expr) -> Parsed<Tree> {
        match domain(self.types, ty) {
            Some(_) => Ok(self.typed(expr, ty)?.0),
            None => self.kept(expr, ty, &part_of(place)),
        }
    }

    fn expr(&mut self, expr: &Expr, expected: Option<&Ty>) -> Parsed<(Tree, Ty)> {
        let (tree, ty) = self.plain(expr, expected)?;
        if expected == Some(&Ty::Any)
            && let Some(value) = any_literal(self.types, &tree, &ty)
        {
            return Ok((Tree::Const(Data::Any(value)), Ty::Any));
        }
        Ok((tree, ty))
    }

    fn plain(&mut self, expr: &Expr, expected: Option<&Ty>) -> Parsed<(Tree, Ty)> {
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
            ExprKind::Me if self.types.histories => return Err(of_a_run(expr.span)),
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
                let whole =
                    expected.filter(|ty| self.types.fits(&left, ty) && self.types.fits(&right, ty));
                let ((a, left), (b, right)) = match whole {
                    Some(ty) => (self.number(a, left, ty), self.number(b, right, ty)),
                    None => ((a, left), (b, right)),
                };
                let ty = common(self.types, &left, &right, expr.span)?;
                let (a, b) = (self.settled(a, &left, &ty), self.settled(b, &right, &ty));
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
                let (tree, ty) = self.item(item, of.as_ref())?;
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
                    let what = format!("`{}` of {}", field.text, name.text);
                    trees[at] = self.kept(value, &of[at].1, &what)?;
                }
                (Tree::List(trees), Ty::Record(record))
            }
            ExprKind::Call(name, args) => match (name.text.as_str(), args.as_slice()) {
                ("min" | "max", [a, b]) => {
                    let (x, left) = self.expr(a, None)?;
                    let (y, right) = self.expr(b, None)?;
                    let ty = common(self.types, &left, &right, expr.span)?;
                    if !matches!(ty, Ty::Int { .. }) {
                        return Err(mismatch(self.types, &ty, &Ty::Int { lo: 0, hi: 1 }, a.span));
                    }
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

    /// `none` as a value of the type that it turned out to have.
    fn settled(&self, tree: Tree, found: &Ty, ty: &Ty) -> Tree {
        match (found, ty) {
            (Ty::Nothing, Ty::Any) => Tree::Const(Data::Any(Value::Nil)),
            (Ty::Nothing, _) => constant(self.types.nothing(ty).unwrap_or(0)),
            _ => tree,
        }
    }

    /// An item of a list, whose items may be expected to have a type.
    fn item(&mut self, item: &Expr, of: Option<&Ty>) -> Parsed<(Tree, Ty)> {
        match of {
            Some(of) => Ok((self.kept(item, of, "an item of a list")?, of.clone())),
            None => self.expr(item, None),
        }
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
        let (mut trees, mut types) = (Vec::new(), Vec::new());
        let mut ty: Option<Ty> = None;
        for item in items {
            let (tree, found) = self.item(item, of.as_ref())?;
            trees.push(tree);
            types.push(found.clone());
            ty = Some(match ty {
                None => found,
                Some(before) => common(self.types, &before, &found, item.span)?,
            });
        }
        let item = Box::new(of.unwrap_or(ty.unwrap_or(Ty::Nothing)));
        let settled = |(tree, found): (Tree, Ty)| self.settled(tree, &found, &item);
        let trees = trees.into_iter().zip(types).map(settled).collect();
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
                    matches!(
                        e.kind,
                        ExprKind::None
                            | ExprKind::Null
                            | ExprKind::List(_)
                            | ExprKind::Int(_)
                            | ExprKind::Bool(_)
                    )
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
        let keeps = matches!(method, Method::PushBack | Method::PushFront | Method::Insert);
        for (arg, ty) in args.iter().zip(&wanted) {
            trees.push(match keeps {
                true => self.kept(arg, ty, &part_of(base))?,
                false => self.typed(arg, ty)?.0,
            });
        }
        Ok((Tree::Method(*method, place, trees), result))
    }
}
