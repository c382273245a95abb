//! The client of a model: the number of processes, their calls, and the calls that must be
//! answered.

use super::ast::{self, Ast, Event, Expr, ExprKind, Ops, Property, Role};
use super::compile::constant_values;
use super::diagnostic::{Diagnostic, Span, did_you_mean};
use super::parser::Parsed;
use super::specification::Signature;
use super::types::{Ty, Types};
use crate::program::{self, Call, MOST_PROCESSES, Response};

/// More calls than this are surely a slip.
const MOST_CALLS: usize = 10_000;

/// How many processes each role has.
pub(super) fn processes(types: &Types, roles: &[Role]) -> Parsed<Vec<usize>> {
    let mut counts = Vec::new();
    for role in roles {
        let count = types.number(&role.count)?;
        if !(0..=MOST_PROCESSES as i32).contains(&count) {
            let message = format!("there cannot be {count} processes");
            return Err(Diagnostic::new(role.count.span, message)
                .help(format!("at most {MOST_PROCESSES} can be checked")));
        }
        counts.push(count as usize);
    }
    if counts.iter().sum::<usize>() > MOST_PROCESSES {
        let message = format!("there cannot be {} processes", counts.iter().sum::<usize>());
        return Err(Diagnostic::new(roles[0].count.span, message)
            .help(format!("at most {MOST_PROCESSES} can be checked")));
    }
    if counts.iter().sum::<usize>() == 0 {
        let message = "the client has no processes";
        return Err(Diagnostic::new(roles[0].count.span, message).help("at least one is needed"));
    }
    Ok(counts)
}

/// All calls that a process can make, and the roles with theirs.
#[allow(clippy::type_complexity)]
pub(super) fn calls(
    types: &Types,
    ast: &Ast,
    counts: &[usize],
    signatures: &[Signature],
) -> Parsed<(Vec<Call>, Vec<program::Role>)> {
    let limit = match &ast.client.ops {
        Ops::Unbounded => None,
        Ops::Each(count) => {
            let number = types.number(count)?;
            if !(0..=1000).contains(&number) {
                let message = format!("a process cannot perform {number} operations");
                return Err(Diagnostic::new(count.span, message)
                    .help("write `ops 1`, `ops 2`, ... or `ops unbounded`"));
            }
            (number > 0).then_some(number as u32)
        }
    };
    let mut calls: Vec<Call> = Vec::new();
    let mut roles = Vec::new();
    for (role, count) in ast.client.roles.iter().zip(counts) {
        let mut own: Vec<usize> = Vec::new();
        let mut add = |operation: usize, domains: Vec<Vec<i32>>, span: Span| -> Parsed<()> {
            let mut tuples = vec![Vec::new()];
            for domain in domains {
                if tuples.len().saturating_mul(domain.len()) > MOST_CALLS {
                    let message = "there are more than 10,000 ways to call this";
                    return Err(Diagnostic::new(span, message).help("make the domains smaller"));
                }
                tuples = (tuples.iter())
                    .flat_map(|tuple: &Vec<i32>| {
                        domain.iter().map(move |v| [tuple.as_slice(), &[*v]].concat())
                    })
                    .collect();
            }
            for args in tuples {
                let call = Call { operation, args };
                let id = calls.iter().position(|other| *other == call).unwrap_or_else(|| {
                    calls.push(call);
                    calls.len() - 1
                });
                if !own.contains(&id) {
                    own.push(id);
                }
            }
            Ok(())
        };
        let whole = |ty: &Ty| {
            let scalar = types.passed(ty);
            (scalar.lo..=scalar.hi).collect::<Vec<i32>>()
        };
        if role.ops.is_empty() {
            for (operation, signature) in signatures.iter().enumerate() {
                let domains = signature.args.iter().map(whole).collect();
                add(operation, domains, ast.ops[operation].name.span)?;
            }
        }
        for named in &role.ops {
            let Some(operation) = signatures.iter().position(|s| s.name == named.op.text) else {
                let known = signatures.iter().map(|s| s.name.as_str());
                let help = did_you_mean(&named.op.text, known);
                let message = format!("the object has no operation `{}`", named.op.text);
                return Err(Diagnostic::new(named.op.span, message).maybe_help(help));
            };
            let signature = &signatures[operation];
            if !named.args.is_empty() && named.args.len() != signature.args.len() {
                let message =
                    format!("`{}` takes {} arguments", named.op.text, signature.args.len());
                return Err(
                    Diagnostic::new(named.op.span, message).help("give a value or `_` for each")
                );
            }
            let mut domains = Vec::new();
            for (at, ty) in signature.args.iter().enumerate() {
                domains.push(match named.args.get(at) {
                    Some(Some(value)) => vec![argument(types, ty, value)?],
                    _ => whole(ty),
                });
            }
            add(operation, domains, named.op.span)?;
        }
        roles.push(program::Role {
            name: role.name.as_ref().map_or("process".to_string(), |name| name.text.clone()),
            processes: *count,
            calls: own,
            limit,
            symmetric: role.symmetric,
        });
    }
    Ok((calls, roles))
}

fn argument(types: &Types, ty: &Ty, value: &Expr) -> Parsed<i32> {
    if types.has_data(ty) && !matches!(value.kind, ExprKind::None) {
        let message = format!("values of {} have no names", types.show(ty));
        return Err(Diagnostic::new(value.span, message).help("write `_`: any of them"));
    }
    match constant_values(types, ty, value)?.as_deref() {
        Some([values]) if values.len() == 1 => Ok(values[0]),
        _ => Err(Diagnostic::new(value.span, format!("expected one of {}", types.show(ty)))),
    }
}

/// The properties of progress, as pairs of a call and its return.
pub(super) fn responses(ast: &Ast) -> Parsed<Vec<Response>> {
    let mut out = Vec::new();
    for property in &ast.properties {
        let Property::Response { name, from, to, .. } = property else { continue };
        let find = |op: &ast::Name| {
            ast.ops.iter().position(|o| o.name.text == op.text).ok_or_else(|| {
                let help = did_you_mean(&op.text, ast.ops.iter().map(|o| o.name.text.as_str()));
                let message = format!("the object has no operation `{}`", op.text);
                Diagnostic::new(op.span, message).maybe_help(help)
            })
        };
        match (from, to) {
            (Event::Call(a), Event::Return(b)) => {
                let (called, returned) = (find(a)?, find(b)?);
                if called != returned {
                    let message = "a call is answered by the return of the same operation";
                    return Err(Diagnostic::new(b.span, message));
                }
                let name = name.text.clone();
                out.push(Response { name, operation: called, results: None });
            }
            (from, to) => {
                let span = match (from, to) {
                    (Event::Holds(expr), _) | (_, Event::Holds(expr)) => expr.span,
                    _ => name.span,
                };
                let message = "only calls and returns of an operation can be related";
                return Err(Diagnostic::new(span, message)
                    .help("write `always (call op implies eventually return op)`"));
            }
        }
    }
    Ok(out)
}
