//! `spec snapshot`: each process updates its own segment; a scan returns all of them at once.
//!
//! Results are indexed by the numbers of processes, so that processes cannot be exchanged: the
//! client must be asymmetric.

use std::sync::Arc;

use super::ast::{Expr, ExprKind, Name};
use super::diagnostic::Diagnostic;
use super::parser::Parsed;
use super::specification::Signature;
use super::types::{Ty, Types};
use crate::program::{OpId, ResultAndState, Role, SnapshotShape, SpecMachine};

/// The specification, for these operations.
pub(super) fn snapshot(
    types: &Types,
    name: &Name,
    arguments: &[(Name, Expr)],
    roles: &[Role],
    signatures: &[Signature],
) -> Parsed<Arc<dyn SpecMachine>> {
    let mut initial = 0;
    for (key, value) in arguments {
        if key.text != "init" {
            let message = format!("this specification has no parameter `{}`", key.text);
            return Err(Diagnostic::new(key.span, message).help("it has `init`"));
        }
        initial = match value.kind {
            ExprKind::None => -1,
            _ => types.number(value)?,
        };
    }
    if let Some(role) = roles.iter().find(|role| role.symmetric && role.processes > 1) {
        let message = "a scan distinguishes processes by their numbers";
        let help = format!("say `procs {} asymmetric` in the client", role.processes);
        return Err(Diagnostic::new(name.span, message).help(help));
    }
    let wrong = |message: String| {
        let help = "write `op update(v: T)` and `op scan() -> [T; processes]`";
        Diagnostic::new(name.span, message).help(help)
    };
    let find = |wanted: &str| {
        let at = signatures.iter().position(|s| s.name == wanted);
        at.ok_or_else(|| wrong(format!("a snapshot object has an operation `{wanted}`")))
    };
    let (update, scan) = (find("update")?, find("scan")?);
    if signatures.len() != 2 {
        return Err(wrong("a snapshot object has two operations".into()));
    }
    let ([value], Ty::Unit) = (&signatures[update].args[..], &signatures[update].result) else {
        return Err(wrong("`update` takes one value and returns nothing".into()));
    };
    let Ty::Array { of, len, .. } = &signatures[scan].result else {
        return Err(wrong("`scan` returns an array".into()));
    };
    if **of != *value || *len != types.processes || !signatures[scan].args.is_empty() {
        let count = types.processes;
        return Err(wrong(format!("`scan` returns {count} of the values that `update` takes")));
    }
    if types.has_data(value) {
        return Err(wrong(format!("segments cannot hold {}", types.show(value))));
    }
    if !types.scalar(value).contains(initial) {
        return Err(wrong(format!("{initial} is not one of {}", types.show(value))));
    }
    let shape = SnapshotShape { update, scan, initial };
    Ok(Arc::new(Snapshot { shape, processes: types.processes }))
}

struct Snapshot {
    shape: SnapshotShape,
    processes: usize,
}

impl SpecMachine for Snapshot {
    fn initial(&self) -> Vec<Box<[i32]>> {
        vec![vec![self.shape.initial; self.processes].into()]
    }

    fn step(
        &self,
        state: &[i32],
        process: usize,
        operation: OpId,
        args: &[i32],
        out: &mut Vec<ResultAndState>,
    ) {
        if operation == self.shape.update {
            let mut next: Box<[i32]> = state.into();
            next[process] = args[0];
            out.push((Box::new([]), next));
        } else {
            out.push((state.into(), state.into()));
        }
    }

    fn show(&self, state: &[i32]) -> String {
        let shown: Vec<String> = state.iter().map(i32::to_string).collect();
        format!("[{}]", shown.join(" "))
    }

    fn snapshot(&self) -> Option<SnapshotShape> {
        Some(self.shape)
    }
}
