//! What an expression is made of, as it was written.

use super::ast::{Expr, ExprKind};

pub(super) fn is_place(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Index(..))
}

/// The expressions directly inside.
pub(super) fn children(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Int(_)
        | ExprKind::Bool(_)
        | ExprKind::Null
        | ExprKind::None
        | ExprKind::Me
        | ExprKind::Name(_) => Vec::new(),
        ExprKind::Field(of, _) | ExprKind::Not(of) | ExprKind::Negate(of) | ExprKind::Lin(of) => {
            vec![of]
        }
        ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Repeat(a, b) => vec![a, b],
        ExprKind::Conditional(a, b, c) => vec![a, b, c],
        ExprKind::Call(_, args) | ExprKind::List(args) => args.iter().collect(),
        ExprKind::Method(of, _, args) => std::iter::once(&**of).chain(args).collect(),
        ExprKind::New(_, fields) | ExprKind::Record(_, fields) => {
            fields.iter().map(|(_, value)| value).collect()
        }
    }
}

/// Whether computing the expression changes something.
pub(super) fn has_effect(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::New(..) | ExprKind::Lin(_) => true,
        ExprKind::Call(name, _)
            if !matches!(name.text.as_str(), "min" | "max" | "vl" | "number") =>
        {
            true
        }
        _ => children(expr).into_iter().any(has_effect),
    }
}

pub(super) fn text(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::Field(of, name) => format!("{}.{}", text(of), name.text),
        ExprKind::Index(of, _) => format!("{}[...]", text(of)),
        _ => "this".to_string(),
    }
}
