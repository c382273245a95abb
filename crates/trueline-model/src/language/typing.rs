//! What may be compared, assigned and computed with what, and the errors where it may not.

use super::ast::BinaryOp;
use super::diagnostic::{Diagnostic, Span};
use super::parser::Parsed;
use super::types::{Ty, Types};

/// 'expected pid, found 0..3', with a suggestion.
pub(super) fn mismatch(types: &Types, found: &Ty, target: &Ty, span: Span) -> Diagnostic {
    let message = match (found, target) {
        (Ty::Int { lo, hi }, Ty::Int { .. }) if lo == hi => {
            format!("{lo} is not one of {}", types.show(target))
        }
        (Ty::Nothing, _) => format!("`none` is not one of {}", types.show(target)),
        _ => format!("expected {}, found {}", types.show(target), types.show(found)),
    };
    let help = match (found, target) {
        (Ty::Int { .. }, Ty::Bool) => Some("compare it with a number: `x == 1`".to_string()),
        (Ty::Node(_), Ty::Bool) => Some("compare it with null: `x != null`".to_string()),
        (Ty::Nothing, Ty::Int { .. } | Ty::Bool | Ty::Enum(_)) => {
            Some(format!("an optional type has `none`: `{}?`", types.show(target)))
        }
        (Ty::Optional(of), Ty::Int { .. }) if types.fits(of, target) => Some(
            "here `none` would be taken for a number: begin the range at the same value".into(),
        ),
        (Ty::Int { .. }, Ty::Int { .. }) => Some("widen the range".to_string()),
        (Ty::Int { .. }, Ty::Optional(of)) if types.fits(found, of) => {
            let nothing = types.nothing(target).unwrap_or_default();
            let of = types.show(of);
            Some(format!(
                "here {nothing} would be taken for `none`: put the number into a variable of type `{of}` first"
            ))
        }
        (Ty::Int { .. }, Ty::Data(_)) => {
            Some("the values of a `data` type have no names: they come as arguments".to_string())
        }
        (Ty::Int { .. }, Ty::Pid) => Some("a process is named by `me`".to_string()),
        (Ty::Unit, _) => Some("this yields no value".to_string()),
        _ => Some(format!("a value of type {} is needed here", types.show(target))),
    };
    Diagnostic::new(span, message).maybe_help(help)
}

/// The common type of two values, either of which may be the result.
pub(super) fn common(types: &Types, a: &Ty, b: &Ty, span: Span) -> Parsed<Ty> {
    Ok(match (a, b) {
        (Ty::Int { lo: p, hi: q }, Ty::Int { lo: r, hi: s }) => {
            Ty::Int { lo: *p.min(r), hi: *q.max(s) }
        }
        (Ty::Nothing, other @ (Ty::Int { .. } | Ty::Bool | Ty::Enum(_)))
        | (other @ (Ty::Int { .. } | Ty::Bool | Ty::Enum(_)), Ty::Nothing) => {
            Ty::Optional(Box::new(other.clone()))
        }
        (of @ Ty::Data(_), Ty::Optional(other)) | (Ty::Optional(other), of @ Ty::Data(_))
            if **other == *of =>
        {
            Ty::Optional(Box::new(of.clone()))
        }
        _ if types.parts_fit(a, b) => join(a, b),
        _ if types.parts_fit(b, a) => join(b, a),
        _ => return Err(mismatch(types, b, a, span)),
    })
}

/// The type of all values of two types, the first of which fits the second.
fn join(a: &Ty, b: &Ty) -> Ty {
    let boxed = |a: &Ty, b: &Ty| Box::new(join(a, b));
    match (a, b) {
        (Ty::Int { lo: p, hi: q }, Ty::Int { lo: r, hi: s }) => {
            Ty::Int { lo: *p.min(r), hi: *q.max(s) }
        }
        // The number of `none` stays the same, or one would not fit the other.
        (Ty::Optional(a), Ty::Optional(b)) => Ty::Optional(boxed(a, b)),
        (Ty::Nothing, b) => b.clone(),
        (Ty::Optional(a), b) | (b, Ty::Optional(a)) => Ty::Optional(boxed(a, b)),
        (Ty::Seq(a), Ty::Seq(b)) => Ty::Seq(boxed(a, b)),
        (Ty::Set(a), Ty::Set(b)) => Ty::Set(boxed(a, b)),
        (Ty::Map(a, c), Ty::Map(b, d)) => Ty::Map(boxed(a, b), boxed(c, d)),
        (Ty::Array { of: a, len, by_process }, Ty::Array { of: b, .. }) => {
            Ty::Array { of: boxed(a, b), len: *len, by_process: *by_process }
        }
        (_, b) => b.clone(),
    }
}

/// What is said where a value of a `data` type is taken for a number.
pub(super) fn opaque(types: &Types, ty: &Ty, at: Span) -> Diagnostic {
    Diagnostic::new(at, format!("values of {} are not numbers", types.show(ty)))
        .help("they can be copied, and compared with `==` and `!=`: they are alike")
}

pub(super) fn equality(types: &Types, a: &Ty, b: &Ty, span: Span) -> Parsed<Ty> {
    if !types.comparable(a, b) {
        let message = format!("{} and {} cannot be compared", types.show(a), types.show(b));
        let help = match (a, b) {
            (Ty::Bool, Ty::Int { .. }) | (Ty::Int { .. }, Ty::Bool) => "use `true` and `false`",
            (Ty::Nothing, _) | (_, Ty::Nothing) => "only optional types have `none`",
            _ => "both sides must be of one type",
        };
        return Err(Diagnostic::new(span, message).help(help));
    }
    Ok(if *a == Ty::Nothing { b.clone() } else { a.clone() })
}

/// The type of a sum, a product or a comparison of numbers.
pub(super) fn arithmetic(
    types: &Types,
    op: BinaryOp,
    left: (&Ty, Span),
    right: (&Ty, Span),
    span: Span,
) -> Parsed<Ty> {
    let range = |(ty, at): (&Ty, Span)| match ty {
        Ty::Int { lo, hi } => Ok((i64::from(*lo), i64::from(*hi))),
        Ty::Pid => Err(Diagnostic::new(at, "ids of processes are not numbers")
            .help("compare them with `==` and `!=`: processes are alike")),
        Ty::Data(_) => Err(opaque(types, ty, at)),
        Ty::Optional(of) if matches!(**of, Ty::Data(_)) => Err(opaque(types, of, at)),
        _ => {
            let message = format!("expected a number, found {}", types.show(ty));
            let help = match ty {
                Ty::Optional(_) => "put it into a variable that is not optional first",
                _ => "numbers are written as ranges: `0..3`",
            };
            Err(Diagnostic::new(at, message).help(help))
        }
    };
    let ((p, q), (r, s)) = (range(left)?, range(right)?);
    let corners = |f: fn(i64, i64) -> i64| {
        let all = [f(p, r), f(p, s), f(q, r), f(q, s)];
        (all.into_iter().min().unwrap_or(0), all.into_iter().max().unwrap_or(0))
    };
    let (lo, hi) = match op {
        BinaryOp::Add => (p + r, q + s),
        BinaryOp::Sub => (p - s, q - r),
        BinaryOp::Mul => corners(|a, b| a * b),
        BinaryOp::Div | BinaryOp::Rem if (r, s) == (0, 0) => {
            return Err(Diagnostic::new(right.1, "division by zero"));
        }
        BinaryOp::Div if p >= 0 && r > 0 => (p / s, q / r),
        BinaryOp::Div => (p.min(-q), q.max(-p)),
        BinaryOp::Rem => (0, s.abs().max(r.abs()) - 1),
        BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
            return Ok(Ty::Bool);
        }
        _ => return Err(Diagnostic::new(span, "this can only be used in specifications")),
    };
    let clamp = |n: i64| n.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    Ok(Ty::Int { lo: clamp(lo), hi: clamp(hi) })
}
