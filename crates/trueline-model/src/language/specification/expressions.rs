//! The expressions of a specification.

use trueline::Value;

use super::{Compiler, of_a_run};
use crate::language::ast::{BinaryOp, Expr, ExprKind, Name};
use crate::language::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::language::parser::Parsed;
use crate::language::ranges::{Shape, domain, is_within};
use crate::language::spec_run::{Data, Method, Tree, first_value};
use crate::language::types::{Ty, Types};
use crate::language::typing::{arithmetic, common, equality, mismatch, opaque};

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
pub(super) fn part_of(place: &Expr) -> String {
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

pub(super) fn constant(value: i32) -> Tree {
    Tree::Const(Data::Int(value))
}

impl Compiler<'_> {
    /// An expression where a type is expected. Its value may be outside of a range that it overlaps.
    pub(super) fn typed(&mut self, expr: &Expr, expected: &Ty) -> Parsed<(Tree, Ty)> {
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
    pub(super) fn kept(&mut self, expr: &Expr, expected: &Ty, what: &str) -> Parsed<Tree> {
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
    pub(super) fn assigned(&mut self, expr: &Expr, ty: &Ty, place: &Expr) -> Parsed<Tree> {
        match domain(self.types, ty) {
            Some(_) => Ok(self.typed(expr, ty)?.0),
            None => self.kept(expr, ty, &part_of(place)),
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr, expected: Option<&Ty>) -> Parsed<(Tree, Ty)> {
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
                    if self.types.has_data(&ty) {
                        return Err(opaque(self.types, &ty, a.span));
                    }
                    if !matches!(ty, Ty::Int { .. }) {
                        return Err(mismatch(self.types, &ty, &Ty::Int { lo: 0, hi: 1 }, a.span));
                    }
                    let (x, y) = (Box::new(x), Box::new(y));
                    (if name.text == "min" { Tree::Min(x, y) } else { Tree::Max(x, y) }, ty)
                }
                ("choose", [a, b]) => {
                    let (low, x) = self.expr(a, None)?;
                    let (high, y) = self.expr(b, None)?;
                    let (Ty::Int { lo, .. }, Ty::Int { hi, .. }) = (x, y) else {
                        let message = "`choose` takes two numbers";
                        return Err(Diagnostic::new(expr.span, message));
                    };
                    if lo > hi || i64::from(hi) - i64::from(lo) > 4096 {
                        let message = "there is no such choice";
                        return Err(Diagnostic::new(expr.span, message));
                    }
                    let tree = Tree::Choose(Box::new(low), Box::new(high));
                    (tree, Ty::Int { lo, hi })
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
